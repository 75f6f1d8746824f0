"""Live logging of training to `<runs>/.tensorboard/<run>`: a point an epoch, for TensorBoard.

train/loss  train/seconds  train/parameters       of the epoch; parameters that are trained
dev/f1  dev/precision  dev/recall                  in percent; none where dev is trained on
learning_rate/<group>                              highest of the epoch
"""

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from featbert.errors import InputError, check_known
from featbert.training.history import Epoch

TRACKERS = ("tensorboard",)


def log_folder(tracker: str, runs_dir: str | Path) -> Path:
    """A hidden folder for logs; raises InputError for a tracker that is unknown or missing."""
    check_known("tracker", [tracker], TRACKERS)
    if importlib.util.find_spec(tracker) is None:
        raise InputError(f"{tracker} is not installed; pip install 'featbert[{tracker}]'")
    return Path(runs_dir) / f".{tracker}"


@contextmanager
def epoch_log(folder: Path | None, run: str) -> Iterator[Callable[[Epoch], None]]:
    """What logs the epochs of a run, in place of an earlier log; nothing without a folder."""
    if folder is None:
        yield lambda row: None
        return
    from torch.utils.tensorboard import SummaryWriter

    for old in (folder / run).glob("events.out.tfevents.*"):
        old.unlink()
    with SummaryWriter(folder / run) as writer:

        def log(row: Epoch) -> None:
            for name, value in scalars(row).items():
                writer.add_scalar(name, value, row.epoch)
            writer.flush()

        yield log


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
