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
        """Sets the learner and the random states to what was kept.

        Returns:
            How far the training is, and its seconds so far; None where there is no file, or a
            damaged one, or that of another training.
        """
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self.path, framework="pt") as file:
                metadata = file.metadata() or {}
                state = json.loads(metadata["state"])
                if state["identity"] != self.identity:
                    return None
                names = file.keys()
                tensors = {name: file.get_tensor(name) for name in names}
            if metadata["checksum"] != _checksum(metadata["state"], tensors):
                return None
        except (OSError, SafetensorError, ValueError, LookupError):
            return None

        def under(beginning: str) -> dict[str, Tensor]:
            start = len(beginning)
            return {n[start:]: t for n, t in tensors.items() if n.startswith(beginning)}

        weights = under("weights.")
        learner.set_weights(weights)
        moments = {int(number): dict(values) for number, values in state["moments"].items()}
        for place, tensor in under("moments.").items():
            number, _, name = place.partition(".")
            moments[int(number)][name] = tensor
        learner.optimizer.load_state_dict({"state": moments, "param_groups": state["groups"]})
        learner.schedule.load_state_dict(state["schedule"])
        learner.scaler.load_state_dict(state["scaler"])
        _set_random_states(tensors)
        best = state["best"]
        if best is not None:
            best = (best["score"], best["epoch"], weights if best["current"] else under("best."))
        history = HISTORY.validate_python(state["history"], strict=False)
        progress = Progress(history, best, state["step"], state["flops"], state["trained"])
        return progress, state["seconds"]

    def is_due(self) -> bool:
        """Whether writing now costs no more than its share of the time since the last one."""
        return self._took <= self.cost * (time.perf_counter() - self._last)

    def keep(self, learner: Learner, progress: Progress, seconds: float) -> None:
        """Writes how far the training is; the file is the old one or the new one.

        Raises:
            FeatbertError: it cannot be written; the old one stays.
        """
        from safetensors import SafetensorError
        from safetensors.torch import save_file

        began = time.perf_counter()
        tensors = {f"weights.{name}": tensor for name, tensor in learner.weights().items()}
        best: dict[str, Any] | None = None
        if progress.best is not None:
            score, epoch, weights = progress.best
            current = epoch == len(progress.history)
            best = {"score": score, "epoch": epoch, "current": current}
            if not current:
                tensors |= {f"best.{name}": tensor for name, tensor in weights.items()}
        optimizer = learner.optimizer.state_dict()
        moments: dict[str, dict[str, Any]] = {}
        for number, values in optimizer["state"].items():
            moments[str(number)] = {n: v for n, v in values.items() if not isinstance(v, Tensor)}
            tensors |= {
                f"moments.{number}.{n}": v for n, v in values.items() if isinstance(v, Tensor)
            }
        state = json.dumps(
            {
                "identity": self.identity,
                "best": best,
                "moments": moments,
                "groups": optimizer["param_groups"],
                "schedule": learner.schedule.state_dict(),
                "scaler": learner.scaler.state_dict(),
                "history": HISTORY.dump_python(progress.history),
                "step": progress.step,
                "flops": progress.flops,
                "trained": progress.trained,
                "seconds": seconds,
            }
        )
        own = _separate(tensors | _random_states())
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
