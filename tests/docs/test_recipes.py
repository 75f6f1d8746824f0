"""Corpora of the experiments: files from their public form, and the fingerprints of the page."""

import json
import re
import runpy
from pathlib import Path

import pytest

from docs.kept import ROOT
from featbert.api import load_corpus
from featbert.data.corpus import SPLITS
from tests.docs.pages import DOCS

PAGE = (DOCS / "how-to" / "free-corpora.md").read_text("utf-8")
WRITE = runpy.run_path(str(ROOT / "experiments" / "corpora" / "parts.py"))["write"]
TASKS = {
    "wikigold": "entities",
    "wikiann/en": "entities",
    "wikiann/de": "entities",
    "wikiann/nl": "entities",
    "wnut17": "entities",
    "ud-ewt": "labels",
    "polarity": "classification",
    "stsb/en": "regression",
    "squad2-half": "spans",
    "hellaswag": "choice",
}


def lines(folder: Path, suffix: str) -> list[str]:
    """The lines of all parts, in another order."""
    texts = ((folder / f"{part}.{suffix}").read_text("utf-8") for part in SPLITS)
    return sorted(line for text in texts for line in text.split("\n") if line)


def public_files(name: str, data: Path, folder: Path) -> list[Path]:
    """The files that a recipe downloads, with the texts of the parts."""
    if name == "polarity":
        snippets = [line.rsplit("\t", 1) for line in lines(data / name, "tsv")]
        paths = [folder / "positive", folder / "negative"]
        for path in paths:
            of_class = [f"{text} \r\n" for text, label in snippets if label == path.name]
            path.write_text("".join(of_class), "latin-1", newline="")
        return paths
    path = folder / "public"
    if name == "hellaswag":
        examples = []
        for line in lines(data / name, "jsonl"):
            example = json.loads(line)
            activity, _, context = example["context"].partition(": ")
            context = f"[header] {context.replace('. ', ' [title] ', 1)}"
            examples.append(json.dumps({**example, "activity_label": activity, "ctx": context}))
        path.write_text("\n".join(examples), "utf-8")
    elif name == "squad2-half":
        texts = [(data / name / f"{part}.json").read_text("utf-8") for part in reversed(SPLITS)]
        articles = [article for text in texts for article in json.loads(text)["data"]]
        path.write_text(json.dumps({"data": articles}), "utf-8")
    else:
        text = (data / name / "train.conllu").read_text("utf-8")
        documents = re.split(r"^(?=# newdoc)", text, flags=re.M)
        path.write_text("# newdoc id = another\n\n" + "".join(sorted(documents)), "utf-8")
    return [path]


def content(path: Path) -> list[object]:
    """The lines of a part, with single spaces, or its articles."""
    if path.suffix == ".json":
        return list(json.loads(path.read_text("utf-8"))["data"])
    rows = [re.sub(" +", " ", row) for row in path.read_text("utf-8").splitlines()]
    return [json.loads(row) for row in rows] if path.suffix == ".jsonl" else list(rows)


@pytest.mark.parametrize("name", ["polarity", "hellaswag", "squad2-half", "ud-ewt"])
def test_parts_are_made_from_public_files(name, shared_data, tmp_path):
    WRITE(name, public_files(name, shared_data, tmp_path), tmp_path / name)
    for path in (tmp_path / name).iterdir():
        written, expected = (content(p) for p in (path, shared_data / name / path.name))
        assert [pair for pair in zip(written, expected, strict=True) if pair[0] != pair[1]] == []


def test_a_file_without_the_items_is_refused(tmp_path):
    path = tmp_path / "en_ewt-ud-train.conllu"
    path.write_text("# newdoc id = another\n", "utf-8")
    with pytest.raises(SystemExit, match=re.escape(str(path))):
        WRITE("ud-ewt", [path], tmp_path / "ud-ewt")


@pytest.mark.parametrize("name", TASKS)
def test_fingerprints_on_the_page(name, shared_data):
    corpus = load_corpus(shared_data / name, task=TASKS[name])
    (row,) = re.findall(rf"^\| {corpus.name} \|.*", PAGE, re.M)
    assert re.findall("`(.+?)`", row) == [corpus[s].text_fingerprint[:8] for s in SPLITS]


def test_calls_in_the_text_of_the_page(shared_data, tmp_path, monkeypatch):
    (tmp_path / "corpora").symlink_to(shared_data.resolve())
    monkeypatch.chdir(tmp_path)
    calls = re.findall(r"`(load_corpus\(.+?\))`", PAGE)
    assert calls
    for call in calls:
        assert [*eval(call, {"load_corpus": load_corpus}).splits] == [*SPLITS]
