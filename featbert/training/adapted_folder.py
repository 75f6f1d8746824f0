"""The folder of an adapted encoder: config, tokenizer files, weights, and what it was made of.

It appears under its final name when it is complete, and is an encoder like any other: its config
keeps the model's type, and its tokenizer files are the base's own, byte for byte. Beside it stand

    .<name>.partial     what is written, and the checkpoint that a killed training goes on from
    .<name>.before      what it takes the place of, for a moment
    .<name>.lock        which process makes it
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from featbert.encoders.source import (
    ADAPTATION_RECORD,
    TOKENIZER_FILES,
    EncoderSource,
    find_encoder,
)
from featbert.errors import BusyError, FeatbertError, InputError
from featbert.io import cannot_write, flush, flush_folder, lock_beside, owning

RECORD_NAME = ADAPTATION_RECORD
CHECKPOINT = "checkpoint.safetensors"
FORMAT_VERSION = 1


class AdaptedFolderError(InputError):
    """A folder that the adapted encoder cannot be written to, or that is damaged."""


class AdaptationBusyError(BusyError):
    """Another process makes this adapted encoder."""


def owned(folder: Path) -> AbstractContextManager[None]:
    """Within the block no other process makes the adapted encoder in `folder`.

    Raises:
        AdaptationBusyError: another one does; says which.
        FeatbertError: the folder above cannot be written to.
    """
    return owning(folder, AdaptationBusyError)


def checkpoint_path(folder: Path) -> Path:
    """Where the training of an adapted encoder keeps how far it is."""
    return _partial(folder) / CHECKPOINT


def begin_folder(folder: Path) -> None:
    """Makes room for what is written, for who owns the folder; a checkpoint that is there stays.

    Raises:
        OSError: it cannot be written to.
    """
    _partial(folder).mkdir(parents=True, exist_ok=True)
    _clear(_partial(folder))


def settle_adapted(folder: Path) -> None:
    """Takes away what a kill left beside and in a finished encoder that is used as it is.

    Where another process has it, or it cannot be written to, nothing is done.
    """
    if not (folder / RECORD_NAME).is_file():
        return
    left = [lock_beside(folder), _partial(folder), _before(folder), folder / CHECKPOINT]
    if any(path.exists() for path in left):
        with contextlib.suppress(FeatbertError), owned(folder):
            shutil.rmtree(_partial(folder), ignore_errors=True)
            _settle_owned(folder)


def recover(folder: Path) -> bool:
    """Ends what a kill left half done between the encoder before and the one in its place.

    For who owns the folder. What is written is whole when it has a record, which comes last.

    Returns:
        Whether the new one is in place now.
    """
    before, partial = _before(folder), _partial(folder)
    if folder.exists() or not before.exists():
        return False
    whole = (partial / RECORD_NAME).is_file()
    os.replace(partial if whole else before, folder)
    if whole:
        _settle_owned(folder)
    return whole


def _settle_owned(folder: Path) -> None:
    with contextlib.suppress(OSError):  # the encoder is there; `settle_adapted` comes again
        (folder / CHECKPOINT).unlink(missing_ok=True)
    shutil.rmtree(_before(folder), ignore_errors=True)


def _partial(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.partial")


def _before(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.before")


def _clear(partial: Path) -> None:
    """Removes everything but the checkpoint."""
    for path in partial.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != CHECKPOINT:
            path.unlink()


def identity_hash(identity: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of what makes two adapted encoders the same."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def folder_name(encoder: str, corpus: str, identity: str) -> str:
    """<encoder>--<corpus>--<8 hex of what identifies it>"""
    parts = (encoder, corpus, identity[:8])
    return "--".join(re.sub(r"[^\w.-]+", "_", part).strip("._-")[:60] for part in parts)


def finished_record(
    folder: Path, source: EncoderSource, identity: str, *, overwrite: bool
) -> dict[str, Any] | None:
    """The record of the finished encoder that is wanted; None where it is to be trained.

    Raises:
        AdaptedFolderError: the folder holds something else, which is kept: files of another
            kind, another adapted encoder, or a damaged one (the last two can be overwritten).
    """
    if folder.resolve() == source.folder.resolve():
        raise AdaptedFolderError(
            f"a folder beside the encoder's own expected, {folder} is the encoder; "
            "name another with --out"
        )
    if folder.exists() and not folder.is_dir():
        raise AdaptedFolderError(f"a folder expected, {folder} is a file; name another with --out")
    if not folder.exists() or not any(folder.iterdir()):
        return None
    path = folder / RECORD_NAME
    if not path.is_file():
        raise AdaptedFolderError(
            f"an adapted encoder or nothing expected in {folder}, it holds other files; "
            "name another folder with --out"
        )
    if overwrite:
        return None
    try:
        record = json.loads(path.read_text("utf-8"))
        found, weights = record["identity"], record["weights"]
        whole = find_encoder(str(folder)).weights_hash == weights
    except (OSError, ValueError, KeyError, TypeError, InputError):
        whole = False
    if not whole:
        raise AdaptedFolderError(
            f"a whole adapted encoder expected in {folder}, it is damaged; "
            "--overwrite trains it again"
        )
    if found != identity:
        raise AdaptedFolderError(
            f"the same adapted encoder expected in {folder}, it is of other settings, text or "
            "base model; name another folder with --out, or replace it with --overwrite"
        )
    return dict(record)


def write_folder(folder: Path, source: EncoderSource, model: Any, record: dict[str, Any]) -> None:
    """Writes the encoder and its record, for who owns the folder; one that is there is replaced.

    The checkpoint goes when everything is in its place.

    Args:
        model: of transformers, with `save_pretrained`.

    Raises:
        AdaptedFolderError: the written tokenizer is not the base's; or the disk is full or closed
            to writing, and what is written is for `abandon`.
    """
    from safetensors import SafetensorError

    partial = _partial(folder)
    try:
        begin_folder(folder)
        model.save_pretrained(partial)
        _copy_tokenizer(source, partial)
        written = find_encoder(str(partial))
        record = {
            "format_version": FORMAT_VERSION,
            **record,
            "weights": written.weights_hash,
        }
        text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        (partial / RECORD_NAME).write_text(text, "utf-8")
        for path in partial.iterdir():
            if path.name == CHECKPOINT:
                continue
            # safetensors makes files for their owner alone; these are read like the others
            shutil.copymode(partial / "config.json", path)
            flush(path)
        _move_into_place(partial, folder)
    except (OSError, SafetensorError) as error:
        failed = error if isinstance(error, OSError) else OSError(str(error))
        raise AdaptedFolderError(cannot_write(folder, failed)) from None
    _settle_owned(folder)


def abandon(folder: Path) -> None:
    """Takes away what is written of an unfinished encoder, for who owns it, but its checkpoint."""
    partial = _partial(folder)
    with contextlib.suppress(OSError):
        recover(folder)
        _clear(partial)
        partial.rmdir()  # stays where there is a checkpoint in it


def _copy_tokenizer(source: EncoderSource, folder: Path) -> None:
    """Copies the base's tokenizer files and reads them once, to see that nothing is lacking."""
    from featbert.encoders.wordpieces import load_wordpieces

    names = {*TOKENIZER_FILES, *(p.name for p in source.folder.glob("*.model"))}
    for name in sorted(names):
        if (source.folder / name).is_file():
            shutil.copyfile(source.folder / name, folder / name)
    ours = load_wordpieces(find_encoder(str(folder)))
    base = load_wordpieces(source)
    if (ours.prefix, ours.suffix, ours.backend.to_str()) != (
        base.prefix,
        base.suffix,
        base.backend.to_str(),
    ):
        raise AdaptedFolderError(
            f"the tokenizer of {source.folder} to be the same in a copy, it is not; "
            "save it there with save_pretrained, so that it is complete in its own files"
        )


def _move_into_place(written: Path, folder: Path) -> None:
    before = _before(folder)
    shutil.rmtree(before, ignore_errors=True)
    if folder.exists():
        os.replace(folder, before)
    try:
        os.replace(written, folder)
    except OSError:
        if before.exists():
            os.replace(before, folder)
        raise
    with contextlib.suppress(OSError):  # not every file system can
        flush_folder(folder.parent)
