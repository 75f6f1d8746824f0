"""What there is to tell of one run, for every place that tells it: facts, scores, epochs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from featbert.report import units
from featbert.report.cells import Cell, Column, Table, plain_cell, text_cell
from featbert.text import called, counted, unusual

if TYPE_CHECKING:
    from featbert.runs.run import Run


def run_facts(run: Run) -> list[tuple[str, str]]:
    """Names and values: what was trained on what, with what, and what it cost."""
    r, s, c = run.record, run.record.signature, run.record.cost
    facts = [
        ("what", called(r.layers, r.settings)),
        ("corpus", f"{s.corpus} ({s.source}), trained on {' and '.join(r.trained_on)}"),
        ("encoder", f"{s.model}, weights {s.encoder_weights[:12]}, {s.pooling} wordpiece"),
        ("context", f"{s.context}, casing {s.casing}, labels {s.tag_scheme}"),
        ("seed", str(r.seed)),
        ("settings", ", ".join(f"{k}={v}" for k, v in r.settings.items() if v is not None)),
        ("precision", f"encoder {s.encoder_precision}, training {s.training_precision}"),
        ("scorer", s.scorer),
        ("machine", f"{s.device_name}, {counted(s.threads, 'thread')}"),
        ("started", r.started),
        (
            "training",
            f"{units.duration(c.training_seconds)}, peak memory {units.size(c.peak_memory_bytes)}",
        ),
        ("parameters", f"{units.parameters(c.trained_parameters)} trained"),
    ]
    if c.extraction_seconds is not None:
        took = units.duration(c.extraction_seconds)
        facts.append(("extraction", f"{took}, {units.size(c.store_bytes)}"))
    if r.mix is not None:
        weights = ", ".join(
            f"{layer}: {weight:.3f}"
            for layer, weight in zip(r.mix.layers, r.mix.weights, strict=True)
        )
        facts.append(("mix", f"{weights}; scale {r.mix.scale:.3f}"))
    if unusual(r.counts):
        facts.append(("unusual", unusual(r.counts)))
    return facts


def signature_facts(run: Run) -> list[tuple[str, str]]:
    """Every field of the run's signature; fingerprints whole."""
    return [
        (name, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
        for name, value in parts(dataclasses.asdict(run.record.signature))
        if value not in (None, "")
    ]


def scores_table(run: Run) -> Table:
    """Precision, recall, F1 and gold entities of each split: all entities, then by type."""
    rows, sections = [], []
    for split, found in run.record.scores.items():
        for name, prf in (("all", found.values), *found.by_class.items()):
            shares = (prf["precision"], prf["recall"], prf["f1"])
            gold = prf.get("gold", sum(one["gold"] for one in found.by_class.values()))
            cells = [plain_cell(text) for text in (*map(units.percent, shares), f"{gold:,.0f}")]
            rows.append((text_cell(f"{split} {name}"), *cells))
            sections.append(name == "all" and len(rows) > 1)
    heads = ("scores", "precision", "recall", "F1", "entities")
    return _table("Entity scores in percent", heads, rows, sections)


def epochs_table(run: Run) -> Table:
    """Loss, dev F1 and time of each epoch; the one whose weights were kept is marked."""
    best = run.record.best_epoch
    rows = [
        (
            plain_cell(f"{e.epoch} best" if e.epoch == best else str(e.epoch)),
            plain_cell(f"{e.train_loss:.4f}"),
            Cell(units.percent(e.dev_score), (units.percent(e.dev_score),), best=e.epoch == best),
            plain_cell(units.duration(e.seconds)),
        )
        for e in run.record.history
    ]
    heads = ("epoch", "train loss", "dev F1", "time")
    return _table("", heads, rows, [False] * len(rows))


def _table(
    title: str, heads: Sequence[str], rows: Sequence[tuple[Cell, ...]], sections: Sequence[bool]
) -> Table:
    """A table whose first column is of names and the others of numbers."""
    return Table(
        title=title,
        subtitle="",
        columns=tuple(Column(head, (head,), "name", right=i > 0) for i, head in enumerate(heads)),
        rows=tuple(rows),
        sections=tuple(sections),
        legend=(),
        notes=(),
        blocks=("name",),
    )


def parts(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """What a nested table holds, by dotted names; a list is one value."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from parts(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name, value
