"""Labels of words against scikit-learn, and from a CoNLL-U file to a comparison."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from featbert.runs.run import find_runs
from featbert.tasks.base import get_task
from tests.workspace import Workspace, error_of, ok

TASK = get_task("labels")
labels = st.sampled_from(["NOUN", "VERB", "PUNCT", "O"])
SENTENCES = st.lists(st.lists(st.tuples(labels, labels), min_size=1, max_size=6), min_size=1)


@given(SENTENCES)
def test_scores_are_those_of_scikit_learn(sentences):
    gold = [[g for g, _ in row] for row in sentences]
    predicted = [[p for _, p in row] for row in sentences]
    flat = [[tag for row in rows for tag in row] for rows in (gold, predicted)]
    values = TASK.score(gold, predicted).values
    assert values["accuracy"] == pytest.approx(accuracy_score(*flat))
    assert values["macro_f1"] == pytest.approx(f1_score(*flat, average="macro", zero_division=0))
    counts = TASK.counts(gold, predicted)
    assert float(TASK.measure.of(counts.sum(axis=0))) == pytest.approx(values["accuracy"])


CONLLU = """# newdoc id = a
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2-3\tfox's\t_\t_\t_\t_\t_\t_\t_\t_
2\tfox\tfox\tNOUN\tNN\t_\t0\troot\t_\t_
3\t's\t's\tPART\tPOS\t_\t2\tcase\t_\t_
3.1\tis\tbe\tAUX\tVBZ\t_\t_\t_\t_\t_

1\tJordan\tJordan\tPROPN\tNNP\t_\t0\troot\t_\t_
2\tsaid\tsay\tVERB\tVBD\t_\t1\tdep\t_\t_

"""


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.conllu").write_text(CONLLU * 6, "utf-8")
    return str(tmp_path)


def test_from_text_to_comparison_nothing_is_said_of_entities(corpus, tiny_bert, tmp_path):
    space = Workspace(tmp_path, Path(corpus), tiny_bert)
    ok(space.extract())  # for any task: all read one store
    options = ("--epochs", "40", "--lstm-size", "16", "--learning-rate", "0.01")
    ok(space.train("--task", "labels", "--layers", "last", *options))
    assert len([*space.cache.glob("*.h5")]) == 1
    (run,) = find_runs(space.runs)
    assert run.record.targets.classes == ("DET", "NOUN", "PART", "PROPN", "VERB")
    assert run.record.score("test") == 1.0
    assert run.predictions("test").gold[0] == ["DET", "NOUN", "PART"]
    text = tmp_path / "text.txt"
    text.write_text("Jordan said so\n", "utf-8")
    predicted = space.call(
        "predict", run.folder, text, "--runs-dir", space.runs, "--format", "jsonl"
    )
    assert "entities" not in json.loads(predicted.stdout)
    compared = space.compare("--scorers", "--report", tmp_path / "page.html")
    assert (compared.exit_code, "winner" in compared.stdout) == (0, False)
    assert "entities" not in space.call("check", corpus, "--task", "labels").stdout
    assert "iob1" in error_of(space.finetune("--task", "labels", "--tag-scheme", "iob1"))
