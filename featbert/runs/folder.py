"""A run's folder while it is written. A run without a record is not finished.

<runs>/<run>/           config.json, history.jsonl, predictions, probabilities, weights, record.json
<runs>/<run>/           config.json, history.jsonl, pruned.json: a search ended it early
<runs>/.<run>/          the same, while a finished run is replaced
<runs>/.<run>.lock      the process that trains it
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from featbert.data.corpus import SPLITS
from featbert.encoders.source import ENCODER_FILES
from featbert.errors import FeatbertError, InputError, MissingError, spelling
from featbert.io import (
    check_ours,
    explaining,
    file_hash,
    owning,
    remove_folder,
    replace_folder,
    replacing,
    utf8_path,
)
from featbert.runs.counts import ENDING as COUNTS
from featbert.runs.record import EXPORTED, NOTES, RECORD_NAME
from featbert.runs.results import listed_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from torch import nn

WEIGHTS = "weights.safetensors"
CHECKPOINT = "checkpoint.pt"
PRUNED = "pruned.json"
CARD = "README.md"
ENCODER = "encoder"
ONNX = "model.onnx"
EVALUATIONS = "evaluations"
# The end of the names of files with probabilities (T, C) in float16, next to predictions.
PROBABILITIES = ".probabilities.npy"
# In a runs directory: tests of differences, by a hash of their inputs.
TESTS = ".statistics"
# Ends of the names of files with the answers to a split.
_PREDICTED = (".conll", ".jsonl", PROBABILITIES, COUNTS)
# All files in the folder of a run, and in an exported folder.
_OF_BOTH = (
    *(WEIGHTS, NOTES, "speed.json"),
    *(f"{EVALUATIONS}/*--????????{end}" for end in (".json", *_PREDICTED)),
)
RUN_FILES = (
    *(RECORD_NAME, *_OF_BOTH, CHECKPOINT, PRUNED, "config.json", "history.jsonl"),
    *(f"{split}{end}" for split in SPLITS for end in _PREDICTED),
)
EXPORT_FILES = (
    *(EXPORTED, *_OF_BOTH, CARD, "adapter_config.json", "adapter_model.safetensors"),
    *(ONNX, f"{ONNX}.data"),
    *(f"{above}{name}" for above in ("", f"{ENCODER}/") for name in ENCODER_FILES),
)


def working_folder(folder: Path) -> Path:
    """The run's folder, or a hidden one while a finished run is replaced."""
    return hidden_folder(folder) if (folder / RECORD_NAME).is_file() else folder


def folders_of(folder: Path) -> dict[Path, Sequence[str]]:
    """All folders that a run may have, with patterns of their files (`check_ours`)."""
    return dict.fromkeys(
        (folder, hidden_folder(folder), hidden_folder(folder, ".before")), RUN_FILES
    )


def hidden_folder(folder: Path, end: str = "") -> Path:
    """The hidden folder of a run that replaces `folder`, or with ".before" of the replaced run."""
    return folder.with_name(f".{folder.name}{end}")


def move_into_place(written: Path, folder: Path) -> None:
    """Replaces the finished run in `folder` by the one in `written`."""
    if written != folder:
        if (folder / NOTES).is_file():
            shutil.copyfile(folder / NOTES, written / NOTES)
        replace_folder(folder, written, hidden_folder(folder, ".before"), RUN_FILES)


def clean_run_folder(folder: Path) -> None:
    """Makes the folder, or removes its record and then all but notes and a checkpoint."""
    with explaining(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / RECORD_NAME).unlink(missing_ok=True)
        for path in folder.iterdir():
            if path.name not in (CHECKPOINT, NOTES) and path.is_file():
                path.unlink()


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Within it only this process writes the run.

    BusyError if another process does, InputError if a folder of the run holds other files.
    """
    with owning(folder):
        for place, ours in folders_of(folder).items():
            check_ours(place, ours)
        yield


def recover(folder: Path, *, overwrite: bool = False) -> None:
    """Finishes the last steps of a run that was killed.

    A checkpoint next to a record is removed. A finished run in the hidden folder replaces the older
    run. An unfinished one is removed, unless `overwrite` resumes it. Nothing is done if another
    process trains the run, the folder cannot be written to, or holds other files (`check_ours`).
    """
    with contextlib.suppress(OSError, FeatbertError), claimed(folder):
        if ((written := hidden_folder(folder)) / RECORD_NAME).is_file():
            move_into_place(written, folder)
        if (folder / RECORD_NAME).is_file():
            (folder / CHECKPOINT).unlink(missing_ok=True)
            for path in folder.iterdir():
                if path.name.startswith(".tmp") or path.match(".*.tmp"):  # of safetensors too
                    path.unlink(missing_ok=True)
            remove_folder(hidden_folder(folder, ".before"), RUN_FILES)
            if not overwrite:
                remove_folder(written, RUN_FILES)


def save_weights(path: Path, model: nn.Module, names: Iterable[str]) -> None:
    """Writes the parameters with these names as safetensors, whole or not at all."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    state = model.state_dict()
    tensors = {name: state[name].detach().cpu().contiguous() for name in names}
    with explaining(path, SafetensorError), replacing(path) as temporary:
        save_file(tensors, temporary)
        # safetensors makes files that only their owner can read
        shutil.copymode(path.with_name("config.json"), temporary)


def write_probabilities(predictions: Path, shares: NDArray[np.float16]) -> str:
    """Writes probabilities (T, C) next to a file of predictions, and returns their SHA-256."""
    path = probabilities_path(predictions)
    with explaining(path), replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, shares, allow_pickle=False)
    return file_hash(path)


def probabilities_path(predictions: Path) -> Path:
    """The file of probabilities next to a file of predictions."""
    return predictions.with_name(predictions.stem + PROBABILITIES)


def load_weights(path: Path, model: nn.Module, known: str) -> None:
    """Sets the parameters in a file of `save_weights`. Others of the encoder do not change.

    InputError if the file's SHA-256 is not `known`, or the model does not fit.
    """
    from safetensors.torch import load_file

    if not path.exists():
        raise MissingError(f"{path} does not exist; train the run again")
    if file_hash(utf8_path(path)) != known:
        raise InputError(f"{path} was modified after the run was scored; train the run again")
    keys = model.load_state_dict(load_file(path), strict=False)
    of_head = [name for name in keys.missing_keys if not name.startswith("states.model.")]
    if of_head or keys.unexpected_keys:
        raise InputError(f"{path} does not match its record; train the run again")


def check_free(folder: Path, overwrite: bool) -> None:
    """Raises InputError unless an export may be written to `folder`."""
    utf8_path(folder.absolute())
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / EXPORTED).is_file():
        raise InputError(f"{folder} is not an exported run; name another folder")
    if not overwrite:
        raise InputError(f"{folder} is an exported run; {spelling('overwrite')} replaces it")
    check_ours(folder, EXPORT_FILES)


def evaluation_files(run_folder: Path) -> list[Path]:
    """Records of a run's evaluations, by file name."""
    return listed_in(run_folder / EVALUATIONS, "*--????????.json")
