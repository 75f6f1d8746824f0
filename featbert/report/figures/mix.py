"""Learned scalar-mix weights by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.analysis.curves import MixProfile
from featbert.errors import InputError
from featbert.report.figures import style
from featbert.report.figures.curve import layer_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT = 1.3  # of a panel's axes, in inches
_LEFT, _RIGHT, _BELOW = 0.5, 0.1, 0.42
_NARROWEST = 3.2  # panel
_GAP = 0.12


def mix_weights(*profiles: MixProfile, width: float = style.COLUMN_WIDTH) -> Figure:
    """One panel a mix: mean weight of each layer as a bar, seeds as dots, ± 1 sd as a line.

    The dashed line is where all weights are equal, which is where training begins.

    Args:
        profiles: what `mix_points` gives.
        width: inches.

    Raises:
        InputError: no profile.
    """
    if not profiles:
        raise InputError("a run with a learned scalar mix expected to draw, found none")
    per_line = max(1, min(len(profiles), int(width / _NARROWEST)))
    panel = width / per_line
    lines = [profiles[i : i + per_line] for i in range(0, len(profiles), per_line)]
    about = dict.fromkeys(profile.title for profile in profiles)
    many = any(weight.sd is not None for profile in profiles for weight in profile.weights)
    spread = "dots: seeds, line: mean ± 1 sd, " if many else ""
    subtitle = f"{'; '.join(about)} · {spread}dashed: equal weights"
    with style.styled():
        heads = [[_head(profile, panel, several=len(about) > 1) for profile in p] for p in lines]
        aboves = [max(map(_head_height, line)) for line in heads]
        room = sum(above + _HEIGHT + _BELOW for above in aboves) + _GAP * (len(lines) - 1)
        title = "Learned weights of the scalar mix by layer"
        frame = style.new_frame(title, subtitle, width=width, room=room)
        y = frame.top
        for line, texts, above in zip(lines, heads, aboves, strict=True):
            for i, (profile, head) in enumerate(zip(line, texts, strict=True)):
                place = (i * panel + _LEFT, y - above - _HEIGHT, panel - _LEFT - _RIGHT, _HEIGHT)
                _panel(frame.axes(*place), profile, head)
            y -= above + _HEIGHT + _BELOW + _GAP
    return frame.figure


def _head(profile: MixProfile, panel: float, *, several: bool) -> str:
    """Name and learned scale of a mix, and what it was learned on where that is not one thing."""
    scale = f"{profile.scale.mean:.2f}"
    if profile.scale.sd is not None:
        scale += f" ± {profile.scale.sd:.2f}"
    parts = [profile.label, f"scale {scale}", profile.title if several else ""]
    text = " · ".join(part for part in parts if part)
    return style.wrapped(text, panel - _LEFT - _RIGHT, style.TEXT)


def _head_height(head: str) -> float:
    return style.line_height(style.TEXT) * (head.count("\n") + 1) + 0.08


def _panel(axes: Axes, profile: MixProfile, head: str) -> None:
    means = [weight.mean for weight in profile.weights]
    axes.bar(profile.layers, means, width=0.72, color=style.COLORS[0], alpha=0.45, linewidth=0)
    for layer, weight in zip(profile.layers, profile.weights, strict=True):
        if weight.sd is not None:
            low, high = weight.mean - weight.sd, weight.mean + weight.sd
            axes.vlines(layer, low, high, color=style.INK, linewidth=0.9, zorder=3)
            dots = [layer + 0.16] * weight.n
            axes.scatter(dots, weight.values, s=7, color=style.COLORS[0], linewidth=0, zorder=3)
    equal = 1 / len(profile.layers)
    axes.axhline(equal, color=style.FAINT, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    highest = max(
        equal,
        *(w.mean + (w.sd or 0.0) for w in profile.weights),
        *(value for w in profile.weights for value in w.values),
    )
    axes.set_ylim(0, 1.08 * highest)
    axes.set_xlim(min(profile.layers) - 0.6, max(profile.layers) + 0.6)
    ticks = [n for n in layer_ticks(max(profile.layers)) if n in profile.layers]
    if len(profile.layers) <= 12:
        ticks = sorted(profile.layers)
    axes.set_xticks(ticks, ["emb." if n == 0 else str(n) for n in ticks])
    axes.set_xlabel("layer")
    axes.set_ylabel("weight")
    axes.set_title(head, loc="left", pad=5, size=style.TEXT)
    style.settle(axes)
