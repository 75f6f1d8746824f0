"""Named entities: BIO tags of words, scored by entity.

    P = correct / predicted    R = correct / gold    F1 = 2 correct / (predicted + gold)

and 0 if the denominator is 0. An entity is correct when its type, first and last word all agree.
seqeval finds the entities in tags. Its default mode follows the conlleval script: an I- tag begins
an entity if the word before is of another type. Its strict mode (IOB2) ignores such a tag. All
values follow from counts. Only this module imports seqeval, and only when it scores.

Sources: Tjong Kim Sang and De Meulder 2003, `conlleval`, and Nakayama 2018, seqeval.
"""

import importlib.metadata
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from featbert.data.corpus import UNLABELLED, Split
from featbert.data.tags import from_bio, spans, to_bio
from featbert.errors import InputError
from featbert.tasks.base import Counts, Facet, Measure, Parts, Predictions, Rows, Scores, in_buckets
from featbert.tasks.labels import WordTask, check_lengths, labelled_words
from featbert.tasks.measures import Values, f1_of, prf

# (type, first word, last word)
Entity = tuple[str, int, int]

_ENTITY_LENGTHS = ((1, "1"), (2, "2"), (3, "3"), (math.inf, "4 and more"))
_SENTENCES = ((10, "1 to 10"), (20, "11 to 20"), (40, "21 to 40"), (math.inf, "41 and more"))


class Entities(WordTask):
    """The task of named entities."""

    name = "entities"
    title = "named entities"
    targets = "entities"
    kinds = "types"
    removes = True
    phrases_name = "entities"
    scorer = f"seqeval {importlib.metadata.version('seqeval')}, conlleval semantics"
    measure = Measure("f1", "entity F1", f1_of)
    columns: Mapping[str, str] = {
        "f1": "entity F1",
        "precision": "precision",
        "recall": "recall",
        "strict_f1": "strict F1",
        "word_f1": "word F1",
        "word_accuracy": "word accuracy",
    }
    scorers: Mapping[str, str] = {"f1": "conlleval", "strict_f1": "strict", "word_f1": "word"}
    breakdown = (
        "predictions are grouped by their own type or length, not by the gold type or length"
    )
    facets: Mapping[str, Facet] = {
        "type": Facet("entity type"),
        "length": Facet("words of the entity"),
        "seen": Facet("whether train has an entity of the same words", needs_train=True),
        "sentence": Facet("words of the sentence"),
    }

    def defaults(self, tuning: str, *, frozen: bool, words: bool) -> dict[str, Any]:
        """Rates of word labels, and a CRF, from `experiments/defaults-outputs`."""
        return super().defaults(tuning, frozen=frozen, words=words) | {"output": "crf"}

    def score(self, gold: Rows, predicted: Rows, classes: Sequence[str] = ()) -> Scores:
        """All scores of one split, with ill-formed tags (I- after O) as in conlleval."""
        tags = Predictions([*map(list, gold)], [*map(list, gold)], [*map(list, predicted)], [])
        by_type = {n: b.counts for n, b in self.break_down(["type"], tags)["type"].items()}
        total = [sum(counts) for counts in zip([0, 0, 0], *by_type.values(), strict=True)]
        strict = _sentence_counts(_strict_entities(gold), _strict_entities(predicted)).sum(axis=0)
        word, right = _word_counts(gold, predicted)
        words = len(labelled_words(gold, predicted)[0])
        return Scores(
            values=_values(*total)
            | {
                "strict_f1": prf(*strict.tolist())["f1"],
                "word_f1": prf(*word)["f1"],
                "word_accuracy": right / words if words else 0.0,
            },
            by_class={name: prf(*counts) for name, counts in by_type.items()},
            examples=len(gold),
            words=words,
        )

    def dev_values(self, gold: Rows, predicted: Rows, classes: Sequence[str] = ()) -> Values:
        return _values(*self.counts(gold, predicted).sum(axis=0).tolist())

    def counts(self, gold: Rows, predicted: Rows, classes: Sequence[str] = ()) -> Counts:
        check_tags(gold, predicted)
        return _sentence_counts(self.spans(gold), self.spans(predicted))

    def spans(self, rows: Rows) -> list[set[Entity]]:
        """Entities by sentence as conlleval sees them (seqeval's default mode)."""
        from seqeval.metrics.sequence_labeling import get_entities

        return [set(get_entities([*map(_mark, row)])) for row in rows]

    def parts(self, found: Predictions, known: Collection[Any], classes: Sequence[str]) -> Parts:
        """An item is a gold or predicted entity.

        A predicted entity counts in its own bucket, so that a bucket's precision is that among its
        predictions.
        """
        check_tags(found.gold, found.predicted)
        rows = zip(found.words, self.spans(found.gold), self.spans(found.predicted), strict=True)
        items = [
            (words, entity, entity in g, entity in p) for words, g, p in rows for entity in g | p
        ]
        counts = [(gold and predicted, predicted, gold) for *_, gold, predicted in items]
        of_items = np.array(counts, dtype=np.int64).reshape(-1, 3)

        def buckets(facet: str) -> tuple[list[str], list[str]]:
            if facet == "length":
                lengths = (last - first + 1 for _, (_, first, last), *_ in items)
                return in_buckets(lengths, _ENTITY_LENGTHS)
            if facet == "sentence":
                return in_buckets((len(row) for row, *_ in items), _SENTENCES)
            names = [entity[0] for _, entity, *_ in items]
            if facet == "seen":
                texts = (tuple(row[first : last + 1]) for row, (_, first, last), *_ in items)
                names = ["seen" if text in known else "unseen" for text in texts]
            return names, sorted({*names})

        return of_items, of_items[:, 2], buckets

    def known(self, words: Rows, gold: Rows) -> set[tuple[str, ...]]:
        """The words of every entity, as they are written."""
        return {
            tuple(row[first : last + 1])
            for row, entities in zip(words, self.spans(gold), strict=True)
            for _, first, last in entities
        }

    def classes(self, train: Split, scheme: str) -> tuple[str, ...]:
        """Tags of a training text in the scheme: "O" first, then by type."""
        tags = {tag for row in self.gold(train) for tag in self.written(row, scheme)}
        return ("O", *sorted(tags - {"O", UNLABELLED}, key=lambda t: (t[2:], t[:1])))

    def written(self, answer: Sequence[str], scheme: str) -> Sequence[str]:
        return answer if scheme == "bio" else from_bio(answer, scheme)

    def read(self, answer: Sequence[str], scheme: str) -> Sequence[str]:
        """BIO tags unchanged, since strict scoring sees ill-formed ones. Other schemes as BIO."""
        return answer if scheme == "bio" else list(to_bio(answer, scheme)[0])

    def classes_in(self, gold: Rows) -> list[str]:
        """Entity types that occur, sorted."""
        return sorted({tag[2:] for row in gold for tag in row if tag not in ("O", UNLABELLED)})

    def rename(self, tags: Sequence[str], mapping: Mapping[str, str]) -> list[str]:
        """BIO tags (T,) of one sentence with types under their new names.

        Entities are renamed, not tags: two that get one type and touch stay two. An entity that
        begins with I- keeps it, unless it would join the entity before it.
        """
        renamed = [tag and "O" for tag in tags]
        for type_, start, end in spans(tags):
            new = mapping.get(type_, type_)
            if new == "O":
                continue
            touches = start > 0 and renamed[start - 1][2:] == new
            renamed[start:end] = [f"I-{new}"] * (end - start)
            renamed[start] = f"{'B' if touches else tags[start][0]}-{new}"
        return renamed

    def phrases(self, tags: Sequence[str]) -> list[tuple[str, int, int]]:
        return [(type_, start, end) for type_, start, end in spans(tags)]


TASK = Entities()


def check_tags(gold: Rows, predicted: Rows) -> None:
    """Raises InputError for predictions that do not fit the gold tags, or tags that are not BIO."""
    check_lengths(gold, predicted)
    checked_tags = {"O"}
    for number, pair in enumerate(zip(gold, predicted, strict=True), 1):
        rows = labelled_words(*([row] for row in pair))
        for side, row in zip(("gold", "predicted"), rows, strict=True):
            for tag in {*row} - checked_tags:
                if tag[:2] not in ("B-", "I-") or len(tag) == 2:
                    raise InputError(
                        f"{tag!r}, a {side} tag of sentence {number}, is no BIO tag (O, B-type, "
                        "I-type)"
                    )
                checked_tags.add(tag)


def _values(correct: float, predicted: float, gold: float) -> Values:
    values = prf(correct, predicted, gold)
    return {key: values[key] for key in ("f1", "precision", "recall")}


def _strict_entities(rows: Rows) -> list[set[Entity]]:
    """Entities by sentence in seqeval's `mode="strict", scheme=IOB2`."""
    from seqeval.scheme import IOB2, Entities

    entities = Entities([[*map(_mark, row)] for row in rows], scheme=IOB2).entities
    return [{(e.tag, e.start, e.end) for e in sentence} for sentence in entities]


def _mark(tag: str) -> str:
    """The tag for seqeval: an unlabelled word ends an entity, as "O" does."""
    return "O" if tag == UNLABELLED else tag


def _sentence_counts(gold: list[set[Entity]], predicted: list[set[Entity]]) -> Counts:
    """(S, 3): correct, predicted, gold."""
    counts = [(len(g & p), len(p), len(g)) for g, p in zip(gold, predicted, strict=True)]
    return np.array(counts, dtype=np.int64).reshape(-1, 3)


def _word_counts(gold: Rows, predicted: Rows) -> tuple[tuple[int, int, int], int]:
    """Words with a type (correct, predicted, gold), and the number of words with the right tag."""
    # There are few pairs of tags and many words.
    pairs = Counter(zip(*labelled_words(gold, predicted), strict=True)).items()
    correct = sum(n for (g, p), n in pairs if g != "O" and g[2:] == p[2:])
    n_predicted = sum(n for (_, p), n in pairs if p != "O")
    n_gold = sum(n for (g, _), n in pairs if g != "O")
    return (correct, n_predicted, n_gold), sum(n for (g, p), n in pairs if g == p)
