"""An experiment file (`docs/reference/experiment-files.md`). All mistakes are reported at once.

`[corpora]`, `[variants]`, `[[variant]]`, `[train_sizes]` and `shots` vary conditions. Each
combination is a configuration with rows of its own.
"""

import itertools
import json
import math
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationError

from featbert.config import (
    Adapt,
    Compute,
    Data,
    EncoderTuning,
    Encoding,
    RowsTable,
    Section,
    Seed,
    Settings,
    Several,
    Training,
    mistakes,
    parse_seeds,
    validated,
)
from featbert.data.files import opened
from featbert.encoders.layers import EACH, NAMES, each_layer, parse_layers, split_specs
from featbert.encoders.tunings import get_tuning
from featbert.errors import OPTIONS, InputError, MissingError, check_known, nearest, nearest_path
from featbert.experiments.published import published_table
from featbert.progress import notice, set_within
from featbert.runs.grouping import VARYABLE, check_vary
from featbert.runs.record import TriedSettings
from featbert.tasks.base import TASKS, get_task
from featbert.text import counted

# The file in an experiment's folder.
FILE = "experiment.toml"
# The tables of rows.
TABLES = ("features", "finetune")
# The tables of searches.
SEARCHES = ("grid", "search")
# Keys of a configuration, and the name in `vary` that allows a comparison across them.
FREED_BY = dict.fromkeys({*Data.model_fields} - {"task", "tag_scheme"}, "corpus")
FREED_BY |= {"adapt": "model"} | {name: name for name in VARYABLE}
MOST_COMBINATIONS = 10_000
# Trials that may fail in a search that seconds or operations would end.
MOST_FAILED = 10
RANGES = ("uniform", "log_uniform", "integers")


def distinct(values: list[Any]) -> list[Any]:
    """The values. ValueError if a value occurs twice."""
    if len({repr(v) for v in values}) != len(values):
        raise ValueError(f"a value occurs twice in {values!r:.80}")
    return values


def number_or_multiple(value: Any) -> Any:
    """The value. ValueError for a text that is no multiple, such as "0.5x"."""
    if isinstance(value, str) and not re.fullmatch(r"\d*\.?\d+x", value):
        raise ValueError(f'is {value!r:.80}; write a number, or a multiple of the default: "0.5x"')
    return value


def ends_of(values: Any) -> list[Any]:
    """The choices in a list, or the lowest and the highest value of `{uniform = [0, 0.5]}`.

    ValueError for other values.
    """
    if isinstance(values, list) and values:
        return distinct(values)
    kind, ends = next(iter(values.items())) if isinstance(values, Mapping) and values else ("", [])
    if kind not in RANGES or len(values) > 1:
        raise ValueError(
            f"{values!r:.80} is no list of choices and no range; write [16, 32] or "
            f"{{ uniform = [0, 0.5] }}; ranges are {', '.join(RANGES)}"
        )
    numbers = (int,) if kind == "integers" else (int, float)
    two = isinstance(ends, list) and [type(end) in numbers for end in ends] == [True, True]
    if not two or not ends[0] < ends[1] or (kind == "log_uniform" and ends[0] <= 0):
        noun = "integers" if kind == "integers" else "numbers"
        above = " above 0" if kind == "log_uniform" else ""
        raise ValueError(f"{kind} is {ends!r:.80}; write two {noun}{above}, [lowest, highest]")
    return ends


def n_points(ranges: Mapping[str, Any]) -> float:
    """The number of combinations of choices. Infinite with a range."""
    return math.prod(len(v) if isinstance(v, list) else math.inf for v in ranges.values())


def _canonical(layers: str) -> str:
    return EACH if layers == EACH else parse_layers(layers).name


def _lists(table: dict[str, Any]) -> dict[str, Any]:
    """A table with lists at its ends. ValueError for other values, or too many combinations."""
    ends = dict(flattened(table))
    if no_lists := [f"{k} is {v!r:.80}" for k, v in ends.items() if not isinstance(v, list)]:
        raise ValueError(f"{'; '.join(no_lists)}; write lists, as in [1, 2]")
    if (count := math.prod(len(ends_of(v)) for v in ends.values())) > MOST_COMBINATIONS:
        raise ValueError(f"{count:,} combinations; at most {MOST_COMBINATIONS:,}")
    return table


Distinct = AfterValidator(distinct)
Seeds = Annotated[list[Seed], BeforeValidator(parse_seeds), Distinct]
Layers = Annotated[
    list[Annotated[str, AfterValidator(_canonical)]], BeforeValidator(split_specs), Distinct
]
# A learning rate, or a multiple of the default one, which depends on the tuning, task and encoder.
_Rate = Annotated[Annotated[float, Field(gt=0, lt=10)] | str, BeforeValidator(number_or_multiple)]
# Values are lists or ranges: ValueError for others.
Ranges = dict[str, Annotated[Any, AfterValidator(lambda values: ends_of(values) and values)]]


_RATE = Training.model_fields["learning_rate"]
_HEAD_RATE = EncoderTuning.model_fields["head_learning_rate"]


class FileRows(RowsTable):
    """Rows in an experiment file: `[finetune]`, and with layers `[features]`."""

    learning_rate: _Rate = Field(  # type: ignore[assignment]
        _RATE.default, description=f'{_RATE.description} "0.5x" is half of the default.'
    )
    head_learning_rate: Annotated[float, Field(gt=0, lt=10)] | Literal["none"] | None = Field(  # type: ignore[assignment]
        None, description=f'{_HEAD_RATE.description} "none" is the encoder\'s.'
    )


class FeaturesTable(FileRows):
    """`[features]`: rows on stored states, one for each layer combination."""

    layers: Layers = Field(list(NAMES), min_length=1)
    """Layer combinations. "each" is every single layer."""

    def specs(self, num_layers: int) -> list[str]:
        """The combinations for an encoder with `num_layers` layers, each once."""
        return each_layer(self.layers, num_layers)


class AdaptTable(Adapt):
    """`[adapt]`: how the encoder is trained as a language model."""

    seed: Seed = 1
    """Random seed."""


class Grid(Section):
    """`[grid]`: lists of values of a table's settings, of which the best on dev are taken."""

    seeds: Seeds = Field([1], min_length=1)
    """Seeds of each trial."""
    features: Ranges = Field({})
    """Settings of the rows on frozen features."""
    finetune: Ranges = Field({})
    """Settings of the row with a tuned encoder."""

    def ranges(self, table: str) -> dict[str, Any]:
        """The lists and ranges of a table's settings, by name."""
        return dict(getattr(self, table))


class Search(Grid):
    """`[search]`: lists or ranges of a table's settings, of which the best on dev are taken."""

    sampler: Literal["random", "tpe", "grid"] = "random"
    """Sampler of settings: random, TPE, or all combinations (grid, only lists)."""
    trials: int | None = Field(None, ge=1, le=MOST_COMBINATIONS)
    """Settings to try for each row, at most."""
    seconds: float | None = Field(None, gt=0)
    """Training time in seconds, after which no further trial starts."""
    operations: float | None = Field(None, gt=0)
    """Training operations, after which no further trial starts."""
    sampler_seed: Seed = 1
    """Random seed of the settings."""
    pruning: bool = False
    """End runs with a dev score below the median of finished ones."""

    @property
    def is_sized(self) -> bool:
        """Whether the number of trials is known before any is finished."""
        return self.seconds is None and self.operations is None

    @property
    def is_planned(self) -> bool:
        """Whether all settings are known before any trial is finished."""
        return self.sampler != "tpe" and self.is_sized and not self.pruning

    def is_spent(self, tried: Sequence[TriedSettings]) -> bool:
        """Whether no further settings are tried after these."""
        spent = (
            (self.trials, len(tried)),
            (self.seconds, math.fsum(t.seconds or 0 for t in tried)),
            (self.operations, math.fsum(t.operations or 0 for t in tried)),
            (MOST_FAILED, sum(t.state == "failed" for t in tried) * (not self.is_sized)),
            (MOST_COMBINATIONS, len(tried)),
        )
        return any(budget is not None and done >= budget for budget, done in spent)


class Configuration(Data, Encoding, Compute):
    """A text, an encoder, and the rows to train on them: at least one of the two tables."""

    train_on: Literal["train", "train+dev"] = Field(
        "train", description=Training.model_fields["train_on"].description
    )
    train_share: float = Field(1.0, gt=0, le=1)
    """Part of the training sentences."""
    shots: int | None = Field(None, ge=1)
    """Training examples of each class to learn from, instead of all."""
    equal_steps: bool = Field(False, description=Training.model_fields["equal_steps"].description)
    seeds: Seeds = Field([1], min_length=1)
    """Random seeds, a run each."""
    adapt: AdaptTable | None = None
    """Train the encoder as a language model on the task's text first."""
    features: FeaturesTable | None = None
    """Rows on frozen features."""
    finetune: FileRows | None = None
    """A row with a tuned encoder."""
    grid: Grid = Field(Grid())
    """Settings to search on dev, by table."""
    search: Search = Field(Search())
    """The same with ranges and a budget."""

    def settings(self, table: str, num_layers: int = 0, hidden_size: int = 0) -> Settings:
        """Settings of a table's rows, for an encoder of L = `num_layers` and H = `hidden_size`."""
        rows: RowsTable = getattr(self, table) or RowsTable()
        common = self.model_dump(include={"train_on", "train_share", "shots"})
        tuning = "none" if table == "features" else "full"
        settings = rows.settings_for(
            tuning, num_layers, self.task, hidden_size=hidden_size, **common
        )
        if get_tuning(settings.tuning).frozen != (table == "features"):
            home = "[finetune]" if table == "features" else "[features]"
            raise InputError(f"is {settings.tuning!r}; it belongs to {home}", setting="tuning")
        # Solvers have no steps, and on all of train nothing changes.
        is_equal = self.equal_steps and settings.trainer.passes and settings.train_share < 1
        return settings.but(equal_steps=True) if is_equal else settings

    def searched(self, table: str) -> Search | None:
        """The search of a table's settings, if there is one. A grid is a search of all lists."""
        search, lists = self.search, self.grid.ranges(table)
        rows: RowsTable | None = getattr(self, table)
        ranges = lists or search.ranges(table)
        if ranges and rows and "train_on" in rows.model_fields_set.union(ranges):
            raise InputError("of a searched table; set it outside of the table", setting="train_on")
        if lists:
            return validated(Search, {"sampler": "grid", "seeds": self.grid.seeds, table: lists})
        if not search.ranges(table):
            return None
        if search.sampler != "grid" and search.is_sized and search.trials is None:
            raise InputError("[search] has no budget; give trials, seconds or operations")
        return search

    def at(self, table: str, settings: Mapping[str, Any]) -> "Configuration":
        """The configuration of one try of a search. It learns from train, since dev decides."""
        changes = {table: settings, "train_on": "train"}
        return validated(Configuration, merged(self.model_dump(exclude_unset=True), changes))

    def tries(self, table: str) -> "list[Configuration]":
        """With the first value of each searched setting, and with each choice or end of one."""
        search = self.searched(table)
        ends = {n: ends_of(v) for n, v in search.ranges(table).items()} if search else {}
        first = {name: values[0] for name, values in ends.items()}
        changed = [first | {name: end} for name in ends for end in ends[name][1:]]
        return [self.at(table, point) for point in (first, *changed)]

    @property
    def reads(self) -> set[str]:
        """The vectors that rows on features read, searched rows too (`Settings.reads`)."""
        tries = [] if self.features is None else self.tries("features")
        return {configuration.settings("features").reads for configuration in tries}

    @property
    def stored_text(self) -> str:
        """The text and its encoding: configurations that share them read one store."""
        fields = {*Data.model_fields, *Encoding.model_fields, *Compute.model_fields, "adapt"}
        return repr(self.model_dump(include=fields - {"task", "tag_scheme", "keep"}))

    def idle(self, table: str) -> set[str]:
        """Settings of a table, searched ones too, that have no effect on its rows."""
        layers = self.features.layers if self.features and table == "features" else []
        weighted = any(parse_layers(spec).mode == "weighted" for spec in layers if spec != EACH)
        tries = ((c.settings(table), getattr(c, table)) for c in self.tries(table))
        return set.intersection(*(s.idle(t.model_fields_set, weighted=weighted) for s, t in tries))


def with_kept_vectors(configurations: Sequence[Configuration]) -> list[Configuration]:
    """Configurations with "words" or "pooled" for `keep`, as all that share a store need it."""
    reads: dict[str, set[str]] = {}
    for c in configurations:
        reads.setdefault(c.stored_text, set()).update(c.reads, ["words"] * (c.keep == "words"))
    return [c.model_copy(update={"keep": c.kept(reads[c.stored_text])}) for c in configurations]


class TrainSizes(Section):
    """`[train_sizes]`: parts of the training sentences that every row is trained on."""

    shares: Annotated[list[Annotated[float, Field(gt=0, le=1)]], Distinct] = Field(min_length=1)
    """Parts of the training sentences, such as [0.1, 0.5, 1.0]."""
    equal: Literal["steps", "epochs"] = "steps"
    """Quantity that is equal for all parts: steps, or epochs."""


class Variant(Section):
    """`[[variant]]`: keys of a configuration, and names of its corpora and tasks (None: all)."""

    model_config = ConfigDict(extra="allow")
    corpora: list[str] | None = None
    tasks: list[str] | None = None


class FileKeys(Section):
    """Keys of the file itself. All others are keys of its configurations."""

    name: str = Field("experiment", pattern=r"\w")
    """Name. By default the name of the file."""
    description: str = ""
    """Question of the experiment."""
    corpora: dict[str, str | dict[str, Any]] = Field({})
    """Several corpora, by name."""
    variants: Annotated[dict[str, Any], AfterValidator(_lists)] = Field({})
    """Keys with lists: every combination."""
    variant: list[Variant] = Field([])
    """Single alternatives. corpora and tasks limit one to these corpora and tasks."""
    minutes: float | None = Field(None, gt=0)
    """Time to spend: rows are candidates of a search, and the best get seeds."""
    train_sizes: TrainSizes | None = None
    """Parts of train, for learning curves."""
    shots: Annotated[Several[Annotated[int, Field(ge=1)]], Distinct] = Field([])
    """Training examples of each class: a number, or several for learning curves."""
    transfer: bool = False
    """Score each run on the other corpora too."""
    labels: dict[str, str] = Field({})
    """New names of types for scoring on other corpora."""
    published: list[Annotated[str, AfterValidator(lambda name: published_table(name).id)]] = Field(
        []
    )
    """Published tables to show next to the results."""
    show: list[str] = Field([])
    """Further columns of the comparison."""
    vary: Annotated[list[str], AfterValidator(check_vary)] = Field([])
    """Conditions in which compared runs may differ."""


@dataclass(frozen=True)
class Experiment:
    """The configurations that the file combines, and the keys of the file.

    Attributes:
        differing: keys and values that tell each configuration from others, "context": "document".
        vary: names of conditions that may differ in a table of its runs.
    """

    keys: FileKeys
    configurations: tuple[Configuration, ...]
    differing: tuple[dict[str, Any], ...]
    vary: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.keys.name


def shipped_experiments() -> dict[str, Path]:
    """Files by name that come with the program: in its package, in a checkout next to it."""
    package = Path(__file__).parents[1]
    folders = (package / "experiments", package.parent / "experiments")
    return {path.parent.name: path for f in folders for path in sorted(f.glob(f"*/{FILE}"))}


def experiment_file(path: Path) -> Path:
    """The file that a path names: itself, the one in a folder, or one that comes with the program.

    "quickstart", "experiments/quickstart" and "experiments/quickstart.toml" are names of the last.
    """
    if (path / FILE).exists():
        return path / FILE
    name = path.parent if path.name == FILE else path
    is_other_file = path.exists() and not path.is_dir()
    if is_other_file or name.parent not in (Path(), Path("experiments")):
        return path
    return shipped_experiments().get(name.name.removesuffix(".toml"), path)


def read_experiment(path: str | Path, changes: Sequence[str] = ()) -> Experiment:
    """The experiment in a TOML file, with `key=value` changes such as "features.epochs=2".

    `path` may be a folder or the name of an experiment, see `experiment_file`. InputError has all
    mistakes of file and changes together.
    """
    path = experiment_file(Path(path))
    path = path / FILE if path.is_dir() else path
    try:
        with opened(path) as file:
            data = tomllib.loads(file.read().decode("utf-8-sig"))
    except FileNotFoundError:
        near = nearest_path(path, "*.toml") or nearest(path.stem, shipped_experiments())
        names = "featbert run --list shows those that come with it"
        raise MissingError(f"no experiment file {path}{near}; {names}") from None
    except InputError:  # of `opened`, which names the file
        raise
    except (OSError, ValueError, RecursionError) as error:  # no TOML, UTF-8 or number of Python
        raise InputError(f"{path} cannot be read: {error}") from None
    title = f"{path} with {', '.join(changes)}" if changes else str(path)
    for change in changes:
        _change(data, change)
    name = path.absolute().parent.name if path.name == FILE else path.stem
    experiment = check_experiment({"name": name} | data, where=title)
    tables = [*_corpora(data.get("corpora", {})).values(), *data.get("variant", ())]
    tables.append(data.get("variants", {}))
    keys = {key for table in tables for key, _ in flattened(table)}
    keys |= {key for table in tables for key in _searched_keys(table)}
    if without_effect := [text for text in changes if text.partition("=")[0].strip() in keys]:
        names = ", ".join(without_effect)
        notice(f"{names}: corpora and variants that have or search this key keep their own values")
    return experiment


def _change(data: dict[str, Any], change: str) -> None:
    """Applies one `key=value` to the file's data. The value is TOML, or plain text."""
    key, equals, text = change.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts):
        raise InputError(f"{change!r} is not key=value, as in seeds=1,2", setting="changes")
    try:
        value = tomllib.loads(f"v = {text}")["v"]
    except (ValueError, RecursionError):
        value = text.strip()
        if value[:1] + value[-1:] == "[]":  # names in it need no quotes
            value = value[1:-1]
    for part in parts[:-1]:
        data = data.setdefault(part, {})
        if not isinstance(data, dict):
            raise InputError(f"{change!r}: {part!r} is not a table", setting="changes")
    data[parts[-1]] = value


def _corpora(entries: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The keys of each corpus, by name. A text is its data."""
    return {
        name: {"language": name} | ({"data": keys} if isinstance(keys, str) else keys)
        for name, keys in entries.items()
    }


def _searched_keys(table: Mapping[str, Any]) -> set[str]:
    """Keys such as "features.epochs" that [grid] or [search] of a table have values of."""
    parts = (key.split(".") for key, _ in flattened(table))
    return {".".join(p[1:3]) for p in parts if p[0] in SEARCHES and len(p) > 2}


def check_experiment(data: Mapping[str, Any], *, where: str) -> Experiment:
    """The experiment that a table describes. `where` names it in messages."""
    try:
        json.dumps(data, default=str)  # values that messages can show
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} cannot be read: {error}") from None
    reader = _Reader(data)
    with set_within(OPTIONS, None):  # settings are keys
        experiment = reader.experiment()
    if reader.wrong or experiment is None:
        wrong = "; ".join(mistake[:400] for mistake in reader.wrong)
        raise InputError(f"{counted(len(reader.wrong), 'mistake')} in {where}: {wrong}")
    return experiment


class _Reader:
    """Reads a file and collects its mistakes."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.common = {k: v for k, v in data.items() if k not in FileKeys.model_fields}
        self.own = {k: v for k, v in data.items() if k in FileKeys.model_fields}
        self.wrong: dict[str, None] = {}  # in order, each once: configurations share most keys

    def experiment(self) -> Experiment | None:
        try:
            file = FileKeys.model_validate(self.own)
        except ValidationError as error:
            self.note(mistakes(FileKeys, error, Configuration.model_fields))
            wrong = {mistake["loc"][0] for mistake in error.errors()}
            file = FileKeys.model_validate({k: v for k, v in self.own.items() if k not in wrong})
        overlays = self.overlays(file)
        data = (merged(self.common, overlay) for overlay in overlays)
        configurations = [c for c in map(self.configuration, data) if c is not None]
        for table in TABLES:
            with_rows = [c for c in configurations if getattr(c, table) is not None]
            for key in SEARCHES:
                if not with_rows and any(getattr(getattr(c, key), table) for c in configurations):
                    self.note([f"[{key}.{table}] without a [{table}] table"])
            if with_rows and not self.wrong:
                idle = set.intersection(*(c.idle(table) for c in with_rows))
                self.note(f"{table}.{name} has no effect on any row" for name in sorted(idle))
        for key in SEARCHES:
            tables = [t for c in configurations if (t := getattr(c, key)).model_fields_set]
            if tables and not any(t.ranges(table) for t in tables for table in TABLES):
                self.note([f"[{key}] without [{key}.features] or [{key}.finetune]"])
        if not configurations:
            if not self.wrong:
                self.note(["no [[variant]] is for a corpus and a task of the file"])
            return None
        # The text gives the task of an experiment with minutes.
        is_open = file.minutes is not None and "task" not in configurations[0].model_fields_set
        tasks = TASKS if is_open else dict.fromkeys(c.task for c in configurations)
        columns = {key: None for task in tasks for key in get_task(task).all_columns}
        unknown = [name for name in file.show if name not in columns]
        self.note(f"show: unknown score {name!r}{nearest(name, columns)}" for name in unknown)
        if file.labels and not file.transfer:
            self.note(["labels without transfer = true"])
        twice = _searched_keys(self.common) & {key for key, _ in flattened(self.common)}
        self.note(f"{key} is given twice: by itself and in a search" for key in sorted(twice))
        self.note(reasons_against_minutes(file, configurations))
        if self.wrong:
            return None
        without_searches = ({k: v for k, v in o.items() if k not in SEARCHES} for o in overlays)
        ends = [*zip(map(dict, map(flattened, without_searches)), configurations, strict=True)]
        tops = {key.partition(".")[0] for key in _varied_keys(ends)}
        freed = [FREED_BY[key] for key in sorted(tops & FREED_BY.keys())]
        return Experiment(
            keys=file,
            configurations=tuple(configurations),
            differing=tuple(_differing(ends, by="language" if file.corpora else "")),
            vary=tuple(dict.fromkeys([*file.vary, *freed])),
        )

    def overlays(self, file: FileKeys) -> list[dict[str, Any]]:
        """The changes of each configuration to the file's own keys."""
        corpora = _corpora(file.corpora)
        for noun, known_names in (("corpora", corpora), ("tasks", TASKS)):
            for name in (n for variant in file.variant for n in getattr(variant, noun) or ()):
                if name not in known_names:
                    near = nearest(name, known_names)
                    self.note([f"variant.{noun}: unknown name {name!r}{near}"])
        sizes: list[dict[str, Any]] = [{}]
        if file.train_sizes is not None:
            equal = file.train_sizes.equal == "steps"
            sizes = [{"train_share": s, "equal_steps": equal} for s in file.train_sizes.shares]
        if file.shots:
            sizes = [size | {"shots": shots} for size in sizes for shots in file.shots]
        overlays = []
        parts = (corpora or [""], file.variant or [Variant()], every(file.variants), sizes)
        for name, variant, combination, size in itertools.product(*parts):
            if variant.corpora is not None and name not in variant.corpora:
                continue
            single = merged(corpora.get(name, {}), variant.model_extra or {})
            overlay = merged(single, combination)
            task = str((self.common | overlay).get("task", "entities")).partition(":")[0]
            if variant.tasks is not None and task not in variant.tasks:
                continue
            whole = merged(self.common, overlay)
            # The search would win. A variant may search a key that the file has.
            twice = _searched_keys(whole) & {key for key, _ in flattened(overlay)}
            self.note(f"{key} is given twice: by itself and in a search" for key in sorted(twice))
            twice = dict(flattened(single)).keys() & dict(flattened(combination)).keys()
            self.note(f"{key} is given twice: by itself and in [variants]" for key in sorted(twice))
            keys = dict(flattened(whole)).keys()
            places = dict.fromkeys(("train_share", "equal_steps"), "[train_sizes]")
            for name, place in {**places, "shots": "the file's shots"}.items():
                if name in size and {name, *(f"{table}.{name}" for table in TABLES)} & keys:
                    self.note([f"{name} is given twice: by itself and in {place}"])
            overlays.append(merged(overlay, size))
        return overlays

    def configuration(self, data: dict[str, Any]) -> Configuration | None:
        """The configuration that `data` describes, or None if it cannot be read."""
        try:
            configuration = Configuration.model_validate(data)
        except ValidationError as error:
            self.note(mistakes(Configuration, error, FileKeys.model_fields))
            return None
        tables = [table for table in TABLES if getattr(configuration, table) is not None]
        if not tables:
            self.note(["no [features] or [finetune] table; at least one is needed"])
        by_grid, by_search = (
            [f"[{key}.{table}]" for table in TABLES if getattr(configuration, key).ranges(table)]
            for key in SEARCHES
        )
        if by_grid and by_search:
            names = f"{by_grid[0]} and {by_search[0]}"
            self.note([f"{names} exclude each other; use one, or a [[variant]] for each"])
        for table in tables:
            try:
                configuration.settings(table)
                search = configuration.searched(table)
                ranges = {} if search is None else search.ranges(table)
                check_known("setting to search", ranges, Settings.model_fields)
                if search is not None and search.sampler == "grid":
                    for name, values in ranges.items():
                        if isinstance(values, dict):
                            raise ValueError(f"{name} is {values}; a grid has lists, as in [1, 2]")
                    _lists(ranges)
                for point in configuration.tries(table):
                    point.settings(table)
            except ValueError as error:
                self.note([f"[{table}]: {error}"])
        return configuration

    def note(self, lines: Iterable[str]) -> None:
        self.wrong |= dict.fromkeys(lines)


# The keys of a file that only some of its configurations have, and one of these.
_End = tuple[dict[str, Any], Configuration]


def _differing(ends: Sequence[_End], by: str) -> Iterator[dict[str, Any]]:
    """The keys of each end that tell it from others. `by` is the key with the name of its corpus.

    Keys with one value for each corpus follow from its name.
    """
    corpora = defaultdict[Any, list[_End]](list)
    for end in ends:
        corpora[end[0].get(by)].append(end)
    varied = {name: {*_varied_keys(alike)} - {"data"} for name, alike in corpora.items()}
    for keys, _ in ends:
        corpus = {"corpus": keys[by]} if len(corpora) > 1 else {}
        yield corpus | {key: keys[key] for key in keys if key in varied[keys.get(by)]}


def _varied_keys(ends: Sequence[_End]) -> Iterator[str]:
    """Keys with several values. Those of a table are compared among ends that have the table."""
    for key in dict.fromkeys(itertools.chain(*(keys for keys, _ in ends))):
        table = key.partition(".")[0]
        alike = (keys for keys, c in ends if table not in TABLES or getattr(c, table) is not None)
        if len({repr(keys.get(key)) for keys in alike}) > 1:
            yield key


def reasons_against_minutes(
    file: FileKeys, configurations: Sequence[Configuration]
) -> Iterator[str]:
    """Why an experiment cannot choose its runs by the minutes that it has."""
    if file.minutes is None:
        return
    texts = {(repr(c.reading), c.data, c.task, c.train_share, c.shots) for c in configurations}
    reasons = {
        "there is one text and one part of it": len(texts) == 1,
        "runs learn from train": all(c.train_on == "train" for c in configurations),
        "a part of train has fewer steps": not any(c.equal_steps for c in configurations),
        "no encoder is adapted": all(c.adapt is None for c in configurations),
        "settings are searched by [grid], not [search]": not any(
            c.search.model_fields_set for c in configurations
        ),
        "no seeds are given in [grid]": not any(
            "seeds" in c.grid.model_fields_set for c in configurations
        ),
        "nothing is transferred": not file.transfer,
    }
    for condition, holds in reasons.items():
        if not holds:
            yield f"minutes can only be given if {condition}"


def every(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A table for each combination of the lists at the ends of `table`."""
    choices = (every(end) if isinstance(end, Mapping) else end for end in table.values())
    for values in itertools.product(*choices):
        yield dict(zip(table, values, strict=True))


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """A new table: `base` with the keys of `over` instead, and tables merged."""
    result = dict(base)
    for key, value in over.items():
        before = result.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            value = merged(before, value)
        result[key] = value
    return result


def flattened(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys and values of the ends of a table."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
