"""What is written reads back the same."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from featbert.data.conll import read_conll, write_conll
from featbert.data.corpus import Sentence
from featbert.errors import InputError

WORDS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\n\t\r\0"), min_size=1),
    st.text(st.sampled_from("a #-\u00a0\u0085\u2028\u3000\ufeffe\u0301👩\u200d🔬"), min_size=1),
    st.sampled_from(
        ["#", "# x", "# id = 5", "#x", "O", "-DOCSTART-x", "\ufeff", " a ", "# newdoc"]
    ),
).filter(lambda w: w.strip(" ") and w.split(" ")[0] != "-DOCSTART-")
TAGS = st.sampled_from(["O", "B-PER", "I-PER", "B-creative work"])


@st.composite
def texts(draw):
    words = draw(st.lists(st.lists(WORDS, min_size=1, max_size=5), min_size=1, max_size=5))
    with_documents = draw(st.booleans())
    document, sentences = 0, []
    for row in words:
        tags = tuple(draw(TAGS) for _ in row)
        sentences.append(Sentence(tuple(row), tags, document if with_documents else None))
        document += draw(st.booleans())
    return sentences


def read_back(path, **options):
    return [Sentence(s.words, s.tags, s.document) for s in read_conll(path, **options).sentences]


@given(texts())
@example([Sentence(("\ufeffa",), ("O",))])
@example([Sentence(("\ufeff", "#"), ("O", "O"), 0)])
@example([Sentence(("#", "\u00a0"), ("O", "O")), Sentence(("# a",), ("O",))])
def test_round_trip(sentences):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.conll"
        write_conll(path, sentences)
        assert read_back(path) == sentences


@given(texts())
def test_round_trip_of_predictions(sentences):
    predicted = [["B-X"] * len(s) for s in sentences]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.conll"
        write_conll(path, sentences, predicted)
        assert read_back(path, tag_column=2) == sentences
        assert [list(s.tags) for s in read_back(path, tag_column=3)] == predicted


@given(texts())
def test_round_trip_of_words_alone(sentences):
    bare = [
        Sentence(tuple(w.replace(" ", "_") for w in s.words), None, s.document) for s in sentences
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.conll"
        write_conll(path, bare)
        assert read_back(path, tagged=False) == bare


def test_the_bytes():
    stream = io.StringIO()
    sentences = [
        Sentence(("EU", "is"), ("B-ORG", "O"), 0),
        Sentence(("it",), ("O",), 0),
        Sentence(("so",), ("O",), 1),
    ]
    write_conll(stream, sentences, [["O", "O"], ["B-LOC"], ["O"]])
    assert stream.getvalue() == (
        "-DOCSTART- O O\n\nEU B-ORG O\nis O O\n\nit O B-LOC\n\n-DOCSTART- O O\n\nso O O\n\n"
    )


def test_tabs_only_where_a_cell_holds_a_space():
    stream = io.StringIO()
    write_conll(stream, [Sentence(("New York", "a"), ("B-LOC", "O"), 0)])
    assert stream.getvalue() == "-DOCSTART-\tO\n\nNew York\tB-LOC\na\tO\n\n"


@pytest.mark.parametrize(
    ("sentences", "columns", "expected"),
    [
        (
            [Sentence(("a", "b"), ("O", "O"))],
            [[["O"]]],
            "2 tags expected for sentence 1, 'a b', found 1",
        ),
        ([Sentence(("a",), ("O",))], [[]], "a column of 1 sentences expected, found one of 0"),
        ([Sentence(("a",), ("O",)), Sentence(("b",))], [], "sentence 2, 'b', differs"),
        ([Sentence(("a\tb",), ("O",))], [], r"word 'a\\tb' of sentence 1"),
        ([Sentence(("a\nb",), ("O",))], [], "holds a tab, line end"),
        ([Sentence(("a\rb",), ("O",))], [], "holds a tab, line end"),
        ([Sentence(("-DOCSTART- x",), ("O",))], [], "is the document mark"),
        ([Sentence(("\ud800",), ("O",))], [], "lone surrogate"),
        ([Sentence((" ",), ("O",))], [], "is blank"),
        ([Sentence(("",), ("O",))], [], "is empty"),
        ([Sentence(("-DOCSTART-",), ("O",))], [], "is the document mark"),
        ([Sentence(("a",), ("O ",))], [], "tag 'O ' .* ends with a space"),
        ([Sentence(("a",), ("",))], [], "tag '' .* is empty"),
        ([Sentence(("a b",))], [], "write them as JSONL"),
    ],
)
def test_what_cannot_be_written(tmp_path, sentences, columns, expected):
    with pytest.raises(InputError, match=expected):
        write_conll(tmp_path / "out", sentences, *columns)
    assert not list(tmp_path.iterdir())
