"""Experiments whose runs follow from others: variants, train+dev, grids, adaptation, transfer."""

import shlex
import shutil
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

import featbert
from featbert.analysis.transfer import transfer_matrices
from featbert.api import RunRequest, plan_run
from featbert.errors import FeatbertError, InputError, MissingError
from featbert.experiments import schedule
from featbert.experiments.estimate import Estimates
from featbert.experiments.plan import Resources
from featbert.inference.evaluate import read_evaluation
from featbert.report.plan import plan_text
from featbert.runs.folder import evaluation_files
from featbert.runs.record import read_experiment_record
from featbert.runs.run import find_runs
from tests.analysis.records import compare, make_epoch
from tests.experiments.experiment_files import SMALL, write_made_up
from tests.failing import failing
from tests.tiny_encoders import write_encoder
from tests.workspace import WORDS, command, ok, write_splits


def test_conditions_next_to_each_other(lab):
    """2 contexts x train, train+dev: one extraction a context, runs on train before train+dev."""
    keys = {
        "features": SMALL | {"epochs": 2},
        "finetune": {"epochs": 2, "freeze_to": 1},
        "threads": 2,
        "variants": {"context": ["sentence", "document"], "train_on": ["train+dev", "train"]},
    }
    comparison = lab.run(**keys)
    stores = {path: path.stat().st_mtime_ns for path in lab.space.cache.glob("*.h5")}
    assert len(stores) == 2
    runs = {run.name: run.record for run in find_runs(lab.space.runs)}
    assert len(comparison.rows) == len(runs) == 8
    assert {record.signature.threads for record in runs.values()} == {2}
    assert Counter(tuple(record.scores) for record in runs.values()) == {
        ("dev", "test"): 4,
        ("test",): 4,
    }
    for name, record in runs.items():
        if record.trained_on == ["train"]:
            assert record.epochs_from is None
            continue
        base = runs[record.epochs_from or ""]
        assert len(record.history) == base.best_epoch
        assert (record.trained_on, record.history[-1].dev) == (["train", "dev"], None)
        assert record.train_words > base.train_words
        assert base.signature.context == record.signature.context
        # An epoch on train+dev is longer than one on train, and the base run is paid, too.
        ratio = record.cost.training_flops / base.cost.training_flops
        assert 1 + base.best_epoch / 2 < ratio < 1 + base.best_epoch
        assert record.cost.training_seconds > base.cost.training_seconds
        assert not (lab.space.runs / name / "dev.conll").exists()
    # Finished work is not done again.
    started = {name: record.started for name, record in runs.items()}
    again = lab.carry_out(**keys)
    assert not again.missing
    assert {run.name: run.record.started for run in find_runs(lab.space.runs)} == started
    assert stores == {path: path.stat().st_mtime_ns for path in lab.space.cache.glob("*.h5")}


def test_a_grid_takes_the_best_on_dev_and_trains_it_with_all_seeds(lab):
    """And never looks at test: dev's best is chosen where test's best is another."""
    rare = "Hamilton B-LOC\nis O\nnear O\nWashington B-LOC\n\n"
    (lab.space.corpus / "test.conll").write_text(rare, "utf-8")
    keys = {
        "seeds": [1, 2],
        "finetune": {"batch_size": 16},
        "grid": {"seeds": [1], "finetune": {"epochs": [1, 3], "learning_rate": [1e-9, 5e-3]}},
    }
    before = lab.plan(**keys)
    assert (len(before.jobs), before.rows) == (4, {})  # what is tried; rows are not known yet
    outcome = lab.carry_out(**keys)
    (search,) = outcome.searches
    jobs = [outcome.jobs[point.runs[0]] for point in search.tried]
    settings = [job.configuration.settings("finetune") for job in jobs]
    assert [(s.epochs, s.learning_rate) for s in settings] == [
        (epochs, rate) for epochs in (1, 3) for rate in (1e-9, 5e-3)
    ]
    tried = [job.run.finished for job in jobs]
    scores = [run.record.scores["dev"].values["f1"] for run in tried if run is not None]
    assert [t.dev for t in search.tried] == scores
    assert search.chosen == scores.index(max(scores))
    ((row,),) = (one.rows for one in compare(outcome.runs))
    assert sorted(run.record.seed for run in outcome.runs) == [1, 2]
    chosen = settings[search.chosen]
    assert row.settings["learning_rate"] == chosen.learning_rate
    assert row.settings["epochs"] == chosen.epochs
    assert {run.record.configurations_tried for run in outcome.runs} == {4}
    assert len(find_runs(lab.space.runs).runs) == 5  # seed 1 of the chosen one is not repeated
    assert read_experiment_record(lab.space.runs, "trial").searches == [search]
    assert [t.settings for t in search.tried] == [
        {"epochs": s.epochs, "learning_rate": s.learning_rate} for s in settings
    ]


def test_a_grid_with_train_and_dev_searches_on_train_alone(lab):
    """One search serves both rows, and each learns from what it says."""
    keys = {
        "variants": {"train_on": ["train+dev", "train"]},
        "finetune": {"epochs": 2},
        "grid": {"finetune": {"learning_rate": [1e-9, 5e-3]}},
    }
    outcome = lab.carry_out(**keys)
    (search,) = outcome.searches
    jobs = [outcome.jobs[name] for point in search.tried for name in point.runs]
    assert {job.run.settings["train_on"] for job in jobs} == {"train"}
    run, on_train = outcome.runs
    assert run.record.trained_on == ["train", "dev"]
    assert on_train.record.trained_on == ["train"]
    scores = [job.run.finished.record.score("dev") for job in jobs]
    assert search.chosen == scores.index(max(scores))
    assert run.record.settings["learning_rate"] == [1e-9, 5e-3][search.chosen]
    assert len(find_runs(lab.space.runs).runs) == 3


def test_a_run_that_only_gives_epochs_is_no_row_if_the_command_is_killed(lab):
    """The record before a batch names no such run, so it is not shown when it is finished."""
    keys = {"finetune": {"epochs": 2, "train_on": "train+dev"}}
    plan = lab.plan(**keys)
    (row,) = plan.rows
    assert len(plan.missing) == 2
    assert plan.record.missing == [row]
    both = lab.plan(finetune={"epochs": 2}, variants={"train_on": ["train+dev", "train"]})
    assert {*both.record.missing} == {*both.rows}
    assert len(both.rows) == 2


def test_searches_are_named_by_what_differs(lab, tmp_path):
    """Neither folders of the machine nor settings of the other side are in a search's name."""
    deep = write_encoder(tmp_path / "deep", layers=4)
    rates = {"learning_rate": [1e-3, 1e-4]}
    plan = lab.plan(
        variants={"model": [str(lab.space.model), str(deep)]},
        variant=[
            {"features": SMALL | {"body": "linear"}},
            {"features": SMALL, "finetune": {"tuning": "bitfit"}},
            {"finetune": {"epochs": 1}},
        ],
        grid={"features": rates, "finetune": rates},
    )
    names = [(search.tuning, search.configuration) for search in plan.searches]
    models = (f"model={lab.space.model.name}", f"model={deep.name}")
    assert names == [
        *(("none", f"body=linear, {model}") for model in models),
        *((tuning, model) for model in models for tuning in ("none", "bitfit")),
        *(("full", f"epochs=1, {model}") for model in models),
    ]


def test_rows_share_a_search_only_if_they_agree_in_all_that_it_tries(lab):
    """The rate is the default of "full" and not of "lora"."""
    variants = [{"finetune": {"epochs": 1, **given}} for given in ({}, {"learning_rate": 2e-4})]
    grid = {"finetune": {"tuning": ["full", "lora"]}}
    assert len(lab.plan(variant=variants, grid=grid).searches) == 2
    assert len(lab.plan(variant=[variants[0]] * 2, grid=grid).searches) == 1


@pytest.mark.parametrize(
    "change", [{"seeds": "1,2"}, {"minutes": 5}, {"threads": 2}, {"changes": ["seeds=1,2"]}]
)
def test_an_experiment_that_was_read_takes_no_changes(lab, change):
    read = lab.experiment(finetune={"epochs": 1})
    with pytest.raises(InputError, match=next(iter(change))):
        plan_run(read, **lab.where, **change)
    file = lab.space.experiment("[finetune]\nepochs = 1\n")
    request = RunRequest(file=file, seeds="1,2", changes=["finetune.epochs=3"]).with_experiment()
    (configuration,) = request.experiment.configurations
    assert (configuration.seeds, configuration.finetune.epochs) == ([1, 2], 3)


@pytest.mark.parametrize("folders", [("one", "two"), ("one/same", "two/same")])
def test_each_corpus_of_an_experiment_is_doubted(lab, caplog, folders):
    """Also if several have one name."""
    for folder, separator in zip(folders, "|;", strict=True):
        place = lab.space.folder / folder
        place.mkdir(parents=True)
        rows = [f"it was {n}\t{('a', f'a{separator}b', 'b')[n % 3]}" for n in range(12)]
        for split in ("train", "dev", "test"):
            (place / f"{split}.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n", "utf-8")
    corpora = {f"c{n}": {"data": str(lab.space.folder / f)} for n, f in enumerate(folders)}
    experiment = lab.experiment(
        corpora=corpora, task="classification", features={"layers": ["last"]}
    )
    plan_run(experiment, **lab.where)
    assert all(name in caplog.text for name in ("a|b", "a;b"))


def test_experiments_with_names_that_are_alike_keep_their_records(lab):
    (run,) = lab.carry_out(name="a b", features=SMALL).runs
    for name in ("a_b", "a b"):  # the name of the file, too
        assert read_experiment_record(lab.space.runs, name).rows == [run.name]
    with pytest.raises(InputError, match="a b"):
        lab.carry_out(name="a_b", features=SMALL | {"epochs": 2})
    with pytest.raises(MissingError, match="a_b"):
        read_experiment_record(lab.space.runs, "a/b")
    assert [run.name for run in find_runs(lab.space.runs)] == [run.name]


def test_a_search_with_another_encoder_or_text_replaces_no_record(lab, tmp_path):
    keys = {"finetune": {"epochs": 1}, "grid": {"finetune": {"learning_rate": [1e-3, 1e-2]}}}
    (search,) = lab.carry_out(**keys).searches
    deep = write_encoder(tmp_path / "deep", layers=2)
    other = write_splits(tmp_path / "other", WORDS[:3], WORDS, WORDS)
    for change in ({"model": str(deep)}, {"data": str(other)}, {"limit": 2}):
        with pytest.raises(InputError, match=r"trial\.experiment\.json"):
            lab.plan(**keys, **change)
        assert lab.plan(name="other", **keys, **change).missing
        both = {"variant": [{}, change]}
        assert search in lab.plan(**keys, **both).searches
    assert read_experiment_record(lab.space.runs, "trial").searches == [search]
    shutil.rmtree(lab.space.runs / search.tried[0].runs[0])
    assert lab.plan(**keys).missing
    for trial in search.tried[1:]:
        shutil.rmtree(lab.space.runs / trial.runs[0])
    assert lab.plan(**keys, model=str(deep)).missing


def test_the_command_that_shows_an_experiment_again_is_one_that_does(lab):
    file = lab.space.experiment("name = 'a b'\n[features]\nlayers = ['last']\nepochs = 1\n")
    (line,) = [t for t in ok(lab.space.carry_out(file)).stderr.splitlines() if "compare" in t]
    words = shlex.split(line[line.index("featbert") :].rpartition(" shows")[0])
    assert "trial.toml" not in ok(command(*words[1:])).stdout


def test_what_fails_holds_up_nothing_else(lab):
    """Neither a point its row nor an extraction the rows that do not read it."""

    def is_high(plan: Any, *rest: Any, **options: Any) -> bool:
        return plan.settings["learning_rate"] == 1e-3

    rates = {"finetune": {"learning_rate": [1e-3, 1e-4]}}
    with (
        failing(schedule, "train_planned", is_high, error=FeatbertError("loss is nan")),
        failing(schedule, "run_extraction", error=FeatbertError("no disk")),
    ):
        outcome = lab.carry_out(features=SMALL, finetune={"epochs": 1}, grid=rates)
    (search,) = outcome.searches
    assert ([t.dev is None for t in search.tried], search.chosen) == ([True, False], 1)
    (run,) = outcome.runs
    assert (run.record.tuning, run.record.settings["learning_rate"]) == ("full", 1e-4)
    assert sorted(outcome.failures.values()) == ["loss is nan", "no disk"]


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"finetune": {"unfreeze": 9}}, "9"),
        ({"finetune": {"unfreeze": 3, "epochs": 2}, "adapt": {"epochs": 1}}, "epochs is 2"),
        ({"finetune": {"freeze_to": 40}, "adapt": {"epochs": 1}}, "40"),
        ({"features": {"layers": ["layer:9"]}, "adapt": {"epochs": 1}}, "9"),
        ({"finetune": {}, "casing": "truecased"}, "uncased"),
        ({"features": SMALL, "casing": "truecased"}, "uncased"),
        ({"finetune": {}, "context": "document", "data": "plain"}, "document"),
        ({"finetune": {}, "adapt": {"nsp": "on"}, "data": "plain"}, "plain"),
        ({"finetune": {}, "transfer": True, "labels": {"PRE": "LOC"}}, "'PER'"),
        ({"finetune": {}, "corpora": {"a": {}, "b": {"folds": 2}}}, "corpus=b.*folds"),
    ],
)
def test_wrong_combinations_are_refused_before_any_work(lab, tmp_path, keys, named):
    if "casing" in keys:
        keys = keys | {"model": str(write_encoder(tmp_path / "uncased", cased=False))}
    if "data" in keys:
        (tmp_path / "plain").mkdir()
        keys = keys | {"data": str(tmp_path / "plain")}
        for split in ("train", "dev", "test"):
            text = "Jordan B-PER\nsaid O\n\nNo O\n"
            (tmp_path / "plain" / f"{split}.conll").write_text(text, "utf-8")
    with pytest.raises(FeatbertError, match=named):
        lab.run(**keys)
    assert not lab.space.runs.exists()
    assert not lab.space.cache.exists()


def test_time_follows_from_like_runs_or_from_a_short_one(lab):
    lab.run(features=SMALL | {"epochs": 2})
    (run,) = find_runs(lab.space.runs)
    there = sorted(lab.space.folder.rglob("*"))
    keys = {"features": SMALL | {"epochs": 6, "learning_rate": 1e-4}, "finetune": {"epochs": 1}}
    plan = lab.plan(**keys)
    like, other = plan.missing
    words = {name: split.words for name, split in run.record.signature.splits.items()}
    cost, second = run.record.cost, run.record.history[1].seconds  # the first epoch is slower
    assert cost.prediction_words == words["dev"] + words["test"]
    known = Estimates(plan, measure=False)
    expected = 6 * second + cost.prediction_seconds
    assert known.run(like)[::2] == (pytest.approx(expected), "1 finished run")
    assert known.run(other) is None
    short = Estimates(plan, measure=True)
    assert (short.run(like), short.run(other)[2]) == (known.run(like), "a short run")
    # A short run has too few epochs for these.
    stages = [{"epochs": 9, "unfreeze": 1}, {"tuning": "head-then-full", "head_epochs": 2}]
    plan = lab.plan(variant=[{"finetune": stage} for stage in stages])
    assert None not in map(Estimates(plan, measure=True).run, plan.missing)
    assert sorted(lab.space.folder.rglob("*")) == there


def test_an_epoch_with_equal_steps_has_several_passes_in_estimates(lab):
    """The whole text takes as long, since it takes as many steps."""
    keys = {"finetune": {"epochs": 4}, "train_sizes": {"shares": [0.25, 1.0]}}
    small, whole = lab.plan(**keys).jobs.values()
    text = lab.plan(**keys).resources.corpus(small.configuration)["train"]
    write_made_up(
        small,
        train_words=text.n_words // 4,
        history=[make_epoch(n, 1.0, 0.5, 10.0) for n in range(1, 5)],
        cost={"prediction_seconds": 0.0},
    )
    known = Estimates(lab.plan(**keys), measure=False)
    assert [known.run(job)[0] for job in (small, whole)] == pytest.approx([40, 40], rel=0.02)


def test_rows_with_the_same_numbers_for_every_seed_have_one_run(lab, tmp_path):
    """Points of a search, too."""
    rows = "".join(f"a {word} film\t{word}\n" for word in ("good", "bad") * 4)
    for name in ("train", "dev"):
        (tmp_path / f"{name}.tsv").write_text(f"text\tlabel\n{rows}", "utf-8")
    keys = {"data": str(tmp_path), "task": "classification", "features": {"layers": ["last"]}}
    grid = {"features": {"epochs": [5, 10]}, "seeds": [1, 2, 3]}
    for shots in ({}, {"shots": 2}):
        plan = lab.plan(**keys, finetune={}, seeds=[1, 2], **shots)
        assert len(plan.jobs) == (4 if shots else 3)
        assert ("last (" in plan_text(plan, False, None).splitlines()[-1]) == (not shots)
        assert len(lab.plan(**keys, grid=grid, **shots).jobs) == (6 if shots else 2)


def test_every_run_is_scored_on_every_language(lab, tmp_path):
    """Classes differ: one language calls a place PLACE and has no MISC."""
    en = [("Jordan Smith of EU", "B-PER I-PER O B-MISC"), ("near Hamilton", "O B-LOC")]
    nl = [("said Jordan", "O B-PER"), ("Hamilton is quick .", "B-PLACE O O O")]
    texts = {"en": en, "nl": nl}
    corpora = {n: str(write_splits(tmp_path / n, t * 4, t, t)) for n, t in texts.items()}
    keys = {
        "corpora": corpora,
        "transfer": True,
        "labels": {"PLACE": "LOC"},
        "seeds": [1, 2],
        "features": SMALL | {"layers": ["last", "concat_last4"]},
        "finetune": {"epochs": 1},
    }
    assert len(lab.run(**keys).rows) == 6
    assert len([*lab.space.cache.rglob("*.h5")]) == 2  # each for training and all evaluations
    runs = find_runs(lab.space.runs).runs
    matrices = transfer_matrices(runs)
    labels = ["last (BiLSTM)", "concat_last4 (BiLSTM)", "fine-tuning (linear)"]
    assert [m.label for m in matrices] == labels
    for matrix in matrices:
        assert matrix.trained_on == matrix.evaluated_on == ("en", "nl")
        assert all(mean is not None for means in matrix.means for mean in means)
    (record,) = [
        e
        for r in runs
        if r.record.tuning == "full" and r.record.seed == 1
        for e in (read_evaluation(r, path) for path in evaluation_files(r.folder))
        if e.language == "nl"
    ]
    assert record.mapping == {"PLACE": "LOC"}
    assert record.entity_types == ["LOC", "PER"]
    assert record.absent_types == ["MISC"]
    before = {path: path.stat().st_mtime_ns for path in lab.space.runs.rglob("evaluations/*")}
    again = lab.carry_out(**keys)
    assert not again.missing
    assert before == {p: p.stat().st_mtime_ns for p in lab.space.runs.rglob("evaluations/*")}


def test_another_text_or_encoder_than_was_planned_is_refused(lab):
    """As where a file is changed while runs wait for their process, or a node has an own copy."""
    train, keys = lab.space.corpus / "train.conll", {"finetune": {"epochs": 1}}
    (job,) = lab.plan(**keys).jobs.values()
    train.write_text(train.read_text("utf-8").replace("Smith I-PER", "Smith B-ORG"), "utf-8")
    with pytest.raises(InputError, match="tiny"):
        schedule._train(job, None, None, Resources())
    (job,) = lab.plan(**keys).jobs.values()
    signature = replace(job.run.signature, encoder_weights="f" * 64)
    changed = replace(job, run=replace(job.run, signature=signature))
    with pytest.raises(InputError, match="weights"):
        schedule._train(changed, None, None, Resources())
    assert not lab.space.runs.exists()


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_experiment_shows_the_runs_that_are_finished(lab, interruption):
    """By Ctrl-C, and by SIGTERM as the command line takes it."""
    keys = {"features": SMALL, "seeds": [1, 2, 3]}
    names, shown_meanwhile = [*lab.plan(**keys).rows], list[str]()

    def is_last(run: Any, *rest: Any, **options: Any) -> bool:
        if run.name == names[-1]:
            shown_meanwhile.extend(read_experiment_record(lab.space.runs, "trial").rows)
        return run.name == names[-1]

    killed = failing(schedule, "train_planned", is_last, error=interruption)
    with killed, pytest.raises(interruption):
        lab.carry_out(**keys)
    record = read_experiment_record(lab.space.runs, "trial")
    assert record.rows == shown_meanwhile == names[:2]
    assert record.missing == names[2:]
    shutil.rmtree(lab.space.runs / names[0])
    with_removed = featbert.compare(experiment="trial", runs_dir=lab.space.runs)
    assert [len(row.runs) for row in with_removed[0].rows] == [1]
    assert any("2 runs" in note for note in with_removed.notes)
