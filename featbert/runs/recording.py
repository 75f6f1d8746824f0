"""Pieces of a run's configuration and record."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

from torch import nn

from featbert.io import json_hash
from featbert.models.combination import ScalarMix
from featbert.runs.planning import PlannedRun
from featbert.runs.record import Mix


def config_text(plan: PlannedRun, labels: tuple[str, ...]) -> str:
    """What the run was asked to be, readable before it is finished."""
    asked = {"experiment": plan.options.experiment, "vary": plan.options.vary}
    told = _configuration(plan, labels) | asked
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def checkpoint_identity(plan: PlannedRun, labels: tuple[str, ...], epochs: int) -> str:
    """What a training must share to go on to the same numbers: all but who asked for it."""
    return json_hash(_configuration(plan, labels) | {"epochs": epochs})


def _configuration(plan: PlannedRun, labels: tuple[str, ...]) -> dict[str, Any]:
    return {
        "tuning": "none" if plan.approach == "features" else "full",
        "layers": plan.layers,
        "layer_indices": layer_indices(plan),
        "seed": plan.seed,
        "settings": plan.settings,
        "labels": labels,
        "signature": dataclasses.asdict(plan.signature),
    }


def learned_mix(tagger: nn.Module, indices: list[int] | None) -> Mix | None:
    """Weights and scale of the tagger's scalar mix, where it has one."""
    for module in tagger.modules():
        if isinstance(module, ScalarMix):
            weights = module.weights.detach().float().cpu().tolist()
            return Mix(indices or [], weights, float(module.scale.detach()))
    return None


def layer_indices(plan: PlannedRun) -> list[int] | None:
    """Hidden states that the run reads; None for fine-tuning."""
    return None if plan.combination is None else list(plan.combination.indices)


def summed_counts(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Counts of all splits together, by name."""
    total: dict[str, int] = {}
    for row in counts:
        for name, n in row.items():
            total[name] = total.get(name, 0) + n
    return total
