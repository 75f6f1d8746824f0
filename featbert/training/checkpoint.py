"""Checkpoints: a training that is killed resumes after its last kept epoch, to the same numbers.

A checkpoint holds the state between two epochs. Batches follow from seed and epoch. The file is
from `torch.save`, a zip archive with a CRC-32 of each tensor, and is read without running code
(`weights_only`).
"""

import dataclasses
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import torch
from pydantic import TypeAdapter
from torch import Tensor, nn

from featbert.errors import FeatbertError, out_of_memory
from featbert.io import cannot_write, explaining, regular_file, replacing, system_error
from featbert.training.history import Progress

# Share of a training's time that its checkpoints may take.
COST = 0.05


class Pace:
    """Says when a checkpoint is due: writing may take `COST` of the time since the last one."""

    def __init__(self) -> None:
        self._took = 0.0
        self._last = time.perf_counter()

    def is_due(self) -> bool:
        return self._took <= COST * (time.perf_counter() - self._last)

    def wrote(self, began: float) -> None:
        """Notes that one was written, by `time.perf_counter`."""
        self._last = time.perf_counter()
        self._took = self._last - began


@dataclass
class Learner:
    """What steps change.

    Attributes:
        names: parameters of the module that are trained in some epoch.
        parts: what else has a state, by name: optimiser, schedule, scaler.
        best: the best weights on dev.
    """

    module: nn.Module
    names: Sequence[str]
    parts: Mapping[str, Any]
    best: Mapping[str, Tensor] | None = None

    def weights(self) -> dict[str, Tensor]:
        """The trained parameters by name, not copied."""
        state = self.module.state_dict()
        return {name: state[name] for name in self.names}

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Sets the trained parameters. RuntimeError if shapes differ."""
        _, unknown = self.module.load_state_dict(dict(weights), strict=False)
        if unknown or set(weights) != set(self.names):
            raise RuntimeError("weights of another model")


class Checkpoint:
    """The checkpoint of one training. A file with another `identity` is ignored."""

    def __init__(self, path: Path, identity: str) -> None:
        self.path, self.identity, self.pace = path, identity, Pace()

    def resume(self, learner: Learner) -> Progress | None:
        """Sets the learner and the random states as in the file, and returns the progress.

        None if there is no file, or if it is damaged or of another training. FeatbertError if the
        system refuses to read it: then nothing may replace it.
        """
        try:
            with ZipFile(regular_file(self.path)) as archive:
                if archive.testzip() is not None:
                    return None
            state = torch.load(self.path, map_location="cpu", weights_only=True)
            if state["identity"] != self.identity:
                return None
            progress = TypeAdapter(Progress).validate_json(state["progress"])
        except FileNotFoundError:
            return None
        except FeatbertError:
            raise
        except Exception as error:  # a damaged archive raises almost anything
            if (refusal := system_error(error)) is not None:
                raise FeatbertError(cannot_write(self.path, refusal, "read")) from None
            if out_of_memory(error):
                raise
            return None
        learner.set_weights(state["weights"])
        for name, part in learner.parts.items():
            part.load_state_dict(state[name])
        torch.set_rng_state(state["random"]["cpu"])
        if state["random"]["cuda"] is not None:
            torch.cuda.set_rng_state(state["random"]["cuda"])
        if progress.best is not None:
            learner.best = state["best"] or state["weights"]
        return progress

    def keep(self, learner: Learner, progress: Progress) -> None:
        """Writes the state of the training. The old file stays if a FeatbertError is raised."""
        began = time.perf_counter()
        on_gpu = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
        state = {
            "identity": self.identity,
            "progress": json.dumps(dataclasses.asdict(progress)),
            "weights": learner.weights(),
            # None: the weights as they are
            "best": learner.best if progress.best_epoch < len(progress.history) else None,
            **{name: part.state_dict() for name, part in learner.parts.items()},
            "random": {
                "cpu": torch.get_rng_state(),
                "cuda": torch.cuda.get_rng_state() if on_gpu else None,
            },
        }
        # Not flushed: a power cut may cost it, and its checksums show damage.
        with (
            explaining(self.path, RuntimeError),
            replacing(self.path, durable=False) as temporary,
            temporary.open("wb") as file,
        ):
            torch.save(state, file)
        self.pace.wrote(began)
