"""Training settings and their defaults: the one place where the two approaches may differ.

The defaults of learning rate and epochs come from one search of equal size for both approaches
on wikigold dev; `benchmarks/defaults.md` has its table and the command.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from featbert.errors import InputError


class SettingsError(InputError):
    """A setting outside of its range."""


@dataclass(frozen=True)
class TrainingSettings:
    """What the training loop is told.

    Attributes:
        epochs: passes over the training split.
        batch_size: sentences of a step, the same sentences for both approaches.
        learning_rate: highest rate of AdamW, reached at the end of the warmup.
        mix_learning_rate: the same for scalar-mix weights, which are few and slow to move.
        warmup: share of the steps in which the rate rises from 0; then it falls to 0, linearly.
        weight_decay: decoupled decay of matrices; vectors (biases, LayerNorm) get none.
        clip_norm: largest norm of a step's gradients.
        patience: epochs without a better dev F1 after which training stops; None: never.
        token_budget: padded tokens computed at once; a larger batch is split, its loss is not.
        dropout: of the tagger.
        lstm_size, lstm_layers: units per direction and layers of the BiLSTM (features only).
    """

    epochs: int
    batch_size: int
    learning_rate: float
    dropout: float
    mix_learning_rate: float = 1e-2
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    patience: int | None = None
    token_budget: int = 4096
    lstm_size: int = 768
    lstm_layers: int = 2

    def __post_init__(self) -> None:
        """Raises SettingsError naming every setting that is out of range."""
        wrong = [
            f"{name} {text} expected, found {getattr(self, name)!r}"
            for name, fits, text in (
                ("epochs", self.epochs >= 1, "of at least 1"),
                ("batch_size", self.batch_size >= 1, "of at least 1"),
                ("learning_rate", 0 < self.learning_rate < 10, "between 0 and 10"),
                ("mix_learning_rate", 0 < self.mix_learning_rate < 10, "between 0 and 10"),
                ("dropout", 0 <= self.dropout < 1, "from 0 to below 1"),
                ("warmup", 0 <= self.warmup <= 1, "from 0 to 1"),
                ("weight_decay", 0 <= self.weight_decay < 10, "from 0 to 10"),
                ("clip_norm", self.clip_norm > 0, "above 0"),
                ("patience", self.patience is None or self.patience >= 1, "of at least 1"),
                ("token_budget", self.token_budget >= 1, "of at least 1"),
                ("lstm_size", self.lstm_size >= 1, "of at least 1"),
                ("lstm_layers", self.lstm_layers >= 1, "of at least 1"),
            )
            if not fits
        ]
        if wrong:
            raise SettingsError("; ".join(wrong))

    def but(self, **given: Any) -> TrainingSettings:
        """These settings with those of `given` that are not None instead."""
        return dataclasses.replace(self, **{k: v for k, v in given.items() if v is not None})


DEFAULTS = {
    "features": TrainingSettings(epochs=8, batch_size=16, learning_rate=1e-3, dropout=0.5),
    "finetune": TrainingSettings(epochs=8, batch_size=16, learning_rate=1e-4, dropout=0.1),
}
