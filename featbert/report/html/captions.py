"""What stands beneath a figure of the report, and in which part of the page it stands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Caption:
    """A figure's title for readers who cannot see it, how to read it, and its part of the page."""

    title: str
    text: str
    part: str


# By the beginning of the figure's name; the longest that fits counts.
_CAPTIONS = {
    "seeds": Caption(
        "F1 of every seed, by row",
        "Rows whose dots overlap are hard to tell apart by means alone.",
        "scores",
    ),
    "pareto": Caption(
        "Quality against cost, by row",
        "Up and to the left is better.",
        "cost",
    ),
    "freezing": Caption(
        "F1 by how much of the encoder is frozen",
        "From left to right less of the encoder is trained.",
        "layers",
    ),
    "layers": Caption(
        "F1 by single layer",
        "A tagger for each hidden state of the frozen encoder.",
        "layers",
    ),
    "mix-weights": Caption(
        "Learned weights of layers",
        "How much each layer counts in the learned mix; all begin equal.",
        "layers",
    ),
    "learning": Caption(
        "F1 by sentences trained on",
        "Both approaches learn from the same sentences; smaller shares are parts of larger ones.",
        "learning",
    ),
    "types": Caption("F1 by entity type", "Darker is better; in a dark page, lighter.", "where"),
    "by-": Caption("F1 by bucket", "Darker is better; in a dark page, lighter.", "where"),
    "training": Caption(
        "Training loss and dev F1 by epoch",
        "A row whose dev F1 still rises at the end was trained too briefly.",
        "training",
    ),
    "published": Caption(
        "Published and reproduced F1",
        "Of other encoders or corpora where the table says so.",
        "published",
    ),
    "transfer-published": Caption(
        "Published zero-shot transfer", "Rows: trained on; columns: evaluated on.", "transfer"
    ),
    "transfer": Caption(
        "Zero-shot transfer", "Rows: trained on; columns: evaluated on.", "transfer"
    ),
}


def caption_of(name: str) -> Caption:
    """The caption of a figure by its name, such as "layers-dev"."""
    known = [beginning for beginning in _CAPTIONS if name.startswith(beginning)]
    if not known:
        return Caption(name.replace("-", " "), "", "scores")
    caption = _CAPTIONS[max(known, key=len)]
    split = name.rpartition("-")[2]
    if split in ("dev", "test"):
        return Caption(f"{split}: {caption.title}", caption.text, caption.part)
    return caption
