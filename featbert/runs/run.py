"""Finished runs: found in a runs directory or a results file, and checked before they are used.

Finding runs reads only their records. Predictions are read on request.
"""

import contextlib
import dataclasses
from collections.abc import Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pydantic.dataclasses
from numpy.typing import NDArray
from pydantic import ConfigDict, TypeAdapter

from featbert.config import RUNS_DIR, Settings, recorded, unchecked
from featbert.data.corpus import EVALUATED, SPLITS, Corpus, Split, join_splits
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.data.share import learned_part
from featbert.data.tags import TargetKind
from featbert.encoders.encoding import WordCasing
from featbert.encoders.source import EncoderSource, find_encoder
from featbert.errors import (
    FeatbertError,
    InputError,
    MissingError,
    check_known,
    nearest,
    nearest_path,
    spelling,
)
from featbert.io import expanded, file_hash, regular_file, slug
from featbert.progress import track
from featbert.runs.counts import ENDING, KeptCounts, SplitCounts
from featbert.runs.folder import PRUNED, probabilities_path
from featbert.runs.record import (
    EXPORTED,
    RECORD_NAME,
    Notes,
    RunRecord,
    read_json,
    read_notes,
    read_or_left_out,
    read_record,
    read_run_record,
)
from featbert.runs.results import exists, on_disk, results_file, run_folders
from featbert.tasks.base import Predictions, Task, get_task
from featbert.text import listed
from featbert.training.history import Epoch

# Characters of a run's name that may be enough to find it.
SHORTEST_PART = 4


class TrainingTexts:
    """Words and phrases of the training texts of runs (`Task.known`). Each text is read once."""

    def __init__(self) -> None:
        self._texts: dict[object, Split] = {}
        self._taught: dict[object, Set[Any]] = {}

    def taught(self, run: "Run") -> Set[Any]:
        """Words or phrases of the text, or of its part, that a run learned from.

        MissingError if the text is gone, InputError if it has changed.
        """
        record = run.record
        share = float(record.settings.get("train_share", 1.0))
        shots: int | None = record.settings.get("shots")
        text = tuple(map(record.signature.splits.get, record.trained_on))
        if text not in self._texts:
            corpus = learned_corpus(record, record.trained_on, run.task.targets)
            self._texts[text] = join_splits([corpus[name] for name in record.trained_on])
        key = (text, share, shots, record.seed if share < 1 or shots else None)
        if key not in self._taught:
            part, _ = learned_part(self._texts[text], share, shots=shots, seed=record.seed)
            self._taught[key] = run.task.known([s.words for s in part], part.tags)
        return self._taught[key]


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, which may be in a results file, and its record."""

    folder: Path
    record: RunRecord

    def __repr__(self) -> str:
        name = self.task.measure.name
        scores = [f"{s} {name} {100 * (self.record.score(s) or 0):.2f}" for s in self.record.scores]
        return f"<Run: {' · '.join([self.name, *scores])}>"

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def id(self) -> str:
        """The last part of its name, which is a hash. An exported run keeps it in any folder."""
        return self.record.name.rpartition("--")[2]

    @property
    def task(self) -> Task:
        return get_task(self.record.task)

    @property
    def original(self) -> "Run":
        """The run with the scores of its own corpus."""
        return self

    @property
    def notes(self) -> Notes:
        """Its tags and note, read at each call. A notice names an unreadable file."""
        return read_or_left_out(read_notes, self.folder) or Notes()

    @property
    def has_seed(self) -> bool:
        """Whether its scores depend on the seed. If not, it stands for the runs with all seeds."""
        return unchecked(self.record.settings, self.record.tuning).has_seed

    @property
    def why_unlearned(self) -> str:
        """That the run did not learn, with the likely cause. Empty for a run that did."""
        scores = self.record.scores.get(EVALUATED[0])
        if scores is None or scores.exceeds_floor:
            return ""
        gold = [values.get("gold") for values in scores.by_class.values()]
        if self.task.has_scheme and not any(gold):
            return "dev has no entity, so its F1 cannot choose an epoch; add some to dev"
        if scores.floor == 1:
            return "dev has only one answer, so guessing is always right; add others to dev"
        has_rate = "learning_rate" in self.record.settings
        remedy = "a higher learning rate or more epochs" if has_rate else "another layer"
        return f"not clearly better than guessing on dev; try {remedy}, or check the labels"

    def predictions_path(self, split: str) -> Path:
        """The file of predictions of `split`."""
        check_known("split", [split], SPLITS)  # a foreign record may name ../../x
        return self.folder / self.task.predictions_name(split)

    def predictions(self, split: str) -> Predictions:
        """Words, gold and predicted answers of `split`, read at each call.

        MissingError if the run kept none, InputError if the scores in the record were counted on
        other predictions.
        """
        path = self.predictions_path(split)
        if not exists(path):
            raise MissingError(
                f"no predictions of {split} at {path}; the run is scored on "
                f"{', '.join(self.record.scores) or 'no split'}"
            )
        with on_disk(path) as file:
            if split in self.record.predictions:
                self._check_scored(path, file, self.record.predictions[split])
            return self.task.read_predictions(file)

    def _check_scored(self, path: Path, file: Path, expected_hash: str) -> None:
        if file_hash(file) != expected_hash:
            raise InputError(
                f"{path} is not what {self.name} was scored on; it is damaged, or another run's: "
                "train or evaluate the run again"
            )

    def probabilities(self, split: str) -> NDArray[np.float16]:
        """(T, C) probabilities of the items of `split`, read at each call.

        C are the classes of `record.targets.classes`. MissingError if the run kept none, InputError
        if the file has changed.
        """
        path = probabilities_path(self.predictions_path(split))
        if split not in self.record.probabilities or not path.exists():
            raise MissingError(f"no probabilities of {split} at {path}; train the run again")
        self._check_scored(path, path, self.record.probabilities[split])
        try:
            shares: NDArray[np.float16] = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"{path} cannot be read: {error}") from None
        return shares

    def counts(
        self,
        split: str,
        classes: Sequence[str] = (),
        facets: Sequence[str] = (),
        texts: TrainingTexts | None = None,
    ) -> SplitCounts:
        """Counts of `split` in a results file, or of its predictions, read at each call.

        Args:
            classes: all classes of the compared runs, for measures by class. Default: the run's.
            facets: names of facets to count by.
            texts: training texts that were read before, for facets that need them.

        For errors see `predictions`. MissingError also if a results file lacks a class or facet, or
        if the training text of a facet is gone.
        """
        counts_path = (path := self.predictions_path(split)).with_name(path.stem + ENDING)
        classes = classes or self.record.signature.entity_types
        if exists(counts_path):
            kept_counts = read_json(counts_path, KeptCounts, "")
            return kept_counts.restored(counts_path, classes, facets, self.task.measure)
        answers = self.predictions(split)
        needs_train = any(self.task.facets[name].needs_train for name in facets)
        taught = (texts or TrainingTexts()).taught(self) if needs_train else ()
        buckets = (
            self.task.break_down(facets, answers, known=taught, classes=classes) if facets else {}
        )
        examples = self.task.counts(answers.gold, answers.predicted, classes)
        scores = self.task.kept_scores(answers.gold, answers.predicted)
        return SplitCounts(examples, answers.documents, buckets, scores)


@dataclass(frozen=True)
class FoundRuns:
    """The runs of a runs directory. Iterating gives the finished ones.

    `problems` say why the record of a folder cannot be read. `unfinished` are folders without a
    record: interrupted, or still running. Runs that a search pruned are left out.
    """

    runs: tuple[Run, ...]
    problems: Mapping[Path, str]
    unfinished: tuple[Path, ...]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        damaged = f", {len(self.problems):,} damaged" if self.problems else ""
        return f"<FoundRuns: {len(self.runs):,} finished, {len(self.unfinished):,} not{damaged}>"

    def notes(self, corpus: str | None = None) -> list[str]:
        """Lines for readers of a comparison of runs on a corpus, on runs that were left out."""
        notes = [f"left out, its record cannot be read: {r}" for r in self.problems.values()]
        part = slug(corpus).casefold() if corpus else ""
        names = [f.name for f in self.unfinished if part in f.name.partition("--")[0].casefold()]
        return [*notes, f"left out, not finished: {', '.join(names)}"] if names else notes


def find_runs(runs_dir: Path | str = RUNS_DIR) -> FoundRuns:
    """The runs in a folder, except in hidden folders, or in a results file.

    InputError if the folder or file cannot be read.
    """
    runs_dir = Path(runs_dir)
    try:
        folders = run_folders(runs_dir)
    except FileNotFoundError:
        raise MissingError(
            f"no runs yet in {runs_dir}, which does not exist{nearest_path(runs_dir)}; train one "
            f"with featbert train or finetune, or name another folder: {spelling('runs_dir')}"
        ) from None
    except OSError as error:
        raise InputError(f"runs directory {runs_dir} cannot be listed: {error}") from None
    runs: list[Run] = []
    problems: dict[Path, str] = {}
    unfinished: list[Path] = []
    for folder in track(folders, f"reading records of {runs_dir}", "runs"):
        try:
            runs.append(Run(folder, read_record(folder)))
        except InputError as error:
            problems[folder] = str(error)
        except MissingError:
            if not exists(folder / PRUNED):
                unfinished.append(folder)
    return FoundRuns(tuple(runs), problems, tuple(unfinished))


def holds_runs(path: Path) -> bool:
    """Whether it is a results file, or a folder with folders of finished runs."""
    if results_file(path) == path:
        return True
    return not (path / RECORD_NAME).exists() and any(path.glob(f"[!.]*/{RECORD_NAME}"))


def find_run(name: str, runs_dir: Path | str) -> Run:
    """A finished run by its folder, also an exported one, or by its name in the runs directory.

    The beginning of a part of the name is enough, such as of its id. MissingError if no run has it,
    InputError if several have it.
    """
    folder = find_folder(name, Path(runs_dir))
    folder = folder if folder.name.strip(".") else folder.resolve()
    exported = folder / EXPORTED
    if exported.is_file():
        return Run(folder, read_run_record(exported, f"{exported} does not exist"))
    return Run(folder, read_record(folder))


def find_folder(name: str, runs_dir: Path) -> Path:
    """The folder of this name or part of a name in the runs directory, or any folder."""
    folders = find_folders(name, runs_dir)
    if len(folders) == 1:
        return folders[0]
    if folders:
        names = listed((folder.name for folder in folders), 4, width=255)
        raise InputError(f"{name!r} is a part of {names}; give the id of one, its last part")

    suggestion = nearest_path(runs_dir)
    with contextlib.suppress(OSError):
        suggestion = nearest(name, [path.name for path in run_folders(runs_dir)])
    raise MissingError(
        f"no run {name!r}, here or in {runs_dir}{suggestion}; featbert runs lists them"
    )


def find_folders(name: str, runs_dir: Path) -> list[Path]:
    """The folder of this name, else all in the runs directory with parts that begin like it."""
    path = expanded(name)
    for folder in (runs_dir / name, path):
        # A local folder that has only the name of a run's part is no run.
        files = [RECORD_NAME, EXPORTED] if folder is path and path.name == name else [""]
        if name and not folder.is_file() and any(exists(folder / file) for file in files):
            return [folder]
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if len(name) >= SHORTEST_PART:
            return [path for path in run_folders(runs_dir) if f"--{name}" in f"--{path.name}"]
    return []


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(strict=True, extra="ignore"))
class _Config:
    """The fields of `config.json` that are shown."""

    task: str
    tuning: str
    layers: str | None
    seed: int
    settings: dict[str, Any]
    signature: dict[str, Any]


def own_folder(name: str, runs_dir: Path, names: Container[str] | None = None) -> Path:
    """The folder of a run in the runs directory, finished or not.

    If several folders match the name, the one among `names`. InputError for a folder that is
    elsewhere, MissingError for one that is not among `names`.
    """
    if results_file(runs_dir) is not None:
        raise InputError(f"{runs_dir} is a results file, which is only read; name a folder of runs")
    folders = [f for f in find_folders(name, runs_dir) if names is None or f.name in names]
    folder = folders[0] if len(folders) == 1 else find_folder(name, runs_dir)
    if folder not in folders:
        raise MissingError(
            f"{folder.name} is no run on that corpus; featbert runs --data lists them"
        )
    # An encoder has a config.json, too. Only folders of the runs directory are removed.
    made = any((folder / name).is_file() for name in ("record.json", "config.json"))
    if not made or folder.is_symlink() or folder.resolve().parent != runs_dir.resolve():
        raise InputError(f"{folder} is no run in {runs_dir}; remove it by hand, or give --runs-dir")
    return folder


def unfinished_run(folder: Path) -> dict[str, Any]:
    """Facts from `config.json` and `history.jsonl` of a run, as far as they can be read.

    Scores in [0, 1] are the best ones so far. `training_seconds` is the time of `epochs_done`.
    """
    facts: dict[str, Any] = {"state": "unfinished"}
    with contextlib.suppress(OSError, ValueError, RecursionError, TypeError, LookupError):
        text = regular_file(folder / "config.json").read_text("utf-8")
        config = TypeAdapter(_Config).validate_json(text, context="read")
        settings = recorded(config.settings, config.tuning)
        signature = {n: v for n, v in config.signature.items() if isinstance(v, str | int | None)}
        facts |= {n: getattr(config, n) for n in ("task", "tuning", "layers", "seed", "settings")}
        facts |= {"signature": signature} | {n: str(signature[n]) for n in ("corpus", "model")}
        facts |= {"scores": {}, "epochs": settings.epochs, "epochs_done": 0}
        text = regular_file(folder / "history.jsonl").read_text("utf-8")
        lines = text.split("\n")[:-1]  # whole ones
        epochs = [TypeAdapter(Epoch).validate_json(line, context="read") for line in lines]
        scores = [epoch.dev_score or 0.0 for epoch in epochs if epoch.dev]
        facts["training_seconds"] = sum(epoch.seconds for epoch in epochs)
        facts |= {"epochs_done": len(epochs), "scores": {"dev": max(scores)} if scores else {}}
    if "epochs" in facts:
        facts["state"] = f"epoch {facts['epochs_done']} of {facts['epochs']}"
    return facts


# Using a run again -------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class UsableRun(Run):
    """A finished run with its encoder and settings. `word_casing` cases words as the run does."""

    source: EncoderSource
    settings: Settings
    word_casing: WordCasing

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes of the run, for people: entity types, labels."""
        return self.task.taught(self.record.targets.classes)


def check_usable(run: Run, *, model: str | None = None) -> UsableRun:
    """The run with its encoder, from the place in the record or from `model`.

    MissingError if its weights, its encoder or, for truecasing, its training text are gone.
    InputError if one of them has changed since the training.
    """
    record, signature = run.record, run.record.signature
    if (file := results_file(run.folder)) is not None:
        raise MissingError(f"{file} has no weights of {run.name}; train it again to use it")
    if run.task.has_classes and not record.targets.classes:
        raise InputError(f"{run.folder / RECORD_NAME} has no classes; train the run again")
    cased = Corpus("", {})
    if signature.casing != "original":
        cased = learned_corpus(record, ["train"], None)
    try:
        place = record.model_source or signature.model
        place = str(run.folder / place) if place.startswith(".") else place
        source = find_encoder(model or place)
    except MissingError as error:
        raise MissingError(
            f"the encoder of {run.name} is missing: {error}; name it with {spelling('model')}"
        ) from None
    encoder = (signature.model, signature.encoder_weights, signature.encoder_files)
    if differences := source.differences(*encoder):
        raise InputError(
            f"{source.folder} is not the encoder of {run.name}: {'; '.join(differences)}; name the "
            f"right one with {spelling('model')}"
        )
    settings = recorded(record.settings, record.tuning)
    record = dataclasses.replace(record, model_source=source.reference)
    return UsableRun(run.folder, record, source, settings, WordCasing(cased, signature.casing))


def learned_corpus(
    record: RunRecord, splits: Sequence[str], targets: str | TargetKind | None
) -> Corpus:
    """The corpus that a run learned from, read again. The words of `splits` have not changed.

    MissingError if the text is gone, InputError if its words have changed.
    """
    source, identities = record.signature.source, record.signature.splits
    text = f"the text of {record.name}"
    if not source or not {*splits} <= identities.keys():
        raise InputError(f"{text} was not read from files; train the run again")
    try:
        corpus = load_corpus(source, ReadingOptions(**record.reading), targets=targets)
    except FeatbertError as error:
        raise MissingError(f"{text} is missing: {error}") from error
    for name in splits:
        if name not in corpus or corpus[name].text_fingerprint != identities[name].text:
            raise InputError(f"{text} has changed in {source}; train the run again")
    return corpus
