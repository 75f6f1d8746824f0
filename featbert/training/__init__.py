"""Batches, the one training loop, optimiser and schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.lazy import attach

if TYPE_CHECKING:
    from featbert.training.adaptation import adapt
    from featbert.training.adaptation_plan import Adapted, AdaptEpoch
    from featbert.training.adaptation_settings import AdaptSettings
    from featbert.training.history import Epoch, ParameterGroup
    from featbert.training.loop import fit, predict
    from featbert.training.probe import fit_probe
    from featbert.training.settings import DEFAULTS, TrainingSettings

__all__ = [
    "DEFAULTS",
    "AdaptEpoch",
    "AdaptSettings",
    "Adapted",
    "Epoch",
    "ParameterGroup",
    "TrainingSettings",
    "adapt",
    "fit",
    "fit_probe",
    "predict",
]
__getattr__, __dir__ = attach(
    __name__,
    {
        "AdaptEpoch": "featbert.training.adaptation_plan",
        "AdaptSettings": "featbert.training.adaptation_settings",
        "Adapted": "featbert.training.adaptation_plan",
        "DEFAULTS": "featbert.training.settings",
        "Epoch": "featbert.training.history",
        "ParameterGroup": "featbert.training.history",
        "TrainingSettings": "featbert.training.settings",
        "adapt": "featbert.training.adaptation",
        "fit": "featbert.training.loop",
        "fit_probe": "featbert.training.probe",
        "predict": "featbert.training.loop",
    },
)
