"""Checking an experiment file: from its data to arms, or all of its mistakes at once."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator

from featbert.errors import FeatbertError, InputError, MissingError, nearest
from featbert.runs.arm import Approach, Arm, FeaturesTable, FinetuneTable, Table
from featbert.runs.grouping import VARYABLE, check_vary
from featbert.runs.mistakes import LONGEST_MISTAKE, cut, told, unusable
from featbert.runs.overlay import MOST_COMBINATIONS, combinations, flattened, merged
from featbert.runs.published import published_table
from featbert.text import on_one_line
from featbert.training.settings import TrainingSettings

APPROACHES: tuple[Approach, ...] = ("features", "finetune")
# What arms can differ in by key, and the name in `vary` that frees it among their runs.
FREED_BY = {"data": "corpus", "adapt": "model"} | {name: name for name in VARYABLE}


class ExperimentError(InputError):
    """An experiment file with mistakes; the message lists them all."""


class TrainSizes(Table):
    """`[train_sizes]`: parts of the training sentences that every arm is trained on, by turns.

    Attributes:
        equal: what is the same on each of them: "steps", so that epochs are those of the tables
            divided by the share; or "epochs".
    """

    shares: list[float] = Field(default=[], validate_default=True)
    equal: Literal["steps", "epochs"] = "steps"

    @field_validator("shares")
    @classmethod
    def _shares(cls, shares: list[float]) -> list[float]:
        fit = shares and all(0 < share <= 1 for share in shares)
        if not fit or len(set(shares)) != len(shares):
            raise ValueError(
                f"different shares above 0 and at most 1 expected, found {shares!r}; "
                "as in shares = [0.1, 0.25, 0.5, 1.0]"
            )
        return shares


class FileTable(Table):
    """Keys of the file itself; all others are those of its arms.

    Attributes:
        name: the file's stem by default; kept in the run records.
        corpora, variants, variant, train_sizes, grid: see the head of `file.py`.
        transfer: whether each tagger is scored on the test splits of all corpora.
        labels: types that are called otherwise before a tagger is scored on another corpus.
        published: published tables to set beside the comparison.
        show: figures beside entity F1 in the comparison, such as "word_f1".
        vary: signature keys whose difference is the experiment's point, not a mistake, beside
            those that the file itself varies.
    """

    name: str = "experiment"
    description: str = ""
    corpora: dict[str, str | dict[str, Any]] = Field(default_factory=dict)
    variants: dict[str, Any] = Field(default_factory=dict)
    variant: list[dict[str, Any]] = Field(default_factory=list)
    train_sizes: TrainSizes | None = None
    grid: dict[str, Any] = Field(default_factory=dict)
    transfer: bool = False
    labels: dict[str, str] = Field(default_factory=dict)
    published: list[str] = Field(default_factory=list)
    show: list[str] = Field(default_factory=list)
    vary: list[str] = Field(default_factory=list)

    @field_validator("name")
    @classmethod
    def _name(cls, name: str) -> str:
        if not any(letter.isalnum() for letter in name):
            raise ValueError(f"a name of letters or digits expected, found {name!r}")
        return name

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
        arm_names: what tells each arm from the others, "context=document"; "" for a plain file.
        grids: for each arm and approach, the arms that its settings are chosen from on dev;
            absent where nothing is searched.
        grid_seeds: seeds that each of them is tried with.
        vary: what its runs may differ in and still share a table.
    """

    name: str
    description: str
    arms: tuple[Arm, ...]
    arm_names: tuple[str, ...]
    grids: Mapping[tuple[int, Approach], tuple[Arm, ...]]
    grid_seeds: tuple[int, ...]
    vary: tuple[str, ...]
    transfer: bool
    labels: Mapping[str, str]
    published: tuple[str, ...]
    show: tuple[str, ...]


def check_experiment(data: Mapping[str, Any], *, where: str) -> Experiment:
    """The experiment that a table describes; `where` names it in messages.

    Raises:
        ExperimentError: all mistakes together.
    """
    if wrong := unusable(data):
        raise ExperimentError(f"a mistake in {where}: {on_one_line(wrong)}")
    return _Checker(data).experiment(where)


class _Checker:
    """Reads a file's data into arms and gathers what is wrong with it."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.common = {k: v for k, v in data.items() if k not in FileTable.model_fields}
        self.own = {k: v for k, v in data.items() if k in FileTable.model_fields}
        self.known = [*FileTable.model_fields, *Arm.model_fields]
        self.mistakes: dict[str, None] = {}  # in order, each once: arms share most of their keys
        self.arms: list[Arm] = []
        self.grids: dict[tuple[int, Approach], tuple[Arm, ...]] = {}
        self.tried = 0  # settings of all grids, of all arms

    def experiment(self, where: str) -> Experiment:
        file = self._file()
        seeds = self._grid_seeds(file)
        overlays = self._overlays(file)
        for overlay in overlays:
            own = overlay.pop("grid", {})
            arm = self._arm(merged(self.common, overlay))
            if arm is None:
                continue
            self.arms.append(arm)
            self._add_grids(merged(file.grid, own), overlay, arm)
        self._refuse(where)
        ends = [dict(flattened(o)) for o in overlays]
        keys = dict.fromkeys(key for end in ends for key in end)
        varied = [k for k in keys if len({repr(end.get(k)) for end in ends}) > 1]
        tops = {key.split(".")[0] for key in varied}
        freed = [FREED_BY[key] for key in sorted(tops & FREED_BY.keys())]
        for approach in APPROACHES:
            if approach in file.grid and all(getattr(a, approach) is None for a in self.arms):
                self._note([f"a [{approach}] table expected beside [grid.{approach}], found none"])
        self._refuse(where)
        return Experiment(
            name=file.name,
            description=file.description,
            arms=tuple(self.arms),
            arm_names=tuple(
                ", ".join(f"{k}={end[k]}" for k in varied if k in end and k != "data")
                for end in ends
            ),
            grids=self.grids,
            grid_seeds=tuple(seeds.seeds),
            vary=tuple(dict.fromkeys([*file.vary, *freed])),
            transfer=file.transfer,
            labels=file.labels,
            published=tuple(file.published),
            show=tuple(file.show),
        )

    def _refuse(self, where: str) -> None:
        if self.mistakes:
            n = len(self.mistakes)
            count = f"{n} mistakes" if n > 1 else "a mistake"
            # A mistake names keys and values, which can be of any length.
            lines = (cut(on_one_line(mistake), LONGEST_MISTAKE) for mistake in self.mistakes)
            raise ExperimentError(f"{count} in {where}: " + "; ".join(lines))

    def _file(self) -> FileTable:
        """The file's own keys; those that can be read where others cannot."""
        try:
            return FileTable.model_validate(self.own)
        except ValidationError as error:
            self._note(told(FileTable, error.errors(), self.known))
            return FileTable()

    def _grid_seeds(self, file: FileTable) -> GridSeeds:
        given = {"seeds": file.grid.pop("seeds")} if "seeds" in file.grid else {}
        try:
            return GridSeeds.model_validate(given)
        except ValidationError as error:
            self._note(f"grid.{line}" for line in told(GridSeeds, error.errors(), []))
            return GridSeeds()

    def _overlays(self, file: FileTable) -> list[dict[str, Any]]:
        """What each arm lays over the file's own keys."""
        corpora: list[dict[str, Any]] = [
            {"language": name} | ({"data": own} if isinstance(own, str) else own)
            for name, own in file.corpora.items()
        ]
        try:
            ways = combinations(file.variants, "variants")
        except FeatbertError as error:
            self._note([str(error)])
            return []
        shares = file.train_sizes.shares if file.train_sizes else ()
        count = math.prod(max(1, len(p)) for p in (corpora, file.variant, ways, shares))
        if count > MOST_COMBINATIONS:
            self._note([f"at most {MOST_COMBINATIONS:,} arms expected, the file makes {count:,}"])
            return []
        overlays = [
            merged(merged(corpus, way), combination)
            for corpus in corpora or [{}]
            for way in file.variant or [{}]
            for combination in ways
        ]
        if file.train_sizes is None:
            return overlays
        for key in ("train_share", "equal_steps"):
            if any(key in keys for keys in (self.common, *overlays)):
                self._note([f"train_sizes: {key} stands elsewhere in the file too; leave one out"])
        equal_steps = file.train_sizes.equal == "steps"
        sizes = [
            {"train_share": share, "equal_steps": equal_steps} for share in file.train_sizes.shares
        ]
        return [merged(overlay, size) for overlay in overlays for size in sizes]

    def _add_grids(self, grid: dict[str, Any], overlay: dict[str, Any], arm: Arm) -> None:
        """What is tried for the arm that was added last."""
        for key, table in grid.items():
            if key not in APPROACHES or not isinstance(table, Mapping):
                self._note(
                    [
                        f"grid: settings of features or finetune expected, found {key!r}"
                        f"{nearest(key, (*APPROACHES, 'seeds'))}; [variants] compares other keys"
                    ]
                )
        for approach in APPROACHES:
            table = grid.get(approach)
            if getattr(arm, approach) is None or not isinstance(table, Mapping):
                continue
            if "layers" in table:
                self._note(
                    ["grid.features.layers: layers make rows of their own, list them in [features]"]
                )
                continue
            try:
                tries = combinations(table, f"grid.{approach}")
            except FeatbertError as error:
                self._note([str(error)])
                continue
            self.tried += len(tries)
            if self.tried > MOST_COMBINATIONS:
                self._note([f"grid: at most {MOST_COMBINATIONS:,} settings of all arms expected"])
                continue
            mine = [merged(merged(self.common, overlay), {approach: t}) for t in tries]
            found = [self._arm(data) for data in mine]
            self.grids[len(self.arms) - 1, approach] = tuple(a for a in found if a is not None)

    def _arm(self, data: dict[str, Any]) -> Arm | None:
        """The arm that `data` describes; None where it cannot be read."""
        try:
            arm = Arm.model_validate(data)
        except ValidationError as error:
            self._note(told(Arm, error.errors(), self.known))
            self._note(_out_of_range(data))
            return None
        if arm.features is None and arm.finetune is None:
            self._note(["a [features] or [finetune] table expected, found neither"])
        for approach in APPROACHES:
            try:
                arm.settings(approach)
            except FeatbertError as error:
                self._note([f"[{approach}]: {error}"])
        try:
            if arm.adapt is not None:
                arm.adapt.settings()
        except FeatbertError as error:
            self._note([f"[adapt]: {error}"])
        return arm

    def _note(self, mistakes: Iterable[str]) -> None:
        self.mistakes |= dict.fromkeys(mistakes)


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
