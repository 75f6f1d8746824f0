"""Rows against their baseline, from predictions on disk."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from featbert.analysis import resampling
from featbert.analysis import significance as module
from featbert.analysis.resampling import paired_test, t_interval
from featbert.data.corpus import Sentence
from featbert.report.tables import comparison_tables
from featbert.runs.folder import TESTS
from featbert.runs.record import read_json, to_json
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


def compared(runs: list[Run]):
    (comparison,) = compare(runs, stats=True, resamples=200)
    return comparison


def test_a_row_is_tested_against_its_baseline_over_seeds_and_over_documents(tmp_path) -> None:
    runs = both(tmp_path)
    comparison = compared(runs)
    assert comparison.differences == comparison.leads  # no test: the best by dev is the baseline
    assert "by dev" not in comparison_tables(comparison)["trust"][0].subtitle
    (found,) = comparison.differences
    assert (found.row, found.baseline, found.split) == ("concat_last4", "fine-tuning", "dev")
    assert (found.seeds, found.units) == ((1, 2, 3), "documents")

    def documents(run: Run) -> np.ndarray:
        kept = run.predictions("dev")
        counts = TASK.counts(kept.gold, kept.predicted)
        return np.array([counts[i : i + 3].sum(0) for i in range(0, N, 3)])

    tuned, concat = [[documents(run) for run in side] for side in (runs[:3], runs[3:])]
    assert found.pooled == paired_test(sum(tuned), sum(concat), f1_of, resamples=200)
    f1 = [[run.record.scores["dev"].values["f1"] for run in side] for side in (runs[:3], runs[3:])]
    assert found.over_seeds == t_interval([b - a for a, b in zip(*f1, strict=True)])


def test_sentences_are_the_units_where_there_are_no_documents(tmp_path) -> None:
    runs = both(tmp_path, seeds=(1,), in_document=0)
    (found,) = compared(runs).differences
    assert (found.units, found.pooled.units) == ("sentences", N)
    assert found.over_seeds is None
    kept = runs[0].predictions("dev")
    assert runs[0].counts("dev").units.tolist() == TASK.counts(kept.gold, kept.predicted).tolist()


def test_few_documents_are_named_and_one_is_not_a_unit(tmp_path) -> None:
    def tested(per_document: int):
        folder = tmp_path / str(per_document)
        return compared(both(folder, seeds=(1,), in_document=per_document))

    for per_document, least in ((3, ""), (6, "0.12"), (8, "0.25")):
        comparison = tested(per_document)
        assert comparison.differences[0].pooled.units == N / per_document
        notes = [note for note in comparison.test_notes if "too few" in note]
        assert len(notes) == bool(least)
        assert all(f"below {least}" in note for note in notes)
    assert tested(N).differences[0].pooled.units == N


def test_holm_adjusts_for_all_pairs_of_a_split_each_of_which_has_one_p(tmp_path) -> None:
    others = [make(tmp_path, "last", seed, 0.1, layers="last") for seed in (1, 2, 3)]
    comparison = compared([*both(tmp_path), *others])
    tests = (*comparison.differences, *comparison.leads)
    pairs = {frozenset((d.row, d.baseline)): d for d in tests}
    found, p_values = zip(*((d.adjusted, d.pooled.p_value) for d in pairs.values()), strict=True)
    assert (len(found), len(tests), [*found]) == (3, 4, resampling.holm(p_values))


def test_what_cannot_be_tested_is_told(tmp_path) -> None:
    runs = both(tmp_path)
    (found,) = compared(runs[1:]).differences  # fine-tuning lost seed 1
    assert found.seeds == (2, 3)
    apart = compared([*runs[:1], *runs[4:]])
    assert not apart.differences
    assert any("fine-tuning: 2, 3 and 1" in note for note in apart.test_notes)
    (runs[4].folder / "dev.conll").unlink()
    lost = compared(runs)
    assert not lost.differences
    assert any("concat_last4" in note for note in lost.test_notes)


def test_tests_are_kept_by_what_was_predicted(tmp_path, monkeypatch) -> None:
    runs = both(tmp_path)
    first = compared(runs)
    (kept,) = (tmp_path / TESTS).iterdir()

    def never(*_: object, **__: object) -> None:
        raise AssertionError("tested again")

    monkeypatch.setattr(module, "paired_test", never)
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
    asked = {"stats": True, "cost": True, "by": ["type"], "resamples": 100}
    comparison = compare_runs(runs, vary=["model"], **asked)
    assert not [note for note in comparison.test_notes if "not tested" in note]
    found = {d.row: d for d in comparison.differences}
    ours, theirs = "all-MiniLM-L6-v2", "other"
    assert {name: d.baseline for name, d in found.items()} == {
        f"concat_last4 · {ours}": f"fine-tuning · {ours}",
        f"concat_last4 · {theirs}": f"fine-tuning · {theirs}",
    }
    assert found[f"concat_last4 · {ours}"].seeds == (1, 2, 3)
    assert found[f"concat_last4 · {theirs}"].seeds == (1, 2)
    (parted,) = comparison.breakdowns
    assert len(parted.rows) == len(comparison.prices) == 4
    splits = {name: replace(one, tags="9" * 64) for name, one in make_signature().splits.items()}
    retagged = make(tmp_path / "c", "last", 1, 0.5, layers="last", signature={"splits": splits})
    found = compare_runs([*runs, retagged], vary=["tags", "model"], by=["type"]).breakdowns
    assert [len(one.rows) for one in found] == [1, 4]  # apart, as their gold counts differ


def test_classes_are_exchanged_with_themselves(tmp_path) -> None:
    """Runs that know other classes of the same answers, as those trained on two corpora."""
    task, random = get_task("classification:macro_f1"), np.random.default_rng(1)
    gold = [[name] for name in random.choice(["x", "y"], 60)]
    runs, found, classes = [], [], (("x", "y", "z"), ("w", "x", "y"))
    for name, layers, known in zip(
        ("tuned", "concat"), (None, "concat_last4"), classes, strict=True
    ):
        run = make(tmp_path, name, 1, 0.3, layers=layers, task=task.name)
        predicted = [[str(random.choice([*known, answer[0]]))] for answer in gold]
        sentences = [
            Sentence((str(n),), tuple(answer), texts=(str(n),)) for n, answer in enumerate(gold)
        ]
        task.write_predictions(run.folder / task.predictions_name("dev"), sentences, predicted)
        scores = {"dev": task.score(gold, predicted)}
        signature = replace(run.record.signature, entity_types=[*known])
        runs.append(Run(run.folder, replace(run.record, scores=scores, signature=signature)))
        found.append(task.counts(gold, predicted, ["w", "x", "y", "z"]))
    (tested,) = compared(runs).differences
    assert tested.pooled == paired_test(*found, task.measure.of, resamples=200)
