"""Which values are no answer, and which are one class in several notations."""

import pytest

from featbert.data.check import check_corpus
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.errors import InputError
from tests.data import reading
from tests.data.reading import json_lines as lines

TEXTS = ["Ada sang.", "Bo ran far.", "Rome is old.", "It rains.", "No one came.", "We won."]


def labelled(*labels, column="label", **more):
    texts = TEXTS * (1 + len(labels) // len(TEXTS))
    return [{"text": t, column: label} | more for t, label in zip(texts, labels, strict=False)]


def table(*labels) -> str:
    return "text,label\n" + "".join(f"{row['text']},{row['label']}\n" for row in labelled(*labels))


def read(folder, ending="jsonl", targets="classes", given=None, **parts):
    return reading.read(folder, "", ending, targets, parts=parts, **given or {})


def answers(split):
    return [None if s.tags is None else s.tags[0] for s in split]


@pytest.mark.parametrize(
    ("labels", "classes", "missing", "given"),
    [
        (["yes", "-", "no"], ["yes", None, "no"], {"-": 1}, None),
        (["+", "-", "+"], ["+", "-", "+"], {}, None),
        (["+", "-", "?", "0"], ["+", "-", "?", "0"], {}, None),
        (["+/-", "-", "a"], ["+/-", "-", "a"], {}, None),
        ([0, 1, 2, -1], ["0", "1", "2", None], {"-1": 1}, None),
        (["0", "3", "-1.0", "2", "1"], ["0", "3", None, "2", "1"], {"-1.0": 1}, None),
        (["good", "bad", "-1"], ["good", "bad", None], {"-1": 1}, None),
        ([-1, 5, 0], [None, "5", "0"], {"-1": 1}, None),
        (["-1", "0.5", "2"], ["-1", "0.5", "2"], {}, None),
        ([-1, 0, 1], ["-1", "0", "1"], {}, None),
        ([-2, -1, 1, 2, 0], ["-2", "-1", "1", "2", "0"], {}, None),
        ([1, -1], ["1", "-1"], {}, None),
        (["a", None, "", float("nan")], ["a", None, None, None], {"null": 2, "empty": 1}, None),
        (["NA", "None", "nan", "null"], ["NA", "None", "nan", "null"], {}, None),
        ([True, False, None], ["true", "false", None], {"null": 1}, None),
        (["[PAD]", "[very good]", "{x}", "[]]"], ["[PAD]", "[very good]", "{x}", "[]]"], {}, None),
        (["yes", "-", "NA"], ["yes", "-", None], {"NA": 1}, "NA"),
        (["yes", "-", "NA"], ["yes", None, None], {"-": 1, "NA": 1}, "-, NA"),
        (["yes", "-", "NA"], ["yes", "-", "NA"], {}, ""),
        ([0, 1, 2, -1], ["0", "1", "2", "-1"], {}, ""),
        ([-1, 0, 1.0], ["-1", "0", None], {"1.0": 1}, "1"),
        (["a", "", "b"], ["a", None, "b"], {"empty": 1}, ""),  # an empty class cannot be
    ],
    ids=str,
)
def test_what_is_a_class_and_what_is_none(tmp_path, labels, classes, missing, given):
    options = {} if given is None else {"missing": given}
    corpus = read(tmp_path, given=options, train=lines(labelled(*labels)))
    assert answers(corpus["train"]) == classes
    assert (corpus["train"].notes.missing, corpus.reading) == (missing, options)
    report = check_corpus(corpus).splits["train"]
    assert report.unlabelled == sum(missing.values()) == classes.count(None)
    assert sum(report.labels.values()) == report.answers == len(classes) - report.unlabelled


def test_scores_and_choices_that_are_missing(tmp_path):
    rows = labelled(1.5, "-", "", -1, "2", column="score")
    scores = read(tmp_path, train=lines(rows), targets="scores")
    assert answers(scores["train"]) == ["1.5", None, None, "-1.0", "2.0"]
    asked = load_corpus(tmp_path, ReadingOptions(missing="-,-1"), targets="scores")
    assert answers(asked["train"]) == ["1.5", None, None, None, "2.0"]
    rows = [{"context": "a", "endings": ["b", "c"], "label": n} for n in (0, -1, None, 1, "-")]
    choices = read(tmp_path, train=lines(rows), targets="choices")
    assert [s.tags for s in choices["train"]] == [
        *[("1",), ("0",)], *[None] * 4, *[("0",), ("1",)], *[None] * 2
    ]  # fmt: skip
    report = check_corpus(choices).splits["train"]
    assert (report.sentences, report.answers, report.unlabelled) == (5, 2, 3)
    assert report.missing == {"-1": 1, "null": 1, "-": 1}


PAIR = {"sentence1": "a", "sentence2": "b"}
CHOICES = {"context": "Gym: A man sits.", "endings": ["He stands.", "He is.", "No."]}
ADA, BO = {"tokens": ["Ada", "ran"], "tags": ["B-PER", "O"]}, {"tokens": ["Bo", "ran"]}
PER = [[0, 3, "PER"]]


@pytest.mark.parametrize(
    ("targets", "train", "test"),
    [
        *(("classes", labelled("0", "1"), labelled(h, h, h)) for h in (-1, "-", None)),
        *(("classes", [PAIR | {"label": 1}], [PAIR | {"label": h}]) for h in (-1, "", "-")),
        ("classes", [PAIR | {"label": 1}], [PAIR]),
        *(("choices", [CHOICES | {"label": 2}], [CHOICES | {"label": h}]) for h in (-1, "", None)),
        ("entities", [ADA], [BO]),
        ("entities", [{"text": "Ada ran", "spans": PER}], [{"text": "Bo ran"}]),
        ("entities", [{"data": "Ada ran", "label": PER}], [{"data": "Bo ran", "id": 3}]),
    ],
    ids=str,
)
def test_a_part_without_answers_hides_them(tmp_path, targets, train, test):
    corpus = read(tmp_path, targets=targets, train=lines(train), test=lines(test))
    assert corpus["train"].is_tagged
    assert not any(s.tags for s in corpus["test"])
    report = check_corpus(corpus).splits["test"]
    words = 2 if targets == "entities" else 0  # words without a tag are counted
    assert (report.missing, report.unlabelled) == ({}, words)
    if targets == "entities":
        with pytest.raises(InputError, match=r"train\.jsonl"):
            read(tmp_path, targets=targets, train=lines(test))


def test_a_class_of_train_is_one_in_a_part_with_no_other(tmp_path):
    labels = {"train": (-1, 0, 1), "dev": (0, 1), "test": (-1, -1)}
    corpus = read(tmp_path, **{name: lines(labelled(*row)) for name, row in labels.items()})
    assert answers(corpus["test"]) == ["-1", "-1"]
    corpus = read(tmp_path, train=lines(labelled("+", "-")), test=lines(labelled("-", "-")))
    assert answers(corpus["test"]) == ["-", "-"]


def test_files_of_a_split_say_together_what_is_a_class(tmp_path):
    of_files = {"train-0": lines(labelled(-1, -1)), "train-1": lines(labelled(1, 1))}
    assert answers(read(tmp_path, **of_files)["train"]) == ["-1", "-1", "1", "1"]
    of_files = {name: text.replace("label", "score") for name, text in of_files.items()}
    scores = read(tmp_path, targets="scores", **of_files)["train"]
    assert answers(scores) == ["-1.0", "-1.0", "1.0", "1.0"]


@pytest.mark.parametrize(
    ("train", "dev", "classes"),
    [
        (["1.0", "0.0"], ["1", "0"], ["0", "1"]),
        (["1", "2.00"], ["1.0", "2"], ["1", "2"]),
        (["-1.0", "1.0"], ["1", "-1"], ["-1", "1"]),
        (["1.5", "2.0"], ["2", "1.5"], ["1.5", "2"]),
        (["+1", "-1"], ["1", "01"], ["+1", "-1", "01", "1"]),
        (["1.0", "0.0", "unknown"], ["1", "0"], ["0", "1", "unknown"]),
        (["Yes", "no", "NO"], ["yes", "n/a"], ["n/a", "no", "yes"]),
        (["1.0", "beta"], ["2.0", "beta"], ["1.0", "2.0", "beta"]),  # a version
        (["True", "False"], ["true", "FALSE"], ["false", "true"]),
        (["Yes", "No"], ["yes", "no"], ["no", "yes"]),
        (["Yes", "No"], ["No", "Yes"], ["No", "Yes"]),
        (["Pos", "neg"], ["pos", "neg"], ["Pos", "neg", "pos"]),
    ],
    ids=str,
)
def test_one_class_has_one_notation_in_all_parts(tmp_path, train, dev, classes):
    corpus = read(tmp_path, "csv", train=table(*train), dev=table(*dev))
    labels = {name for split in corpus.splits.values() for name in split.labels}
    assert sorted(labels) == classes


@pytest.mark.parametrize(
    ("column", "value", "answer"),
    [
        ("label", ["pos"], "pos"),
        ("label", [3], "3"),
        ("label", [True], "true"),
        ("label", [], None),
        *(("label", written, "pos") for written in ("['pos']", '["pos"]', "[ 'pos' ]")),
        ("cats", {"POS": 1.0, "NEG": 0.0}, "POS"),
        ("cats", {"POS": False, "NEG": True}, "NEG"),
        ("cats", {"POS": 0, "NEG": 0}, None),
        ("cats", {}, None),
        ("accept", ["SPORTS"], "SPORTS"),
    ],
    ids=str,
)
def test_a_class_in_a_list_or_among_categories(tmp_path, column, value, answer):
    other = {"cats": {"POS": 1, "NEG": 0}}.get(column, ["pos"])
    rows = labelled(value, other, column=column)
    assert answers(read(tmp_path, train=lines(rows))["train"])[0] == answer


@pytest.mark.parametrize("values", [[True, False], ["Yes", "No"], ["true", "false"]], ids=str)
def test_answers_that_are_yes_or_no_are_classes(tmp_path, values):
    rows = [{"question": "Is it?", "passage": "It is.", "answer": value} for value in values]
    found = answers(read(tmp_path, train=lines(rows))["train"])
    assert [name.lower() for name in found] == [str(value).lower() for value in values]
    rows[0]["answer"] = "It is, and it was."
    with pytest.raises(InputError, match="target"):
        read(tmp_path, train=lines(rows))


def test_minus_one_beside_two_classes_of_pairs_is_doubted(tmp_path):
    rows = [{"premise": "a", "hypothesis": "b", "label": n} for n in (0, 1, -1)]
    corpus = read(tmp_path, train=lines(rows), dev=lines(rows))
    assert ["missing='-1'" in doubt for doubt in check_corpus(corpus).doubts] == [True, False]
    asked = load_corpus(tmp_path, ReadingOptions(missing="-1"), targets="classes")
    assert answers(asked["train"]) == ["0", "1", None]
    assert not any("missing=" in doubt for doubt in check_corpus(asked).doubts)


def test_advice_keeps_what_is_no_answer_already(tmp_path):
    corpus = read(tmp_path, "csv", train=table("a", "-", "b", "nan"))
    assert [doubt for doubt in check_corpus(corpus).doubts if "missing='-,nan'" in doubt]
    again = read(tmp_path, "csv", given={"missing": "-,nan"})
    assert answers(again["train"]) == ["a", None, "b", None]


def test_the_first_row_does_not_say_what_all_rows_hold(tmp_path):
    rows = [*labelled([]), *labelled(["pos"], ["neg"])]
    assert answers(read(tmp_path, train=lines(rows))["train"]) == [None, "pos", "neg"]
    with pytest.raises(InputError, match="classification"):
        load_corpus(tmp_path)
    rows = [{"text": "It rains."}, *labelled("pos", "neg")]
    assert answers(read(tmp_path, train=lines(rows))["train"]) == [None, "pos", "neg"]


# Prodigy ------------------------------------------------------------------------------------------

SPAN = {"start": 0, "end": 3, "label": "PER"}


def test_what_annotators_rejected_is_no_answer(tmp_path):
    answered = ("accept", "reject", "ignore", "accept")
    rows = [row | {"answer": a} for row, a in zip(labelled(*"ABAA"), answered, strict=True)]
    corpus = read(tmp_path, train=lines(rows))
    assert answers(corpus["train"]) == ["A", None, None, "A"]
    assert corpus["train"].notes.missing == {"answer: reject": 1, "answer: ignore": 1}
    named = load_corpus(tmp_path, ReadingOptions(target="answer"), targets="classes")
    assert answers(named["train"]) == [*answered]
    # Options, of which one is accepted
    options = {"options": [{"id": name, "text": name.lower()} for name in "AB"]}
    chosen = (["A"], "accept"), ([], "accept"), (["B"], "reject"), (["B"], "accept")
    rows = [{"text": "It."} | options | {"accept": c, "answer": a} for c, a in chosen]
    assert answers(read(tmp_path, train=lines(rows))["train"]) == ["A", None, None, "B"]
    rows[1]["accept"] = ["A", "B"]
    with pytest.raises(InputError, match=r"line 2 of .*train\.jsonl"):
        read(tmp_path, train=lines(rows))


@pytest.mark.parametrize(
    "empty",
    [{"answer": "accept"}, {"answer": "accept", "spans": None}, {"spans": []}, {}, {"meta": 1}],
    ids=str,
)
@pytest.mark.parametrize("place", [0, 1])
def test_a_text_without_spans_has_no_entity(tmp_path, empty, place):
    rows = [{"text": "Ada sang.", "spans": [SPAN]}] * 2
    rows.insert(place, {"text": "It rains."} | empty)
    tags = [s.tags for s in read(tmp_path, targets="entities", train=lines(rows))["train"]]
    assert tags.pop(place) == ("O", "O", "O")
    assert tags == [("B-PER", "O", "O")] * 2


def test_rejected_spans_are_not_read(tmp_path):
    rows = [
        {"text": "Ada sang.", "spans": [SPAN], "answer": "accept"},
        {"text": "Bo ran.", "spans": [{"start": 7, "end": 90, "label": "?"}], "answer": "reject"},
        {"text": "asdf", "answer": "ignore"},
    ]
    corpus = read(tmp_path, targets="entities", train=lines(rows))
    assert [s.tags for s in corpus["train"]] == [("B-PER", "O", "O"), ("",) * 3, ("",)]
    report = check_corpus(corpus).splits["train"]
    assert (report.unlabelled, report.labels) == (4, {"PER": 1})
    assert report.missing == {"answer: reject": 3, "answer: ignore": 1}
    with pytest.raises(InputError):  # "yes" is no annotation
        read(tmp_path, targets="entities", train=lines([{"text": "Is it?", "answer": "yes"}]))


# Words --------------------------------------------------------------------------------------------

EMPTY = "\t_" * 6 + "\n"
CONLLU = f"1\tRome\t_\tPROPN{EMPTY}2\tgrew\t_\t{{}}{EMPTY}3\t.\t_\tPUNCT{EMPTY}\n"


def test_words_without_a_part_of_speech(tmp_path):
    text = CONLLU.format("_") + CONLLU.format("VERB")
    corpus = read(tmp_path, "conllu", "labels", train=text)
    assert [s.tags for s in corpus["train"]] == [("PROPN", "", "PUNCT"), ("PROPN", "VERB", "PUNCT")]
    report = check_corpus(corpus).splits["train"]
    assert (report.unlabelled, report.missing) == (1, {"_": 1})
    assert report.labels == {"PROPN": 2, "PUNCT": 2, "VERB": 1}
    kept = load_corpus(tmp_path, ReadingOptions(missing=""), targets="labels")
    assert kept["train"].labels == {"PROPN", "PUNCT", "VERB", "_"}
    features = load_corpus(tmp_path, ReadingOptions(tag_column="feats"), targets="labels")
    assert features["train"].labels == {"_"}  # which says that there are none
    with pytest.raises(InputError, match=r"train\.conllu"):
        load_corpus(tmp_path, ReadingOptions(tag_column="xpos"), targets="labels")
    test = read(tmp_path, "conllu", "labels", test=f"1\tRome\t_\t_{EMPTY}\n")["test"]
    assert (test.is_tagged, test.notes.missing) == (False, {})


@pytest.mark.parametrize("none", [None, -100])
def test_words_of_rows_without_a_tag(tmp_path, none):
    rows = [
        {"tokens": ["Ada", "sang", "."], "tags": ["B-PER", none, "O"]},
        {"tokens": ["Bo", "ran"], "tags": None},
        {"tokens": ["Li", "Po"], "tags": ["I-PER", "I-PER"], "answer": "reject"},
    ]
    tags = read(tmp_path, targets="entities", train=lines(rows))["train"].tags
    assert tags == [("B-PER", "", "O"), ("", ""), ("", "")]
    rows = [{"tokens": [*"abcd"], "tags": ["I-LOC", none, "I-LOC", "I-LOC"]}]  # two entities
    (tags,) = read(tmp_path, targets="entities", train=lines(rows))["train"].tags
    assert tags == ("B-LOC", "", "B-LOC", "I-LOC")


def test_cells_of_words_that_are_no_tag(tmp_path):
    text = "Ada\tB-PER\nsang\tNA\n.\t\n\n"
    for given in ("NA,", "NA, ", ",NA"):
        corpus = read(tmp_path, "tsv", "entities", {"missing": given}, train=text)
        assert corpus["train"].sentences[0].tags == ("B-PER", "", "")
        assert corpus["train"].notes.missing == {"NA": 1, "empty": 1}
    with pytest.raises(InputError, match="line 3"):
        load_corpus(tmp_path, ReadingOptions(missing="NA"))


@pytest.mark.parametrize(
    ("ending", "targets", "text"),
    [
        ("conll", "entities", "Ada B-PER\nsang _\n. O\n"),
        ("conll", "labels", "Ada NOUN\nsang _\n. _\n"),
        ("jsonl", "labels", lines([{"tokens": ["Ada", "sang"], "tags": ["NOUN", "_"]}])),
        ("jsonl", "classes", lines(labelled("a", "_", "b"))),
        ("jsonl", "scores", lines(labelled(1.5, "_", 2, column="score"))),
        ("jsonl", "choices", lines(labelled(0, "_", 1, context="c", endings=["it", "the end"]))),
        ("jsonl", "sets", lines(labelled(["a"], "_", ["a", "b"], column="labels"))),
        ("tsv", "sets", "text\tlabels\nFine\ta|b\nBad\t_\n"),
        ("tsv", "sets", "text\ta\tb\nFine\t1\t0\nBad\t_\t_\n"),
    ],
)
def test_a_value_that_the_caller_gives_is_no_answer_in_any_form(tmp_path, ending, targets, text):
    train = read(tmp_path, ending, targets, {"missing": "_"}, train=text)["train"]
    unanswered = [s.tags is None or "" in s.tags for s in train]
    assert any(unanswered)
    assert [*train.notes.missing] == ["_"]
    assert not {"_"} & {tag for s in train for tag in s.tags or ()}
    assert any(tag for s in train for tag in s.tags or ())


# Choices ------------------------------------------------------------------------------------------


def right(split):
    rows: dict[int, list[str]] = {}
    for s in split:
        rows.setdefault(s.document, []).append(s.tags[0])
    return [row.index("1") for row in rows.values()]


def choice(label, n=3, **more):
    return {"context": "a", "endings": [*"bcdefg"][:n], "label": label} | more


@pytest.mark.parametrize(
    ("train", "dev", "first", "numbers"),
    [
        (["A", "C", "b"], ["B"], None, [0, 2, 0, 1]),
        ([1, 2, 3], [2], None, [0, 1, 2, 1]),
        ([1, 2], [3], None, [0, 1, 2]),
        ([1, 2], [0], None, [1, 2, 0]),
        ([1, 2], [1], None, [1, 2, 1]),
        ([1, 2], [1], 1, [0, 1, 0]),
        (["1.0", "3.0"], [2.0], None, [0, 2, 1]),
        ([[2]], ["0"], None, [2, 0]),
        (["c", "B"], ["d"], None, [1, 1, 2]),  # texts of choices, and a letter
    ],
    ids=str,
)
def test_labels_of_choices(tmp_path, train, dev, first, numbers):
    parts = {"train": lines(map(choice, train)), "dev": lines(map(choice, dev))}
    given = {} if first is None else {"first_choice": first}
    corpus = read(tmp_path, targets="choices", given=given, **parts)
    assert right(corpus["train"]) + right(corpus["dev"]) == numbers


@pytest.mark.parametrize("mark", ["nan", "NaN", "NA", "N/A", "null", "?", "None", "-"])
def test_words_for_no_value_are_no_scores(tmp_path, mark):
    train = "text,score\n" + "".join(f"{t},{n}\n" for t, n in zip(TEXTS, "1234", strict=False))
    corpus = read(tmp_path, "csv", "scores", train=train + f"One more.,{mark}\n")
    assert answers(corpus["train"]) == ["1.0", "2.0", "3.0", "4.0", None]
    assert corpus["train"].notes.missing == {mark: 1}
    with pytest.raises(InputError, match=r"line 6 of .*train\.csv"):
        read(tmp_path, "csv", "scores", {"missing": ""}, train=train + f"One more.,{mark}\n")


@pytest.mark.parametrize(
    ("labels", "dev", "named"),
    [
        (["a", "b", "NaN"], None, "missing='NaN'"),
        (["a", "b", "?", "n/a"], None, "missing='?,n/a'"),
        (["0", "1", "None"], None, "missing='None'"),
        (["a", "b", "-", "?"], None, "missing='-,?'"),
        (["0", "1", "2", "-1", "nan"], None, "missing='-1,nan'"),
        (["a", "b", "None", "NA"], None, None),
        (["pos", "Pos", "neg"], None, "Pos, pos"),
        (["pos", "neg"], None, None),
        (["a", "b"], ["un known", "un known"], "missing='un known'"),
        # Classes of few examples
        ([f"{n}.25" for n in range(12)], None, "task='regression'"),
        ([f"id{n}" for n in range(12)], None, "target"),
        (["a", "b", "c"] * 4, None, None),
    ],
)
def test_doubtful_classes_are_read_and_named(tmp_path, labels, dev, named):
    corpus = read(tmp_path, "csv", train=table(*labels), dev=table(*dev or labels))
    assert answers(corpus["train"]) == labels
    doubts = " ".join(check_corpus(corpus).doubts)
    if named is None:
        assert not any(option in doubts for option in ("missing=", "task="))
    else:
        assert named in doubts
    if named and "missing=" in named:
        again = read(tmp_path, "csv", given={"missing": named.partition("=")[2].strip("'")})
        assert not any("missing=" in doubt for doubt in check_corpus(again).doubts)
        assert dev is None or answers(again["dev"]) == [None, None]
