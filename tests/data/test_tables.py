"""Dialects of tables: separators, quoting, rows with more columns, headers, line ends."""

import csv
import io
import json
import re
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.data.files import read_lines
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.data.streaming import read_texts
from featbert.data.tables import Table
from featbert.errors import InputError
from tests.data.reading import read as read_corpus

WANT = [("Good, really; or not", "1"), ("Bad | worse", "0"), ("Fine", "1")]


def read(folder, content, ending="csv", **options):
    """Texts and answers of a train part; a stream of the same lines has the same texts."""
    for path in folder.glob("train.*"):
        path.unlink()
    path = folder / f"train.{ending}"
    path.write_text(content, "utf-8", newline="")
    split = load_corpus(folder, ReadingOptions(**options), targets="classes")["train"]
    columns = ReadingOptions(
        **{k: v for k, v in options.items() if k not in ("target", "encoding")}
    )
    lines = read_lines(io.BytesIO(content.encode()), "utf-8", "input", returns=True)
    kind = "csv" if ending == "csv" else "tsv"
    streamed = read_texts(lines, "input", kind, pairs=split.has_pairs, options=columns)
    assert [s.texts for s in streamed] == [s.texts for s in split]
    return [(*s.texts, *s.tags) for s in split]


def table(separator, quoting=csv.QUOTE_MINIMAL, rows=(("text", "label"), *WANT), **more):
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, quoting=quoting, lineterminator="\n", **more).writerows(
        rows
    )
    return stream.getvalue()


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "data"])
@pytest.mark.parametrize("separator", ["\t", ",", ";", "|"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
def test_separator_and_quoting_are_those_of_the_lines(tmp_path, ending, separator, quoting):
    content = table(separator, quoting)
    assert read(tmp_path, content, ending) == WANT
    assert read(tmp_path, "\ufeff" + content.replace("\n", "\r\n"), ending) == WANT
    bare = table(separator, quoting, WANT)
    assert read(tmp_path, bare, ending, text=1, target=2) == WANT


TEXTS = st.text('ab ",;\t\n', min_size=1, max_size=8).map(lambda text: f"x{text}y")


@given(st.lists(st.tuples(TEXTS, st.sampled_from("01")), min_size=3), st.sampled_from(",;|"))
def test_what_csv_writes_reads_back(tmp_path_factory, rows, separator):
    folder = tmp_path_factory.mktemp("table")
    content = table(separator, csv.QUOTE_ALL, (("text", "label"), *rows))
    assert read(folder, content) == rows


QUOTED = 'text\tlabel\n"A ""b"" c"\t1\nNo.\t0\n'
COMMAS = 'text\tlabel\n"Good, but"\t1\nNo.\t0\n'
MARKS = 'text\tlabel\n"Go!" she said.\t1\nNo.\t0\n'


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("parts", "options", "firsts", "n_notices"),
    [
        ((QUOTED, COMMAS), {}, ('A "b" c', "Good, but"), 0),
        ((COMMAS, COMMAS), {}, ('"Good, but"', '"Good, but"'), 0),
        ((QUOTED, MARKS), {}, ('A "b" c', '"Go!" she said.'), 1),  # no quotes around it
        ((QUOTED, COMMAS), {"quoting": "none"}, ('"A ""b"" c"', '"Good, but"'), 0),
    ],
)
def test_parts_are_quoted_alike(tmp_path, parts, options, firsts, n_notices, turned, caplog):
    names = ("dev", "train") if turned else ("train", "dev")
    corpus = read_corpus(tmp_path, parts=dict(zip(names, parts, strict=True)), **options)
    assert tuple(corpus[name].sentences[0].texts[0] for name in names) == firsts
    assert sum("quoting" in record.message for record in caplog.records) == n_notices


ESCAPED = 'text,label\n"He said \\"no, never\\", twice",1\nYes.,0\n'
TWICE = [('He said "no, never", twice', "1"), ("Yes.", "0")]
LONE = 'text\tlabel\n"Oh\t1\nYes.\t0\nwell"\t1\nNo.\t0\n'
SINGLE = "text,label\n'It{}s new, and good','a'\n'Old','b'\n'No','a'\n"


BY_NUMBER = {"text": 1, "target": 2}
CLEAR = [("Good.", "1"), ("Bad.", "0")]
COMMENT = [("I like it, comment, and so on", "pos"), ("bad film", "neg")]
QUOTES_OF_TSV = {
    '"Go!" she said.': '"Go!" she said.',  # more after the mark
    'She said "no.': 'She said "no.',
    '"Never': '"Never',
    '"Go!"': '"Go!"',  # could be both, and others have none
    '""': '""',
    '"A ""b"" c"': 'A "b" c',  # doubled inside of a quoted field
    "'Go'": "'Go'",
}


def of_tsv(text, first, **options):
    """A case: a text in a file whose other texts show that marks are part of them."""
    content = f'sentence\tlabel\n{text}\t1\nOther.\t0\nA "b" c.\t1\n'
    return content, "tsv", options, [(first, "1"), ("Other.", "0"), ('A "b" c.', "1")]


OWN_QUOTES = [("'Tis", "a"), ("'No'", "b"), ("I's", "a"), ("'Yes'", "'b'")]
SO = [("So it is.", "0")] * 2
THREE = [("It's new, and good", "a"), ("Old", "b"), ("No", "a")]


@pytest.mark.parametrize(
    ("content", "ending", "options", "expected"),
    [
        *(of_tsv(text, first) for text, first in QUOTES_OF_TSV.items()),
        *(of_tsv(text, text, quoting="none") for text in QUOTES_OF_TSV),
        (LONE, "tsv", {}, [('"Oh', "1"), ("Yes.", "0"), ('well"', "1"), ("No.", "0")]),
        (LONE, "tsv", {"quoting": "double"}, [("Oh\t1\nYes.\t0\nwell", "1"), ("No.", "0")]),
        (ESCAPED, "csv", {}, TWICE),
        (ESCAPED.replace("\\", "^"), "csv", {"escape": "^"}, TWICE),
        (re.sub(",(1|0|l)", r"\t\1", ESCAPED), "tsv", {}, TWICE),
        ("So, yes;1\nWell, no;0\n", "csv", BY_NUMBER, [("So, yes", "1"), ("Well, no", "0")]),
        ("So, yes|1\nWell, no|0\n", "csv", BY_NUMBER, [("So, yes", "1"), ("Well, no", "0")]),
        ("text\tlabel\nA\\\tb\t1\nC:\\dir\t0\n", "tsv", {}, [("A\tb", "1"), ("C:\\dir", "0")]),
        ("text\tlabel\nA\\\t1\nC:\\dir\t0\n", "tsv", {}, [("A\\", "1"), ("C:\\dir", "0")]),
        ('text,label\n"A\rb\nc",1\nd,0\n', "csv", {}, [("A\rb\nc", "1"), ("d", "0")]),
        (SINGLE.format("''"), "csv", {}, THREE),
        (SINGLE.format("\\'"), "csv", {}, THREE),
        ("text,label\n'Tis,a\n'No',b\nI's,a\n'Yes','b'\n", "csv", {}, OWN_QUOTES),
        ('text\tlabel\nA \\"x\\"\ta\nA "y"\tb\n', "tsv", {}, [('A \\"x\\"', "a"), ('A "y"', "b")]),
        ('label,text\n1,He, "no"\n' + "0,So it is.\n" * 2, "csv", {}, [('He, "no"', "1"), *SO]),
        # Usual names of columns between other signs are part of a text.
        (table("\t", csv.QUOTE_NONE, COMMENT), "tsv", BY_NUMBER, COMMENT),
        # Rows with more fields than the header, and headers of other programs
        ('"text","label"\n"1","Good.",1\n"2","Bad.",0\n', "csv", {}, CLEAR),  # R's row names
        ("text\tlabel\n1\tGood.\t1\n2\tBad.\t0\n", "tsv", {}, CLEAR),
        (",text,label\n0,Good.,1\n1,Bad.,0\n", "csv", {}, CLEAR),  # the index of pandas
        ("text,label,,,\nGood.,1,,,\nBad.,0,,,\n", "csv", {}, CLEAR),  # as Kaggle's spam
        ("text,label\nGood.,1,\nBad.,0,,\n", "csv", {}, CLEAR),  # a separator at the end
        ("text\tlabel\t\nGood.\t1\t\nBad.\t0\t\n", "tsv", {}, CLEAR),
        ("sep=;\ntext;label\nGood.;1\nBad.;0\n", "csv", {}, CLEAR),
        ('"sep=|"\r\ntext|label\r\nGood.|1\r\nBad.|0\r\n', "csv", {}, CLEAR),
        ("text,label\rGood.,1\rBad.,0\r", "csv", {}, CLEAR),  # ends of old Macs
        ('label, text\n1, "Good."\n0, "Bad."\n', "csv", {}, CLEAR),
        ('"text" "label"\n"1" "Good." "1"\n"2" "Bad." "0"\n', "txt", {}, CLEAR),  # R's separator
    ],
)
def test_quotes_escapes_separators_and_headers(tmp_path, content, ending, options, expected):
    assert read(tmp_path, content, ending, **options) == expected


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (" \n\ntext,label\n\nGood.,1\n\n\nBad.,0\n,\n", ["Good.", "Bad.", ""]),
        ("text,label\nGood.,1\ntext,label\nBad.,0\n", ["Good.", "text", "Bad."]),  # two files
        ("text,label\nGood.,1\n\ufefftext,label\nBad.,0\n", ["Good.", "\ufefftext", "Bad."]),
    ],
)
def test_empty_rows_and_repeated_headers_are_texts_only_in_a_stream(tmp_path, content, texts):
    train = read_corpus(tmp_path, content, "csv")["train"]
    assert [(*s.texts, *s.tags) for s in train] == [("Good.", "1"), ("Bad.", "0")]
    streamed = read_texts(iter(content.splitlines()), "x", "csv", pairs=False)
    assert [s.texts for s in streamed] == [(text,) for text in texts]


@pytest.mark.parametrize("order", [("text", "label"), ("label", "text"), ("id", "text", "label")])
def test_separators_of_the_only_text(tmp_path, order, caplog):
    rows = [{"id": str(i), "text": t, "label": n} for i, (t, n) in enumerate(WANT)]
    rows += [{"id": str(i), "text": "One more.", "label": "0"} for i in range(3, 9)]
    content = "".join(",".join(row[name] for name in order) + "\n" for row in rows)
    assert read(tmp_path, ",".join(order) + "\n" + content)[:3] == WANT
    assert "line 2\n" in caplog.text


@pytest.mark.parametrize(
    ("scores", "read_as"),
    [
        (["4,5", "3", "3,667"], ["4.5", "3.0", "3.667"]),
        (["0,125", "1,000", "-2,5"], ["0.125", "1.0", "-2.5"]),
        (["4.5", "3,25"], ["4.5", "3.25"]),
        (["1,000", "3,250", "7"], None),  # thousands, or not
        (["1,5", "1.234,5"], None),
        (["7", "1_000"], None),
    ],
)
def test_decimal_commas(tmp_path, scores, read_as):
    path = tmp_path / "train.csv"
    path.write_text("text;score\n" + "".join(f"a b;{score}\n" for score in scores), "utf-8")
    refused = pytest.raises(InputError, match=r"1[,_]000|1\.234,5")
    with refused if read_as is None else nullcontext():
        assert load_corpus(path, targets="scores")["train"].tags == [(n,) for n in read_as]


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-16"])
def test_utf_16_is_recognised(tmp_path, codec):
    path = tmp_path / "train.csv"
    for text in ("text,label\nGood.,1\n", "text,label\nGöod.,1\n"):
        path.write_bytes(text.encode(codec))
        with pytest.raises(InputError, match=rf"train\.csv.*{codec}"):
            load_corpus(path, targets="classes")
        found = load_corpus(path, ReadingOptions(encoding=codec), targets="classes")["train"]
        assert [s.texts for s in found] == [(text.partition("\n")[2][:5],)]
    if codec != "utf-16":
        with pytest.raises(InputError, match="utf-16-le"):
            load_corpus(path, ReadingOptions(encoding="utf-16"), targets="classes")


PARTS = {
    # train without a header, test with other columns: by number, and by usual names
    "cola": ("x\t1\t\tThe cat.\n", "index\tsentence\n0\tThe dog.\n", {"text": 4, "target": 2}),
    "same width": ("1\tThe cat.\n", "id\tsentence\n0\tThe dog.\n", {"text": 2, "target": 1}),
    "other place": ("The cat.\t1\n", "id\tsentence\n0\tThe dog.\n", {"text": 1, "target": 2}),
    "labelled": ("The cat.\t1\n", "sentence\tlabel\nThe dog.\t0\n", {}),
    "all named": ("a\tThe cat.\t1\n", "x\ty\tz\nb\tThe dog.\t0\n", {"text": "y", "target": "z"}),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_header_in_one_part_only(tmp_path, name):
    train, test, options = PARTS[name]
    corpus = read_corpus(tmp_path, parts={"train": train, "test": test}, **options)
    assert [s.texts for s in corpus["train"]] == [("The cat.",)]
    assert [s.texts for s in corpus["test"]] == [("The dog.",)]
    assert corpus["train"].tags == [("1",)]
    answered = name in ("labelled", "all named")
    assert [s.tags for s in corpus["test"]] == [("0",) if answered else None]


ACTS = [("Is it true?", "question"), ("It is.", "comment"), ("Is it?", "question")]


def test_classes_with_usual_names_of_columns_are_no_header(tmp_path):
    content = "".join(f"{text}\t{act}\n" for text, act in ACTS)
    assert read(tmp_path, content, "tsv", text=1, target=2) == ACTS
    assert read(tmp_path, "comment\tstance\n" + content, "tsv", text=1, target=2) == ACTS
    assert read(tmp_path, "comment\tlabel\ncomment\tdeny\n", "tsv") == [("comment", "deny")]
    # Nor in one part only, or if only the number says that the column has classes.
    parts = {"train": content, "dev": "It is.\tcomment\nIs it?\tquestion\n"}
    corpus = read_corpus(tmp_path, parts=parts, text=1, target=2)
    assert [len(corpus["train"]), len(corpus["dev"])] == [3, 2]
    assert corpus["dev"].tags == [("comment",), ("question",)]


REVIEWS = [(f"it was film {n}", "good" if n % 2 else "bad") for n in range(6)]
PAIRS = [(f"it was film {n}", f"a film of {n}", f"{n % 3}.5") for n in range(6)]


LONG = [(f"it was a film of the year {n}", "good" if n % 2 else "bad") for n in range(6)]


@pytest.mark.parametrize(
    ("head", "columns"),
    [
        (("Kommentar", "Kategorie"), ("Kommentar", "Kategorie")),
        (("my opinion", "mood"), ("my opinion", "mood")),
        (("nice film", "good"), None),  # a text and its answer
        (("a film to see", "rare"), None),
        (("opinion", "3"), None),
        (("opinion", "opinion"), None),
    ],
)
def test_a_first_row_that_is_unlike_all_others_has_names(tmp_path, head, columns):
    """The parts of a corpus have the same header."""
    rows = {"train": LONG, "dev": LONG[:2]}
    parts = {part: table(",", rows=(head, *rows[part])) for part in rows}
    corpus = read_corpus(tmp_path, "", "csv", parts=parts, **{} if columns else BY_NUMBER)
    rows = [(s.texts[0], *s.tags) for s in corpus["train"]]
    assert rows == (LONG if columns else [head, *LONG])
    if columns:
        notes = corpus["train"].notes
        assert (*notes.text_columns, *notes.answer_columns) == columns
        assert [(s.texts[0], *s.tags) for s in corpus["dev"]] == LONG[:2]


@pytest.mark.parametrize(
    ("train", "dev", "options", "column"),
    [
        ("review", "remark,label", {}, "remark"),
        ("review", "id,remark,label", {}, "remark"),
        ("review", "label,remark", {}, "remark"),
        ("review", "comment,label", {}, "comment"),
        ("opinion", "remark,label", {"text": "opinion"}, "remark"),
        ("opinion", "text,label", {"text": "opinion"}, "text"),
        ("review", "remark,tone,label", {}, None),
        ("text,title", "remark,label", {}, None),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_the_only_text_of_a_part_may_have_another_name(
    tmp_path, train, dev, options, column, ending
):
    for part, head in (("train", f"{train},label"), ("dev", dev)):
        names = head.split(",")
        rows = [[f"a {name} {n}" if name != "label" else "xy"[n] for name in names] for n in (0, 1)]
        content = table(",", rows=(names, *rows))
        if ending == "jsonl":
            content = "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
        (tmp_path / f"{part}.{ending}").write_text(content)
    if column is None:
        with pytest.raises(
            InputError, match=f"dev.{ending}.*{dev.replace(',', ', ')}.*{train[:4]}"
        ):
            load_corpus(tmp_path, ReadingOptions(**options), targets="classes")
        return
    split = load_corpus(tmp_path, ReadingOptions(**options), targets="classes")["dev"]
    assert [(*s.texts, *s.tags) for s in split] == [(f"a {column} {n}", "xy"[n]) for n in (0, 1)]
    assert split.notes.text_columns == (column,)


def test_columns_between_which_the_rows_do_not_decide_are_named_in_the_error(tmp_path):
    rows = [("Kommentar", "Kategorie", "Ton"), *((*row, row[1]) for row in LONG)]
    content = table(",", rows=rows)
    with pytest.raises(InputError, match=r"(?=.*Kommentar)(?=.*Kategorie)(?=.*text)"):
        read_corpus(tmp_path, content, "csv")
    corpus = read_corpus(tmp_path, content, "csv", text="Kommentar", target="Ton")
    assert len(corpus["train"]) == len(LONG)


@pytest.mark.parametrize("targets", ["classes", "sets"])
def test_the_only_column_besides_texts_and_row_numbers_has_the_answers(tmp_path, targets):
    rows = [("id", "text", "Spam?"), ("1", "it was", "x"), ("2", "it is", "y")]
    train = read_corpus(tmp_path, table(",", rows=rows), "csv", targets)["train"]
    assert train.tags == [("x",), ("y",)]
    further = [(*row, row[2]) for row in rows]
    further[0] = (*rows[0], "Ton")
    with pytest.raises(InputError, match="target"):
        read_corpus(tmp_path, table(",", rows=further), "csv", targets)


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (REVIEWS, (1, None, 2)),
        ([(answer, text) for text, answer in REVIEWS], (2, None, 1)),
        ([(f"r{n}", *row) for n, row in enumerate(REVIEWS)], (2, None, 3)),
        (PAIRS, (1, 2, 3)),
        ([(text, f"{n}.25") for n, (text, _) in enumerate(REVIEWS)], (1, None, 2)),
        ([("opinion", "mood"), *REVIEWS], None),  # the first row has names
        ([(text, answer, answer) for text, answer in REVIEWS], None),  # which one?
        ([(text, f"{n}") for n, (text, _) in enumerate(REVIEWS)], None),  # scores or numbers?
        ([(text.split()[0], answer) for text, answer in REVIEWS], None),  # words
        ([("电影" + str(n), answer) for n, (_, answer) in enumerate(REVIEWS)], None),
        ([(text,) for text, _ in REVIEWS], None),
        (REVIEWS[:1], None),
    ],
)
def test_columns_without_names_are_found_if_they_are_clear(tmp_path, rows, columns):
    lines = table("\t", csv.QUOTE_NONE, rows)
    found = Table(lines.splitlines(), tmp_path / "x.tsv", ReadingOptions())
    names = ("text", "pair", "target")
    expected = {n: c for n, c in zip(names, columns or (), strict=False) if c is not None}
    assert found.shown_columns() == expected
    if columns is None:
        return
    split = read_corpus(tmp_path, lines)["train"]
    texts = [tuple(row[i - 1] for i in columns[:2] if i) for row in rows]
    assert [s.texts for s in split] == texts
    assert [tag for (tag,) in split.tags] == [row[columns[2] - 1] for row in rows]


def test_a_stream_is_not_read_ahead():
    lines = iter(["text,label", *["a b,1"] * 5000])
    rows = Table(lines, Path("x.csv"), ReadingOptions()).rows()
    assert next(rows).values == {"text": "a b", "label": "1"}
    assert sum(1 for _ in lines) >= 4000


def test_words_in_csv_have_the_separator_of_their_lines(tmp_path):
    content = 'word;tag\nAda;B-PER\n"a;""b";O\n\nOslo;B-LOC\n'
    split = read_corpus(tmp_path, content, "csv", "entities")["train"]
    assert [s.words for s in split] == [("Ada", 'a;"b'), ("Oslo",)]
    assert split.tags == [("B-PER", "O"), ("B-LOC",)]


def test_columns_after_those_that_numbers_name(tmp_path, caplog):
    path = tmp_path / "train.csv"
    longer = "y\t2.5\tHe sings.\tHe is loud.\thttp://a\tfree"
    rows = ["x\t1.5\tIt rains.\tIt is wet.", longer, "x\t1.5\tIt rains.\tIt is wet."]
    path.write_text("\n".join(rows) + "\n", "utf-8")
    columns = {"text": 3, "pair": 4}
    train = load_corpus(path, ReadingOptions(**columns, target=2), targets="scores")["train"]
    rain, song = ("It rains.", "It is wet."), ("He sings.", "He is loud.")
    assert [s.texts for s in train] == [rain, song, rain]
    assert train.tags == [("1.5",), ("2.5",), ("1.5",)]
    assert "line 2\n" in caplog.text
    options = ReadingOptions(**columns)
    streamed = read_texts(iter(rows), "input", "csv", pairs=True, options=options)
    assert [s.texts for s in streamed] == [rain, song, rain]
    with pytest.raises(InputError, match="line 2"):
        load_corpus(path, targets="scores")


@pytest.mark.parametrize("ending", ["txt", "csv"])
def test_lines_of_fasttext(tmp_path, ending):
    path = tmp_path / f"train.{ending}"
    path.write_text('__label__pos Good, "really"\n\n__label__neg\tจบ แย่\n', "utf-8")
    train = load_corpus(path, targets="classes")["train"]
    assert [(*s.texts, *s.tags) for s in train] == [('Good, "really"', "pos"), ("จบ แย่", "neg")]
    path.write_text("__label__a __label__b Good\n", "utf-8")
    with pytest.raises(InputError, match=r"'a', 'b'.*line 1"):
        load_corpus(path, targets="classes")


def test_distinct_numbers_are_scores_if_they_have_decimals(tmp_path):
    for end, is_score in ((".5", True), ("", False)):
        rows = [("text", "points"), *((f"it is {n}", f"{n}{end}") for n in range(10))]
        with nullcontext() if is_score else pytest.raises(InputError, match="target"):
            read_corpus(tmp_path, table(",", rows=rows), "csv", "scores")


@pytest.mark.parametrize("name", ["tweet_id", "date"])
def test_a_column_of_distinct_values_is_no_answer_unless_named(tmp_path, name):
    rows = [("text", name), *((f"it is {n}", f"v{n}") for n in range(10))]
    content = table(",", rows=rows)
    with pytest.raises(InputError, match="target"):
        read_corpus(tmp_path, content, "csv")
    corpus = read_corpus(tmp_path, content, "csv", target=name)
    assert len({*corpus["train"].tags}) == 10


def test_no_first_row_is_lost_if_the_parts_do_not_agree_in_names(tmp_path):
    """A short text with a rare class at the beginning of one part is an example."""
    longer, plain = (table(",", rows=[*first, *LONG]) for first in ([("Meh!", "rare")], []))
    for odd, other in (("train", "dev"), ("dev", "train")):
        corpus = read_corpus(tmp_path, "", "csv", parts={odd: longer, other: plain}, **BY_NUMBER)
        assert [len(corpus[odd]), len(corpus[other])] == [len(LONG) + 1, len(LONG)]
    corpus = read_corpus(tmp_path, "", "csv", parts={"train": plain, "dev": longer})
    assert len(corpus["dev"]) == len(LONG) + 1


def test_parts_with_the_same_names_may_have_them_in_another_order_or_lack_some(tmp_path):
    parts = {
        "train": [("Bericht", "Urteil"), *LONG],
        "dev": [("urteil", "bericht"), *((answer, text) for text, answer in LONG[:3])],
        "test": [("Bericht",), *((text,) for text, _ in LONG)],
    }
    parts = {part: table(",", rows=rows) for part, rows in parts.items()}
    corpus = read_corpus(tmp_path, "", "csv", parts=parts)
    assert [(s.texts[0], *s.tags) for s in corpus["dev"]] == LONG[:3]
    assert [s.texts[0] for s in corpus["test"]] == [text for text, _ in LONG]
