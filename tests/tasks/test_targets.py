"""What tasks need of an output, and what an output gets to know of the training targets."""

from collections import Counter

import pytest

from featbert.config import defaults
from featbert.errors import InputError
from featbert.models.registry import OUTPUTS
from featbert.tasks.base import TASKS, get_task
from tests.corpora import split_of


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("output", OUTPUTS)
def test_a_head_has_an_output_that_gives_what_the_task_needs(task, output):
    settings = defaults("none", task).but(output=output)
    if get_task(task).answer in OUTPUTS[output].answers:
        get_task(task).check(settings)
    else:
        with pytest.raises(InputError, match=output):
            get_task(task).check(settings)


def test_every_task_has_an_output_and_every_output_a_task():
    needed = {get_task(task).answer for task in TASKS}
    assert needed == {answer for part in OUTPUTS.values() for answer in part.answers}
    for task in TASKS:
        assert get_task(task).answer in defaults("full", task).answers


@pytest.mark.parametrize(
    ("task", "tags", "classes"),
    [
        ("entities", [("O", "B-PER", "I-PER"), ("O", "", "O")], ("O", "B-PER", "I-PER")),
        ("labels", [("b", "a"), ("", "b")], ("a", "b")),
        ("classification", [("10",), ("9",), None, ("10",)], ("9", "10")),
    ],
)
def test_a_summary_counts_the_items_of_each_class(task, tags, classes):
    summary = get_task(task).summary(split_of([row for row in tags if row]), "bio")
    counts = Counter(tag for row in tags if row for tag in row if tag)
    assert summary.classes == classes
    assert summary.counts == tuple(counts[name] for name in classes)
    assert summary.items == counts.total()


def test_a_summary_of_scores_has_their_range():
    summary = get_task("regression").summary(split_of([("2.5",), ("-1",), ("4",)]), "")
    assert (summary.classes, summary.counts) == ((), ())
    assert (summary.items, summary.lowest, summary.highest) == (3, -1, 4)
