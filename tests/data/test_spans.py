"""Questions that a passage answers: every form of file gives the same questions."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featbert.data.check import check_corpus
from featbert.data.corpus import Sentence, Split
from featbert.data.examples import split_text
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.data.spans import answer_of, answer_words, words_at
from tests.data.reading import json_lines

PASSAGE = "The Rhône (813 km) runs\u00a0from Gletsch, Wallis,\nto Arles. Its name is pre-Celtic."
ROWS = [
    ("q1", "Where does it begin?", PASSAGE, [(29, "Gletsch"), (29, "Gletsch, Wallis")]),
    ("q2", "How long is it?", PASSAGE, [(11, "813 km")]),
    ("q3", "Who found it?", PASSAGE, []),
    ("7", "Which letter?", "a  b", [(3, "b")]),
]


def nested(rows) -> dict:
    paragraphs = []
    for name, question, context, answers in rows:
        if not paragraphs or paragraphs[-1]["context"] != context:
            paragraphs.append({"context": context, "qas": []})
        found = [{"text": text, "answer_start": start} for start, text in answers]
        item = {"id": name, "question": question, "answers": found, "is_impossible": not found}
        paragraphs[-1]["qas"].append(item)
    return {"version": "v", "data": [{"title": "x", "paragraphs": [one]} for one in paragraphs]}


def lines(rows) -> str:
    made = [
        {
            "id": int(name) if name.isdigit() else name,
            "question": question,
            "context": context,
            "answers": {"text": [t for _, t in found], "answer_start": [s for s, _ in found]},
        }
        for name, question, context, found in rows
    ]
    return json_lines(made)


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, "utf-8")
    return folder / name


def questions(folder: Path, text: str, name: str = "train.jsonl") -> Split:
    return load_corpus(write(folder, name, text), targets="spans")["train"]


ARTICLES = nested(ROWS)["data"]
PARAGRAPHS = [article["paragraphs"][0] for article in ARTICLES]
FORMS = {
    "train-v2.0.json": json.dumps(nested(ROWS)),
    "train.json": json.dumps(nested(ROWS), indent=1),
    "train.jsonl": lines(ROWS),
    "en-train.json": lines(ROWS),
    "articles-train.json": json.dumps(ARTICLES),
    "articles-train.jsonl": json_lines(ARTICLES),
    "data-train.json": json.dumps({"data": PARAGRAPHS}),
    "paragraphs-train.json": json.dumps(PARAGRAPHS),
    "paragraphs-train.jsonl": json_lines(PARAGRAPHS),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_has_the_same_questions(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "c", name, FORMS[name])
    for place in (path, path.parent):
        split = load_corpus(place, targets="spans")["train"]
        assert [s.id for s in split] == [name for name, *_ in ROWS]
        assert [s.texts for s in split] == [(question, passage) for _, question, passage, _ in ROWS]
        assert [s.document for s in split] == [0, 0, 0, 1]
        assert split.tags == [("29:Gletsch", "29:Gletsch, Wallis"), ("11:813 km",), ("",), ("3:b",)]
        for s in split:
            cut = [text[a:b] for text in s.texts for a, b in split_text(text)]
            assert list(s.words) == cut
        assert (split.notes.misplaced_answers, split.notes.partial_words) == (0, 0)
        without = load_corpus(place, targets=None)["train"]
        assert without.text_fingerprint == split.text_fingerprint
        answerable = [
            load_corpus(place, ReadingOptions(answerable=True), targets=t) for t in ("spans", None)
        ]
        answered = [s for s in split if s.tags != ("",)]
        assert [s.texts for s in answerable[0]["train"]] == [s.texts for s in answered]
        assert len({c["train"].text_fingerprint for c in answerable}) == 1
        assert all(c.name.endswith("-answerable") for c in answerable)


def test_a_paragraph_is_a_file(tmp_path: Path) -> None:
    split = questions(tmp_path, json.dumps(PARAGRAPHS[1]), "train.json")
    assert [(s.texts, s.tags) for s in split] == [(("Which letter?", "a  b"), ("3:b",))]


def test_unusual_answers_are_counted_and_covered(tmp_path: Path) -> None:
    odd = [
        ("a", "?", PASSAGE, [(5, "hône")]),  # inside a word
        ("b", "?", PASSAGE, [(4, "Rhone"), (4, "RHÔNE")]),  # another text, and another case
        ("c", "?", PASSAGE, [(23, "\u00a0")]),  # no word
        ("d", "?", PASSAGE, [(99, "Celtic.")]),  # beyond the end, where it occurs once
        ("e", "", PASSAGE, []),  # no question
    ]
    corpus = load_corpus(write(tmp_path / "c", "train.jsonl", lines(odd)), targets="spans")
    places = [(s, answer_words(s.places, s.pair, s.tags[0])) for s in corpus["train"]]
    words = [s.words[place[0] : place[1] + 1] for s, place in places if place is not None]
    assert words == [("Rhône",), ("Rhône",), ("from",), ("Celtic", ".")]
    checked = check_corpus(corpus)
    rows = [("b", "?", PASSAGE, [(0, "Rhône")]), ("c", "?", PASSAGE, [(0, "Gletsch"), (9, "a")])]
    wrong = load_corpus(write(tmp_path / "w", "dev.jsonl", lines(rows)), targets="spans")
    assert wrong["dev"].tags == [("4:Rhône",), ("29:Gletsch",)]
    doubts = [str(found.doubts) for found in (checked, check_corpus(wrong))]
    assert ["answer_start" in found for found in doubts] == [False, True]
    report = checked.splits["train"]
    counts = report.moved_answers, report.misplaced_answers, report.partial_words
    assert (counts, report.empty_texts) == ((1, 1, 2), 1)
    assert (report.documents, report.answers) == (1, 5)


def test_blanks_at_the_ends_of_an_answer_do_not_matter(tmp_path: Path) -> None:
    passage = "Rome is old; the Tiber, Rome."
    answers = [(0, " Rome "), (13, "the Tiber "), (12, " the Tiber "), (7, " old")]
    rows = [(str(n), "?", passage, [answer]) for n, answer in enumerate(answers)]
    split = questions(tmp_path, lines(rows))
    assert split.tags == [("0:Rome",), ("13:the Tiber",), ("13:the Tiber",), ("7: old",)]
    assert (split.notes.moved_answers, split.notes.misplaced_answers) == (0, 0)
    (moved,) = questions(tmp_path, lines([("a", "?", "Old Rome is nice", [(9, " Rome ")])]))
    assert moved.tags == ("4:Rome",)
    assert answer_words(moved.places, moved.pair, moved.tags[0]) == (2, 2)


def test_hidden_answers(tmp_path: Path) -> None:
    hidden = nested(ROWS)
    for article in hidden["data"]:
        for question in article["paragraphs"][0]["qas"]:
            del question["answers"], question["is_impossible"]
    write(tmp_path / "c", "train.json", FORMS["train.json"])
    write(tmp_path / "c", "test.json", json.dumps(hidden))
    corpus = load_corpus(tmp_path / "c", targets="spans")
    assert corpus["train"].is_tagged
    assert all(s.tags is None for s in corpus["test"])
    hidden["data"][1]["paragraphs"][0]["qas"][0]["answers"] = []
    write(tmp_path / "c", "test.json", json.dumps(hidden))
    test = load_corpus(tmp_path / "c", targets="spans")["test"]
    assert (test.is_tagged, test.notes.missing) == (True, {"null": len(test) - 1})
    rows = [{"question": "?", "is_impossible": False, **OSLO, "answers": a} for a in (None, "Oslo")]
    assert [s.tags for s in questions(tmp_path, json_lines(rows))] == [None, ("13:Oslo",)]


def test_the_sample_has_names_of_its_own_in_each_split() -> None:
    corpus = load_corpus("sample:spans", targets="spans")
    assert (corpus.name, corpus.source, corpus.language) == ("sample-spans", "sample:spans", "en")
    sizes = {"train": 1000, "dev": 150, "test": 150}
    assert {name: len(split) for name, split in corpus.splits.items()} == sizes
    texts = {}
    for name, split in corpus.splits.items():
        assert len({s.document for s in split}) == len(split) / 5
        assert sum(tags == ("",) for tags in split.tags) == 0.4 * len(split)
        assert (split.notes.misplaced_answers, split.notes.partial_words) == (0, 0)
        texts[name] = {s.texts[1] for s in split}
    assert not texts["train"] & (texts["dev"] | texts["test"])


@given(st.text("ab .\n", min_size=1, max_size=30), st.data())
def test_an_answer_has_the_words_that_have_a_character_of_it(text: str, data) -> None:
    """Brute force over characters; and a span of words is where its text says."""

    places = split_text(text)
    words = tuple(text[a:b] for a, b in places)
    sentence = Sentence(("q", *words), pair=1, texts=("q", text), places=((0, 1), *places))
    start = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(1, len(text) - start))
    covered = {
        i for i, (a, b) in enumerate(places) for c in range(a, b) if start <= c < start + length
    }
    first, last = words_at(places, start, length)
    assert 0 <= first <= last < len(words)
    if covered:
        assert {*range(first, last + 1)} == covered
    answer = answer_of(sentence, 1 + first, 1 + last)
    if words != ("",):
        assert answer_words(places, 0, answer) == (first, last)
        begin, _, cut = answer.partition(":")
        assert text.startswith(cut, int(begin))


@pytest.mark.parametrize(
    ("passage", "answer"),
    [
        ("阿德里安住在萨格勒布，他是木匠。", "萨格勒布"),
        ("สมศรีอยู่ที่ขอนแก่นและขายผ้า", "ขอนแก่น"),
        ("東京タワーは港区にある。", "タワー"),
        ("မောင်မောင်သည်ပုသိမ်မြို့တွင်နေသည်", "ပုသိမ်"),
        ("វិបុលរស់នៅបាត់ដំបង", "បាត់ដំបង"),
    ],
)
def test_answers_inside_a_clause_without_spaces(tmp_path: Path, passage: str, answer: str) -> None:
    at = passage.index(answer)
    split = questions(tmp_path, lines([("a", "?", passage, [(at, answer)])]))
    (question,) = split
    first, last = answer_words(question.places, question.pair, question.tags[0])
    assert answer_of(question, first, last) == question.tags[0] == f"{at}:{answer}"
    assert split.notes.partial_words == 0


def test_all_questions_of_a_passage_are_in_one_part(tmp_path: Path) -> None:
    """Whatever their order in the file."""
    rows = [(f"{n}", "?", f"passage {n % 5}", []) for n in range(40)]
    path, share = write(tmp_path, "train.jsonl", lines(rows)), ReadingOptions(dev_share=0.4)
    corpus = load_corpus(path, share, targets="spans")
    texts = load_corpus(path, share, targets=None)  # as `featbert extract` reads them
    for name, split in corpus.splits.items():
        assert split.text_fingerprint == texts[name].text_fingerprint
    sides = [{s.texts[1] for s in corpus[name]} for name in ("train", "dev")]
    assert not sides[0] & sides[1]
    assert [len(corpus[name]) for name in ("train", "dev")] == [24, 16]


KM = {"context": PASSAGE, "id": "q2"}
OSLO = {"context": "Ada lives in Oslo."}
SPACED = PASSAGE.replace("(", "( ")
COLUMNS = [
    (KM | {"answers": "{'text': ['813 km'], 'answer_start': [11]}"}, "11:813 km"),  # of pandas
    (
        KM | {"answers": "{'text': array(['813 km'], dtype=object), 'answer_start': array([11])}"},
        "11:813 km",
    ),
    (KM | {"answer_start": "11", "text": "813 km"}, "11:813 km"),
    (KM | {"answer_start": "11.0", "answer": "813 km"}, "11:813 km"),
    (KM | {"answers.text": ["813 km"], "answers.answer_start": [11]}, "11:813 km"),
    (KM | {"start": 11, "end": 17, "answer": "813 km"}, "11:813 km"),
    (KM | {"answers": "['813 km']"}, "11:813 km"),
    (KM | {"answers": [{"text": "813 km", "answer_start": "11"}]}, "11:813 km"),
    # First characters tell equal texts apart.
    *(({"context": "a b a", "answer": "a", "answer_start": n}, f"{n}:a") for n in "04"),
    ({"context": "a b a", "answer": "", "answer_start": ""}, ""),
    # White space around an answer is no part of a word.
    *(
        ({"context": SPACED, "answer": answer}, f"{SPACED.index(answer)}:{answer}")
        for answer in (" 813 km", "813 km) ", "\u00a0from ")
    ),
    (OSLO | {"answers": ["Oslo"]}, "13:Oslo"),
    (OSLO | {"answers": "Oslo"}, "13:Oslo"),
    (OSLO | {"answers": "Oslo", "answer_start": 13}, "13:Oslo"),
    (OSLO | {"answers": [], "is_impossible": "False"}, ""),
    (OSLO | {"answers": ["Oslo"], "is_impossible": "False"}, "13:Oslo"),
    (OSLO | {"answers": None, "is_impossible": "True"}, ""),
    (OSLO | {"answers": [{"text": "", "answer_start": -1}], "is_impossible": "true"}, ""),
    (OSLO | {"answers": ["Oslo", "in Oslo"]}, "13:Oslo 10:in Oslo"),
]


@pytest.mark.parametrize(("row", "tags"), COLUMNS)
def test_answers_in_columns(tmp_path, row, tags):
    train = questions(tmp_path, json_lines([{"question": "How long?"} | row]))
    assert ([" ".join(answers) for answers in train.tags], train.notes.partial_words) == ([tags], 0)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.json", re.sub(r'"id": "\w+", ', "", json.dumps(nested(ROWS)))),
        *(
            ("train.jsonl", re.sub(r'"id": ("q\d"|7)', f'"id": {empty}', lines(ROWS)))
            for empty in ("null", '""')
        ),
    ],
    ids=["none", "null", "empty"],
)
def test_questions_without_ids_are_numbered(tmp_path, name, text):
    assert [s.id for s in questions(tmp_path, text, name)] == ["1", "2", "3", "4"]
