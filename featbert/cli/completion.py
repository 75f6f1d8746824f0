"""Completions in a shell: names that exist here, found without heavy libraries.

Functions return values, or pairs (value, help). typer filters them by their beginning.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

Completion = Callable[..., Iterable[Any]]
# Folders of runs and stores, unless an option names others.
FOLDERS = {"runs_dir": Path("experiments/runs"), "cache_dir": Path("cache")}


def among(*values: Any) -> Completion:
    """Completes one of these values."""
    return lambda: values


def folder_of(ctx: Any, option: str) -> Path:
    """The folder given to the innermost command that has this option, or the default."""
    while ctx is not None:
        if ctx.params.get(option) is not None:
            return Path(ctx.params[option])
        ctx = ctx.parent
    return FOLDERS[option]


def within(option: str, pattern: str) -> Completion:
    """Completes names of files in the folder of an option, without the fixed end of `pattern`."""

    def names(ctx: typer.Context) -> list[str]:
        from featbert.runs.results import listed_in

        ending = pattern.removeprefix("*") if pattern.endswith(".json") else ""
        paths = listed_in(folder_of(ctx, option), pattern)
        return [path.name.removesuffix(ending) for path in paths if path.name[0] != "."]

    return names


runs = within("runs_dir", "*--*")
experiments = within("runs_dir", "*.experiment.json")


def stores(ctx: typer.Context) -> list[str]:
    return [str(path) for path in sorted(folder_of(ctx, "cache_dir").glob("[!.]*.h5"))]


def experiment_files() -> list[str]:
    """Experiment files and folders here and in experiments/, or else names of shipped ones."""
    files = [*Path().glob("*.toml"), *Path("experiments").glob("*.toml")]
    folders = [path.parent for path in Path("experiments").glob("*/experiment.toml")]
    if names := sorted(str(path) for path in (*files, *folders) if path.name != "pyproject.toml"):
        return names
    from featbert.experiments.file import shipped_experiments

    return [*shipped_experiments()]


def models() -> list[str]:
    """Names of packaged, well-known and adapted encoders."""
    from featbert.encoders.source import WELL_KNOWN

    return [*WELL_KNOWN, *sorted(map(str, Path("cache/models").glob("[!.]*")))]


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
    return {key: None for task in tasks for key in task.all_columns if key != task.measure.key}


def corpora(incomplete: str) -> list[str]:
    """The embedded sample. The shell offers folders if nothing is typed yet."""
    return ["sample"] if incomplete else []
