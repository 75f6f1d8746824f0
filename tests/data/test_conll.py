"""The column reader, layout by layout."""

from __future__ import annotations

import time

import pytest

from featbert.data.conll import read_conll
from featbert.errors import InputError


@pytest.fixture
def read(tmp_path):
    def reader(text, **options):
        path = tmp_path / "dev.conll"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_conll(path, **options)

    return reader


def rows(raw):
    return [(list(s.words), None if s.tags is None else list(s.tags)) for s in raw.sentences]


def test_spaces_first_and_last_column(read):
    raw = read("EU NNP  I-NP I-ORG\n rejects VBZ I-VP O \n\n\nPeter NNP I-NP I-PER")
    assert rows(raw) == [(["EU", "rejects"], ["I-ORG", "O"]), (["Peter"], ["I-PER"])]
    assert [s.line for s in raw.sentences] == [1, 5]
    assert {s.document for s in raw.sentences} == {None}
    assert (raw.encoding, raw.comment_lines) == ("utf-8", 0)


def test_given_columns_count_from_one(read):
    raw = read("1 EU I-ORG _\n2 is O _\n", token_column=2, tag_column=3)
    assert rows(raw) == [(["EU", "is"], ["I-ORG", "O"])]


def test_tabs_let_words_hold_spaces(read):
    raw = read("New York\tB-LOC\n is \tO \n\t\n100 000\tO\n")
    assert rows(raw) == [(["New York", " is "], ["B-LOC", "O"]), (["100 000"], ["O"])]


@pytest.mark.parametrize(
    "character", ["\u00a0", "\u0085", "\u2028", "\u3000", "\x0b", "\x0c", "\x1c"]
)
def test_other_white_space_belongs_to_the_word(read, character):
    assert rows(read(f"a{character}b O\n{character} O\n")) == [
        ([f"a{character}b", character], ["O", "O"])
    ]


def test_blank_lines_with_white_space_crlf_and_bom(read):
    raw = read("\ufeffEU O\r\n \t \r\nis O\r\n\t\r\n")
    assert rows(raw) == [(["EU"], ["O"]), (["is"], ["O"])]


def test_blank_lines_with_tabs_do_not_make_a_tab_file(read):
    assert rows(read("EU O\n\t\nis O\n")) == [(["EU"], ["O"]), (["is"], ["O"])]


def test_encoding(read):
    raw = read("Köln O\n".encode("latin-1"), encoding="Latin-1")
    assert rows(raw) == [(["Köln"], ["O"])]
    assert raw.encoding == "iso8859-1"


class TestComments:
    def test_conllu_comments_are_counted_and_passed_over(self, read):
        text = "# sent_id = 1\n# text = EU is\n#\nEU\tB-ORG\nis\tO\n\n# a\tb\tc\nEU\tO\n"
        raw = read(text)
        assert rows(raw) == [(["EU", "is"], ["B-ORG", "O"]), (["EU"], ["O"])]
        assert raw.comment_lines == 4
        assert [s.line for s in raw.sentences] == [4, 8]

    def test_comments_with_as_many_cells_as_words(self, read):
        raw = read("# id = 5\nEU NNP I-NP O\n\n# newpar = x\n5 CD I-NP O\n")
        assert rows(raw) == [(["EU"], ["O"]), (["5"], ["O"])]
        assert raw.comment_lines == 2
        assert rows(read("# newpar\nEU O\n")) == [(["EU"], ["O"])]

    @pytest.mark.parametrize("separator", [" ", "\t"])
    def test_a_hash_with_its_tag_is_a_word(self, read, separator):
        text = "#|O\n1|O\n\n#fail|O\n#|O\n\n#|B-X\n".replace("|", separator)
        raw = read(text)
        assert rows(raw) == [
            (["#", "1"], ["O", "O"]),
            (["#fail", "#"], ["O", "O"]),
            (["#"], ["B-X"]),
        ]
        assert raw.comment_lines == 0

    def test_a_file_of_hash_words_alone(self, read):
        assert rows(read("# O\n\n# B-X\n")) == [(["#"], ["O"]), (["#"], ["B-X"])]

    def test_a_word_with_spaces_in_a_tab_file_is_no_comment(self, read):
        assert rows(read("# id = 5\tO\na\tO\n")) == [(["# id = 5", "a"], ["O", "O"])]
        assert rows(read("# 5\tnewdoc\tO\na\tb\tO\n")) == [(["# 5", "a"], ["O", "O"])]
        assert rows(read("# 5\tx\t=\tO\na\tb\tc\tO\n")) == [(["# 5", "a"], ["O", "O"])]

    def test_inside_a_sentence_there_are_no_comments(self, read):
        with pytest.raises(InputError, match=r"line 2 of .* has 4 space-separated columns"):
            read("EU O\n# text = x\n")

    def test_a_hashtag_without_tag_is_an_error(self, read):
        with pytest.raises(InputError, match="line 3 of"):
            read("EU O\n\n#fail\nis O\n")

    def test_a_lone_hash_is_a_word_where_words_stand_alone(self, read):
        raw = read("# text = # 1\n#\n1\n", tagged=False)
        assert rows(raw) == [(["#", "1"], None)]
        assert raw.comment_lines == 1


class TestDocuments:
    @pytest.mark.parametrize(
        "mark", ["-DOCSTART-", "-DOCSTART- O", "-DOCSTART- -X- -X- O", "-DOCSTART-\tO"]
    )
    @pytest.mark.parametrize("separator", [" ", "\t"])
    def test_marks(self, read, mark, separator):
        text = f"{mark}\n\nEU O\n\nis O\n\n{mark}\n\nit O\n".replace(" O\n", f"{separator}O\n")
        raw = read(text)
        assert [(s.words, s.document) for s in raw.sentences] == [
            (("EU",), 0),
            (("is",), 0),
            (("it",), 1),
        ]

    def test_sentences_before_the_first_mark_are_a_document(self, read):
        raw = read("EU O\n\n-DOCSTART- O\nis O\n-DOCSTART- O\n-DOCSTART- O\n\nit O\n-DOCSTART-\n")
        assert [(s.words, s.document) for s in raw.sentences] == [
            (("EU",), 0),
            (("is",), 1),
            (("it",), 2),
        ]

    def test_newdoc_comments(self, read):
        raw = read(
            "# newdoc id = a\n# text\nEU\tO\n\n# newdoc\nis\tO\n\nit\tO\n\n# newdocx\nif\tO\n"
        )
        assert [s.document for s in raw.sentences] == [0, 1, 1, 1]
        assert raw.comment_lines == 4

    def test_a_mark_in_another_token_column(self, read):
        raw = read("1 -DOCSTART- O\n\n1 EU O\n", token_column=2)
        assert [(s.words, s.document) for s in raw.sentences] == [(("EU",), 0)]

    def test_words_that_only_begin_like_the_mark(self, read):
        assert rows(read("-DOCSTART-x O\n")) == [(["-DOCSTART-x"], ["O"])]


class TestUntagged:
    def test_one_column(self, read):
        with pytest.raises(
            InputError, match=r"tag column .* line 1 of .* 1 space-separated column: 'EU'"
        ):
            read("EU\nis\n")
        assert rows(read("EU\nis\n", tagged=False)) == [(["EU", "is"], None)]

    def test_tags_can_be_left_unread(self, read):
        assert rows(read("EU B-ORG\nis O\n", tagged=False)) == [(["EU", "is"], None)]
        with pytest.raises(InputError, match="tag column 2 given"):
            read("EU B-ORG\n", tagged=False, tag_column=2)


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        (
            "EU X O\nis O\n",
            {},
            r"3 columns as in line 1 expected, line 2 of \S*dev.conll has 2 space-",
        ),
        (
            "EU O\nis\n",
            {},
            r"2 columns as in line 1 expected, line 2 .* has 1 space-separated column: 'is'",
        ),
        ("EU\tO\nis O\n", {}, "line 2 of .* has 1 tab-separated column: 'is O'"),
        ("EU O\nis\tO\n", {}, "other lines hold tabs"),
        ("\tO\nis\tO\n", {}, "word expected in column 1, in line 1 of .* it is empty"),
        ("EU\tO\n  \tO\n", {}, "line 2 of .* it is blank"),
        ("EU\tO\nis\t\n", {}, "tag expected in column 2, line 2 of .* has none"),
        (
            "EU NNP\n",
            {"tag_column": 3},
            r"tag column 3 expected, line 1 of .* has 2 .*columns: 'EU NNP'",
        ),
        ("EU NNP\n", {"token_column": 3}, "token column 3 expected"),
        ("EU NNP\n", {"token_column": 2}, "token and tag column are both 2"),
        ("EU NNP\n", {"tag_column": 0}, "tag column from 1 upwards expected, found 0"),
        ("\n \n", {}, "sentences expected"),
        ("-DOCSTART- O\n\n", {}, "sentences expected"),
        ("", {}, "is empty"),
    ],
)
def test_errors(read, text, options, expected):
    with pytest.raises(InputError, match=expected) as error:
        read(text, **options)
    assert "dev.conll" in str(error.value) or "column" in str(error.value)
    assert "\n" not in str(error.value)


def test_reading_is_linear(read):
    def seconds(n):
        text = "-DOCSTART- O\n\nEU O\n\n" * n + "EU O\n" * n
        start = time.process_time()
        assert len(read(text).sentences) == n + 1
        return time.process_time() - start

    seconds(100)
    small, large = seconds(4_000), seconds(40_000)
    assert large < 40 * max(small, 0.005)  # 10 times the lines; a quadratic reader takes 100
