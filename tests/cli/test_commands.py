"""The commands end to end on a tiny encoder: what they write, reuse and refuse."""

from featbert.features.store import FeatureStore
from featbert.runs.run import find_runs
from tests.tiny_encoders import write_encoder
from tests.workspace import WORDS, Workspace, error_of, ok


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


def test_train_alone_reads_the_sample_whatever_is_stored(workspace):
    ok(workspace.extract())
    where = ("--cache-dir", workspace.cache, "--runs-dir", workspace.runs)
    small = ("--body", "linear", "--epochs", 1, "--layers", 1)
    ok(workspace.call("train", "--model", workspace.model, *where, *small))
    (run,) = find_runs(workspace.runs)
    assert (run.record.signature.source, run.record.layers) == ("sample", "layer:1")


def test_changed_words_are_refused_changed_tags_make_other_runs(workspace):
    assert workspace.extract().exit_code == 0
    assert workspace.train("--layers", "last").exit_code == 0
    path = workspace.corpus / "train.conll"
    text = path.read_text("utf-8")
    path.write_text(text.replace("Hamilton B-LOC", "Hamilton O"), "utf-8")
    assert workspace.extract().exit_code == 0
    assert workspace.train("--layers", "last").exit_code == 0
    assert (len(list(workspace.cache.glob("*.h5"))), len(find_runs(workspace.runs).runs)) == (1, 2)
    path.write_text(text.replace("Jordan", "Gordon"), "utf-8")
    (store,) = workspace.cache.glob("*.h5")
    refused = workspace.train("--features", store, "--quiet")
    assert "featbert extract" in error_of(refused)
    assert len(find_runs(workspace.runs).runs) == 2


def test_a_damaged_record_is_refused_and_trained_again(workspace):
    assert workspace.extract().exit_code == 0
    assert workspace.train("--layers", "last").exit_code == 0
    (run,) = find_runs(workspace.runs)
    record = run.folder / "record.json"
    record.write_text(record.read_text("utf-8")[:200], "utf-8")
    assert "runs rm" in error_of(workspace.train("--layers", "last", "--quiet"))
    assert workspace.train("--layers", "last", "--overwrite").exit_code == 0
    assert [r.record.scores for r in find_runs(workspace.runs)] == [run.record.scores]


def test_an_uncased_encoder_says_so_and_is_not_truecased(workspace):
    model = write_encoder(workspace.folder / "encoder", cased=False, layers=4)
    space = Workspace(workspace.folder, workspace.corpus, model)
    done = [space.extract(), space.train("--layers", "last"), space.finetune()]
    assert ["is uncased" in d.output for d in done] == 3 * [True]
    for result in (space.extract("--casing", "truecased"), space.finetune("--casing", "truecased")):
        assert "uncased" in error_of(result)
    assert len(list(space.cache.glob("*.h5"))) == 1


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
