"""brat's standoff files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.data.check import check_corpus
from featbert.data.folder import brat_splits
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.errors import InputError

ROME = "Rome is old.\n"
T1 = "T1\tLOC 0 4\tRome\n"
TRAIN = {"train_txt": ROME, "train_ann": T1}


def write(folder, **files):
    """Files by name, with an underscore for the point."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / ".".join(name.rsplit("_", 1))).write_bytes(data)
    return folder


def tagged(split):
    return [" ".join(f"{w}/{t}" for w, t in zip(s.words, s.tags, strict=True)) for s in split]


LINES = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["Zoë", "😀", "Rom", "é"]), st.sampled_from(["", "A", "B", "+"])),
        max_size=5,
    ),
    min_size=1,
    max_size=5,
).filter(any)


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_lines_become_sentences_with_the_tags_of_their_entities(
    tmp_path_factory, lines, line_end, with_mark, with_texts
):
    """The text is written word by word with its offsets; "+" continues an entity."""
    text, annotations, expected = "\ufeff" * with_mark, [], []
    for line in lines:
        kind, tags = "", []
        for word, label in line:
            text += " "
            start = len(text)
            text += word
            if label == "+" and kind:
                annotations[-1][2] = len(text)
                tags.append(f"I-{kind}")
            elif label in ("A", "B"):
                kind = label
                annotations.append([kind, start, len(text)])
                tags.append(f"B-{kind}")
            else:
                kind = ""
                tags.append("O")
        text += line_end
        expected += [tags] if tags else []
    rows = [
        f"T{n}\t{kind} {a} {b}" + f"\t{text[a:b]}" * with_texts
        for n, (kind, a, b) in enumerate(annotations, 1)
    ]
    folder = write(tmp_path_factory.mktemp("c"), x_txt=text, x_ann="\n".join(reversed(rows)))
    split = load_corpus(folder)["train"]
    assert [[*s.tags] for s in split] == expected
    assert [s.words for s in split] == [tuple(word for word, _ in line) for line in lines if line]
    notes = split.notes
    assert notes.moved_answers == notes.misplaced_answers == notes.partial_words == 0
    assert notes.cut_entities == notes.overlapping_entities == notes.discontinuous_entities == 0


TEXT = "Ada Lee ran the Bank of\nNew York, in North and South America.\n\nShe met Ben.\n"
ENTITIES = [
    "T1\tPER 0 7\tAda Lee",
    "T2\tORG 16 23;24 32\tBank of New York",
    "T3\tLOC 24 32\tNew York",
    "R1\tboss Arg1:T1 Arg2:T2",
    "T4\tLOC 37 42;53 60\tNorth America",
    "T5\tLOC 47 60\tSouth America",
    "#1\tAnnotatorNotes T1\tsure?",
    "*\tEquiv T3 T5",
    "T6\tPER 71 74\tBen",
]


def test_a_folder_of_splits(tmp_path, caplog):
    annotated = {"a_txt": TEXT, "a_ann": "\n".join(ENTITIES)}
    write(tmp_path / "train", **annotated, b_txt="Not annotated.", x_md="")
    write(tmp_path / "Valid", d_txt=ROME, d_ann=T1, e_txt="\nNo name.", e_ann="", README_txt="x")
    write(tmp_path / "test", t_txt="Oslo is cold.\n")
    write(tmp_path / "train" / "more", a_txt=ROME, a_ann=T1)
    write(tmp_path, annotation_conf="[entities]")
    corpus = load_corpus(tmp_path)
    assert tagged(corpus["train"]) == [
        "Ada/B-PER Lee/I-PER ran/O the/O Bank/B-ORG of/I-ORG",
        "New/B-LOC York/I-LOC ,/O in/O North/B-LOC and/I-LOC South/I-LOC America/I-LOC ./O",
        "She/O met/O Ben/B-PER ./O",
        "Not/ annotated/ ./",
    ]
    assert [s.document for s in corpus["train"]] == [0, 0, 0, 1]
    assert tagged(corpus["dev"]) == ["Rome/B-LOC is/O old/O ./O", "No/O name/O ./O"]
    assert [s.tags for s in corpus["test"]] == [None]
    notes = corpus["train"].notes
    assert notes.cut_entities == notes.discontinuous_entities == notes.overlapping_entities == 1
    assert (notes.other_annotations, notes.missing) == (3, {"no annotation": 3})
    named = ("'e.ann'", "'North and South America', line 5 of", "'Bank of", "South America (LOC)")
    assert [sum(part in line for line in caplog.messages) for part in named] == [1] * 4
    assert len(caplog.messages) == 5
    assert caplog.messages[0].endswith("train/more/")
    assert check_corpus(corpus).not_read == ["annotation.conf", "train/more/"]
    assert load_corpus(corpus.source)["train"].path == tmp_path / "train"


def test_nested_entities_of_brat(tmp_path):
    write(tmp_path, a_txt=TEXT, a_ann="\n".join(ENTITIES))
    split = load_corpus(tmp_path, ReadingOptions(nested="innermost"))["train"]
    assert tagged(split)[1].endswith("North/O and/O South/B-LOC America/I-LOC ./O")


@pytest.mark.parametrize(
    ("files", "splits"),
    [
        ({"a_txt": ROME, "a_ann": T1, "b_txt": ROME}, {"train": "ab"}),
        (TRAIN | {"test-2_txt": ROME}, {"train": ["train"], "test": ["test-2"]}),
        (TRAIN | {"b_txt": ROME}, {"train": ["b", "train"]}),
        ({"train_txt": "Rome B-LOC\n", "b_txt": ROME, "b_ann": T1}, {}),
        ({"train_conll": "Rome B-LOC\n", "b_txt": ROME, "b_ann": T1}, {}),
        ({"b_txt": ROME}, {}),
    ],
)
def test_which_split_texts_are_of(tmp_path, files, splits):
    folder = write(tmp_path, **files)
    expected = {n: tuple(folder / f"{text}.txt" for text in texts) for n, texts in splits.items()}
    assert brat_splits(folder, "train") == expected
    if splits:
        assert check_corpus(load_corpus(folder)).not_read == []


OLD_ROME = "Rome/B-LOC is/O old/O ./O"


def test_one_text_or_a_folder_by_its_name(tmp_path):
    write(tmp_path / "dev", a_txt=ROME, a_ann=T1, train_txt=ROME, train_ann=T1)
    splits = {"dev": "dev", "dev/a.txt": "test", "dev/a.ann": "test", "dev/train.ann": "train"}
    for name, split in splits.items():
        corpus = load_corpus(tmp_path / name, ReadingOptions(alone="test"))
        assert {*tagged(corpus[split])} == {OLD_ROME}


def test_a_limit_and_words_alone(tmp_path):
    write(tmp_path, a_txt=ROME * 2, a_ann=T1, b_txt=ROME, b_ann="no annotation", c_ann="")
    (tmp_path / "c.ann").unlink()
    assert tagged(load_corpus(tmp_path, ReadingOptions(limit=1))["train"]) == [OLD_ROME]
    more = ["T2\tLOC 13 17;21 24\tRome old", "T3\tLOC 90 95\tOslo", "T4\tLOC 0 99\tRom"]
    write(tmp_path, a_ann=T1 + "\n".join(more))
    notes = load_corpus(tmp_path, ReadingOptions(limit=1))["train"].notes
    assert (notes.discontinuous_entities, notes.misplaced_answers) == (0, 1)  # of T4
    (words,) = {s.words for s in load_corpus(tmp_path, targets=None)["train"]}
    assert words == ("Rome", "is", "old", ".")
    with pytest.raises(InputError, match=r"line 1 of .*b\.ann"):
        load_corpus(tmp_path)


@pytest.mark.parametrize(
    ("entity", "tags", "moved", "misplaced"),
    [
        ("LOC 1 5\tRome", "B-LOC O O O", 1, 0),  # once in the text
        ("LOC 90 95\tRome", "B-LOC O O O", 1, 0),
        ("LOC 90 95\tOslo", "O O O O", 0, 1),
        ("LOC 0 4\tOslo", "O O O O", 0, 1),
        ("LOC 0 4;8 11\tRome new", "O O O O", 0, 1),
        ("LOC 0 4;90 95\tRome old", "O O O O", 0, 1),
        ("LOC 8 11;0 4\tRome old", "O O O O", 0, 1),
        ("LOC 0 4;8 11\tRome  OLD", "B-LOC I-LOC I-LOC O", 0, 0),
    ],
)
def test_texts_of_entities_are_compared(tmp_path, entity, tags, moved, misplaced, caplog):
    write(tmp_path, a_txt=ROME, a_ann=f"T1\t{entity}\n", b_txt=ROME * 30)
    rows = [f"T{n}\tLOC {13 * n} {13 * n + 4}\tRome\n" for n in range(30)]
    write(tmp_path, b_ann="".join(rows))
    split = load_corpus(tmp_path)["train"]
    assert " ".join(split.sentences[0].tags) == tags
    assert (split.notes.moved_answers, split.notes.misplaced_answers) == (moved, misplaced)
    assert [line.count("line 1 of") for line in caplog.messages] == [1] * len(caplog.messages)
    assert len(caplog.messages) == 1


def test_offsets_of_other_units_are_shown_by_the_texts(tmp_path, caplog):
    text = "😀 Rome met Oslo.\n" * 9
    entities = []
    for n in range(9):
        for word in ("Rome", "Oslo"):
            start = len(text[: 17 * n + text.index(word)].encode("utf-16-le")) // 2
            entities.append(f"T1\tLOC {start} {start + 4}\t{word}\n")
    folder = write(tmp_path, a_txt=text, a_ann="".join(entities))
    assert {*tagged(load_corpus(folder)["train"])} == {"😀/O Rome/B-LOC met/O Oslo/B-LOC ./O"}
    assert "UTF-16" in caplog.text


def test_two_folders_of_a_split_or_another_task_are_refused(tmp_path):
    for name in ("dev", "valid"):
        write(tmp_path / name, a_txt=ROME, a_ann=T1)
    with pytest.raises(InputError, match="dev"):
        load_corpus(tmp_path)
    with pytest.raises(InputError, match=r"valid.* classes.*task"):
        load_corpus(tmp_path / "valid", targets="classes")
