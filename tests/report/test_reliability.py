"""The reliability diagram shows the bins of each row's probabilities."""

import dataclasses

import numpy as np
import pytest

from featbert.analysis.document import read_comparisons, to_json
from featbert.errors import InputError
from featbert.report.figures.registry import plot
from featbert.runs.run import Run
from featbert.tasks.forecasts import Forecasts, ProbabilityScores
from tests.analysis.records import compare, usual_runs
from tests.report.test_figures import check_readable


def with_probabilities(run: Run) -> Run:
    rng = np.random.default_rng(run.record.seed)
    made = Forecasts(rng.dirichlet(np.ones(4) / 4, 500), rng.integers(0, 4, 500))
    kept = ProbabilityScores(made.values(), made.reliability())
    scores = {n: dataclasses.replace(s, probabilities=kept) for n, s in run.record.scores.items()}
    return Run(run.folder, dataclasses.replace(run.record, scores=scores))


def test_a_panel_has_the_bins_of_all_seeds_of_a_row(tmp_path):
    runs = [*map(with_probabilities, usual_runs())]
    path = tmp_path / "comparison.json"
    path.write_text(to_json(compare(runs)), "utf-8")
    (comparison,) = read_comparisons(path)  # without runs
    figure = plot(comparison, "reliability", split="test")
    check_readable(figure)
    panels = [axes for axes in figure.axes if axes.collections]
    assert len(panels) == len(comparison.rows)
    for axes, row in zip(panels, comparison.rows, strict=True):
        parts = [
            run.record.scores["test"].probabilities.reliability
            for run in runs
            if run.name in {member.name for member in row.runs}
        ]
        items, right, confidence = (
            np.sum([getattr(part, name) for part in parts], axis=0)
            for name in ("items", "right", "confidence")
        )
        filled = items > 0
        expected = 100 * np.stack([confidence, right])[:, filled] / items[filled]
        np.testing.assert_allclose(axes.collections[0].get_offsets(), expected.T)


def test_runs_without_probabilities_have_none():
    with pytest.raises(InputError, match="reliability"):
        plot(compare(usual_runs())[0], "reliability")
