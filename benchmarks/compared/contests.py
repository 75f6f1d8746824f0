"""What is compared: corpora, and the methods of each program on them."""

from dataclasses import dataclass
from typing import NamedTuple


class Entrant(NamedTuple):
    """A method of a program, as `with_<program>` knows it, and as tables call it."""

    program: str
    method: str
    title: str


@dataclass(frozen=True)
class Contest:
    """A corpus, its targets, and the methods that run on it.

    Attributes:
        shots: examples of each class in train. None: all of train.
    """

    corpus: str
    targets: str
    entrants: tuple[Entrant, ...]
    shots: int | None = None


_SOLVER = Entrant("featbert", "logistic", "featbert: logistic regression on `concat_last4`")
_VECTORS = Entrant("sentence_transformers", "logistic", "sentence-transformers and scikit-learn")
_SAME = "Trainer: rate and epochs of featbert"
CONTESTS = {
    "wikigold": Contest(
        "wikigold",
        "entities",
        (
            Entrant("featbert", "frozen-softmax", "featbert: BiLSTM with a softmax"),
            Entrant("featbert", "frozen", "featbert: BiLSTM-CRF on `concat_last4`"),
            Entrant("featbert", "frozen-30", "featbert: BiLSTM-CRF, 30 epochs"),
            Entrant("featbert", "tuned-softmax", "featbert: fine-tuning with a softmax"),
            Entrant("featbert", "tuned", "featbert: fine-tuning with a CRF"),
            Entrant("flair", "tuned", "Flair: fine-tuning with context"),
            Entrant("flair", "frozen", "Flair: BiLSTM-CRF on the last four layers"),
            Entrant("trainer", "ner", r"Trainer: as run\_ner.py"),
            Entrant("trainer", "same-ner", _SAME),
        ),
    ),
    "polarity": Contest(
        "polarity",
        "classes",
        (
            _SOLVER,
            Entrant("featbert", "classes", "featbert: fine-tuning"),
            _VECTORS,
            Entrant("flair", "classes", "Flair: fine-tuning"),
            Entrant("trainer", "classes", r"Trainer: as run\_glue.py"),
            Entrant("trainer", "same-classes", _SAME),
        ),
    ),
    "shots": Contest(
        "polarity",
        "classes",
        (
            _SOLVER,
            Entrant("featbert", "contrastive", "featbert: contrastive tuning"),
            _VECTORS,
            Entrant("setfit", "contrastive", "SetFit"),
            Entrant("flair", "classes", "Flair: fine-tuning"),
        ),
        shots=8,
    ),
}
