"""Tables of runs, feature stores, corpora and experiment files."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from featbert import units
from featbert.analysis.comparison import grouped
from featbert.analysis.labels import label_conditions, listed, run_title, signature_line
from featbert.analysis.listing import PLACE
from featbert.config import Encoding
from featbert.data.check import check_corpus
from featbert.data.corpus import Corpus
from featbert.inference.evaluate import EvaluationRecord, evaluations
from featbert.report.table import Column, Table, name_column
from featbert.runs.run import Run
from featbert.tasks.base import Scores, get_task
from featbert.text import counted, printable, unusual
from featbert.units import duration, percent, visible

if TYPE_CHECKING:
    from featbert.features.store import FeatureStore

# Labels or types that a table of a corpus has. Featbert check shows more.
MOST_KINDS = 12
# Counts in a class's scores.
_COUNTS = ("gold", "predicted")
# Scores that classes have, if the whole text has others.
_OF_CLASSES = {"f1": "F1", "precision": "precision", "recall": "recall"}


def runs_table(lines: Sequence[Mapping[str, Any]]) -> Table:
    """The runs of `run_lines`. Values that all share are above the table."""
    values = {n: {line[n]: None for line in lines if line.get(n)} for n in PLACE}
    splits = dict.fromkeys(s for line in lines for s in line.get("scores", ())) or ("dev",)
    measures = ", ".join(dict.fromkeys(get_task(name).measure.name for name in values["task"]))
    states = {place: line["state"] for place, line in enumerate(lines)}
    columns = [
        name_column("id"),
        Column("date", "started", lambda text: text[:10], right=False, missing=states),
        *(name_column(name) for name, different in values.items() if len(different) > 1),
        name_column("row"),
        Column("seed", "seed", joined=True),
        *(Column(split, split, percent, joined=True) for split in splits),
        *([name_column("tags")] if any(line.get("tags") for line in lines) else []),
    ]
    cells = [
        {**line, **line.get("scores", {}), "id": line["run"].rpartition("--")[2]} for line in lines
    ]
    legend = [f"{measures or 'scores'} in percent"]
    if waiting := sum(state not in ("finished", "damaged") for state in states.values()):
        of_them = "still running or interrupted; scores are the best so far"
        legend.append(f"{counted(waiting, 'unfinished run')}, {of_them}")
    return Table(
        "",
        cells,
        columns,
        " · ".join(next(iter(value)) for value in values.values() if len(value) == 1),
        legend=legend,
        notes=[f"{line['run']}: {line['reason']}" for line in lines if "reason" in line],
    )


def run_facts(run: Run) -> list[tuple[str, str]]:
    """Names and values of a run's data, settings and cost. The signature last."""
    r, s, c = run.record, run.record.signature, run.record.cost
    took, memory = units.duration(c.training_seconds), units.size(c.peak_memory_bytes)
    whole = units.parameters(c.total_parameters)
    packing = f", texts {s.packing}" if s.packing else ""
    scheme = f", labels {s.tag_scheme}" * (not run.task.of_texts)
    notes, extraction, mix = run.notes, "", ""
    if c.extraction_seconds is not None:
        extraction = f"{units.duration(c.extraction_seconds)}, {units.size(c.store_bytes)}"
    if r.mix is not None:
        pairs = zip(r.mix.layers, r.mix.weights, strict=True)
        weights = ", ".join(f"{layer}: {weight:.3f}" for layer, weight in pairs)
        mix = f"{weights}; scale {r.mix.scale:.3f}"
    facts = {
        "what": run_title(r.tuning, r.layers, r.settings, r.task),
        "task": run.task.title,
        "corpus": f"{s.corpus} ({s.source}), trained on {' and '.join(r.trained_on)}",
        "encoder": f"{s.model}, weights {s.encoder_weights[:12]}, {s.pooling} wordpiece",
        "context": f"{s.context}, casing {s.casing}{packing}{scheme}",
        "seed": str(r.seed),
        "settings": ", ".join(f"{k}={v}" for k, v in r.settings.items() if v is not None),
        "precision": f"encoder {s.encoder_precision}, training {s.training_precision}",
        "scorer": s.scorer,
        "machine": f"{s.device_name}, {counted(s.threads, 'thread')}",
        "started": r.started,
        "training": f"{took}, {units.operations(c.training_flops)}, peak memory {memory}",
        "parameters": f"{units.parameters(c.trained_parameters)} trained of {whole}",
        "kept": units.size(c.run_bytes),
        "extraction": extraction,
        "mix": mix,
        "unusual": unusual(r.counts),
        "tags": ", ".join(notes.tags),
        "note": notes.note,
        "signature": signature_line([run]),
    }
    return [(name, visible(value)) for name, value in facts.items() if value]


def store_facts(store: FeatureStore) -> list[tuple[str, str]]:
    """Names and values: content, origin and size of a feature store."""
    m = store.manifest
    facts = [
        ("corpus", f"{m.corpus} ({m.source})"),
        ("encoder", f"{m.model}{', uncased' if m.uncased else ''}"),
        ("weights", m.encoder_weights[:16]),
        ("layers", f"{', '.join(map(str, m.layers))} of 0 to {m.num_layers} (0: embeddings)"),
        ("kept", f"{m.keep}: {', '.join(m.kinds)}"),
        ("vectors", f"{m.hidden_size} numbers, {m.dtype}, {m.pooling} subword, {m.context}"),
        ("computed", f"{m.precision} on {m.device_name}, {m.threads} threads, {m.created}"),
        ("took", f"{units.duration(m.seconds)}, {m.words / max(m.seconds, 1e-9):,.0f} words/s"),
        ("size", units.size(store.file_bytes)),
    ]
    if m.shards:
        facts.append(("shards", f"{len(m.shards):,}, in {store.shards[0].path.parent}"))
    for name, split in m.splits.items():
        sizes = [counted(split.sentences, "sentence"), counted(split.words, "word")]
        facts.append((name, ", ".join([*sizes, *filter(None, [unusual(split.counts)])])))
    return [(name, visible(value)) for name, value in facts]


def facts_table(title: str, facts: Sequence[tuple[str, str]]) -> Table:
    """Names and values as a table."""
    lines = [{"name": name, "value": value} for name, value in facts]
    return Table(title, lines, [Column(" ", name, right=False) for name in ("name", "value")])


def corpus_table(corpus: Corpus) -> Table:
    """A line for each split: its counts, and each of its most frequent labels or types."""
    splits = check_corpus(corpus).splits
    total = sum((Counter(split.labels) for split in splits.values()), Counter[str]())
    kinds = sorted(kind for kind, _ in total.most_common(MOST_KINDS))
    lines = [
        {"split": name, **vars(split), **{f"label {kind}": n for kind, n in split.labels.items()}}
        for name, split in splits.items()
    ]
    counts = {"sentences": "sentences", "words": "words", "longest": "longest_sentence"}
    columns = [
        name_column("split"),
        *(Column(head, key, "{:,}".format) for head, key in counts.items()),
    ]
    columns += [Column(kind, f"label {kind}", "{:,}".format) for kind in kinds]
    return Table(corpus.name, lines, columns, legend=[f"{corpus.targets} from {corpus.source}"])


def run_scores_table(run: Run) -> Table:
    """A line for each split, called `dev all`, and for each of its classes, with every score.

    So for other data that the run was evaluated on, which are called by their corpus, and by its
    place if several have one name.
    """
    lines: list[dict[str, Any]] = []
    sections: list[bool] = []
    last: dict[tuple[str, str], Scores] = {}
    for evaluation, _ in sorted(evaluations(run), key=lambda pair: pair[0].started):
        mapped = "".join(f" {old}={new}" for old, new in evaluation.mapping.items())
        name = f"{evaluation.corpus} {evaluation.split}{mapped}"
        last[name, evaluation.source] = evaluation.scores
    places = Counter(name for name, _ in last)
    splits = [*run.record.scores.items()]
    splits += [
        (f"{name} ({source})" if places[name] > 1 else name, scores)
        for (name, source), scores in last.items()
    ]
    for split, scored in splits:
        counts = {n: sum(v.get(n, 0) for v in scored.by_class.values()) for n in _COUNTS}
        whole = scored.values | (counts if scored.by_class else {})
        sections += [bool(lines), *[False] * len(scored.by_class)]
        parts = [("all", whole), *scored.by_class.items()]
        lines += [{"scores": f"{split} {name}", **values} for name, values in parts]
    columns = [name_column("scores")]
    only_of_classes = {k: h for k, h in _OF_CLASSES.items() if any(k in line for line in lines)}
    heads = {**run.task.columns, **(only_of_classes if "f1" not in run.task.columns else {})}
    columns += [Column(head, key, percent) for key, head in heads.items()]
    count_names = [name for name in _COUNTS if any(name in line for line in lines)]
    columns += [Column(name, name, "{:,.0f}".format) for name in count_names]
    return Table(f"Scores of {run.task.title} in percent", lines, columns, sections=sections)


def evaluations_tables(
    evaluations: Iterable[tuple[Run, EvaluationRecord]], notes: Sequence[str]
) -> list[Table]:
    """A table for each task: a line for each run and data that it was evaluated on."""
    tables = []
    by_task = grouped((run.record.task, (run.record, scored)) for run, scored in evaluations)
    for name, pairs in by_task.items():
        task, scores = get_task(name), pairs[0][1].scores
        keys = [key for key in task.columns if key in scores.values][:3]
        lines = [
            {
                "row": run_title(r.tuning, r.layers, r.settings, r.task),
                "seed": r.seed,
                "id": r.name.rpartition("--")[2],
                "on": f"{evaluation.corpus} {evaluation.split}",
                "seconds": evaluation.prediction_seconds + (evaluation.extraction_seconds or 0.0),
                **vars(evaluation.scores),
                **evaluation.scores.values,
            }
            for r, evaluation in pairs
        ]
        columns = [
            name_column("row"),
            Column("seed", "seed"),
            name_column("id"),
            name_column("scored on", "on"),
            *(Column(task.columns[key], key, percent) for key in keys),
            *[Column(task.floor, "floor", percent)] * (scores.floor is not None),
            Column(f"{task.unit}s", "examples", "{:,}".format),
            Column("words", "words", "{:,}".format),
            Column("time", "seconds", units.duration),
        ]
        tables.append(Table("", lines, columns, legend=["scores in percent"]))
    tables[-1].notes = notes
    return tables


def epochs_table(run: Run) -> Table:
    """Loss, dev score and time of each epoch. The one with the kept weights is marked."""
    history, best = run.record.history, run.record.best_epoch
    marked = [place for place, epoch in enumerate(history) if epoch.epoch == best]
    columns = [
        Column("epoch", "epoch", lambda epoch: f"{epoch} best" if epoch == best else str(epoch)),
        Column("train loss", "train_loss", "{:.4f}".format),
        Column("dev", "dev_score", percent, best=marked),
        Column("time", "seconds", units.duration),
    ]
    lines = [{column.name: getattr(epoch, column.name) for column in columns} for epoch in history]
    return Table("", lines, columns)


def experiments_table(files: Mapping[str, Path]) -> Table:
    """Experiment files with their descriptions."""
    tables = ((name, tomllib.loads(path.read_text("utf-8"))) for name, path in files.items())
    lines = [{"name": name, "about": data.get("description", "")} for name, data in tables]
    columns = [name_column("name"), name_column("comparison", "about")]
    hint = "featbert run NAME --dry-run shows the plan, --set data=FOLDER runs it on other text"
    return Table("", lines, columns, legend=[hint])


def run_line(run: Run, *, was_there: bool) -> str:
    """A finished run on one line: row, seed, scores in percent, time, id."""
    r, key = run.record, run.task.measure.key
    usual = {n: [f.default, None] for n, f in Encoding.model_fields.items()}
    usual["pooling"] = ["first", "last"]
    conditions = label_conditions(vars(r.signature)).items()
    shown = {n: value for n, value in conditions if value not in usual.get(n, [value])}
    title = run_title(r.tuning, r.layers, r.settings, r.task)
    row = ", ".join(filter(None, (title, listed(shown))))
    scores = "  ".join(
        f"{split} {100 * s.values[key]:.2f}"
        + ("" if s.floor is None else f" ({run.task.floor} {100 * s.floor:.2f})")
        for split, s in r.scores.items()
    )
    took = "finished before" if was_there else duration(r.cost.training_seconds)
    line = f"{row}  seed {r.seed}  {scores}  best epoch {r.best_epoch}  {took}  {run.id}"
    return printable(line)
