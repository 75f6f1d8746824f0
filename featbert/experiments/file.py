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

A file may say several things at once. Every combination of these is an arm with its own rows:

    [corpora]                          # several corpora, by language or name
    en = "conll2003"                   # a folder, or keys of its own:
    de = { data = "conll2003-de", encoding = "latin-1", finetune.epochs = 3 }

    [variants]                         # every combination is compared
    context = ["sentence", "document"]

    [[variant]]                        # ways that are no combination
    finetune.discriminative = 2.6
    [[variant]]
    finetune.unfreeze = 3

    [grid]                             # the best on dev is taken, then trained with all seeds
    seeds = [1]
    [grid.finetune]
    learning_rate = [2e-5, 3e-5, 5e-5]

Paths are taken from the folder that `featbert run` is started in, as on the command line.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator

from featbert.comparison.grouping import VARYABLE, check_vary
from featbert.comparison.published import published_table
from featbert.errors import FeatbertError, InputError, MissingError, nearest
from featbert.experiments.arm import Approach, Arm, FeaturesTable, FinetuneTable, Table
from featbert.experiments.mistakes import told
from featbert.experiments.overlay import combinations, flattened, merged
from featbert.training.settings import TrainingSettings

APPROACHES: tuple[Approach, ...] = ("features", "finetune")
# What arms can differ in by key, and the name in `vary` that frees it among their runs.
FREED_BY = {"data": "corpus", "adapt": "model"} | {name: name for name in VARYABLE}


class ExperimentError(InputError):
    """An experiment file with mistakes; the message lists them all."""


class FileTable(Table):
    """Keys of the file itself; all others are those of its arms.

    Attributes:
        name: the file's stem by default; kept in the run records.
        corpora, variants, variant, grid: see the head of this module.
        transfer: whether each tagger is scored on the test splits of all corpora.
        labels: types that are called otherwise before a tagger is scored on another corpus.
        published: published tables to set beside the comparison.
        show: figures beside entity F1 in the comparison, such as "word_f1".
        vary: signature keys whose difference is the experiment's point, not a mistake, beside
            those that the file itself varies.
    """

    name: str = ""
    description: str = ""
    corpora: dict[str, str | dict[str, Any]] = Field(default_factory=dict)
    variants: dict[str, Any] = Field(default_factory=dict)
    variant: list[dict[str, Any]] = Field(default_factory=list)
    grid: dict[str, Any] = Field(default_factory=dict)
    transfer: bool = False
    labels: dict[str, str] = Field(default_factory=dict)
    published: list[str] = Field(default_factory=list)
    show: list[str] = Field(default_factory=list)
    vary: list[str] = Field(default_factory=list)

    @field_validator("vary")
    @classmethod
    def _vary(cls, vary: list[str]) -> list[str]:
        check_vary(vary, [f.name for f in dataclasses.fields(TrainingSettings)])
        return vary

    @field_validator("published")
    @classmethod
    def _published(cls, published: list[str]) -> list[str]:
        for name in published:
            try:
                published_table(name)
            except MissingError as error:
                raise ValueError(str(error)) from None
        return published


class GridSeeds(Table):
    """`grid.seeds`: seeds that each setting is tried with."""

    seeds: list[int] = Field(default=[1], min_length=1)


@dataclass(frozen=True)
class Experiment:
    """A whole experiment file.

    Attributes:
        name, description, transfer, labels, published, show: see `FileTable`.
        arms: every combination of what the file varies; one for a plain file.
        grids: for each arm and approach, the arms that its settings are chosen from on dev;
            absent where nothing is searched.
        grid_seeds: seeds that each of them is tried with.
        vary: what its runs may differ in and still share a table.
    """

    name: str
    description: str
    arms: tuple[Arm, ...]
    grids: Mapping[tuple[int, Approach], tuple[Arm, ...]]
    grid_seeds: tuple[int, ...]
    vary: tuple[str, ...]
    transfer: bool
    labels: Mapping[str, str]
    published: tuple[str, ...]
    show: tuple[str, ...]


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
    mistakes: dict[str, None] = {}  # in order, each once: arms share most of their keys
    file = FileTable()
    common = {k: v for k, v in data.items() if k not in FileTable.model_fields}
    known = [*FileTable.model_fields, *Arm.model_fields]
    try:
        file = FileTable.model_validate({k: v for k, v in data.items() if k not in common})
    except ValidationError as error:
        mistakes |= dict.fromkeys(told(FileTable, dict(e), known) for e in error.errors())
    overlays: list[dict[str, Any]] = []
    seeds = GridSeeds()
    tries: list[dict[str, Any]] = [{}]
    try:
        overlays = list(_overlays(file))
        table = dict(file.grid)
        seeds = GridSeeds.model_validate({k: table.pop(k) for k in ("seeds",) if k in table})
        tries = combinations(table, "grid")
    except ValidationError as error:
        mistakes |= dict.fromkeys(f"grid.{told(GridSeeds, dict(e), [])}" for e in error.errors())
    except FeatbertError as error:
        mistakes[str(error)] = None
    arms: list[Arm] = []
    grids: dict[tuple[int, Approach], tuple[Arm, ...]] = {}
    for number, overlay in enumerate(overlays):
        arm = _arm(merged(common, overlay), known, mistakes)
        if arm is None:
            continue
        arms.append(arm)
        for approach in APPROACHES:
            mine = _once([t for t in tries if approach in t], approach)
            if mine and getattr(arm, approach) is not None:
                candidates = [
                    _arm(merged(merged(common, overlay), t), known, mistakes) for t in mine
                ]
                grids[number, approach] = tuple(c for c in candidates if c is not None)
    mistakes |= dict.fromkeys(_wrong_grid(file.grid))
    if mistakes:
        count = f"{len(mistakes)} mistakes" if len(mistakes) > 1 else "a mistake"
        raise ExperimentError(f"{count} in {where}: " + "; ".join(mistakes))
    varied = {key.split(".")[0] for o in overlays for key, _ in flattened(o)}
    if len(file.corpora) > 1:
        varied.add("data")
    return Experiment(
        name=file.name,
        description=file.description,
        arms=tuple(arms),
        grids=grids,
        grid_seeds=tuple(seeds.seeds),
        vary=tuple(
            dict.fromkeys([*file.vary, *(FREED_BY[k] for k in sorted(varied & FREED_BY.keys()))])
        ),
        transfer=file.transfer,
        labels=file.labels,
        published=tuple(file.published),
        show=tuple(file.show),
    )


def _overlays(file: FileTable) -> Iterator[dict[str, Any]]:
    """What each arm lays over the file's own keys."""
    corpora: list[dict[str, Any]] = [
        {"language": name} | ({"data": own} if isinstance(own, str) else own)
        for name, own in file.corpora.items()
    ]
    for corpus in corpora or [{}]:
        for way in file.variant or [{}]:
            for combination in combinations(file.variants, "variants"):
                yield merged(merged(corpus, way), combination)


def _once(tries: list[dict[str, Any]], approach: str) -> list[dict[str, Any]]:
    """What a grid tries for one approach, each combination once."""
    own = {repr(t[approach]): {approach: t[approach]} for t in tries}
    return list(own.values())


def _wrong_grid(grid: Mapping[str, Any]) -> Iterator[str]:
    for key in grid:
        if key not in (*APPROACHES, "seeds"):
            yield (
                f"grid: settings of features or finetune expected, found {key!r}"
                f"{nearest(key, (*APPROACHES, 'seeds'))}; [variants] compares other keys"
            )


def _arm(data: dict[str, Any], known: list[str], mistakes: dict[str, None]) -> Arm | None:
    """The arm that `data` describes; what is wrong with it is added to `mistakes`."""
    try:
        arm = Arm.model_validate(data)
    except ValidationError as error:
        mistakes |= dict.fromkeys(told(Arm, dict(e), known) for e in error.errors())
        mistakes |= dict.fromkeys(_out_of_range(data))
        return None
    if arm.features is None and arm.finetune is None:
        mistakes["a [features] or [finetune] table expected, found neither"] = None
    for approach in APPROACHES:
        try:
            arm.settings(approach)
        except FeatbertError as error:
            mistakes[f"[{approach}]: {error}"] = None
    return arm


def _out_of_range(data: Mapping[str, Any]) -> Iterator[str]:
    """Settings out of range in tables that can be read, though others cannot."""
    tables: tuple[tuple[Approach, type[Table]], ...] = (
        ("features", FeaturesTable),
        ("finetune", FinetuneTable),
    )
    for approach, kind in tables:
        table = data.get(approach)
        if not isinstance(table, Mapping):
            continue
        readable = {}
        for key, value in table.items():
            try:
                kind.model_validate({key: value})
            except ValidationError:
                continue
            readable[key] = value
        try:
            Arm.model_validate({approach: readable}).settings(approach)
        except FeatbertError as error:
            yield f"[{approach}]: {error}"


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
