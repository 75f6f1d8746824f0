"""The commands end to end on a tiny encoder: what they print, write and refuse."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys

import pytest

from featbert.features.store import FeatureStore
from featbert.runs.run import find_runs
from tests.processes import sent
from tests.workspace import WORDS, Workspace, error_of


def test_the_three_bare_steps(finished: Workspace) -> None:
    store = FeatureStore(next(finished.cache.glob("*.h5")))
    assert store.manifest.device in ("cpu", "cuda")
    assert store.layers == (0, 1, 2, 3, 4)
    runs = find_runs(finished.runs)
    assert len(runs.runs) == 6
    assert not runs.unfinished
    assert not runs.problems
    text = finished.compare().stdout
    assert "last" in text
    assert "weighted_all" in text
    assert "fine-tuning" in text
    assert "baseline" in text


def test_a_run_folder_holds_what_it_should(finished: Workspace) -> None:
    run = next(r for r in find_runs(finished.runs) if r.record.layers == "weighted_all")
    held = {p.name for p in run.folder.iterdir()}
    assert held == {
        "config.json",
        "history.jsonl",
        "dev.conll",
        "test.conll",
        "weights.safetensors",
        "record.json",
    }
    r = run.record
    assert [e.epoch for e in r.history] == [1, 2]
    assert {g.name for g in r.history[0].groups} == {"matrices", "vectors", "scalar_mix"}
    assert r.mix is not None
    assert r.mix.layers == [1, 2, 3, 4]
    assert sum(r.mix.weights) == pytest.approx(1)
    assert r.cost.extraction_seconds is not None
    assert r.cost.trained_parameters < r.cost.total_parameters
    assert r.cost.peak_memory_bytes > 1 << 20
    assert r.signature.model == "tiny-bert"
    assert r.signature.device in ("cpu", "cuda")
    assert r.signature.versions["torch"]
    words = [w for s in run.predictions("dev").words for w in s]
    assert words[:3] == ["Jordan", "Smith", "of"]


def test_predictions_have_exactly_the_words_and_tags_of_the_gold_file(finished: Workspace) -> None:
    from featbert.data.load import load_corpus
    from featbert.tasks.entities import TASK

    corpus = load_corpus(finished.corpus)
    for run in find_runs(finished.runs):
        for split in ("dev", "test"):
            found = run.predictions(split)
            assert [tuple(s) for s in found.words] == [s.words for s in corpus[split]]
            assert [tuple(s) for s in found.gold] == corpus[split].tags
            assert TASK.score(found.gold, found.predicted) == run.record.scores[split]


def test_compare_json_has_the_fixed_names(finished: Workspace) -> None:
    rows = json.loads(finished.compare("--format", "json").stdout)["rows"]
    assert [(r["tuning"], r["layers"]) for r in rows] == [
        ("none", "last"),
        ("none", "weighted_all"),
        ("full", None),
    ]
    for row in rows:
        assert row["model"] == "tiny-bert"
        assert row["corpus"] == "tiny"
        for split in ("dev", "test"):
            f1 = row[split]["f1"]
            assert set(f1) >= {"mean", "sd", "n", "values"}
            assert f1["n"] == 2
            assert all(0 <= v <= 1 for v in f1["values"])


@pytest.mark.parametrize("format", ["markdown", "latex", "csv"])
def test_compare_formats(finished: Workspace, format: str) -> None:
    result = finished.compare("--format", format)
    assert result.exit_code == 0
    assert "weighted" in result.stdout


def test_compare_of_named_runs(finished: Workspace) -> None:
    names = sorted(p.name for p in finished.runs.iterdir())
    assert finished.compare(*names[:2]).exit_code == 0
    assert "did you mean" in error_of(finished.compare(names[0][:-1]))


def test_extract_twice_is_a_hit(finished: Workspace) -> None:
    path = next(finished.cache.glob("*.h5"))
    before = path.stat().st_mtime_ns
    result = finished.extract()
    assert "nothing to do" in result.stdout
    assert path.stat().st_mtime_ns == before


def test_a_finished_run_is_not_trained_again(finished: Workspace) -> None:
    result = finished.train("--layers", "last")
    assert result.exit_code == 0, result.output
    assert "finished before" in result.stdout
    assert "training" not in result.stderr


def test_dry_run_prints_the_size_and_writes_nothing(workspace: Workspace) -> None:
    result = workspace.extract("--dry-run")
    words = 6 * sum(len(text.split()) for text, _ in WORDS)  # four rounds, dev and test
    assert f"{words} words x 5 layers x 16, float16: " in result.stdout
    assert not workspace.cache.exists()


def test_extract_of_some_layers_serves_those(workspace: Workspace) -> None:
    assert workspace.extract("--layers", "3-4").exit_code == 0
    assert FeatureStore(next(workspace.cache.glob("*.h5"))).layers == (3, 4)
    assert workspace.train("--layers", "last").exit_code == 0
    assert "it holds 3, 4" in error_of(workspace.train("--layers", "embeddings"))


def test_train_asks_which_store(workspace: Workspace) -> None:
    assert "featbert extract first" in error_of(workspace.train())
    assert workspace.extract().exit_code == 0
    assert workspace.extract("--context", "document").exit_code == 0
    message = error_of(workspace.train())
    for path in workspace.cache.glob("*.h5"):
        assert path.name in message
    assert workspace.train("--features", next(workspace.cache.glob("*.h5"))).exit_code == 0


def test_train_refuses_a_changed_corpus(workspace: Workspace) -> None:
    assert workspace.extract().exit_code == 0
    path = workspace.corpus / "train.conll"
    path.write_text(path.read_text("utf-8").replace("Jordan", "Gordon"), "utf-8")
    assert "extract the corpus as it is now" in error_of(workspace.train())
    assert not workspace.runs.exists()


def test_changed_tags_keep_the_store_and_make_other_runs(workspace: Workspace) -> None:
    assert workspace.extract().exit_code == 0
    assert workspace.train("--layers", "last").exit_code == 0
    path = workspace.corpus / "train.conll"
    path.write_text(path.read_text("utf-8").replace("Hamilton B-LOC", "Hamilton O"), "utf-8")
    assert "nothing to do" in workspace.extract().stdout
    assert workspace.train("--layers", "last").exit_code == 0
    assert len(find_runs(workspace.runs).runs) == 2


def test_check(workspace: Workspace) -> None:
    text = workspace.call("check", workspace.corpus).stdout
    assert "longest sentence" in text
    assert "first sentence as read: Jordan/B-PER Smith/I-PER of/O" in text
    report = json.loads(workspace.call("check", workspace.corpus, "--format", "json").stdout)
    assert report["splits"]["train"]["sentences"] == 24
    assert report["splits"]["dev"]["entities_by_type"] == {"LOC": 3, "MISC": 1, "ORG": 3, "PER": 3}


def test_check_of_the_embedded_sample(workspace: Workspace) -> None:
    assert "632" in workspace.call("check").stdout


def test_document_context_without_documents_is_refused(workspace: Workspace) -> None:
    for path in workspace.corpus.iterdir():
        text = path.read_text("utf-8").replace("-DOCSTART- O\n\n", "")
        path.write_text(text, "utf-8")
    for command in (workspace.extract, workspace.finetune):
        assert "--context document" in error_of(command("--context", "document"))


def test_python_m_featbert() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "featbert", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("featbert 0.")


def test_a_file_where_the_runs_folder_should_be_is_one_line(workspace: Workspace) -> None:
    assert workspace.extract().exit_code == 0
    workspace.runs.write_text("a file where the folder should be")
    assert "a folder expected for --runs-dir" in error_of(
        workspace.train("--layers", "last", "--quiet")
    )


def test_what_compare_may_vary_is_checked(finished: Workspace) -> None:
    assert "did you mean 'context'?" in error_of(finished.compare("--vary", "contxt"))
    assert finished.compare("--vary", "context,corpus").exit_code == 0


def test_a_damaged_record_says_how_to_go_on(workspace: Workspace) -> None:
    assert workspace.extract().exit_code == 0
    assert workspace.train("--layers", "last").exit_code == 0
    (run,) = find_runs(workspace.runs)
    record = run.folder / "record.json"
    record.write_text(record.read_text("utf-8")[:200], "utf-8")
    assert "--overwrite trains the run again" in error_of(
        workspace.train("--layers", "last", "--quiet")
    )
    assert workspace.train("--layers", "last", "--overwrite").exit_code == 0
    assert [r.record.scores for r in find_runs(workspace.runs)] == [run.record.scores]


def test_a_store_reads_by_the_name_of_a_combination(finished: Workspace) -> None:
    store = FeatureStore(next(finished.cache.glob("*.h5")))
    assert (store.read("dev", "concat_last4") == store.read("dev", [1, 2, 3, 4])).all()


def test_all_files_of_a_run_are_readable_alike(finished: Workspace) -> None:
    for run in find_runs(finished.runs):
        assert len({p.stat().st_mode for p in run.folder.iterdir()}) == 1


def test_overwriting_keeps_the_finished_run_until_the_new_one_is_whole(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from featbert.runs import carrying_out

    assert workspace.extract().exit_code == 0
    assert workspace.train("--layers", "last").exit_code == 0
    (first,) = find_runs(workspace.runs)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(carrying_out, "write_record", interrupted)
        assert workspace.train("--layers", "last", "--overwrite").exit_code == 130
    (kept,) = find_runs(workspace.runs)
    assert kept.record == first.record
    assert workspace.train("--layers", "last", "--overwrite").exit_code == 0
    (second,) = find_runs(workspace.runs)
    assert second.record.scores == first.record.scores
    assert second.record.cost != first.record.cost
    assert [p.name for p in workspace.runs.iterdir()] == [first.name]


def test_another_tokenizer_makes_another_run(workspace: Workspace) -> None:
    model = shutil.copytree(workspace.model, workspace.folder / "tiny-bert")
    space = Workspace(workspace.folder, workspace.corpus, model)
    assert space.extract().exit_code == 0
    assert space.train("--layers", "last").exit_code == 0
    config = json.loads((model / "config.json").read_text("utf-8"))
    (model / "config.json").write_text(json.dumps(config | {"layer_norm_eps": 0.1}), "utf-8")
    assert space.extract().exit_code == 0
    stores = sorted(space.cache.glob("*.h5"))
    assert len(stores) == 2
    for store in stores:
        assert space.train("--features", store, "--layers", "last").exit_code == 0
    rows = json.loads(space.compare("--format", "json").stdout)["rows"]
    assert [row["group"] for row in rows] == [1, 2]


def test_tags_of_the_same_text_from_another_column(workspace: Workspace) -> None:
    for path in workspace.corpus.iterdir():
        lines = path.read_text("utf-8").split("\n")
        wide = [f"{line} {line.split()[1]}" if line else "" for line in lines]
        wide = [line[: line.rindex(" ")] + " O" if "B-MISC" in line else line for line in wide]
        path.write_text("\n".join(wide), "utf-8")
    assert workspace.extract("--tag-column", 2).exit_code == 0
    again = workspace.extract("--tag-column", 3)
    assert "same --data and column options" in again.stdout
    assert workspace.train("--layers", "last").exit_code == 0
    assert workspace.train("--layers", "last", "--tag-column", 3).exit_code == 0
    types = {tuple(r.record.signature.entity_types) for r in find_runs(workspace.runs)}
    assert types == {("LOC", "MISC", "ORG", "PER"), ("LOC", "ORG", "PER")}


def test_a_saved_run_predicts_what_it_predicted(finished: Workspace) -> None:
    from featbert.runs.labels import tags_by_sentence
    from featbert.training.settings import DEFAULTS
    from safetensors.torch import load_file

    from featbert.data.load import load_corpus
    from featbert.encoders.device import find_device
    from featbert.encoders.layers import parse_layers
    from featbert.models.bilstm import BiLSTMTagger
    from featbert.training.inputs import FeatureInputs
    from featbert.training.loop import predict

    run = next(r for r in find_runs(finished.runs) if r.record.layers == "weighted_all")
    store = FeatureStore(next(finished.cache.glob("*.h5")))
    combination = parse_layers("weighted_all", 4)
    tagger = BiLSTMTagger(combination, 16, len(run.record.labels), lstm_size=8)
    tagger.load_state_dict(load_file(run.folder / "weights.safetensors"))
    device = find_device("cpu")
    inputs = FeatureInputs.of_store(store, "dev", combination, device.torch)
    ids = predict(tagger, inputs, DEFAULTS["features"], device=device)
    found = tags_by_sentence(ids, tuple(run.record.labels), inputs.offsets)
    assert found == run.predictions("dev").predicted
    assert load_corpus(run.record.signature.source, **run.record.reading).name == "tiny"


def test_at_a_terminal_train_asks_which_store(workspace: Workspace) -> None:
    assert workspace.extract().exit_code == 0
    assert workspace.extract("--context", "document").exit_code == 0
    second = sorted(workspace.cache.glob("*.h5"))[1]
    command = [sys.executable, "-m", "featbert", "train", "--cache-dir", str(workspace.cache)]
    small = ["--runs-dir", str(workspace.runs), "--epochs", "1", "--hidden-size", "4"]
    terminal, other = pty.openpty()
    asking = subprocess.Popen([*command, *small], stdin=other, stdout=other, stderr=other)
    os.close(other)
    shown = b""
    answered = False
    for part in sent(terminal):
        shown += part
        if b"Which store" in shown and not answered:
            os.write(terminal, b"2\n")
            answered = True
    os.close(terminal)
    assert asking.wait(timeout=60) == 0, shown
    assert second.name.encode() in shown
    (run,) = find_runs(workspace.runs)
    assert run.record.signature.context == FeatureStore(second).manifest.context


def test_named_runs_that_do_not_fit_are_refused_with_the_keys_that_differ(
    workspace: Workspace,
) -> None:
    for context in ("sentence", "document"):
        assert workspace.finetune("--context", context).exit_code == 0
    names = [r.name for r in find_runs(workspace.runs)]
    message = error_of(workspace.compare(*names))
    assert "context" in message
    assert "sentence" in message
    assert "document" in message
    assert workspace.compare(*names, "--vary", "context").exit_code == 0
    tables = json.loads(workspace.compare("--format", "json").stdout)["rows"]
    assert {row["group"] for row in tables} == {1, 2}
