"""Live logging of training to `<runs>/.<tracker>`: a point an epoch, by accelerate's trackers.

train/loss  train/seconds  train/parameters       of the epoch, parameters that are trained
train/C                                            of a solver (`Epoch.step_value`)
dev/f1  dev/precision  dev/recall                  in percent, none if dev is trained on
learning_rate/<group>                              highest of the epoch

csv has a file for each run, with a line for each epoch, and tensorboard has a folder. wandb and
mlflow have a run of the same name in the project `featbert`, and a further one if it is trained
again. Their own variables may name a server. Tests have a stand-in for both. By hand wandb 0.31.0
(offline) and mlflow 3.17.2 were tried.
"""

import csv
import importlib
import importlib.util
import io
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from featbert.errors import InputError, check_known
from featbert.io import unlinked, write_text
from featbert.progress import report
from featbert.training.history import Epoch

PROJECT = "featbert"
TRACKERS = ("csv", "tensorboard", "wandb", "mlflow")


def log_folder(tracker: str | None, runs_dir: Path) -> Path | None:
    """A hidden folder for logs, or None. InputError for a tracker that is unknown or missing."""
    if tracker is None:
        return None
    check_known("tracker", [tracker], TRACKERS)
    if importlib.util.find_spec(tracker) is None:
        raise InputError(f"{tracker} is not installed; pip install 'featbert[{tracker}]'")
    folder = runs_dir / f".{tracker}"
    watch = {"tensorboard": f"; to watch them: tensorboard --logdir {shlex.quote(str(folder))}"}
    report(f"epochs are logged to {folder}{watch.get(tracker, '')}")
    return folder


@contextmanager
def epoch_log(folder: Path | None, run: str) -> Iterator[Callable[[Epoch], None]]:
    """A function that logs the epochs of a run. Without a folder it does nothing."""
    if folder is None:
        yield lambda row: None
        return
    name = folder.name.removeprefix(".")
    if name == "csv":
        rows: list[dict[str, float]] = []

        def log(row: Epoch) -> None:  # later epochs may have more columns
            rows.append({"epoch": row.epoch, **scalars(row)})
            names = dict.fromkeys(name for points in rows for name in points)
            writer = csv.DictWriter(text := io.StringIO(newline=""), [*names])
            writer.writeheader()
            writer.writerows(rows)
            write_text(folder / f"{run}.csv", text.getvalue())

        yield log
        return
    from accelerate import PartialState
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS

    PartialState()  # which trackers ask whether this is the main process
    for old in unlinked(folder / run).glob("events.out.tfevents.*"):
        old.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    options: dict[str, dict[str, Any]] = {
        "tensorboard": {"run_name": run, "logging_dir": str(folder)},
        "wandb": {"run_name": PROJECT, "name": run, "dir": str(folder)},
        "mlflow": {"experiment_name": PROJECT, "run_name": run},
    }
    if name == "mlflow":
        mlflow = importlib.import_module(name)
        if not mlflow.is_tracking_uri_set():
            mlflow.set_tracking_uri(f"sqlite:///{folder.absolute()}/mlflow.db")
    tracker = LOGGER_TYPE_TO_CLASS[name](**options[name])
    tracker.start()
    try:
        yield lambda row: tracker.log(scalars(row), step=row.epoch)
    finally:
        tracker.finish()


def scalars(row: Epoch) -> dict[str, float]:
    """The points of one epoch by name. The head of this module lists them."""
    values: dict[str, float] = {
        "train/loss": row.train_loss,
        "train/seconds": row.seconds,
        "train/parameters": sum(group.parameters for group in row.groups),
    }
    values |= {f"train/{name}": value for name, value in row.step_value.items()}
    values |= {f"dev/{key}": 100 * share for key, share in (row.dev or {}).items()}
    for group in row.groups:  # TensorBoard's names hold no spaces: "layer 7"
        values[f"learning_rate/{group.name.replace(' ', '_')}"] = group.learning_rate
    return values
