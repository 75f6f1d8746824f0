"""Offsets of spans and answers, in every unit that tools count in."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.data.check import check_corpus
from featbert.data.load import load_corpus
from featbert.data.offsets import UNITS, Part, Unit
from featbert.errors import InputError

TEXT = "😀😀 Zoë left Lyon.\r\nThen Zoë 🎉 saw Oslo,\nand Ben Ford."
ENTITIES = [("Lyon", "LOC"), ("Oslo", "LOC"), ("Ben Ford", "PER")]
# How many of each unit a character counts.
WIDTHS = {
    "characters": lambda c: 1,
    "UTF-16 units": lambda c: 1 + (c > "\uffff"),
    "bytes": lambda c: len(c.encode()),
}


def offset_of(text: str, index: int, unit: Unit) -> int:
    """Brute force: what a tool counts before a character."""

    def width(i: int) -> int:
        if unit.line_end == 1 and text[i : i + 2] == "\r\n":
            return 0
        added = unit.line_end == 2 and text[i] == "\n" and text[i - 1 : i] != "\r"
        return WIDTHS[unit.name](text[i]) + added

    return sum(map(width, range(index))) + unit.first


def marked(text: str, start: int, end: int, unit: Unit) -> tuple[int, int]:
    """The offsets of a part as a tool writes them."""
    return offset_of(text, start, unit), offset_of(text, end, unit) - unit.inclusive


@given(
    st.text("a😀é\n bß\u0301", min_size=1, max_size=12).map(lambda s: s.replace("b", "\r\n")),
    st.sampled_from(UNITS),
    st.data(),
)
def test_offsets_in_every_unit_are_places(text, unit, data):
    cuts = [i for i in range(len(text) + 1) if text[i - 1 : i + 1] != "\r\n" or i == 0]
    start = data.draw(st.sampled_from(cuts[:-1]))
    end = data.draw(st.sampled_from([i for i in cuts if i > start]))
    offsets = marked(text, start, end, unit)
    assert unit.place(Part(text, *offsets, None, "")) == (start, end)
    if unit.name != "characters" and "😀" in text:
        inside = offset_of(text, text.index("😀"), unit) + 1
        assert unit.place(Part(text, inside, inside + 1, None, "")) is None


def exported(folder, unit, rows, own="text"):
    """Texts with spans as Label Studio writes them."""
    made = []
    for text, entities in rows:
        spans = []
        for word, kind in entities:
            start = text.index(word)
            start, end = marked(text, start, start + len(word), unit)
            spans.append(
                {"start": start, "end": end, "labels": [kind]} | ({own: word} if own else {})
            )
        made.append({"text": text, "label": spans})
    folder.mkdir(exist_ok=True)
    (folder / "train.json").write_text(json.dumps(made), "utf-8")
    return folder


def entities(corpus):
    """The words of each entity, with its type."""
    found = []
    for s in corpus["train"]:
        for word, tag in zip(s.words, s.tags, strict=True):
            if tag[:2] == "B-":
                found.append([word, tag[2:]])
            elif tag != "O":
                found[-1][0] += f" {word}"
    return [tuple(one) for one in found]


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_the_texts_of_spans_show_their_unit(tmp_path, unit, caplog):
    plain = ("Ben saw Rome.", [("Ben", "PER"), ("Rome", "LOC")])
    folder = exported(tmp_path / "c", unit, [plain, (TEXT, ENTITIES)])
    assert entities(load_corpus(folder)) == [*plain[1], *ENTITIES]
    assert (str(unit) in caplog.text) == (unit != UNITS[0])


def questions(folder, context, answers):
    """A question for each list of answers, which are texts with their starts."""
    rows = [
        {"id": str(n), "question": "?", "context": context}
        | {"answers": [{"text": text, "answer_start": start} for text, start in given]}
        for n, given in enumerate(answers)
    ]
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return load_corpus(folder, targets="spans")["train"]


@pytest.mark.parametrize("unit", [u for u in UNITS if not u.inclusive], ids=str)
def test_the_texts_of_answers_show_their_unit(tmp_path, unit):
    starts = {word: marked(TEXT, TEXT.index(word), 9, unit)[0] for word, _ in ENTITIES}
    split = questions(tmp_path, TEXT, ([(word, start)] for word, start in starts.items()))
    assert split.tags == [(f"{TEXT.index(word)}:{word}",) for word, _ in ENTITIES]
    assert (split.notes.moved_answers, split.notes.misplaced_answers) == (0, 0)


@pytest.mark.parametrize("own", ["text", "surface", "mention"])
def test_a_span_at_another_place_is_where_its_text_occurs_once(tmp_path, own, caplog):
    text = "Ana saw Ben, Cleo, Ben and Dan. " + "".join(f"P{i} " for i in range(40))
    spans = [
        {"start": 0, "end": 3, "label": "PER", own: "Ana"},
        {"start": 9, "end": 12, "label": "PER", own: "Ben"},  # twice in the text
        {"start": 12, "end": 16, "label": "PER", own: "Cleo"},
        {"start": 27, "end": 30, "label": "PER", own: "Eva"},  # not in the text
    ]
    for i in range(40):
        start = text.index(f"P{i} ")
        spans.append({"start": start, "end": start + len(f"P{i}"), "label": "X", own: f"P{i}"})
    (tmp_path / "train.jsonl").write_text(json.dumps({"text": text, "spans": spans}), "utf-8")
    corpus = load_corpus(tmp_path)
    assert [word for word, kind in entities(corpus) if kind == "PER"] == ["Ana", "Cleo"]
    assert len(entities(corpus)) == 42
    report = check_corpus(corpus).splits["train"]
    assert (report.moved_answers, report.misplaced_answers, report.partial_words) == (1, 2, 0)
    assert all(name in caplog.text for name in ("Cleo", "Ben"))


@pytest.mark.parametrize("unit", [Unit("UTF-16 units"), Unit(inclusive=True)], ids=str)
def test_spans_without_texts_are_characters_and_doubted(tmp_path, unit, caplog):
    rows = [(TEXT[:-1] + " there and elsewhere.", ENTITIES)]
    corpus = load_corpus(exported(tmp_path / "c", unit, rows, own=None))
    notes = corpus["train"].notes
    assert (notes.partial_words, notes.doubtful_offsets) == (len(ENTITIES), len(ENTITIES))
    assert str(unit) in caplog.text
    doubts = check_corpus(corpus).doubts
    caplog.clear()
    other = load_corpus(exported(tmp_path / "d", UNITS[0], rows, own=None))
    assert not caplog.text
    assert len(doubts) == len(check_corpus(other).doubts) + 1
    # One span of a few inside a word says nothing of the unit.
    rows = [("\u200f_Ana met '' Bob", [("Ana", "PER"), ("' Bob", "PER")])]
    load_corpus(exported(tmp_path / "e", UNITS[0], rows, own=None))
    assert not any(str(other) in caplog.text for other in UNITS[1:])


def test_a_character_of_two_units_is_likelier_than_offsets_from_1(tmp_path, caplog):
    unit, rows = Unit("UTF-16 units"), [("😀😀 Ana met Bob", [("Ana", "PER"), ("Bob", "PER")])]
    assert entities(load_corpus(exported(tmp_path / "c", unit, rows))) == rows[0][1]
    assert str(unit) in caplog.text
    caplog.clear()
    # Without texts a span lies beyond the text.
    with pytest.raises(InputError, match=r"13 to 16 .* 14 .*row 1 of .*train\.json"):
        load_corpus(exported(tmp_path / "d", unit, rows, own=None))
    assert str(unit) in caplog.text


def test_a_question_whose_answers_are_nowhere_has_none(tmp_path):
    answers = [[("Oslo", 9)], [("Ana", 0), ("Eva", 2)], [("Eva", 2)], []]
    split = questions(tmp_path, "Ana left Oslo.", answers)
    assert [s.tags for s in split] == [("9:Oslo",), ("0:Ana",), None, ("",)]
    assert split.notes.misplaced_answers == 2
