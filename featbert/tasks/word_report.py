"""Word-level classification report: a cheap check of features, word by word.

Scores each word's tag or type on its own with scikit-learn's `classification_report`. O is not
a row of its own: nearly all words are O, and its score would hide all others. The row
`micro avg` of a report by type is the word score that `score` gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from featbert.tasks.scorer import Tags, check_tags


@dataclass(frozen=True)
class WordReport:
    """A classification report.

    Attributes:
        text: the report as a table for a terminal, without a final newline.
        rows: by label, then `micro avg`, `macro avg`, `weighted avg`; each with `precision`,
            `recall`, `f1-score` in [0, 1] and `support` (gold words). Empty where neither gold
            nor prediction holds anything but O.
    """

    text: str
    rows: Mapping[str, Mapping[str, float]]


def word_level_report(
    gold: Tags, predicted: Tags, *, per: Literal["type", "tag"] = "type", digits: int = 4
) -> WordReport:
    """Precision, recall and F1 of single words by entity type, or by full BIO tag.

    Args:
        gold: BIO tags by sentence.
        predicted: as many tags for as many sentences.
        per: "type" compares PER with PER; "tag" compares B-PER with B-PER.
        digits: decimals of the text.

    Raises:
        TagError: the predictions do not fit the gold tags, or a tag is not BIO.
    """
    from sklearn.metrics import classification_report

    check_tags(gold, predicted)
    start = 2 if per == "type" else 0

    def flat(rows: Tags) -> list[str]:
        # Outside is "", which no type is called. One outside word is added, right on both sides:
        # without any, scikit-learn would print `accuracy` where `micro avg` belongs.
        return ["" if tag == "O" else tag[start:] for row in rows for tag in row] + [""]

    gold_labels, predicted_labels = flat(gold), flat(predicted)
    labels = sorted((set(gold_labels) | set(predicted_labels)) - {""})
    if not labels:
        return WordReport("no word is tagged other than O, in gold or prediction", {})
    common = {"labels": labels, "zero_division": 0.0}
    text = classification_report(gold_labels, predicted_labels, digits=digits, **common)
    rows = classification_report(gold_labels, predicted_labels, output_dict=True, **common)
    return WordReport(cast(str, text).rstrip("\n"), cast(Mapping[str, Mapping[str, float]], rows))
