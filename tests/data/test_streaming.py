"""Reading in one pass gives what reading a whole file gives, however the bytes arrive."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.data.conll import read_conll
from featbert.data.corpus import Sentence
from featbert.data.files import RawFile, read_lines
from featbert.data.options import ReadingOptions
from featbert.data.streaming import FORMAT_LINES, read_pieces, read_texts
from featbert.data.tags import target_kind
from featbert.errors import InputError

# More than what is read of a stream at a time.
CHUNK_BYTES = 1 << 16


class Trickle(io.BytesIO):
    """A stream that gives a few bytes at a time, as a pipe may, and counts them."""

    def __init__(self, data: bytes, step: int = 3) -> None:
        super().__init__(data)
        self.step = step

    def read1(self, size: int | None = -1) -> bytes:
        return super().read1(self.step)


def pieces(
    data: str | bytes, kind: str, step: int = CHUNK_BYTES, encoding: str = "utf-8"
) -> list[Sentence]:
    data = data.encode() if isinstance(data, str) else data
    lines = read_lines(Trickle(data, step), encoding, "input", returns=kind == "text")
    return list(read_pieces(lines, "input", kind, ReadingOptions()))


def same(found: list[Sentence], whole: RawFile) -> None:
    """The same words, and documents that begin and end at the same sentences."""
    assert [p.words for p in found] == [s.words for s in whole.sentences]
    if any(s.document is not None for s in whole.sentences):
        assert [p.document or 0 for p in found] == [s.document for s in whole.sentences]
    else:
        assert all(p.document is None for p in found)


def outcome(read):
    """What a reader gives, and its message where it refuses."""
    try:
        return read(), ""
    except InputError as error:
        return None, str(error)


LINES = ["a\tO", "b c\tB-X", "#\tO", "# x\tO", "", "", " ", "-DOCSTART-\tO", "# newdoc", "# note"]


@given(st.lists(st.sampled_from(LINES), max_size=12), st.sampled_from([1, 3, 1000]))
def test_a_column_file_as_read_whole(tmp_path_factory, lines: list[str], step: int) -> None:
    path = tmp_path_factory.mktemp("conll") / "x.conll"
    text = "\n".join(["a\tO", *lines, ""])
    path.write_text(text, "utf-8")
    found, message = outcome(lambda: pieces(text, "conll", step))
    whole, expected = outcome(lambda: read_conll(path, kind=target_kind(None)))
    assert message == expected.replace(str(path), "input")  # such as a comment inside a sentence
    if whole is not None:
        same(found, whole)


@pytest.mark.parametrize(
    "text",
    [
        "#\thttp://a [2009]\n1\tEU\tB-X\tO\n\n#\thttp://b [2009]\n1\tis\tO\tO\n",
        "<doc id='1'>\n<s>\nEU O\n</s>\n<s>\nis O\n</s>\n</doc>\n<doc>\nit O\n",
        "EU|X|O is|X|O\nit|X|O\n",
    ],
)
def test_dialects_as_read_whole(tmp_path, text: str) -> None:
    (tmp_path / "x.conll").write_text(text, "utf-8")
    same(pieces(text, "conll"), read_conll(tmp_path / "x.conll", kind=target_kind(None)))


@pytest.mark.parametrize(
    ("head", "row", "words"),
    [
        ("sentence_id\tWord", "1\tRome", ["Rome"]),
        ("index\tsentence_id\ttoken", "0\t1\tRome", ["Rome"]),
        ("word\tword", "a\tb", ["word", "a"]),
        ("text", "a", ["text", "a"]),
        ("word\tNN", "a\tDT", ["word", "a"]),
    ],
)
def test_a_header_needs_no_tags_if_tags_are_not_read(head, row, words) -> None:
    found = pieces(f"{head}\n{row}\n", "conll")
    assert [word for piece in found for word in piece.words] == words


@pytest.mark.parametrize(
    "rows",
    [
        ['{"text": "Rome is old."}', '{"text": "Nothing"}'],
        ['{"text": "Rome is old.", "label": [[0, 4, "LOC"]]}', '{"text": "Nothing"}'],
        ['{"text": "Rome is old."}', '{"text": "Nothing", "label": []}'],
    ],
    ids=["texts", "spans first", "spans later"],
)
def test_texts_without_spans_are_texts(rows) -> None:
    found = pieces("\n".join([*rows, ""]), "jsonl")
    assert [piece.words for piece in found] == [("Rome", "is", "old", "."), ("Nothing",)]
    assert [piece.texts for piece in found] == [("Rome is old.",), ("Nothing",)]
    assert [piece.places[-1] for piece in found] == [(11, 12), (0, 7)]


@pytest.mark.parametrize("word", ["en:is", "is"])
def test_a_language_before_every_word(word: str) -> None:
    expected = ("EU", "is") if word == "en:is" else ("en:EU", "is")
    for text, kind in (
        (f"en:EU O\n{word}\tO\n", "conll"),
        (f'{{"tokens": ["en:EU", "{word}"]}}', "jsonl"),
    ):
        assert [p.words for p in pieces(text, kind)] == [expected]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
def test_encodings_whatever_the_chunks(encoding: str) -> None:
    lines = ["Café in Genève", "über"]
    for step in (1, 2, 7):
        found = pieces("\n".join(lines).encode(encoding), "text", step, encoding=encoding)
        assert [p.texts[0] for p in found] == lines


def test_raw_text_keeps_its_lines() -> None:
    text = "\ufeffRome's end.\r\n\n  \nA\u2028B\u0085C\u00a0D\nlast"
    found = pieces(text, "text", 2)
    lines = ["Rome's end.", "", "  ", "A\u2028B\u0085C\u00a0D", "last"]
    assert [p.texts[0] for p in found] == lines
    words = ["Rome 's end .", "", "", "A B C D", "last"]
    assert [p.words for p in found] == [tuple(one.split()) for one in words]
    assert found[0].places == ((0, 4), (4, 6), (7, 10), (10, 11))
    assert [p.document for p in found] == [0, 1, 2, 2, 2]
    assert pieces("", "text") == pieces("", "conll") == pieces("", "jsonl") == []
    assert len(pieces("\n\n", "text")) == 2


@pytest.mark.parametrize(
    ("kind", "data", "line"),
    [
        ("text", b"ok\nfine\ncaf\xe9 x\n", 3),
        ("text", b"ok\nno\0\n", 2),
        ("text", b"ok\ncut \xc3", 2),
        ("conll", b"EU\tO\n\nRome\n", 3),
        ("jsonl", b'{"tokens": ["a"]}\n\nRome\n', 3),
        ("jsonl", b'{"tokens": ["a"]}\n{"tokens": ["a"], "document": 1}\n', 2),
    ],
)
@pytest.mark.parametrize("step", [1, CHUNK_BYTES])
def test_an_ill_formed_line_is_named(kind: str, data: bytes, line: int, step: int) -> None:
    with pytest.raises(InputError, match=f"line {line} of input"):
        pieces(data, kind, step)


@pytest.mark.parametrize(
    ("kind", "line", "ahead"),
    [
        ("text", "one line\n", CHUNK_BYTES),
        ("jsonl", '{"tokens": ["a"]}\n', CHUNK_BYTES),
        ("conll", "word\tO\n\n", CHUNK_BYTES + FORMAT_LINES * 7),
    ],
)
def test_a_stream_is_read_as_it_is_asked_for(kind: str, line: str, ahead: int) -> None:
    data = line.encode() * 50_000
    stream = io.BytesIO(data)
    reading = read_pieces(read_lines(stream, "utf-8", "input"), "input", kind, ReadingOptions())
    for _ in range(10):
        next(reading)
    assert stream.tell() <= ahead < len(data)
    assert sum(1 for _ in reading) == 50_000 - 10


@pytest.mark.parametrize("pairs", [None, False])
@pytest.mark.parametrize(
    ("kind", "data", "texts"),
    [
        ("tsv", "text\ngood\n\nbad\n", ["good", "", "bad"]),
        ("csv", "text,note\ngood,\n,\n\n \nbad,\n", ["good", "", " ", "bad"]),
        ("csv", "text\ngood\ntext\nbad\n", ["good", "text", "bad"]),
        ("csv", "n,text\n1,good\nn,text\n", ["good", "text"]),
    ],
)
def test_each_row_of_a_table_is_a_text(kind, data, texts, pairs) -> None:
    options = ReadingOptions(text="text")
    found = read_texts(iter(data.splitlines()), "x", kind, pairs=pairs, options=options)
    assert [s.texts for s in found] == [(text,) for text in texts]


def test_a_blank_row_of_pairs_is_two_empty_texts() -> None:
    found = read_texts(iter(["question,passage", "a,b", ",", "c,d"]), "x", "csv", pairs=True)
    assert [s.texts for s in found] == [("a", "b"), ("", ""), ("c", "d")]


def test_lines_that_may_have_columns_are_read_whole_and_named(caplog) -> None:
    lines = ["Hi.", "__label__pos Yes.", "It rains.\tpos", "No.\tneg"]
    texts = [s.texts for s in read_texts(iter(lines), "my.txt", pairs=False)]
    assert texts == [("Hi.",), ("Yes.",), ("It rains.\tpos",), ("No.\tneg",)]
    assert [r.getMessage().count("line 3 of my.txt") for r in caplog.records] == [1]


def words_of_table(data: str, name: str = "x.csv", **options) -> list[tuple[str, ...]]:
    lines = iter(data.split("\n")[:-1])
    return [p.words for p in read_pieces(lines, name, "conll", ReadingOptions(**options))]


@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
@pytest.mark.parametrize("head", ["text", "id,text", "text,id"])
def test_each_text_of_a_table_is_split_into_words(name, head) -> None:
    """A cell without a word has an answer without words."""
    cells = {"id": ["1", "2", "3"], "text": ["It is, here.", "", "Rome"]}
    rows = [head, *map(",".join, zip(*(cells[n] for n in head.split(",")), strict=True))]
    if name == "x.tsv":
        rows = [row.replace(", ", "~").replace(",", "\t").replace("~", ", ") for row in rows]
    else:
        rows = [row.replace("It is, here.", '"It is, here."') for row in rows]
    data = "".join(f"{row}\n" for row in rows)
    assert words_of_table(data, name) == [("It", "is", ",", "here", "."), (), ("Rome",)]


def test_a_column_of_texts_without_a_usual_name_is_named_by_the_caller() -> None:
    data = "nr,Satz\n1,It is here.\n2,It was Rome.\n"
    with pytest.raises(InputError, match=r"(?=.*Satz)(?=.*text)"):
        words_of_table(data)
    texts = [("It", "is", "here", "."), ("It", "was", "Rome", ".")]
    assert words_of_table(data, text="Satz") == texts
    with pytest.raises(InputError, match="Saetze"):
        words_of_table(data, text="Saetze")


@pytest.mark.parametrize("data", ["text,tag\nRome,B-LOC\nis,O\n", "Rome,B-LOC\nis,O\n"])
def test_words_in_a_table_stay_words(data) -> None:
    assert words_of_table(data) == [("Rome", "is")]


def test_a_row_of_json_without_a_word_has_an_answer_without_words() -> None:
    rows = '{"text": "It is."}\n{"text": ""}\n{"text": "Rome"}\n'
    assert [p.words for p in pieces(rows, "jsonl")] == [("It", "is", "."), (), ("Rome",)]
    rows = '{"tokens": ["-DOCSTART-"]}\n{"tokens": ["a"]}\n{"tokens": []}\n'
    assert [p.words for p in pieces(rows, "jsonl")] == [("a",), ()]


@pytest.mark.parametrize(
    "rows",
    [
        ["token,ner,comment", "Rome,B-LOC,not very sure", "is,O,not very sure"],
        ["sentence,token,tag", "Rome is here,Rome,B-LOC", "Rome is here,is,O"],
        ["text,ner", "Hà Nội,B-LOC", "Việt Nam,B-LOC"],
        ["Rome,O,the gloss here", "is,O,another gloss here"],
        ["text,kind", "Hà Nội,LOC", "Việt Nam,LOC", "", "Hà Nội,LOC"],
    ],
)
def test_words_with_texts_in_other_columns_stay_words(rows) -> None:
    """Some words have spaces, and words may have comments or glosses."""
    data = "".join(f"{row}\n" for row in rows)
    words = [word for sentence in words_of_table(data) for word in sentence]
    assert {"Rome", "Hà Nội"} & {*words}
    assert "comment" not in words
