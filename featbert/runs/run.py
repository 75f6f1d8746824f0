"""Run folders: which are finished, what they predicted, and how a record gets into one.

    <runs directory>/<run>/record.json     the record, written last: it makes a run finished
                           dev.conll       word, gold and predicted tag of every dev word
                           test.conll      the same for test, where the corpus has one

Finding runs reads their records and nothing else; predictions are read when they are asked for.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from featbert.errors import FeatbertError, InputError, MissingError, nearest_path
from featbert.io import cannot_write, replacing
from featbert.lazy import late
from featbert.progress import track
from featbert.runs.record import (
    RECORD_NAME,
    RecordError,
    RunRecord,
    read_record,
    record_to_json,
)


class PredictionsError(InputError):
    """A predictions file that is damaged, or is not the one its run's scores were counted on."""


@dataclass(frozen=True)
class Predictions:
    """What a run predicted on one split: three lists of S sentences, aligned word by word.

    `documents` (S,) numbers each sentence's document from 1; all are 0 where the text has none.
    """

    words: list[list[str]]
    gold: list[list[str]]
    predicted: list[list[str]]
    documents: list[int]


@dataclass(frozen=True)
class Run:
    """A finished run: its folder and its record."""

    folder: Path
    record: RunRecord

    def __repr__(self) -> str:
        scores = self.record.scores.items()
        told = [f"{split} F1 {100 * found.entity.f1:.2f}" for split, found in scores]
        return f"<Run: {' · '.join([self.name, *told])}>"

    def _repr_html_(self) -> str:
        """What the run is, its scores and its cost, as notebooks show them."""
        html: str = late("featbert.report.notebook", "run_html")(self)
        return html

    @property
    def name(self) -> str:
        """Name of the folder, by which the run can be found again."""
        return self.folder.name

    def predictions(self, split: str) -> Predictions:
        """Words, gold and predicted tags of `split`, read anew at each call (one pass).

        Raises:
            MissingError: the run kept no predictions of this split.
            PredictionsError: they are not those that the record's scores were counted on, or a
                line has not three columns.
        """
        path = self.folder / f"{split}.conll"
        if not re.fullmatch(r"\w+", split):  # a record of others may name a split ../../x
            raise PredictionsError(f"the name of a split expected, found {split[:60]!r}")
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise MissingError(
                f"predictions of {split} expected, {path} does not exist; "
                f"the run is scored on {', '.join(self.record.scores) or 'no split'}"
            ) from None
        except OSError as error:
            raise PredictionsError(f"{path} cannot be read: {error}") from None
        found = _parse(data, path)
        self._check_counted(split, path, data, found)
        return found

    def _check_counted(self, split: str, path: Path, data: bytes, found: Predictions) -> None:
        """Compares predictions with the record: by hash, or by counts where it is older."""
        advice = "the file is damaged, or another run's; train the run again"
        scores = self.record.scores.get(split)
        counts = (len(found.words), sum(map(len, found.words)))
        if scores is not None and counts != (scores.sentences, scores.words):
            raise PredictionsError(
                f"{scores.sentences} sentences with {scores.words} words expected in {path}, "
                f"found {counts[0]} with {counts[1]}; {advice}"
            )
        known = self.record.predictions.get(split)
        if known is not None:
            if hashlib.sha256(data).hexdigest() != known:
                raise PredictionsError(
                    f"the predictions that {self.name} was scored on expected in {path}, found "
                    f"others; {advice}"
                )
        elif scores is not None:
            from featbert.tasks.scorer import entity_counts

            wanted = (scores.entity.correct, scores.entity.predicted, scores.entity.gold)
            told = tuple(entity_counts(found.gold, found.predicted).sum(0).tolist())
            if told != wanted:
                raise PredictionsError(
                    f"correct, predicted and gold entities {wanted} expected in {path}, found "
                    f"{told}; {advice}"
                )


@dataclass(frozen=True)
class Problem:
    """A folder whose record cannot be read, and why."""

    folder: Path
    reason: str


@dataclass(frozen=True)
class FoundRuns:
    """What a runs directory holds; iterating gives the finished runs.

    Attributes:
        runs: finished runs, by name.
        problems: folders with a record that cannot be read.
        unfinished: folders without a record: interrupted, or still running.
    """

    runs: tuple[Run, ...]
    problems: tuple[Problem, ...]
    unfinished: tuple[Path, ...]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __repr__(self) -> str:
        damaged = f", {len(self.problems):,} damaged" if self.problems else ""
        return f"<FoundRuns: {len(self.runs):,} finished, {len(self.unfinished):,} not{damaged}>"

    def _repr_html_(self) -> str:
        """The runs with state, scores and time, as notebooks show them."""
        html: str = late("featbert.report.notebook", "found_html")(self)
        return html

    @property
    def notes(self) -> tuple[str, ...]:
        """One line each for what a reader of a comparison should know was left out."""
        notes = [f"left out, its record cannot be read: {p.reason}" for p in self.problems]
        if self.unfinished:
            names = ", ".join(folder.name for folder in self.unfinished)
            notes.append(f"left out, not finished: {names}")
        return tuple(notes)


def find_runs(runs_dir: Path | str) -> FoundRuns:
    """The runs in `runs_dir`: its folders, except those whose name starts with a dot.

    Raises:
        MissingError: there is no such directory.
        InputError: it cannot be listed.
    """
    runs_dir = Path(runs_dir)
    try:
        folders = sorted(p for p in runs_dir.iterdir() if p.is_dir() and p.name[:1] != ".")
    except FileNotFoundError:
        raise MissingError(
            f"a runs directory expected, {runs_dir} does not exist{nearest_path(runs_dir)}; "
            "train a run first, or name the directory with --runs-dir"
        ) from None
    except OSError as error:
        raise InputError(f"runs directory {runs_dir} cannot be listed: {error}") from None
    runs: list[Run] = []
    problems: list[Problem] = []
    unfinished: list[Path] = []
    for folder in track(folders, f"reading records of {runs_dir}", "runs"):
        try:
            runs.append(Run(folder, read_record(folder)))
        except RecordError as error:
            problems.append(Problem(folder, str(error)))
        except MissingError:
            unfinished.append(folder)
    return FoundRuns(tuple(runs), tuple(problems), tuple(unfinished))


def write_record(folder: Path, record: RunRecord) -> None:
    """Finish a run: its record appears in `folder` whole or not at all.

    Written under a temporary name, flushed to disk, renamed, and the rename flushed too.

    Raises:
        InputError: the record is another folder's.
        FeatbertError: the record could not be written; nothing is left behind.
    """
    if record.name != folder.name.removeprefix("."):  # a dot: written aside, moved when whole
        raise InputError(f"record of run {folder.name!r} expected, it names {record.name!r}")
    path = folder / RECORD_NAME
    text = record_to_json(record)
    try:
        with replacing(path) as temporary:
            temporary.write_text(text, "utf-8", newline="\n")
    except OSError as error:
        raise FeatbertError(f"run record {cannot_write(path, error)}") from error


def _parse(data: bytes, path: Path) -> Predictions:
    """Three-column lines as sentences; `-DOCSTART-` lines begin documents."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PredictionsError(f"UTF-8 expected in {path}: {error}") from None
    # Split on \n, tab and space alone: a word may hold U+0085 or U+00A0.
    separator = "\t" if "\t" in text else " "
    found = Predictions([], [], [], [])
    open_sentence = False
    document = 0
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        columns = line.split(separator)
        if not line.strip(" \t") or columns[0] == "-DOCSTART-":
            open_sentence = False
            document += columns[0] == "-DOCSTART-"
            continue
        if len(columns) != 3 or not all(columns):
            raise PredictionsError(
                f"columns word, gold, predicted expected, line {number} of {path} is {line[:60]!r}"
            )
        if not open_sentence:
            for rows in (found.words, found.gold, found.predicted):
                rows.append([])
            found.documents.append(document)
            open_sentence = True
        for rows, column in zip((found.words, found.gold, found.predicted), columns, strict=True):
            rows[-1].append(column)
    return found
