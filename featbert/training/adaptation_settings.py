"""What language-model fine-tuning is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from featbert.training.masking import Masking
from featbert.training.settings import Settings, SettingsError

# Pieces of a sequence where nothing else is said; fewer where the encoder reads fewer.
MAX_LENGTH = 128
NSP = ("auto", "on", "off")


@dataclass(frozen=True)
class AdaptSettings(Settings):
    """What language-model fine-tuning is told.

    Attributes:
        epochs: passes over the train split, each with a mask (and pairs) of its own.
        batch_size: sequences of a step.
        learning_rate: highest rate of AdamW, reached at the end of the warmup.
        max_length: pieces of a sequence, specials included; None: 128, or what the encoder reads
            where that is less.
        share, mask_share, random_share, whole_word: see `Masking`.
        nsp: next-sentence prediction: "on", "off", or "auto": on where the corpus has documents
            and the model is a BERT.
        warmup, weight_decay, clip_norm, token_budget: as in `TrainingSettings`.
    """

    epochs: int = 10
    batch_size: int = 16
    learning_rate: float = 5e-5
    max_length: int | None = None
    share: float = 0.15
    mask_share: float = 0.8
    random_share: float = 0.1
    whole_word: bool = False
    nsp: Literal["auto", "on", "off"] = "auto"
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    token_budget: int = 4096

    def __post_init__(self) -> None:
        """Raises SettingsError naming every setting that is out of range."""
        fate = self.mask_share + self.random_share
        wrong = self.out_of_range(
            ("epochs", self.epochs >= 1, "of at least 1"),
            ("batch_size", self.batch_size >= 1, "of at least 1"),
            ("learning_rate", 0 < self.learning_rate < 10, "between 0 and 10"),
            ("max_length", self.max_length is None or self.max_length >= 8, "of at least 8"),
            ("share", 0 < self.share < 1, "between 0 and 1"),
            ("mask_share", 0 <= self.mask_share <= 1, "from 0 to 1"),
            ("random_share", 0 <= self.random_share <= 1, "from 0 to 1"),
            ("nsp", self.nsp in NSP, "auto, on or off"),
            ("warmup", 0 <= self.warmup <= 1, "from 0 to 1"),
            ("weight_decay", 0 <= self.weight_decay < 10, "from 0 to 10"),
            ("clip_norm", self.clip_norm > 0, "above 0"),
            ("token_budget", self.token_budget >= 1, "of at least 1"),
        )
        if fate > 1 + 1e-9:
            wrong.append(f"mask_share + random_share of at most 1 expected, found {fate:g}")
        if wrong:
            raise SettingsError("; ".join(wrong))

    @property
    def masking(self) -> Masking:
        """The settings that masking is told."""
        return Masking(self.share, self.mask_share, self.random_share, self.whole_word)


DEFAULT_SETTINGS = AdaptSettings()
