"""Files of multiple choice: SWAG's CSV, lists and columns of choices, and what is refused."""

import json
from itertools import groupby

import pytest

from featbert.data.check import check_corpus
from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.errors import InputError
from tests.data import reading
from tests.data.reading import json_lines as lines

SWAG = (
    ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label\n"
    '0,a1,3416,"A man sits. He","A man sits.",He,gold,"stands.","sings, too.",eats.,is.,1\n'
    "1,a1,3417,Two dogs run. They,Two dogs run.,They,gen,bark.,fly.,read.,drive.,0\n"
)
HELLASWAG = [
    {"context": "Gym: A man sits.", "endings": ["He stands.", "He is.", "No."], "label": 2},
    {"context": "Two dogs run.", "endings": ["They bark.", "They read."], "label": "0"},
]
FELL = {"premise": "He fell.", "choice1": "He ran.", "choice2": "No.", "question": "cause"}
RAIN = {"premise": "It rained.", "choice1": "I got wet.", "choice2": "I sang.", "choice3": "No."}
COPA = [FELL | {"label": 1}, RAIN | {"question": "effect", "label": 0}]


def read(folder, content, ending="jsonl", targets="choices", split="train", **options) -> Corpus:
    return reading.read(folder, "", ending, targets, parts={split: content}, **options)


def examples(corpus, split="train"):
    """(context, choices, right choice) of each example."""
    found = []
    for _, group in groupby(corpus[split], key=lambda s: s.document):
        choices = [*group]
        for s in choices:
            texts = [s.texts[0]] * s.pair + [s.texts[1]] * (len(s) - s.pair)
            cut = [text[a:b] for text, (a, b) in zip(texts, s.places, strict=True)]
            assert cut == [*s.words]
        right = [s.tags for s in choices].index(("1",))
        found.append((choices[0].texts[0], [s.texts[1] for s in choices], right))
    return found


RACE = {"id": "a1", "article": "Rome is old.", "questions": ["What?", "How?"]}
RACE |= {"options": [["Rome", "Bonn"], ["new", "old"]], "answers": ["A", "B"]}


EMPTY = [("a", ["b", "c"], 1), ("a", ["", "b", "c"], 2)]


@pytest.mark.parametrize(
    ("content", "ending", "expected"),
    [
        (
            SWAG,
            "csv",
            [
                ("A man sits.", ["He stands.", "He sings, too.", "He eats.", "He is."], 1),
                ("Two dogs run.", ["They bark.", "They fly.", "They read.", "They drive."], 0),
            ],
        ),
        (
            lines(HELLASWAG),
            "jsonl",
            [(row["context"], row["endings"], int(row["label"])) for row in HELLASWAG],
        ),
        (
            lines(COPA),
            "jsonl",
            [
                ("He fell. What was the cause of this?", ["He ran.", "No."], 1),
                ("It rained. What happened as a result?", ["I got wet.", "I sang.", "No."], 0),
            ],
        ),
        ("context\tending0\tending1\tending2\tlabel\na\tb\tc\t\t1\na\t\tb\tc\t2\n", "tsv", EMPTY),
        (
            lines([RACE, RACE | {"id": "a2", "article": "So is Bonn."}]),
            "jsonl",
            [
                (f"{article} {question}", choices, right)
                for article in ("Rome is old.", "So is Bonn.")
                for question, choices, right in (
                    ("What?", ["Rome", "Bonn"], 0),
                    ("How?", ["new", "old"], 1),
                )
            ],
        ),
    ],
    ids=["SWAG", "HellaSwag", "COPA", "empty columns", "RACE"],
)
def test_published_forms(tmp_path, content, ending, expected):
    corpus = read(tmp_path, content, ending)
    assert examples(corpus) == expected
    notes = corpus["train"].notes
    assert (notes.empty_texts, notes.repeated_ids) == (expected == EMPTY, 0)


def test_a_limit_counts_questions_of_an_article(tmp_path):
    rows = [RACE | {"article": f"a{n}"} for n in range(3)]
    parts = {"train-0": lines(rows[:2]), "train-1": lines(rows)}
    corpus = reading.read(tmp_path, "", "jsonl", "choices", parts=parts, limit=5)
    assert len(examples(corpus)) == 5


def rights(corpus, split="train"):
    return [right for _, _, right in examples(corpus, split)]


def test_numbers_may_be_texts_of_choices(tmp_path):
    rows = [("1", [*"1352"]), ("2", [*"4123"]), (3, [*"3947"])]
    content = lines({"question": "a", "choices": c, "answer": n} for n, c in rows)
    assert rights(read(tmp_path, content)) == [0, 2, 0]
    assert rights(read(tmp_path, content, first_choice=0)) == [1, 2, 3]
    other = {"question": "a", "choices": ["x", "y"], "answer": 0}
    assert rights(read(tmp_path, content + lines([other]))) == [1, 2, 3, 0]


def test_numbers_that_may_count_from_1_are_doubted(tmp_path, caplog):
    rows = [{"ctx": "a", "endings": [*"bcd"], "label": n} for n in (1, 2, 1)]
    for options, n_notices in (({}, 1), ({"first_choice": 0}, 0)):
        caplog.clear()
        assert rights(read(tmp_path, lines(rows), **options)) == [1, 2, 1]
        assert sum("first_choice=1" in message for message in caplog.messages) == n_notices


def test_which_choices_belong_together_is_of_the_labels(tmp_path):
    rows = [{"ctx": "a", "endings": [*e], "label": n} for e, n in (("bcd", 0), ("ef", 0))]
    moved = [{"ctx": "a", "endings": [*e], "label": n} for e, n in (("bc", 0), ("def", 1))]
    one, other = (read(tmp_path, lines(r))["train"] for r in (rows, moved))
    assert [s.tags for s in one] == [s.tags for s in other]
    assert one.text_fingerprint == other.text_fingerprint
    assert one.tag_fingerprint != other.tag_fingerprint


def test_a_share_of_train_has_whole_examples(tmp_path):
    rows = [{"ctx": f"c{n}", "endings": [*"xyz"][: 2 + n % 2], "label": 1} for n in range(40)]
    corpus = read(tmp_path, lines(rows), dev_share=0.2)
    found = [examples(corpus, split) for split in ("train", "dev")]
    assert [len(part) for part in found] == [32, 8]
    known = {word for s in corpus["train"] for word in s.words}
    unseen = sum(word not in known for s in corpus["dev"] for word in s.words)
    assert check_corpus(corpus).against_train["dev"].unseen_words == unseen > 8
    assert sorted(c for part in found for c, _, _ in part) == sorted(row["ctx"] for row in rows)


def test_columns_of_choices_cannot_be_named(tmp_path):
    with pytest.raises(InputError, match="text and pair"):
        read(tmp_path, lines(COPA), text="premise")


def test_check_counts_examples(tmp_path):
    again = HELLASWAG[1] | {"label": 1, "id": "x"}
    corpus = read(tmp_path, lines([row | {"id": "x"} for row in HELLASWAG] + [again]))
    report = check_corpus(corpus).splits["train"]
    assert (report.sentences, report.choices, report.answers) == (3, 7, 3)
    assert report.labels == {"0": 1, "1": 1, "2": 1}
    assert (report.contradictions, report.repeated_ids) == (2, 2)
    assert report.text_fingerprint == corpus["train"].text_fingerprint


def test_hellaswag_is_read(shared_data):
    path = shared_data / "hellaswag" / "dev.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    corpus = load_corpus(path, targets="choices")
    assert examples(corpus, "dev") == [(r["context"], r["endings"], r["label"]) for r in rows]


ARC = {"text": ["no", "yes"], "label": ["1", "2"]}


def named(labels):
    return [{"label": n, "text": t} for n, t in zip(labels, ARC["text"], strict=True)]


@pytest.mark.parametrize(
    ("row", "context", "right"),
    [
        ({"sentence": "It: _ broke.", "option1": "no", "option2": "yes", "answer": "2"}, "It", 1),
        ({"context": "He ran.", "answerA": "no", "answerB": "yes", "correct": "B"}, "He ran.", 1),
        ({"question": "Who?", "choice_a": "yes", "choice_b": "no", "label": "a"}, "Who?", 0),
        ({"prompt": "谁?", "A": "不", "B": "否", "C": "yes", "answer": "C"}, "谁?", 2),
        ({"question": "Who?", "choices": "['no', \"yes\"]", "answer": "yes"}, "Who?", 1),
        ({"question": "Who?", "options": '["yes", "no"]', "label": 0}, "Who?", 0),
        ({"question": "Who?", "option1": "no", "option2": "yes", "answer": "option2"}, "Who?", 1),
        ({"question": "Who?", "opa": "yes", "opb": "no", "opc": "-", "label": "(A)"}, "Who?", 0),
        ({"question": "Who?", "opa": "no", "opb": "yes", "opc": "-", "label": "b."}, "Who?", 1),
        ({"question": "Who?", "options": {"A": "no", "B": "yes"}, "answer": "B"}, "Who?", 1),
        ({"question": "Who?", "options": {"A": "no", "B": "yes"}, "answer": "yes"}, "Who?", 1),
        ({"question": "Who?", "choices": ["no", "yes"], "label": [0, 1]}, "Who?", 1),
        ({"question": "Who?", "choices": "['no'\n \"it's\" 'yes']", "label": 2}, "Who?", 2),
        ({"question": "Who?", "choices": ["yes", "no"], "label": [True, False]}, "Who?", 0),
        ({"question": {"stem": "ใคร?", "choices": named("12")}, "answerKey": "2"}, "ใคร?", 1),
        ({"question": "Who?", "choices": named("AB"), "answerKey": "B"}, "Who?", 1),
        ({"question": "Who?", "choices": ARC, "answerKey": "2"}, "Who?", 1),
    ],
    ids=lambda value: str(value)[:40],
)
def test_names_and_notations_of_choices(tmp_path, row, context, right):
    ((read_context, choices, answer),) = examples(read(tmp_path, lines([row])))
    assert read_context.startswith(context)
    assert (choices[right], answer, choices.count("yes")) == ("yes", right, 1)


def test_two_columns_that_are_letters_are_no_choices(tmp_path):
    text = "sentence\tA\tB\tlabel\nIt rains now.\t1\t0\tx\nIt is dry.\t1\t1\ty\n"
    corpus = read(tmp_path, text, "tsv", targets="classes")
    assert [s.texts for s in corpus["train"]] == [("It rains now.",), ("It is dry.",)]
