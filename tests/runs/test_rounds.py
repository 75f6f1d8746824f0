"""Experiments whose runs follow from others: variants, train+dev, grids, several at a time."""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from pathlib import Path

import pytest

from featbert.analysis.outcome import FailedRunsError, comparison_of, run_experiment
from featbert.analysis.transfer import transfer_matrices
from featbert.errors import FeatbertError
from featbert.features import extraction
from featbert.runs import execution, workers
from featbert.runs.carrying_out import Listeners
from featbert.runs.evaluations import evaluations_of
from featbert.runs.execution import carry_out
from featbert.runs.experiment_record import read_experiment_record
from featbert.runs.file import check_experiment
from featbert.runs.plan import plan_experiment
from featbert.runs.run import find_runs
from featbert.runs.summary import tried_settings
from tests.tiny_encoders import write_encoder
from tests.workspace import Workspace


@pytest.fixture
def experiment(workspace: Workspace):
    """An experiment over the small corpus, with further keys."""

    def make(**keys):
        base = {
            "name": "trial",
            "data": str(workspace.corpus),
            "model": str(workspace.model),
            "device": "cpu",
        }
        return check_experiment(base | keys, where="trial.toml")

    return make


@pytest.fixture
def where(workspace: Workspace):
    return {"cache_dir": workspace.cache, "runs_dir": workspace.runs}


@pytest.fixture
def extracted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A number for each extraction that is carried out."""
    numbers: list[int] = []
    plain = execution.run_extraction

    def run_extraction(*args, **options):
        numbers.append(len(numbers) + 1)
        return plain(*args, **options)

    monkeypatch.setattr(execution, "run_extraction", run_extraction)
    return numbers


def test_conditions_side_by_side(experiment, where, extracted):
    """2 contexts x train, train+dev: one extraction a context, runs on train before train+dev."""
    trial = experiment(
        features={"layers": ["last"], "epochs": 2, "lstm_size": 4},
        finetune={"epochs": 2, "freeze_to": 1},
        variants={"context": ["sentence", "document"], "train_on": ["train+dev", "train"]},
    )
    comparison = run_experiment(trial, **where)
    assert len(extracted) == 2
    assert len(comparison.rows) == 8
    assert comparison.varied == ("context",)
    by_splits = Counter(tuple(row.splits) for row in comparison.rows)
    assert by_splits == {("dev", "test"): 4, ("test",): 4}
    for row in comparison.rows:
        (run,) = row.runs
        assert list(row.trained_on) == run.record.trained_on
        if "dev" in row.splits:
            assert run.record.epochs_from is None
            continue
        assert row.trained_on == ("train", "dev")
        base = next(r for r in find_runs(where["runs_dir"]) if r.name == run.record.epochs_from)
        assert len(run.record.history) == base.record.best_epoch
        assert run.record.history[-1].dev is None
        assert base.record.signature.context == run.record.signature.context
        assert not (run.folder / "dev.conll").exists()


def test_a_grid_takes_the_best_on_dev_and_trains_it_with_all_seeds(experiment, where):
    trial = experiment(
        seeds=[1, 2],
        finetune={"epochs": 2, "learning_rate": 1e-3},
        grid={"seeds": [1], "finetune": {"epochs": [1, 3], "learning_rate": [1e-9, 5e-3]}},
    )
    before = plan_experiment(trial, **where)
    assert (len(before.jobs), before.rows) == (4, ())  # what is tried; rows are not known yet
    outcome = carry_out(trial, **where)
    (search,) = outcome.plan.searches
    settings = [arm.settings("finetune") for arm in search.arms]
    assert [(s.epochs, s.learning_rate) for s in settings] == [
        (epochs, rate) for epochs in (1, 3) for rate in (1e-9, 5e-3)
    ]
    tried = [jobs[0].run.finished.record for jobs in search.tried]
    scores = [record.scores["dev"].values["f1"] for record in tried]
    assert search.scores == tuple(scores)
    assert search.chosen == scores.index(max(scores))
    (row,) = comparison_of(outcome).rows
    assert row.seeds == (1, 2)
    chosen = settings[search.chosen]
    assert row.settings["learning_rate"] == chosen.learning_rate
    assert row.settings["epochs"] == chosen.epochs
    assert {run.record.configurations_tried for run in row.runs} == {4}
    assert len(find_runs(where["runs_dir"]).runs) == 5  # seed 1 of the chosen one is not repeated


def test_several_at_a_time_give_the_same_and_a_failure_stops_nobody(
    experiment, where, workspace, monkeypatch
):
    trial = experiment(
        seeds=[1, 2],
        features={"layers": ["last"], "epochs": 1, "lstm_size": 4},
        finetune={"epochs": 1},
    )
    ended = []
    heard = []
    logs = where["runs_dir"] / ".tensorboard"
    began = []

    def on_run(job, number, total):
        began.append((number, total))
        return Listeners(
            on_start=lambda: heard.append((job.name, "start")),
            on_step=lambda done, steps: heard.append((job.name, f"step {done} of {steps}")),
            on_epoch=lambda row: heard.append((job.name, f"epoch {row.epoch}")),
        )

    watchers = execution.Watchers(on_end=ended.append, on_run=on_run, log_dir=logs)
    # A folder in the place of a record: this run cannot be written.
    plan = plan_experiment(trial, **where)
    broken = plan.rows[2]
    (broken.run.folder / "weights.safetensors.tmp").mkdir(parents=True)
    outcome = carry_out(trial, jobs=2, watchers=watchers, **where)
    assert list(outcome.failures) == [broken.name]
    assert "\n" not in outcome.failures[broken.name]
    assert len(outcome.runs) == 3
    assert {e.job.name: e.reason is None for e in ended} == {
        job.name: job.name != broken.name for job in plan.rows
    }
    assert began == [(1, 4), (2, 4), (3, 4), (4, 4)]
    for run in outcome.runs:
        told = [what for name, what in heard if name == run.name]
        steps = re.fullmatch(r"step (\d+) of \1", told[-2])  # the last one is always told
        assert told[0] == "start"
        assert steps is not None
        assert told[-1] == "epoch 1"
    assert {folder.name for folder in logs.iterdir()} == {run.name for run in outcome.runs}
    assert {run.record.signature.threads for run in outcome.runs} == {
        max(1, len(os.sched_getaffinity(0)) // 2)
    }
    with pytest.raises(FailedRunsError, match=broken.name):
        run_experiment(trial, **where)
    (broken.run.folder / "weights.safetensors.tmp").rmdir()
    comparison = run_experiment(trial, **where)  # does only what is missing, in this process
    assert [row.seeds for row in comparison.rows] == [(1, 2), (1, 2)]
    other = Workspace(workspace.folder / "again", workspace.corpus, workspace.model)
    again = run_experiment(trial, cache_dir=other.cache, runs_dir=other.runs)
    for row, same in zip(comparison.rows, again.rows, strict=True):
        assert row.score("test").values == same.splits["test"].f1.values


def test_a_worker_that_dies_takes_one_run_with_it(experiment, where, monkeypatch):
    trial = experiment(seeds=[1, 2, 3], features={"layers": ["last"], "epochs": 1, "lstm_size": 4})
    killed = []

    def kill_once(self, job, listeners, plain=workers._Worker.give):
        plain(self, job, listeners)
        if not killed:
            killed.append(job.name)
            os.kill(self.process.pid, signal.SIGKILL)

    monkeypatch.setattr(workers._Worker, "give", kill_once)
    outcome = carry_out(trial, jobs=2, **where)
    assert list(outcome.failures) == killed
    assert "SIGKILL" in outcome.failures[killed[0]]
    assert len(outcome.runs) == 2


def test_an_extraction_that_fails_is_told_for_its_runs_alone(experiment, where, monkeypatch):
    def full(*args, **kwargs):
        raise extraction.InputError("no disk")

    monkeypatch.setattr(execution, "run_extraction", full)
    trial = experiment(features={"layers": ["last"], "epochs": 1}, finetune={"epochs": 1})
    outcome = carry_out(trial, **where)
    assert list(outcome.failures.values()) == ["no disk"]
    assert [row.tuning for row in comparison_of(outcome).rows] == ["full"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"finetune": {"unfreeze": 9}}, "groups of at most 4 layers"),
        ({"finetune": {"freeze_to": 9}}, "a layer from 0 to 4"),
        ({"finetune": {}, "casing": "truecased"}, "is uncased"),
        ({"features": {"layers": ["last"]}, "casing": "truecased"}, "is uncased"),
    ],
)
def test_wrong_combinations_are_refused_before_any_work(experiment, where, tmp_path, keys, message):
    if "casing" in keys:
        keys = keys | {"model": str(write_encoder(tmp_path / "uncased", cased=False))}
    with pytest.raises(FeatbertError, match=message):
        run_experiment(experiment(**keys), **where)
    assert not where["runs_dir"].exists()
    assert not where["cache_dir"].exists()


def test_documents_are_expected_for_document_context(experiment, where, tmp_path):
    folder = tmp_path / "plain"
    folder.mkdir()
    for split in ("train", "dev", "test"):
        (folder / f"{split}.conll").write_text("Jordan B-PER\nsaid O\n\nNo O\n", "utf-8")
    trial = experiment(data=str(folder), context="document", finetune={})
    with pytest.raises(FeatbertError, match="--context document"):
        run_experiment(trial, **where)
    assert not where["runs_dir"].exists()


def test_run_tells_searches_and_failures(workspace: Workspace, tmp_path: Path):
    file = tmp_path / "grid.toml"
    file.write_text(
        f'data = "{workspace.corpus}"\nmodel = "{workspace.model}"\n'
        "[finetune]\nepochs = 1\n[grid.finetune]\nlearning_rate = [1e-9, 1e-3]\n",
        "utf-8",
    )
    options = ("--cache-dir", workspace.cache, "--runs-dir", workspace.runs)
    plan = workspace.call("run", file, "--dry-run", *options)
    assert "2 runs; 1 grid search decides on further runs" in plan.stdout
    assert "0 of 2 configurations tried so far" in plan.stdout
    done = workspace.call("run", file, "--format", "json", *options)
    assert done.exit_code == 0, done.output
    (comparison,) = json.loads(done.stdout)["comparisons"]
    assert any("among 2 configurations" in note for note in comparison["notes"])
    record = read_experiment_record(workspace.runs, "grid")
    (search,) = record.searches
    assert [tried.settings for tried in search.tried] == [
        {"learning_rate": 1e-9},
        {"learning_rate": 1e-3},
    ]
    assert search.tried[search.chosen or 0].dev == max(t.dev or 0 for t in search.tried)
    # The table again, without the file: its rows, not all that was tried.
    again = workspace.call(
        "compare", "--experiment", "grid", "--runs-dir", workspace.runs, "--format", "json"
    )
    assert json.loads(again.stdout)["rows"] == json.loads(done.stdout)["rows"]
    (told,) = (note for note in comparison["notes"] if "among 2 configurations" in note)
    assert told in json.loads(again.stdout)["notes"]
    wrong = workspace.call("compare", "--experiment", "grit", "--runs-dir", workspace.runs)
    assert "did you mean 'grid'?" in wrong.stderr
    everything = workspace.call("compare", "--runs-dir", workspace.runs, "--format", "json")
    assert len(json.loads(everything.stdout)["rows"]) == 2


def test_an_encoder_is_trained_on_the_text_before_its_runs(experiment, where):
    """Both approaches read the adapted encoder, beside the one as it was."""
    trial = experiment(
        features={"layers": ["last"], "epochs": 1, "lstm_size": 4},
        finetune={"epochs": 1},
        variant=[{}, {"adapt": {"epochs": 1, "max_length": 32}}],
    )
    plan = plan_experiment(trial, **where)
    assert (len(plan.adaptations), len(plan.jobs)) == (1, 2)
    comparison = run_experiment(trial, **where)
    assert comparison.varied == ("model",)
    assert sorted((row.tuning, row.signature["adapted_epochs"]) for row in comparison.rows) == [
        ("full", 0), ("full", 1), ("none", 0), ("none", 1),
    ]  # fmt: skip
    weights = {row.signature["encoder_weights"] for row in comparison.rows}
    assert len(weights) == 2
    assert not plan_experiment(trial, **where).adaptations


def test_next_sentences_need_documents(experiment, where, tmp_path):
    folder = tmp_path / "plain"
    folder.mkdir()
    for split in ("train", "dev", "test"):
        (folder / f"{split}.conll").write_text("Jordan B-PER\nsaid O\n\nNo O\n", "utf-8")
    trial = experiment(data=str(folder), finetune={}, adapt={"nsp": "on"})
    with pytest.raises(FeatbertError, match="plain"):
        run_experiment(trial, **where)
    assert not where["runs_dir"].exists()


def write_language(folder: Path, name: str, rows: list[tuple[str, str]]) -> str:
    (folder / name).mkdir()
    for split, times in (("train", 4), ("dev", 1), ("test", 1)):
        lines = []
        for words, tags in rows * times:
            pairs = zip(words.split(), tags.split(), strict=True)
            lines += [f"{word} {tag}" for word, tag in pairs] + [""]
        (folder / name / f"{split}.conll").write_text("\n".join(lines) + "\n", "utf-8")
    return str(folder / name)


@pytest.fixture
def languages(tmp_path) -> dict[str, str]:
    """Two corpora with label sets that differ: one calls a place PLACE and has no MISC."""
    en = [("Jordan Smith of EU", "B-PER I-PER O B-MISC"), ("near Hamilton", "O B-LOC")]
    nl = [("said Jordan", "O B-PER"), ("Hamilton is quick .", "B-PLACE O O O")]
    return {
        "en": write_language(tmp_path, "one", en),
        "nl": write_language(tmp_path, "two", nl),
    }


def test_every_tagger_is_scored_on_every_language(experiment, where, languages, extracted):
    trial = experiment(
        corpora=languages,
        transfer=True,
        labels={"PLACE": "LOC"},
        seeds=[1, 2],
        features={"layers": ["last", "concat_last4"], "epochs": 1, "lstm_size": 4},
        finetune={"epochs": 1},
    )
    comparison = run_experiment(trial, **where)
    assert len(extracted) == 2  # a store a language serves training and all evaluations
    assert comparison.varied == ("corpus",)
    runs = find_runs(where["runs_dir"]).runs
    matrices = transfer_matrices(runs)
    assert [(m.tuning, m.layers) for m in matrices] == [
        ("none", "last"), ("none", "concat_last4"), ("full", None),
    ]  # fmt: skip
    for matrix in matrices:
        assert matrix.trained_on == matrix.evaluated_on == ("en", "nl")
        assert all(mean is not None for means in matrix.means for mean in means)
    (record,) = [
        e
        for r in runs
        if r.record.tuning == "full" and r.record.seed == 1
        for e in evaluations_of(r)
        if e.language == "nl"
    ]
    assert record.mapping == {"PLACE": "LOC"}
    assert record.entity_types == ["LOC", "PER"]
    assert record.absent_types == ["MISC"]
    again = carry_out(trial, **where)
    assert not again.plan.missing


def test_the_matrix_and_its_figure_at_the_command_line(workspace, languages, tmp_path):
    file = tmp_path / "transfer.toml"
    file.write_text(
        f'model = "{workspace.model}"\ntransfer = true\npublished = ["pires2019-table1"]\n'
        f'[corpora]\nen = "{languages["en"]}"\nnl = "{languages["nl"]}"\n'
        '[features]\nlayers = ["last"]\nepochs = 1\nlstm_size = 4\n',
        "utf-8",
    )
    options = ("--cache-dir", workspace.cache, "--runs-dir", workspace.runs)
    figures = tmp_path / "figures"
    done = workspace.call("run", file, "--figures", figures, *options)
    assert done.exit_code == 0, done.output
    assert "Pires" in done.stdout
    assert (figures / "transfer.png").read_bytes().startswith(b"\x89PNG")
    assert (figures / "transfer-published.pdf").read_bytes().startswith(b"%PDF")
    as_json = json.loads(workspace.call("run", file, "--format", "json", *options).stdout)
    assert as_json["transfer"]
    compared = workspace.call("compare", "--runs-dir", workspace.runs)
    assert "trained on" in compared.stdout
    assert "Pires" not in compared.stdout  # nobody asked
    again = workspace.call("compare", "--experiment", "transfer", "--runs-dir", workspace.runs)
    assert "trained on" in again.stdout
    assert "Pires" in again.stdout
    afile = tmp_path / "afile"
    afile.write_text("", "utf-8")
    for command in (("run", file, *options), ("compare", "--runs-dir", workspace.runs)):
        refused = workspace.call(*command, "--figures", afile)
        assert refused.exit_code == 1
        assert f"a folder expected for --figures, {afile} is a file" in refused.stderr
        assert not refused.stdout


def test_a_candidate_that_fails_does_not_hold_up_its_row(experiment, where, monkeypatch):
    trial = experiment(finetune={"epochs": 1}, grid={"finetune": {"learning_rate": [1e-3, 1e-4]}})
    plain = execution.carry_out_job

    def failing(arm, run, *rest):
        if run.settings["learning_rate"] == 1e-3:
            raise FeatbertError("a finite loss expected")
        return plain(arm, run, *rest)

    monkeypatch.setattr(execution, "carry_out_job", failing)
    outcome = carry_out(trial, **where)
    (search,) = outcome.plan.searches
    assert (search.failed, search.chosen) == ((True, False), 1)
    assert [run.record.settings["learning_rate"] for run in outcome.runs] == [1e-4]
    assert list(outcome.failures.values()) == ["a finite loss expected"]


@pytest.mark.parametrize(
    ("failing", "told"),
    [
        ([1], "1 run failed, 1 that waits for it is left; the same command tries the failed one"),
        (
            [1, 2],
            "2 runs failed, 2 that wait for them are left; the same command tries the failed ones",
        ),
    ],
)
def test_run_counts_what_failed_and_what_waits(
    workspace: Workspace, tmp_path: Path, monkeypatch, failing: list[int], told: str
):
    file = tmp_path / "both.toml"
    file.write_text(
        f'data = "{workspace.corpus}"\nmodel = "{workspace.model}"\nseeds = [1, 2, 3]\n'
        'train_on = "train+dev"\n[finetune]\nepochs = 1\n',
        "utf-8",
    )
    plain = execution.carry_out_job

    def carry_out_job(arm, run, *rest):
        if run.seed in failing:
            raise FeatbertError("a finite loss expected")
        return plain(arm, run, *rest)

    monkeypatch.setattr(execution, "carry_out_job", carry_out_job)
    options = ("--cache-dir", workspace.cache, "--runs-dir", workspace.runs)
    done = workspace.call("run", file, *options)
    assert "both: 6 of 6 runs to train\n" in done.stderr
    assert f"error: {told} again\n" in done.stderr


def test_what_would_be_the_same_run_is_tried_once(experiment, where):
    """A single layer has no mix, so its rate changes nothing."""
    trial = experiment(
        features={"layers": ["last", "weighted_all"], "epochs": 1, "lstm_size": 4},
        grid={"features": {"mix_learning_rate": [1e-3, 1e-2]}},
    )
    plan = plan_experiment(trial, **where)
    assert [(s.layers, len(s.arms)) for s in plan.searches] == [("last", 1), ("weighted_all", 2)]


def test_a_search_that_variants_share_is_one_search(experiment, where):
    trial = experiment(
        features={"layers": ["last"], "epochs": 1, "lstm_size": 4},
        finetune={"epochs": 1},
        variants={"finetune": {"freeze_to": ["none", 0, "all"]}},
        grid={"features": {"learning_rate": [1e-3, 1e-2]}},
    )
    assert len(plan_experiment(trial, **where).searches) == 1


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"finetune": {"unfreeze": 3, "epochs": 2}}, "at least 3 epochs expected"),
        ({"finetune": {"freeze_to": 40}}, "a layer from 0 to 4"),
        ({"features": {"layers": ["layer:9"]}}, "0 to 4"),
    ],
)
def test_runs_are_checked_before_their_encoder_is_trained(experiment, where, keys, message):
    with pytest.raises(FeatbertError, match=message):
        plan_experiment(experiment(adapt={"epochs": 1}, **keys), **where)


def test_a_label_that_no_corpus_has_is_told_before_any_work(experiment, where, languages):
    trial = experiment(
        corpora=languages, transfer=True, labels={"PLAC": "LOC"}, finetune={"epochs": 1}
    )
    with pytest.raises(FeatbertError, match=r"found 'PLAC' \(did you mean 'PLACE'\?\)"):
        run_experiment(trial, **where)
    assert not where["runs_dir"].exists()


def test_the_layer_that_was_chosen_is_the_layer_that_is_told(experiment, where):
    trial = experiment(finetune={"epochs": 1}, grid={"finetune": {"freeze_to": ["none", 0, "all"]}})
    (search,) = plan_experiment(trial, **where).searches
    assert tried_settings(search) == [{"freeze_to": None}, {"freeze_to": 0}, {"freeze_to": 4}]
