"""The score by how many lower layers are frozen while the encoder is fine-tuned."""

from __future__ import annotations

import itertools
from typing import Any

from matplotlib.figure import Figure

from featbert.analysis.compare import Comparison
from featbert.analysis.rows import Row
from featbert.encoders.tunings import TUNINGS
from featbert.report.figures.lines import line_figure, line_keys, lines_of, spread_note
from featbert.report.figures.registry import figure
from featbert.report.figures.style import COLUMN_WIDTH, DASHED, header, key, looks, wrapped
from featbert.report.figures.values import about, line_names, num_layers, score_name


@figure(
    "freezing",
    caption="From left to right less of the encoder is trained.",
    section="layers",
    needs="three numbers of frozen layers; fine-tune with --freeze-to 0, --freeze-to 2, ...",
)
def freezing(comparison: Comparison, split: str, width: float | None) -> Figure | None:
    """From fine-tuning to features (Wu and Dredze 2019, section 4), with features as level lines.

    Single layers of features are left out: they have a figure of their own.
    """
    scored = [(row, found) for row in comparison.rows if (found := row.score(split))]
    tuned = [(row, found) for row, found in scored if _can_freeze(row)]
    steps = sorted({_frozen(row) for row, _ in tuned})
    if len(steps) < 3:
        return None
    names = line_names([row for row, _ in tuned], ("freeze_to",), "fine-tuning")
    lines = lines_of(
        (name, row.tuning, steps.index(_frozen(row)), found)
        for name, (row, found) in zip(names, tuned, strict=True)
    )
    levels = [
        (row.label, found.mean)
        for row, found in scored
        if row.frozen and not (row.layers or "").startswith("layer:")
    ]
    label = score_name(comparison, split)
    drawn, axes = line_figure(lines, label, width, levels=[mean for _, mean in levels])
    keys = line_keys(lines) or [key("fine-tuning", lines[0].look, linestyle="-")]
    used = {line.look for line in lines}
    others = itertools.filterfalse(used.__contains__, looks())
    for (name, mean), look in zip(levels, others, strict=False):
        style: dict[str, Any] = {"color": look.color, "linestyle": DASHED, "linewidth": 0.9}
        axes.axhline(100 * mean, zorder=1, **style)
        keys.append(key(wrapped(name, COLUMN_WIDTH - 0.4), **style))
    whole = {_frozen(row) for row, _ in tuned if _frozen(row) == num_layers(row)}
    axes.set_xticks(range(len(steps)), [_step(step, whole) for step in steps])
    axes.set(xlim=(-0.35, len(steps) - 0.65), xlabel="frozen up to layer")
    title = f"{label} by how much of the encoder is frozen"
    note = about(comparison, spread_note(lines), "dashed: frozen features" if levels else "")
    return header(drawn, title, note, keys)


def _can_freeze(row: Row) -> bool:
    return row.tuning in TUNINGS and "freeze_to" in TUNINGS[row.tuning].settings


def _frozen(row: Row) -> int:
    """The highest frozen layer: 0 is the embeddings, -1 nothing."""
    highest = row.settings.get("freeze_to")
    return -1 if highest is None else int(highest)


def _step(step: int, whole: set[int]) -> str:
    return "all" if step in whole else {-1: "none", 0: "emb."}.get(step, str(step))
