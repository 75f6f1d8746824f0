"""Small corpora of every task, written to a new folder with train, dev and test."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from featbert.data.corpus import Sentence, Split
from tests.runs.finished_runs import write_corpus as write_entities

WORDS = ["good", "great", "fine", "bad", "poor", "awful", "film", "plot", "actor", "the", "was"]
NAMES = ("Jordan", "Chelsea", "Washington", "Hamilton", "Smith")
OTHER = ["The", "quick", "Hamilton", "said", "lamb", "Herald", "EU"]
CLASSES = {"cheap": "price", "quick": "speed", "good": "quality"}


def write_texts(folder: Path, *, pairs: bool) -> Path:
    """Texts of random words, or pairs of texts. Their class and score follow from the words."""
    random = np.random.default_rng(2)
    folder.mkdir()
    for split, n in (("train", 40), ("dev", 16), ("test", 16)):
        rows = ["sentence1\tsentence2\tscore\tlabel" if pairs else "sentence\tscore\tlabel"]
        for _ in range(n):
            texts = [random.choice(WORDS, random.integers(2, 14)) for _ in range(1 + pairs)]
            good = sum(word in WORDS[:3] for text in texts for word in text)
            cells = [" ".join(text) for text in texts]
            rows.append("\t".join([*cells, f"{good / 2}", "pos" if good > 1 else "neg"]))
        (folder / f"{split}.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    return folder


def write_sets(folder: Path) -> Path:
    """Texts whose words say which classes they have."""
    random = np.random.default_rng(0)
    folder.mkdir()
    for split, n in (("train", 60), ("dev", 30), ("test", 30)):
        rows = []
        for _ in range(n):
            words = [w for w, given in zip(CLASSES, random.random(3) < 0.4, strict=True) if given]
            text = " ".join([*words, *random.choice(["it", "was", "the", "film"], 3)])
            rows.append({"text": text, "labels": [CLASSES[word] for word in words]})
        write_lines(folder / f"{split}.jsonl", rows)
    return folder


def write_choices(folder: Path) -> Path:
    """The right one of two to four choices has a word that no other has."""
    random = np.random.default_rng(5)
    folder.mkdir()
    for split, n in (("train", 60), ("dev", 20), ("test", 20)):
        rows = []
        for _ in range(n):
            k = int(random.integers(2, 5))
            right = int(random.integers(k))
            texts = [random.choice(OTHER, random.integers(1, 6)).tolist() for _ in range(k + 1)]
            texts[right + 1].insert(int(random.integers(len(texts[right + 1]))), "Jordan")
            context, *choices = map(" ".join, texts)
            rows.append({"context": context, "endings": choices, "label": right})
        write_lines(folder / f"{split}.jsonl", rows)
    return folder


def write_questions(folder: Path, *, unanswerable: bool = True, more: str = "dog") -> Path:
    """Questions in SQuAD's JSON. Who jumps? The name before that word.

    Passages have very different lengths.
    """
    random = np.random.default_rng(5)
    folder.mkdir()
    for split, n in (("train", 24), ("dev", 8), ("test", 8)):
        paragraphs = []
        for k in range(n):
            words = random.choice(["the", "lazy", more, "said"], size=60 if k == 1 else 6).tolist()
            name, at = str(random.choice(NAMES)), int(random.integers(len(words)))
            words[at:at] = [name, "jumps"]
            start = len(" ".join([*words[:at], ""]))
            answer = {"text": name, "answer_start": start}
            asked = [("Who jumps ?", [answer, answer])]
            asked += [("Who rejects lamb ?", [])] if unanswerable else []
            qas = [
                {"id": f"{split}{k}{i}", "question": question, "answers": found}
                for i, (question, found) in enumerate(asked)
            ]
            paragraphs.append({"context": " ".join(words), "qas": qas})
        data = {"data": [{"title": "t", "paragraphs": paragraphs}]}
        (folder / f"{split}.json").write_text(json.dumps(data), "utf-8")
    return folder


def write_lines(path: Path, rows: list[dict]) -> None:
    """A file with a JSON object per line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


CORPORA = {
    "entities": write_entities,
    "labels": write_entities,
    "classification": partial(write_texts, pairs=False),
    "multilabel": write_sets,
    "regression": partial(write_texts, pairs=True),
    "choice": write_choices,
    "spans": write_questions,
}


def split_of(rows: Sequence[Sequence[str] | None], documents: Sequence[int] = ()) -> Split:
    """A text with these answers by sentence, None for an example without one."""
    numbers = documents or [0] * len(rows)
    sentences = (
        Sentence(("w",) * max(1, len(row or ())), None if row is None else tuple(row), n)
        for row, n in zip(rows, numbers, strict=True)
    )
    return Split("dev", tuple(sentences))


STRANGE = (
    *("\x1b[31m", "\x1b]0;x\x07", "\x9b2J", "\x08", "\x7f", "\x00", "\r", "\x85", "\u2028", "\x0b"),
    *("\u202e", "\u200b", "\u200d", "\ufeff", "e\u0301\u0301", "שלום", "سلام", "\U0001f9d1"),
    *("\ud800", "=1+1", "\\input{x}", "}", "<b>", "../", "'", '"', "\u00a0", "…"),
)
texts = st.text(max_size=6) | st.sampled_from(STRANGE)
