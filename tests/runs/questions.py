"""A small corpus of questions in SQuAD's JSON."""

import json
from pathlib import Path

import numpy as np

NAMES = ("Jordan", "Chelsea", "Washington", "Hamilton", "Smith")


def write_questions(folder: Path, *, unanswerable: bool = True, more: str = "dog") -> Path:
    """Who jumps? The name before that word, in passages of very different lengths."""
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
