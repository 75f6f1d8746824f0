"""What each fuzzer calls: a function that takes any input and fails unless the promise is kept.

The promise: an input is read without losing a word, or refused with a FeatbertError whose message
is one line that names the file, and the line where the file is text.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from featbert.analysis.compare import compare
from featbert.data.conll import read_conll, write_conll
from featbert.data.jsonl import read_jsonl
from featbert.data.load import load_corpus
from featbert.data.tags import SCHEMES, TagError, from_bio, spans, to_bio
from featbert.encoders.layers import parse_layers
from featbert.errors import FeatbertError
from featbert.report.rendering import render
from featbert.runs.file import check_experiment, read_experiment
from featbert.runs.record import RunRecord, from_json
from featbert.runs.run import Run, find_runs
from featbert.runs.unfinished import unfinished_run

# Longer ones are no line that anybody reads; excerpts and lists are cut.
LONGEST_MESSAGE = 4000
# Faults of a file as a whole, which have no line.
_WHOLE = re.compile(r"no sentence|(token|tag) column|encoding ")


class Refused(Exception):
    """Ends a target that refused its input as it should."""


@contextmanager
def refusal(*parts: str) -> Iterator[None]:
    """Turns a FeatbertError whose message is one line with `parts` in it into `Refused`."""
    try:
        yield
    except FeatbertError as error:
        message = str(error)
        assert message.splitlines() == [message], message
        assert len(message) < LONGEST_MESSAGE, message
        for part in parts:
            assert part in message, (part, message)
        raise Refused(message) from None


def check_line(message: str, path: Path, lines: int) -> None:
    """A message about a text file names one of its lines, unless it is about the whole."""
    found = re.search(rf"\bline (\d+) of {re.escape(str(path))}", message)
    assert found or _WHOLE.match(message), message
    assert found is None or 1 <= int(found[1]) <= lines, message


def count_lines(data: bytes, encoding: str) -> int:
    """Lines of a file, also where its lines end in other bytes than 0x0A."""
    try:
        return data.decode(encoding, "replace").count("\n") + 1
    except (LookupError, ValueError):
        return 0


def conll(data: bytes, path: Path, *, encoding: str = "utf-8", **options: Any) -> None:
    """A column file of any bytes."""
    path.write_bytes(data)
    try:
        with refusal():
            found = read_conll(path, encoding=encoding, **options)
    except Refused as refused:
        check_line(str(refused), path, count_lines(data, encoding))
        return
    text = data.decode(found.encoding).removeprefix("\ufeff").replace("\r\n", "\n")
    lines = text.removesuffix("\r").split("\n")
    there = [line for line in lines if line.strip(" \t")]
    marks = sum("-DOCSTART-" in line for line in there)
    words = sum(len(s.words) for s in found.sentences)
    assert len(there) - marks <= words + found.comment_lines <= len(there)
    for sentence in found.sentences:
        for i, word in enumerate(sentence.words):
            line = lines[sentence.line_of(i) - 1]
            assert word in line
            assert sentence.tags is None or sentence.tags[i] in line
    if not options:
        _corpus(path, [s.words for s in found.sentences], encoding)


def _corpus(path: Path, words: Sequence[tuple[str, ...]], encoding: str) -> None:
    """The same file as a corpus: tags understood or refused, no word lost, written and read."""
    try:
        with refusal(str(path)):
            corpus = load_corpus(path, encoding=encoding)
    except Refused as refused:
        check_line(str(refused), path, 10**6)
        return
    (split,) = corpus.splits.values()
    assert [s.words for s in split] == list(words)
    assert len(split.text_fingerprint) == len(split.tag_fingerprint) > 0
    copy = path.with_name("copy.conll")
    write_conll(copy, split.sentences)
    (again,) = load_corpus(copy, scheme="bio").splits.values()
    assert [(s.words, s.tags) for s in again] == [(s.words, s.tags) for s in split]


def jsonl(data: bytes, path: Path, *, encoding: str = "utf-8") -> None:
    """A JSONL file of any bytes."""
    path.write_bytes(data)
    try:
        with refusal():
            found = read_jsonl(path, encoding=encoding)
    except Refused as refused:
        check_line(str(refused), path, count_lines(data, encoding))
        return
    text = data.decode(found.encoding).removeprefix("\ufeff").replace("\r\n", "\n")
    rows = [json.loads(line) for line in text.removesuffix("\r").split("\n") if line.strip(" \t")]
    read = [list(s.words) for s in found.sentences]
    assert read == [row.get("tokens", row.get("words")) for row in rows]
    _corpus(path, [s.words for s in found.sentences], encoding)


def tags(given: Sequence[str], scheme: str) -> None:
    """Any tags in any scheme: refused at a place, or the same entities in every scheme."""
    try:
        bio, repaired = to_bio(given, scheme)
    except TagError as error:
        refused = error
    else:
        _same_entities(given, scheme, bio, repaired)
        return
    assert str(refused).splitlines() == [str(refused)]
    assert 0 <= refused.index < len(given)


def _same_entities(given: Sequence[str], scheme: str, bio: tuple[str, ...], repaired: int) -> None:
    assert len(bio) == len(given)
    assert 0 <= repaired <= len(given)
    assert spans(bio) == spans(given, scheme)
    assert to_bio(bio, "BIO") == (bio, 0)
    for other in SCHEMES:
        try:
            written = from_bio(bio, other)
        except FeatbertError:
            assert other == "IO"
        else:
            assert to_bio(written, other) == (bio, 0)


def layers(spec: str, num_layers: int | None) -> None:
    """Any text as a layer combination."""
    try:
        with refusal():
            found = parse_layers(spec, num_layers)
    except Refused:
        return
    assert 1 <= len(set(found.indices)) == len(found.indices) <= 10_000
    assert found.width(8) in (8, 8 * len(found.indices))


def experiment_data(data: dict[str, Any]) -> None:
    """Any tables as an experiment."""
    try:
        with refusal("trial.toml"):
            found = check_experiment(data, where="trial.toml")
    except Refused:
        return
    assert found.arms
    assert len(found.arms) == len(found.arm_names)


def experiment_text(data: bytes, path: Path) -> None:
    """Any bytes as an experiment file."""
    path.write_bytes(data)
    try:
        with refusal(str(path)):
            found = read_experiment(path)
    except Refused:
        return
    assert found.arms


def record(text: str) -> None:
    """Any text as a run record; what is accepted can be shown, and is no danger to a terminal."""
    try:
        with refusal("record.json"):
            found = from_json(RunRecord, text, where="record.json")
    except Refused:
        return
    for told in shown(Run(Path("runs", "trial"), found)):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", told), told


def shown(run: Run) -> Iterator[str]:
    """A run in every format."""
    comparisons = compare([run])
    for format in ("text", "markdown", "latex", "csv", "json"):
        yield render(comparisons, format)


def run_folder(files: Mapping[str, bytes], runs: Path) -> None:
    """A folder of any files as a run: it is finished, unfinished or damaged, and told as that."""
    folder = runs / "trial"
    for name, data in files.items():
        (folder / name).write_bytes(data)
    found = find_runs(runs)
    assert len(found.runs) + len(found.problems) + len(found.unfinished) == 1
    for problem in found.problems:
        assert problem.reason.splitlines() == [problem.reason]
        assert str(folder) in problem.reason
    assert dataclasses.asdict(unfinished_run(folder))["folder"] == folder
