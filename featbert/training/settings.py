"""Training settings and their defaults: the one place where the two approaches may differ.

The defaults of learning rate and epochs come from one search of equal size for both approaches
on wikigold dev; `benchmarks/defaults.md` has its table and the command.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal, Self

from featbert.errors import InputError

SCHEDULES = ("linear", "constant")
TRAIN_ON = ("train", "train+dev")
# Settings of the BiLSTM and of the encoder's training, which the other approach does not have.
FEATURES_ONLY = ("lstm_size", "lstm_layers", "mix_learning_rate")
FINETUNE_ONLY = ("discriminative", "unfreeze", "freeze_to")
MOST_EPOCHS = 1_000_000_000
# What records older than a setting were trained with; a run at these values keeps the name that
# it had before there was the setting.
LATER_SETTINGS: dict[str, Any] = {
    "schedule": "linear",
    "bias_correction": True,
    "train_on": "train",
    "discriminative": 1.0,
    "unfreeze": None,
    "freeze_to": None,
    "train_share": 1.0,
}


class SettingsError(InputError):
    """A setting outside of its range."""


@dataclass(frozen=True)
class Settings:
    """What all settings can do."""

    def but(self, **given: Any) -> Self:
        """These settings with those of `given` that are not None instead."""
        return dataclasses.replace(self, **{k: v for k, v in given.items() if v is not None})

    def out_of_range(self, *rules: tuple[str, bool, str]) -> list[str]:
        """A message for each rule (name, whether it fits, what is expected) that is broken."""
        return [
            f"{name} {text} expected, found {getattr(self, name)!r}"
            for name, fits, text in rules
            if not fits
        ]


@dataclass(frozen=True)
class TrainingSettings(Settings):
    """What the training loop is told.

    Attributes:
        epochs: passes over the training split.
        batch_size: sentences of a step, the same sentences for both approaches.
        learning_rate: highest rate of AdamW, reached at the end of the warmup.
        mix_learning_rate: the same for scalar-mix weights, which are few and slow to move.
        warmup: share of the steps in which the rate rises from 0, linearly.
        schedule: what follows the warmup: "linear", down to 0 (slanted triangular), or "constant".
        bias_correction: Adam's correction of its means in the first steps; the optimiser that was
            published with BERT has none.
        weight_decay: decoupled decay of matrices; vectors (biases, LayerNorm) get none.
        clip_norm: largest norm of a step's gradients.
        patience: epochs without a better dev F1 after which training stops; None: never.
        token_budget: padded tokens computed at once; a larger batch is split, its loss is not.
        dropout: of the tagger.
        train_on: "train", or "train+dev": then epochs are the best ones of the same run on train
            alone, and the last weights are kept.
        lstm_size, lstm_layers: units per direction and layers of the BiLSTM (features only); no
            layer at all is a linear probe.
        discriminative: delta of Howard and Ruder 2018: each layer learns by that factor slower
            than the one above it (fine-tuning only).
        unfreeze: layers that each epoch unfreezes from the top, after a first epoch of the
            classifier alone; the embeddings come with the lowest layers (fine-tuning only).
        freeze_to: embeddings and layers up to this one are never trained; 0: the embeddings
            alone; None: everything is trained (fine-tuning only).
        train_share: part of the training sentences that is learned from, drawn by document with
            the run's seed (`featbert.data.share`); dev, which chooses the epoch, stays whole.
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
    schedule: Literal["linear", "constant"] = "linear"
    bias_correction: bool = True
    train_on: Literal["train", "train+dev"] = "train"
    discriminative: float = 1.0
    unfreeze: int | None = None
    freeze_to: int | None = None
    train_share: float = 1.0

    def __post_init__(self) -> None:
        """Raises SettingsError naming every setting that is out of range."""
        wrong = self.out_of_range(
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
            ("lstm_layers", self.lstm_layers >= 0, "of at least 0"),
            ("schedule", self.schedule in SCHEDULES, " or ".join(SCHEDULES)),
            ("train_on", self.train_on in TRAIN_ON, " or ".join(TRAIN_ON)),
            ("discriminative", 1 <= self.discriminative < 100, "from 1 to below 100"),
            ("unfreeze", self.unfreeze is None or self.unfreeze >= 1, "of at least 1"),
            ("freeze_to", self.freeze_to is None or self.freeze_to >= 0, "of at least 0"),
            ("train_share", 0 < self.train_share <= 1, "above 0 and at most 1"),
        )
        if not wrong and self.train_share != 1 and self.train_on != "train":
            wrong = [f"train_share of {share_with(self.train_on, self.train_share)}"]
        if wrong:
            raise SettingsError("; ".join(wrong))

    @property
    def trained_splits(self) -> tuple[str, ...]:
        """Splits that the tagger learns from."""
        return ("train", "dev") if self.train_on == "train+dev" else ("train",)


def epochs_on(share: float, epochs: int) -> int:
    """Epochs on a share of train that have at least the steps of so many on all of it.

    Raises:
        SettingsError: more than anybody trains for: the share is next to nothing.
    """
    if epochs / share > MOST_EPOCHS:
        raise SettingsError(
            f"at most {MOST_EPOCHS:,} epochs expected, a share of {share:g} makes "
            f"{epochs / share:.3g} of {epochs}"
        )
    return math.ceil(epochs / share - 1e-9)


def share_with(train_on: str, share: float) -> str:
    """What is wrong with a share of train where other splits are learned from too."""
    return (
        f"1 expected with train_on {train_on}, found {share!r}; learning curves are of train alone"
    )


def used_settings(
    settings: TrainingSettings, approach: str, *, weighted: bool = False
) -> dict[str, Any]:
    """The settings that play a part in a run of this approach, flat.

    Args:
        weighted: whether the layer combination has a scalar mix.
    """
    unused = set(FEATURES_ONLY if approach == "finetune" else FINETUNE_ONLY)
    if not weighted:
        unused.add("mix_learning_rate")
    linear = approach == "finetune" or not settings.lstm_layers
    if linear:
        unused |= {"lstm_size", "lstm_layers"}
    head = {"body": "linear" if linear else "bilstm", "output": "softmax"}
    return head | {k: v for k, v in dataclasses.asdict(settings).items() if k not in unused}


def named_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that a run's name is made of: later ones only where they are not as before."""
    return {k: v for k, v in settings.items() if k not in LATER_SETTINGS or v != LATER_SETTINGS[k]}


def check_layers(settings: TrainingSettings, num_layers: int) -> None:
    """Refuses freezing and unfreezing that an encoder of L layers cannot do.

    Raises:
        SettingsError: layers it lacks, or too few epochs to unfreeze them all.
    """
    if settings.freeze_to is not None and settings.freeze_to > num_layers:
        raise SettingsError(
            f"a layer from 0 to {num_layers} expected for freeze_to, found {settings.freeze_to}; "
            "the encoder has no more"
        )
    if settings.unfreeze is None:
        return
    if settings.unfreeze > num_layers:
        raise SettingsError(
            f"groups of at most {num_layers} layers expected for unfreeze, found "
            f"{settings.unfreeze}; the encoder has no more"
        )
    free = num_layers - (settings.freeze_to or 0)
    needed = 1 + -(-free // settings.unfreeze)
    if settings.epochs < needed:
        raise SettingsError(
            f"at least {needed} epochs expected to unfreeze {free} layers in groups of "
            f"{settings.unfreeze} after an epoch of the classifier alone, found {settings.epochs}"
        )


DEFAULTS = {
    "features": TrainingSettings(epochs=12, batch_size=16, learning_rate=2e-3, dropout=0.5),
    "finetune": TrainingSettings(epochs=12, batch_size=16, learning_rate=2e-4, dropout=0.1),
}
