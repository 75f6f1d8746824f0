"""What a published protocol and the runs beside it have different, a line each.

What is the same on both sides has no line, nor has what is as usual here and not recorded there.
Where else the published side is not recorded it is called unknown, never taken to be the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from featbert.analysis.matching import model_name, scheme
from featbert.analysis.rows import Row

if TYPE_CHECKING:
    from featbert.runs.published import PublishedRow, PublishedTable

# Settings that papers name, or leave open where a reader would want them.
_TOLD = (
    "epochs",
    "batch_size",
    "learning_rate",
    "dropout",
    "warmup",
    "schedule",
    "bias_correction",
    "lstm_size",
    "body",
    "body",
    "lstm_layers",
)


def protocol_lines(
    table: PublishedTable, pairs: Sequence[tuple[PublishedRow, Row]]
) -> Iterator[str]:
    """What differs, over the published rows and the comparison rows that they are set beside."""
    published = [row for row, _ in pairs]
    here = list({id(row): row for _, row in pairs}.values())
    yield from _line("model", (row.model for row in published), (row.model for row in here))
    yield from _line("corpus", [table.corpus], (row.corpus for row in here))
    contexts = (row.context or table.context for row in published)
    yield from _line("context", contexts, (row.context for row in here))
    yield from _line("scorer", [table.scorer], _of_signature(here, "scorer"))
    seeds = None if table.seeds is None else str(table.seeds)
    yield from _line("seeds", [seeds], map(str, sorted(len(row.runs) for row in here)))
    schemes = (row.tag_scheme and scheme(row.tag_scheme) for row in published)
    yield from _line("tag scheme", schemes, map(scheme, _of_signature(here, "tag_scheme")))
    unusual = {
        "casing": ("original", _of_signature(here, "casing")),
        "pooling": ("first", _of_signature(here, "pooling")),
        "trained on": ("train", ["+".join(row.trained_on) for row in here]),
    }
    for name, (usual, values) in unusual.items():
        if set(values) - {usual}:
            yield from _line(name, [None], values)
    if table.protocol:
        yield f"published protocol: {table.protocol}"
    for approach, name in (("full", "fine-tuning"), ("none", "features")):
        shared = _shared([row for row in here if row.tuning == approach])
        if shared:
            yield f"{name} here: {', '.join(shared)}"


def _line(name: str, published: Iterable[str | None], here: Iterable[str]) -> Iterator[str]:
    """`context: published document, here sentence`, or nothing where both sides are the same."""
    ones, others = list(dict.fromkeys(published)), list(dict.fromkeys(here))
    # A model's name may have folders or an organisation before it.
    if None not in ones and {model_name(o) for o in ones if o} == set(map(model_name, others)):
        return
    told = [one if one is not None else "unknown" for one in ones]
    yield f"{name}: published {' or '.join(told)}, here {' or '.join(others) or 'unknown'}"


def _of_signature(rows: Sequence[Row], name: str) -> list[str]:
    """A field of the rows' signatures, where their runs agree in it and have it."""
    return [str(row.signature[name]) for row in rows if row.signature.get(name) is not None]


def _shared(rows: Sequence[Row]) -> list[str]:
    """Settings in which all of the rows agree, as `epochs=8`."""
    return [
        f"{name}={shown(rows[0].settings[name])}"
        for name in _TOLD
        if rows
        and all(name in r.settings and r.settings[name] == rows[0].settings[name] for r in rows)
    ]


def shown(value: Any) -> str:
    """A fact or a setting for people."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
