"""Rows against their baseline, from predictions on disk."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from featbert.analysis import significance as module
from featbert.analysis.comparison import Comparison, Difference
from featbert.analysis.interval import (
    difference_estimate,
    holm,
    score_estimate,
    seeds_estimate,
)
from featbert.data.corpus import Sentence
from featbert.report.tables import comparison_tables
from featbert.runs.folder import TESTS
from featbert.runs.record import SplitIdentity, read_json, to_json
from featbert.runs.run import Run
from featbert.tasks.base import get_task
from featbert.tasks.entities import TASK
from featbert.tasks.measures import f1_of
from tests.analysis.records import compare, compare_runs, make_signature
from tests.report.html.judged import make_run

N = 24


def make(folder: Path, name: str, seed: int, share: float, **changes) -> Run:
    """A finished run with predictions of dev, in documents of three sentences."""
    return make_run(
        folder, name, seed, share, **{"splits": ("dev",), "n": N, "in_document": 3} | changes
    )


def both(folder: Path, seeds=(1, 2, 3), **changes) -> list[Run]:
    return [
        *(make(folder, "tuned", seed, 0.3, layers=None, **changes) for seed in seeds),
        *(make(folder, "concat", seed, 0.6, layers="concat_last4", **changes) for seed in seeds),
    ]


def compared(runs: list[Run]) -> Comparison:
    (comparison,) = compare(runs, stats=True)
    return comparison


def documents(*runs: Run) -> np.ndarray:
    """Counts of the documents of each run."""
    answers = [run.predictions("dev") for run in runs]
    counts = np.array([TASK.counts(of_run.gold, of_run.predicted) for of_run in answers])
    return counts.reshape(len(runs), N // 3, 3, -1).sum(2)


def test_a_row_has_one_interval_over_seeds_and_documents(tmp_path) -> None:
    runs = both(tmp_path)
    comparison = compared(runs)
    assert "by dev" not in comparison_tables(comparison)["trust"][0].subtitle
    (found,) = comparison.differences  # the best by dev is the baseline
    assert (found.row, found.baseline, found.split) == ("concat_last4", "fine-tuning", "dev")
    assert found.units == "documents"
    tuned, concat = (documents(*side) for side in (runs[:3], runs[3:]))
    one_test = found.estimate
    assert one_test == difference_estimate(tuned, concat, f1_of)
    assert (found.low, found.high) == pytest.approx((one_test.low, one_test.high))
    f1 = [[run.record.scores["dev"].values["f1"] for run in side] for side in (runs[:3], runs[3:])]
    assert found.value == pytest.approx(np.mean(f1[1]) - np.mean(f1[0]))
    concat_row, tuned_row = comparison.rows
    assert tuned_row.estimates["dev"] == score_estimate(tuned, f1_of)
    assert concat_row.estimates["dev"] == score_estimate(concat, f1_of)
    opposite = comparison.difference(tuned_row, concat_row, "dev")
    assert opposite.estimate == difference_estimate(concat, tuned, f1_of)


def test_a_run_without_a_seed_stands_for_every_seed(tmp_path) -> None:
    """Its variance over seeds is 0, and that of the other row is covered."""
    tuned = [make(tmp_path, "tuned", seed, 0.3, layers=None) for seed in (1, 2, 3, 4)]
    solver = {"body": "logistic"}
    solved, again, drawn = (
        make(tmp_path, name, 1, 0.6, layers="last", settings=settings)
        for name, settings in (
            ("solved", solver),
            ("again", solver),
            ("drawn", solver | {"train_share": 0.5}),
        )
    )
    (found,) = compared([*tuned, solved]).differences
    counts = documents(*tuned), documents(*[solved] * 4)
    assert found.estimate == difference_estimate(*counts, f1_of)
    assert found.estimate.covers_seeds
    assert found.estimate.seed_variances[1] == 0
    for run in (*tuned, solved):  # the interval over seeds needs no predictions
        run.predictions_path("dev").unlink()
    (over_seeds,) = compared([*tuned, solved]).differences
    scores = [[run.record.score("dev") for run in side] for side in (tuned, [solved] * 4)]
    assert over_seeds.estimate == seeds_estimate(*scores)
    for run, has_seed in ((drawn, True), (again, False)):
        assert compared([run]).rows[0].estimates["dev"].covers_seeds != has_seed


def test_equal_scores_on_every_part_of_the_text_have_no_interval(tmp_path) -> None:
    """Their variance would be 0, as if other text could give no other score."""
    comparison = compared([make(tmp_path, "t", 1, 0.0), make(tmp_path, "f", 1, 0.0, layers=None)])
    assert comparison.differences == ()
    assert [row.estimates for row in comparison.rows] == [{}, {}]
    assert comparison.test_notes


@pytest.mark.parametrize(
    ("in_document", "seeds", "units", "note"),
    [
        (2, 3, 12, None),
        (3, 3, 8, "rough"),
        (8, 3, 0, "too few"),  # the interval is over seeds
        (8, 2, None, "too few"),
        (N, 3, N, None),  # one document is not a unit
        (0, 1, N, None),
    ],
)
def test_few_documents_are_named_and_fewer_are_no_units(
    tmp_path, in_document, seeds, units, note
) -> None:
    """Sentences are the units if there are no documents."""
    runs = both(tmp_path, range(1, seeds + 1), in_document=in_document)
    comparison = compared(runs)
    assert [d.estimate.units for d in comparison.differences] == [units] * (units is not None)
    if units == N:
        (found,) = comparison.differences
        assert (found.units, found.estimate.covers_seeds) == ("sentences", seeds == 3)
        answers = runs[0].predictions("dev")
        expected = TASK.counts(answers.gold, answers.predicted)
        assert runs[0].counts("dev").units.tolist() == expected.tolist()
    notes = "; ".join(comparison.test_notes)
    assert [word for word in ("rough", "too few") if word in notes] == [note] * (note is not None)


def test_few_documents_are_named_beside_a_text_with_many(tmp_path) -> None:
    runs = []
    for corpus, letter, n in (("small", "x", 60), ("large", "y", 300)):
        splits = {name: SplitIdentity(letter * 64, letter * 64, n, n) for name in ("train", "dev")}
        signature = {"corpus": corpus, "splits": splits}
        runs += both(tmp_path / corpus, seeds=(1,), n=n, in_document=10, signature=signature)
    comparison = compare_runs(runs, vary=["corpus"], stats=True)
    assert {d.estimate.units for d in comparison.differences} == {6, 30}
    (note,) = (note for note in comparison.test_notes if "rough" in note)
    assert note.startswith("6 documents")


def test_holm_adjusts_for_all_pairs_of_a_split_and_intervals_fit(tmp_path) -> None:
    others = [make(tmp_path, "last", seed, 0.1, layers="last") for seed in (1, 2, 3)]
    others += [make(tmp_path, "mix", s, 0.31, layers="weighted_all") for s in (1, 2, 3)]
    comparison = compared([*both(tmp_path), *others])
    pairs = {frozenset((d.row, d.baseline)) for d in comparison.differences}
    p_values = [d.estimate.p_value for d in comparison.differences]
    assert len(pairs) == len(comparison.differences) >= 5
    assert [d.adjusted for d in comparison.differences] == holm(p_values)
    signs = set()
    for d in comparison.differences:
        assert (d.low > 0 or d.high < 0) == (d.adjusted < 0.05) == bool(d.sign)
        assert d.high - d.low >= d.estimate.high - d.estimate.low - 1e-12
        signs.add(abs(d.sign))
    assert signs == {0, 1}


def test_the_pair_that_dev_chose_is_tested_alone_on_test(tmp_path) -> None:
    """Further rows do not change its interval there."""
    splits = {"splits": ("dev", "test")}
    runs = both(tmp_path, **splits)
    (alone,) = (d for d in compared(runs).differences if d.split == "test")
    for name, share in (("last", 0.65), ("second", 0.7), ("first", 0.9)):
        runs += [make(tmp_path, name, s, share, layers=name, **splits) for s in (1, 2, 3)]
    comparison = compared(runs)
    (contest,) = comparison.contests
    on_test = {(d.row, d.baseline): d for d in comparison.differences if d.split == "test"}
    pair = on_test.pop((alone.row, alone.baseline))
    assert {pair.row, pair.baseline} == {contest.features, contest.tuned}
    assert pair == contest.difference == alone
    assert (pair.adjusted, pair.level) == (pair.estimate.p_value, 0.95)
    others = [*on_test.values()]
    assert len(others) == 3
    assert [d.adjusted for d in others] == holm([d.estimate.p_value for d in others])
    on_dev = [d for d in comparison.differences if d.split == "dev"]
    assert [d.adjusted for d in on_dev] == holm([d.estimate.p_value for d in on_dev])


def test_a_p_value_of_0_has_an_interval_of_all_tests() -> None:
    clear = replace(seeds_estimate([0.1, 0.2, 0.3], [0.4, 0.5, 0.6]), p_value=0.0)
    tests = [Difference(f"{i}", "base", "test", "examples", clear, 0, 0, 0) for i in range(20)]
    assert {d.level for d in module._adjusted(tests)} == {1 - 0.05 / 20}


def test_bold_is_better_than_the_next_by_its_interval(tmp_path) -> None:
    runs = [make(tmp_path, "good", seed, 0.02, layers="last", n=90) for seed in (1, 2, 3)]
    runs += [make(tmp_path, "bad", seed, 0.9, layers="first", n=90) for seed in (1, 2, 3)]
    assert compared(runs).best == {"dev": ("last",)}
    runs += [make(tmp_path, "alike", seed, 0.03, layers="layer:2", n=90) for seed in (1, 2, 3)]
    assert compared(runs).best == {"dev": ()}


def test_rows_need_no_common_seed_and_removed_predictions_leave_the_seeds(tmp_path) -> None:
    runs = both(tmp_path)
    (found,) = compared(runs[1:]).differences  # fine-tuning lost seed 1
    assert found.estimate.seeds == (2, 3)
    assert len(compared([*runs[:1], *runs[4:]]).differences) == 1
    (runs[4].folder / "dev.conll").unlink()
    comparison = compared(runs)
    (found,) = comparison.differences
    scores = [comparison.row(name).score("dev").values for name in (found.baseline, found.row)]
    assert found.estimate == seeds_estimate(*scores)
    assert any("concat_last4" in note for note in comparison.test_notes)
    assert [row.estimates["dev"].covers_text for row in comparison.rows] == [False, True]


def test_the_legend_names_rows_whose_interval_is_over_seeds_only(tmp_path) -> None:
    runs = both(tmp_path) + [make(tmp_path, "last", seed, 0.1, layers="last") for seed in (1, 2, 3)]
    for named in ([], ["last"]):
        legend = comparison_tables(compared(runs))["trust"][0].legend
        assert [line.rpartition(" ")[2] for line in legend if "seeds only" in line] == named
        (runs[-1].folder / "dev.conll").unlink(missing_ok=True)


@pytest.mark.parametrize(("floor", "learned"), [(0.3, True), (0.65, False)])
def test_a_row_learned_if_its_interval_is_above_the_floor(tmp_path, floor, learned) -> None:
    runs = both(tmp_path)
    for run in runs:
        scores = {"dev": replace(run.record.scores["dev"], floor=floor)}
        run.record.scores.update(scores)
    for row in compared(runs).rows:
        estimate = row.estimates["dev"]
        assert (estimate.null, estimate.low > floor) == (floor, "dev" in row.learned)
    assert ("dev" in compared(runs).row("concat_last4").learned) == learned


def test_tests_are_kept_by_what_was_predicted(tmp_path, monkeypatch) -> None:
    runs = both(tmp_path)
    first = compared(runs)
    tests = {p: read_json(p, module.KeptTest, "") for p in (tmp_path / TESTS).iterdir()}
    (kept,) = (path for path, test in tests.items() if len(test.predictions) == 6)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("tested again")

    monkeypatch.setattr(module, "estimate", never)
    assert compared(runs) == first
    monkeypatch.undo()
    kept.write_text("{", "utf-8")
    assert compared(runs) == first
    assert json.loads(kept.read_text("utf-8"))["test"]["units"] == 8
    # A number that was edited is not believed, nor another test's file in its place.
    sound = kept.read_text("utf-8")
    for edited in (
        sound.replace('"units": 8', '"units": 9'),
        re.sub(r'"p_value": [0-9.e-]+', '"p_value": 0.0001', sound),
        to_json(replace(read_json(kept, module.KeptTest, ""), of="f" * 32)),
    ):
        assert edited != sound
        kept.write_text(edited, "utf-8")
        assert compared(runs) == first
        assert kept.read_text("utf-8") == sound
    kept.unlink()
    os.mkfifo(kept)
    assert compared(runs) == first
    # Other predictions are other tests, whatever the record says.
    path = runs[3].folder / "dev.conll"
    path.write_text(path.read_text("utf-8").replace("B-ORG\tO", "B-ORG\tB-ORG"), "utf-8")
    assert compared(runs).differences != first.differences
    # A runs directory that cannot be written to keeps nothing.
    (tmp_path / TESTS).rename(tmp_path / "kept")
    (tmp_path / TESTS).write_text("in the way", "utf-8")
    assert len(compared(runs).differences) == 1


def test_rows_of_two_encoders_are_told_apart_and_tested_each_with_its_own(tmp_path) -> None:
    """Labels do not hold what the whole comparison varies."""
    runs = both(tmp_path / "a")
    other = {"signature": {"model": "other", "encoder_weights": "f" * 64}}
    runs += [
        *(make(tmp_path / "b", "tuned", seed, 0.1, layers=None, **other) for seed in (1, 2)),
        *(make(tmp_path / "b", "concat", seed, 0.8, **other) for seed in (1, 2)),
    ]
    comparison = compare_runs(runs, vary=["model"], stats=True, cost=True, by=["type"])
    assert {
        (d.row, d.baseline): d.estimate.seeds
        for d in comparison.differences
        if d.row.startswith("concat")
    } == {
        (f"concat_last4 · {model}", f"fine-tuning · {model}"): seeds
        for model, seeds in (("all-MiniLM-L6-v2", (3, 3)), ("other", (2, 2)))
    }
    (parted,) = comparison.breakdowns
    assert len(parted.rows) == len(comparison.prices) == 4
    splits = {name: replace(one, tags="9" * 64) for name, one in make_signature().splits.items()}
    retagged = make(tmp_path / "c", "last", 1, 0.5, layers="last", signature={"splits": splits})
    found = compare_runs([*runs, retagged], vary=["tags", "model"], by=["type"]).breakdowns
    assert [len(one.rows) for one in found] == [1, 4]  # apart, as their gold counts differ


def test_classes_are_subtracted_from_themselves(tmp_path) -> None:
    """Runs that know other classes of the same answers, as those trained on two corpora."""
    task, random = get_task("classification:macro_f1"), np.random.default_rng(1)
    gold = [[name] for name in random.choice(["x", "y"], 60)]
    sentences = [Sentence((f"{n}",), (*answer,), texts=(f"{n}",)) for n, answer in enumerate(gold)]
    runs, found = [], []
    for layers, known in ((None, ("x", "y", "z")), ("concat_last4", ("w", "x", "y"))):
        run = make(tmp_path, str(layers), 1, 0.3, layers=layers, task=task.name)
        predicted = [[str(random.choice([*known, answer[0]]))] for answer in gold]
        task.write_predictions(run.folder / task.predictions_name("dev"), sentences, predicted)
        scores = {"dev": task.score(gold, predicted)}
        signature = replace(run.record.signature, entity_types=[*known])
        runs.append(Run(run.folder, replace(run.record, scores=scores, signature=signature)))
        found.append(task.counts(gold, predicted, ["w", "x", "y", "z"]))
    (tested,) = compared(runs).differences
    first, second = (counts[None] for counts in found)
    assert tested.estimate == difference_estimate(first, second, task.measure.of)


def test_a_pair_that_is_tested_on_one_split_alone_has_no_p_on_the_other(tmp_path) -> None:
    runs = both(tmp_path, splits=("dev", "test"))
    for run in runs[:2]:  # two seeds have no interval over seeds
        (run.folder / "test.conll").unlink()
    (comparison,) = compare([*runs[:2], *runs[3:]], stats=True)
    assert [d.split for d in comparison.differences] == ["dev"]
    line = comparison.frame().set_index("row").loc["concat_last4"]
    assert line[["test_p_adjusted", "test_low"]].isna().all()
    assert comparison_tables(comparison)["trust"]
