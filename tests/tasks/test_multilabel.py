"""Sets of classes: how they are read and scored, and runs from features to export."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from featbert.config import defaults
from featbert.data.check import check_corpus
from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.errors import InputError
from featbert.runs.run import find_runs
from featbert.tasks.base import get_task
from tests.corpora import split_of, write_sets
from tests.workspace import Workspace, ok

CLASSES = ("a", "b", "c", "d")
MEASURES = {
    "micro_f1": lambda *sides: f1_score(*sides, average="micro", zero_division=0),
    "macro_f1": lambda *sides: f1_score(*sides, average="macro", zero_division=0),
    "accuracy": accuracy_score,
}


def sets(has: np.ndarray, classes: Sequence[str] = CLASSES) -> list[list[str]]:
    return [
        ["|".join(name for name, given in zip(classes, row, strict=True) if given)] for row in has
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("key", MEASURES)
def test_measures_are_those_of_scikit_learn(key, seed):
    rng = np.random.default_rng(seed)
    gold, predicted = rng.random((2, 30, 4)) < np.array([0.1, 0.3, 0.5, 0.0])
    task = get_task(f"multilabel:{key}")
    scores = task.score(sets(gold), sets(predicted))
    occurs = (gold | predicted).any(axis=0)
    expected = {k: of(gold[:, occurs], predicted[:, occurs]) for k, of in MEASURES.items()}
    assert scores.values == pytest.approx(expected)
    counts = task.counts(sets(gold), sets(predicted)).sum(axis=0)
    assert task.measure.of(counts) == pytest.approx(expected[key])
    constant = [np.broadcast_to(row, gold.shape) for row in np.ndindex(2, 2, 2, 2)]
    best = max(MEASURES[key](gold[:, :3], row[:, :3].astype(bool)) for row in constant)
    assert (scores.floor or 0) <= best + 1e-9
    if key == "micro_f1":
        assert scores.floor == pytest.approx(best)


@pytest.mark.parametrize("how", ["one", "each"])
def test_no_other_threshold_has_a_better_score_on_dev(how):
    rng = np.random.default_rng(1)
    gold = rng.random((40, 3)) < 0.4
    shares = np.round((0.6 * gold + rng.random(gold.shape)) / 1.6, 2)  # with equal ones
    task, settings = get_task("multilabel"), defaults("full", "multilabel").but(thresholds=how)
    dev = split_of(sets(gold, "abc"))
    chosen = task.threshold(shares, dev, ("a", "b", "c"), settings)
    tried = np.arange(-0.005, 1, 0.01)
    if how == "one":
        best = max(f1_score(gold, shares > t, average="micro", zero_division=0) for t in tried)
        assert f1_score(gold, shares > chosen, average="micro") == pytest.approx(best)
    else:
        for c in range(3):
            best = max(f1_score(gold[:, c], shares[:, c] > t, zero_division=0) for t in tried)
            assert f1_score(gold[:, c], shares[:, c] > chosen[c]) == pytest.approx(best)
    answers = task.answers(shares, ("a", "b", "c"), dev, "", chosen)
    assert answers == sets(shares > np.array(chosen), "abc")


TEXTS = ["Good and cheap", "Good but slow", "Cheap", "It was there"]
GOLD = ["good|price", "good|speed", "price", ""]
ROWS = [*zip(TEXTS, GOLD, [[*filter(None, gold.split("|"))] for gold in GOLD], strict=True)]
FLAGS = [[int(name in gold) for name in ("good", "price", "speed")] for gold in GOLD]


def json_lines(key: str, answers: Iterable[object]) -> str:
    rows = zip(TEXTS, answers, strict=True)
    return "".join(json.dumps({"text": text, key: answer}) + "\n" for text, answer in rows)


FORMS = {
    "lists.jsonl": json_lines("labels", (names for *_, names in ROWS)),
    "object.jsonl": json_lines(
        "cats", (dict(zip(("good", "price", "speed"), row, strict=True)) for row in FLAGS)
    ),
    "label-studio.jsonl": json_lines("labels", ({"choices": names} for *_, names in ROWS)),
    "joined.tsv": "text\tlabels\n" + "".join(f"{text}\t{gold}\n" for text, gold, _ in ROWS),
    "flags.csv": "id,text,good,price,speed\n"
    + "".join(f"0,{t},{','.join(map(str, row))}\n" for t, row in zip(TEXTS, FLAGS, strict=True)),
    "pandas.csv": "text,labels\n" + "".join(f'{text},"{names!r}"\n' for text, _, names in ROWS),
    "numpy.csv": "text,labels\n"
    + "".join(f'{text},"{np.array(names, dtype=object)}"\n' for text, _, names in ROWS),
}


def read_sets(folder: Path, text: str, name: str = "train.tsv", **options: str) -> Corpus:
    """The corpus of a folder after one file is written."""
    (folder / name).write_text(text, "utf-8")
    return load_corpus(folder, ReadingOptions(**options), targets="sets")


def tags_of(*given: object, **options: str) -> list[tuple[str, ...] | None]:
    return [sentence.tags for sentence in read_sets(*given, **options)["train"]]


@pytest.mark.parametrize("name", FORMS)
def test_sets_are_read_in_every_form(tmp_path, name):
    train = read_sets(tmp_path, FORMS[name], f"train.{name.partition('.')[2]}")["train"]
    assert [s.texts[0] for s in train] == TEXTS
    assert [s.tags for s in train] == [(gold,) for gold in GOLD]


def test_a_separator_is_chosen_and_columns_are_named(tmp_path):
    joined = "text\tlabels\nFine\tb; a\nNone\t\nUnknown\t-\n"
    assert tags_of(tmp_path, joined, class_separator=";", missing="-") == [("a|b",), ("",), None]
    columns = "text\ta\tb\tn\nFine\t1\t0\t7\nBad\t0\t1\t9\n"
    assert tags_of(tmp_path, columns, target="a,b") == [("a",), ("b",)]
    assert tags_of(tmp_path, "text\tlabels\nFine\t2|0\n", label_names="x,y,a") == [("a|x",)]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("text\ta\tb\nFine\t1\t0\nBad\t2\t1\n", ("2", "column a", "line 3")),
        ("text\ta|b\tc\nFine\t1\t0\n", ("'a|b'", "line 2")),
        ("text\tlabels\nFine\tprice|price\n", ("price", "twice")),
        ("text\tlabels\nFine\t[0, 1, 1]\n", ("[0, 1, 1]", "label_names", "line 2")),
        ("text\tlabels\nFine\t[0 1 1]\n", ("[0, 1, 1]", "label_names", "line 2")),
        *(
            (f'text\tlabels\nFine\t["a", {item}]\n', (item.strip('"'), "labels", "line 2"))
            for item in ("-100", '"_"', "null")
        ),
        ("text\ta\tb\nFine\t1\t0\nBad\t-100\t1\n", ("-100", "column a", "line 3")),
        ("text\ta\tb\nFine\t1\t0\nBad\t\t1\n", ("column a", "line 3")),
        ('text\tlabels\nFine\t["a", ""]\n', ("labels", "line 2")),
        ("text\tn\tm\nFine\t7\t8\n", ("target",)),
        ('{"text": "Bad", "price": [1], "room": 1}\n' * 2, ("[1]", "column price", "line 1")),
    ],
)
def test_bad_sets_are_refused_with_their_place(tmp_path, text, named):
    is_json = text.startswith("{")
    name, options = ("train.jsonl", {"target": "price,room"}) if is_json else ("train.tsv", {})
    with pytest.raises(InputError) as error:
        read_sets(tmp_path, text, name, **options)
    assert all(part in str(error.value) for part in named)
    assert "None" not in str(error.value)


def test_only_texts_are_split_at_the_separator(tmp_path):
    whole = "Hello, world"
    labels = [[whole], [whole, "z"], {"choices": [whole]}, whole]
    tags = tags_of(tmp_path, json_lines("labels", labels), "train.jsonl", class_separator=",")
    assert tags == [(t,) for t in (whole, f"{whole}|z", whole, "Hello|world")]


def test_lists_of_0_and_1_need_names(tmp_path):
    lists = json_lines("labels", ([0, 1, 1], [True, False, False], [0, 1, 1], [0, 1, 1]))
    assert tags_of(tmp_path, lists, "train.jsonl", label_names="x,y,a")[:2] == [("a|y",), ("x",)]
    numbers = json_lines("labels", [[0, 1]] * 4)
    assert {*tags_of(tmp_path, numbers, "train.jsonl", label_names="x,y,a")} == {("x|y",)}
    with pytest.raises(InputError, match=r"\[0, 1\].*labels.*line 1"):
        read_sets(tmp_path, numbers, "train.jsonl", label_names="x,y")
    doubts = check_corpus(read_sets(tmp_path, numbers, "train.jsonl")).doubts
    assert any("label_names" in doubt for doubt in doubts)


def test_one_named_column_of_0_and_1_is_a_class_and_none_is_named_twice(tmp_path):
    text = "text\tprice\tspeed\nFine\t1\t0\nBad\t0\t1\nWhat\t\t0\n"
    assert tags_of(tmp_path, text, target="price") == [("price",), ("",), None]
    named = read_sets(tmp_path, text, target="price", label_names="no,yes")
    assert named["train"].labels == {"no", "yes", ""}
    dev = "text\tprice\tspeed\nFine\t2\t0\n"
    both = read_sets(tmp_path, dev, "dev.tsv", target="price")
    assert both["train"].labels | both["dev"].labels == {"0", "1", "2", ""}
    with pytest.raises(InputError, match="price twice"):
        read_sets(tmp_path, dev, "dev.tsv", target="price,speed,Price")


def test_all_parts_have_the_classes_of_train(tmp_path):
    def tags(test: str, **options: str) -> list[tuple[str, ...] | None]:
        return [s.tags for s in read_sets(tmp_path, test, "test.csv", **options)["test"]]

    train = tmp_path / "train.csv"
    train.write_text("text,price,room\nFine,1,0\nBad,0,1\nSo,1,1\n", "utf-8")
    assert tags("text,year,room,price\nFine,2020,0,1\n") == [("price",)]
    unscored = "text,price,room\nFine,-1,-1\nBad,0,1\n"
    assert tags(unscored, missing="-1") == [None, ("room",)]
    with pytest.raises(InputError, match=r"-1.* line 2 .*missing='-1'"):
        tags(unscored)
    assert tags("text,year\nFine,2020\n") == tags("text\nFine\n", target="price,room") == [None]
    for test, named in (
        ("text,price\nFine,1\n", "room"),
        ("text,price,room,staff\nFine,1,0,0\n", "staff"),
        ("text,staff\nFine,1\n", "staff"),
    ):
        with pytest.raises(InputError, match=rf"test\.csv.* {named};.*target='price,room'"):
            tags(test)
    assert tags("text,price,room,staff\nFine,1,0,0\n", target="price,room") == [("price",)]
    train.write_text("text,price\nFine,1\nBad,0\n", "utf-8")
    assert tags("text,year,price\nFine,2020,1\nBad,2020,0\n") == [("price",), ("",)]


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "id"])
@pytest.mark.parametrize("first", [0, 1])
def test_numbers_of_rows_are_no_class(tmp_path, name, first):
    rows = "".join(f"{n},Fine,{n % 2},0\n" for n in range(first, 4))
    train = read_sets(tmp_path, f"{name},text,price,room\n{rows}", "train.csv")["train"]
    assert train.labels == {"price", ""}
    assert train.notes.answer_columns == ("price", "room")


def test_a_class_is_renamed_or_removed():
    mapping = {"price": "cost", "speed": "O"}
    assert get_task("multilabel").rename(["price|speed", "speed", ""], mapping) == ["cost", "", ""]


def test_frozen_and_tuned_runs_learn_and_answer_by_their_thresholds(workspace: Workspace):
    corpus = write_sets(workspace.folder / "sets")
    options = ("--task", "multilabel", "--data", corpus, "--precision", "fp32", "--batch-size", "4")
    frozen = ("--layers", "embeddings", "--body", "linear", "--epochs", "30")
    where = ("--runs-dir", workspace.runs, "--cache-dir", workspace.cache)
    model = ("--model", workspace.model, "--learning-rate", "0.1")
    ok(workspace.call("train", *options, *frozen, *model, *where))
    tuned = ("--epochs", "12", "--learning-rate", "3e-3", "--thresholds", "each")
    ok(workspace.finetune(*options, *tuned))
    text = workspace.folder / "texts.txt"
    text.write_text("cheap it was\nthe film\n", "utf-8")
    for run in find_runs(workspace.runs):
        record = run.record
        assert record.targets.classes == ("price", "quality", "speed")
        assert record.scores["test"].values["micro_f1"] > 0.7, run.name
        assert isinstance(record.threshold, list) == (record.tuning == "full")
        answers = workspace.call("predict", run.folder, text, "--format", "jsonl")
        rows = [json.loads(line) for line in ok(answers).stdout.splitlines()]
        assert "price" in rows[0]["answer"]
        for row in rows:
            limits = np.broadcast_to(np.array(record.threshold), 3)
            above = zip(row["probabilities"].items(), limits, strict=True)
            assert row["answer"] == [name for (name, share), t in above if share > t]
    ok(workspace.compare("--report", workspace.folder / "page.html", "--by", "class"))


def test_pairs_learn_from_dev_with_a_class_that_train_lacks(workspace: Workspace):
    folder = workspace.folder / "pairs"
    folder.mkdir()
    for name, classes in (("train", ["a", "b"]), ("dev", ["a", "c"]), ("test", ["b"])):
        row = {"text": "It was good", "pair": "the food", "labels": classes}
        (folder / f"{name}.jsonl").write_text(f"{json.dumps(row)}\n" * 4, "utf-8")
    options = ("--task", "multilabel", "--data", folder, "--thresholds", "each")
    assert "dev has c," in ok(workspace.finetune(*options, "--train-on", "train+dev")).stderr
    first, last = sorted(find_runs(workspace.runs), key=lambda run: len(run.record.trained_on))
    assert first.record.targets.classes == ("a", "b")
    assert last.record.targets.classes == ("a", "b", "c")
    assert last.record.threshold == [*first.record.threshold, 0.5]


def test_texts_without_any_class_cannot_be_learned(workspace: Workspace, tmp_path):
    for name in ("train", "dev"):
        (tmp_path / f"{name}.jsonl").write_text('{"text": "a b", "labels": []}\n' * 4, "utf-8")
    cache = ("--cache-dir", tmp_path / "cache")
    for command in (("finetune",), ("train", *cache)):
        where = ("--model", workspace.model, "--runs-dir", tmp_path / "runs", "--data", tmp_path)
        refused = workspace.call(*command, *where, "--task", "multilabel")
        assert refused.exit_code == 1
        assert str(tmp_path) in refused.stderr.splitlines()[-1]
    assert not (tmp_path / "cache").exists()
