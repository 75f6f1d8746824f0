"""Scores of spans against the official script, evaluate-v2.0, written from its definition."""

import collections
import json
import re
import string
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featbert.data.corpus import Sentence, Split
from featbert.data.examples import split_text
from featbert.errors import InputError
from featbert.tasks.base import Predictions
from featbert.tasks.spans import CLASSES, NO_ANSWER, TASK

# The official script, function by function --------------------------------------------------------


def normalize_answer(s):
    without = "".join(ch for ch in s.lower() if ch not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", without).split())


def get_tokens(s):
    return normalize_answer(s).split() if s else []


def compute_exact(a_gold, a_pred):
    return int(normalize_answer(a_gold) == normalize_answer(a_pred))


def compute_f1(a_gold, a_pred):
    gold_toks, pred_toks = get_tokens(a_gold), get_tokens(a_pred)
    common = collections.Counter(gold_toks) & collections.Counter(pred_toks)
    num_same = sum(common.values())
    if len(gold_toks) == 0 or len(pred_toks) == 0:
        return int(gold_toks == pred_toks)
    if num_same == 0:
        return 0
    precision = 1.0 * num_same / len(pred_toks)
    recall = 1.0 * num_same / len(gold_toks)
    return (2 * precision * recall) / (precision + recall)


def official(gold: dict[str, list[str]], preds: dict[str, str]) -> dict[str, float]:
    exact, f1 = {}, {}
    for qid, texts in gold.items():
        golds = [t for t in texts if normalize_answer(t)] or [""]
        exact[qid] = max(compute_exact(a, preds[qid]) for a in golds)
        f1[qid] = max(compute_f1(a, preds[qid]) for a in golds)
    found, answered = {}, [q for q in gold if gold[q]]
    for prefix, ids in (("", [*gold]), ("has_answer_", answered)):  # HasAns_ of the script
        if ids:
            found[f"{prefix}exact"] = sum(exact[q] for q in ids) / len(ids)
            found[f"{prefix}f1"] = sum(f1[q] for q in ids) / len(ids)
    if none := gold.keys() - answered:  # NoAns_exact and NoAns_f1, which are the same
        found["no_answer"] = sum(exact[q] for q in none) / len(none)
    return found


PARTS = [
    *("the", "A", "an", "Rome", "rome", "old", "New-York"),
    *("3.5", ".", "'s", "\u00a0", "The ", ""),
]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=4).map(" ".join)


def tag(text: str) -> str:
    return f"0:{text}"


@given(st.lists(st.tuples(st.lists(TEXTS.filter(bool), max_size=3), TEXTS), min_size=1, max_size=8))
@settings(max_examples=200)
def test_scores_are_those_of_the_official_script(rows) -> None:
    gold = {str(i): texts for i, (texts, _) in enumerate(rows)}
    preds = {str(i): text for i, (_, text) in enumerate(rows)}
    tagged = [[*map(tag, texts)] or [""] for texts in gold.values()]
    scores = TASK.score(tagged, [[tag(text) if text else ""] for text in preds.values()])
    for name, value in official(gold, preds).items():
        assert scores.values[name] == pytest.approx(value, abs=1e-12)
    none = official(gold, dict.fromkeys(gold, ""))
    assert scores.floor == pytest.approx(none["f1"], abs=1e-12)
    assert {*scores.values} <= {*TASK.columns}


def test_the_measure_is_f1_or_exact_match() -> None:
    gold, found = [["0:the old Rome"], [""]], [["0:Rome"], [""]]
    counts = TASK.counts(gold, found)
    assert counts.tolist() == [[0, pytest.approx(2 / 3), 1], [1, 1, 1]]
    assert TASK.counts([["0:the"]], [NO_ANSWER]).tolist() == [[1, 1, 1]]
    assert float(TASK.measure.of(counts.sum(axis=0))) == pytest.approx(5 / 6)
    exact = TASK.measured_by("exact")
    assert float(exact.measure.of(counts.sum(axis=0))) == 0.5
    assert next(iter(exact.dev_values(gold, found))) == "exact"
    assert exact.scorer != TASK.scorer
    with pytest.raises(InputError):
        TASK.measured_by("accuracy")


# Answers from numbers -----------------------------------------------------------------------------


def question(n: int, answers=("",), passage="Rome is  old, they say.") -> Sentence:
    texts = ("Which one?", passage)
    places = [split_text(text) for text in texts]
    words = [t[a:b] for t, cut in zip(texts, places, strict=True) for a, b in cut]
    flat = tuple(place for cut in places for place in cut)
    return Sentence(tuple(words), tuple(answers), n, 3, texts, flat, id=f"q{n}")


def split_of(*rows) -> Split:
    return Split("dev", tuple(question(n, answers) for n, answers in enumerate(rows)))


def test_answers_are_cut_from_the_passage_as_it_is() -> None:
    split = split_of(["0:Rome is  old"], [""], ["9:old", "14:they"])
    places = TASK.encode(split, CLASSES, "")
    assert places.tolist() == [[4, 6], [0, 0], [6, 6]]
    numbers = np.array([[4, 6, 0.1], [5, 5, -3], [8, 8, 0.2]])
    answers = [["0:Rome is  old"], ["5:is"], ["14:they"]]
    assert TASK.answers(numbers, CLASSES, split, "", None) == answers
    assert TASK.answers(numbers, CLASSES, split, "", 0.1) == [[""], [""], ["14:they"]]


@given(
    st.lists(
        st.tuples(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), st.booleans(), st.booleans()),
        min_size=1,
        max_size=7,
    )
)
def test_the_threshold_is_the_best_of_all(rows) -> None:
    """Brute force over every threshold that differs; of equals the one that answers most."""
    split = split_of(
        *([""] if none else ["0:Rome" if right else "9:old"] for _, none, right in rows)
    )
    numbers = np.array([[4, 4, margin] for margin, *_ in rows], dtype=np.float32)

    def value(threshold) -> float:
        answers = TASK.answers(numbers, CLASSES, split, "", threshold)
        return round(TASK.dev_values(TASK.gold(split), answers)["f1"], 9)

    found = TASK.threshold(numbers, split, CLASSES, None)
    tried = {t: value(t) for t in (-2.0, -0.5, 0.25, 1.0, 3.0)}
    assert value(found) == max(tried.values())
    best = [t for t, v in tried.items() if v == max(tried.values())]
    answered = [sum(m > t for m, *_ in rows) for t in (found, *best)]
    assert answered[0] == max(answered[1:])
    assert TASK.threshold(numbers, split, CLASSES[:1], None) is None


def test_predictions_are_read_as_they_were_written(tmp_path: Path) -> None:
    split = split_of(["0:Rome is  old", "0:Rome"], [""], ["9:old"])
    predicted = [["0:Rome"], ["9:old, they"], [""]]
    TASK.write_predictions(tmp_path / "dev.jsonl", split.sentences, predicted)
    kept = TASK.read_predictions(tmp_path / "dev.jsonl")
    assert kept == Predictions(
        [list(s.words) for s in split],
        [list(t) for t in split.tags],
        predicted,
        [1, 2, 3],
        [(3, 7)] * 3,
        [list(s.places) for s in split],
        [1, 2, 3],
    )
    marks = [[("answer", 3, 5)], [("answer", 5, 7)], [("(no answer)", 0, -1)]]
    assert TASK.marks(kept, [["0:Rome is  old"], ["9:old, they"], [""]]) == [*map(set, marks)]
    # What equals a gold answer is marked as the first one.
    assert TASK.marks(kept, [["0:Rome"], [""], ["9:old"]]) == [
        *map(set, [marks[0], marks[2], [("answer", 5, 5)]])
    ]
    given = json.loads((tmp_path / "dev.squad.json").read_text("utf-8"))
    assert given == {"q0": "Rome", "q1": "old, they", "q2": ""}
    cells, row = TASK.answered(split.sentences[:1], [""], [{}])
    assert (cells[1], row["answer"]) == ("(no answer)", "")
    (tmp_path / "dev.jsonl").write_text('{"question": 3}\n')
    with pytest.raises(InputError, match="line 1"):
        TASK.read_predictions(tmp_path / "dev.jsonl")


def test_buckets_of_questions() -> None:
    split = split_of(["0:Rome is  old", "0:Rome"], [""], ["9:old"])
    words, gold = [list(s.words) for s in split], [list(t) for t in split.tags]
    found = Predictions(words, gold, [["0:Rome"], ["0:Rome"], [""]], [1, 2, 3], [(3, 7)] * 3)
    parts = TASK.break_down([*TASK.facets], found)
    sizes = {name: b.size for name, b in parts["answer"].items()}
    assert sizes == dict(zip(CLASSES, (2, 1), strict=True))
    assert [*parts["length"]] == ["1", "3", "no answer"]
    assert [*parts["question"]] == ["which"]
    # What is confused is whether there is an answer.
    found = TASK.spans([["0:Rome", "9:old"], [""]])
    assert found == [{("answerable", 0, -1)}, {("unanswerable", 0, -1)}]
