"""Every option of extract, train and finetune does what it says: all of them at once, none lost."""

from __future__ import annotations

from featbert.features.store import FeatureStore
from featbert.runs.run import find_runs
from tests.workspace import Workspace

TRAINING = {
    "--batch-size": ("batch_size", 5),
    "--learning-rate": ("learning_rate", 0.003),
    "--dropout": ("dropout", 0.2),
    "--warmup": ("warmup", 0.3),
    "--schedule": ("schedule", "constant"),
    "--patience": ("patience", 2),
    "--epochs": ("epochs", 3),
}


def words(options: dict[str, tuple[str, object]]) -> list[object]:
    return [word for name, (_, value) in options.items() for word in (name, value)]


def latin(workspace: Workspace) -> list[str]:
    """The corpus in Latin-1, with columns the other way round and IOB1 tags told as such."""
    for path in workspace.corpus.iterdir():
        lines = path.read_text("utf-8").replace("Jordan", "Jördan").split("\n")
        turned = [" ".join(reversed(line.split(" "))) if " " in line else line for line in lines]
        turned = ["-DOCSTART- O" if "-DOCSTART-" in line else line for line in turned]
        path.write_bytes("\n".join(turned).encode("latin-1"))
    columns = ["--token-column", "2", "--tag-column", "1"]
    return [*columns, "--encoding", "latin-1", "--scheme", "bio", "--language", "en"]


READING = {
    "language": "en",
    "encoding": "latin-1",
    "scheme": "bio",
    "token_column": 2,
    "tag_column": 1,
}


def test_extract_and_train(workspace: Workspace) -> None:
    reading = latin(workspace)
    done = workspace.extract(
        *("--layers", "0,3-4", "--context", "document", "--pooling", "mean"),
        *("--precision", "fp32", "--store-dtype", "float32", "--token-budget", 77),
        *("--device", "cpu"),
        *reading,
    )
    assert done.exit_code == 0, done.output
    (path,) = workspace.cache.glob("*.h5")
    m = FeatureStore(path).manifest
    assert (m.layers, m.context, m.pooling) == ((0, 3, 4), "document", "mean")
    assert (m.precision, m.dtype, m.token_budget, m.device) == ("fp32", "float32", 77, "cpu")
    assert (m.reading, m.language) == (READING, "en")

    done = workspace.train(
        *("--layers", "last", "--seeds", "7", "--features", path, "--precision", "fp32"),
        *("--hidden-size", 6, "--layers-lstm", 1, "--no-bias-correction", "--device", "cpu"),
        *("--tag-scheme", "iob1"),
        *words(TRAINING),
    )
    assert done.exit_code == 0, done.output
    (run,) = find_runs(workspace.runs)
    expected = dict(TRAINING.values())
    expected |= {"lstm_size": 6, "lstm_layers": 1, "bias_correction": False}
    assert {name: run.record.settings[name] for name in expected} == expected
    assert (run.record.seed, run.record.layers, run.record.reading) == (7, "last", READING)
    signature = run.record.signature
    assert (signature.tag_scheme, signature.pooling, signature.store_dtype) == (
        "iob1",
        "mean",
        "float32",
    )
    assert "Jördan" in run.predictions("dev").words[0]


def test_finetune(workspace: Workspace) -> None:
    done = workspace.finetune(
        *("--seeds", "3,5", "--context", "document", "--pooling", "last", "--device", "cpu"),
        *("--precision", "fp32", "--discriminative", 1.5, "--freeze-to", 0, "--bias-correction"),
        *("--tag-scheme", "iob1", "--unfreeze", 2, "--train-on", "train+dev"),
        *latin(workspace),
        *words(TRAINING),
    )
    assert done.exit_code == 0, done.output
    runs = [r for r in find_runs(workspace.runs) if r.record.settings["train_on"] == "train+dev"]
    assert [r.record.seed for r in runs] == [3, 5]
    expected = dict(TRAINING.values())
    expected |= {"discriminative": 1.5, "freeze_to": 0, "unfreeze": 2, "bias_correction": True}
    for run in runs:
        assert {name: run.record.settings[name] for name in expected} == expected
        signature = run.record.signature
        assert (signature.context, signature.pooling, signature.tag_scheme) == (
            "document",
            "last",
            "iob1",
        )
        assert (run.record.reading, run.record.trained_on) == (READING, ["train", "dev"])


def test_the_whole_encoder_is_frozen_by_a_word(workspace: Workspace) -> None:
    assert workspace.finetune("--freeze-to", "all").exit_code == 0
    (run,) = find_runs(workspace.runs)
    assert run.record.settings["freeze_to"] == 4
    refused = workspace.finetune("--freeze-to", "some")
    assert "a layer from 0 to 4, none or all expected" in refused.stderr


def test_what_was_unusual_is_said_and_recorded(workspace: Workspace) -> None:
    train = workspace.corpus / "train.conll"
    before = workspace.extract("--cache-dir", workspace.folder / "before").stdout
    before = before.split("unusual: ")[1]
    unknown = int(before.split()[0]) + 1  # the tiny vocabulary lacks words of the corpus, too
    train.write_text(train.read_text("utf-8") + "Jordan I-PER\n\u200b O\nEU I-ORG\n", "utf-8")
    options = ("--tag-column", 2, "--scheme", "bio")
    assert f"unusual: {unknown} unknown words\n" in workspace.extract(*options).stdout
    for done in (workspace.train("--layers", "last"), workspace.finetune(*options)):
        assert f"unusual in the corpus: {unknown} unknown words, 2 repaired tags\n" in done.stderr
    for run in find_runs(workspace.runs):
        assert run.record.counts["repaired_tags"] == 2
        assert run.record.counts["unknown_words"] == unknown
