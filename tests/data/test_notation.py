"""Notations of tags: read as the usual one where a whole corpus fits, else left as they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.data.check import check_corpus
from featbert.data.load import load_corpus
from featbert.data.notation import ONE_TYPE, notation_of
from featbert.data.options import ReadingOptions
from featbert.data.tags import TagError
from featbert.errors import InputError

BIO = ["O", "B-PER", "I-PER", "B-LOC-x", "I-LOC-x"]
USUAL = st.lists(st.lists(st.sampled_from(BIO), min_size=1, max_size=6), min_size=1, max_size=4)
WRITERS = {
    "joiner _": lambda tag: tag.replace("-", "_", 1),
    "joiner :": lambda tag: tag.replace("-", ":", 1),
    "joiner –": lambda tag: tag.replace("-", "–", 1),
    "joiner /": lambda tag: tag.replace("-", "/", 1),
    "last": lambda tag: tag if tag == "O" else f"{tag[2:]}-{tag[0]}",
    "last _": lambda tag: tag if tag == "O" else f"{tag[2:]}_{tag[0]}",
    "lower": lambda tag: tag[0].lower() + tag[1:],
    "zero": lambda tag: "0" if tag == "O" else tag,
}


@pytest.mark.parametrize("how", WRITERS)
@given(rows=USUAL)
def test_what_is_written_in_a_notation_reads_as_the_usual_tags(how, rows):
    rows = [*rows, BIO]  # a corpus with every tag
    written = [[WRITERS[how](tag) for tag in row] for row in rows]
    notation = notation_of({tag for row in written for tag in row})
    assert [list(notation.read(row)) for row in written] == rows
    assert str(notation)


@pytest.mark.parametrize(
    ("tags", "usual"),
    [
        ("O B I", f"O B-{ONE_TYPE} I-{ONE_TYPE}"),
        ("o b i", f"O B-{ONE_TYPE} I-{ONE_TYPE}"),
        ("O B- I-", f"O B-{ONE_TYPE} I-{ONE_TYPE}"),
        ("O I I", f"O I-{ONE_TYPE} I-{ONE_TYPE}"),
        ("B I L U O", " ".join([*(f"{p}-{ONE_TYPE}" for p in "BILU"), "O"])),
        ("B-A M-A E-A S-B O", "B-A I-A E-A S-B O"),
        ("b_a m_a e_a w_b o", "B-a I-a E-a S-b O"),
        ("B-A B_A_ b:a O", "B-A B-A_ B-a O"),
        ("PER-B O LOC-B", "B-PER O B-LOC"),
        ("other per other", "O per O"),
        ("(PER* *) * (LOC*) (LOC)", "B-PER I-PER O B-LOC B-LOC"),
        ("(PER * ) *", "B-PER I-PER I-PER O"),
        ("(PER PER) - (LOC)", "B-PER I-PER O B-LOC"),
        ("(ORG - ORG) -", "B-ORG I-ORG I-ORG O"),
        ("(PER) O (LOC * LOC)", "B-PER O B-LOC I-LOC I-LOC"),
        ("PER_B PER_I - LOC_B", "B-PER I-PER O B-LOC"),
        ("B-PER _ _ I-LOC", "B-PER O O I-LOC"),
        ("- PERSON PERSON", "O PERSON PERSON"),
    ],
)
def test_notations(tags, usual):
    notation = notation_of({*tags.split()})
    assert notation.read(tags.split()) == tuple(usual.split())
    assert notation.read(["", *tags.split()]) == ("", *usual.split())  # a word without a tag


@pytest.mark.parametrize(
    "tags",
    [
        "O B-PER I-PER B-a_b B-x:I",  # joiners inside types
        "O B-S I-S",  # a type that is a letter
        "O PER art-film",
        "O vitamin-B vitamin-E",  # names with a letter at the end
        "O e-mail",
        "O o PER",  # a type that is called o
        "O B_cell protein",
        "O B L M",
        "0 1 2",
        "NNP VBZ (",
        "(S1(S* *)",
        "O",
        "o",
    ],
)
def test_what_no_notation_says_for_sure_stays(tags):
    notation = notation_of({*tags.split()})
    assert notation.read(tags.split()) == tuple(tags.split())
    assert not str(notation)


@pytest.mark.parametrize(
    ("tags", "index"), [("(A* (B*)", 1), ("(A*) *)", 1), ("(A* * *", 2), ("(A B)", 1)]
)
def test_brackets_that_nest_or_stay_open_are_refused_with_their_place(tags, index, tmp_path):
    with pytest.raises(TagError) as error:
        notation_of({*tags.split()}).read(tags.split())
    assert error.value.index == index
    lines = [f"w{i} {tag}\n" for i, tag in enumerate(tags.split())]
    (tmp_path / "train.conll").write_text("".join(lines), "utf-8")
    with pytest.raises(InputError, match=f"line {index + 1} of .*train.conll"):
        load_corpus(tmp_path)
    # An unreadable tag names no scheme that nobody asked for.
    (tmp_path / "train.conll").write_text("a PER\nb B\nc O\nd O\ne O\n", "utf-8")
    with pytest.raises(InputError, match="line 2 of") as unread:
        load_corpus(tmp_path)
    assert "IO" not in str(unread.value).replace(str(tmp_path), "").split()
    with pytest.raises(InputError, match=r"IO .*line 2 of"):
        load_corpus(tmp_path, ReadingOptions(file_scheme="io"))


def test_all_splits_together_say_which_notation_it_is(tmp_path, caplog):
    # dev by itself would fit bare types, train shows that these are prefixes.
    (tmp_path / "train.conll").write_text("Jane PER_B\nRoe PER_I\nsings O\n", "utf-8")
    (tmp_path / "dev.jsonl").write_text('{"tokens": ["x", "y"], "tags": ["PER_I", "O"]}', "utf-8")
    corpus = load_corpus(tmp_path)
    assert [split.tags for split in corpus.splits.values()] == [
        [("B-PER", "I-PER", "O")],
        [("B-PER", "O")],
    ]
    assert [split.notes.repaired_tags for split in corpus.splits.values()] == [0, 1]
    assert len([line for line in caplog.messages if "PER_B" in line]) == 1
    report = check_corpus(corpus)
    assert all("PER_B" in r.dialects[0] for r in report.splits.values())
