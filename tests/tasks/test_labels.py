"""Labels of words against scikit-learn, and what commands say of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from featbert.tasks.base import get_task
from tests.workspace import error_of, ok

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


def test_nothing_is_said_of_entities(workspace):
    """Neither by `check` nor by a comparison with several scorers, which labels do not have."""
    ok(workspace.extract())  # for any task: all read one store
    ok(workspace.train("--task", "labels", "--layers", "last"))
    assert len([*workspace.cache.glob("*.h5")]) == 1
    compared = ok(workspace.compare("--scorers", "--report", workspace.folder / "page.html"))
    assert "winner" not in compared.stdout
    checked = ok(workspace.call("check", workspace.corpus, "--task", "labels"))
    assert "entities" not in compared.stdout + checked.stdout
    assert "iob1" in error_of(workspace.finetune("--task", "labels", "--tag-scheme", "iob1"))
