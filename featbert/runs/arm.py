"""An arm of an experiment: one corpus, one encoder, one set of conditions, typed and checked.

A plain experiment file is one arm. Where a file varies something (`[variants]`, `[corpora]`), each
combination is an arm of its own, made by laying its keys over the file's.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from featbert.config import Adapt, validated
from featbert.encoders.layers import NAMES, parse_layers
from featbert.encoders.source import DEFAULT_MODEL
from featbert.training.settings import DEFAULTS, TrainingSettings, epochs_on, share_with

Approach = Literal["features", "finetune"]
# As many digits as --seeds reads on the command line.
LARGEST_SEED = 999_999_999
# In `layers`: every hidden state by itself, embeddings to last.
EACH = "each"


class Table(BaseModel):
    """A table of an experiment file: typed, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class _Approach(Table):
    """Training settings of one approach; what is left out has the approach's default."""

    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    dropout: float | None = None
    warmup: float | None = None
    schedule: Literal["linear", "constant"] | None = None
    bias_correction: bool | None = None
    weight_decay: float | None = None
    clip_norm: float | None = None
    patience: int | None = None
    token_budget: int | None = None


class FeaturesTable(_Approach):
    """`[features]`: which layer combinations, and how their taggers are trained."""

    layers: list[str] = Field(default=list(NAMES), min_length=1)
    mix_learning_rate: float | None = None
    lstm_size: int | None = None
    lstm_layers: int | None = None

    @field_validator("layers")
    @classmethod
    def _known(cls, layers: list[str]) -> list[str]:
        names = [EACH if spec == EACH else parse_layers(spec).name for spec in layers]
        if len(set(names)) != len(names):
            raise ValueError("each layer combination once expected")
        return names

    def specs(self, num_layers: int) -> list[str]:
        """The combinations for an encoder with `num_layers` layers, each once."""
        single = ["embeddings", *(f"layer:{n}" for n in range(1, num_layers + 1))]
        specs = [s for spec in self.layers for s in (single if spec == EACH else [spec])]
        return list(dict.fromkeys(specs))


class FinetuneTable(_Approach):
    """`[finetune]`: how the fine-tuned tagger is trained.

    Attributes:
        unfreeze, freeze_to: as in `TrainingSettings`; "none" leaves it out, "all" freezes the
            whole encoder.
    """

    discriminative: float | None = None
    unfreeze: int | Literal["none"] | None = None
    freeze_to: int | Literal["none", "all"] | None = None


class AdaptTable(Table):
    """`[adapt]`: the encoder is trained on the task's text as a language model before the task."""

    epochs: int = 10
    batch_size: int | None = None
    learning_rate: float | None = None
    max_length: int | None = None
    share: float | None = None
    mask_share: float | None = None
    random_share: float | None = None
    whole_word: bool | None = None
    nsp: Literal["auto", "on", "off"] | None = None
    seed: int = Field(default=1, ge=0, le=LARGEST_SEED)

    def settings(self) -> Adapt:
        """The defaults with what the table says instead; raises InputError."""
        return validated(Adapt, self.model_dump(exclude={"seed"}, exclude_none=True))


class Arm(Table):
    """One set of conditions.

    Attributes:
        data: corpus folder, "sample" or "hf:NAME"; language, encoding, scheme and columns as on the
            command line.
        train_on: "train", or "train+dev" for as many epochs as were best with train alone.
        train_share: part of the training sentences that both approaches learn from.
        equal_steps: whether a share is trained on for as many steps as all of train would be:
            epochs are those of the tables, divided by the share.
        context, casing, pooling, tag_scheme, store_dtype, precision, device: as on the command
            line.
        features, finetune: the approaches; at least one.
    """

    data: str = "sample"
    language: str | None = None
    encoding: str = "utf-8"
    scheme: str = "auto"
    token_column: int | str | None = None
    tag_column: int | str | None = None
    model: str = DEFAULT_MODEL
    context: Literal["sentence", "document"] = "sentence"
    casing: Literal["original", "truecased"] = "original"
    pooling: Literal["first", "last", "mean"] = "first"
    tag_scheme: Literal["bio", "iob1"] = "bio"
    train_on: Literal["train", "train+dev"] = "train"
    train_share: float = Field(default=1.0, gt=0, le=1)
    equal_steps: bool = False
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    store_dtype: Literal["float16", "float32"] = "float16"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    seeds: list[int] = Field(default=[1], min_length=1)
    adapt: AdaptTable | None = None
    features: FeaturesTable | None = None
    finetune: FinetuneTable | None = None

    @field_validator("seeds")
    @classmethod
    def _seeds(cls, seeds: list[int]) -> list[int]:
        if len(set(seeds)) != len(seeds) or not 0 <= min(seeds) <= max(seeds) <= LARGEST_SEED:
            raise ValueError(f"different seeds from 0 to {LARGEST_SEED} expected, found {seeds}")
        return seeds

    @field_validator("train_share")
    @classmethod
    def _of_train(cls, share: float, info: ValidationInfo) -> float:
        train_on = info.data.get("train_on", "train")
        if share != 1 and train_on != "train":
            raise ValueError(share_with(train_on, share))
        return share

    def settings(self, approach: Approach, num_layers: int = 0) -> TrainingSettings:
        """The approach's defaults with what the file says instead.

        Args:
            num_layers: L of the encoder, for what is said by "all".

        Raises:
            SettingsError: all that is out of range, together.
        """
        table = self.features if approach == "features" else self.finetune
        given = {} if table is None else table.model_dump(exclude={"layers"})
        if given.get("freeze_to") == "all":
            given["freeze_to"] = num_layers
        given = {name: value for name, value in given.items() if value != "none"}
        parts = {"train_on": self.train_on, "train_share": self.train_share}
        settings = DEFAULTS[approach].but(**parts, **given)
        if self.equal_steps:
            settings = settings.but(epochs=epochs_on(self.train_share, settings.epochs))
        return settings

    @property
    def reading(self) -> dict[str, Any]:
        """Corpus options that differ from `load_corpus`'s defaults."""
        given = self.model_dump(
            include={"language", "encoding", "scheme", "token_column", "tag_column"},
            exclude_defaults=True,
        )
        return dict(given)
