"""What rows are called: what makes two runs one row, and what tells a row from its neighbours.

A row is called by its layers, `concat_last4`, or `fine-tuning`. Where rows of the same name
differ in settings or conditions, the label says in which: `fine-tuning (learning_rate=3e-05)`.
What an experiment declares that it varies is no part of the label: it has columns of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from featbert.runs.grouping import CONDITIONS, comparable_key
from featbert.runs.record import RunRecord
from featbert.runs.run import Run

# Stands in a label by its value alone.
TAGGER = "tagger"
# Columns of what varies, by the parts of the comparable key that make them.
_VARIED_COLUMNS = {
    "corpus": ("dev.text", "dev.tags", "test.text", "test.tags"),
    "model": ("encoder_weights",),
    "context": ("context",),
    "casing": ("casing",),
    "scorer": ("scorer",),
}


@dataclass(frozen=True)
class Naming:
    """A row's label, what it varies by declaration, and what is in the label's parentheses."""

    label: str
    varied: dict[str, str]
    differing: dict[str, str]


def row_key(run: Run, freed: frozenset[str]) -> tuple[object, ...]:
    """What two runs of one row share: everything but seed, place and time."""
    record = run.record
    return (
        record.tuning,
        record.layers,
        _canonical(record.settings),
        tuple(_conditions(record).items()),
        _cell(record, freed),
    )


def name_rows(members: Sequence[Sequence[Run]], freed: frozenset[str]) -> list[Naming]:
    """Labels of the rows of one table, given the runs of each."""
    records = [runs[0].record for runs in members]
    varied = _varied([runs[0] for runs in members], freed)
    namings = []
    for record, row_varied in zip(records, varied, strict=True):
        # Tuned settings may depend on what varies, so they are told across it; conditions such
        # as the training text follow from what varies, and are told only where it is the same.
        namesakes = [r for r in records if (r.tuning, r.layers) == (record.tuning, record.layers)]
        same_cell = [r for r in namesakes if _cell(r, freed) == _cell(record, freed)]
        differing = {
            name: _setting(record.settings, name)
            for name in _differing([r.settings for r in namesakes])
            if name not in row_varied
        }
        differing = _with_tagger(differing, record, namesakes)
        for name in _differing([_conditions(r) for r in same_cell]):
            differing.setdefault(name, _condition(record, name, same_cell))
        base = "fine-tuning" if record.tuning == "full" else record.layers or "features"
        inner = ", ".join(
            value if name == TAGGER else f"{name}={value}" for name, value in differing.items()
        )
        namings.append(Naming(f"{base} ({inner})" if inner else base, row_varied, differing))
    return namings


def tagger_of(settings: Mapping[str, Any]) -> str:
    """What reads the frozen vectors: a BiLSTM of no layers is a linear probe."""
    return "linear probe" if settings.get("body") == "linear" else "BiLSTM"


def _with_tagger(
    differing: dict[str, str], record: RunRecord, namesakes: Sequence[RunRecord]
) -> dict[str, str]:
    """Where some namesakes are linear probes: the tagger's name instead of its sizes."""
    if record.tuning == "full" or len({tagger_of(r.settings) for r in namesakes}) < 2:
        return differing
    tagger = tagger_of(record.settings)
    alike = _differing([r.settings for r in namesakes if tagger_of(r.settings) == tagger])
    sizes = [name for name in ("body", "lstm_size", "lstm_layers") if name not in alike]
    rest = {name: value for name, value in differing.items() if name not in sizes}
    return {TAGGER: tagger, **rest}


def _cell(record: RunRecord, freed: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """The freed part of a record's comparable key."""
    return tuple((part, value) for part, value in comparable_key(record).items() if part in freed)


def _varied(runs: Sequence[Run], freed: frozenset[str]) -> list[dict[str, str]]:
    """For each row's first run: what varies in the table, by column, as it is shown.

    A fingerprint follows the name only where one name stands for several values.
    """
    columns: list[dict[str, str]] = [{} for _ in runs]
    for column, parts in _VARIED_COLUMNS.items():
        values = [
            tuple(v for p, v in comparable_key(run.record).items() if p in parts and p in freed)
            for run in runs
        ]
        if len(set(values)) < 2:
            continue
        names = [str(getattr(run.record.signature, column)) for run in runs]
        for row, name, value in zip(columns, names, values, strict=True):
            clash = len({v for n, v in zip(names, values, strict=True) if n == name}) > 1
            row[column] = f"{name} {'/'.join(v[:8] for v in value)}" if clash else name
    return columns


def _conditions(record: RunRecord) -> dict[str, str]:
    """Signature fields outside the comparable key in which the runs of a row agree."""
    signature = record.signature
    train = signature.splits.get("train")
    values = {name: getattr(signature, name, None) or "none" for name in CONDITIONS}
    values["train"] = f"{train.text} {train.tags}" if train else "none"
    return values


def _condition(record: RunRecord, name: str, among: Sequence[RunRecord]) -> str:
    """A condition's value as shown; the training text by its size where that tells it apart."""
    value = _conditions(record)[name]
    train = record.signature.splits.get("train")
    if name != "train" or train is None:
        return value
    size = f"{train.sentences} sentences"
    others = {_conditions(r)["train"] for r in among if _train_size(r) == train.sentences}
    text, _, tags = value.partition(" ")
    return size if len(others) == 1 else f"{size} {text[:8]}/{tags[:8]}"


def _train_size(record: RunRecord) -> int | None:
    train = record.signature.splits.get("train")
    return train.sentences if train else None


def _differing(tables: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names whose values are not the same in all tables, in order of first appearance."""
    names = dict.fromkeys(name for table in tables for name in table)
    return [
        name
        for name in names
        if len({_canonical(table[name]) if name in table else None for table in tables}) > 1
    ]


def _setting(settings: Mapping[str, Any], name: str) -> str:
    if name not in settings:
        return "unset"
    value = settings[name]
    if value is None:
        return "none"
    if isinstance(value, float):
        value = float(f"{value:.10g}")  # 0.00012, not 0.00012000000000000002
    return value if isinstance(value, str) else _canonical(value)


def _canonical(value: Any) -> str:
    """JSON in which key order, and 1 against 1.0, make no difference."""
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
