"""Experiments within minutes, with made-up scores and seconds of runs."""

import re
import shutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from featbert.analysis.compare import compare
from featbert.analysis.labels import search_line
from featbert.api import RunRequest, _gains, plan_run, run
from featbert.config import defaults
from featbert.encoders.tunings import get_tuning
from featbert.errors import InputError
from featbert.experiments import candidates, minutes, schedule
from featbert.experiments.candidates import rungs
from featbert.experiments.minutes import MinutesPlan
from featbert.experiments.plan import Job
from featbert.experiments.schedule import carry_out
from featbert.models.registry import BODIES
from featbert.report.plan import minutes_text
from featbert.runs.record import read_experiment_record
from featbert.tasks.base import TASKS
from tests.analysis.records import make_epoch
from tests.experiments.experiment_files import Lab, write_made_up
from tests.experiments.test_shipped import write_texts
from tests.report.html.judged import make_run
from tests.tiny_encoders import write_encoder
from tests.workspace import WORDS, error_of, write_splits

TUNINGS = ("full", "bitfit", "layernorm", "lora")
KEYS: dict[str, Any] = {
    "seeds": [1, 2, 3, 4, 5, 6],
    "variant": [
        {"features": {"layers": ["each"], "body": "linear"}},
        {"features": {"layers": ["last"], "epochs": 8}},
        *(
            {
                "finetune": {"tuning": tuning, "epochs": 4},
                "grid": {"finetune": {"learning_rate": [1e-3, 1e-4]}},
            }
            for tuning in TUNINGS
        ),
    ],
}
# Dev of each tuning, and seconds of an epoch on all of train.
DEV = {"full": 0.7, "bitfit": 0.6, "layernorm": 0.5, "lora": 0.4}
EPOCH = {"full": 10.0, "bitfit": 6.0, "layernorm": 4.0, "lora": 4.0, "none": 1.0}


LINEAR = {"features": {"layers": ["last"], "body": "linear"}}


def seconds_of(job: Job) -> float:
    """Seconds that a run takes."""
    settings = job.run.options.settings
    return EPOCH.get(settings.tuning, 5.0) * settings.epochs * settings.train_share


class Told:
    """Made-up estimates, in the form of `Estimates`: `factor` times what runs take.

    Those of tunings and bodies that are `unknown` are None, and with an `error` these failed.
    """

    stopped = False
    factor = 1
    unknown: tuple[str, ...] = ()
    error: InputError | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None: ...

    def measure(self) -> None:
        self.factor = 1

    def is_unknown(self, job: Job) -> bool:
        settings = job.run.options.settings
        return not {settings.tuning, settings.body}.isdisjoint(self.unknown)

    def run(self, job: Job) -> tuple[float, int, str] | None:
        return None if self.is_unknown(job) else (self.factor * seconds_of(job), 0, "made up")

    def extraction(self, job: Job, words: int) -> float | None:
        return None if self.is_unknown(job) else 5.0 * bool(words)

    def failure(self, job: Job) -> InputError | None:
        return self.error if self.is_unknown(job) else None


def dev_of(job: Job) -> float:
    """A lower rate is better, so is layer 2, and the BiLSTM is best of the rows on features."""
    settings = job.run.options.settings
    if settings.tuning == "none":
        return 0.45 if settings.body == "bilstm" else 0.3 + 0.1 * (job.run.layers == "layer:2")
    return DEV[settings.tuning] + 0.05 * (settings.learning_rate == 1e-4) + 0.01 * settings.epochs


class Trained(list[Job]):
    """Jobs in the order of training. The command is killed after `stop_after` of them."""

    stop_after = 10**6
    is_rising = True

    @property
    def seconds(self) -> float:
        return sum(map(seconds_of, self))

    def __call__(self, job: Job, *arguments: Any) -> None:
        self.append(job)
        # Of two epochs the first was the best.
        history = [make_epoch(n, 0.7, dev_of(job)) for n in range(1, 2 if self.is_rising else 3)]
        cost = {"training_seconds": seconds_of(job), "prediction_seconds": 0.0}
        write_made_up(job, dev=dev_of(job), history=history, cost=cost)
        if len(self) == self.stop_after:
            raise KeyboardInterrupt


@pytest.fixture
def trained(monkeypatch) -> Trained:
    jobs = Trained()
    monkeypatch.setattr(schedule, "_train", jobs)
    monkeypatch.setattr(schedule, "run_extraction", lambda plan: None)
    monkeypatch.setattr(minutes, "Estimates", Told)
    return jobs


@pytest.fixture
def told(monkeypatch) -> Callable[..., None]:
    """A function that gives `Told` other attributes."""

    def tell(**attributes: Any) -> None:
        monkeypatch.setattr(minutes, "Estimates", type("Other", (Told,), attributes))

    return tell


def timed(lab: Lab, trained: Trained, number: float, gains: Any = None, **keys: Any) -> MinutesPlan:
    """The plan of KEYS or of other ones within minutes, in which only training takes time."""
    options = {} if keys else {"gains": gains or (lambda first, second: (1.0, 1.0))}
    experiment = lab.experiment(**(keys or KEYS), minutes=number)
    return MinutesPlan(experiment, **lab.where, clock=lambda: trained.seconds, **options).timed()


def test_rungs_halve_candidates_and_double_epochs():
    assert rungs(8, 2) == [(8, 4), (4, 2), (2, 1)]
    assert rungs(5, 1) == [(5, 8), (3, 4), (2, 2), (1, 1)]
    assert rungs(1, 2) == [(1, 1)]
    assert rungs(0, 2) == [(0, 1)]


def test_the_minutes_go_to_the_best_and_are_never_exceeded(lab, trained):
    plan = carry_out(timed(lab, trained, 12))
    assert 600 < trained.seconds <= 720
    n_scanned = 5
    assert [job.run.tuning for job in trained[: n_scanned + 1]] == ["none"] * (n_scanned + 1)
    tuned = [job for job in trained if job.run.tuning != "none" and job.run.options.seed == 1]
    tried = [
        (job.run.tuning, *map(job.run.settings.get, ("epochs", "learning_rate"))) for job in tuned
    ]
    assert [*tried[:2], tried[8]] == [("full", 1, 1e-3), ("bitfit", 1, 1e-3), ("full", 2, 1e-4)]
    assert Counter(epochs for _, epochs, _ in tried) == {1: 8, 2: 4, 4: 2}
    # The best rate of each tuning: no tuning is there twice.
    assert tried[-2:] == [("full", 4, 1e-4), ("bitfit", 4, 1e-4)]
    # Trials are no rows.
    rows = {run.record.settings["body"]: run.record for run in plan.runs}
    assert {"bilstm", "linear"} == rows.keys()
    assert Counter(run.record.tuning for run in plan.runs).keys() == {"none", "full", "bitfit"}
    (comparison,) = compare(plan.runs, groups="task", experiment=plan.record)
    assert len(comparison.rows) == 3
    assert all(len(row.runs) >= 3 for row in comparison.rows)
    searches = {search.tuning: search for search in plan.record.searches}
    assert {tuning: len(s.tried) for tuning, s in searches.items()} == {
        "none": n_scanned + 1,
        "full": 5,
        "bitfit": 5,
        "layernorm": 2,
        "lora": 2,
    }
    assert "last (BiLSTM)" in search_line(searches["none"])
    for tuning, search in searches.items():
        (name,) = search.tried[search.chosen].runs
        assert (name in search.rows) == (tuning in ("none", "full", "bitfit"))


@pytest.mark.parametrize(
    ("minutes", "is_rising", "best", "epochs"),
    [
        (4.2, True, 0.2, {"full": {3, 6, 12}, "none": {6}}),  # up to all epochs
        (3.5, True, 0.2, {"full": {3, 6}, "none": {6}}),  # as far as the minutes go
        (4.2, True, 0.4, {"full": {3, 6}, "none": {6, 8}}),  # until the other side is behind
        (4.2, False, 0.2, {"full": {3}, "none": {6}}),
    ],
)
def test_the_side_that_is_behind_gets_more_epochs(
    lab, trained, monkeypatch, minutes, is_rising, best, epochs
):
    monkeypatch.setitem(DEV, "full", best)
    trained.is_rising = is_rising
    variants = [KEYS["variant"][1], {"finetune": {"epochs": 12}}]
    plan = carry_out(timed(lab, trained, minutes, seeds=[1, 2, 3], variant=variants))
    tried: dict[str, set[int]] = {}
    for job in trained:
        tried.setdefault(job.run.tuning, set()).add(job.run.options.settings.epochs)
    assert tried == epochs
    rows = {run.record.tuning: run.record.settings["epochs"] for run in plan.runs}
    # More epochs do not help the BiLSTM.
    assert rows == {"full": max(epochs["full"]), "none": 6}


@pytest.mark.parametrize(
    ("number", "shares", "epochs"), [(1.5, {0.5}, {3}), (4.5, {0.5, 1}, {3}), (8.5, {1}, {3, 6})]
)
def test_rows_get_more_text_and_epochs_if_runs_are_faster_than_expected(
    lab, trained, told, monkeypatch, number, shares, epochs
):
    """With three seeds each. Short runs took three times as long."""
    told(factor=3)
    monkeypatch.setattr(candidates, "FEWEST_EXAMPLES", 2)
    trained.is_rising = False
    variants = [LINEAR, {"finetune": {"epochs": 12}}]
    plan = carry_out(timed(lab, trained, number, seeds=[1, 2, 3], variant=variants))
    tuned = [job.run.options.settings for job in trained if job.run.tuning == "full"]
    assert {settings.train_share for settings in tuned} == shares
    assert {settings.epochs for settings in tuned} == epochs
    assert trained.seconds <= 60 * number
    settings = [run.record.settings for run in plan.runs if run.record.tuning == "full"]
    assert [s["train_share"] for s in settings] == [max(shares)] * 3
    assert [s["epochs"] for s in settings] == [max(epochs)] * 3


def test_methods_for_which_no_time_was_left_are_named(lab, trained):
    """Runs take eight times as long as expected."""
    experiment = lab.experiment(**KEYS, minutes=8)
    plan = MinutesPlan(experiment, **lab.where, clock=lambda: 8 * trained.seconds).timed()
    planned = {c.method for candidates in plan.candidates.values() for c in candidates}
    plan = carry_out(plan)
    untrained = plan.record.time_plan.untrained
    heads = {BODIES[j.run.options.settings.body].title for j in trained if j.run.tuning == "none"}
    tunings = {get_tuning(job.run.tuning).title for job in trained if job.run.tuning != "none"}
    assert {*untrained} == planned - tunings - heads != set()
    (comparison,) = compare(plan.runs, groups="task", experiment=plan.record)
    cautions = dict(comparison.contests[0].findings)["Check first"]
    assert all(method in cautions for method in untrained)
    assert carry_out(timed(lab, trained, 60)).record.time_plan.untrained == []


def test_short_runs_are_repeated_before_minutes_are_refused(lab, trained, told):
    told(factor=100)
    assert timed(lab, trained, 20).time_plan.share == 1


def test_it_resumes_after_each_run_and_trains_nothing_twice(lab, trained, tmp_path):
    expected = carry_out(timed(lab, trained, 12)).record
    names = [job.name for job in trained]
    trained.clear()
    lab.where["runs_dir"] = tmp_path / "again"
    for stop_after in range(4, len(names), 5):
        trained.stop_after = stop_after
        with pytest.raises(KeyboardInterrupt):
            carry_out(timed(lab, trained, 12))
    trained.stop_after = 10**6
    carry_out(timed(lab, trained, 12))
    assert {job.name for job in trained} == {*names}
    assert len(trained) == len(names)
    resumed = read_experiment_record(tmp_path / "again", "trial")
    assert resumed.rows == expected.rows
    assert resumed.searches == expected.searches
    assert resumed.time_plan.done
    shutil.rmtree(tmp_path / "again" / resumed.rows[0])
    assert timed(lab, trained, 12).missing  # it begins again


def test_fewer_minutes_mean_fewer_candidates_then_epochs_then_text(lab, trained, monkeypatch):
    monkeypatch.setattr(candidates, "FEWEST_EXAMPLES", 2)
    plans = {n: timed(lab, trained, n).time_plan for n in (20, 9, 7, 5.5, 2, 1)}
    sizes = {n: (len(p.candidates), p.most_epochs, p.share) for n, p in plans.items()}
    assert sizes == {
        20: (14, 12, 1.0),
        9: (10, 12, 1.0),
        7: (8, 12, 1.0),
        5.5: (8, 3, 1.0),
        2: (10, 3, 0.5),
        1: (10, 3, 0.25),
    }
    assert all(minutes.MARGIN * sum(p.seconds.values()) <= 60 * n for n, p in plans.items())


def test_tunings_that_were_not_timed_take_as_long_as_the_slowest(lab, trained, told):
    """Those on features are left out, and the plan names them. Their store takes time anyway."""
    told(unknown=("lora", "bilstm"))
    plan = timed(lab, trained, 20)
    seconds = {plan.job_of(c).run.tuning: c.seconds for c in plan.candidates["finetune"]}
    assert seconds["lora"] == seconds["full"] == 4 * EPOCH["full"]
    assert plan.time_plan.seconds["extraction"] == 5.0
    assert not plan.candidates["features"]
    assert "not tried: BiLSTM;" in minutes_text(plan)


def test_further_seeds_take_time_even_if_the_first_ones_are_finished(lab, trained):
    expected = timed(lab, trained, 60).time_plan.seconds["seeds"]
    plan = carry_out(timed(lab, trained, 60, lambda *rows: None))
    trained.clear()
    again = timed(lab, trained, 61).time_plan
    assert again.seconds["seeds"] == expected
    assert again.seconds["frozen rows"] == 0
    assert plan.runs


def test_each_encoder_has_a_record_of_its_own(lab, trained, tmp_path):
    """With its trials, and the report next to the runs."""
    names = set()
    for model in (lab.space.model, write_encoder(tmp_path / "deep", layers=2)):
        experiment = lab.experiment(**KEYS, model=str(model), minutes=12)
        plan = plan_run(experiment, **lab.where)
        plan = replace(plan, gains=lambda first, second: None, clock=lambda: 0.0, began=0.0)
        plan = carry_out(plan.timed())
        names.add(plan.experiment.name)
    records = [read_experiment_record(lab.space.runs, name) for name in names]
    assert len(records) == 2
    trials = {n for r in records for s in r.searches for t in s.tried for n in t.runs}
    rows = {name for record in records for name in record.rows}
    assert trials | rows == {job.name for job in trained}
    assert len(rows) < len(trials)
    other = write_encoder(tmp_path / "other" / "deep", layers=3)
    experiment = lab.experiment(**KEYS, model=str(other), minutes=12)
    with pytest.raises(InputError, match="deep"):
        plan_run(experiment, **lab.where).timed()


TEXT_KEYS: dict[str, Any] = {
    "task": "classification",
    "seeds": [1, 2],
    "variant": [
        {"features": {"layers": ["each"]}},
        {"features": {"layers": ["last"], "body": "linear", "sentence_pooling": "attention"}},
        {"features": {"layers": ["last"], "body": "bilstm", "epochs": 8}},
        {"finetune": {"epochs": 4}},
    ],
}


def timed_texts(lab: Lab, trained: Trained, minutes: float, folder: Path, **keys: Any):
    data = folder / "texts"
    if not data.exists():
        write_texts(data, {"shots": 40})
    return timed(lab, trained, minutes, **TEXT_KEYS | keys, data=str(data))


def test_words_are_stored_only_for_rows_of_the_plan(lab, trained, tmp_path, monkeypatch):
    """With few minutes, or little disk, the frozen rows of texts read one vector for each."""
    whole = timed_texts(lab, trained, 20, tmp_path)
    read = [c.reads_vectors for kind in ("scan", "features") for c in whole.candidates[kind]]
    assert set(read) == {True, False}
    few = timed_texts(lab, trained, 3.2, tmp_path)
    monkeypatch.setattr(minutes, "free_bytes", lambda folder: 1000)
    small = timed_texts(lab, trained, 20, tmp_path)
    for plan in (few, small):
        assert plan.time_plan.share == 1
        assert all(c.reads_vectors for c in plan.candidates["scan"])
        assert not plan.candidates["features"]
        assert "attention" in minutes_text(plan)
    stores = []
    for plan in (few, whole):
        extractions = (plan.job_of(c).extraction for c in plan.candidates["scan"])
        stores.append({(e.path, e.manifest.data_bytes) for e in extractions if e is not None})
    ((_, few_bytes),), ((_, whole_bytes),) = stores
    assert few_bytes < whole_bytes


def test_candidates_that_the_encoder_does_not_allow_are_named(lab, trained):
    """The tiny encoder has no ninth layer."""
    variants = [{"features": {"layers": ["layer:9"]}}, {"finetune": {"epochs": 4}}]
    with pytest.raises(InputError, match="layer:9"):
        timed(lab, trained, 20, variant=variants)
    plan = timed(lab, trained, 20, variant=[*variants, LINEAR])
    assert not plan.candidates["features"]
    assert "layer:9" in minutes_text(plan)


def test_a_run_is_one_candidate(lab, trained):
    """A rank has no effect on "full", nor have epochs that the plan leaves out."""
    grids = (
        {"tuning": ["full", "lora"], "rank": [4, 8]},
        {"tuning": ["bitfit"], "epochs": [13, 14]},
    )
    variants = [LINEAR, *({"grid": {"finetune": grid}, "finetune": {}} for grid in grids)]
    plan = timed(lab, trained, 60, variant=variants, seeds=[1, 2, 3])
    assert plan.time_plan.most_epochs == 12
    runs = [plan.job_of(c).run for c in plan.candidates["finetune"]]
    assert len({run.name for run in runs}) == len(runs)
    assert Counter(run.tuning for run in runs) == {"full": 1, "lora": 2, "bitfit": 1}
    assert {run.options.configurations_tried for run in runs} == {4}


def test_a_setting_that_has_the_default_of_another_tuning_is_a_candidate(lab, trained):
    rates = ({}, {"learning_rate": defaults("full").learning_rate})
    variants = [LINEAR, *({"finetune": {"tuning": "lora"} | rate} for rate in rates)]
    plan = timed(lab, trained, 60, variant=variants)
    runs = [plan.job_of(c).run for c in plan.candidates["finetune"]]
    assert {run.settings["learning_rate"] for run in runs} == {
        defaults(tuning).learning_rate for tuning in ("full", "lora")
    }


def test_halving_leaves_the_epochs_that_a_tuning_needs(lab, trained, monkeypatch):
    monkeypatch.setitem(DEV, "head-then-full", 0.5)
    rates = {"finetune": {"learning_rate": [1e-3, 2e-3, 3e-3, 4e-3]}}
    stages = {"tuning": "head-then-full", "epochs": 4, "head_epochs": 2}
    variants = [{"finetune": one, "grid": rates} for one in (stages, {"epochs": 6, "unfreeze": 1})]
    plan = timed(lab, trained, 60, variant=[*variants, LINEAR])
    for few in (lambda c: c.divided(4), lambda c: c.on(1.0, 2)):
        assert {few(c).epochs for c in plan.candidates["finetune"]} == {3, 5}
    assert {run.record.tuning for run in carry_out(plan).runs} == {"none", "full"}


def test_examples_that_were_drawn_are_not_divided_further(lab, trained, tmp_path):
    plan = timed_texts(lab, trained, 4, tmp_path, shots=8)
    assert plan.time_plan.share == 1
    with pytest.raises(InputError, match="minutes"):
        timed_texts(lab, trained, 0.01, tmp_path, shots=8)


def test_tunings_that_fail_in_a_short_run_are_left_out_and_the_reason_is_told(lab, trained, told):
    told(unknown=("lora",), error=InputError("no memory"))
    plan = timed(lab, trained, 20)
    tunings = {plan.job_of(c).run.tuning for c in plan.candidates["finetune"]}
    assert tunings == {*TUNINGS} - {"lora"}
    told(unknown=TUNINGS, error=InputError("no memory"))
    with pytest.raises(InputError, match="no memory"):
        timed(lab, trained, 20.5)


def test_too_few_minutes_say_what_the_time_is_for(lab, trained):
    with pytest.raises(InputError, match=r"0\.3") as refused:
        timed(lab, trained, 0.3)
    times = re.findall(r"(?:(\d+)m )?(\d[\d.]*) ?s\b", str(refused.value))
    total = sum(60 * int(whole or 0) + float(rest) for whole, rest in times)
    assert total > 0.3 * 60
    assert f"needs {-(-total // 60):.0f} here" in str(refused.value)
    sentences = (lab.space.corpus / "train.conll").read_text("utf-8").strip().split("\n\n")
    assert 0 < int(re.findall(r"limit\D+(\d+)", str(refused.value))[0]) < len(sentences)


def test_seeds_go_where_the_gain_is_and_end_with_it(lab, trained):
    """The second of two rows gains more, and nothing after its fourth seed."""

    def gains(first, second):
        return (0.0, 1.0) if len(second) < 4 else None

    plan = carry_out(timed(lab, trained, 60, gains))
    assert Counter(run.record.tuning for run in plan.runs) == {"none": 3, "full": 4, "bitfit": 4}
    assert not plan.missing
    assert not timed(lab, trained, 60).missing  # it is done: other gains start no run


def test_a_candidate_that_fails_is_left_out(lab, trained, monkeypatch):
    def train(job: Job, *arguments: Any) -> None:
        if job.run.tuning == "full":
            raise InputError("not here")
        trained(job)

    monkeypatch.setattr(schedule, "_train", train)
    plan = carry_out(timed(lab, trained, 12))
    assert {run.record.tuning for run in plan.runs} == {"none", "bitfit", "layernorm"}
    assert len(plan.failures) == 2
    assert not plan.record.time_plan.done  # the same command tries again


@pytest.mark.parametrize("task", TASKS)
def test_the_shipped_file_plans_every_task(task, tmp_path, tiny_bert, trained):
    folder, data = tmp_path / "stsb", "sample:multilabel"
    if task in ("entities", "labels"):
        rows = [(words, tags if task == "entities" else words) for words, tags in WORDS]
        data = write_splits(folder, rows * 4, rows, rows)
    elif task != "multilabel":
        target = "score" if task == "regression" else "label"
        data = write_texts(folder, {"data": "stsb", "task": task, "target": target, "shots": 0})
    changes = [f"data={data}", f"model={tiny_bert}", "minutes=60"]
    experiment = RunRequest(file="decide", changes=changes).experiment
    assert {c.task for c in experiment.configurations} == {task}
    plan = MinutesPlan(experiment, tmp_path / "cache", tmp_path / "runs", clock=float).timed()
    assert all(plan.candidates[kind] for kind in ("scan", "finetune"))
    assert plan.time_plan.seconds["seeds"]
    assert not (tmp_path / "runs").exists()


def real(lab, folder: Path, **keys: Any) -> tuple[Any, str]:
    """An experiment on texts within 5 minutes, and its name."""
    data = write_texts(folder / "texts", {"shots": 0})
    experiment = lab.experiment(**keys, data=str(data), task="classification", minutes=5)
    return experiment, f"trial-texts-{lab.space.model.name}"


def test_a_run_with_real_times_and_gains(lab, tmp_path):
    experiment, name = real(
        lab,
        tmp_path,
        seeds=[1, 2, 3, 4],
        features={"layers": ["each"]},
        finetune={"epochs": 2},
        grid={"finetune": {"learning_rate": [1e-3, 1e-4]}},
    )
    result = run(experiment, **lab.where)
    (comparison,) = result.comparisons
    assert result.plan.experiment.name == name
    assert sorted((row.frozen, len(row.runs) >= 3) for row in comparison.rows) == [
        (False, True),
        (True, False),  # logistic regression has one run for all seeds
    ]
    assert all(difference.estimate.covers_seeds for difference in comparison.differences)
    record = read_experiment_record(lab.space.runs, name)
    assert record.time_plan.done
    assert 0 < record.time_plan.spent < 300
    again = run(experiment, **lab.where)
    assert [run.name for run in again.runs] == [run.name for run in result.runs]


@pytest.mark.parametrize("n", [1, 4])
def test_a_seed_has_no_gain_if_dev_has_too_few_units(tmp_path, n):
    rows = [
        [make_run(tmp_path, name, seed, share, n=n, in_document=0) for seed in (1, 2, 3)]
        for name, share in (("a", 0.4), ("b", 0.6))
    ]
    assert _gains(*rows) is None


def test_a_text_that_fits_no_task_says_why(workspace):
    folder = workspace.folder / "empty"
    folder.mkdir()
    for name in ("train.tsv", "dev.tsv"):
        (folder / name).touch()
    message = error_of(workspace.carry_out("decide", "--set", f"data={folder}", "--minutes", 1))
    assert str(folder / "train.tsv") in message
    assert not workspace.runs.exists()


def test_an_interrupted_extraction_counts_in_the_minutes(lab, monkeypatch, tmp_path):
    seconds, before = 0.2, []
    experiment, name = real(lab, tmp_path, features={"layers": ["last"]}, finetune={"epochs": 1})

    def time_plan() -> Any:
        return read_experiment_record(lab.space.runs, name).time_plan

    def ended(*rest: Any) -> Any:
        before.append(time_plan().spent)
        time.sleep(seconds)
        raise KeyboardInterrupt

    monkeypatch.setattr(schedule, "run_extraction", ended)
    with pytest.raises(KeyboardInterrupt):
        run(experiment, **lab.where)
    assert time_plan().spent >= before[0] + seconds
    assert not time_plan().done
