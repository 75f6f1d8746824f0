"""Options of extract, train and finetune do what they say; what is reused and what refused."""

import contextlib

import pytest

from featbert.encoders import memory
from featbert.encoders.device import computing_threads
from featbert.features.store import FeatureStore
from featbert.runs.run import find_runs
from tests.tiny_encoders import write_encoder
from tests.workspace import WORDS, Workspace, error_of, ok

TRAINING = {
    "batch_size": 5,
    "learning_rate": 0.003,
    "dropout": 0.2,
    "warmup": 0.3,
    "schedule": "constant",
    "patience": 2,
    "epochs": 3,
    "weight_decay": 0.05,
    "clip_norm": 0.5,
}
READING = {
    "language": "en",
    "encoding": "latin-1",
    "file_scheme": "bio",
    "token_column": 2,
    "tag_column": 1,
}


def words(settings: dict[str, object]) -> list[object]:
    return [w for name, v in settings.items() for w in (f"--{name.replace('_', '-')}", v)]


def latin(workspace: Workspace) -> list[object]:
    """Rewrites the corpus in Latin-1 with its columns swapped; the options that read it."""
    for path in workspace.corpus.iterdir():
        lines = path.read_text("utf-8").replace("Jordan", "Jördan").split("\n")
        turned = [" ".join(reversed(line.split(" "))) if " " in line else line for line in lines]
        turned = ["-DOCSTART- O" if "-DOCSTART-" in line else line for line in turned]
        path.write_bytes("\n".join(turned).encode("latin-1"))
    return words(READING)


def test_extract_and_train(workspace):
    reading = latin(workspace)
    words_of_store = (
        *("--layers", "0,3-4", "--context", "document", "--pooling", "mean"),
        *("--precision", "fp32", "--store-dtype", "float32", "--token-budget", 77),
        *("--device", "cpu"),
    )
    ok(workspace.extract(*words_of_store, *reading))
    (path,) = workspace.cache.glob("*.h5")
    m = FeatureStore(path).manifest
    assert (m.layers, m.context, m.pooling) == ((0, 3, 4), "document", "mean")
    assert (m.precision, m.dtype, m.token_budget, m.device) == ("fp32", "float32", 77, "cpu")
    assert (m.reading, m.language) == (READING, "en")

    done = workspace.train(
        *("--layers", "last", "--seeds", "7", "--features", path, "--precision", "fp32"),
        *("--lstm-size", 6, "--lstm-layers", 1, "--no-bias-correction", "--device", "cpu"),
        *("--tag-scheme", "iob1", "--variational-dropout"),
        *words(TRAINING),
    )
    assert done.exit_code == 0, done.output
    (run,) = find_runs(workspace.runs)
    expected = TRAINING | {"lstm_size": 6, "lstm_layers": 1, "bias_correction": False}
    expected["variational_dropout"] = True
    assert {name: run.record.settings[name] for name in expected} == expected
    assert (run.record.seed, run.record.layers, run.record.reading) == (7, "last", READING)
    s = run.record.signature
    assert (s.tag_scheme, s.pooling, s.store_dtype) == ("iob1", "mean", "float32")
    assert "Jördan" in run.predictions("dev").words[0]


def test_finetune(workspace):
    with computing_threads(1):
        done = workspace.finetune(
            *("--seeds", "3", "--context", "document", "--pooling", "last", "--device", "cpu"),
            *("--precision", "fp32", "--layer-decay", 1.5, "--freeze-to", 0, "--threads", 2),
            *("--tag-scheme", "iob1", "--unfreeze", 2, "--head-learning-rate", 0.02),
            *latin(workspace),
            *words(TRAINING),
        )
    assert done.exit_code == 0, done.output
    (run,) = find_runs(workspace.runs)
    expected = TRAINING | {"layer_decay": 1.5, "freeze_to": 0, "unfreeze": 2}
    expected["head_learning_rate"] = 0.02
    assert {name: run.record.settings[name] for name in expected} == expected
    assert (run.record.seed, run.record.reading) == (3, READING)
    s = run.record.signature
    assert (s.context, s.pooling, s.tag_scheme, s.threads) == ("document", "last", "iob1", 2)


def test_a_wide_encoder_is_tuned_at_a_lower_rate(workspace, tmp_path):
    encoder = write_encoder(tmp_path / "wide", layers=1, width=768)
    space = Workspace(workspace.folder, workspace.corpus, encoder)
    lines = "[finetune]\nepochs = 1\n[grid.finetune]\nlearning_rate = ['1x', '0.5x']\n"
    ok(space.finetune("--epochs", 1))
    ok(space.carry_out(space.experiment(lines)))
    rates = [run.record.settings["learning_rate"] for run in find_runs(space.runs)]
    assert sorted(rates) == [3e-5, 6e-5]  # 1x is the run that the command trained


def test_unusual_text_is_counted(workspace):
    train = workspace.corpus / "train.conll"
    before = workspace.extract("--cache-dir", workspace.folder / "before").stdout
    unknown = int(before.split("unusual: ")[1].split()[0]) + 1  # the vocabulary lacks others, too
    train.write_text(train.read_text("utf-8") + "Jordan I-PER\n\u200b O\nEU I-ORG\n", "utf-8")
    options = ("--tag-column", 2, "--file-scheme", "bio")
    assert f"{unknown} unknown words" in workspace.extract(*options).stdout
    for done in (workspace.train("--layers", "last"), workspace.finetune(*options)):
        assert f"{unknown} unknown words" in done.stderr
        assert "2 repaired tags" in done.stderr
    for run in find_runs(workspace.runs):
        assert run.record.counts["repaired_tags"] == 2
        assert run.record.counts["unknown_words"] == unknown


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("extract", ("--context", "document")),
        ("finetune", ()),
        ("train", ("--layers", "last")),
        ("adapt", ()),
    ],
)
def test_too_little_memory_is_refused_before_the_start(workspace, monkeypatch, command, words):
    ok(workspace.extract("--quiet"))
    before = {*workspace.folder.rglob("*")}
    monkeypatch.setattr(memory, "_free", lambda device: 10_000)
    words = ("--data", workspace.corpus, "--model", workspace.model, "--quiet", *words)
    with contextlib.chdir(workspace.folder):
        assert "0.0 GB" in error_of(workspace.call(command, *words))
    assert not [path for path in {*workspace.folder.rglob("*")} - before if path.is_file()]


def test_dry_run_shows_the_size_and_writes_nothing(workspace):
    result = workspace.extract("--dry-run")
    words = 6 * sum(len(text.split()) for text, _ in WORDS)  # four rounds, dev and test
    assert f"({words} words + {6 * len(WORDS)} cls) x 5 layers x 16, float16" in result.stdout
    assert not workspace.cache.exists()


def test_train_finds_or_makes_the_store_of_text_and_encoder(workspace):
    small = ("--layers", "last", "--seeds", "1")
    ok(workspace.train(*small))
    (first,) = workspace.cache.glob("*.h5")
    assert FeatureStore(first).layers == (0, 1, 2, 3, 4)
    made = first.stat().st_mtime_ns
    ok(workspace.train(*small))
    assert len(find_runs(workspace.runs).runs) == 1
    ok(workspace.train(*small, "--context", "document"))
    (second,) = {*workspace.cache.glob("*.h5")} - {first}
    ok(workspace.train("--features", second, "--layers", "embeddings"))
    assert first.stat().st_mtime_ns == made
    signatures = {run.record.layers: run.record.signature for run in find_runs(workspace.runs)}
    assert signatures["embeddings"].context == "document"
    first.unlink()  # a finished run needs no store, and another one does
    ok(workspace.train(*small))
    assert not first.exists()
    ok(workspace.train("--layers", "last", "--seeds", "1,2"))
    assert first.exists()
    dev = workspace.corpus / "dev.conll"
    dev.write_text("", "utf-8")
    assert "dev" in error_of(workspace.train(*small))  # before anything is extracted
    assert len(list(workspace.cache.glob("*.h5"))) == 2


def test_changed_words_are_refused_changed_tags_make_other_runs(workspace):
    ok(workspace.train("--layers", "last"))
    path = workspace.corpus / "train.conll"
    text = path.read_text("utf-8")
    path.write_text(text.replace("Hamilton B-LOC", "Hamilton O"), "utf-8")
    ok(workspace.extract())
    ok(workspace.train("--layers", "last"))
    (store,) = workspace.cache.glob("*.h5")
    path.write_text(text.replace("Jordan", "Gordon"), "utf-8")
    assert "featbert extract" in error_of(workspace.train("--features", store, "--quiet"))
    assert len(find_runs(workspace.runs).runs) == 2


def test_a_damaged_record_is_refused_and_trained_again(workspace):
    ok(workspace.train("--layers", "last"))
    (run,) = find_runs(workspace.runs)
    record = run.folder / "record.json"
    record.write_text(record.read_text("utf-8")[:200], "utf-8")
    assert "runs rm" in error_of(workspace.train("--layers", "last", "--quiet"))
    ok(workspace.train("--layers", "last", "--overwrite"))
    assert [r.record.scores for r in find_runs(workspace.runs)] == [run.record.scores]


def test_an_uncased_encoder_says_so_and_is_not_truecased(workspace):
    model = write_encoder(workspace.folder / "encoder", cased=False, layers=4)
    space = Workspace(workspace.folder, workspace.corpus, model)
    done = [space.extract(), space.train("--layers", "last"), space.finetune()]
    assert ["is uncased" in d.output for d in done] == 3 * [True]
    assert "uncased" in error_of(space.extract("--casing", "truecased"))


def test_an_option_that_is_not_given_has_its_default_whatever_is_stored(workspace):
    for stored in (
        *(("--pooling", "mean"), ("--pooling", "last"), ("--context", "document")),
        *(("--casing", "truecased"), ("--store-dtype", "float32"), ("--precision", "bf16")),
    ):
        ok(workspace.extract(*stored))
    before = {*workspace.cache.glob("*.h5")}
    ok(workspace.train("--layers", "last", "--device", "cpu"))
    (run,) = find_runs(workspace.runs)
    s = run.record.signature
    assert (s.context, s.casing, s.pooling) == ("sentence", "original", "first")
    assert (s.encoder_precision, s.store_dtype) == ("fp32", "float16")
    assert len({*workspace.cache.glob("*.h5")} - before) == 1
    # Nor is a stored text read if none is named.
    where = ("--cache-dir", workspace.cache, "--runs-dir", workspace.runs, "--body", "linear")
    ok(workspace.call("train", "--model", workspace.model, *where, "--epochs", 1, "--layers", 1))
    (other,) = (other for other in find_runs(workspace.runs) if other.name != run.name)
    assert (other.record.signature.source, other.record.layers) == ("sample", "layer:1")
