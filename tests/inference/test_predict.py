"""Tagging a stream: the same words, in order, block by block, as the run would tag them."""

import io
import json
import math
import re
from collections.abc import Iterator
from itertools import groupby

import numpy as np
import pandas as pd
import pytest

from featbert.api import load
from featbert.data.corpus import Sentence
from featbert.data.files import read_lines
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.data.streaming import read_pieces
from featbert.data.tags import spans
from featbert.errors import InputError
from featbert.inference.load import LoadedRun
from featbert.inference.predict import answer_rows, predict_stream, rows_of
from featbert.runs.run import Run


@pytest.fixture(scope="module", params=["none", "full"])
def loaded(request: pytest.FixtureRequest, both: dict[str, Run]) -> LoadedRun:
    return load(both[request.param], device="cpu")


def read(text: str, kind: str) -> Iterator[Sentence]:
    lines = read_lines(io.BytesIO(text.encode()), "utf-8", "input", returns=kind == "text")
    return read_pieces(lines, "input", kind, ReadingOptions())


TEXT = 'Jordan Smith\'s "Chelsea".\r\n\n \u00a0\nHamilton is near 👩‍👩‍👧 Washington'


def test_raw_text_line_by_line(loaded):
    lines = ['Jordan Smith\'s "Chelsea".', "", " \u00a0", "Hamilton is near 👩‍👩‍👧 Washington"]
    rows = [json.loads(row) for row in rows_of(predict_stream(loaded, read(TEXT, "text")), "jsonl")]
    assert [row["text"] for row in rows] == lines
    for line, row in zip(lines, rows, strict=True):
        assert row["tokens"] == [line[a:b] for a, b in row["offsets"]]
        assert len(row["tokens"]) == len(row["tags"]) == len(row["probabilities"])
        assert "document" not in row
        assert [(e["type"], e["start"], e["end"]) for e in row["entities"]] == spans(row["tags"])
        for entity in row["entities"]:
            assert entity["text"] == line[entity["start_char"] : entity["end_char"]]
            words = row["probabilities"][entity["start"] : entity["end"]]
            assert entity["probability"] == pytest.approx(math.prod(words), abs=1e-5)
    assert rows[1]["tokens"] == rows[2]["tokens"] == []
    objects = "".join(json.dumps({"text": line}) + "\n" for line in lines)
    answers = rows_of(predict_stream(loaded, read(objects, "jsonl")), "jsonl")
    assert [json.loads(row) for row in answers] == rows
    conll = "".join(rows_of(predict_stream(loaded, read(TEXT, "text")), "conll"))
    words = [line.split("\t")[0] for line in conll.split("\n")]
    # The k-th line of the input is before the k-th blank line.
    assert words == [*(word for row in rows for word in (*row["tokens"], "")), ""]


def test_a_stream_is_tagged_block_by_block(loaded):
    """At no time has more been read than the block of what comes out next."""
    taken = 0

    def endless() -> Iterator[Sentence]:
        nonlocal taken
        while True:
            taken += 1
            yield Sentence(("Jordan", "Smith", "of", "Chelsea"))

    stream = predict_stream(loaded, endless(), block_words=40)
    for given_back in range(1, 36):
        assert next(stream)[0].words[0] == "Jordan"
        assert taken == 10 * math.ceil(given_back / 10)


@pytest.mark.parametrize("tuning", ["none", "full"])
def test_whole_documents(of_documents, tuning):
    """In document context blank lines part documents, which are read whole whatever the block."""
    run = of_documents[tuning]
    loaded = load(run, device="cpu")
    kept = run.predictions("test")
    documents = groupby(load_corpus(run.record.signature.source)["test"], lambda s: s.document)
    text = "\n".join("".join(" ".join(s.words) + "\n" for s in group) for _, group in documents)
    for block_words in (1, 4096):
        stream = predict_stream(loaded, read(text, "text"), block_words=block_words)
        found = [row for _, row in stream if row["tags"]]
        assert [list(row["tokens"]) for row in found] == kept.words
        assert [row["tags"] for row in found] == kept.predicted
    # Parted otherwise, words see another context: the probabilities tell.
    alone = [row for _, row in predict_stream(loaded, read(text.replace("\n", "\n\n"), "text"))]
    shares = [row["probabilities"] for row in alone if row["tags"]]
    assert shares != [row["probabilities"] for row in found]
    unmarked = [row for _, row in predict_stream(loaded, read("Rome O\n\nOslo O\n", "conll"))]
    assert [row["tokens"] for row in unmarked] == [("Rome",), ("Oslo",)]
    assert not any("document" in row for row in unmarked)
    objects = "".join(f'{{"text": "Rome.", "document": {n}}}\n' for n in (7, 7, 9))
    marked = [row for _, row in predict_stream(loaded, read(objects, "jsonl"))]
    assert [row["document"] for row in marked] == [0, 0, 1]


def test_any_iterable_of_texts_is_a_list(loaded):
    texts = ["Jordan Smith", "Chelsea"]
    rows = loaded.predict(texts)
    for others in (np.array(texts), pd.Series(texts), iter(texts)):
        assert loaded.predict(others) == rows
    assert loaded.predict(texts[0]) == rows[0]
    for number, value in enumerate((None, 1.5, b"a"), 1):
        with pytest.raises(InputError, match=f"text {number}"):
            loaded.predict([*(texts * 2)[: number - 1], value])
    words = [line.split() for line in texts]
    assert loaded.predict([np.array(row) for row in words]) == loaded.predict(words)
    for alone in (np.array(texts[0]), b"Jordan"):
        with pytest.raises(InputError, match="text 1"):
            loaded.predict(alone)


def test_tables_for_a_run_that_answers_words(loaded):
    with pytest.raises(InputError, match=r"text 1.*\['note'\]"):
        loaded.predict(pd.DataFrame({"id": [1], "note": ["Chelsea"]}))
    arrow = pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match="Table"):
        loaded.predict(arrow.table({"note": ["Chelsea"]}))


def test_the_probability_of_a_tag_is_its_own(loaded, monkeypatch):
    """The tag of a CRF need not be the most probable one of its word."""
    task, classes = loaded.task, loaded.record.targets.classes
    shares = np.random.default_rng(1).dirichlet(np.ones(len(classes)), 3)
    numbers = shares.argsort(axis=1)[:, -2]

    def second_best(run, inputs, sentences):
        return task.answers(numbers, classes, sentences, "bio"), shares, numbers

    monkeypatch.setattr(LoadedRun, "shares", second_best)
    rows = loaded.predict([("Jordan", "Smith"), ("Chelsea",)])
    tags = [tag for row in rows for tag in row["tags"]]
    expected = [shares[i, classes.index(tag)] for i, tag in enumerate(tags)]
    shown = [share for row in rows for share in row["probabilities"]]
    assert shown == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("cells", [["a", "b\tc"], ["a", "b\nc", "d"], ["a\rb"]])
def test_columns_hold_no_text_or_answer_with_a_tab_or_line_end(cells):
    row = {"answer": cells[-1]}
    bad = next(cell for cell in cells if len(cell) > 1)
    with pytest.raises(InputError, match=re.escape(repr(bad))):
        [*answer_rows([(cells, row)], "conll")]
    assert [json.loads(line) for line in answer_rows([(cells, row)], "jsonl")] == [row]
