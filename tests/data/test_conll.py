"""Column files: read layout by layout, CoNLL-U, and written so that they read back the same."""

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from featbert.data.conll import read_conll, write_conll
from featbert.data.corpus import Sentence
from featbert.data.options import ReadingOptions
from featbert.data.tags import target_kind
from featbert.errors import InputError, MissingError
from tests.data.reading import read as read_corpus


@pytest.fixture
def read(tmp_path):
    def reader(text, targets="labels", name="dev.conll", **columns):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_conll(path, ReadingOptions(**columns), target_kind(targets))

    return reader


def rows(raw):
    return [(list(s.words), None if s.tags is None else list(s.tags)) for s in raw.sentences]


@pytest.mark.parametrize(
    ("text", "sentences", "comments"),
    [
        ("EU NNP I-X\n is VBZ O \n\n\nPeter NNP I-Y", [("EU|is", "I-X|O"), ("Peter", "I-Y")], 0),
        # Tabs let words hold spaces, unless only some lines have them.
        ("New York\tO\n is \tO \n\t\n100 0\tO\n", [("New York| is ", "O|O"), ("100 0", "O")], 0),
        ("Ada X B-P\nran\tX O\n\nTom \tX\t B-P\n", [("Ada|ran", "B-P|O"), ("Tom", "B-P")], 0),
        (
            "# text = EU is\n#\nEU\tB-X\nis\tO\n\n# a\tb\tc\nEU\tO\n",
            [("EU|is", "B-X|O"), ("EU", "O")],
            3,
        ),
        ("# id = 5\nEU NNP I-NP O\n\n# newpar = x\n5 CD I-NP O\n", [("EU", "O"), ("5", "O")], 2),
        ("# newpar\nEU O\n", [("EU", "O")], 1),
        ("# O\n1 O\n\n#fail O\n# O\n", [("#|1", "O|O"), ("#fail|#", "O|O")], 0),
        ("# O\n\n# B-X\n", [("#", "O"), ("#", "B-X")], 0),
        ("# id = 5\tO\na\tO\n", [("# id = 5|a", "O|O")], 0),
        ("# 5\tnewdoc\tO\na\tb\tO\n", [("# 5|a", "O|O")], 0),
        ("-DOCSTART-x O\n", [("-DOCSTART-x", "O")], 0),
        ("a/b B/X\nc O\n", [("a/b|c", "B/X|O")], 0),
        ("7" + "\tx" * 9 + "\n8-9" + "\ty" * 9 + "\n", [("7|8-9", "x|y")], 0),  # no CoNLL-U
    ],
)
def test_columns_and_comments(read, text, sentences, comments):
    raw = read(text)
    assert rows(raw) == [(words.split("|"), tags.split("|")) for words, tags in sentences]
    assert {s.document for s in raw.sentences} == {None}
    assert (raw.notes.encoding, raw.notes.comment_lines) == ("utf-8", comments)
    # The number of each word's line.
    lines = text.split("\n")
    assert all(
        w in lines[n - 1] for s in raw.sentences for w, n in zip(s.words, s.lines, strict=True)
    )


@pytest.mark.parametrize(
    ("text", "sentences"),
    [("# text = # 1\n#\n1\n", [["#", "1"]]), ("a|b\nc|d\n", [["a|b", "c|d"]])],
)
def test_words_without_tags(read, text, sentences):
    assert rows(read(text, targets=None)) == [(words, None) for words in sentences]


MARKS = ["-DOCSTART-", "-DOCSTART- O", "-DOCSTART- -X- -X- O", "-DOCSTART-\tO", "-DOCSTART- (1st)"]
KEYS = ["# doc_id = {}", "#doc {}", "# x2022:document_id = {}", "# Document: {}"]


OF_DOCUMENTS = "doc_id sentence_id word tag\n1 0 a O\n1 0 b O\n2 0 c O\n2 1 d O\n"
MARKUP = '<doc id="1" lang="en">\n<s>\na O\nb O\n</s>\n</doc>\n'
MARKUP += '<doc id="2">\n<s>\n<b> O\n</s>\n<s>\nc O\n</s>\n</doc>\n'


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        *((f"{mark}\n\nEU O\n\nis O\n\n{mark}\n\nit O\n", [0, 0, 1]) for mark in MARKS),
        *((f"{mark}\n\nEU\tO\n\nis\tO\n\n{mark}\n\nit\tO\n", [0, 0, 1]) for mark in MARKS),
        ("EU O\n\n{0} O\nis O\n{0} O\n{0} O\n\nit O\n{0}\n".format("-DOCSTART-"), [0, 1, 2]),
        ("# newdoc id = a\nEU\tO\n\n# newdoc\nis\tO\n\n# newdocx\nif\tO\n", [0, 1, 1]),
        ("###MEDLINE:1\n\na O\n\nb O\n\n###MEDLINE:2\n\nc O\n", [0, 0, 1]),
        *(
            ("".join(f"{key.format(n)}\n# y = 1\nw NN O\n\n" for n in (1, 1, 2, 1)), [0, 0, 1, 2])
            for key in KEYS
        ),
        ("<DOC>\na O\n</DOC>\n<DOC>\nb O\n</DOC>\n", [0, 1]),
        ("#begin document x\na O\n#end document\n#begin document\nb O\n#end document\n", [0, 1]),
        ("1 -DOCSTART- O\n\n1 EU O\n", [0]),  # in another column
    ],
)
def test_marks_of_documents(read, text, documents):
    found = read(text, **{"token_column": 2} if text[0] == "1" else {}).sentences
    assert [(len(s.words), s.document) for s in found] == [(1, n) for n in documents]


@pytest.mark.parametrize(
    ("text", "sentences", "comments"),
    [
        (OF_DOCUMENTS, [("a b", 0), ("c", 1), ("d", 1)], 0),
        ("document word tag\na w O\n\na x O\nb y O\n", [("w", 0), ("x", 0), ("y", 1)], 0),
        (MARKUP, [("a b", 0), ("<b>", 1), ("c", 1)], 10),
        (MARKUP.replace(" O", "\tO"), [("a b", 0), ("<b>", 1), ("c", 1)], 10),
    ],
)
def test_columns_and_markup_of_sentences_and_documents(read, text, sentences, comments):
    raw = read(text)
    assert [(" ".join(s.words), s.document) for s in raw.sentences] == sentences
    assert raw.notes.comment_lines == comments


@pytest.mark.parametrize(
    ("marks", "columns"),
    [
        (["#\thttp://de.example.org/a [2009-10-17]", "#\thttp://b [2009]"], 4),
        (["# id 7f-3e\tdomain=en", "# id 7f-3f domain=de"], 4),
        (["# id 7f-3e domain=en", "# id 7f-3f domain=de"], 5),
        (["#id 123", "#id 124"], 2),
        (["#id 123", "#id 124"], 3),
        (["#id: 123", "# sent_id=4"], 3),
        (["## corpus-00-wiki\tA text with <tags:X>", "## corpus-01\tB b"], 2),
        (["%% file 1", "%% file 2"], 3),
        (["%% file 1", "%% file 2"], 2),
        (["# a", "##", "#"], 3),
    ],
)
def test_they_are_no_words(read, marks, columns):
    separator = "\t" if "\t" in marks[0] and columns != 5 else " "

    def line(word, tag):
        return separator.join([word, *["_"] * (columns - 2), tag]) + "\n"

    text = "".join(f"{mark}\n{line('#', 'O')}{line('#id', 'B-X')}\n" for mark in marks)
    raw = read(line("a", "O") + "\n" + text)
    assert rows(raw) == [(["a"], ["O"]), *[(["#", "#id"], ["O", "B-X"])] * len(marks)]
    assert raw.notes.comment_lines == len(marks)
    assert raw.notes.dialects == ()


QUOTED = ['"', "Rome", '5"', "b"]


def test_quoted_words_in_columns(read):
    quotes = ['""""', "Rome", '"5"""', "b"]
    for head, words, tag in (("word\ttag\n", quotes, "O"), ("", map('"{}"'.format, "abcd"), '"O"')):
        words = [*words]
        text = head + "".join(f"{word}\t{tag}\n" for word in words)
        bare = QUOTED if head else [*"abcd"]
        for options in ({"name": "dev.tsv"}, {"quoting": "double"}):
            (sentence,) = read(text, **options).sentences
            assert (list(sentence.words), {*sentence.tags}) == (bare, {"O"})
        for options in ({"name": "dev.tsv", "quoting": "none"}, {}):
            (sentence,) = read(text, **options).sentences
            assert list(sentence.words) == words
    # Marks that may be words stay as they are, unless the caller says that they are none.
    text = '"Go\tO\n"\tO\nnow"\tO\n\n"\tO\n"a"\tO\n'
    sentences = read(text, name="dev.tsv").sentences
    assert [w for s in sentences for w in s.words] == ['"Go', '"', 'now"', '"', '"a"']
    for sign in "\t ":
        (sentence,) = read(f'"a"{sign}O\nb{sign}O\n', quoting="double").sentences
        assert sentence.words == ("a", "b")


WORDS_2012 = """bc/x 0 0 Jane NNP (TOP* - - - Sp (PERSON* (A0* -
bc/x 0 1 Roe NNP (TOP* - - - Sp *) *) -
bc/x 0 2 # VB (TOP* - - - Sp * * -
"""
OSLO_2012 = "bc/x 0 0 Oslo NNP (TOP* - - - Sp (GPE) * * * -\n"


def test_conll_2012(read):
    text = "#begin document (bc/x); part 00{}\n{}\n#end document\n"
    whole = text.format(0, WORDS_2012 + "\n" + OSLO_2012) + text.format(1, OSLO_2012)
    raw = read(whole, "entities")
    oslo = (["Oslo"], ["(GPE)"])
    assert rows(raw) == [(["Jane", "Roe", "#"], ["(PERSON*", "*)", "*"]), oslo, oslo]
    assert [s.document for s in raw.sentences] == [0, 0, 1]
    assert rows(read(text.format(0, OSLO_2012), "labels")) == [(["Oslo"], ["NNP"])]
    with pytest.raises(InputError, match="line 4 of"):
        read(text.format(0, WORDS_2012[:-20]))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Jo|NP|I-P is|V|O .|.|O\n\nIn|I|O Rome|NP|I-L\n", ["Jo is .", "In Rome"]),
        ("Jo/I-P is/O 1/2/O\nIn/O Rome/I-L\n", ["Jo is 1/2", "In Rome"]),
        ("Jo|I-P is|O\tA\u00a0b|O\n-DOCSTART-\n||O Rome|I-L\n", ["Jo is A\u00a0b", "| Rome"]),
    ],
)
def test_a_sentence_a_line(read, text, sentences):
    raw = read(text)
    assert [list(s.words) for s in raw.sentences] == [one.split(" ") for one in sentences]
    assert [s.tags[0] for s in raw.sentences] == ["I-P", "O"]
    assert [{*s.lines} for s in raw.sentences] == [{1}, {text[:-1].count("\n") + 1}]
    assert len(raw.notes.dialects) == 1
    assert rows(read(text, targets=None))[1][0] == sentences[1].split(" ")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("O\tshow\nO\tO\nB-Rating\t5\n\nO\tout\n", (1, 0)),
        ("1\tAda\tB-PER\t-\tuser\n2\tsings\tO\t-\tuser\n\n1\tTom\tB-PER\t-\tuser\n", (1, 2)),
        ("0 Ada B-PER B-X\n1 sings O O\n\n0 Tom B-PER O\n", (1, 3)),
        ("EU NNP I-NP ORG\nis VB O O\n", (0, 3)),
        ("EU NNP I-NP ORG-B\nis VB O O\n", (0, 3)),
        ("EU NNP I-NP B-ORG\n. . O I-ORG\n", (0, 3)),
        ("EU NNP I-NP ORG\nis VB O NONE\n", (0, 3)),
        ("EU NNP I-NP (ORG*)\nis VB O *\n", (0, 3)),
        ("1 CD O\n2 CD B-X\n5 CD O\n", (0, 2)),
        ("B-52 B-X\nB-1 B-X\n", (0, 1)),
        ("1 CD\n2 CD\n", (0, 1)),
        ("1 CD O\n2 CD O\n3 CD B-X\n", (0, 2)),
        ("1\tAda\tB-PER\t-\n2\tsings\tO\t-\n\n1\tTom\tB-PER\t-\n", (1, 2)),
        ("Ada NN B-PER _\nsings VB O _\n", (0, 2)),
    ],
)
def test_columns_by_what_is_in_them(read, text, columns):
    lines = [line.split("\t" if "\t" in text else " ") for line in text.split("\n") if line]
    raw = read(text, "entities")
    for column, cells in zip(
        columns, (words for words in zip(*rows(raw), strict=True)), strict=True
    ):
        assert [c for row in cells for c in row] == [line[column] for line in lines]
    usual = (0, len(lines[0]) - 1)
    assert bool(raw.notes.dialects) == (columns != usual)
    assert rows(read(text, targets=None))[0][0][0] == lines[0][columns[0]]


@pytest.mark.parametrize(
    ("text", "rival"),
    [
        ("1\tAda\tB-PER\tO\n2\tof\tO\tO\n3\tBonn\tO\tB-LOC\n4\tRome\tB-LOC\tO\n", 3),
        ("Ada B-PER O\nof O O\nRome B-LOC B-LOC\n", 2),
        ("Ada NNP B-NP B-PER\nran VB O O\n", None),  # chunks
        ("Ada NNP O\nRome NNP B-LOC\n", None),
    ],
)
def test_another_column_with_entities_of_the_same_types_is_named(read, text, rival):
    raw = read(text, "entities")
    lines = text.splitlines()
    last = [line.replace("\t", " ").split(" ")[-1] for line in lines]
    assert [*raw.sentences[0].tags] == last
    named = [str(rival) in note for note in raw.notes.dialects if "tag_column" in note]
    assert named == [True] * (rival is not None)


def test_splits_have_the_same_columns(tmp_path):
    def corpus(train, dev, **columns):
        parts = {"train": train, "dev": dev}
        return read_corpus(tmp_path, ending="conll", targets="entities", parts=parts, **columns)

    long = "O show\nB-X 5\n\n" * 9
    for train, dev in (
        ("O show\nB-X 5\n", "O out\n\n" * 9),  # train is too short
        (long, "O out\n\n" * 10),
        (long, "O x out\n"),
    ):
        with pytest.raises(InputError, match=r"dev\.conll.*token_column"):
            corpus(train, dev)
    assert corpus(long, "O out\n\n" * 9)["dev"].sentences[8].words == ("out",)
    named = corpus(long, "O out\n\n" * 10, token_column=2, tag_column=1)
    assert named["dev"].sentences[0].words == ("out",)


@pytest.mark.parametrize(
    ("train", "dev", "word"),
    [
        ("the DT O\ndog NN B-X\n\n1 CD O\n2 CD O\n\n", "1 CD O\n2 CD O\n", "1"),
        ("1 Ada NN B-X\n2 ran VB O\n\n1 it PR O\n\n", "1 Ada NN B-X\n", "Ada"),
        ("Ada\tB-X\tq\nran\tO\tr\nat\tO\ts\n\n", "ran\tO\tO\n", "ran"),
    ],
)
def test_a_short_part_has_the_columns_of_the_longer_one(tmp_path, train, dev, word):
    parts = {"train": train * 3, "dev": dev}
    corpus = read_corpus(tmp_path, ending="conll", targets="entities", parts=parts)
    first = corpus["dev"].sentences[0]
    assert first.words[0] == word
    assert {*first.tags} <= {"O", "B-X"}
    assert corpus["train"].sentences[0].words[0] in ("the", "Ada")


@pytest.mark.parametrize("with_header", ["train", "dev"])
@pytest.mark.parametrize(
    ("head", "tag"), [("word tag pred", "B-PER"), ("tag x word", "B-X"), ("word pred tag", "B-X")]
)
def test_a_header_names_the_columns_of_parts_without_one(tmp_path, head, tag, with_header):
    cells = {"word": "w{n}", "tag": tag, "pred": "O", "x": "y"}
    line = " ".join(cells[name] for name in head.split()) + "\n"
    other = " ".join({"tag": "O"}.get(name, f"B-{name}") for name in head.split()) + "\n\n"
    text = "".join(line.format(n=n) + other for n in range(30))
    parts = dict.fromkeys(("train", "dev"), text) | {with_header: f"{head}\n{text}"}
    corpus = read_corpus(tmp_path, ending="conll", targets="entities", parts=parts, limit=20)
    for split in corpus.splits.values():
        assert len(split) == 20
        assert split.sentences[1].words == ("w1", "B-word")
        assert split.sentences[1].tags == (tag, "O")


@pytest.mark.parametrize("targets", ["entities", None])
def test_a_name_of_words_next_to_any_name_of_tags_is_a_header(read, targets):
    lines = "Rome B-LOC\nis O\n"
    headed = read(f"Word Entity\n{lines}", targets)
    assert rows(headed) == rows(read(lines, targets))
    assert headed.notes.header_lines == 1
    assert rows(read("Word Entity\nis O\n", targets))[0][0] == ["is"]
    for text in (f"Word O\n{lines}", f"Word B-X\n{lines}", "Word NN\nis VBZ\nit PRP\n"):
        assert read(text, targets).sentences[0].words[0] == "Word"


@pytest.mark.parametrize("targets", ["entities", "labels", None])
@pytest.mark.parametrize(
    "line", ["{n}\tit was a day\tO\n", "It was a day {n}\tB-X\tO\n", "{n}\tit was a day\n"]
)
def test_columns_of_texts_are_no_words(read, targets, line):
    text = "".join(line.format(n=n) for n in range(8))
    with pytest.raises(InputError, match=r"dev\.conll"):
        read(text, targets)
    assert len(read(text, targets, token_column=1, tag_column=2).sentences[0]) == 8
    short = re.sub("[Ii]t was a day", "New", text)  # a word or a column may have spaces
    assert len(read(short, targets).sentences[0]) == 8


def test_spaces_between_characters(read):
    raw = read("R\tB-LC\n \tI-LC\no\tI-LC\n \tO\nx\tO\n", "entities")
    assert rows(raw) == [(["R", "o", "x"], ["B-LC", "I-LC", "O"])]
    assert raw.notes.spaces == 2


TEXT = "# newdoc id = a\n# text = vámonos al mar\n1-2 vámonos _ _\n1 vamos VERB V\n2 nos PRON P\n"
TEXT += "3-4 al _ _\n3 a ADP A\n4 el DET D\n4.1 oculto NOUN N\n5 mar NOUN N\n\n"
TEXT += "# newdoc id = b\n0.1 sí _ _\n1 New\u00a0York PROPN _\n"


def test_ranges_and_empty_nodes_are_not_words(read):
    columns = r"\1\t\2\tlemma\t\3\t\4" + r"\t_" * 5
    raw = read(re.sub(r"^(\d.*) (.*) (.*) (.*)$", columns, TEXT, flags=re.MULTILINE))
    assert rows(raw) == [
        (["vamos", "nos", "a", "el", "mar"], ["VERB", "PRON", "ADP", "DET", "NOUN"]),
        (["New\u00a0York"], ["PROPN"]),
    ]
    assert [s.document for s in raw.sentences] == [0, 1]
    assert (raw.notes.comment_lines, raw.notes.non_words) == (3, 4)
    assert [*raw.sentences[0].lines] == [4, 5, 7, 8, 10]


@pytest.mark.parametrize("key", ["NER", "name", "Entity"])
def test_entities_in_a_key_of_misc(read, key):
    def text(*miscs):
        return "".join(f"{i}\tw{i}{7 * chr(9) + '_'}\t{m}\n" for i, m in enumerate(miscs, 1))

    raw = read(text(f"SpaceAfter=No|{key}=B-PER", "SpaceAfter=No", f"{key}=O", "_"), "entities")
    assert raw.sentences[0].tags == ("B-PER", "O", "O", "O")
    assert key in raw.notes.dialects[0]
    raw = read(text("Typ=B-X|NER=O", "Typ=O"), "entities", tag_column="typ")
    assert raw.sentences[0].tags == ("B-X", "O")
    for other in ("Entity=(1-person-giv", "Name=Ada"):  # coreference, and names
        with pytest.raises(InputError, match="tag_column"):
            read(text(other, "_"), "entities")
    with pytest.raises(InputError, match="NER, name"):
        read(text("NER=O|name=O"), "entities")
    with pytest.raises(InputError, match="line 2 of"):  # a word with a line end inside
        read(text("NER=O") + "2\t\n\t_\n", "entities")


def test_columns_that_a_comment_names(read):
    text = (
        "# global.columns = ID FORM MISC UPOS X:NE\n# text = Al mar\n1-2\tAl\t_\t_\t_\n"
        "1\tA\tNER=O\tADP\tO\n2\tel\t_\tDET\tB-X\n"
    )
    assert rows(read(text)) == [(["A", "el"], ["ADP", "DET"])]
    with pytest.raises(InputError, match="x:ne"):
        read(text, "entities")
    text = text.replace("NER=O", "_")
    assert rows(read(text, "entities")) == [(["A", "el"], ["O", "B-X"])]
    with pytest.raises(InputError, match="labels"):
        read(text.replace("UPOS", "CLASS"))


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


def read_back(path, targets="entities", **columns):
    raw = read_conll(path, ReadingOptions(**columns), target_kind(targets))
    return [Sentence(s.words, s.tags, s.document) for s in raw.sentences]


@given(texts())
@example([Sentence(("\ufeffa",), ("O",))])
@example([Sentence(("\ufeff", "#"), ("O", "O"), 0)])
@example([Sentence(("#", "\u00a0"), ("O", "O")), Sentence(("# a",), ("O",))])
def test_what_is_written_reads_back_the_same(sentences):
    predicted = [["B-X"] * len(s) for s in sentences]
    bare = [
        Sentence(tuple(w.replace(" ", "_") for w in s.words), None, s.document) for s in sentences
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.conll"
        write_conll(path, sentences)
        assert read_back(path) == sentences
        write_conll(path, sentences, predicted)
        assert read_back(path, tag_column=2) == sentences
        assert [list(s.tags) for s in read_back(path, tag_column=3)] == predicted
        write_conll(path, bare)
        assert read_back(path, targets=None) == bare


def test_the_bytes(tmp_path):
    path = tmp_path / "out.conll"
    sentences = [
        Sentence(("EU", "is"), ("B-ORG", "O"), 0),
        Sentence(("it",), ("O",), 0),
        Sentence(("so",), ("O",), 1),
    ]
    write_conll(path, sentences, [["O", "O"], ["B-LOC"], ["O"]])
    assert path.read_text("utf-8") == (
        "-DOCSTART- O O\n\nEU B-ORG O\nis O O\n\nit O B-LOC\n\n-DOCSTART- O O\n\nso O O\n\n"
    )
    write_conll(path, [Sentence(("New York", "a"), ("B-LOC", "O"), 0)])
    assert path.read_text("utf-8") == "-DOCSTART-\tO\n\nNew York\tB-LOC\na\tO\n\n"


@pytest.mark.parametrize(
    ("sentences", "columns", "expected"),
    [
        ([Sentence(("a", "b"), ("O", "O"))], [[["O"]]], "1 .*2 .*sentence 1 .*'a b'"),
        ([Sentence(("a",), ("O",)), Sentence(("b",))], [], "some"),
        ([Sentence(("a\tb",), ("O",))], [], r"'a\\tb' of sentence 1"),
        ([Sentence(("-DOCSTART- x",), ("O",))], [], "-DOCSTART-"),
        ([Sentence(("\ud800",), ("O",))], [], "sentence 1"),
        ([Sentence(("a",), ("O ",))], [], "'O '"),
        ([Sentence(("a b",))], [], "spaces"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, sentences, columns, expected):
    with pytest.raises(InputError, match=expected):
        write_conll(tmp_path / "out.conll", sentences, *columns)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(MissingError, match="no"):
        write_conll(tmp_path / "no" / "out.conll", [Sentence(("a",))])
