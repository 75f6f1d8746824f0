"""Any input is read without losing a word, or refused in one line that names the file."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from featbert import FeatbertError, Run
from featbert.data.conll import write_conll
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.encoders.layers import parse_layers
from featbert.experiments.file import read_experiment
from featbert.report.rendering import render
from featbert.runs.record import RunRecord, from_json, to_json
from tests.analysis.records import compare, make_record
from tests.corpora import texts
from tests.processes import ROOT

LONGEST_MESSAGE = 4000
COLUMNS = (
    *(" ", " ", "\t", "\n", "\n", "\n", "\n\n", "\r\n", "  ", "# ", "#", "# newdoc", "-DOCSTART-"),
    *("O", "O", "B-PER", "I-PER", "B-LOC", "E-X", "S-X", "U-X", "PER", "I-", "a", "B", "word O\n"),
)
ENCODINGS = (
    *("utf-8", "utf-8", "utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-7", "shift_jis"),
    *("cp037", "hz", "hex", "no such encoding"),
)


def inputs(n: int) -> Callable[[Any], Any]:
    return settings(max_examples=n, suppress_health_check=list(HealthCheck))


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def pieces(known: tuple[str, ...], most: int) -> st.SearchStrategy[str]:
    """Texts made of pieces that a format knows, and of others."""
    return st.lists(st.sampled_from(known) | texts, max_size=most).map("".join)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def refused(work: Callable[[], Any], *parts: str) -> Any:
    """What the work returns, or None where it refuses its input in one line with `parts`."""
    try:
        return work()
    except FeatbertError as error:
        message = str(error)
        assert message.splitlines() == [message]
        assert len(message) < LONGEST_MESSAGE
        assert all(part in message for part in parts), message
        return None


@inputs(400)
@given(
    data=pieces(COLUMNS, 30).map(as_bytes) | st.binary(max_size=40),
    options=st.fixed_dictionaries(
        {}, optional={"encoding": st.sampled_from(ENCODINGS), "tag_column": st.integers(-1, 4)}
    ),
)
@example(data=b"a +2AA- B-PER\n", options={"encoding": "utf-7"})
def test_column_files(folder, data, options):
    path = folder / "train.conll"
    path.write_bytes(data)
    corpus = refused(lambda: load_corpus(path, ReadingOptions(**options)))
    if corpus is None:
        return
    (split,) = corpus.splits.values()
    if "encoding" not in options:
        lines = data.decode("utf-8-sig").replace("\r\n", "\n").removesuffix("\r").split("\n")
        there = [line for line in lines if line.strip(" \t")]
        unread = sum(line.lstrip(" \t").startswith(("#", "-DOCSTART-")) for line in there)
        assert len(there) - unread <= split.n_words <= len(there)
    written = folder / "copy.conll"
    write_conll(written, split.sentences)
    (again,) = load_corpus(written, ReadingOptions(file_scheme="bio")).splits.values()
    assert [(s.words, s.tags) for s in again] == [(s.words, s.tags) for s in split]


words = st.sampled_from(["a", "O", "B-PER", "-DOCSTART-", " "]) | texts
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_rows = st.fixed_dictionaries(
    {},
    optional={key: st.lists(words, max_size=3) | values for key in ("tokens", "tags", "document")},
) | st.lists(st.tuples(words, st.sampled_from(["O", "B-PER", "I-PER"]))).map(
    lambda pairs: {"tokens": [w for w, _ in pairs], "tags": [t for _, t in pairs]}
)
json_lines = (json_rows | values).map(json.dumps) | st.sampled_from(
    ["", " ", "{", "[" * 5000, '{"tokens": ["a"], "tags": ["O"]}', "9" * 5000, "NaN"]
)


@inputs(250)
@given(data=st.lists(json_lines, max_size=5).map("\n".join).map(as_bytes) | st.binary(max_size=40))
def test_jsonl(folder, data):
    path = folder / "train.jsonl"
    path.write_bytes(data)
    corpus = refused(lambda: load_corpus(path), str(path))
    if corpus is not None:
        lines = data.decode("utf-8-sig").replace("\r\n", "\n").removesuffix("\r").split("\n")
        rows = [json.loads(line)["tokens"] for line in lines if line.strip(" \t")]
        (split,) = corpus.splits.values()
        assert [[*s.words] for s in split] == [r for r in rows if r not in ([], ["-DOCSTART-"])]


def test_what_is_too_large_is_refused_at_once(folder):
    path = folder / "large.toml"
    rows = "".join(f"k{i} = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" for i in range(30))
    path.write_text(f"[variants]\n{rows}", "utf-8")
    layers = "mean:" + ",".join(["0-9999"] * 20_000)
    for work in (lambda: parse_layers(layers), lambda: read_experiment(path)):
        begun = time.process_time()
        assert refused(work) is None
        assert time.process_time() - begun < 2


EXPERIMENTS = tuple(p.read_text("utf-8") for p in sorted((ROOT / "experiments").glob("*/*.toml")))
TOML = ("[", "]", "=", "\n", "[grid.features]\n", "[variants]\n", "seeds = ", "0x" + "f" * 5000)
TOML += ("[1, 2]", '"', "'''", "{", "}", "1979-13-13", "inf", "9" * 5000, "[" * 2000, "a." * 100)


@st.composite
def changed(draw: st.DrawFn, originals: tuple[str, ...], parts: tuple[str, ...]) -> str:
    """One of the originals with a few pieces removed or replaced."""
    text = draw(st.sampled_from(originals))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        end = min(len(text), at + draw(st.integers(0, 12)))
        text = text[:at] + draw(st.sampled_from(parts) | texts) + text[end:]
    return text


@inputs(150)
@given(data=changed(EXPERIMENTS, TOML).map(as_bytes) | st.binary(max_size=40))
@example(data=b"seeds = [0x" + b"f" * 5000 + b"]\n[finetune]\n")
@example(data=b"[grid.features]\nepochs = " + b"[" * 300 + b"]" * 300 + b"\n[features]\n")
def test_experiment_files(folder, data):
    path = folder / "trial.toml"
    path.write_bytes(data)
    refused(lambda: read_experiment(path), str(path))


# Without its checksum, which would refuse every change.
RECORD = {k: v for k, v in json.loads(to_json(make_record())).items() if k != "checksum"}
JSON = ("[", "]", "{", "}", ",", ":", "null", "-1", "1e999", "NaN", '"', "9" * 5000, "true")


@st.composite
def other_values(draw: st.DrawFn) -> str:
    """A run record with another value in one place."""
    data = json.loads(json.dumps(RECORD))
    parent, key = data, draw(st.sampled_from(sorted(data)))
    while isinstance(parent[key], dict) and parent[key] and draw(st.booleans()):
        parent = parent[key]
        key = draw(st.sampled_from(sorted(parent)))
    parent[key] = draw(values)
    return json.dumps(data)


@inputs(150)
@given(text=other_values() | changed((json.dumps(RECORD),), JSON) | values.map(json.dumps))
def test_run_records_are_refused_or_shown_without_escape_sequences(text):
    record = refused(lambda: from_json(RunRecord, text, where="record.json"), "record.json")
    if record is not None:
        shown = render(compare([Run(Path("runs", "trial"), record)]), "text")
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)
