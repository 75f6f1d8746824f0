"""featbert evaluate: what it prints, keeps and refuses."""

import io
import json
import shutil
from pathlib import Path

import pandas
import pytest

from featbert import api
from featbert.errors import InputError
from featbert.runs.run import Run, find_runs
from tests.processes import fresh_commands
from tests.workspace import Workspace, error_of, ok


@pytest.fixture
def space(finished: Workspace, tmp_path: Path) -> Workspace:
    """The finished runs, copied, with other data beside them that calls persons otherwise."""
    shutil.copytree(finished.runs, tmp_path / "runs")
    other = shutil.copytree(finished.corpus, tmp_path / "data" / "nl")
    for path in other.iterdir():
        text = path.read_text("utf-8").replace("PER", "person").replace("Herald", "Bode")
        path.write_text(text.replace("B-MISC", "O"), "utf-8")
    return Workspace(tmp_path, finished.corpus, finished.model)


def evaluate(space: Workspace, *words: object) -> object:
    return space.call("evaluate", *words, "--cache-dir", space.cache, "--runs-dir", space.runs)


def runs(space: Workspace) -> dict[str, Run]:
    return {r.record.layers or "finetune": r for r in find_runs(space.runs)}


def test_other_data_with_a_mapping(space):
    data = space.folder / "data" / "nl"
    name = runs(space)["last"].name
    plain = evaluate(space, name, "--data", data, "--quiet")
    assert (plain.exit_code, plain.stderr) == (0, "")
    assert "person" in plain.stdout  # the run has no such class
    assert "MISC, PER" in plain.stdout  # the data has none of these
    mapped = evaluate(space, name, "--data", data, "--map", "person=PER", "--map", "MISC=O")
    assert "person=PER, MISC=O" in mapped.stdout
    again = evaluate(space, space.runs / name, "--data", data, "--map=person=PER", "--map=MISC=O")
    assert "evaluated before" in again.stderr
    assert len(list(space.cache.rglob("*.h5"))) == 1
    in_json = evaluate(space, name, "--data", data, "--format", "json", "--quiet")
    (row,) = json.loads(in_json.stdout)["evaluations"]
    kept = json.loads(Path(row.pop("path")).read_text("utf-8"))
    assert kept.pop("checksum")
    assert (kept, row["run"]) == (row, name)
    learned = evaluate(space, name, "--data", space.corpus, "--split", "train")
    assert "note: " in learned.stdout  # that the run was trained on it


@pytest.mark.parametrize(
    ("file", "content", "option", "task"),
    [
        ("texts.csv", "text,label\nIt rains.,bad\nSun!,good\n", "token", "task classification"),
        ("test.conllu", "1\tRain\train\tNOUN\tNN\t_\t0\troot\t_\t_\n\n", "tag", "task='labels'"),
        ("test.conll", "It B-PER\nrains X-Y-\n\n", "tag", "task='labels'"),
    ],
)
def test_a_refusal_names_only_settings_that_evaluate_has(space, file, content, option, task):
    name, path = runs(space)["last"].name, space.folder / file
    path.write_text(content)
    refused = error_of(evaluate(space, name, "--data", path))
    assert (f"--{option}-column" in refused, "--task" in refused) == (True, False)
    with pytest.raises(InputError, match=f"{option}_column") as caught:
        api.evaluate(name, path, runs_dir=space.runs)
    assert "task" not in str(caught.value)
    with pytest.raises(InputError, match=task):
        api.load_corpus(path)


def test_runs_on_corpora_are_compared(space):
    """Several at once; comparisons of other data have their scores, by type too."""
    data, names = space.folder / "data" / "nl", sorted(run.name for run in find_runs(space.runs))
    where = ("--data", data, "--data", space.corpus, "--map", "person=PER", "--by", "type")
    found = pandas.read_csv(io.StringIO(ok(evaluate(space, *names, *where, "--format=csv")).stdout))
    assert (found["table"] == 1).sum() == 2 * len(names)
    assert found["table"].nunique() == 3  # and scores by type on each corpus
    words = ("compare", "--runs-dir", space.runs, "--stats", "--by", "type", "--format", "json")
    there_all = json.loads(ok(space.call(*words, "--evaluated-on", "data-nl")).stdout)
    (there,) = there_all["comparisons"]
    paths = space.runs.glob("*/evaluations/data-nl--*.json")
    records = {path.parents[1].name: json.loads(path.read_text("utf-8")) for path in paths}
    for one in (run for row in there["rows"] for run in row["runs"]):
        assert one["scores"].keys() == {"test"}
        own = records[one["name"]]["scores"]["values"]["f1"]
        assert one["scores"]["test"]["f1"] == own
    # Costs are of the run's own corpus, as without the option.
    here_all = json.loads(ok(space.call(*words)).stdout)
    (here,) = here_all["comparisons"]
    assert here_all["matrices"] == there_all["matrices"] != []

    for name in ("extraction_flops", "extraction_words", "training_flops"):
        costs = [[row["cost"][name] for row in comparison["rows"]] for comparison in (here, there)]
        assert costs[0] == costs[1]
    types = {kind for b in there["breakdowns"] if b["facet"] == "type" for kind in b["gold"]}
    assert types == {"LOC", "ORG", "PER"}
    assert {one["split"] for one in there["differences"]} <= {"test"}
    assert "data-nl" in error_of(space.compare("--evaluated-on", "data-ln"))
    shown = ok(space.call("runs", "show", names[0], "--runs-dir", space.runs)).stdout
    assert "data-nl test person=PER all" in shown


def test_scores_on_train_by_a_facet_are_refused_before_anything_is_computed(space):
    name = runs(space)["last"].name
    error_of(evaluate(space, name, "--data", space.corpus, "--split", "train", "--by", "type"))
    assert not (space.runs / name / "evaluations").exists()


def test_finished_evaluations_need_no_torch(space):
    words = ("evaluate", runs(space)["last"].name, "--data", space.corpus, "--runs-dir", space.runs)
    words = (*words, "--cache-dir", space.cache)
    ok(space.call(*words))
    (there,) = fresh_commands(words, cwd=space.folder)
    assert (there.exit_code, there.light) == (0, True)


def test_evaluations_of_a_run_that_is_trained_again_are_deleted(space):
    run = runs(space)["finetune"]
    data = space.folder / "data" / "nl"
    assert evaluate(space, run.name, "--data", data, "--map", "person=PER").exit_code == 0
    again = space.finetune("--seeds", run.record.seed, "--overwrite")
    assert "1 evaluation" in again.stderr
    assert not (run.folder / "evaluations").exists()


def test_classes_of_texts(tmp_path, tiny_bert):
    """Three classes, of which train lacks one: F1 of two classes is no score of them."""
    for split, names in (("train", "ab"), ("dev", "ab"), ("test", "abc")):
        rows = [f"text {i} x\t{names[i % len(names)]}" for i in range(12)]
        (tmp_path / f"{split}.tsv").write_text("\n".join(["sentence\tlabel", *rows, ""]), "utf-8")
    space = Workspace(tmp_path, tmp_path, tiny_bert)
    tuned = ok(space.finetune("--task", "classification"))
    assert "test has c," in tuned.stderr
    assert "dev has" not in tuned.stderr
    (name,) = (run.name for run in find_runs(space.runs))
    result = ok(evaluate(space, name, "--data", tmp_path))
    assert "examples" in result.stdout
    assert "macro F1" in result.stdout
