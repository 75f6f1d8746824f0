"""Searches: the same points however they are interrupted, budgets, pruning, and ranges in files."""

import json
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

import optuna_dashboard
import pytest

from featbert.analysis.labels import search_line
from featbert.errors import InputError
from featbert.experiments import plan as planning
from featbert.experiments import schedule
from featbert.experiments.file import Search
from featbert.experiments.search import open_trials
from featbert.runs.record import read_experiment_record, search_path
from featbert.runs.run import find_runs
from featbert.tasks.base import Scores
from featbert.units import percent
from tests.experiments.experiment_files import SMALL, write_made_up
from tests.failing import failing

RATES = {"log_uniform": [1e-4, 1e-1]}
RANGES = {"rate": RATES, "dropout": {"uniform": [0, 0.5]}, "n": {"integers": [2, 9]}, "b": [8, 16]}


def search(**keys: Any) -> dict[str, Any]:
    return {"features": SMALL, "search": {"features": {"learning_rate": RATES}} | keys}


def points(path: Path, sampler: str, many: int, sessions: int, keep: bool = True) -> list[Any]:
    """Settings of trials, told a score each, asked in as many sessions."""
    found: list[Any] = [None] * many
    asked = Search(sampler=sampler, sampler_seed=3, features=RANGES)
    for session in range(1, sessions + 1):
        with open_trials(path, "one", asked, RANGES, keep=keep) as trials:
            for n in range(many * session // sessions):
                found[n] = trials.settings(n)
                trials.tell(n, 0.5 - abs(found[n]["dropout"] - 0.2))
    return found


def from_dashboard(journal: Path, path: str) -> Any:
    """What optuna-dashboard's browser page would get at a path."""
    asked: dict[str, Any] = {"PATH_INFO": path}
    setup_testing_defaults(asked)
    return json.loads(b"".join(optuna_dashboard.wsgi(str(journal))(asked, lambda *_: None)))


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_points_do_not_depend_on_interruptions(tmp_path, sampler):
    whole = points(tmp_path / "whole", sampler, 14, 1, keep=False)
    assert not [*tmp_path.iterdir()]
    assert points(tmp_path / "parts", sampler, 14, 4) == whole
    before = (tmp_path / "parts").read_bytes()
    assert points(tmp_path / "parts", sampler, 14, 1, keep=False) == whole
    assert (tmp_path / "parts").read_bytes() == before
    for one in whole:
        assert 1e-4 <= one["rate"] <= 1e-1
        assert 0 <= one["dropout"] <= 0.5
        assert one["n"] in range(2, 10)
        assert one["b"] in (8, 16)
    assert len({one["rate"] for one in whole}) == 14
    other = points(tmp_path / "other", "tpe" if sampler == "random" else "random", 14, 1)
    assert (other[:10] == whole[:10], other == whole) == (True, False)  # TPE begins at random


def test_a_grid_resumes_to_all_points_with_its_keys_in_another_order(tmp_path):
    ranges, points = {"a": [1, 2], "b": [8, 9]}, []
    asked = Search(sampler="grid", features=ranges)
    for order in (("a", "b"), ("b", "a")):
        in_order = {name: ranges[name] for name in order}
        with open_trials(tmp_path / "grid", "one", asked, in_order, keep=True) as trials:
            points = [trials.settings(n) for n in range(2 if order == ("a", "b") else 5)]
    assert points[-1] is None
    assert {(point["a"], point["b"]) for point in points[:4]} == {(1, 8), (1, 9), (2, 8), (2, 9)}


def test_a_killed_search_resumes_to_the_same(lab):
    """Its trials are in a journal that optuna-dashboard reads; test chooses nothing."""
    keys = search(trials=4)
    plan = lab.plan(**keys)
    assert (len(plan.jobs), len(lab.plan(**search(trials=2)).jobs)) == (4, 2)
    assert not lab.space.runs.exists()
    with failing(schedule, "train_planned", at=2), pytest.raises(KeyboardInterrupt):
        lab.carry_out(**keys)
    (found,) = lab.carry_out(**keys).searches
    assert [one.runs for one in found.tried] == [[name] for name in plan.jobs]
    assert {one.state for one in found.tried} == {"finished"}
    runs = {run.name: run.record for run in find_runs(lab.space.runs)}
    assert len(runs) == 4
    for one in found.tried:
        record = runs[one.runs[0]]
        assert record.configurations_tried == 4
        assert one.settings == {"learning_rate": record.settings["learning_rate"]}
        assert (one.dev, one.test) == (record.score("dev"), record.score("test"))
        cost = record.cost
        assert (one.operations, one.seconds) == (cost.training_flops, cost.training_seconds)
    best = max(one.dev for one in found.tried)
    assert found.chosen == [one.dev for one in found.tried].index(best)
    assert found.rows == found.tried[found.chosen].runs
    assert read_experiment_record(lab.space.runs, "trial").searches == [found]
    path = search_path(lab.space.runs, "trial")
    (study,) = from_dashboard(path, "/api/studies")["study_summaries"]
    kept = from_dashboard(path, f"/api/studies/{study['study_id']}")["trials"]
    shown = [{p["name"]: float(p["param_external_value"]) for p in t["params"]} for t in kept]
    assert shown == [o.settings for o in found.tried]
    assert [t["values"] for t in kept] == [[o.dev] for o in found.tried]
    before = path.read_bytes()
    more = lab.plan(**search(trials=6))  # a longer search begins with what was tried
    assert len(more.missing) == 2
    assert more.searches[0].tried[:4] == found.tried
    assert path.read_bytes() == before
    path.write_text("{\n{\n", "utf-8")
    with pytest.raises(InputError, match=path.name):
        lab.plan(**keys)


def test_operations_or_seconds_end_a_search(lab):
    """Where several are tried at a time, what is beyond the budget does not count."""
    (one,) = lab.carry_out(**search(trials=1)).searches
    keys = search(operations=1.5 * one.tried[0].operations)
    asked = lab.plan(**keys).renewed(at_a_time=3)
    assert [t.state for t in asked.searches[0].tried] == ["finished"] + 3 * ["waiting"]
    (found,) = lab.carry_out(**keys).searches
    assert [t.state for t in found.tried] == ["finished", "finished"]
    assert found.tried[0] == one.tried[0]
    (four,) = lab.carry_out(**search(trials=4)).searches
    assert lab.plan(**keys).searches[0].tried == found.tried
    took = [t.seconds for t in four.tried]
    for n in (1, 3):  # one that begins within the budget is finished
        spent = search(seconds=sum(took[:n]) - took[n - 1] / 2)
        assert lab.plan(**spent).searches[0].tried == four.tried[:n]


@pytest.mark.parametrize("sampler", ["random", "tpe"])
@pytest.mark.parametrize(
    ("budget", "n_tried"), [({"trials": 6}, 4), ({"trials": 3}, 3), ({"operations": 31.0}, 4)]
)
def test_settings_that_are_drawn_again_are_tried_and_counted_once(
    lab, monkeypatch, sampler, budget, n_tried
):
    """Rank has no effect on "full", so that there are four settings among six points."""

    def train(job: Any, *arguments: Any) -> None:
        write_made_up(job, cost={"training_flops": 10.0, "training_seconds": 1.0})

    monkeypatch.setattr(schedule, "_train", train)
    lists = {"tuning": ["full", "lora"], "rank": [2, 4, 8]}
    keys = {"finetune": {"epochs": 1}, "search": {"finetune": lists, "sampler": sampler} | budget}
    plan = lab.carry_out(**keys)
    (found,) = plan.searches
    names = [name for trial in found.tried for name in trial.runs]
    assert len(names) == len({*names}) == n_tried
    assert (found.chosen, plan.failures) == (0, {})
    counted = {run.record.configurations_tried for run in find_runs(lab.space.runs)}
    assert max(counted) <= (n_tried if sampler == "random" else 6)


def test_pruned_trials_are_counted_and_not_chosen(lab, monkeypatch):
    monkeypatch.setattr(planning, "FEWEST", 1)
    monkeypatch.setattr(Scores, "exceeds_floor", True)  # one epoch of random weights
    medians = planning._medians
    monkeypatch.setattr(planning, "_medians", lambda runs: tuple(2.0 for _ in medians(runs)))
    keys = search(trials=3, pruning=True) | {"features": SMALL | {"epochs": 3}}
    outcome = lab.carry_out(**keys)
    (found,) = outcome.searches
    first, *others = found.tried
    assert (first.state, [one.state for one in others]) == ("finished", ["pruned", "pruned"])
    assert (found.chosen, outcome.failures) == (0, {})
    for one in others:
        assert (one.dev, one.test) == (None, None)
        assert one.operations == pytest.approx(first.operations / 3)
        assert one.seconds > 0
    runs = find_runs(lab.space.runs)
    assert ([run.name for run in runs], runs.unfinished) == (first.runs, ())
    assert not lab.plan(**keys).missing
    rates = [trial.settings["learning_rate"] for trial in found.tried]

    def rows_of(*variants: dict[str, Any], **changes: Any) -> tuple[list[float], list[list[str]]]:
        """Rates of the rows, and the states of each search, after all runs."""
        outcome = lab.carry_out(variant=[*variants], features=keys["features"], **changes)
        assert (outcome.missing, outcome.failures) == ([], {})
        states = [[trial.state for trial in search.tried] for search in outcome.searches]
        return [run.record.settings["learning_rate"] for run in outcome.runs], states

    # Rows and other searches train the same run to its end, or prune it themselves.
    plain = {"features": {"learning_rate": rates[1]}}
    chosen, states = rows_of({"search": keys["search"]}, plain)
    assert (rates[1] in chosen, states) == (True, [["finished", "finished", "pruned"]])
    one, two, other = (
        {"search": {"features": {"learning_rate": tried}, "sampler": "grid", "pruning": True}}
        for tried in ([rates[0], rates[2]], [rates[2], 0.01], [0.02, 0.01])
    )
    assert rows_of(one)[1] == [["finished", "pruned"]]
    assert rows_of(other, name="other")[1] == [["finished", "pruned"]]
    assert rows_of(two, name="two")[1] == [["finished", "pruned"]]
    assert rows_of(one, two)[1] == [["finished", "finished"], ["finished", "pruned"]]


def test_a_row_that_reads_no_searched_setting_is_trained_without_a_search(lab):
    bodies = [{"features": {"layers": ["last"], "body": body}} for body in ("linear", "bilstm")]
    plan = lab.plan(variant=bodies, grid={"features": {"lstm_size": [8, 16]}})
    assert [len(search.tried) for search in plan.searches] == [2]
    settings = [job.run.options.settings for job in plan.jobs.values()]
    assert sorted(s.body for s in settings) == ["bilstm", "bilstm", "linear"]


def test_a_try_names_only_the_settings_that_it_reads(lab):
    ranges = {"body": ["linear", "bilstm"], "lstm_size": [8, 16]}
    (search,) = lab.plan(features={"layers": ["last"]}, grid={"features": ranges}).searches
    assert [trial.settings for trial in search.tried] == [
        {"body": "linear"},
        {"body": "bilstm", "lstm_size": 8},
        {"body": "bilstm", "lstm_size": 16},
    ]


def test_a_search_in_which_nothing_learned_chooses_nothing_and_says_so(lab, monkeypatch):
    keys = search(trials=2)
    (learned,) = lab.carry_out(**keys).searches
    assert learned.floor is None
    monkeypatch.setattr(Scores, "exceeds_floor", False)
    plan = lab.plan(**keys)
    (found,) = plan.searches
    assert (found.tried, found.chosen, found.floor) == (learned.tried, None, 0.0)
    assert not plan.later_runs
    best = max(trial.dev for trial in found.tried)
    assert percent(best) in search_line(found)
