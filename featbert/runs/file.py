"""An experiment file: TOML, typed and checked, all mistakes told together.

    name = "quickstart"
    data = "sample"                    # a corpus folder, or the embedded sample
    model = "all-MiniLM-L6-v2"
    seeds = [1, 2, 3]

    [features]                         # leave the table out to leave the approach out
    layers = ["embeddings", "last", "concat_last4"]
    epochs = 6

    [finetune]
    epochs = 6

A file may say several things at once. Every combination of these is an arm with its own rows:

    [corpora]                          # several corpora, by language or name
    en = "conll2003"                   # a folder, or keys of its own:
    de = { data = "conll2003-de", encoding = "latin-1", grid.finetune.epochs = [3] }

    [variants]                         # every combination is compared
    context = ["sentence", "document"]

    [[variant]]                        # ways that are no combination
    finetune.discriminative = 2.6
    [[variant]]
    finetune.unfreeze = 3

    [train_sizes]                      # learning curves: both approaches on parts of train
    shares = [0.1, 0.25, 0.5, 1.0]
    equal = "steps"                    # epochs are divided by the share; or "epochs", as they are

    [grid]                             # the best on dev is taken, then trained with all seeds
    seeds = [1]
    [grid.finetune]
    learning_rate = [2e-5, 3e-5, 5e-5]

Paths are taken from the folder that `featbert run` is started in, as on the command line.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from featbert.errors import MissingError, nearest
from featbert.runs.checking import Experiment, ExperimentError, check_experiment

__all__ = ["Experiment", "ExperimentError", "check_experiment", "read_experiment"]


def read_experiment(path: str | Path, changes: Iterable[str] = ()) -> Experiment:
    """The experiment in a TOML file, with `key=value` changes such as "features.epochs=2".

    Raises:
        MissingError: no such file.
        ExperimentError: all mistakes of file and changes together.
    """
    path = Path(path)
    try:
        text = path.read_text("utf-8")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        near = nearest(path.name, [p.name for p in path.parent.glob("*.toml")])
        raise MissingError(
            f"an experiment file expected, {path} is no file{near}; see experiments/"
        ) from None
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ExperimentError(f"an experiment file expected, {path}: {error}") from None
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also of numbers that Python does not read
        raise ExperimentError(f"TOML expected in {path}: {error}") from None
    for change in changes:
        _change(data, change)
    return check_experiment({"name": path.stem} | data, where=str(path))


def _change(data: dict[str, Any], change: str) -> None:
    """Carries out one `key=value` on the file's data; the value is TOML, or plain text."""
    key, equals, text = change.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts):
        raise ExperimentError(f"key=value expected, found {change!r}; as in --set seeds=[1,2]")
    try:
        value = tomllib.loads(f"v = {text}")["v"]
    except (ValueError, RecursionError):
        value = text.strip()
    for part in parts[:-1]:
        data = data.setdefault(part, {})
        if not isinstance(data, dict):
            raise ExperimentError(f"a table expected before {parts[-1]!r} in --set {change!r}")
    data[parts[-1]] = value
