"""What a run record must fulfil beside its types: its numbers follow from one another."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from featbert.runs.checked import RecordError
from featbert.tasks.scores import PRF, SplitScores
from featbert.text import counted, on_one_line
from featbert.training.settings import DEFAULTS, SettingsError, TrainingSettings

if TYPE_CHECKING:
    from featbert.runs.record import Cost, RunRecord

# Shares are quotients of counts; JSON keeps them to the bit, another library's may be an ulp off.
_TOLERANCE = 1e-9
# Of a count: more is damage, and could not even be turned into a float.
_LARGEST = 10**18


def check_record(record: RunRecord, *, where: str) -> None:
    """Compares what a record says twice.

    Raises:
        RecordError: names the first contradiction.
    """
    for split, scores in record.scores.items():
        check_scores(scores, at=f"scores.{split}", where=where)
        identity = record.signature.splits.get(split)
        if identity is None:
            _refuse(f"signature.splits.{split} of the scored split", "it is missing", where)
        for name in ("sentences", "words"):
            _same(
                f"scores.{split}.{name}",
                getattr(scores, name),
                f"signature.splits.{split}.{name}",
                getattr(identity, name),
                where,
            )
    _check_settings(record, where)
    _check_epochs(record, where)
    _check_cost(record.cost, where)
    if record.mix is not None and len(record.mix.weights) != len(record.mix.layers):
        wanted = f"mix.weights of {counted(len(record.mix.layers), 'layer')}"
        _refuse(wanted, counted(len(record.mix.weights), "weight"), where)
    for told in ("counts", "halved_to"):
        for name, n in getattr(record, told).items():
            _not_negative(f"{told}.{name}", n, where)
    for name, count in (("train_sentences", "sentences"), ("train_words", "words")):
        learned = getattr(record, name)
        there = [record.signature.splits.get(split) for split in record.trained_on]
        most = sum(getattr(split, count) for split in there if split is not None)
        if learned is not None and not 0 <= learned <= most:
            _refuse(f"{name} from 0 to {most:,}, the {count} of its splits,", learned, where)


def check_scores(scores: SplitScores, *, at: str, where: str) -> None:
    """Counts that fit together, and shares that follow from them."""
    for name in ("entity", "strict", "word"):
        _check_prf(getattr(scores, name), f"{at}.{name}", where)
    for kind, found in scores.by_type.items():
        _check_prf(found, f"{at}.by_type.{kind}", where)
    for name in ("correct", "predicted", "gold"):
        total = sum(getattr(found, name) for found in scores.by_type.values())
        found_total = getattr(scores.entity, name)
        _same(f"{at}.entity.{name}", found_total, "the sum over its types", total, where)
    if not 0 <= scores.word_accuracy <= 1:
        _refuse(f"{at}.word_accuracy from 0 to 1", scores.word_accuracy, where)
    _not_negative(f"{at}.sentences", scores.sentences, where)
    _not_negative(f"{at}.words", scores.words, where)
    if scores.words < scores.sentences:
        told = f"{counted(scores.words, 'word')} in {counted(scores.sentences, 'sentence')}"
        _refuse(f"at least a word a sentence in {at}", told, where)


def _check_prf(found: PRF, at: str, where: str) -> None:
    for name in ("correct", "predicted", "gold"):
        _not_negative(f"{at}.{name}", getattr(found, name), where)
    most = min(found.predicted, found.gold)
    if found.correct > most:
        _refuse(f"{at}.correct of at most {most:,}", f"{found.correct:,}", where)
    both = found.predicted + found.gold
    for name, share in (
        ("precision", found.correct / found.predicted if found.predicted else 0.0),
        ("recall", found.correct / found.gold if found.gold else 0.0),
        ("f1", 2 * found.correct / both if both else 0.0),
    ):
        if abs(getattr(found, name) - share) > _TOLERANCE:
            _refuse(f"{at}.{name} of {share:.6f}, as its counts give,", getattr(found, name), where)


def _check_settings(record: RunRecord, where: str) -> None:
    """Settings that a run can have; names other than those of today are left alone."""
    known = {f.name for f in dataclasses.fields(TrainingSettings)}
    given = {name: value for name, value in record.settings.items() if name in known}
    default = DEFAULTS[record.approach]
    try:
        dataclasses.replace(default, **given)
    except SettingsError as error:
        _refuse("settings that a run can have", str(error)[:200], where)
    except TypeError:  # of one of them, which is looked for
        for name, value in given.items():
            try:
                dataclasses.replace(default, **{name: value})
            except TypeError:
                _refuse(f"settings.{name} that a run can have", repr(value)[:200], where)
            except SettingsError:
                continue


def _check_epochs(record: RunRecord, where: str) -> None:
    """One row an epoch, and the best epoch among them."""
    numbers = [row.epoch for row in record.history]
    if numbers != list(range(1, len(numbers) + 1)):
        _refuse("history of the epochs 1, 2, ...", numbers[:20], where)
    if not 1 <= record.best_epoch <= len(numbers):
        _refuse(f"best_epoch from 1 to {len(numbers)}", record.best_epoch, where)
    for row in record.history:
        for name in ("dev_f1", "dev_precision", "dev_recall"):
            share = getattr(row, name)
            if share is not None and not 0 <= share <= 1:
                _refuse(f"{name} of epoch {row.epoch} from 0 to 1", share, where)


def _check_cost(cost: Cost, where: str) -> None:
    for name, value in vars(cost).items():
        if value is not None:
            _not_negative(f"cost.{name}", value, where)
    if cost.trained_parameters > cost.total_parameters:
        most = f"cost.trained_parameters of at most {cost.total_parameters:,}"
        _refuse(most, f"{cost.trained_parameters:,}", where)


def _not_negative(at: str, value: float, where: str) -> None:
    if value < 0:
        _refuse(f"{at} of at least 0", value, where)
    if isinstance(value, int) and value > _LARGEST:
        _refuse(f"{at} of at most {_LARGEST}", "a larger one", where)


def _same(at: str, found: int, other: str, expected: int, where: str) -> None:
    if found != expected:
        _refuse(f"{at} of {expected:,}, as {other},", f"{found:,}", where)


def _refuse(expected: str, found: object, where: str) -> None:
    raise RecordError(
        f"{on_one_line(expected)} expected in {where}, found {found}; the record is damaged, train "
        "the run again"
    )
