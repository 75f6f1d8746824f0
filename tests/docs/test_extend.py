"""The examples of docs/how-to/extend.md: one file and one registration each."""

import sys
from pathlib import Path

import pytest
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import featbert
from featbert.data.load import load_corpus
from featbert.encoders.tunings import TUNINGS
from featbert.models.registry import BODIES, OUTPUTS, TRAINERS, Part, Trainer
from featbert.registry import Entry
from featbert.runs.run import find_runs
from featbert.tasks.base import TASKS
from tests.docs.pages import DOCS, ROOT, blocks
from tests.workspace import Workspace, ok, train


@pytest.fixture
def extended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's files as modules of their own, registered as the page says."""
    for block in blocks(DOCS / "how-to" / "extend.md"):
        if block.language == "python":
            assert block.file is not None
            (tmp_path / f"extended_{Path(block.file).name}").write_text(block.text, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(TUNINGS, "attention", Entry("extended_attention:TUNING"))
    monkeypatch.setitem(
        OUTPUTS,
        "robust",
        Part("extended_robust:Robust", "robust softmax", answers=("class", "tags")),
    )
    monkeypatch.setitem(BODIES, "hidden", Part("extended_hidden:Hidden", "hidden layer"))
    solver = Trainer("extended_centroid:Centroids", "c", precision="fp64", has_seed=False)
    monkeypatch.setitem(TRAINERS, "centroid", solver)
    centroid = Part("featbert.models.linear:DropoutOnly", "c", words=False, trainer="centroid")
    monkeypatch.setitem(BODIES, "centroid", centroid)
    monkeypatch.setitem(TASKS, "mentions", Entry("extended_mentions:TASK"))
    yield
    for name in [name for name in sys.modules if name.startswith("extended_")]:
        del sys.modules[name]


@pytest.mark.parametrize("page", ["extend", "add-a-figure"])
def test_registries_have_the_lines_next_to_those_of_the_page(page: str) -> None:
    source = "".join(file.read_text("utf-8") for file in (ROOT / "featbert").rglob("*.py"))
    diffs = [
        block.text for block in blocks(DOCS / "how-to" / f"{page}.md") if block.language == "diff"
    ]
    lines = [line[1:] for text in diffs for line in text.splitlines() if line[0] != "+"]
    assert lines
    assert all(f"{line}\n" in source for line in lines)


def test_each_part_trains_is_compared_and_predicts(extended: None, workspace: Workspace) -> None:
    file = workspace.experiment("""
        [features]
        layers = ["last"]
        epochs = 1
        [finetune]
        epochs = 1
        tuning = "attention"
        output = "softmax"
        [[variant]]
        features = { output = "robust", lstm_size = 8 }
        [[variant]]
        features.body = "hidden"
        """)
    ok(workspace.carry_out(file))
    runs = find_runs(workspace.runs)
    assert {run.record.tuning for run in runs} == {"none", "attention"}
    assert {run.record.settings["body"] for run in runs} == {"bilstm", "hidden", "linear"}
    tuned = next(run for run in runs if run.record.tuning == "attention")
    # 16 dimensions: in each of 4 layers four projections and a norm, and the classifier.
    classifier = 17 * len(tuned.record.targets.classes)
    assert tuned.record.cost.trained_parameters == 4 * (4 * 17 * 16 + 2 * 16) + classifier
    table = workspace.compare().output
    for title in ("robust softmax", "hidden layer", "attention"):
        assert title in table
    text = workspace.folder / "words.txt"
    text.write_text("Smith said so\n", "utf-8")
    for run in runs:
        ok(workspace.call("predict", run.folder, text, "--runs-dir", workspace.runs))


def test_a_trainer_fits_without_gradients(extended, workspace: Workspace) -> None:
    """The last epoch is scikit-learn's NearestCentroid."""
    texts = {kind: [f"{word} {n}" for n in "abcdef"] for kind, word in (("x", "fox"), ("y", "EU"))}
    rows = [(text, kind) for kind in texts for text in texts[kind]]
    for name, part in (("train", rows[::2]), ("dev", rows[1::4]), ("test", rows[1::2])):
        lines = "".join(f"{text}\t{kind}\n" for text, kind in part)
        (workspace.folder / f"{name}.tsv").write_text(f"text\tlabel\n{lines}", "utf-8")
    fp32 = {"precision": "fp32", "device": "cpu"}
    given = {"task": "classification", **fp32}
    corpus, model = load_corpus(workspace.folder, targets="classes"), str(workspace.model)
    store = featbert.extract(corpus, model, cache_dir=workspace.cache, progress=False, **given)
    run = train(store, "last", body="centroid", epochs=1, runs_dir=workspace.runs, **given)
    assert run.record.history[-1].step_value == {"a": 1.0}
    vectors = featbert.embed([text for text, _ in rows], model, pooling="mean", **fp32)
    fitted = make_pipeline(StandardScaler(), NearestCentroid())
    fitted.fit(vectors[::2], [kind for _, kind in rows[::2]])
    predicted = [kind for (kind,) in run.predictions("test").predicted]
    assert predicted == [*fitted.predict(vectors[1::2])]
    assert featbert.load(run, device="cpu").predict(rows[1][0])["answer"] == "x"


def test_a_task_brings_its_measure(extended: None, workspace: Workspace) -> None:
    file = workspace.experiment('task = "mentions"\n[finetune]\nepochs = 1\n')
    ok(workspace.carry_out(file))
    (run,) = find_runs(workspace.runs)
    assert run.record.task == "mentions"
    assert set(run.record.scores["dev"].by_class) <= {"mention"}
    assert "mention F1" in workspace.compare().output
