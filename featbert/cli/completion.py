"""What a shell can offer for a value: names that exist here, found without heavy libraries.

Functions get what is typed so far and return values, or (value, help).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from featbert.encoders.layers import NAMES
from featbert.report.figures.registry import NAMES as FIGURES

if TYPE_CHECKING:
    from featbert.tasks.base import Task

Completion = Callable[[str], list[Any]]
RUNS_DIR, ENDING = "experiments/runs", ".experiment.json"


def among(known: Iterable[str]) -> Completion:
    """Completes one of these names."""
    return lambda incomplete: _starting(incomplete, known)


def explained(known: Mapping[str, str]) -> Completion:
    """Completes one of these names, each with what it means."""
    return lambda incomplete: [(n, known[n]) for n in _starting(incomplete, known)]


# Data and formats are read by these names alone; others are paths, which shells complete.
layers = explained(NAMES)
stored_layers = explained({"all": "every hidden state"} | NAMES)
splits = among(("train", "dev", "test"))
schemes = among(("auto", "bio", "iob1", "io", "bioes"))
encodings = among(("utf-8", "utf-16", "latin-1", "cp1252"))
trackers = among(("tensorboard",))
figures = among(FIGURES)


def runs(ctx: typer.Context, incomplete: str) -> list[str]:
    return _starting(incomplete, _names(_folder(ctx, "runs_dir", RUNS_DIR), "*--*"))


def finished_runs(ctx: typer.Context, incomplete: str) -> list[str]:
    folder = _folder(ctx, "runs_dir", RUNS_DIR)
    return [name for name in runs(ctx, incomplete) if (folder / name / "record.json").is_file()]


def experiments(ctx: typer.Context, incomplete: str) -> list[str]:
    """Experiments that were run, by name."""
    names = _names(_folder(ctx, "runs_dir", RUNS_DIR), f"*{ENDING}")
    return _starting(incomplete, (name.removesuffix(ENDING) for name in names))


def experiment_files(incomplete: str) -> list[str]:
    """Experiment files, here and in experiments/; what has begun as a path goes on as one."""
    found = sorted(str(p) for folder in (".", "experiments") for p in Path(folder).glob("*.toml"))
    return _starting(incomplete, (name for name in found if name != "pyproject.toml"))


def stores(ctx: typer.Context, incomplete: str) -> list[str]:
    folder = _folder(ctx, "cache_dir", "cache")
    return _starting(incomplete, (str(folder / name) for name in _names(folder, "*.h5")))


def models(incomplete: str) -> list[str]:
    """Encoders by name: packaged ones, well-known ones, and those that `adapt` made here."""
    from featbert.encoders.source import WELL_KNOWN

    adapted = Path("cache/models")
    return _starting(incomplete, [*WELL_KNOWN, *(str(adapted / n) for n in _names(adapted, "*"))])


def corpora(incomplete: str) -> list[str]:
    """The embedded sample, once it is begun; before, the shell offers folders."""
    return _starting(incomplete, ["sample"]) if incomplete else []


def published(incomplete: str) -> list[str]:
    from featbert.runs.published import published_tables

    return _starting(incomplete, (table.id for table in published_tables()))


def facets(incomplete: str) -> list[str]:
    """What scores can be broken down by."""
    known = {name: facet.title for task in _tasks() for name, facet in task.facets.items()}
    return explained(known)(incomplete)


def scores(incomplete: str) -> list[str]:
    """Scores besides the measures of the tasks."""
    columns = (key for task in _tasks() for key in task.columns if key != task.measure.key)
    return _starting(incomplete, dict.fromkeys(columns))


def _tasks() -> list[Task]:
    from featbert.tasks.base import TASKS, get_task

    return [get_task(name) for name in TASKS]


def varyable(incomplete: str) -> list[str]:
    """What runs of one table may differ in."""
    from featbert.runs.grouping import VARYABLE

    return _starting(incomplete, VARYABLE)


def keys(incomplete: str) -> list[str]:
    """Keys of an experiment file, as `--set` takes them."""
    from featbert.config import RowsTable
    from featbert.runs.experiment_file import AdaptTable, Configuration, FeaturesTable

    tables: dict[str, Any] = {"features": FeaturesTable, "finetune": RowsTable, "adapt": AdaptTable}
    found = [key for key in Configuration.model_fields if key not in tables]
    found += [f"{name}.{key}" for name, table in tables.items() for key in table.model_fields]
    return _starting(incomplete, (f"{key}=" for key in found))


def _folder(ctx: typer.Context, option: str, default: str) -> Path:
    at: Any = ctx
    while at is not None:
        if at.params.get(option) is not None:
            return Path(at.params[option])
        at = at.parent
    return Path(default)


def _names(folder: Path, pattern: str) -> list[str]:
    try:
        return sorted(p.name for p in folder.glob(pattern) if not p.name.startswith("."))
    except OSError:
        return []


def _starting(incomplete: str, values: Iterable[str]) -> list[str]:
    return [value for value in values if value.startswith(incomplete)]
