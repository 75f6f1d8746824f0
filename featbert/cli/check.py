"""featbert check"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.main import Command, app
from featbert.cli.showing import grid
from featbert.config import Data
from featbert.text import json_text, printable

if TYPE_CHECKING:
    from featbert.data.check import CorpusReport, HeldOutReport
    from featbert.tasks.base import Task

Row = tuple[str, list[str]]
# Types or labels with a row of their own, and those that are named in one cell; the JSON has all.
MOST_TYPES, MOST_LISTED = 40, 12
# What the names of labels are of, by targets.
_CLASSES = {"classes": "classes", "spans": "kinds of questions"}


@app.command(cls=Command, epilog="Example: featbert check corpora/conll2003")
@o.options(Data, without=("data", "tag_scheme"))
def check(
    *,
    data: Annotated[
        str,
        o.argument(
            "CORPUS", "Corpus folder or file; sample; or hf:NAME of the Hub.", completion.corpora
        ),
    ] = "sample",
    given: dict[str, Any],
    format: o.TableFormat = "text",
    quiet: o.Quiet = False,
) -> None:
    """Show what is read from a corpus: counts, repairs, overlap."""
    from featbert.data.check import check_corpus
    from featbert.data.choices import whole_examples
    from featbert.data.load import load_corpus
    from featbert.tasks.base import get_task

    text = o.chosen(Data, given | {"data": data})
    task = get_task(text.task)
    corpus = load_corpus(data, targets=task.targets, **text.reading)
    report = check_corpus(corpus)
    if format == "json":
        typer.echo(json_text(dataclasses.asdict(report)))
    else:
        typer.echo(_text(report, task), nl=False)
        first = next(iter(whole_examples(corpus).splits.values())).sentences[0]
        if first.texts:
            answer = shortened(first.tags[0]) if first.tags else "hidden"
            texts = " | ".join(shortened(one) for one in first.texts)
            typer.echo(printable(f"first example as read: {texts} -> {answer}"))
            return
        pairs = zip(first.words[:12], first.tags or (), strict=False)
        shown = [f"{shortened(word)}/{shortened(tag)}" for word, tag in pairs]
        typer.echo(printable(f"first sentence as read: {' '.join(shown)}"))


def share(n: int, of_all: float) -> str:
    """12, 0.034 -> 12 (3.4%)"""
    return f"{n:,} ({100 * of_all:.1f}%)"


def shortened(text: str, width: int = 60) -> str:
    """`text` cut at `width` characters, with a mark where it was cut."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _text(report: CorpusReport, task: Task) -> str:
    """A column a split, a row a count."""
    splits = list(report.splits.values())
    entities = report.targets == "entities"
    of_texts, item = task.of_texts, task.unit

    def counts(name: str, field: str) -> Row:
        return name, [f"{getattr(split, field):,}" for split in splits]

    documents = ["none marked" if s.documents is None else f"{s.documents:,}" for s in splits]
    rows = [counts(f"{item}s", "sentences"), ("documents", documents), counts("words", "words")]
    if of_texts:
        rows[1] = counts("with an answer", "answers")
        if task.group != item and any(s.documents for s in splits):
            rows.insert(1, (f"{task.group}s", documents))
    if any(split.choices for split in splits):
        rows.insert(1, counts("choices", "choices"))
    rows += _rows_by_type(report)
    rows.append(counts(f"longest {item}, words", "longest_sentence"))
    if of_texts:
        rows.append(counts("same text, another answer", "contradictions"))
    if entities:
        rows.append(("tag scheme of the file", [s.scheme for s in splits]))
    rows.append(("encoding", [s.encoding for s in splits]))
    if entities:
        rows.append(counts("repaired tags", "repaired_tags"))
    if not of_texts:
        rows.append(counts("comment lines", "comment_lines"))
    unusual = {
        "ranges and empty nodes": "non_words",
        "empty rows": "empty_rows",
        "with an empty text": "empty_texts",
        "with the id of another": "repeated_ids",
        "answers whose text is elsewhere": "misplaced_answers",
        "answers with a part of a word": "partial_words",
    }
    for name, field in unusual.items():
        if any(getattr(split, field) for split in splits):
            rows.append(counts(name, field))
    if report.against_train:
        rows += _rows_against_train(report, item)
    if report.dev_in_test is not None:
        cells = [f"{report.dev_in_test:,}" if name == "dev" else "" for name in report.splits]
        rows.append((f"{item}s that are in test", cells))
    lines = [f"{report.name}  {report.source}"]
    if report.recognised:
        lines.append(f"recognised by its counts: {report.recognised}")
    if report.note:
        lines.append(report.note)
    return printable("\n".join(lines) + "\n" + grid(["", *report.splits], rows), keep="\n")


def _rows_by_type(report: CorpusReport) -> list[Row]:
    splits = list(report.splits.values())
    if report.targets == "scores":
        ranges = ["" if s.scores is None else "{:g} to {:g}".format(*s.scores) for s in splits]
        return [("scores", ranges)]
    labels = report.targets != "entities"
    counts = [s.labels if labels else s.entities_by_type for s in splits]
    total = Counter[str]()
    for by_type in counts:
        total.update(by_type)
    kinds = sorted(sorted(total, key=lambda kind: -total[kind])[:MOST_TYPES])
    what = _CLASSES.get(report.targets or "", "labels")
    first: Row = (what, [f"{len(c):,}" for c in counts])
    if not labels:
        first = ("entities", [f"{s.entities:,}" for s in splits])
    rows = [first, *((f"  {shortened(k)}", [f"{c.get(k, 0):,}" for c in counts]) for k in kinds)]
    if more := len(total) - len(kinds):
        what = what if labels else "types"
        rows.append((f"  {more:,} rarer {what}: see --format json", ["" for _ in splits]))
    return rows


def _rows_against_train(report: CorpusReport, item: str) -> list[Row]:
    labels = report.targets != "entities"
    against = [report.against_train.get(name) for name in report.splits]

    def row(name: str, cell: Callable[[HeldOutReport], str]) -> Row:
        return name, ["" if one is None else cell(one) for one in against]

    unseen = row("entity forms unseen in train", lambda a: share(a.unseen_forms, a.unseen_share))
    if labels:
        unseen = row("words unseen in train", lambda a: share(a.unseen_words, a.unseen_word_share))
    rows = [
        row(f"{item}s that are in train", lambda a: share(a.repeated_sentences, a.repeated_share)),
        unseen,
    ]
    if report.targets not in ("scores", "choices"):
        kind = _CLASSES.get(report.targets or "", "labels") if labels else "types"
        rows.append(row(f"{kind} that train lacks", lambda a: _listed(a.new_types)))
    return rows


def _listed(types: Sequence[str]) -> str:
    more = f" and {len(types) - MOST_LISTED:,} more" if len(types) > MOST_LISTED else ""
    return ", ".join(map(shortened, types[:MOST_LISTED])) + more or "none"
