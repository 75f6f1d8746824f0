"""The answer of a comparison: who is best, cheapest, not settled, and what to check first."""

import math
import shutil
import statistics
from dataclasses import replace
from pathlib import Path

import pytest

from featbert.analysis import compare as analysis
from featbert.analysis.comparison import Contest
from featbert.analysis.frame import overview_lines
from featbert.analysis.interval import needed, seeds_estimate
from featbert.analysis.verdict import with_contests
from featbert.config import Analyses
from featbert.runs.record import (
    SUFFIX,
    ExperimentRecord,
    SearchRecord,
    SplitIdentity,
    TriedSettings,
    read_experiment_record,
    write_json,
)
from featbert.runs.run import Run
from featbert.tasks.base import Scores
from tests.analysis.records import (
    compare,
    make_epoch,
    make_run,
    make_scores,
    make_seeds,
    make_signature,
)
from tests.report.html.judged import make_run as judged


def contest(runs, **asked) -> Contest:
    (comparison,) = compare(runs, **asked)
    (found,) = comparison.contests
    assert found.about == ""
    return found


def topics(found: Contest) -> dict[str, str]:
    return dict(found.findings)


TUNED, FEATURES = [0.70, 0.71, 0.72], [0.60, 0.61, 0.62]
LARGER = make_signature().splits | {"train": SplitIdentity("d" * 64, "4" * 64, 900, 20_000)}
TRIAL = {"layers": None, "dev": 0.9, "test": 0.9, "settings": {"epochs": 9}}


def two_rows(tuned=TUNED, features=FEATURES, **changes) -> list[Run]:
    """Three runs `t` of fine-tuning and three runs `f` on features."""
    return [*make_seeds("t", tuned, layers=None, **changes), *make_seeds("f", features, **changes)]


def within(folder: Path, runs: list[Run]) -> list[Run]:
    """The runs in a folder that may hold records of experiments."""
    return [Run(folder / run.name, run.record) for run in runs]


def test_the_answer_is_the_lead_over_the_other_side_with_its_interval() -> None:
    (comparison,) = compare(two_rows())
    (found,) = comparison.contests
    assert (found.leader, found.ahead, found.split) == ("fine-tuning", "fine-tuning", "test")
    expected = seeds_estimate([f - 0.05 for f in FEATURES], [t - 0.05 for t in TUNED])
    answer = topics(found)["Answer"]
    for number in (expected.value, expected.low, expected.high):
        assert f"{100 * number:+.1f}" in answer
    tuned, features = (100 * (statistics.fmean(scores) - 0.05) for scores in (TUNED, FEATURES))
    assert f"{tuned:.1f} against {features:.1f}" in answer
    assert "3 seeds" in answer
    unequal = two_rows(features=[*FEATURES, 0.61])
    assert "3 against 4 seeds" in topics(contest(unequal))["Answer"]
    assert "Not settled" not in topics(found)
    assert comparison.answer[0] == answer
    assert comparison.best == {"dev": ("fine-tuning",), "test": ("fine-tuning",)}


def test_an_open_question_comes_with_what_would_settle_it() -> None:
    (comparison,) = compare(two_rows([0.60, 0.66, 0.72], [0.57, 0.62, 0.67]))
    (found,) = comparison.contests
    assert (found.leader, found.ahead) == ("fine-tuning", None)
    seeds = needed(found.difference.estimate).seeds
    assert seeds > 0
    assert str(seeds) in topics(found)["Not settled"]
    assert comparison.best["test"] == ()
    equal = topics(contest(two_rows([0.6, 0.7, 0.8], [0.8, 0.7, 0.6])))
    assert "means are equal" in equal["Not settled"]


def test_if_seeds_do_not_vary_more_text_is_advised(tmp_path) -> None:
    """All runs of a row have the answers of its first one."""
    runs = []
    for name, layers, share in (("t", None, 0.42), ("f", "last", 0.40)):
        first = judged(tmp_path, name, 1, share, layers=layers, n=300)
        runs.append(first)
        for seed in (2, 3):
            folder = shutil.copytree(first.folder, tmp_path / f"{name}-{seed}")
            runs.append(Run(folder, replace(first.record, seed=seed)))
    found = contest(runs)
    estimate = found.difference.estimate
    advised = needed(estimate, level=found.difference.level)
    assert (estimate.over_seeds, advised.seeds) == (0, None)
    assert f"{float(f'{advised.units:.2g}'):,.0f} more test" in topics(found)["Not settled"]
    assert "seeds will not" in topics(found)["Not settled"]


def test_the_row_that_dev_chose_may_be_behind_on_test() -> None:
    runs = two_rows()
    for run in runs[:3]:
        run.record.scores["test"] = make_scores(0.4 + run.record.seed / 100)
    found = contest(runs)
    assert (found.leader, found.ahead) == ("fine-tuning", "concat_last4")
    assert "-14" in topics(found)["Answer"]


def test_one_seed_without_predictions_has_no_interval_and_with_them_one_over_text(tmp_path) -> None:
    (comparison,) = compare([make_run("t", layers=None), make_run("f", dev=0.5)], stats=True)
    (found,) = comparison.contests
    assert found.difference is None
    assert "[" not in topics(found)["Answer"]
    (note,) = comparison.test_notes
    assert "predictions are missing" in note
    assert "no interval" in note
    assert "other seeds only" in compare(two_rows(), stats=True)[0].test_notes[0]
    runs = [
        judged(tmp_path, n, 1, s, layers=la) for n, la, s in (("t", None, 0.2), ("f", "last", 0.5))
    ]
    found = contest(runs)
    assert not found.difference.estimate.covers_seeds
    for answer in (topics(found)["Answer"], topics(contest(runs[:1]))["Answer"]):
        assert "other seeds are not covered" in answer
    assert f"{found.difference.estimate.units} test documents" in topics(found)["Answer"]


def test_seeds_are_advised_only_for_rows_that_have_one(tmp_path) -> None:
    tuned = judged(tmp_path, "t", 1, 0.49, layers=None)
    solved = judged(tmp_path, "f", 1, 0.5, layers="last", settings={"body": "logistic"})
    found = topics(contest([tuned, solved]))
    assert "of fine-tuning" in found["Not settled"]
    other = judged(tmp_path, "g", 1, 0.51, layers="embeddings", settings={"body": "logistic"})
    found = topics(contest([solved, other]))
    assert "seed" not in found["Answer"] + found["Not settled"]


def with_floor(runs: list[Run], floor: float) -> list[Run]:
    for scores in (run.record.scores for run in runs):
        scores |= {s: replace(each, floor=floor) for s, each in scores.items()}
    return runs


def test_rows_that_did_not_learn_are_named_and_leave_the_answer() -> None:
    runs = [*make_seeds("t", [0.30, 0.31, 0.32], layers=None), *make_seeds("f", [0.6] * 3)]
    runs += make_seeds("low", [0.30] * 3, layers="first")
    (comparison,) = compare(with_floor(runs, 0.25))
    (found,) = comparison.contests
    assert (found.leader, found.cheapest) == ("concat_last4", None)
    assert [row.label for row in comparison.rows if row.competes] == ["concat_last4"]
    cautions = topics(found)["Check first"]
    assert "fine-tuning" in cautions
    assert "first" in cautions
    for front in comparison.fronts:
        assert {point.row for point in front.points if point.on_front} <= {"concat_last4"}
    for run in runs:
        run.record.reading["limit"] = 100  # a caution of rows that learned
    none = contest(with_floor(runs, 0.62))
    assert (none.leader, none.ahead) == (None, None)
    assert "Check first" not in topics(none)
    assert "62.0" in topics(none)["Answer"]


def test_the_cheapest_row_within_a_margin_of_the_best() -> None:
    kept = {"run_bytes": 300_000, "training_flops": 3e13}
    runs = [
        *make_seeds("t", [0.70, 0.70, 0.71], layers=None, cost={"run_bytes": 90_400_000}),
        *make_seeds("l", [0.69, 0.70, 0.70], layers=None, tuning="lora", cost=kept),
        *make_seeds("f", [0.65] * 3, cost={"training_flops": 1e12, "extraction_flops": 1e12}),
    ]
    found = contest(runs)
    assert (found.leader, found.cheapest) == ("fine-tuning", "LoRA")
    line = topics(found)["Cheapest"]
    assert "0.5×" in line
    assert "300" in line
    assert "besides the encoder" in line
    itself = contest(runs, within=0.1)
    assert itself.cheapest == "fine-tuning"
    assert "besides the encoder" not in topics(itself)["Cheapest"]
    assert contest(runs, within=6).cheapest == "concat_last4"
    # A head may have more parameters than the encoder, which it needs nevertheless.
    large = {"run_bytes": 113_401_420, "total_parameters": 50_915_337}
    head = contest(two_rows(features=[0.8] * 3, cost=large))
    assert head.cheapest == "concat_last4"
    assert "113 MB besides the encoder" in topics(head)["Cheapest"]
    assert contest(runs, within=6, cheapest="kept").cheapest == "LoRA"
    assert contest(runs, within=6, cheapest="batched").cheapest is None  # nothing was timed


@pytest.mark.parametrize(
    ("layers", "margin", "cheapest"),
    [
        ([(0.66, 0.72), (0.70, 0.60)], 1, "layer:2"),
        ([(0.66, 0.72), (0.70, 0.60)], 0.1, "fine-tuning"),
        ([(0.67, 0.60), (0.66, 0.66)], 10, "layer:1"),
    ],
)
def test_dev_chooses_the_cheapest_row_within_the_margin(layers, margin, cheapest) -> None:
    """Test decides nothing. Both layers have one cost, and these scores on dev and test."""
    runs = make_seeds("t", [0.70, 0.70, 0.71], layers=None)
    cost = {"training_flops": 1e12, "extraction_flops": 1e12}
    for layer, (dev, test) in enumerate(layers, 1):
        runs += make_seeds(f"l{layer}", [dev] * 3, layers=f"layer:{layer}", cost=cost)
        for run in runs[-3:]:
            run.record.scores["test"] = make_scores(test)
    found = contest(runs, within=margin)
    assert (found.leader, found.cheapest) == ("fine-tuning", cheapest)


def test_of_equal_rows_the_one_with_fewest_operations_leads_and_the_others_are_named() -> None:
    runs = [
        *make_seeds("a", FEATURES, layers="layer:1", cost={"training_flops": 2e12}),
        *make_seeds("b", FEATURES, layers="layer:2", cost={"training_flops": 1e12}),
    ]
    found = contest(runs)
    assert found.leader == "layer:2"
    assert "layer:1" in topics(found)["Check first"]
    assert "Check first" not in topics(contest([*runs, *make_seeds("c", TUNED)]))


def test_no_saving_is_claimed_over_rows_of_unknown_cost() -> None:
    runs = two_rows()
    assert "of known cost" not in topics(contest(runs))["Cheapest"]
    runs += make_seeds("u", FEATURES, layers="last", cost={"extraction_flops": None})
    assert "of known cost" in topics(contest(runs))["Cheapest"]


def test_the_cheapest_row_by_the_time_to_label() -> None:
    good = [0.69, 0.70, 0.70]
    runs = two_rows([0.70, 0.70, 0.71], good) + make_seeds("l", good, layers=None, tuning="lora")
    (comparison,) = compare(runs)
    seconds = {"fine-tuning": 4.0, "LoRA": 4.2, "concat_last4": 1.0}
    rows = tuple(
        replace(row, cost=replace(row.cost, batched_seconds=seconds[row.label]))
        for row in comparison.rows
    )
    for machines, cheapest in ((("one",), "concat_last4"), (("one", "two"), None)):
        timed = replace(comparison, rows=rows, speed_machines=machines)
        members = {row.name: [] for row in rows}
        (found,) = with_contests(timed, members, Analyses(cheapest="batched"), []).contests
        assert found.cheapest == cheapest
        assert ("0.25×" in topics(found).get("Cheapest", "")) == bool(cheapest)


def test_times_of_two_machines_are_not_compared() -> None:
    for threads in (2, 8):
        tuned = make_seeds("tuned", [0.5], layers=None, signature={"threads": threads})
        cost = topics(contest([*tuned, *make_seeds("concat", [0.6])], cost=True))["Cost"]
        assert "fewer operations" in cost
        assert ("less time" in cost) == (threads == 2)


@pytest.mark.parametrize(("last", "rising"), [(0.72, True), (0.682, False)])
def test_epochs_that_were_too_few_are_a_caution_or_limit_the_lead(last, rising) -> None:
    history = [make_epoch(1, 0.9, 0.65), make_epoch(2, 0.5, 0.68), make_epoch(3, 0.4, last)]
    ahead, behind = (make_seeds("t", f1, layers=None, history=history) for f1 in (TUNED, FEATURES))
    found = topics(contest([*ahead, *make_seeds("f", FEATURES)]))
    assert ("fine-tuning" in found.get("Check first", "")) == ("Check first" in found) == rising
    found = contest([*behind, *make_seeds("f", TUNED)])
    assert found.ahead == "concat_last4"
    assert ("3 epochs" in topics(found)["Answer"]) == rising
    assert "Check first" not in topics(found)


@pytest.mark.parametrize("epochs", [2, 20])
def test_a_solver_that_did_best_at_its_end_lacks_penalties_if_there_are_more(epochs) -> None:
    history = [make_epoch(1, 0.9, 0.70), make_epoch(2, 0.5, 0.75)]
    solver = {"body": "logistic", "epochs": epochs}
    found = contest(
        [
            *make_seeds("t", FEATURES, layers=None),
            make_run("f", dev=0.75, test=0.7, settings=solver, history=history, seed=1),
        ]
    )
    advice = topics(found).get("Check first", "")
    assert ("penalty" in advice) == (epochs < 20)
    assert "last epoch" not in advice


FINISHED = ("finished", 0.5)


def searched(folder: Path, chosen: int | None, tried=None, floor: float | None = None) -> None:
    """Writes the record of a search. `tried` are states and dev scores of its three rates."""
    tries = [
        TriedSettings({"learning_rate": rate}, [f"try-{i}"], dev, dev, state, 1.0, 1.0)
        for i, (rate, (state, dev)) in enumerate(
            zip((1e-5, 2e-5, 4e-5), tried or [FINISHED] * 3, strict=True)
        )
    ]
    rows = [] if chosen is None else ["t-1", "t-2", "t-3"]
    search = SearchRecord("full", None, "wikigold", "", "grid", tries, chosen, rows, floor)
    record = ExperimentRecord("trial", "", [], rows, [], [], [], False, {}, [search], {})
    write_json(folder / f"trial{SUFFIX}", record)


def test_the_edge_of_a_search_among_tunings_is_that_of_the_chosen_one(tmp_path) -> None:
    searched(tmp_path, 1)
    record = read_experiment_record(tmp_path, "trial")
    (search,) = record.searches
    tried = [
        replace(trial, settings={"tuning": tuning, "learning_rate": rate})
        for tuning, rates in (("full", (1e-5, 2e-5)), ("lora", (1e-3, 2e-3)))
        for trial, rate in zip(search.tried, rates, strict=False)
    ]
    search = replace(search, tried=tried)
    write_json(tmp_path / f"trial{SUFFIX}", replace(record, searches=[search]))
    caution = topics(contest(within(tmp_path, two_rows())))["Check first"]
    assert "highest" in caution


def tuned_trials(*dev: float, **changes) -> list[Run]:
    """Trials of fine-tuning with these scores on dev."""
    return [
        make_run(f"try-{i}", layers=None, dev=f1, settings={"epochs": 5 + i}, **changes)
        for i, f1 in enumerate(dev)
    ]


NO_SCORE = [("finished", 0.0), ("pruned", None), ("failed", None)]


@pytest.mark.parametrize(
    ("chosen", "tried", "edge"),
    [
        *((chosen, None, edge) for chosen, edge in enumerate(("lowest", None, "highest"))),
        # Rates that scored nothing are part of the searched range.
        *((1, [end, FINISHED, FINISHED], None) for end in NO_SCORE),
        *((1, [FINISHED, FINISHED, end], None) for end in NO_SCORE),
    ],
)
def test_a_rate_at_the_edge_is_a_caution_and_trials_are_no_rows_of_an_answer(
    tmp_path, chosen, tried, edge
) -> None:
    searched(tmp_path, chosen, tried)
    # Another experiment shares the search.
    shutil.copy(tmp_path / f"trial{SUFFIX}", tmp_path / f"again{SUFFIX}")
    (comparison,) = compare(within(tmp_path, [*two_rows(), make_run("try-0", **TRIAL)]))
    assert [row.is_trial for row in comparison.rows] == [
        "epochs=9" in r.label for r in comparison.rows
    ]
    assert not any(comparison.row(row.baseline).is_trial for row in comparison.rows)
    (found,) = comparison.contests
    assert not comparison.row(found.leader).is_trial
    text = topics(found).get("Check first", "")
    assert (edge in text and text.count("fine-tuning") == 1) if edge else not text


@pytest.mark.parametrize(
    ("dev", "test", "competes"), [(0.6, 0.25, True), (0.25, 0.6, False)], ids=["dev", "test"]
)
def test_the_split_that_chooses_says_which_rows_learned(dev, test, competes) -> None:
    runs = [*make_seeds("t", [0.5] * 3, layers=None), make_run("f", dev=dev, test=test)]
    (comparison,) = compare(with_floor(runs, 0.25))
    assert comparison.row("concat_last4").competes == competes


def test_features_are_not_set_beside_fine_tuning_that_did_not_learn() -> None:
    runs = [*make_seeds("f", [0.6] * 3), *make_seeds("t", [0.25] * 3, layers=None)]
    (found,) = compare(with_floor(runs, 0.25))[0].contests
    assert (found.tuned, found.difference, found.ahead) == (None, None, None)
    assert {"Cost", "Where"}.isdisjoint(topics(found))


def test_the_best_of_both_sides_are_tested_against_each_other() -> None:
    """Though a third method leads, and the baseline is a row of which one run failed."""
    runs = [*make_seeds("l", [0.80, 0.81, 0.82], layers=None, tuning="lora")]
    runs += make_seeds("failed", [0.78, 0.79, 0.1], layers=None)
    other = {"settings": {"epochs": 9}}
    runs += [*make_seeds("t", [0.50, 0.51, 0.50], layers=None, **other), *make_seeds("f", FEATURES)]
    (found,) = compare(with_floor(runs, 0.25))[0].contests
    assert "epochs=9" in (found.tuned or "")
    assert found.difference is not None


def test_trials_are_not_tested(tmp_path) -> None:
    searched(tmp_path, 1)
    runs = within(tmp_path, [*two_rows(), make_run("try-0", **TRIAL)])
    (comparison,) = compare(runs)
    trials = {row.name for row in comparison.rows if row.is_trial}
    assert trials
    tested = {name for d in comparison.differences for name in (d.row, d.baseline)}
    assert tested
    assert not tested & trials


def test_trials_are_compared_if_they_are_named_or_there_is_nothing_else(tmp_path) -> None:
    searched(tmp_path, 1)
    trials = within(tmp_path, tuned_trials(0.8, 0.81))
    frozen = within(tmp_path, make_seeds("f", FEATURES))
    assert contest(trials).leader == "fine-tuning (epochs=6)"
    assert contest([trials[0], *frozen]).leader == "concat_last4"
    (named,) = analysis.compare([trials[0], *frozen], groups="one", keeps_trials=True)
    assert named.contests[0].leader == "fine-tuning"
    assert not any(row.is_trial for row in named.rows)


def test_a_search_that_goes_on_does_not_choose_the_text(tmp_path) -> None:
    """Trials learn from all of train or a larger text. Rows of a quarter of train are compared."""
    searched(tmp_path, None, [("finished", 0.8), ("finished", 0.8), ("waiting", None)])
    quarter = two_rows(settings={"epochs": 4, "train_share": 0.25})
    (comparison,) = compare(within(tmp_path, [*quarter, *tuned_trials(0.8, 0.8)]))
    assert sum(row.is_trial for row in comparison.rows) == 2
    (found,) = comparison.contests
    assert found.leader == found.ahead == found.tuned
    assert comparison.row(found.leader).train_share == 0.25
    # Trials are compared if no row learned from their text.
    trials = tuned_trials(0.8, 0.8, signature={"splits": LARGER})
    (comparison,) = compare(within(tmp_path, [*two_rows(), *trials]))
    assert len(comparison.contests) == 2
    assert all(found.leader for found in comparison.contests)


@pytest.mark.parametrize("with_trials", [True, False])
@pytest.mark.parametrize(
    ("last", "floor", "text"),
    [(("finished", 0.0), 0.0, "3 settings"), (("waiting", None), None, "not finished")],
)
def test_a_side_whose_search_chose_nothing_is_a_caution(
    tmp_path, last, floor, text, with_trials
) -> None:
    """The rows of an experiment are compared without its trials."""
    searched(tmp_path, None, [("finished", 0.0), ("finished", 0.0), last], floor)
    runs = make_seeds("f", FEATURES) + tuned_trials(0.0, 0.0, test=0.0) * with_trials
    record = None if with_trials else read_experiment_record(tmp_path, "trial")
    (comparison,) = analysis.compare(within(tmp_path, runs), experiment=record)
    (found,) = comparison.contests
    assert (found.leader, found.tuned) == ("concat_last4", None)
    assert text in topics(found)["Check first"]
    assert "fine-tuning" in topics(found)["Check first"]
    assert "Missing" not in topics(found)


def test_a_search_with_another_encoder_is_no_caution(tmp_path) -> None:
    searched(tmp_path, None, [("finished", 0.0)] * 3, 0.0)
    other = {"encoder_weights": "9" * 64, "model": "other"}
    runs = [*make_seeds("f", FEATURES), *tuned_trials(0.0, test=0.0, signature=other)]
    with_features = next(c for c in compare(within(tmp_path, runs)) if c.contests[0].features)
    assert "Missing" in topics(with_features.contests[0])


def test_sentences_know_that_trials_are_shown(tmp_path) -> None:
    """The table has a second tuned row, which is in no contest."""
    searched(tmp_path, 1)
    frozen = make_seeds("f", TUNED, cost={"training_flops": 1e13})
    tuned, trial = make_seeds("t", FEATURES, layers=None), make_run("try-0", **TRIAL)
    runs = within(tmp_path, [*tuned, *frozen, trial])
    answers = [topics(contest(group)) for group in (runs[:-1], runs)]
    assert ["only" in answer["Answer"] for answer in answers] == [True, False]
    assert ["chosen" in answer["Cheapest"] for answer in answers] == [False, True]


def test_a_contest_for_each_training_text() -> None:
    """Gold text, and gold and silver text, with the same dev and test."""
    more = {"signature": {"splits": LARGER}}
    runs = [
        *two_rows(features=[0.80, 0.81, 0.82]),
        *make_seeds("tm", TUNED, layers=None, **more),
        *make_seeds("fm", FEATURES, **more),
    ]
    (comparison,) = compare(runs)
    by_text = {found.about: found for found in comparison.contests}
    assert by_text.keys() == {"train=600 sentences", "train=900 sentences"}
    assert "concat_last4" in by_text["train=600 sentences"].leader
    assert "fine-tuning" in by_text["train=900 sentences"].leader
    (overall,) = comparison.overall
    assert overall.index("600 sentences") < overall.index("900 sentences")


@pytest.mark.parametrize(("lacking", "caution"), [("dev", "test chose"), ("test", "no test text")])
def test_scores_on_one_split_are_a_caution(lacking, caution) -> None:
    runs = two_rows()
    for run in runs:
        del run.record.scores[lacking]
    found = contest(runs)
    assert found.split != lacking
    assert caution in topics(found)["Check first"]
    # Test did not choose a single row.
    assert "test chose" not in topics(contest(runs[:3])).get("Check first", "")


def test_a_damaged_record_of_an_experiment_is_named(tmp_path, caplog) -> None:
    searched(tmp_path, 1)
    path = tmp_path / f"trial{SUFFIX}"
    path.write_text(path.read_text("utf-8").replace("2e-05", "3e-05"), "utf-8")
    compare(within(tmp_path, two_rows()))
    assert path.name in caplog.text


def test_a_trial_of_one_experiment_is_a_row_of_another_one(tmp_path) -> None:
    searched(tmp_path, 1)
    other = ExperimentRecord("other", "", [], ["try-0"], [], [], [], False, {}, [], {})
    runs = within(tmp_path, [*tuned_trials(0.9), *make_seeds("f", FEATURES)])
    assert contest(runs).leader == "concat_last4"
    (comparison,) = analysis.compare(runs, experiment=other, groups="task")
    assert comparison.contests[0].leader == "fine-tuning"
    write_json(tmp_path / f"other{SUFFIX}", other)
    assert contest(runs).leader == "fine-tuning"


def test_a_frozen_row_is_named_with_its_unusual_pooling() -> None:
    """Its head alone would name another row."""
    for pooling in ("attention", "cls", "mean"):
        settings = {"body": "linear", "sentence_pooling": pooling}
        runs = two_rows(task="classification", settings=settings)
        for run in runs:
            accuracy = 0.5 + run.record.seed / 100 + 0.1 * (run.record.layers is not None)
            scores = Scores({"accuracy": accuracy}, {}, 100, 100, 0.1)
            run.record.scores.update(dev=scores, test=scores)
        answer = topics(contest(runs))["Answer"]
        assert "linear" in answer
        assert (pooling in answer) == (pooling != "mean")


def test_a_part_of_the_text_and_few_steps_are_cautions() -> None:
    few = {"epochs": 2, "batch_size": 16}
    assert "part of the text" not in topics(contest(two_rows(settings=few)))["Check first"]
    part = two_rows(settings=few | {"train_share": 0.25}, reading={"dev_share": 0.1})
    sentences = part[0].record.train_sentences
    caution = topics(contest(part))["Check first"]
    assert f"{sentences:,} training sentence" in caution
    assert f"{2 * math.ceil(sentences / 16)} steps" in caution
    assert "dev was drawn from train" in caution


@pytest.mark.parametrize(
    ("reading", "is_cut"),
    [
        ({"limit": 5000}, False),
        ({"limit": 600}, True),
        ({"limit": 601}, False),
        ({"limit": 750, "dev_share": 0.2}, True),
        ({"limit": 750, "folds": 5, "fold": 1}, True),
        ({"limit": 900, "folds": 5, "fold": 1, "dev_share": 0.2}, True),
        ({"limit": 901, "folds": 5, "fold": 1, "dev_share": 0.2}, False),
    ],
)
def test_a_limit_above_the_size_of_train_leaves_no_text_out(reading, is_cut) -> None:
    """Train has 600 sentences, dev and test 150 each."""
    cautions = topics(contest(two_rows(reading=reading))).get("Check first", "")
    assert ("part of the text" in cautions) == is_cut


def test_a_few_examples_of_each_class_are_less_text_than_a_share_of_all() -> None:
    settings = {"epochs": 2}
    runs = [
        *make_seeds("a", [0.7] * 3, settings=settings | {"train_share": 0.25}, train_sentences=150),
        *make_seeds("b", [0.6] * 3, settings=settings | {"shots": 8}, train_sentences=16),
    ]
    ((found,),) = (comparison.contests for comparison in compare(runs))
    assert found.about == "25% of train"


@pytest.mark.parametrize(("floor", "shown"), [(0.9, True), (0.5, False)])
def test_classes_so_unequal_that_accuracy_hides_them(floor, shown) -> None:
    runs = two_rows(task="classification")
    for run in runs:
        accuracy, macro_f1 = (0.97, 0.71) if run.record.layers else (0.98, 0.55)
        values = {"accuracy": accuracy, "macro_f1": macro_f1}
        scores = Scores(values, {}, 100, 100, floor)
        run.record.scores.update(dev=scores, test=scores)
    comparisons = compare(runs)
    text = topics(comparisons[0].contests[0]).get("Check first", "")
    assert ("macro_f1" in comparisons.view.show) == shown
    assert all(number in text for number in ("90.0", "71.0", "55.0")) == shown


def test_the_best_of_all_contests_is_compared_with_the_best_of_another() -> None:
    """Two encoders on one text: dev chooses a row of each, and their interval is of the table."""
    runs = []
    for number, scores in enumerate((FEATURES, TUNED)):
        signature = {"encoder_weights": f"{number}" * 64, "model": f"model-{number}"}
        encoder = {"signature": signature, "vary": ["model"]}
        runs += make_seeds(f"{number}t", scores, layers=None, **encoder)
        runs += make_seeds(f"{number}f", [s - 0.2 for s in scores], **encoder)
    (comparison,) = compare(runs)
    (line,) = comparison.overall
    # Other lines are indented below the names of their contests.
    assert [line for line in comparison.answer if not line.startswith("  ")] == [
        *(line, "model-0:", "model-1:")
    ]
    best = {row.model: row for row in comparison.rows if not row.frozen}
    first, following = sorted(best.values(), key=lambda row: -row.mean("dev"))
    difference = comparison.difference(first, following, comparison.splits[-1])
    assert difference is not None
    assert f"{100 * difference.value:+.1f}" in line
    assert [line.index(row.model) for row in (first, following)] == sorted(
        line.index(row.model) for row in best.values()
    )


def test_rows_of_different_test_texts_are_never_a_pair() -> None:
    """Two folds share dev, and each has a test text of its own."""
    runs = []
    for fold, test in ((1, "x"), (2, "y")):
        texts = {"train": str(fold), "dev": "d", "test": test}
        splits = {n: SplitIdentity(text * 64, "1" * 64, 150, 3201) for n, text in texts.items()}
        signature = {"corpus": f"c-fold-{fold}-of-2", "splits": splits}
        of_fold = {"signature": signature, "vary": ["corpus"]}
        runs += make_seeds(f"t{fold}", [s - fold / 50 for s in TUNED], layers=None, **of_fold)
        runs += make_seeds(f"f{fold}", FEATURES, **of_fold)
    (comparison,) = compare(runs)
    assert comparison.overall == ()
    assert len(comparison.contests) == 2
    tests = [d for d in comparison.differences if d.split == "test"]
    corpora = [(comparison.row(d.row).corpus, comparison.row(d.baseline).corpus) for d in tests]
    assert corpora
    assert all(first == second for first, second in corpora)


def test_rows_that_learned_from_dev_too_are_a_contest_of_their_own() -> None:
    runs = two_rows()
    for layer, score in ((1, 0.8), (2, 0.9)):
        layers, f1 = f"layer:{layer}", [score, score + 0.01, score + 0.02]
        runs += make_seeds(f"b{layer}", f1, layers=layers, trained_on=["train", "dev"])
        for run in runs[-3:]:
            del run.record.scores["dev"]
    (comparison,) = compare(runs)
    on_train, on_both = comparison.contests
    assert (on_train.leader, on_both.leader) == ("fine-tuning", "layer:2")
    assert "dev" in on_both.about
    assert "test chose" in topics(on_both)["Check first"]
    assert "test chose" not in topics(on_train).get("Check first", "")


@pytest.mark.parametrize(("dev", "chosen_on"), [(0.7, "dev"), (None, "test")])
def test_an_overview_says_what_chose_its_rows(dev, chosen_on) -> None:
    runs = [make_run("t", layers=None, dev=dev), make_run("f", dev=dev)]
    assert [line["chosen_on"] for line in overview_lines(compare(runs))] == [chosen_on]


def test_a_time_that_no_run_has_is_no_cost_and_a_notice_says_it(caplog) -> None:
    runs = two_rows()
    for cheapest, is_timed in (("batched", True), ("one_by_one", True), ("kept", False)):
        caplog.clear()
        contest(runs, cheapest=cheapest)
        assert ("featbert speed" in caplog.text) == is_timed
