"""The commands end to end on a tiny encoder: what they write, reuse and refuse."""

import pytest
from typer.testing import CliRunner

from featbert.cli.main import app
from featbert.features.store import FeatureStore
from featbert.runs.run import find_runs
from tests.tiny_encoders import write_encoder
from tests.workspace import WORDS, Workspace, error_of, ok


def test_a_run_folder_holds_weights_predictions_and_record(finished):
    run = next(r for r in find_runs(finished.runs) if r.record.layers == "weighted_all")
    assert len({p.stat().st_mode for p in run.folder.iterdir()}) == 1
    r = run.record
    assert [e.epoch for e in r.history] == [1, 2]
    assert r.mix is not None
    assert r.mix.layers == [1, 2, 3, 4]
    assert sum(r.mix.weights) == pytest.approx(1)
    assert r.cost.trained_parameters < r.cost.total_parameters
    assert r.cost.peak_memory_bytes > 1 << 20
    assert run.predictions("dev").words[0][:3] == ["Jordan", "Smith", "of"]


def test_dry_run_shows_the_size_and_writes_nothing(workspace):
    result = workspace.extract("--dry-run")
    words = 6 * sum(len(text.split()) for text, _ in WORDS)  # four rounds, dev and test
    assert f"{words} words x 5 layers x 16, float16" in result.stdout
    assert not workspace.cache.exists()


def test_some_layers_serve_their_combinations(workspace):
    assert workspace.extract("--layers", "3-4").exit_code == 0
    assert FeatureStore(next(workspace.cache.glob("*.h5"))).layers == (3, 4)
    assert workspace.train("--layers", "last").exit_code == 0
    assert "3, 4" in error_of(workspace.train("--layers", "embeddings"))


def test_train_needs_to_know_the_store(workspace, monkeypatch):
    assert "featbert extract" in error_of(workspace.train())
    assert workspace.extract().exit_code == 0
    assert workspace.extract("--context", "document").exit_code == 0
    message = error_of(workspace.train())
    for path in workspace.cache.glob("*.h5"):
        assert path.name in message
    second = sorted(workspace.cache.glob("*.h5"))[1]
    words = ("--layers", "last")
    ok(workspace.train("--features", second, *words))
    # At a terminal it asks.
    monkeypatch.setattr("typer.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    where = ["--cache-dir", str(workspace.cache), "--runs-dir", str(workspace.folder / "asked")]
    small = ["--epochs", "1", "--lstm-size", "4"]
    asked = ok(CliRunner().invoke(app, ["train", *where, *small, *words], input="2\n"))
    assert second.name in asked.stderr
    for runs in (workspace.runs, workspace.folder / "asked"):
        (run,) = find_runs(runs)
        assert run.record.signature.context == FeatureStore(second).manifest.context


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
    assert "featbert extract" in error_of(workspace.train("--quiet"))
    assert len(find_runs(workspace.runs).runs) == 2


def test_a_damaged_record_is_refused_and_trained_again(workspace):
    assert workspace.extract().exit_code == 0
    assert workspace.train("--layers", "last").exit_code == 0
    (run,) = find_runs(workspace.runs)
    record = run.folder / "record.json"
    record.write_text(record.read_text("utf-8")[:200], "utf-8")
    assert "--overwrite" in error_of(workspace.train("--layers", "last", "--quiet"))
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
