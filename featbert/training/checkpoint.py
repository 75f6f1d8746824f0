"""Checkpoints: a training that is killed goes on after its last kept epoch, to the same numbers.

A checkpoint holds all that an epoch hands to the next: the weights and the best ones, the
optimiser's moments, the schedule, the scaler, random states, the history, and what was counted.
Batches need no state: they follow from seed and epoch. What did not fit in memory before is cut
as small from the start. One safetensors file, nothing is pickled.

Writing takes as long as up to four times the weights need to reach the disk, so it is done as often
as it costs little (`COST`), and its owner removes the file when all is finished.
"""

from __future__ import annotations

import dataclasses
import json
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from featbert.errors import FeatbertError
from featbert.io import cannot_write, replacing

Row = TypeVar("Row")
NAME = "checkpoint.safetensors"
# Share of a training's time that its checkpoints may take.
COST = 0.05
_STATE, _CHECKSUM = "state", "checksum"


class Progress(NamedTuple, Generic[Row]):
    """How far a training is.

    Attributes:
        history: a row an epoch that is finished, a dataclass of plain values.
        best: dev score, epoch and weights of the best epoch; None before there is one.
        step: steps taken.
        flops: as in `Fitted`, so far.
        trained: sizes of the parameters that some epoch trained, by name.
    """

    history: list[Row]
    best: tuple[float, int, Mapping[str, Tensor]] | None
    step: int
    flops: float
    trained: dict[str, int]


@dataclass(frozen=True)
class Kept(Generic[Row]):
    """What an epoch hands to the next.

    Attributes:
        weights: of what is trained, by name.
        optimizer, schedule, scaler: their `state_dict()`.
        progress: how far the training is.
        seconds: wall time so far.
    """

    weights: Mapping[str, Tensor]
    optimizer: dict[str, Any]
    schedule: dict[str, Any]
    scaler: dict[str, Any]
    progress: Progress[Row]
    seconds: float


@dataclass(frozen=True)
class Learner:
    """What steps change.

    Attributes:
        module: what is trained.
        optimizer, schedule, scaler: as torch has them.
    """

    module: nn.Module
    optimizer: Optimizer
    schedule: LRScheduler
    scaler: torch.amp.GradScaler


class Checkpoint(Generic[Row]):
    """The checkpoint of one training: a file that its owner names.

    Attributes:
        path: the file; its folder exists.
        identity: what the training is; a file of another one is not gone on from.
    """

    def __init__(
        self,
        path: Path,
        identity: str,
        read_row: Callable[[dict[str, Any]], Row],
        *,
        cost: float = COST,
    ) -> None:
        """One that is neither read nor written yet.

        Args:
            read_row: a row of the history from its fields.
            cost: highest share of the time that `is_due` lets writing take.
        """
        self.path, self.identity, self.cost = path, identity, cost
        self._read_row = read_row
        self._took = 0.0
        self._last = time.perf_counter()

    def resume(self, learner: Learner) -> tuple[Progress[Row], float] | None:
        """Sets the learner to what was kept, if anything was (see `load`).

        Returns:
            How far the training is, and its seconds so far.
        """
        kept = self.load()
        if kept is None:
            return None
        learner.module.load_state_dict(dict(kept.weights))
        learner.optimizer.load_state_dict(kept.optimizer)
        learner.schedule.load_state_dict(kept.schedule)
        learner.scaler.load_state_dict(kept.scaler)
        return kept.progress, kept.seconds

    def keep(self, learner: Learner, progress: Progress[Row], seconds: float) -> None:
        """Writes how far the training is; see `save`."""
        self.save(
            Kept(
                learner.module.state_dict(),
                learner.optimizer.state_dict(),
                learner.schedule.state_dict(),
                learner.scaler.state_dict(),
                progress,
                seconds,
            )
        )

    def load(self) -> Kept[Row] | None:
        """What was kept, with random states as they were; None where there is nothing
        to go on from: no file, a damaged one, or that of another training."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self.path, framework="pt") as file:
                metadata = file.metadata() or {}
                told = json.loads(metadata[_STATE])
                if told["identity"] != self.identity:
                    return None
                names = file.keys()
                tensors = {name: file.get_tensor(name) for name in names}
            if metadata[_CHECKSUM] != _checksum(metadata[_STATE], tensors):
                return None
            kept = _unpacked(told, tensors, self._read_row)
        except (OSError, SafetensorError, ValueError, LookupError, TypeError, RecursionError):
            return None
        _set_random_states(tensors)
        return kept

    def is_due(self) -> bool:
        """Whether writing now costs no more than its share of the time since the last one."""
        return self._took <= self.cost * (time.perf_counter() - self._last)

    def save(self, kept: Kept[Row]) -> None:
        """Writes what is kept; the file is the old one or the new one, never half of it.

        Raises:
            FeatbertError: it cannot be written; the old one stays.
        """
        from safetensors import SafetensorError
        from safetensors.torch import save_file

        began = time.perf_counter()
        told, tensors = _packed(kept)
        tensors |= _random_states()
        state = json.dumps({"identity": self.identity, **told})
        own = _separate(tensors)
        metadata = {_STATE: state, _CHECKSUM: _checksum(state, own)}
        try:
            # Not flushed: a power cut may cost it, and damage is seen by its checksum.
            with replacing(self.path, durable=False) as temporary:
                save_file(own, temporary, metadata=metadata)
        except (OSError, SafetensorError) as error:
            failed = error if isinstance(error, OSError) else OSError(str(error))
            raise FeatbertError(
                f"checkpoint {cannot_write(self.path, failed)}; epochs that were kept before stay"
            ) from None
        self._last = time.perf_counter()
        self._took = self._last - began

    def remove(self) -> None:
        """Takes the file away; it need not be there."""
        self.path.unlink(missing_ok=True)


def _packed(kept: Kept[Any]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What is kept as JSON and tensors; weights that are the best ones stand there once."""
    tensors = {f"weights.{name}": tensor for name, tensor in kept.weights.items()}
    best: dict[str, Any] | None = None
    progress = kept.progress
    if progress.best is not None:
        f1, epoch, weights = progress.best
        current = epoch == len(progress.history)
        best = {"f1": f1, "epoch": epoch, "current": current}
        if not current:
            tensors |= {f"best.{name}": tensor for name, tensor in weights.items()}
    moments: dict[str, dict[str, Any]] = {}
    for number, state in kept.optimizer["state"].items():
        moments[str(number)] = {}
        for name, value in state.items():
            if isinstance(value, Tensor):
                tensors[f"moments.{number}.{name}"] = value
            else:
                moments[str(number)][name] = value
    return {
        "best": best,
        "moments": moments,
        "groups": kept.optimizer["param_groups"],
        "schedule": kept.schedule,
        "scaler": kept.scaler,
        "history": [dataclasses.asdict(row) for row in progress.history],
        "step": progress.step,
        "flops": progress.flops,
        "trained": progress.trained,
        "seconds": kept.seconds,
    }, tensors


def _unpacked(
    told: dict[str, Any], tensors: Mapping[str, Tensor], read_row: Callable[[dict[str, Any]], Row]
) -> Kept[Row]:
    def under(beginning: str) -> dict[str, Tensor]:
        start = len(beginning)
        return {name[start:]: t for name, t in tensors.items() if name.startswith(beginning)}

    weights = under("weights.")
    state = {int(number): dict(values) for number, values in told["moments"].items()}
    for place, tensor in under("moments.").items():
        number, _, name = place.partition(".")
        state[int(number)][name] = tensor
    best = told["best"]
    return Kept(
        weights=weights,
        optimizer={"state": state, "param_groups": told["groups"]},
        schedule=told["schedule"],
        scaler=told["scaler"],
        progress=Progress(
            history=[read_row(row) for row in told["history"]],
            best=None
            if best is None
            else (best["f1"], best["epoch"], weights if best["current"] else under("best.")),
            step=told["step"],
            flops=told["flops"],
            trained=told["trained"],
        ),
        seconds=told["seconds"],
    )


def _separate(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors on the host; one that has two names (tied weights) twice: a file knows no aliases."""
    found: dict[str, Tensor] = {}
    places: set[int] = set()
    for name, tensor in tensors.items():
        own = tensor.detach().cpu().contiguous()
        found[name] = own.clone() if own.numel() and own.data_ptr() in places else own
        places.add(own.data_ptr())
    return found


def _checksum(state: str, tensors: Mapping[str, Tensor]) -> str:
    """CRC-32 over all that is kept: a flipped bit in a weight would go into every later number."""
    total = zlib.crc32(state.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        total = zlib.crc32(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode(), total)
        if tensor.numel():
            total = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().data, total)
    return f"{total:08x}"


def _random_states() -> dict[str, Tensor]:
    states = {"random.cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states |= {f"random.cuda{i}": s for i, s in enumerate(torch.cuda.get_rng_state_all())}
    return states


def _set_random_states(tensors: Mapping[str, Tensor]) -> None:
    torch.set_rng_state(tensors["random.cpu"])
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            if f"random.cuda{number}" in tensors:
                torch.cuda.set_rng_state(tensors[f"random.cuda{number}"], number)
