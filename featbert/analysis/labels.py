"""Names of rows, runs and lines for people: layers or tuning, and settings that tell them apart."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from featbert.analysis.comparison import Row, grouped, part_name
from featbert.config import Settings, defaults, with_later
from featbert.encoders.layers import NAMES
from featbert.encoders.tunings import TUNINGS, get_tuning
from featbert.io import json_hash
from featbert.models.registry import BODIES, OUTPUTS
from featbert.text import counted, natural
from featbert.units import percent

if TYPE_CHECKING:
    from featbert.runs.planned import PlannedRun
    from featbert.runs.record import RunRecord, SearchRecord
    from featbert.runs.run import Run

# Parts of the head, which labels name without their key, and the default part.
PARTS = {"body": (BODIES, "linear"), "output": (OUTPUTS, "softmax")}
# Settings that labels show without their key.
BARE = (*PARTS, "sentence_pooling")
# Settings that labels name if any two rows of a table differ in them.
_parts = (*BODIES.values(), *OUTPUTS.values())
OF_HEADS = (*BARE, *dict.fromkeys(name for part in _parts for name in part.settings))
# Parts of the signature that say how words become vectors, and others that labels may name.
_READING_FIELDS = ("context", "casing", "pooling", "packing", "store_dtype")
_PRECISIONS = ("encoder_precision", "training_precision")
_LABEL_FIELDS = (*_READING_FIELDS, *_PRECISIONS, "tag_scheme", "target")
# How dev and test were drawn from train.
_PARTS_OF_TRAIN: tuple[str, ...] = ("dev_share", "folds", "fold")
# Settings of which a run has one.
_INSTEAD = {"head_epochs", "head_from"}
# Settings in a signature line, by their name there. The line also has a hash of all settings.
QUOTED = {"epochs": "epochs", "batch": "batch_size", "lr": "learning_rate"}


def base_name(tuning: str, layers: str | None) -> str:
    """A row's name without settings: its layers if it reads a store, or its tuning."""
    way = get_tuning(tuning)
    return layers if way.frozen and layers else way.title


def part_of(settings: Mapping[str, Any], name: str) -> str:
    """The head's body or output, for people."""
    registry, without = PARTS[name]
    part = str(settings.get(name, without))
    return registry[part].title if part in registry else part


def head_parts(tuning: str, settings: Mapping[str, Any], task: str) -> dict[str, str]:
    """The head's body for people, and its pooling if that is not the usual one of body and task."""
    parts = {"body": part_of(settings, "body")}
    usual = defaults(tuning, task, settings.get("body")).sentence_pooling
    if (pooling := settings.get("sentence_pooling", usual)) != usual:
        parts["sentence_pooling"] = pooling
    return parts


def with_settings(base: str, differing: Mapping[str, str]) -> str:
    """`fine-tuning (learning_rate=3e-05)`. Parts are named without their key."""
    return f"{base} ({listed(differing)})" if differing else base


def listed(settings: Mapping[str, str]) -> str:
    """`CRF, learning_rate=3e-05`"""
    return ", ".join(v if name in BARE else f"{name}={v}" for name, v in settings.items())


def setting_text(settings: Mapping[str, Any], name: str) -> str:
    """A setting as labels show it."""
    if name in PARTS:
        return part_of(settings, name)
    value = settings[name] if name in settings else Settings.model_fields[name].default
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.10g}"  # 1, not 1.0, and 0.00012, not 0.00012000000000000002
    return value if isinstance(value, str) else canonical(value)


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def run_title(
    tuning: str, layers: str | None, settings: Mapping[str, Any], task: str = "entities"
) -> str:
    """A run's name without its seed, with unusual settings: `last (CRF), 25% of train`."""
    usual = defaults(tuning, task).model_dump() if settings else {}
    if settings.get("body") in BODIES:
        usual["output"] = defaults(tuning, task, settings["body"]).output
    head = [n for n in BARE if n in settings and settings[n] != usual[n]]
    parts = {name: setting_text(settings, name) for name in head}
    name = with_settings(base_name(tuning, layers), parts)
    return ", ".join(part for part in (name, part_name(settings)) if part)


def signature_line(runs: Sequence[Run]) -> str:
    """The runs of one row in a line that a paper can quote, as sacreBLEU's of a score."""
    r, s = runs[0].record, runs[0].record.signature
    texts = [(name, split.text, split.tags) for name, split in s.splits.items()]
    parts: dict[str, Any] = {
        "task": r.task,
        "corpus": f"{s.corpus} {json_hash(texts)[:8]}",
        "encoder": f"{s.model} {s.encoder_weights[:8]}",
        **{name: value for name in _READING_FIELDS if (value := getattr(s, name)) is not None},
        "row": run_title(r.tuning, r.layers, r.settings, r.task),
        **{key: r.settings[name] for key, name in QUOTED.items() if name in r.settings},
        "settings": json_hash(r.settings)[:8],
        "trained": "+".join(r.trained_on),
        **{name: r.reading[name] for name in _PARTS_OF_TRAIN if name in r.reading},
        "seeds": ",".join(str(run.record.seed) for run in runs),
        "precision": f"{s.encoder_precision}/{s.training_precision}",
        "scorer": s.scorer,
        **{name: s.versions.get(name) for name in ("featbert", "torch")},
    }
    return "|".join(f"{name}:{value}" for name, value in parts.items())


@dataclass(frozen=True)
class Way:
    """Parts of a label of runs that differ only in their seed.

    Attributes:
        table: the same for all that are shown together.
        cell: data and encoder. Conditions are compared within one cell.
        settings: as in a record.
        conditions: parts of the signature, by name.
        searched: whether a search chose settings for these layers.
    """

    table: Any
    tuning: str
    layers: str | None
    settings: Mapping[str, Any]
    conditions: Mapping[str, Any]
    cell: Any = None
    searched: bool = False

    @property
    def body(self) -> str:
        return str(self.settings.get("body", PARTS["body"][1]))

    @property
    def values(self) -> dict[str, Any]:
        """Settings and conditions as they are compared. Only frozen rows have a store."""
        parts = {name: without for name, (_, without) in PARTS.items()}
        values = {**parts, **self.conditions, **with_later(self.settings, self.tuning)}
        if (precision := values.get("encoder_precision")) is not None:
            values["encoder_precision"] = precision.removesuffix("-autocast")
        if not get_tuning(self.tuning).frozen:
            values.pop("store_dtype", None)
        return values

    def scopes(self, name: str) -> list[tuple[object, ...]]:
        """Keys that ways share among which a setting or condition is compared.

        Labels name it if the ways of one key have two values.
        """
        if name in self.conditions:
            if name != "training_precision":
                return [(name, self.table, self.cell)]
            # A solver's precision follows from the body, which is named.
            trainer = BODIES[self.body].trainer if self.body in BODIES else None
            return [(name, self.table, self.cell, get_tuning(self.tuning).frozen, trainer)]
        if name in OF_HEADS:
            return [(name, self.table)]
        if name == "equal_steps":  # on all of train it has no effect
            return [(name, self.table, self.settings.get("train_share"))]
        # What follows from the tuning or the body, such as learning rates, is named within these.
        on_any_layers = (name, self.table, self.tuning, self.body)
        on_layers = (*on_any_layers, self.layers)
        return [on_layers] if self.searched else [on_layers, on_any_layers]


def named_differences(ways: Sequence[Way]) -> list[dict[str, str]]:
    """For each way the settings and conditions that its label names, as labels show them."""
    values = [way.values for way in ways]
    names_by_way = _compared_names(ways, values)
    values_by_scope: defaultdict[tuple[object, ...], set[str | None]] = defaultdict(set)
    for way, valued, names in zip(ways, values, names_by_way, strict=True):
        for name in names:
            scopes = way.scopes(name)
            # Only namesakes may lack a setting.
            for scope in scopes if name in valued else scopes[:1]:
                values_by_scope[scope].add(canonical(valued[name]) if name in valued else None)
    # `--precision` is of both: it is named once unless a store had another. Solvers have fp64.
    one_precision = all(
        len({valued.get(name) for name in _PRECISIONS} - {"fp64"}) == 1 for valued in values
    )
    differences = []
    for way, valued, names in zip(ways, values, names_by_way, strict=True):
        shown = [n for n in names if any(len(values_by_scope[s]) > 1 for s in way.scopes(n))]
        if {*shown} >= _INSTEAD:
            shown = [n for n in shown if n not in _INSTEAD - valued.keys()]
        if valued["output"] == PARTS["output"][1]:  # labels name the other outputs
            shown = [n for n in shown if n != "output"]
        of_precision = one_precision and not {*shown}.isdisjoint(_PRECISIONS)
        texts = {
            n: (n in way.conditions and valued.get(n)) or setting_text(valued, n)
            for n in shown
            if not (of_precision and n in _PRECISIONS)
        }
        if of_precision:
            texts["precision"] = valued[_PRECISIONS[0]]
        differences.append(texts)
    return differences


def _compared_names(ways: Sequence[Way], values: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """For each way its settings and conditions, and the settings that only namesakes have.

    The latter have their default here. Heads read settings of their own.
    """
    namesakes = [(way.table, way.tuning, way.body, way.layers) for way in ways]
    settings_by_namesake = grouped(
        (key, name) for key, way in zip(namesakes, ways, strict=True) for name in way.settings
    )
    names_by_way = []
    for key, valued in zip(namesakes, values, strict=True):
        further = {*settings_by_namesake.get(key, ())} - {*OF_HEADS, *valued}
        names = dict.fromkeys(name for name in (*OF_HEADS, *valued) if name in valued)
        names_by_way.append([*names, *sorted(further)])
    return names_by_way


def way_labels(ways: Sequence[Way]) -> list[str]:
    """Names of ways, with the settings and conditions in which the ways of a table differ."""
    pairs = zip(ways, named_differences(ways), strict=True)
    return [with_settings(base_name(way.tuning, way.layers), shown) for way, shown in pairs]


def label_conditions(signature: Mapping[str, Any]) -> dict[str, Any]:
    """Parts of a signature that labels of runs may name, as far as it has them."""
    return {name: signature[name] for name in _LABEL_FIELDS if name in signature}


def run_labels(runs: Iterable[RunRecord | PlannedRun]) -> dict[str, str]:
    """What runs are called among each other, without their seeds, by name.

    Task, corpus and encoder where these differ, the layers or the tuning, and in brackets the
    settings and conditions in which runs that share all of these differ.
    """
    runs = [*runs]
    places = [(run.task, run.signature.corpus, run.signature.model) for run in runs]
    ways = [
        Way(place, r.tuning, r.layers, r.settings, label_conditions(vars(r.signature)))
        for r, place in zip(runs, places, strict=True)
    ]
    apart = [i for i in range(3) if len({place[i] for place in places}) > 1]
    labelled = zip(runs, places, way_labels(ways), strict=True)
    return {
        run.name: ", ".join([*(place[i] for i in apart), label]) for run, place, label in labelled
    }


def way_order(tuning: str, layers: str | None, indices: Sequence[int] | None = None) -> Any:
    """Sort key: tunings as registered, then combinations. With `indices` single layers first."""
    name = layers or ""
    single = len(indices or ()) == 1
    order = indices[0] if indices and single else [*NAMES, name].index(name)
    way, _, number = tuning.partition(":")
    place = [*TUNINGS].index(way), int(number or 0)
    return place, not single, order, natural(name)


def by_value(text: str) -> tuple[float, list[tuple[int, str]]]:
    """Sort key of a shown setting: numbers by value, before all texts."""
    try:
        number = float(text)
    except ValueError:
        number = math.inf
    return (math.inf if math.isnan(number) else number, natural(text))


def row_order(row: Row, by_layer: bool) -> tuple[object, ...]:
    """Sort key of a row. Single layers come first if some are read by number."""
    way = way_order(row.tuning, row.layers, row.layer_indices if by_layer else None)
    varied = [natural(value) for value in row.varied.values()]
    settings = [by_value(value) for value in row.differing.values()]
    # Rows with nothing frozen come first.
    some = "none" not in row.differing.values()
    return (*way, varied, some, row.train_part, settings, natural(row.label))


def line_names(rows: Sequence[Row], without: Collection[str], base: str) -> list[str]:
    """Name of each row's line: its varied values, and settings but `without`."""
    names = dict.fromkeys(name for row in rows for name in row.differing if name not in without)
    # Rows without namesakes have no setting in their label.
    shown = [{n: r.differing.get(n) or setting_text(r.settings, n) for n in names} for r in rows]
    pairs = zip(rows, map(listed, shown), strict=True)
    return [" · ".join([settings or base, *row.varied.values()]) for row, settings in pairs]


def short_names(rows: Sequence[Row], without: Collection[str]) -> list[str]:
    """The shortest name of each row among `rows`: no setting that its namesakes do not need.

    `without` are columns that are not named.
    """
    names = []
    for row, settings in zip(rows, needed_settings(rows, without), strict=True):
        varied = [settings.pop(name) for name in row.varied if name in settings]
        base = base_name(row.tuning, row.layers)
        names.append(" · ".join([with_settings(base, settings), *varied]))
    return names


def needed_settings(rows: Sequence[Row], without: Collection[str]) -> list[dict[str, str]]:
    """For each row the settings and varied values that tell it from its namesakes among `rows`.

    Parts of the head come first. `without` are varied values that do not count.
    """
    bases = [base_name(row.tuning, row.layers) for row in rows]
    values = [
        {**{k: v for k, v in r.varied.items() if k not in without}, **r.differing} for r in rows
    ]
    needed_by_base: dict[str, list[str]] = {}
    for base, namesakes in grouped(zip(bases, values, strict=True)).items():
        needed, n_names = list[str](), 1
        names = dict.fromkeys(itertools.chain(*namesakes))
        for name in sorted(names, key=lambda name: name not in PARTS):
            n_names_with = len({tuple(v.get(n) for n in (*needed, name)) for v in namesakes})
            if n_names_with > n_names:
                needed, n_names = [*needed, name], n_names_with
        needed_by_base[base] = needed
    return [
        {name: value for name, value in row_values.items() if name in needed_by_base[base]}
        for base, row_values in zip(bases, values, strict=True)
    ]


def reading_key(row: Row) -> str:
    """Key shared by rows that differ only in their layers."""
    # Only a learned mix has a rate of its own.
    settings = {n: value for n, value in row.settings.items() if n != "mix_learning_rate"}
    return canonical([dict(row.cell), settings, row.conditions])


def search_line(search: SearchRecord) -> str:
    """A search's choice and number of trials, or its progress."""
    row = base_name(search.tuning, search.layers)
    if search.configuration:
        row += f" ({search.configuration})"
    configurations = counted(len(search.tried), "configuration")
    if search.floor is not None:
        best = max(trial.dev for trial in search.tried if trial.dev is not None)
        return (
            f"{row}: none of {configurations} learned. The best has {percent(best)} on dev, and "
            f"{percent(search.floor)} takes no skill"
        )
    if search.chosen is None:
        done = sum(trial.dev is not None for trial in search.tried)
        return f"{row}: {done} of {configurations} tried so far"
    chosen = search.tried[search.chosen]
    texts = {name: setting_text(chosen.settings, name) for name in chosen.settings}
    settings = listed(texts)
    if (layers := texts.pop("layers", None)) is not None:  # the choice was between layers, too
        row, settings = "frozen features", with_settings(layers, texts)
    return f"{row}: {settings} chosen on dev ({percent(chosen.dev)}) among {configurations}"
