"""The numbers behind curves: F1 by frozen layers, F1 by single layer, mix weights by layer.

Points come from rows over seeds, so a curve shows what the tables show and nothing else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from featbert.analysis.compare import Comparison, compare
from featbert.analysis.labels import TAGGER, tagger_of
from featbert.analysis.rows import Row, Statistic
from featbert.runs.run import Run


@dataclass(frozen=True)
class FreezingPoint:
    """A fine-tuned row whose lower layers were frozen.

    Attributes:
        series: what tells its row from others that froze as much, "" where nothing does.
        freeze_to: highest frozen layer: 0 for the embeddings alone, None for nothing.
        whole: whether the whole encoder is frozen.
        f1: micro entity F1 in [0, 1] by split.
        runs: names of its runs, in the order of the values.
    """

    series: str
    freeze_to: int | None
    whole: bool
    f1: Mapping[str, Statistic]
    runs: tuple[str, ...]


@dataclass(frozen=True)
class FeatureLevel:
    """A row of frozen features, to stand beside the curve: its label, F1 by split and runs."""

    label: str
    f1: Mapping[str, Statistic]
    runs: tuple[str, ...]


@dataclass(frozen=True)
class FreezingCurve:
    """From fine-tuning to features (Wu and Dredze 2019, section 4): fewer layers adapt.

    Attributes:
        title: corpus, encoder and context.
        points: by series, then by how much is frozen.
        features: rows of frozen features, in the comparison's order.
    """

    title: str
    points: tuple[FreezingPoint, ...]
    features: tuple[FeatureLevel, ...]


@dataclass(frozen=True)
class LayerPoint:
    """A features row that reads one hidden state.

    Attributes:
        series: the tagger, "BiLSTM" or "linear probe", and what tells its row from others.
        layer: 0 for the embeddings, 1..L.
        f1: micro entity F1 in [0, 1] by split.
        runs: names of its runs, in the order of the values.
    """

    series: str
    layer: int
    f1: Mapping[str, Statistic]
    runs: tuple[str, ...]


@dataclass(frozen=True)
class LayerCurve:
    """F1 by single layer.

    Attributes:
        title: corpus, encoder and context.
        num_layers: transformer layers L of the encoder.
        points: by series, then by layer.
    """

    title: str
    num_layers: int
    points: tuple[LayerPoint, ...]


@dataclass(frozen=True)
class MixProfile:
    """The learned scalar mix of one row (softmaxed, so the weights of a run sum to 1).

    Attributes:
        title: corpus, encoder and context.
        label: of the row: its layer combination and what tells it from others.
        layers: (k,) hidden states, 0 being the embeddings.
        weights: (k,) over seeds.
        scale: the mix's gamma over seeds.
        runs: names of the runs, in the order of the values.
        left_out: runs whose mix holds a number that is not finite.
    """

    title: str
    label: str
    layers: tuple[int, ...]
    weights: tuple[Statistic, ...]
    scale: Statistic
    runs: tuple[str, ...]
    left_out: tuple[str, ...]


def freezing_points(comparison: Comparison) -> FreezingCurve:
    """The fine-tuned rows of a comparison by how many lower layers are frozen.

    Beside them stand its rows of frozen features, without `layer:k`, which make a curve of
    their own (`layer_points`).
    """
    points = [
        FreezingPoint(
            series=_freezing_series(row),
            freeze_to=row.settings.get("freeze_to"),
            whole=row.settings.get("freeze_to") == _num_layers(row),
            f1=_f1(row),
            runs=_runs(row),
        )
        for row in comparison.rows
        if row.tuning == "full"
    ]
    levels = [
        FeatureLevel(row.label, _f1(row), _runs(row))
        for row in comparison.rows
        if row.tuning == "none" and not (row.layers or "").startswith("layer:")
    ]
    points.sort(key=lambda p: (p.series, -1 if p.freeze_to is None else p.freeze_to))
    return FreezingCurve(title_of(comparison), tuple(points), tuple(levels))


def layer_points(comparison: Comparison) -> LayerCurve:
    """The features rows of a comparison that read a single hidden state, by that state.

    `last` and `layer:12` may be the same state: of rows of one series with one state that with
    more seeds counts, and of equals the first.
    """
    single = [
        (row, row.layer_indices[0])
        for row in comparison.rows
        if row.tuning == "none" and row.layer_indices and len(row.layer_indices) == 1
    ]
    found: dict[tuple[str, int], Row] = {}
    for row, layer in single:
        place = (_layer_series(row, [other for other, _ in single]), layer)
        if place not in found or len(row.runs) > len(found[place].runs):
            found[place] = row
    points = [
        LayerPoint(series, layer, _f1(row), _runs(row))
        for (series, layer), row in sorted(found.items(), key=lambda item: item[0])
    ]
    deepest = max((_num_layers(row) for row in found.values()), default=0)
    return LayerCurve(title_of(comparison), deepest, tuple(points))


def mix_points(runs: Iterable[Run]) -> list[MixProfile]:
    """The learned mixes of `runs`, one profile a row of their comparisons."""
    profiles = [
        _profile(comparison, row)
        for comparison in compare(run for run in runs if run.record.mix is not None)
        for row in comparison.rows
    ]
    return [profile for profile in profiles if profile is not None]


def _profile(comparison: Comparison, row: Row) -> MixProfile | None:
    mixes = [(run.name, run.record.mix) for run in row.runs if run.record.mix is not None]
    kept = [(name, m) for name, m in mixes if all(map(math.isfinite, [*m.weights, m.scale]))]
    left_out = tuple(name for name, _ in mixes if name not in dict(kept))
    if not kept:
        return None
    layers = kept[0][1].layers
    return MixProfile(
        title=title_of(comparison),
        label=row.label,
        layers=tuple(layers),
        weights=tuple(
            Statistic.of([mix.weights[i] for _, mix in kept]) for i in range(len(layers))
        ),
        scale=Statistic.of([mix.scale for _, mix in kept]),
        runs=tuple(name for name, _ in kept),
        left_out=left_out,
    )


def _f1(row: Row) -> dict[str, Statistic]:
    return {split: summary.f1 for split, summary in row.splits.items()}


def _runs(row: Row) -> tuple[str, ...]:
    return tuple(run.name for run in row.runs)


def _num_layers(row: Row) -> int:
    return row.runs[0].record.signature.encoder_layers


def title_of(comparison: Comparison) -> str:
    """Corpus, encoder and context, as they stand above figures."""
    return f"{comparison.corpus} · {comparison.model} · context: {comparison.context}"


def _tagger(row: Row) -> str:
    return tagger_of(row.settings)


def _freezing_series(row: Row) -> str:
    """What tells a row from others that froze as much."""
    settings = [f"{name}={value}" for name, value in row.differing.items() if name != "freeze_to"]
    return ", ".join([*row.varied.values(), *settings])


def _layer_series(row: Row, among: Sequence[Row]) -> str:
    """The tagger, and what tells the row from others with that tagger.

    The two taggers are trained with settings of their own, which the tagger's name stands for.
    """
    tagger = _tagger(row)
    alike = [other for other in among if _tagger(other) == tagger]
    names = dict.fromkeys(n for other in alike for n in other.differing if n != TAGGER)
    told = [
        f"{name}={_shown(row, name)}"
        for name in names
        if len({_shown(other, name) for other in alike}) > 1
    ]
    return ", ".join([tagger, *row.varied.values(), *told])


def _shown(row: Row, name: str) -> str:
    """A setting or condition as labels show it; rows that nothing resembles have none listed."""
    if name in row.differing or name not in row.settings:
        return row.differing.get(name, "unset")
    value = row.settings[name]
    return value if isinstance(value, str) else json.dumps(value)
