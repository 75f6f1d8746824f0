"""Completions in a shell: names that exist here, found without heavy libraries.

Functions return values, or pairs (value, help). typer filters them by their beginning.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

from featbert.encoders.layers import NAMES
from featbert.report.figures.registry import FIGURES

Completion = Callable[..., Iterable[Any]]
ENDING = ".experiment.json"
# Folders of runs and stores, unless an option names others.
FOLDERS = {"runs_dir": Path("experiments/runs"), "cache_dir": Path("cache")}


def among(*values: Any) -> Completion:
    """Completes one of these values."""
    return lambda: values


layers = among(*NAMES.items())
stored_layers = among(("all", "every hidden state"), *NAMES.items())
figures = among(*FIGURES)


def runs(ctx: typer.Context) -> list[str]:
    return _names(_folder(ctx, "runs_dir"), "*--*")


def experiments(ctx: typer.Context) -> list[str]:
    names = _names(_folder(ctx, "runs_dir"), f"*{ENDING}")
    return [name.removesuffix(ENDING) for name in names]


def experiment_files() -> list[str]:
    """Experiment files and folders here and in experiments/, or else names of shipped ones."""
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
    encoders = [path.parent for path in folder.glob("models/*/adaptation.json")]
    return sorted(str(path.relative_to(folder)) for path in (*folder.glob("*.h5"), *encoders))


def models() -> list[str]:
    """Names of packaged, well-known and adapted encoders."""
    from featbert.encoders.source import WELL_KNOWN

    adapted = Path("cache/models")
    return [*WELL_KNOWN, *(str(adapted / name) for name in _names(adapted, "*"))]


def corpora(incomplete: str) -> list[str]:
    """The embedded sample. The shell offers folders if nothing is typed yet."""
    return ["sample"] if incomplete else []


def published() -> list[str]:
    from featbert.experiments.published import published_tables

    return [table.id for table in published_tables()]


def facets() -> Iterable[tuple[str, str]]:
    from featbert.tasks.base import TASKS, get_task

    tasks = map(get_task, TASKS)
    return {name: facet.title for task in tasks for name, facet in task.facets.items()}.items()


def scores() -> dict[str, None]:
    """Scores other than the measures of the tasks."""
    from featbert.tasks.base import TASKS, get_task

    tasks = map(get_task, TASKS)
    return {key: None for task in tasks for key in task.columns if key != task.measure.key}


def _folder(ctx: Any, option: str) -> Path:
    """The folder given to the innermost command that has this option, or the default."""
    while ctx is not None:
        if ctx.params.get(option) is not None:
            return Path(ctx.params[option])
        ctx = ctx.parent
    return FOLDERS[option]


def _names(folder: Path, pattern: str) -> list[str]:
    from featbert.runs.results import listed_in

    return [path.name for path in listed_in(folder, pattern) if not path.name.startswith(".")]
