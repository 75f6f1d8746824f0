"""Tables in every format, against the numbers of the runs that they show."""

import csv
import dataclasses
import functools
import importlib
import io
import json
import re
from html import unescape
from types import SimpleNamespace
from typing import Any

import pandas
import pytest
from rich.text import Text

from featbert.analysis.comparison import Comparison, Comparisons
from featbert.analysis.document import VERSION, read_comparisons
from featbert.analysis.published import published_figures
from featbert.api import ExperimentResult, load
from featbert.data.corpus import Corpus, Sentence, Split
from featbert.data.load import load_corpus
from featbert.errors import InputError
from featbert.experiments.file import check_experiment
from featbert.experiments.plan import ExperimentPlan
from featbert.experiments.published import published_table
from featbert.features.store import FeatureStore
from featbert.inference.evaluate import Evaluation, read_evaluation, runs_elsewhere
from featbert.report.html.notebook import html, register_renderers
from featbert.report.html.page import html_report
from featbert.report.listings import corpus_table, run_scores_table
from featbert.report.rendering import (
    EVERYTHING,
    FORMATS,
    Detail,
    as_text,
    harmless,
    in_format,
    render,
)
from featbert.report.table import Table
from featbert.report.tables import comparison_tables, transfer_tables
from featbert.runs.record import SplitIdentity
from featbert.runs.run import FoundRuns, Run, check_usable, find_runs
from tests.analysis.evaluation_records import evaluate, identity, language_run, transfer_runs
from tests.analysis.records import (
    compare,
    compare_runs,
    make_run,
    make_scores,
    make_seeds,
    usual_runs,
)
from tests.report.html.judged import usual as judged
from tests.workspace import Workspace


def full(runs=None):
    """A comparison with every analysis that needs no predictions."""
    asked = {"cost": True, "scorers": True, "published": ["devlin2019-table7"]}
    return compare_runs(runs or usual_runs(), **asked)


def on_corpus(name: str) -> dict[str, Any]:
    """Changes of a run on another corpus."""
    splits = {s: SplitIdentity(name + s, "t", 150, 3201) for s in ("train", "dev", "test")}
    return {"signature": {"corpus": name, "splits": splits}}


def with_floor(runs: list[Run], floor: float | None) -> list[Run]:
    """The runs, of tasks in which so much needs no skill."""
    for scores in (run.record.scores for run in runs):
        scores |= {s: dataclasses.replace(each, floor=floor) for s, each in scores.items()}
    return runs


def grid(table) -> dict[str, dict[str, str]]:
    """Texts by the first cell of the row and the column's head."""
    heads = [column.head for column in table.columns]
    return {r[0].text: dict(zip(heads, (c.text for c in r), strict=True)) for r in table.rows()}


def test_cells_are_the_numbers_of_the_rows() -> None:
    (comparison,) = compare(usual_runs())
    (table,) = comparison_tables(comparison)["scores"]
    shown = grid(table)
    assert list(shown) == [row.label for row in comparison.rows]
    for row in comparison.rows:
        cells = shown[row.label]
        assert cells["seeds"] == "3"
        for split in comparison.splits:
            score = row.score(split)
            text = f"{100 * score.mean:.2f} ± {100 * score.sd:.2f}"
            assert cells[f"{split} entity F1"] == text
            less = "baseline" if row.is_baseline else f"{100 * row.difference[split]:+.2f}"
            assert cells[f"Δ {split}"] == less
    assert shown["fine-tuning"]["extraction"] == "–"
    assert table.sections == [False, False, False, True]
    (dev,) = [column for column in table.columns if column.head == "dev entity F1"]
    assert [cell.best for cell in dev.cells(table.lines)] == [False, False, False, True]
    (table,) = comparison_tables(comparison, show=["strict_f1"])["scores"]
    mean = comparison.rows[0].mean("dev", "strict_f1")
    assert grid(table)["embeddings"]["dev strict F1"].startswith(f"{100 * mean:.2f}")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return full()


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_has_every_row_and_analysis(comparison, format) -> None:
    text = render(Comparisons((comparison,), notes=("a note",)), format)
    assert text.endswith("\n")
    for row in comparison.rows:
        label = row.label.replace("_", r"\_") if format in ("markdown", "latex") else row.label
        assert text.count(label) >= 3, (format, row.label)
    assert format == "csv" or "a note" in text
    assert render([], format) is not None
    assert render(comparison, format) == render([comparison], format)
    with pytest.raises(InputError, match="'jsn'"):
        render([comparison], "jsn")


def test_narrow_terminals_split_tables_and_no_word() -> None:
    runs = usual_runs()
    for name, rate in (("a", 1e-3), ("b", 3e-5)):
        runs += make_seeds(name, [0.5, 0.6], settings={"epochs": 4, "learning_rate": rate})
    comparison = full(runs)
    plain = render(comparison, "text", detail=EVERYTHING)
    for width in (60, 80, 100):
        styled = render(comparison, "text", width=width, detail=EVERYTHING)
        assert ("\x1b[" in styled, "\x1b[" in plain) == (True, False)
        text = Text.from_ansi(styled).plain
        assert max(map(len, text.split("\n"))) <= width
        assert {*text.split()} <= {*plain.split(), *("─" * n for n in range(width + 1))}
        if width >= 80:  # what means nothing without the column before it stays with it
            assert not re.search(r"\n\s+row\s+(a run|cheaper|from|Δ  |over|p |winner)", text)


def test_a_terminal_of_100_columns_has_one_table_and_the_rest_on_request() -> None:
    (scores,) = comparison_tables(compare_runs(usual_runs()))["scores"]

    def shown(width: int = 100, **detail: Any) -> tuple[list[str], str]:
        """Heads of columns on one line each, and the whole text."""
        text = in_format([scores], "text", width=width, detail=Detail(**detail))
        plain = Text.from_ansi(text).plain
        (line,) = (line for line in plain.splitlines() if line.startswith(" row "))
        return re.findall(r"\S+(?: \S+)*", line), plain

    columns, text = shown()
    assert columns[0] == "row"
    assert {"Δ test", "operations", "training"} < {*columns}
    assert not {"memory", "store"} & {*columns}
    assert "memory" in text.splitlines()[-1]
    assert scores.legend[0][:30] not in text
    assert scores.legend[0][:30] in shown(explain=True)[1]
    assert shown(1000, wide=True)[0] == [column.head for column in scores.columns]
    assert shown(columns=["memory", "Δ dev"])[0] == ["row", "Δ dev", "memory"]
    assert "training" in shown(80)[0]
    assert "operations" not in shown(80)[0]
    with pytest.raises(InputError, match="'memory'"):
        shown(columns=["memroy"])


def test_csv_has_each_row_once_with_unrounded_numbers_and_no_formulas(tmp_path) -> None:
    runs = [*judged(tmp_path), *make_seeds("a", [0.5], signature={"context": "document"})]
    asked = {"stats": True, "cost": True, "scorers": True, "by": ["type", "length"]}
    one, other = comparisons = compare(runs, **asked)
    frame = pandas.read_csv(io.StringIO(render(comparisons, "csv")))
    assert [*zip(frame["comparison"], frame["row"], strict=True)] == [
        (n, row.name) for n, found in ((1, one), (2, other)) for row in found.rows
    ]
    for (_, line), row in zip(frame.iterrows(), [*one.rows, *other.rows], strict=True):
        assert line["dev_f1_mean"] == row.mean("dev")
        assert line["test_word_f1_mean"] == row.mean("test", "word_f1")
        assert line["training_seconds_mean"] == row.cost.training_seconds.mean
    assert frame["test_f1_type_PER_mean"].notna().tolist() == [False, *3 * [True]]
    assert {str(frame[name].dtype) for name in ("test_difference", "test_p")} == {"float64"}
    assert harmless("=1+1") == "'=1+1"
    assert harmless(-1.5) == -1.5


def test_a_column_of_csv_is_whole_only_if_all_its_numbers_are_and_none_is_missing() -> None:
    """So that a table with and without fine-tuning is read with the same types."""
    tuned, features = make_seeds("t", [0.5, 1.0], layers=None), make_seeds("f", [1.0, 1.0])

    def columns(runs, *names: str) -> list[list[str]]:
        rows = [*csv.DictReader(io.StringIO(render(compare(runs), "csv")))]
        return [[row[name] for row in rows] for name in names]

    found = columns([*tuned, *features], "seeds", "store_bytes", "dev_f1_mean")
    assert found == [["2", "2"], ["99000000.0", ""], ["1.0", "0.75"]]
    assert columns(features, "store_bytes") == [["99000000"]]


def test_json_has_every_number_with_its_runs_and_is_read_again(tmp_path) -> None:
    diverged = make_run("a", seed=9, cost={"training_flops": float("inf")})
    comparisons = Comparisons((full([*usual_runs(), diverged]),), notes=("a note",))
    text = render(comparisons, "json")
    (data,) = json.loads(text)["comparisons"]
    for row, line in zip(comparisons[0].rows, data["rows"], strict=True):
        assert (line["label"], line["scores"]["dev"]["f1"]["mean"]) == (row.label, row.mean("dev"))
        scores = {one["name"]: one["scores"]["dev"]["f1"] for one in line["runs"]}
        assert scores == {run.name: run.scores["dev"]["f1"] for run in row.runs}
    (path := tmp_path / "comparison.json").write_text(text, "utf-8")
    again = read_comparisons(path)
    assert again == comparisons
    assert render(again, "json") == text
    other_version = text.replace(f'"version": {VERSION}', '"version": 0')
    for broken in ("", "{}", "[" * 100_000, other_version, text[:-9]):
        path.write_text(broken, "utf-8")
        with pytest.raises(InputError, match=re.escape(str(path))):
            read_comparisons(path)


def test_the_answer_is_above_the_scores(comparison, monkeypatch) -> None:
    monkeypatch.setattr("featbert.report.html.page.comparison_figures", lambda *_: ())
    for draw in (render, functools.partial(render, format="markdown"), html, html_report):
        plain = unescape(draw(comparison).replace("\\", ""))
        places = [plain.index(line) for line in comparison.answer]
        assert len(places) >= 2
        assert places == sorted(places)
        assert places[-1] < plain.index("61.17 ± ")


def test_hostile_names_are_text_in_every_format() -> None:
    name = "<b>x</b>|&_\x1b[31m\n=cmd"
    run = make_run("a", layers=name)
    comparison = compare_runs([run])
    for format in FORMATS:
        assert "\x1b" not in render([comparison], format)
    for page in (html(comparison), html(run)):
        assert "<b>x</b>" not in page
        assert "&lt;b&gt;x" in page


def test_published_figures_are_next_to_rows_and_differ_only_on_the_same_data(comparison) -> None:
    (found,) = comparison.published
    named = {line["published"]: line for line in found.lines}
    line = named["concat_last4 (bert-base-cased)"]
    (row,) = (row for row in comparison.rows if row.name == line["row"] == "concat_last4")
    assert line["dev_published"] == pytest.approx(0.961)
    assert line["dev_here_mean"] == row.mean("dev")
    assert line["dev_difference"] is None
    same = {"model": "bert-base-cased", "corpus": "conll2003"}
    runs = make_seeds("a", [0.95, 0.96], signature=same)
    (other,) = full(runs).published
    line = next(one for one in other.lines if one["row"])
    assert line["dev_difference"] == pytest.approx(0.955 - 0.961)
    # SQuAD 1.1 and 2.0 have names that differ in a number alone.
    names = {"squad": "devlin2019-table2", "squad_v2": "devlin2019-table3"}
    runs = [make_run(name, layers=None, test=None, **on_corpus(name)) for name in names]
    comparison = compare_runs(runs, vary=["corpus"])
    for name, table in names.items():
        found = published_figures(comparison, published_table(table))
        rows = {line["row"].partition(" · ")[2] for line in found.lines if line["row"]}
        assert rows == {name}


@pytest.mark.parametrize(
    ("table", "line_of", "corpora"),
    [
        ("devlin2019-table7", {}, ("conll2003", "conll2003-en", "CoNLL-2003_English")),
        ("baumann2019-table3", {}, ("conll2003-de",)),
        ("baumann2019-table4", {"language": "en"}, ("conll2003", "conll2003-en")),
        ("baumann2019-table4", {"language": "de"}, ("conll2003-de",)),
    ],
)
def test_published_figures_are_of_one_language_and_corpus(table, line_of, corpora) -> None:
    """A name that the corpus only begins with is of another one."""
    published = published_table(table)
    labels = {", ".join(f"{n}={v}" for n, v in line_of.items())} - {""}
    names = ("conll2003", "conll2003-en", "CoNLL-2003_English", "conll2003-de", "conll", "c")
    differing = set()
    for name in names:
        for model in ("bert-base-cased", "bert-base-multilingual-cased"):
            signature = on_corpus(name)["signature"] | {"model": model}
            (comparison,) = compare([make_run(layers=None, signature=signature)])
            differing |= {
                name
                for line in published_figures(comparison, published).lines
                if line["dev_difference"] is not None
                and all(label in line["published"] for label in labels)
            }
    assert differing == {*corpora}


def test_transfer_is_a_table_by_what_was_trained_and_evaluated_on(tmp_path) -> None:
    f1 = {("en", "en"): 0.9, ("en", "de"): 0.6, ("de", "de"): 0.8, ("de", "en"): 0.65}
    runs = transfer_runs(tmp_path, f1)
    comparisons = compare(runs, transfer=True, published=["pires2019-table1"])
    for format in FORMATS:
        assert "concat" in render(comparisons, format)
    matrix, published = transfer_tables(comparisons.matrices, comparisons.published)
    (printed, *_) = published_table("pires2019-table1").rows
    scores = {name: pytest.approx(f1 / 100) for name, f1 in printed.test.items()}
    assert published.lines[0] == {"trained_on": printed.train, **scores}
    cells = {row["trained_on"]: row for row in matrix.lines}
    for (train, test), mean in f1.items():
        assert cells[train][f"{test}_mean"] == pytest.approx(mean)


def test_corpora_of_one_name_and_a_class_called_all_have_lines_of_their_own(tmp_path) -> None:
    run = language_run(tmp_path, "de")
    scores = make_scores(0.3)
    scores = dataclasses.replace(scores, by_class={"all": make_scores(0.2).by_class["PER"]})
    evaluate(run, "nl", 0.4, source="a", identity=identity("nl", "a"))
    path = evaluate(run, "nl", 0.4, source="b", identity=identity("nl", "b"), scores=scores)
    assert len([*path.parent.iterdir()]) == 2
    lines = [line for line in run_scores_table(run).lines if "nl" in line["scores"]]
    names = ["wikiann-nl test (a) all", "wikiann-nl test (a) PER", *["wikiann-nl test (b) all"] * 2]
    assert sorted(line["scores"] for line in lines) == sorted(names)
    found = [line["f1"] for line in lines if "(b)" in line["scores"]]
    assert found == pytest.approx([scores.values["f1"], scores.by_class["all"]["f1"]])
    with pytest.raises(InputError):
        runs_elsewhere([run], "wikiann-nl")
    (there,) = runs_elsewhere([run], "b")
    assert there.record.scores["test"] == scores


def test_labels_called_as_other_columns_of_a_corpus() -> None:
    rows = (Sentence(("a", "b", "c"), ("words", "words", "split")),)
    (line,) = corpus_table(Corpus("x", {"dev": Split("dev", rows)}, targets="labels")).rows()
    assert [cell.text for cell in line] == ["dev", "1", "3", "3", "1", "2"]


def test_tests_of_other_pairs_than_with_the_baseline_make_no_table() -> None:
    comparison = compare_runs(usual_runs(), stats=True)
    features = [row.name for row in comparison.rows if not row.is_baseline]
    pair = {"row": features[0], "baseline": features[1]}
    others = tuple(dataclasses.replace(d, **pair) for d in comparison.differences)
    assert comparison_tables(comparison)["trust"]
    comparison = dataclasses.replace(comparison, differences=others)
    assert not comparison_tables(comparison)["trust"]
    assert render([comparison], "text", width=80)


def fold_tables(scores: dict[str, tuple[float, list[float]]], **other: Any) -> list[Table]:
    """Of fine-tuning and another row, by corpus."""
    runs = []
    for name, (tuned, of_other) in scores.items():
        runs += make_seeds(f"{name}-tuned", [tuned], layers=None, **on_corpus(name))
        runs += make_seeds(f"{name}-other", of_other, **other, **on_corpus(name))
    return comparison_tables(compare_runs(runs, vary=["corpus"]))["scores"]


def test_folds_have_means_over_those_that_are_there() -> None:
    """Of each row; another corpus is in no mean."""
    folds = {"c-fold-1-of-5": (0.5, [0.6, 0.62]), "c-fold-3-of-5": (0.7, [0.9, 0.92])}
    scores, means = fold_tables({**folds, "d": (0.1, [0.2, 0.22])}, layers="last")
    narrow = Text.from_ansi(as_text(scores, 80)).plain.splitlines()
    heads = [line.split() for line in narrow if line.split()[:1] == ["row"]]
    assert len(heads) > 1
    assert all(words[1] == "corpus" for words in heads)
    shown = grid(means)
    assert shown.keys() == {"last", "fine-tuning"}
    heads = ("folds", "dev entity F1", "Δ dev")
    assert [shown["last"][head] for head in heads] == ["2", "76.00 ± 21.21", "+16.00"]
    assert [shown["fine-tuning"][head] for head in heads] == ["2", "60.00 ± 14.14", "baseline"]


def test_a_baseline_of_one_fold_has_a_difference_of_0_there() -> None:
    folds = {"c-fold-1-of-2": (0.5, [0.6]), "c-fold-2-of-2": (0.9, [0.6])}
    _, means = fold_tables(folds, layers=None, settings={"epochs": 9})
    deltas = [line["Δ dev"] for line in grid(means).values()]
    assert sorted(deltas) == ["-15.00", "-5.00"]  # -10 and 0, 0 and -30


def test_a_row_has_one_mean_if_a_search_chose_its_settings_for_each_fold() -> None:
    """Rows of one fold with different rates have a mean each."""

    def shown(rates: dict[str, list[float]]) -> list[str]:
        runs = [
            make_run(
                f"{fold}-{rate}",
                configurations_tried=3,
                settings={"epochs": 5, "learning_rate": rate},
                **on_corpus(f"c-fold-{fold}-of-2"),
            )
            for fold, of_fold in rates.items()
            for rate in of_fold
        ]
        _, means = comparison_tables(compare_runs(runs, vary=["corpus"]))["scores"]
        return [line["folds"] for line in grid(means).values()]

    assert shown({"1": [0.1], "2": [0.2]}) == ["2"]
    assert shown({"1": [0.1, 0.2], "2": [0.1, 0.2]}) == ["2", "2"]


def test_a_notebook_has_a_renderer_for_every_object_that_it_shows(finished: Workspace) -> None:
    renderers: dict[type, Any] = {}

    def register(module: str, name: str, renderer: object) -> None:
        renderers[getattr(importlib.import_module(module), name)] = renderer

    register_renderers(SimpleNamespace(for_type_by_name=register))
    comparisons = {Comparison, Comparisons, ExperimentResult}
    others = {Run, FoundRuns, Evaluation, Corpus, FeatureStore}
    assert comparisons | others == {*renderers}
    store = FeatureStore(next(finished.cache.glob("*.h5")))
    corpus = load_corpus(store.manifest.source)
    for shown in (html(corpus), html(store), repr(corpus)):
        for name, split in corpus.splits.items():
            assert name in shown
            assert f"{split.n_words:,}" in shown


def test_a_notebook_shows_runs_that_are_ready_to_use_as_the_runs(finished: Workspace) -> None:
    runs = {run.record.tuning: run for run in find_runs(finished.runs)}
    assert runs.keys() == {"none", "full"}
    for run in runs.values():
        for usable in (check_usable(run), load(run)):
            assert (html(usable), repr(usable)) == (html(run), repr(run))


def test_a_notebook_shows_results_as_tables_and_a_line(tmp_path):
    experiment = check_experiment({"name": "trial", "data": "x", "features": {}}, where="x.toml")
    comparisons = compare(usual_runs())
    result = ExperimentResult(ExperimentPlan(experiment, tmp_path, tmp_path), comparisons)
    assert html(result) == html(comparisons)
    assert repr(result) == "<ExperimentResult: trial · 1 comparison of 12 runs>"
    run = language_run(tmp_path, "en")
    path = evaluate(run, "de", 0.4321)
    evaluation = Evaluation(run, read_evaluation(run, path), path)
    for shown in (html(evaluation), repr(evaluation)):
        assert "wikiann-de test" in shown
        assert "43.21" in shown
    assert len(repr(evaluation)) < 100
