"""A run's folder while it is being written: nothing in it counts before the record does."""

from __future__ import annotations

import os
from pathlib import Path

from torch import nn

from featbert.comparison.record import RECORD_NAME

FILES = ("config.json", "history.jsonl", "dev.conll", "test.conll", "weights.safetensors")


def clean_run_folder(folder: Path) -> None:
    """Makes the folder, or takes away what an earlier attempt at this run left, record first."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (RECORD_NAME, *FILES):
        for path in (folder / name, folder / f"{name}.tmp"):
            path.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a file that appears whole or not at all."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text, "utf-8")
    os.replace(temporary, path)


def save_weights(path: Path, tagger: nn.Module) -> None:
    """The tagger's parameters as safetensors; appears whole or not at all."""
    from safetensors.torch import save_file

    temporary = path.with_name(path.name + ".tmp")
    save_file({n: t.detach().cpu().contiguous() for n, t in tagger.state_dict().items()}, temporary)
    os.replace(temporary, path)
