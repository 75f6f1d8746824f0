"""What the pages name, small: encoders, corpora and datasets in the folder where a page is run.

A page names `bert-base-cased` and `corpora/conll2003`; a folder of that name goes before the Hub,
so a random encoder and a few sentences stand for them. Formats are those of the real ones: the
columns, the IOB1 tags and the Latin-1 of CoNLL-2003 German, documents where they have documents.
"""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from tests.docs.pages import ROOT
from tests.tiny_encoders import write_encoder
from tests.workspace import WORDS, write_splits

# Layers of the encoders that pages name.
ENCODERS = {"all-MiniLM-L6-v2": 6, "bert-base-cased": 12, "bert-base-multilingual-cased": 4}
SPLITS = (4 * WORDS, WORDS, WORDS)


def write_encoders(folder: Path) -> None:
    """An encoder of random weights under each name."""
    for name, layers in ENCODERS.items():
        cased = name != "all-MiniLM-L6-v2"
        write_encoder(folder / name, layers=layers, cased=cased, positions=64)


def write_places(folder: Path, encoders: Path) -> None:
    """All that pages name, in a folder of its own."""
    for name in ENCODERS:
        (folder / name).symlink_to(encoders / name)
    unread = shutil.ignore_patterns("*.xz", "figures", "results", "runs")
    shutil.copytree(ROOT / "experiments", folder / "experiments", ignore=unread)
    corpora = folder / "corpora"
    for name in ("mine", "wikigold", "wnut17", "wikiann/en", "wikiann/de", "wikiann/nl"):
        write_splits(corpora / name, *SPLITS, in_document=2)
    labels = [[(w, t.replace("B-", "").replace("I-", "")) for w, t in part] for part in SPLITS]
    write_splits(corpora / "ud-ewt", *labels, in_document=2)
    _write_conll2003(corpora / "conll2003", "eng", "NNP B-NP", "utf-8")
    _write_conll2003(corpora / "conll2003-de", "deu", "größte NN B-NC", "latin-1")
    for split, sentences in zip(("train", "dev", "test"), SPLITS, strict=True):
        texts = [f"{words}\t{number % 2}" for number, (words, _) in enumerate(sentences)]
        pairs = [f"A fox .\t{text}" for text in texts]
        for name, head, rows in (
            ("reviews", "sentence\tlabel", texts),
            ("polarity", "sentence\tlabel", texts),
            ("stsb/en", "sentence1\tsentence2\tscore", pairs),
        ):
            _write(corpora / name / f"{split}.tsv", [head, *rows])
        tagged = [json.dumps({"tokens": w.split(), "tags": t.split()}) for w, t in sentences]
        for name in ("lhoestq/conll2003", "my-dataset"):
            _write(folder / name / f"{split.replace('dev', 'validation')}.jsonl", tagged)
    row = {"context": "The quick fox", "choices": ["jumps over Hamilton .", "said the Herald ."]}
    _write(folder / "new.jsonl", [json.dumps(row)])
    asked = {"id": "q1", "question": "Who jumps ?"}
    article = {"paragraphs": [{"context": "The fox jumps over Hamilton .", "qas": [asked]}]}
    _write(folder / "questions.json", [json.dumps({"data": [article | {"title": ""}]})])
    for name in ("notes.txt", "text.txt"):
        _write(folder / name, ["Jordan Smith of Chelsea beat Hamilton."])


def _write(path: Path, lines: Iterable[str], encoding: str = "utf-8") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding)


def _write_conll2003(folder: Path, language: str, columns: str, encoding: str) -> None:
    """Words, other columns and IOB1 tags."""
    for part, sentences in zip(("train", "testa", "testb"), SPLITS, strict=True):
        lines = []
        for number, (words, tags) in enumerate(sentences):
            lines += [f"-DOCSTART- {columns} O\n"] * (number % 2 == 0)
            tags = tags.replace("B-", "I-").split()
            lines += [f"{w} {columns} {t}" for w, t in zip(words.split(), tags, strict=True)]
            lines.append("")
        _write(folder / f"{language}.{part}", lines, encoding)
