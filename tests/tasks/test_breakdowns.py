"""Breakdowns of every task: the buckets of each facet add up to the whole."""

import numpy as np
import pytest

from featbert.tasks.base import TASKS, Predictions, get_task

# A random answer to a sentence of n words, by task.
ANSWERS = {
    "entities": lambda random, n: random.choice(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"], n),
    "labels": lambda random, n: random.choice(["NOUN", "VERB", "PUNCT"], n),
    "classification": lambda random, n: random.choice(["a", "b", "c"], 1),
    "multilabel": lambda random, n: random.choice(["", "a", "b", "a|c", "b|c"], 1),
    "regression": lambda random, n: random.choice(["0.5", "1", "2", "3"], 1),
    "choice": lambda random, n: random.permutation(["1", *"00"[: 1 + n % 2]]),
    "spans": lambda random, n: random.choice(["", "0:w1", "0:w1 w2 w3"], 1),
}


@pytest.mark.parametrize("name", [*TASKS, "multilabel:macro_f1", "multilabel:accuracy"])
def test_buckets_add_up(name) -> None:
    task, random = get_task(name), np.random.default_rng(3)
    sizes = random.integers(8, 160, 40)
    words = [[f"w{random.integers(9)}" for _ in range(n)] for n in sizes]
    words[0][0] = "What"
    draw = ANSWERS[name.partition(":")[0]]
    gold, predicted = ([draw(random, n).tolist() for n in sizes] for _ in range(2))
    # Words of the first text, and of the second one or of each choice.
    pairs = zip(map(len, gold), sizes, strict=True)
    texts = [(3, *[1] * (k - 1), n - 2 - k) for k, n in pairs]
    found = Predictions(words, gold, predicted, [0] * 40, texts)
    known = task.known([words[0][:6]], [gold[0][:6]])
    whole = task.counts(gold, predicted).sum(axis=0)
    for facet, buckets in task.break_down([*task.facets], found, known=known).items():
        total = np.sum([bucket.counts for bucket in buckets.values()], axis=0)
        np.testing.assert_allclose(total, whole, atol=1e-9, err_msg=facet)
        assert len(buckets) > 1
        assert task.break_down([facet], found, known=known) == {facet: buckets}


@pytest.mark.parametrize("key", ["accuracy", "f1", "macro_f1", "matthews"])
def test_classes_that_a_text_lacks_count_in_its_buckets(key) -> None:
    task, classes = get_task("classification").measured_by(key), ("no", "yes")
    found = Predictions([["a"], ["b"]], [["no"]] * 2, [["no"]] * 2, [0] * 2, [(1,)] * 2)
    whole = task.counts(found.gold, found.predicted, classes).sum(axis=0)
    for facet, buckets in task.break_down([*task.facets], found, classes=classes).items():
        (bucket,) = buckets.values()
        assert bucket.counts == tuple(whole), facet
    assert task.measure.of(whole) == task.score(found.gold, found.predicted, classes).values[key]
