"""Several corpora or tasks together: features against fine-tuning, and layers by task."""

import dataclasses

import numpy as np
import pandas
import pytest

from featbert.analysis.comparison import Comparisons
from featbert.analysis.frame import overview_lines
from featbert.analysis.interval import seeds_estimate
from featbert.report.figures.registry import crossing_figures
from featbert.report.rendering import render
from featbert.report.tables import overview_tables
from featbert.runs.record import Mix
from featbert.runs.run import Run
from featbert.tasks.base import Scores
from tests.analysis.records import compare, make_seeds
from tests.report.test_tables import on_corpus, with_floor


def corpus_runs(name: str, features: list[float], tuned: list[float]) -> list[Run]:
    """Layers 1 to 3, the third of which has the scores `features`, their mix, and fine-tuning."""
    runs = make_seeds(f"{name}-tuned", tuned, layers=None, **on_corpus(name))
    for layer in (1, 2, 3):
        lower = [score - 0.1 * (3 - layer) for score in features]
        own = {"layers": f"layer:{layer}", "layer_indices": [layer]} | on_corpus(name)
        runs += make_seeds(f"{name}-{layer}", lower, **own)
    own = {"layers": "weighted_all", "layer_indices": [1, 2, 3]} | on_corpus(name)
    mix = Mix([1, 2, 3], [0.2, 0.5, 0.3], 1.0)
    return [*runs, *make_seeds(f"{name}-mix", [s - 0.3 for s in features], mix=mix, **own)]


@pytest.fixture(scope="module")
def two() -> Comparisons:
    first = corpus_runs("first", [0.60, 0.61, 0.62], [0.70, 0.715, 0.72])
    return compare([*first, *corpus_runs("second", [0.80, 0.81, 0.82], [0.75, 0.80, 0.86])])


def test_the_best_rows_by_dev_meet_on_test(two: Comparisons) -> None:
    frame = pandas.DataFrame(overview_lines(two))
    assert [*frame["corpus"]] == ["first", "second"]
    assert [*frame["features"]] == ["layer:3", "layer:3"]
    assert {*frame["split"]} == {"test"}
    np.testing.assert_allclose(frame["difference"], frame["features_mean"] - frame["tuned_mean"])
    for (_, line), comparison in zip(frame.iterrows(), two, strict=True):
        by_seed = {row.label: row.score("test").values for row in comparison.rows}
        expected = seeds_estimate(by_seed[line["tuned"]], by_seed[line["features"]])
        difference = comparison.contests[0].difference
        assert difference.estimate == expected
        assert (line["low"], line["high"]) == (difference.low, difference.high)
    assert [*frame["ahead"]] == ["full", "neither"]
    (table,) = overview_tables(two)
    assert [line["corpus"] for line in table.lines] == [*frame["corpus"]]
    assert [column.head for column in table.columns][:4] == ["corpus", "task", "better", "p"]
    (change,) = (column for column in table.columns if column.head == "Δ")
    cells = [cell.text for cell in change.cells(table.lines)]
    assert cells == [f"{100 * difference:+.2f}" for difference in frame["difference"]]
    assert not overview_tables(two[:1])


@pytest.mark.parametrize(("floor", "ahead"), [(None, ["full"]), (0.25, ["full"]), (0.75, [])])
def test_where_neither_learned_anything_they_are_not_compared(floor, ahead) -> None:
    runs = corpus_runs("first", [0.60, 0.61, 0.62], [0.70, 0.71, 0.72])
    lines = overview_lines(compare(with_floor(runs, floor)))
    assert [line["ahead"] for line in lines] == ahead
    assert all(line["high"] < 0 for line in lines)


def test_corpora_of_one_name_keep_their_own_floors_and_lines() -> None:
    runs = []
    for text, floor in (("one", 0.5), ("two", 0.6)):
        changes = {"signature": on_corpus(text)["signature"] | {"corpus": "same"}}
        for layers in ("last", None):
            dev = [0.7, 0.71, 0.72]
            alike = make_seeds(f"{text}-{layers}", dev, layers=layers, vary=["corpus"], **changes)
            runs += with_floor(alike, floor)
    (comparison,) = compare(runs)
    of_dev = [score for (split, _), score in comparison.floors.items() if split == "dev"]
    assert sorted(of_dev) == [0.5, 0.6]
    lines = overview_lines([comparison])
    assert {line["corpus"] for line in lines} == {row.varied["corpus"] for row in comparison.rows}


def test_figures_of_all_comparisons_hold_their_numbers(two: Comparisons) -> None:
    drawn = {name: figure for _, name, figure in crossing_figures(two)}
    assert [*drawn] == ["overview", "tradeoff", "tasks"]
    scores, weights = drawn["tasks"].axes
    cells = [[text.get_text() for text in axes.texts] for axes in (scores, weights)]
    means = [
        [row.mean("test") for row in comparison.rows if len(row.layer_indices or ()) == 1]
        for comparison in two
    ]
    assert cells[0] == [cell for row in means for cell in ("–", *(f"{100 * m:.1f}" for m in row))]
    assert cells[1] == ["–", "20.0", "50.0", "30.0"] * 2
    (axes,) = drawn["overview"].axes
    found = [line.get_xdata()[0] for line in axes.lines[:2]]
    np.testing.assert_allclose(found, [100 * line["difference"] for line in overview_lines(two)])
    assert not list(crossing_figures(two[:1]))


def test_a_score_that_some_rows_lack_is_missing_in_theirs_alone() -> None:
    """F1 of the positive class is of corpora with two classes, and not of those with three."""
    runs = [
        dataclasses.replace(
            run, record=dataclasses.replace(run.record, task="classification", scores=scores)
        )
        for name, values in (("two", {"accuracy": 0.5, "f1": 0.4}), ("three", {"accuracy": 0.7}))
        for run in make_seeds(name, [0.5], settings={"batch_size": len(name)})
        for scores in [{s: Scores(values, {}, 10, 100) for s in ("dev", "test")}]
    ]
    (comparison,) = compare(runs)
    frame = comparison.frame().set_index("setting_batch_size")
    assert frame["test_accuracy_mean"].to_dict() == {3: 0.5, 5: 0.7}
    assert frame["test_f1_mean"].dropna().to_dict() == {3: 0.4}
    assert comparison.frame("run")["test_f1"].notna().sum() == 1
    assert render(compare(runs, show=["f1"]))
