"""Checkpoints: a training that is killed resumes after its last kept epoch, to the same numbers.

A checkpoint holds all that an epoch hands to the next: the trained weights and the best ones, the
optimiser's moments, the schedule, the scaler, random states, the history, and what was counted.
Batches need no state: they follow from seed and epoch. One safetensors file, nothing is pickled.

Writing takes as long as up to four times the weights need to reach the disk, so a checkpoint is
written as often as that takes `COST` of the time, and its owner removes the file at the end.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from featbert.errors import FeatbertError
from featbert.io import cannot_write, replacing
from featbert.training.history import HISTORY, Epoch

NAME = "checkpoint.safetensors"
# Share of a training's time that its checkpoints may take.
COST = 0.05


class Progress(NamedTuple):
    """How far a training is.

    Attributes:
        history: a row for each finished epoch.
        best: dev score, epoch and weights of the best epoch; None before there is one.
        step: steps taken.
        flops, trained: as in `Fitted`, so far.
    """

    history: list[Epoch]
    best: tuple[float, int, Mapping[str, Tensor]] | None
    step: int
    flops: float
    trained: dict[str, int]


@dataclass(frozen=True)
class Learner:
    """What steps change.

    Attributes:
        names: parameters of `module` that some epoch trains.
        optimizer, schedule, scaler: as torch has them.
    """

    module: nn.Module
    names: Sequence[str]
    optimizer: Optimizer
    schedule: LRScheduler
    scaler: torch.amp.GradScaler

    def weights(self) -> dict[str, Tensor]:
        """The trained parameters by name, not copied."""
        state = self.module.state_dict()
        return {name: state[name] for name in self.names}

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Sets the trained parameters; raises RuntimeError where shapes differ."""
        _, unknown = self.module.load_state_dict(dict(weights), strict=False)
        if unknown or set(weights) != set(self.names):
            raise RuntimeError("weights of another model")


class Checkpoint:
    """The checkpoint of one training.

    Attributes:
        path: the file; its folder exists.
        identity: what the training is; a file of another one is ignored.
        cost: highest share of the time that `is_due` lets writing take.
    """

    def __init__(self, path: Path, identity: str, *, cost: float = COST) -> None:
        self.path, self.identity, self.cost = path, identity, cost
        self._took = 0.0
        self._last = time.perf_counter()

    def resume(self, learner: Learner) -> tuple[Progress, float] | None:
        """Sets the learner and the random states to what was kept; returns progress and seconds.

        None where there is no file, or a damaged one, or that of another training.
        """
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self.path, framework="pt") as file:
                metadata, names = file.metadata() or {}, file.keys()
                tensors = {name: file.get_tensor(name) for name in names}
            if metadata["checksum"] != _checksum(metadata["state"], tensors):
                return None
            state = _with_tensors(metadata["state"], tensors)
            if state["identity"] != self.identity:
                return None
        except (OSError, SafetensorError, ValueError, LookupError):
            return None
        learner.set_weights(state["weights"])
        moments = {int(number): values for number, values in state["optimizer"]["state"].items()}
        learner.optimizer.load_state_dict(state["optimizer"] | {"state": moments})
        learner.schedule.load_state_dict(state["schedule"])
        learner.scaler.load_state_dict(state["scaler"])
        torch.set_rng_state(state["random"]["cpu"])
        torch.cuda.set_rng_state_all(state["random"]["cuda"])
        best = state["best"]
        if best is not None:
            best = (best[0], best[1], best[2] or state["weights"])
        history = HISTORY.validate_python(state["history"], strict=False)
        progress = Progress(history, best, state["step"], state["flops"], state["trained"])
        return progress, state["seconds"]

    def is_due(self) -> bool:
        """Whether writing now costs no more than its share of the time since the last one."""
        return self._took <= self.cost * (time.perf_counter() - self._last)

    def keep(self, learner: Learner, progress: Progress, seconds: float) -> None:
        """Writes how far the training is; the old file stays where a FeatbertError is raised."""
        from safetensors import SafetensorError
        from safetensors.torch import save_file

        began = time.perf_counter()
        best = progress.best
        if best is not None and best[1] == len(progress.history):
            best = (*best[:2], {})  # the weights as they are
        tensors: dict[str, Tensor] = {}
        state = _without_tensors(
            {
                "identity": self.identity,
                "weights": learner.weights(),
                "best": best,
                "optimizer": learner.optimizer.state_dict(),
                "schedule": learner.schedule.state_dict(),
                "scaler": learner.scaler.state_dict(),
                "random": {
                    "cpu": torch.get_rng_state(),
                    "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
                },
                "history": HISTORY.dump_python(progress.history),
                "step": progress.step,
                "flops": progress.flops,
                "trained": progress.trained,
                "seconds": seconds,
            },
            tensors,
        )
        own = _separate(tensors)
        try:
            # Not flushed: a power cut may cost it, and its checksum shows damage.
            with replacing(self.path, durable=False) as temporary:
                metadata = {"state": state, "checksum": _checksum(state, own)}
                save_file(own, temporary, metadata=metadata)
        except (OSError, SafetensorError) as error:
            failed = error if isinstance(error, OSError) else OSError(str(error))
            raise FeatbertError(
                f"checkpoint {cannot_write(self.path, failed)}; the one before is kept"
            ) from None
        self._last = time.perf_counter()
        self._took = self._last - began

    def remove(self) -> None:
        """Removes the file, if it exists."""
        self.path.unlink(missing_ok=True)


def _without_tensors(state: Any, tensors: dict[str, Tensor]) -> str:
    """A tree as JSON, with names in place of its tensors, which are added to `tensors`."""

    def named(value: Any) -> dict[str, str]:
        if not isinstance(value, Tensor):
            raise TypeError(f"{type(value).__name__} cannot be kept")
        name = str(len(tensors))
        tensors[name] = value
        return {"tensor": name}

    return json.dumps(state, default=named)


def _with_tensors(text: str, tensors: Mapping[str, Tensor]) -> Any:
    """The tree that `_without_tensors` made JSON of."""
    return json.loads(
        text, object_hook=lambda d: tensors[d["tensor"]] if d.keys() == {"tensor"} else d
    )


def _separate(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors on the host; one with two names (tied weights) is copied: a file has no aliases."""
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
