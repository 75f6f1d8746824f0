"""A run's folder while it is written: without a record nothing in it counts.

<runs>/<run>/           config.json, history.jsonl, predictions, weights.safetensors, record.json
<runs>/<run>/           config.json, history.jsonl, pruned.json: a search ended it early
<runs>/.<run>/          the same, while a finished run is replaced
<runs>/.<run>.lock      which process trains it
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from featbert.data.corpus import SPLITS
from featbert.encoders.source import ENCODER_FILES
from featbert.errors import FeatbertError, InputError, MissingError
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
from featbert.runs.record import EXPORTED, NOTES, RECORD_NAME, read_record
from featbert.runs.results import listed_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import nn

WEIGHTS = "weights.safetensors"
CHECKPOINT = "checkpoint.pt"
PRUNED = "pruned.json"
CARD = "README.md"
ENCODER = "encoder"
EVALUATIONS = "evaluations"
# In a runs directory: tests of differences, by what they were computed from.
TESTS = ".statistics"
# All that the folder of a run may hold, and that of an exported one.
_OF_BOTH = (
    *(WEIGHTS, NOTES, "speed.json"),
    *(f"{EVALUATIONS}/*--????????{end}" for end in (".json", ".conll", ".jsonl")),
)
RUN_FILES = (
    *(RECORD_NAME, *_OF_BOTH, CHECKPOINT, PRUNED, "config.json", "history.jsonl"),
    *(f"{split}{end}" for split in SPLITS for end in (".conll", ".jsonl")),
)
EXPORT_FILES = (
    *(EXPORTED, *_OF_BOTH, CARD, "adapter_config.json", "adapter_model.safetensors"),
    *(f"{above}{name}" for above in ("", f"{ENCODER}/") for name in ENCODER_FILES),
)


def working_folder(folder: Path) -> Path:
    """Folder to write to: the run's own, or a hidden one while a finished run is replaced."""
    return aside(folder) if (folder / RECORD_NAME).is_file() else folder


def folders_of(folder: Path) -> dict[Path, Sequence[str]]:
    """All folders of a run, which need not be there, and what they may hold (`check_ours`)."""
    return dict.fromkeys((folder, aside(folder), aside(folder, ".before")), RUN_FILES)


def aside(folder: Path, end: str = "") -> Path:
    """Where a run is written that replaces one, which for a moment is ".before"."""
    return folder.with_name(f".{folder.name}{end}")


def move_into_place(written: Path, folder: Path) -> None:
    """Replaces the finished run in `folder` by the one in `written`."""
    if written != folder:
        if (folder / NOTES).is_file():
            shutil.copyfile(folder / NOTES, written / NOTES)
        replace_folder(folder, written, aside(folder, ".before"), RUN_FILES)


def clean_run_folder(folder: Path) -> None:
    """Makes the folder, or empties it, the record first, but for notes and a checkpoint.

    InputError, and nothing is changed, if it holds something else; see `check_ours`.
    """
    with explaining(folder):
        check_ours(folder, RUN_FILES)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / RECORD_NAME).unlink(missing_ok=True)
        for path in folder.iterdir():
            if path.name not in (CHECKPOINT, NOTES) and path.is_file():
                path.unlink()


def settle(folder: Path, *, overwrite: bool = False) -> None:
    """Finishes what a kill of a run interrupted.

    A checkpoint next to a record is removed. A finished run that was written aside replaces the one
    before; an unfinished one is removed, unless `overwrite` resumes it. Nothing is done if another
    process trains the run, the folder cannot be written to, or holds something else (`check_ours`).
    """
    with contextlib.suppress(OSError, FeatbertError), owning(folder):
        for place, ours in folders_of(folder).items():
            check_ours(place, ours)
        if ((written := aside(folder)) / RECORD_NAME).is_file():
            read_record(written)  # refuses a damaged one
            move_into_place(written, folder)
        if (folder / RECORD_NAME).is_file():
            (folder / CHECKPOINT).unlink(missing_ok=True)
            for path in folder.iterdir():
                if path.name.startswith(".tmp") or path.match(".*.tmp"):  # of safetensors too
                    path.unlink(missing_ok=True)
            remove_folder(aside(folder, ".before"), RUN_FILES)
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
        # safetensors makes files for their owner alone
        shutil.copymode(path.with_name("config.json"), temporary)


def load_weights(path: Path, model: nn.Module, known: str) -> None:
    """Sets the parameters in a file of `save_weights`; an encoder's others stay as they are.

    InputError where the file's SHA-256 is not `known`, or the model is another one.
    """
    from safetensors.torch import load_file

    if not path.exists():
        raise MissingError(f"{path} does not exist; train the run again")
    if file_hash(utf8_path(path)) != known:
        raise InputError(f"{path} was modified after the run was scored; train the run again")
    found = model.load_state_dict(load_file(path), strict=False)
    missing = [name for name in found.missing_keys if not name.startswith("states.model.")]
    if missing or found.unexpected_keys:
        raise InputError(f"{path} has not the weights of its record; train the run again")


def check_free(folder: Path, overwrite: bool) -> None:
    """Raises InputError where an export may not be written to `folder`."""
    utf8_path(folder.absolute())
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / EXPORTED).is_file():
        raise InputError(f"{folder} is something else than an exported run; name another folder")
    if not overwrite:
        raise InputError(f"{folder} is an exported run already; --overwrite replaces it")
    check_ours(folder, EXPORT_FILES)


def evaluation_files(run_folder: Path) -> list[Path]:
    """Records of a run's evaluations, by file name."""
    return listed_in(run_folder / EVALUATIONS, "*--????????.json")
