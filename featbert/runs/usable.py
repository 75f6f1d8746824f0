"""A finished run that is to be used again: found by name, and checked before any heavy work."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from featbert.data.corpus import Corpus, Split
from featbert.data.load import load_corpus
from featbert.encoders.layers import LayerCombination, parse_layers
from featbert.encoders.source import EncoderSource, find_encoder
from featbert.encoders.tunings import get_tuning
from featbert.errors import FeatbertError, InputError, MissingError, nearest, nearest_path
from featbert.runs.record import RECORD_NAME, RunRecord, read_record
from featbert.runs.run import Run
from featbert.text import counted
from featbert.training.settings import DEFAULTS, TrainingSettings

WEIGHTS_NAME = "weights.safetensors"
MOST_LAYERS = 1000
_PRECISIONS = ("fp32", "bf16", "fp16")
# Reading options that say which words a file has; the others say how its tags are read.
_WORD_OPTIONS = ("language", "encoding", "token_column")


class UnusableRunError(InputError):
    """A finished run that cannot be used again: what it was made of is gone or has changed."""


@dataclass(frozen=True)
class UsableRun:
    """A finished run with what it takes to use it, all of it checked.

    Attributes:
        source: its encoder, the same as when it was trained.
        combination: layers it reads; None for fine-tuning.
        settings: of its tagger.
        counted: a corpus whose train split says the casing of words, where the run truecases.
    """

    run: Run
    source: EncoderSource
    combination: LayerCombination | None
    settings: TrainingSettings
    counted: Corpus | None

    @property
    def record(self) -> RunRecord:
        """The run's record."""
        return self.run.record

    @property
    def weights(self) -> Path:
        """The file of the tagger's weights."""
        return self.run.folder / WEIGHTS_NAME

    @property
    def entity_types(self) -> tuple[str, ...]:
        """Types that the run was taught, sorted."""
        return tuple(sorted({label[2:] for label in self.record.labels if label != "O"}))


def find_run(name: str, runs_dir: Path | str) -> Run:
    """A finished run by its folder, or by its name in the runs directory.

    Raises:
        MissingError: no such folder (with the nearest name), or the run is not finished.
        InputError: its record cannot be read.
    """
    runs_dir = Path(runs_dir)
    for folder in (runs_dir / name, Path(name).expanduser()):
        if name and folder.is_dir():
            folder = folder if folder.name.strip(".") else folder.resolve()
            _check_no_runs_directory(folder)
            return Run(folder, read_record(folder))
    known = sorted(p.name for p in runs_dir.iterdir()) if runs_dir.is_dir() else []
    found = "is a file, not the folder of one" if name and Path(name).is_file() else "is no folder"
    where = nearest(name, known) if runs_dir.is_dir() else nearest_path(runs_dir)
    raise MissingError(
        f"a finished run expected, {name!r} {found}, here or in {runs_dir}{where}; "
        "featbert runs lists them"
    )


def _check_no_runs_directory(folder: Path) -> None:
    """Raises MissingError for a folder of runs where one of them was to be named."""
    if (folder / RECORD_NAME).exists():
        return
    held = sorted(path.parent.name for path in folder.glob(f"*/{RECORD_NAME}"))
    if held:
        raise MissingError(
            f"a finished run expected, {folder} is a folder of {counted(len(held), 'run')}; name "
            f"one of them, such as {folder / held[0]}"
        )


def check_usable(run: Run, *, model: str | None = None) -> UsableRun:
    """Checks all that using the run needs; nothing is computed but hashes.

    Args:
        model: where its encoder lies now, if not where the record says.

    Raises:
        MissingError: its weights, its encoder or, for truecasing, its training text are gone.
        UnusableRunError: one of them is another than the run was trained with, or the record is
            too old to say what its labels are.
    """
    record = run.record
    if not record.labels:
        raise UnusableRunError(
            f"labels expected in the record of {run.name}, it is from before they were kept; "
            "train the run again"
        )
    if not (run.folder / WEIGHTS_NAME).is_file():
        raise MissingError(
            f"the weights of the run expected, {run.folder / WEIGHTS_NAME} does not exist; "
            "train the run again"
        )
    _check_signature(record)
    combination = None
    if get_tuning(record.tuning).frozen:
        combination = parse_layers(record.layers or "", record.signature.encoder_layers)
        if list(combination.indices) != record.layer_indices:
            raise UnusableRunError(
                f"layers {record.layer_indices} expected of {record.layers!r} in the record of "
                f"{run.name}, the encoder's are {list(combination.indices)}; the record is damaged"
            )
    return UsableRun(
        run, _encoder(run, model), combination, _settings(record), _counted_corpus(record)
    )


def _check_signature(record: RunRecord) -> None:
    """Raises UnusableRunError for values that no run has: a record may come from anywhere."""
    signature = record.signature
    for what, found, known in (
        ("encoder_precision", signature.encoder_precision.removesuffix("-autocast"), _PRECISIONS),
        ("training_precision", signature.training_precision, _PRECISIONS),
        ("store_dtype", signature.store_dtype or "float16", ("float16", "float32")),
        ("context", signature.context, ("sentence", "document")),
        ("pooling", signature.pooling, ("first", "last", "mean")),
        ("casing", signature.casing, ("original", "truecased")),
        ("tag_scheme", signature.tag_scheme, ("bio", "iob1")),
    ):
        if found not in known:
            raise UnusableRunError(
                f"{what} {' or '.join(known)} expected in the record of {record.name}, found "
                f"{found[:60]!r}; the record is damaged"
            )
    if not 0 <= signature.encoder_layers <= MOST_LAYERS:
        raise UnusableRunError(
            f"encoder_layers from 0 to {MOST_LAYERS} expected in the record of {record.name}, "
            f"found {signature.encoder_layers}; the record is damaged"
        )
    for name in _WORD_OPTIONS:
        if not isinstance(record.reading.get(name), str | int | None):
            raise UnusableRunError(
                f"text or a number expected for reading.{name} in the record of {record.name}; "
                "the record is damaged"
            )


def _settings(record: RunRecord) -> TrainingSettings:
    """The settings of a record; those that play no part have the approach's default."""
    known = {f.name for f in dataclasses.fields(TrainingSettings)}
    given = {name: value for name, value in record.settings.items() if name in known}
    frozen = get_tuning(record.tuning).frozen
    if frozen and record.settings.get("body") == "linear":
        given["lstm_layers"] = 0
    try:
        return dataclasses.replace(DEFAULTS["features" if frozen else "finetune"], **given)
    except (TypeError, ValueError) as error:
        raise UnusableRunError(f"the settings of {record.name} cannot be read: {error}") from None


def _encoder(run: Run, model: str | None) -> EncoderSource:
    """The run's encoder, found again and compared."""
    record, signature = run.record, run.record.signature
    wanted = model or record.model_source or signature.model
    try:
        source = find_encoder(wanted)
    except MissingError as error:
        raise MissingError(
            f"the encoder of {run.name}: {error}; name where it is now with --model"
        ) from None
    for what, expected, found in (
        ("weights", signature.encoder_weights, source.weights_hash),
        ("config and tokenizer", signature.encoder_files, source.files_hash),
    ):
        # Records of old have no hash of config and tokenizer; one of the weights they all have.
        if found != expected and (expected or what == "weights"):
            raise UnusableRunError(
                f"the encoder {signature.model} with {what} {expected[:12]} expected for "
                f"{run.name}, {source.folder} has {what} {found[:12]}; "
                "name the one it was trained with by --model"
            )
    return source


def _counted_corpus(record: RunRecord) -> Corpus | None:
    """The corpus in whose training split a truecasing run counts, read again and compared."""
    signature = record.signature
    if signature.casing == "original":
        return None
    train = signature.splits.get("train")
    where = signature.source
    told = (
        f"the training text of {record.name} expected in {where or 'a corpus folder'}, whose words "
        "say the casing that it reads"
    )
    if train is None or not where:
        raise UnusableRunError(f"{told}; the run was not trained on files, train it again")
    options = {name: record.reading[name] for name in _WORD_OPTIONS if name in record.reading}
    try:
        corpus = load_corpus(where, targets=None, **options)
    except FeatbertError as error:
        raise MissingError(f"{told}: {error}") from None
    split: Split | None = corpus.splits.get("train")
    if split is None or split.text_fingerprint != train.text:
        found = "no train split" if split is None else "other words"
        raise UnusableRunError(f"{told}; it holds {found} now, train the run again")
    return corpus
