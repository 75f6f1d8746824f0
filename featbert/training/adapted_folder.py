"""The folder of an adapted encoder: config, tokenizer files, weights, and what it was made of.

It appears under its final name when it is complete, and is an encoder like any other: its config
keeps the model's type, and its tokenizer files are the base's own, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from featbert.errors import InputError
from featbert.features.source import (
    ADAPTATION_RECORD,
    TOKENIZER_FILES,
    EncoderSource,
    find_encoder,
)

RECORD_NAME = ADAPTATION_RECORD
FORMAT_VERSION = 1


class AdaptedFolderError(InputError):
    """A folder that the adapted encoder cannot be written to, or that is damaged."""


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
    """Writes the encoder and its record; an adapted encoder that is there is replaced.

    Args:
        model: of transformers, with `save_pretrained`.

    Raises:
        AdaptedFolderError: the written tokenizer is not the base's.
    """
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
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
            # safetensors makes files for their owner alone; these are read like the others
            shutil.copymode(partial / "config.json", path)
            with path.open("rb") as file:
                os.fsync(file.fileno())
        _move_into_place(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _copy_tokenizer(source: EncoderSource, folder: Path) -> None:
    """Copies the base's tokenizer files and reads them once, to see that nothing is lacking."""
    from featbert.features.wordpieces import load_wordpieces

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
    before = folder.with_name(f".{folder.name}.before")
    shutil.rmtree(before, ignore_errors=True)
    if folder.exists():
        os.replace(folder, before)
    os.replace(written, folder)
    shutil.rmtree(before, ignore_errors=True)
