"""Sets of classes: how they are read and scored, and runs from features to export."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from featbert.config import defaults
from featbert.data.check import check_corpus
from featbert.data.corpus import Sentence, Split
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.errors import InputError
from featbert.runs.run import find_runs
from featbert.tasks.base import Predictions, get_task
from featbert.tasks.multilabel import members
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


@pytest.mark.parametrize("key", MEASURES)
def test_the_parts_of_a_breakdown_add_up_to_the_whole(key):
    rng = np.random.default_rng(5)
    gold, predicted = rng.random((2, 40, 4)) < 0.4
    task = get_task(f"multilabel:{key}")
    words = [["w"] * (1 + row.sum()) for row in gold]
    found = Predictions(words, sets(gold), sets(predicted), [0] * 40, [(len(w),) for w in words])
    whole = task.counts(sets(gold), sets(predicted)).sum(axis=0)
    for facet, buckets in task.break_down([*task.facets], found).items():
        assert np.sum([b.counts for b in buckets.values()], axis=0).tolist() == whole.tolist(), (
            facet
        )


def split(answers: Sequence[str]) -> Split:
    return Split("dev", tuple(Sentence(("w",), (answer,)) for answer in answers))


@pytest.mark.parametrize("how", ["one", "each"])
def test_no_other_threshold_has_a_better_score_on_dev(how):
    rng = np.random.default_rng(1)
    gold = rng.random((40, 3)) < 0.4
    shares = np.round((0.6 * gold + rng.random(gold.shape)) / 1.6, 2)  # with equal ones
    task, settings = get_task("multilabel"), defaults("full", "multilabel").but(thresholds=how)
    dev = split([row[0] for row in sets(gold, "abc")])
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
    assert members([a for (a,) in answers], "abc").tolist() == (shares > np.array(chosen)).tolist()


TEXTS = ["Good and cheap", "Good but slow", "Cheap", "It was there"]
GOLD = ["good|price", "good|speed", "price", ""]
FORMS = {
    "lists.jsonl": "".join(
        json.dumps({"text": text, "labels": [*filter(None, gold.split("|"))]}) + "\n"
        for text, gold in zip(TEXTS, GOLD, strict=True)
    ),
    "object.jsonl": "".join(
        json.dumps({"text": t, "cats": {n: int(n in g) for n in ("good", "price", "speed")}}) + "\n"
        for t, g in zip(TEXTS, GOLD, strict=True)
    ),
    "label-studio.jsonl": "".join(
        json.dumps({"text": t, "labels": {"choices": [*filter(None, g.split("|"))]}}) + "\n"
        for t, g in zip(TEXTS, GOLD, strict=True)
    ),
    "joined.tsv": "text\tlabels\n"
    + "".join(f"{t}\t{g}\n" for t, g in zip(TEXTS, GOLD, strict=True)),
    "flags.csv": "id,text,good,price,speed\n"
    + "".join(
        f"{i},{text},{','.join(str(int(n in gold)) for n in ('good', 'price', 'speed'))}\n"
        for i, (text, gold) in enumerate(zip(TEXTS, GOLD, strict=True))
    ),
    "pandas.csv": "text,labels\n"
    + "".join(
        f'{text},"{[*filter(None, gold.split("|"))]!r}"\n'
        for text, gold in zip(TEXTS, GOLD, strict=True)
    ),
    "numpy.csv": "text,labels\n"
    + "".join(
        f'{text},"{np.array([*filter(None, gold.split("|"))], dtype=object)}"\n'
        for text, gold in zip(TEXTS, GOLD, strict=True)
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_sets_are_read_in_every_form(tmp_path, name):
    (tmp_path / f"train.{name.partition('.')[2]}").write_text(FORMS[name], "utf-8")
    train = load_corpus(tmp_path, targets="sets")["train"]
    assert [s.texts[0] for s in train] == TEXTS
    assert [s.tags for s in train] == [(gold,) for gold in GOLD]


def test_a_separator_is_chosen_and_columns_are_named(tmp_path):
    (tmp_path / "train.tsv").write_text("text\tlabels\nFine\tb; a\nNone\t\nUnknown\t-\n", "utf-8")
    options = ReadingOptions(class_separator=";", missing="-")
    train = load_corpus(tmp_path, options, targets="sets")["train"]
    assert [s.tags for s in train] == [("a|b",), ("",), None]
    (tmp_path / "train.tsv").write_text("text\ta\tb\tn\nFine\t1\t0\t7\nBad\t0\t1\t9\n", "utf-8")
    train = load_corpus(tmp_path, ReadingOptions(target="a,b"), targets="sets")["train"]
    assert [s.tags for s in train] == [("a",), ("b",)]
    (tmp_path / "train.tsv").write_text("text\tlabels\nFine\t2|0\n", "utf-8")
    named = ReadingOptions(label_names="x,y,a")
    assert load_corpus(tmp_path, named, targets="sets")["train"].labels == {"a|x"}


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
        ("text\tn\nFine\t7\n", ("target",)),
    ],
)
def test_bad_sets_are_refused_with_their_place(tmp_path, text, named):
    (tmp_path / "train.tsv").write_text(text, "utf-8")
    with pytest.raises(InputError) as error:
        load_corpus(tmp_path, targets="sets")
    assert all(part in str(error.value) for part in named)
    assert "None" not in str(error.value)


def test_only_texts_are_split_at_the_separator(tmp_path):
    labels = [
        ["Hello, world"],
        ["Hello, world", "z"],
        {"choices": ["Hello, world"]},
        "Hello, world",
    ]
    rows = "".join(json.dumps({"text": "Fine", "labels": value}) + "\n" for value in labels)
    (tmp_path / "train.jsonl").write_text(rows, "utf-8")
    train = load_corpus(tmp_path, ReadingOptions(class_separator=","), targets="sets")["train"]
    whole = "Hello, world"
    assert [s.tags for s in train] == [(t,) for t in (whole, f"{whole}|z", whole, "Hello|world")]


def test_a_list_in_a_column_of_a_class_is_refused_with_its_place(tmp_path):
    rows = [{"text": "Fine", "a": 1, "b": 0}, {"text": "Bad", "a": [1], "b": 1}]
    (tmp_path / "train.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in rows), "utf-8")
    with pytest.raises(InputError, match=r"\[1\].* column a.*line 2"):
        load_corpus(tmp_path, ReadingOptions(target="a,b"), targets="sets")


def test_lists_of_0_and_1_need_names(tmp_path):
    path = tmp_path / "train.jsonl"
    rows = [{"text": "Fine", "labels": labels} for labels in ([0, 1, 1], [True, False, False])]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    named = ReadingOptions(label_names="x,y,a")
    train = load_corpus(tmp_path, named, targets="sets")["train"]
    assert [s.tags for s in train] == [("a|y",), ("x",)]
    path.write_text(json.dumps({"text": "Fine", "labels": [0, 1]}) + "\n", "utf-8")
    assert load_corpus(tmp_path, named, targets="sets")["train"].labels == {"x|y"}
    with pytest.raises(InputError, match=r"\[0, 1\].*labels.*line 1"):
        load_corpus(tmp_path, ReadingOptions(label_names="x,y"), targets="sets")
    numbers = load_corpus(tmp_path, targets="sets")
    assert any("label_names" in doubt for doubt in check_corpus(numbers).doubts)


def test_one_named_column_of_0_and_1_is_a_class_and_none_is_named_twice(tmp_path):
    text = "text\tprice\tspeed\nFine\t1\t0\nBad\t0\t1\nWhat\t\t0\n"
    (tmp_path / "train.tsv").write_text(text, "utf-8")
    price = load_corpus(tmp_path, ReadingOptions(target="price"), targets="sets")
    assert [s.tags for s in price["train"]] == [("price",), ("",), None]
    numbers = ReadingOptions(target="price", label_names="no,yes")
    assert load_corpus(tmp_path, numbers, targets="sets")["train"].labels == {"no", "yes", ""}
    (tmp_path / "dev.tsv").write_text("text\tprice\tspeed\nFine\t2\t0\n", "utf-8")
    both = load_corpus(tmp_path, ReadingOptions(target="price"), targets="sets")
    assert both["train"].labels | both["dev"].labels == {"0", "1", "2", ""}
    with pytest.raises(InputError, match="price twice"):
        load_corpus(tmp_path, ReadingOptions(target="price,speed,Price"), targets="sets")


def test_all_parts_have_the_classes_of_train(tmp_path):
    def tags(test: str, **options: str) -> list[tuple[str, ...] | None]:
        (tmp_path / "test.csv").write_text(test, "utf-8")
        corpus = load_corpus(tmp_path, ReadingOptions(**options), targets="sets")
        return [s.tags for s in corpus["test"]]

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
    rows = [f"{n},Fine,{n % 2},0\n" for n in range(first, 4)]
    (tmp_path / "train.csv").write_text(f"{name},text,price,room\n{''.join(rows)}", "utf-8")
    train = load_corpus(tmp_path, targets="sets")["train"]
    assert train.labels == {"price", ""}
    assert train.notes.answer_columns == ("price", "room")


def write_sets(folder: Path) -> Path:
    """A corpus in which words say which classes a text has."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for name, n in (("train", 60), ("dev", 30), ("test", 30)):
        rows = []
        for _ in range(n):
            has = rng.random(3) < 0.4
            words = [w for w, given in zip(("cheap", "quick", "good"), has, strict=True) if given]
            words = [*words, *rng.choice(["it", "was", "the", "film"], 3)]
            classes = [
                c for c, given in zip(("price", "speed", "quality"), has, strict=True) if given
            ]
            rows.append(json.dumps({"text": " ".join(words), "labels": classes}) + "\n")
        (folder / f"{name}.jsonl").write_text("".join(rows), "utf-8")
    return folder


def test_a_class_is_renamed_or_removed():
    mapping = {"price": "cost", "speed": "O"}
    assert get_task("multilabel").rename(["price|speed", "speed", ""], mapping) == ["cost", "", ""]


def test_frozen_and_tuned_runs_learn_are_compared_and_used(workspace: Workspace):
    corpus = write_sets(workspace.folder / "sets")
    options = ("--task", "multilabel", "--data", corpus, "--precision", "fp32", "--batch-size", "4")
    store = ("--model", workspace.model, "--cache-dir", workspace.cache)
    frozen = (*store, "--layers", "embeddings", "--body", "linear")
    ok(workspace.call("check", corpus, "--task", "multilabel"))
    places = ("--runs-dir", workspace.runs, "--epochs", "30", "--learning-rate", "0.1")
    ok(workspace.call("train", *options, *frozen, *places))
    ok(
        workspace.finetune(
            *options, "--epochs", "12", "--learning-rate", "3e-3", "--thresholds", "each"
        )
    )
    table = json.loads(ok(workspace.compare("--format", "json")).stdout)
    assert table
    for run in find_runs(workspace.runs):
        record = run.record
        assert record.targets.classes == ("price", "quality", "speed")
        assert record.scores["test"].values["micro_f1"] > 0.7, run.name
        assert isinstance(record.threshold, list) == (record.tuning == "full")
        found = run.predictions("test")
        task = run.task
        assert task.score(found.gold, found.predicted).values == record.scores["test"].values
        text = workspace.folder / "texts.txt"
        text.write_text("cheap it was\nthe film\n", "utf-8")
        answers = workspace.call(
            "predict", run.folder, text, "--runs-dir", workspace.runs, "--format", "jsonl"
        )
        rows = [json.loads(line) for line in ok(answers).stdout.splitlines()]
        assert "price" in rows[0]["answer"]
        for row in rows:
            limits = np.broadcast_to(np.array(record.threshold), 3)
            above = zip(row["probabilities"].items(), limits, strict=True)
            assert row["answer"] == [name for (name, share), t in above if share > t]
        where = ("--runs-dir", workspace.runs, "--cache-dir", workspace.cache)
        ok(workspace.call("evaluate", run.folder, "--data", corpus, *where))
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
