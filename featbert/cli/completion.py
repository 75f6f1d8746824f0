"""What a shell can offer for a value: names that exist here, found without heavy libraries.

Functions return values, or (value, help); typer keeps those that begin as what was typed.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

from featbert.encoders.layers import NAMES
from featbert.report.figures.registry import FIGURES

Completion = Callable[..., Iterable[Any]]
ENDING = ".experiment.json"
# Where what is completed is, unless an option says so.
FOLDERS = {"runs_dir": Path("experiments/runs"), "cache_dir": Path("cache")}


def among(*known: Any) -> Completion:
    """Completes one of these values."""
    return lambda: known


# Data and formats are read by these names alone; others are paths, which shells complete.
layers = among(*NAMES.items())
stored_layers = among(("all", "every hidden state"), *NAMES.items())
figures = among(*FIGURES)


def runs(ctx: typer.Context) -> list[str]:
    return _names(_folder(ctx, "runs_dir"), "*--*")


def experiments(ctx: typer.Context) -> list[str]:
    names = _names(_folder(ctx, "runs_dir"), f"*{ENDING}")
    return [name.removesuffix(ENDING) for name in names]


def experiment_files() -> list[str]:
    """Experiment files and folders, here and in experiments/, else names of those that ship."""
    files = [*Path().glob("*.toml"), *Path("experiments").glob("*.toml")]
    folders = [path.parent for path in Path("experiments").glob("*/experiment.toml")]
    if names := sorted(str(path) for path in (*files, *folders) if path.name != "pyproject.toml"):
        return names
    from featbert.experiments.file import shipped_experiments

    return [*shipped_experiments()]


def stores(ctx: typer.Context) -> list[str]:
    folder = _folder(ctx, "cache_dir")
    return [str(folder / name) for name in _names(folder, "*.h5")]


def cached(ctx: typer.Context) -> list[str]:
    return in_cache(_folder(ctx, "cache_dir"))


def in_cache(folder: Path) -> list[str]:
    """Feature stores and adapted encoders in the cache, by their paths in it."""
    found = [*folder.glob("*.h5"), *(p.parent for p in folder.glob("models/*/adaptation.json"))]
    return sorted(str(path.relative_to(folder)) for path in found)


def models() -> list[str]:
    """Encoders by name: packaged ones, well-known ones, and those that `adapt` made here."""
    from featbert.encoders.source import WELL_KNOWN

    adapted = Path("cache/models")
    return [*WELL_KNOWN, *(str(adapted / name) for name in _names(adapted, "*"))]


def corpora(incomplete: str) -> list[str]:
    """The embedded sample, once it is begun; before, the shell offers folders."""
    return ["sample"] if incomplete else []


def published() -> list[str]:
    from featbert.experiments.published import published_tables

    return [table.id for table in published_tables()]


def facets() -> Iterable[tuple[str, str]]:
    from featbert.tasks.base import TASKS, get_task

    tasks = map(get_task, TASKS)
    return {name: facet.title for task in tasks for name, facet in task.facets.items()}.items()


def scores() -> dict[str, None]:
    """Scores besides the measures of the tasks."""
    from featbert.tasks.base import TASKS, get_task

    tasks = map(get_task, TASKS)
    return {key: None for task in tasks for key in task.columns if key != task.measure.key}


def _folder(ctx: Any, option: str) -> Path:
    """Of the innermost command that was given one."""
    while ctx is not None:
        if ctx.params.get(option) is not None:
            return Path(ctx.params[option])
        ctx = ctx.parent
    return FOLDERS[option]


def _names(folder: Path, pattern: str) -> list[str]:
    from featbert.runs.results import listed_in

    return [path.name for path in listed_in(folder, pattern) if not path.name.startswith(".")]
