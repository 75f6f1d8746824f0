"""Answers in passages: a span of words for each question, or no answer, as in SQuAD 1.1 and 2.0.

Exact match and F1 of words follow the official script, evaluate-v2.0. It compares texts in lower
case without punctuation, articles and further white space. The best of several gold answers counts.
If a question has no answer, only no answer is right.

A model gives the best span of each question and its margin over no answer. A span is the answer if
its margin is above a threshold, which is chosen on dev: among thresholds with the highest measure,
the one that answers most. A model that learned only from answerable questions always answers.

Sources: Rajpurkar et al. 2016 and 2018, and Devlin et al. 2019, sections 4.2 and 4.3.
"""

import functools
import json
import math
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from featbert.data.corpus import Sentence, Split
from featbert.data.spans import NO_ANSWER, answer_of, answer_words
from featbert.errors import InputError
from featbert.io import write_text
from featbert.tasks.base import (
    Facet,
    Measure,
    Predictions,
    Rows,
    TargetSummary,
    Task,
    Threshold,
    in_buckets,
)
from featbert.tasks.examples import ExampleTask, best_threshold, single
from featbert.tasks.measures import Counts, Values, accuracy_of

CLASSES = ("answerable", "unanswerable")
# The title of no answer.
_NOTHING = "(no answer)"
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ANSWER_LENGTHS = ((1, "1"), (2, "2"), (3, "3"), (5, "4-5"), (10, "6-10"), (math.inf, "11+"))
_PASSAGES = ((100, "1-100"), (200, "101-200"), (400, "201-400"), (math.inf, "401+"))
_QUESTIONS = ("what", "who", "when", "where", "why", "which", "how")


class Spans(ExampleTask):
    """The task of answers in passages.

    Counts of a question are its exact match, its F1 and 1.
    """

    name = "spans"
    title = "answers in passages"
    targets = "spans"
    answer = "span"
    output = "span"
    unit = "question"
    whole = "question and passage"
    kinds = "kinds of questions"
    renames = False
    group = "passage"
    probability_columns: Mapping[str, str] = {}  # the best span is not one of a few answers
    pipeline = "question-answering"
    auto_model = "AutoModelForQuestionAnswering"
    floor = "answering nothing"
    measures: ClassVar[Mapping[str, Measure]] = {
        "f1": Measure("f1", "F1", lambda counts: accuracy_of(counts[..., 1:])),
        "exact": Measure("exact", "exact match", lambda counts: accuracy_of(counts[..., ::2])),
    }
    facets: Mapping[str, Facet] = {
        "answer": Facet("whether there is an answer"),
        "question": Facet("first question word"),
        "length": Facet("words of the answer"),
        "passage": Facet("words of the passage"),
    }

    def __init__(self, key: str | None = None) -> None:
        super().__init__(key)
        self.scorer = f"evaluate-v2.0, {self.measure.name}"
        pairs = [
            ((key, name), (f"has_answer_{key}", f"HasAns {name}"))
            for key, name in self.columns.items()
        ]
        self.columns = dict([*pairs[0], ("no_answer", "NoAns accuracy"), *chain(*pairs[1:])])

    def defaults(self, tuning: str, *, frozen: bool, words: bool) -> dict[str, Any]:
        """A BiLSTM on frozen states, only start and end vectors on tuned states.

        Rates come from `experiments/defaults-questions`. `experiments/squad-half` tried two numbers
        of epochs for each: the higher ones were best, 6 for features and 4 for fine-tuning.
        """
        settings = {"output": self.output, "batch_size": 16, "epochs": 3}
        if frozen:
            settings |= {"epochs": 6, "learning_rate": 4e-3, "lstm_size": 256, "dropout": 0.2}
        return settings

    def check(self, settings: Any) -> None:
        Task.check(self, settings)
        if settings.sentence_pooling != "none":
            raise InputError("is not for spans; leave it out", setting="sentence_pooling")

    def _by_class(self, gold: Rows, predicted: Rows) -> dict[str, Values]:
        counts = self.counts(gold, predicted)
        gold_classes, classes = ([*map(_class_of, rows)] for rows in (gold, predicted))
        by_class = {}
        for name in self.classes_in(gold):
            exact, f1, n = counts[[c == name for c in gold_classes]].sum(axis=0)
            sizes = {"gold": float(n), "predicted": float(classes.count(name))}
            by_class[name] = {"f1": f1 / n, "exact": exact / n} | sizes
        return by_class

    def _constants(self, gold: Rows) -> Rows:
        return [NO_ANSWER]

    def dev_values(self, gold: Rows, predicted: Rows, classes: Sequence[str] = ()) -> Values:
        """Values of all questions, of answerable and of unanswerable ones, as far as there are."""
        counts = self.counts(gold, predicted)
        has = np.array([_class_of(row) == CLASSES[0] for row in gold], dtype=bool)
        values = {key: measure.of(counts.sum(axis=0)) for key, measure in self.measures.items()}
        for key, measure in self.measures.items() if has.any() else ():
            values[f"has_answer_{key}"] = measure.of(counts[has].sum(axis=0))
        if not has.all():
            values["no_answer"] = self.measures["exact"].of(counts[~has].sum(axis=0))
        return {key: float(values[key]) for key in self.columns if key in values}

    def counts(self, gold: Rows, predicted: Rows, classes: Sequence[str] = ()) -> Counts:
        rows = zip(gold, single(predicted), strict=True)
        counts = [(*text_scores([*map(_text, g)], _text(p)), 1) for g, p in rows]
        return np.array(counts, dtype=np.float64).reshape(-1, 3)

    def classes_in(self, gold: Rows) -> list[str]:
        return sorted({_class_of(row) for row in gold if row})

    def summary(self, train: Split, scheme: str) -> TargetSummary:
        """Questions with an answer, and without."""
        counts = Counter(_class_of(row) for row in self.gold(train) if row)
        return TargetSummary(
            tuple(sorted(counts)), tuple(counts[n] for n in sorted(counts)), counts.total()
        )

    def encode(self, split: Split, classes: tuple[str, ...], scheme: str) -> Any:
        """(S, 2) first and last place of the first gold answer.

        Place 0 is [CLS] and means no answer. Place 1 is the first word.
        """
        rows = zip(split, self.gold(split), strict=True)
        words = [answer_words(s.places, s.pair or 0, row[0]) for s, row in rows]
        places = [(0, 0) if at is None else (at[0] + 1, at[1] + 1) for at in words]
        return np.array(places, dtype=np.int64).reshape(-1, 2)

    def answers(
        self,
        numbers: Any,
        classes: tuple[str, ...],
        sentences: Sequence[Sentence] | Split,
        scheme: str,
        threshold: Threshold = None,
    ) -> Rows:
        """Answers from (S, 3) first and last place of the best span, and its margin."""
        return [
            [*NO_ANSWER]
            if threshold is not None and margin <= threshold
            else [answer_of(sentence, int(first) - 1, int(last) - 1)]
            for sentence, (first, last, margin) in zip(sentences, numbers.tolist(), strict=True)
        ]

    def threshold(
        self, numbers: Any, split: Split, classes: tuple[str, ...], settings: Any
    ) -> Threshold:
        """In the middle between the margins of two questions of dev, or beyond all of them."""
        if CLASSES[1] not in classes:
            return None
        labelled = [i for i, s in enumerate(split) if s.tags is not None]
        sentences, numbers = [split.sentences[i] for i in labelled], numbers[labelled]
        gold = [row for row in self.gold(split) if row]
        spans = self.answers(numbers, classes, sentences, "")
        margins = numbers[:, 2].astype(np.float64)
        order = np.argsort(margins, kind="stable")
        margins = margins[order]
        refused = self.counts(gold, [NO_ANSWER] * len(gold))[order]
        answered = self.counts(gold, spans)[order]
        # (S + 1, 3) counts if the questions with the k lowest margins are not answered
        changes = np.concatenate([np.zeros((1, 3)), (refused - answered).cumsum(axis=0)])
        totals = changes + answered.sum(axis=0)
        return best_threshold(margins, self.measure.of(totals), margins[0] - 2, margins[-1] + 2)

    def threshold_note(self, threshold: Threshold, classes: Sequence[str]) -> str:
        return (
            "A question has an answer if the best span's score exceeds the score of no answer (the "
            f"first token) by more than {threshold:.4f}."
        )

    def taught(self, classes: Sequence[str]) -> tuple[str, ...]:
        return tuple(classes)

    def model_config(self, classes: Sequence[str]) -> dict[str, Any]:
        return {"num_labels": 2}  # scores of start and end

    def _buckets(self, facet: str, found: Predictions) -> tuple[list[str], list[str]]:
        texts = [(words, sizes[0]) for words, sizes in zip(found.words, found.texts, strict=True)]
        if facet == "answer":
            return [_class_of(row) for row in found.gold], [*CLASSES]
        if facet == "question":
            questions = ([word.lower() for word in words[:pair]] for words, pair in texts)
            names = [next((w for w in words if w in _QUESTIONS), "other") for words in questions]
            return names, [*_QUESTIONS, "other"]
        if facet == "length":
            sizes = [len(_text(row[0]).split()) for row in found.gold]
            names, order = in_buckets(sizes, _ANSWER_LENGTHS)
            names = [n if size else "no answer" for n, size in zip(names, sizes, strict=True)]
            return names, [*order, "no answer"]
        return in_buckets((len(words) - pair for words, pair in texts), _PASSAGES)

    def _marked(self, answer: Sequence[str]) -> list[str]:
        return [_class_of(answer)]

    def marks(self, found: Predictions, rows: Rows) -> list[set[tuple[str, int, int]]]:
        """The words of the answer. A right one is marked as the first gold answer."""
        marks = []
        questions = zip(rows, found.gold, found.places, found.texts, strict=True)
        for row, gold, places, (before, _) in questions:
            right = gold and text_scores([*map(_text, gold)], _text(row[0]))[0]
            at = answer_words(places, before, (gold if right else row)[0])
            marks.append({(_NOTHING, 0, -1) if at is None else ("answer", *at)})
        return marks

    def answered(
        self, sentences: Sequence[Sentence], answer: Sequence[str], shares: list[dict[str, float]]
    ) -> tuple[list[str], dict[str, Any]]:
        """The question with its answer ("" for none in the object) and where the answer begins.

        Probabilities are of the best span and of no answer. Other spans have the rest.
        """
        row, text = self.shown(sentences), _text(answer[0])
        start = (_object(answer[0]) or {}).get("answer_start")
        row |= {"answer": text, "answer_start": start, "probabilities": shares[0]}
        return [row["question"], text or _NOTHING], row

    def write_predictions(self, path: Path, sentences: Sequence[Sentence], predicted: Rows) -> None:
        """A line for each question. A second file has {id: text}, as the official script reads."""
        super().write_predictions(path, sentences, predicted)
        texts = {s.id: _text(answer) for s, (answer,) in zip(sentences, predicted, strict=True)}
        write_text(path.with_suffix(".squad.json"), json.dumps(texts, ensure_ascii=False) + "\n")

    def shown(self, sentences: Sequence[Sentence]) -> dict[str, Any]:
        question, context = sentences[0].texts
        return {"id": sentences[0].id, "question": question, "context": context}

    def _row(self, sentences: Sequence[Sentence], answer: Sequence[str]) -> dict[str, Any]:
        """Gold and predicted answers in SQuAD's form, and the number of the passage."""
        (question,) = sentences
        gold = None if question.tags is None else [*map(_object, filter(None, question.tags))]
        document = 0 if question.document is None else question.document + 1
        return {"answers": gold, "predicted": _object(answer[0]), "document": document}

    def _read(self, row: Any) -> tuple[list[str], list[str], list[str]]:
        texts, gold = [row["question"], row["context"]], [*map(_tag, row["answers"] or ())]
        return texts, gold or [*NO_ANSWER][: row["answers"] is not None], [_tag(row["predicted"])]


def _text(answer: str) -> str:
    return answer.partition(":")[2]


def _class_of(row: Sequence[str]) -> str:
    return CLASSES[0] if row[0] else CLASSES[1]


def _object(answer: str) -> dict[str, Any] | None:
    start, _, text = answer.partition(":")
    return {"text": text, "answer_start": int(start)} if answer else None


def _tag(answer: dict[str, Any] | None) -> str:
    return "" if answer is None else f"{int(answer['answer_start'])}:{answer['text']}"


@functools.lru_cache(1 << 16)
def normalised(text: str) -> str:
    """`normalize_answer` of the official script."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def text_scores(gold: Sequence[str], predicted: str) -> tuple[float, float]:
    """Exact match and F1 of a text, each with its best gold answer. There is at least one.

    If all gold answers are only articles and punctuation, they count as no answer.
    """
    answers = [*filter(None, map(normalised, gold))] or [""]
    text = normalised(predicted)
    return float(text in answers), max(_f1(answer.split(), text.split()) for answer in answers)


def _f1(gold: Sequence[str], predicted: Sequence[str]) -> float:
    if not gold or not predicted:
        return float(gold == predicted)
    common = (Counter(gold) & Counter(predicted)).total()
    return 2 * common / (len(gold) + len(predicted))


TASK = Spans()
