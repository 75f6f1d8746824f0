"""Live logging of training: a point an epoch, for TensorBoard, through accelerate's tracker.

    train/loss  train/seconds  train/parameters       of the epoch; parameters that are trained
    dev/f1  dev/precision  dev/recall                  in percent; none where dev is trained on
    learning_rate/<group>                              highest of the epoch

The history is what counts: a log is written beside it for whoever looks while a run trains, to
`<runs>/.tensorboard/<run>`, and nothing is read from it. accelerate keeps one state per process;
this module alone makes it, and makes it without a device, so that training is as it is without a
log.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from featbert.errors import InputError, nearest
from featbert.training.history import Epoch

TRACKERS = ("tensorboard",)


def log_folder(tracker: str, runs_dir: str | Path) -> Path:
    """The folder for the logs of a runs directory: hidden, so that it is taken for no run.

    Raises:
        InputError: a tracker that nobody knows.
        InputError: what it needs is not installed.
    """
    if tracker not in TRACKERS:
        raise InputError(
            f"{' or '.join(TRACKERS)} expected to log with, found {tracker!r}"
            f"{nearest(tracker, TRACKERS)}"
        )
    missing = [name for name in ("accelerate", tracker) if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"{' and '.join(missing)} expected to log with {tracker}, not installed; "
            f"pip install 'featbert[{tracker}]'"
        )
    return Path(runs_dir) / f".{tracker}"


@contextmanager
def epoch_log(folder: Path | None, run: str) -> Iterator[Callable[[Epoch], None]]:
    """What takes the epochs of a run, until the block ends; what an earlier attempt logged goes.

    Args:
        folder: as `log_folder` gives it; None logs nothing.
    """
    if folder is None:
        yield lambda row: None
        return
    from accelerate import PartialState
    from accelerate.tracking import TensorBoardTracker

    PartialState(cpu=True)
    for old in (folder / run).glob("events.out.tfevents.*"):
        old.unlink()
    tracker = TensorBoardTracker(run, folder)
    tracker.start()
    try:
        yield lambda row: tracker.log(scalars(row), step=row.epoch)
    finally:
        tracker.finish()


def scalars(row: Epoch) -> dict[str, float]:
    """The points of one epoch by name; see the head of this module."""
    values: dict[str, float] = {
        "train/loss": row.train_loss,
        "train/seconds": row.seconds,
        "train/parameters": sum(group.parameters for group in row.groups),
    }
    values |= {f"dev/{key}": 100 * share for key, share in (row.dev or {}).items()}
    for group in row.groups:  # TensorBoard's names hold no spaces: "layer 7"
        values[f"learning_rate/{group.name.replace(' ', '_')}"] = group.learning_rate
    return values
