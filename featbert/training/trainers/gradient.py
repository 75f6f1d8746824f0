"""Steps of AdamW along the gradients of the loss: for every model."""

from typing import Any

from featbert.training.trainers.base import Epochs, Trainer


def _begin(*parts: Any) -> Epochs:
    from featbert.training.loop import GradientSteps

    return GradientSteps(*parts)


TRAINER = Trainer(
    "gradient steps",
    (
        *("batch_size", "learning_rate", "mix_learning_rate", "head_learning_rate", "warmup"),
        *("schedule", "bias_correction", "weight_decay", "clip_norm", "dropout"),
    ),
    _begin,
)
