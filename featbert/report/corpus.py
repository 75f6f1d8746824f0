"""How a corpus was read, as text: counts, repairs, overlap."""

from collections import Counter
from collections.abc import Callable
from operator import attrgetter

from featbert.data.check import CorpusReport, HeldOutReport, SplitReport
from featbert.data.choices import whole_examples
from featbert.data.corpus import Corpus
from featbert.report.grid import grid
from featbert.tasks.base import Task
from featbert.text import listed, printable, shortened

Row = tuple[str, ...]
# Most types or labels to show in rows. The JSON has all.
MOST_TYPES = 40
# Rows that are shown if some split has a count above 0.
_UNUSUAL = {
    "same text, another answer": "contradictions",
    "repaired tags": "repaired_tags",
    "comment lines": "comment_lines",
    "header lines": "header_lines",
    "ranges and empty nodes": "non_words",
    "spaces as words": "spaces",
    "empty rows": "empty_rows",
    "with an empty text": "empty_texts",
    "with the id of another": "repeated_ids",
    "answers or entities found elsewhere": "moved_answers",
    "answers or entities not found, left out": "misplaced_answers",
    "answers or entities with a part of a word": "partial_words",
    "overlapping entities, left out": "overlapping_entities",
    "entities in several parts, joined": "discontinuous_entities",
    "entities cut at a line end": "cut_entities",
    "annotations other than entities, not read": "other_annotations",
    "without an answer": "unlabelled",
}


def corpus_text(corpus: Corpus, report: CorpusReport, task: Task, width: int | None) -> str:
    """Doubts, a column for each split with a row for each count, and the first sentence as read."""
    splits = list(report.splits.values())
    of_texts, item = task.of_texts, task.unit

    def counts(name: str, field: str) -> Row:
        return name, *(f"{getattr(split, field):,}" for split in splits)

    rows = [counts(f"{item}s", "sentences")]
    if any(split.choices for split in splits):
        rows.append(counts("choices", "choices"))
    if task.group != item and (not of_texts or any(split.documents for split in splits)):
        documents = ["none marked" if s.documents is None else f"{s.documents:,}" for s in splits]
        rows.append((f"{task.group}s", *documents))
    if of_texts:
        rows.append(counts("labelled", "answers"))
    if any(split.text_columns for split in splits):
        rows.append(("columns read", *map(_columns, splits)))
    rows += [counts("words", "words"), *_rows_by_kind(report, task)]
    rows.append(counts(f"longest {task.whole or item}, words", "longest_sentence"))
    if task.has_scheme:
        rows.append(("tag scheme of the file", *(split.scheme for split in splits)))
    rows.append(("encoding", *(split.encoding for split in splits)))
    for dialect in dict.fromkeys(name for split in splits for name in split.dialects):
        rows.append((f"read {dialect}", *("yes" * (dialect in s.dialects) for s in splits)))
    for name, field in _UNUSUAL.items():
        if any(map(attrgetter(field), splits)):
            rows.append(counts(name, field))
    if report.against_train:
        rows += _rows_against_train(report, task)
    if report.dev_in_test is not None:
        cells = [f"{report.dev_in_test:,}" if name == "dev" else "" for name in report.splits]
        rows.append((f"{item}s also in test", *cells))
    about = [f"{report.name}  {report.source}"]
    if report.not_read:
        about.append(f"not read: {listed(report.not_read)}")
    if report.recognised:
        about.append(f"recognised by its counts: {report.recognised}")
    table = grid(["", *report.splits], rows, width=width)
    warnings = [f"warning: {doubt}" for doubt in report.doubts]
    lines = [*warnings, *about, f"{table}{_first_sentence(corpus)}"]
    return printable("\n".join(lines), keep="\n")


def _columns(split: SplitReport) -> str:
    """The columns of texts and answers."""
    answers = f" -> {listed(split.answer_columns, 3)}" if split.answer_columns else ""
    return f"{listed(split.text_columns)}{answers}"


def _first_sentence(corpus: Corpus) -> str:
    first = next(iter(whole_examples(corpus).splits.values())).sentences[0]
    if first.texts:
        answer = _cut(first.tags[0] or "none") if first.tags else "no answer"
        return f"first example as read: {' | '.join(map(_cut, first.texts))} -> {answer}"
    pairs = zip(first.words[:12], first.tags or (), strict=False)
    shown = [_cut(word) + (f"/{_cut(tag)}" if tag else "") for word, tag in pairs]
    ellipsis = " …" * (len(first.words) > len(shown))
    return f"first sentence as read: {' '.join(shown)}{ellipsis}"


def _cut(text: str) -> str:
    """The beginning of a text on one line."""
    return printable(shortened(text))


def _rows_by_kind(report: CorpusReport, task: Task) -> list[Row]:
    splits = list(report.splits.values())
    if any(split.scores is not None for split in splits):
        ranges = ["" if s.scores is None else "{:g} to {:g}".format(*s.scores) for s in splits]
        return [("scores", *ranges)]
    counts = [Counter(s.labels) for s in splits]
    total = sum(counts, Counter[str]())
    shown = sorted(kind for kind, _ in total.most_common(MOST_TYPES))
    rows: list[Row] = [(task.kinds, *(f"{len(c):,}" for c in counts))]
    if task.phrases_name:
        rows = [(task.phrases_name, *(f"{c.total():,}" for c in counts))]
    rows += [(f"  {_cut(kind)}", *(f"{c[kind]:,}" for c in counts)) for kind in shown]
    if n_hidden := len(total) - len(shown):
        rows.append((f"  {n_hidden:,} rarer {task.kinds}: see --format json",))
    return rows


def _rows_against_train(report: CorpusReport, task: Task) -> list[Row]:
    pairs = [(s, report.against_train.get(name)) for name, s in report.splits.items()]
    cells: dict[str, Callable[[SplitReport, HeldOutReport], str]] = {
        f"{task.unit}s also in train": lambda s, a: _share(a.repeated_sentences, s.sentences)
    }
    if task.phrases_name:
        forms = f"distinct {task.phrases_name} not in train"
        cells[forms] = lambda _, a: _share(a.unseen_forms, a.entity_forms)
    else:
        cells["words not seen in train"] = lambda s, a: _share(a.unseen_words, s.words)
    if task.has_classes:
        lacks = f"{task.kinds} missing from train"
        cells[lacks] = lambda _, a: listed(a.new_types) or "none"
    return [(n, *("" if a is None else of(s, a) for s, a in pairs)) for n, of in cells.items()]


def _share(n: int, total: int) -> str:
    """12, 350 -> 12 (3.4%)"""
    return f"{n:,} ({100 * n / max(total, 1):.1f}%)"
