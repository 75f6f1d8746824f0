"""What the pages name, small: encoders, corpora and datasets in the folder where a page is run.

A page names `bert-base-cased` and `corpora/conll2003`; a folder of that name goes before the Hub,
so a random encoder and a few sentences stand for them. Formats are those of the real ones: the
columns, the IOB1 tags and the Latin-1 of CoNLL-2003 German, documents where they have documents.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.docs.pages import ROOT
from tests.tiny_encoders import write_encoder
from tests.workspace import WORDS

# Layers of the encoders that pages name.
ENCODERS = {"all-MiniLM-L6-v2": 6, "bert-base-cased": 12, "bert-base-multilingual-cased": 12}
REPEAT = {"train": 4, "dev": 1, "test": 1}
Columns = Callable[[str, str], str]


def write_encoders(folder: Path) -> None:
    """An encoder of random weights under each name."""
    for name, layers in ENCODERS.items():
        cased = name != "all-MiniLM-L6-v2"
        write_encoder(folder / name, layers=layers, cased=cased, positions=64)


def write_places(folder: Path, encoders: Path) -> None:
    """All that pages name, in a folder of its own."""
    for name in ENCODERS:
        (folder / name).symlink_to(encoders / name)
    shutil.copytree(
        ROOT / "experiments", folder / "experiments", ignore=lambda at, _: ["results", "runs"]
    )
    corpora = folder / "corpora"
    for name in ("mine", "wikigold", "wnut17", "wikiann/en", "wikiann/de", "wikiann/nl"):
        _write(corpora / name, "{}.conll", lambda w, t: f"{w} {t}")
    _write(corpora / "ud-ewt", "{}.conll", lambda w, t: f"{w} {'X' if t == 'O' else 'PROPN'}")
    english = {"train": "eng.train", "dev": "eng.testa", "test": "eng.testb"}
    german = {"train": "deu.train", "dev": "deu.testa", "test": "deu.testb"}
    _write(corpora / "conll2003", english, lambda w, t: f"{w} NNP B-NP {t}", iob1=True)
    _write(
        corpora / "conll2003-de",
        german,
        lambda w, t: f"{w.replace('quick', 'größte')} {w} NN B-NC {t}",
        iob1=True,
        encoding="latin-1",
    )
    for split, times in REPEAT.items():
        texts = [f"{words}\t{number % 2}" for number, (words, _) in enumerate(times * WORDS)]
        pairs = [f"A fox .\t{text}" for text in texts]
        for name, head, rows_shown in (
            ("reviews", "sentence\tlabel", texts),
            ("polarity", "sentence\tlabel", texts),
            ("stsb/en", "sentence1\tsentence2\tscore", pairs),
        ):
            path = corpora / name / f"{split}.tsv"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join([head, *rows_shown]) + "\n", "utf-8")
    rows = [{"tokens": w.split(), "tags": t.split()} for w, t in WORDS]
    for name in ("lhoestq/conll2003", "my-dataset"):
        for split, times in REPEAT.items():
            path = folder / name / f"{split.replace('dev', 'validation')}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(row) + "\n" for row in times * rows), "utf-8")
    row = {"context": "The quick fox", "choices": ["jumps over Hamilton .", "said the Herald ."]}
    (folder / "new.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    asked = {"id": "q1", "question": "Who jumps ?"}
    paragraph = {"context": "The fox jumps over Hamilton .", "qas": [asked]}
    questions = {"data": [{"title": "", "paragraphs": [paragraph]}]}
    (folder / "questions.json").write_text(json.dumps(questions), "utf-8")
    for name in ("notes.txt", "text.txt"):
        (folder / name).write_text("Jordan Smith of Chelsea beat Hamilton.\n", "utf-8")


def _write(
    folder: Path,
    files: str | dict[str, str],
    line: Columns,
    *,
    iob1: bool = False,
    encoding: str = "utf-8",
) -> None:
    folder.mkdir(parents=True)
    for split, times in REPEAT.items():
        lines = []
        for number, (words, tags) in enumerate(times * WORDS):
            if number % 2 == 0:
                lines.append(line("-DOCSTART-", "O") + "\n")
            told = tags.replace("B-", "I-") if iob1 else tags
            lines += [line(w, t) for w, t in zip(words.split(), told.split(), strict=True)]
            lines.append("")
        name = files.format(split) if isinstance(files, str) else files[split]
        (folder / name).write_text("\n".join(lines) + "\n", encoding)
