"""An experiment file: TOML, typed and checked, all mistakes told together.

    name = "quickstart"
    data = "sample"                    # a corpus folder, or the embedded sample
    model = "all-MiniLM-L6-v2"
    seeds = [1, 2, 3]

    [features]                         # leave the table out to leave the approach out
    layers = ["embeddings", "last", "concat_last4"]
    epochs = 6

    [finetune]
    epochs = 6

Paths are taken from the folder that `featbert run` is started in, as on the command line.
"""

from __future__ import annotations

import dataclasses
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from featbert.comparison.grouping import check_vary
from featbert.errors import FeatbertError, InputError, MissingError, nearest
from featbert.features.layers import NAMES, parse_layers
from featbert.features.source import DEFAULT_MODEL
from featbert.training.settings import DEFAULTS, TrainingSettings


class ExperimentError(InputError):
    """An experiment file with mistakes; the message lists them all."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Approach(_Table):
    """Training settings of one approach; what is left out has the approach's default."""

    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    dropout: float | None = None
    warmup: float | None = None
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
        names = [parse_layers(spec).name for spec in layers]
        if len(set(names)) != len(names):
            raise ValueError("each layer combination once expected")
        return names


class FinetuneTable(_Approach):
    """`[finetune]`: how the fine-tuned tagger is trained."""


class Experiment(_Table):
    """A whole experiment file.

    Attributes:
        name: the file's stem by default; kept in the run records.
        data: corpus folder or "sample"; language, encoding, scheme and columns as on the
            command line.
        vary: signature keys whose difference is the experiment's point, not a mistake.
        store_dtype, precision, context, pooling, device: as on the command line.
        features, finetune: the approaches; at least one.
    """

    name: str = ""
    description: str = ""
    data: str = "sample"
    language: str | None = None
    encoding: str = "utf-8"
    scheme: str = "auto"
    token_column: int | None = None
    tag_column: int | None = None
    model: str = DEFAULT_MODEL
    context: Literal["sentence", "document"] = "sentence"
    pooling: Literal["first", "last", "mean"] = "first"
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    store_dtype: Literal["float16", "float32"] = "float16"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    seeds: list[int] = Field(default=[1], min_length=1)
    vary: list[str] = []
    features: FeaturesTable | None = None
    finetune: FinetuneTable | None = None

    @field_validator("seeds")
    @classmethod
    def _seeds(cls, seeds: list[int]) -> list[int]:
        if len(set(seeds)) != len(seeds) or min(seeds) < 0:
            raise ValueError("different seeds of at least 0 expected")
        return seeds

    @field_validator("vary")
    @classmethod
    def _vary(cls, vary: list[str]) -> list[str]:
        check_vary(vary, [f.name for f in dataclasses.fields(TrainingSettings)])
        return vary

    def settings(self, approach: Literal["features", "finetune"]) -> TrainingSettings:
        """The approach's defaults with what the file says instead."""
        table = self.features if approach == "features" else self.finetune
        given = {} if table is None else table.model_dump(exclude={"layers"})
        return DEFAULTS[approach].but(**given)

    @property
    def reading(self) -> dict[str, Any]:
        """Corpus options that differ from `load_corpus`'s defaults."""
        given = self.model_dump(
            include={"language", "encoding", "scheme", "token_column", "tag_column"},
            exclude_defaults=True,
        )
        return dict(given)


def read_experiment(path: str | Path, changes: Iterable[str] = ()) -> Experiment:
    """The experiment in a TOML file, with `key=value` changes such as "features.epochs=2".

    Raises:
        MissingError: no such file.
        ExperimentError: all mistakes of file and changes together.
    """
    path = Path(path)
    try:
        text = path.read_text("utf-8")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        near = nearest(path.name, [p.name for p in path.parent.glob("*.toml")])
        raise MissingError(
            f"an experiment file expected, {path} is no file{near}; see experiments/"
        ) from None
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ExperimentError(f"an experiment file expected, {path}: {error}") from None
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ExperimentError(f"TOML expected in {path}: {error}") from None
    for change in changes:
        _change(data, change)
    return check_experiment({"name": path.stem} | data, where=str(path))


def check_experiment(data: Mapping[str, Any], *, where: str) -> Experiment:
    """The experiment that a table describes; see `read_experiment`."""
    mistakes: list[str] = []
    experiment: Experiment | None = None
    try:
        experiment = Experiment.model_validate(dict(data))
    except ValidationError as error:
        mistakes += [_told(dict(e), data) for e in error.errors()]
    if experiment is not None:
        if experiment.features is None and experiment.finetune is None:
            mistakes.append("a [features] or [finetune] table expected, found neither")
        for approach in ("features", "finetune"):
            try:
                experiment.settings(approach)
            except FeatbertError as error:
                mistakes.append(f"[{approach}]: {error}")
    if mistakes or experiment is None:
        count = f"{len(mistakes)} mistakes" if len(mistakes) > 1 else "a mistake"
        raise ExperimentError(f"{count} in {where}: " + "; ".join(mistakes))
    return experiment


def _change(data: dict[str, Any], change: str) -> None:
    """Carries out one `key=value` on the file's data; the value is TOML, or plain text."""
    key, equals, text = change.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts):
        raise ExperimentError(f"key=value expected, found {change!r}; as in --set seeds=[1,2]")
    try:
        value = tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    for part in parts[:-1]:
        data = data.setdefault(part, {})
        if not isinstance(data, dict):
            raise ExperimentError(f"a table expected before {parts[-1]!r} in --set {change!r}")
    data[parts[-1]] = value


def _told(error: dict[str, Any], data: Mapping[str, Any]) -> str:
    """One mistake: expected, found, where, and the nearest known key."""
    place = ".".join(str(p) for p in error["loc"])
    if error["type"] == "extra_forbidden":
        known = _keys(error["loc"][:-1])
        return f"unknown key {place!r}{nearest(str(error['loc'][-1]), known)}"
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    return f"{place}: {message}" + (
        "" if error["type"] == "value_error" else f" expected, found {error['input']!r}"
    )


def _keys(place: tuple[Any, ...]) -> list[str]:
    """Keys known in the table at `place`."""
    table: type[BaseModel] = Experiment
    for part in place:
        kind = table.model_fields[part].annotation
        if typing.get_origin(kind) is types.UnionType:
            kind = next(k for k in typing.get_args(kind) if k is not type(None))
        assert isinstance(kind, type)
        table = kind
    return list(table.model_fields)
