"""Options that several commands share: one name, one meaning, one default."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import typer

from featbert.cli import completion
from featbert.errors import InputError, MissingError, nearest_path
from featbert.progress import report
from featbert.report.figures.registry import NAMES
from featbert.text import printable

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from featbert.cli.completion import Completion
    from featbert.config import Section
    from featbert.features.store import FeatureStore

S = TypeVar("S", bound="Section")


def option(
    metavar: str, text: str, complete: Completion | None = None, *names: str, **more: Any
) -> Any:
    """An option with a value; it is named like its parameter unless `names` are given."""
    return typer.Option(*names, metavar=metavar, help=text, autocompletion=complete, **more)


def argument(metavar: str, text: str, complete: Completion | None = None) -> Any:
    """An argument of a command."""
    return typer.Argument(metavar=metavar, help=text, autocompletion=complete)


def flag(name: str, text: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=text)


RunName = Annotated[
    str, argument("RUN", "A finished run: its folder, or its name.", completion.finished_runs)
]
RunModel = Annotated[
    str | None,
    option(
        "ENCODER",
        "Where the run's encoder is now.  [default: where the run found it]",
        completion.models,
    ),
]
Features = Annotated[
    Path | None,
    option("STORE", "Feature store.  [default: the only one in --cache-dir]", completion.stores),
]
CacheDir = Annotated[Path, option("DIR", "Folder of feature stores.")]
RunsDir = Annotated[Path, option("DIR", "Folder of runs.")]
Seeds = Annotated[str, option("SEEDS", "Random seeds, a run each: 1,2,3 or 1-5.")]
Overwrite = Annotated[bool, flag("--overwrite", "Train again what is finished already.")]
LogWith = Annotated[
    str | None,
    option(
        "TRACKER",
        "Log every epoch while a run trains: tensorboard, to .tensorboard in --runs-dir.",
        completion.trackers,
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="The result alone: no progress, no remarks.")
]
ReportFormat = Annotated[
    Literal["text", "markdown", "latex", "csv", "json"],
    typer.Option(help="How to print the tables; json has every number unrounded."),
]
Figures = Annotated[Path | None, option("DIR", "Draw figures to this folder, as PNG and PDF.")]
FigureNames = Annotated[
    list[str] | None,
    option(
        "NAME",
        f"Which figure: {', '.join(NAMES)}; may be given several times.  [default: all that apply]",
        completion.figures,
    ),
]
Report = Annotated[
    Path | None,
    option("FILE", "Write everything that is known of the comparison to this HTML file."),
]
TableFormat = Annotated[Literal["text", "json"], typer.Option(help="How to print the result.")]


def check_log(tracker: str | None, runs_dir: Path) -> Path | None:
    """The folder that --log-with logs to, which is reported; refuses a file as --runs-dir first."""
    check_folder(runs_dir, "--runs-dir")
    if tracker is None:
        return None
    from featbert.training.tracking import log_folder

    folder = log_folder(tracker, runs_dir)
    report(f"epochs are logged; to watch them: tensorboard --logdir {folder}")
    return folder


def check_folder(path: Path, option: str) -> None:
    """Raises InputError where a folder to write into is a file, or lies in one."""
    for place in (path, *path.parents):
        if place.exists():
            if not place.is_dir():
                raise InputError(f"a folder expected for {option}, {place} is a file; name another")
            return


def parse_seeds(text: str) -> list[int]:
    """Seeds of "1,2,3" or "1-5"."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?", part)
        if match is None or (match[2] and not 0 <= int(match[2]) - int(match[1]) < 1000):
            raise InputError(f"seeds such as 1,2,3 or 1-5 expected for --seeds, found {text!r}")
        seeds += range(int(match[1]), int(match[2] or match[1]) + 1)
    if len(set(seeds)) != len(seeds):
        raise InputError(f"each seed once expected for --seeds, found {text!r}")
    return seeds


def choose_store(features: Path | None, cache_dir: Path) -> FeatureStore:
    """The named store, else the only one in the cache, else the one that the user picks."""
    from featbert.features.store import FeatureStore

    if features is not None:
        return FeatureStore(features)
    found = sorted(cache_dir.glob("*.h5"))
    if not found:
        near = "" if cache_dir.exists() else nearest_path(cache_dir)
        raise MissingError(f"no feature store in {cache_dir}{near}; run featbert extract first")
    if len(found) == 1:
        return FeatureStore(found[0])
    names = "; ".join(str(path) for path in found)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(
            f"{len(found)} feature stores in {cache_dir}; name one with --features: {names}"
        )
    for number, path in enumerate(found, 1):
        typer.echo(printable(f"{number}  {path.name}"), err=True)
    picked = typer.prompt("Which store (number)", type=int, err=True)
    if not 1 <= picked <= len(found):
        raise InputError(f"{picked} is not a number from 1 to {len(found)}")
    return FeatureStore(found[picked - 1])


# Completion of generated options; names of registries complete themselves.
_COMPLETIONS = {
    "data": completion.corpora,
    "model": completion.models,
    "encoding": completion.encodings,
    "scheme": completion.schemes,
}
_METAVARS: dict[type, str] = {int: "INT", float: "NUMBER", str: "TEXT"}


def options(
    *sections: type[Section],
    defaults: Mapping[str, Any] | None = None,
    without: Collection[str] = (),
    only: Collection[str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds an option for each field of sections, or for `only` some, or `without` some.

    They replace the command's parameter `given`, which gets what the user gave, by field.
    `defaults` are what the help shows where it is not the field's own.
    """
    fields = {
        name: field
        for section in sections
        for name, field in section.model_fields.items()
        if name not in without and (only is None or name in only)
    }

    keyword = inspect.Parameter.KEYWORD_ONLY

    def add(command: Callable[..., None]) -> Callable[..., None]:
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            if parameter.name != "given":
                parameters.append(parameter.replace(kind=keyword))
                continue
            for name, field in fields.items():
                kind = _option(name, field, (defaults or {}).get(name, field.default))
                parameters.append(inspect.Parameter(name, keyword, default=None, annotation=kind))

        @functools.wraps(command)
        def called(**values: Any) -> None:
            given = {name: values.pop(name) for name in fields}
            given = {name: _number(v, fields[name]) for name, v in given.items() if v is not None}
            command(**values, given=given)

        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called

    return add


def chosen(section: type[S], given: Mapping[str, Any]) -> S:
    """The section with the values that were given; InputError has all that cannot be used."""
    from featbert.config import validated

    return validated(section, {n: v for n, v in given.items() if n in section.model_fields})


def _option(name: str, field: FieldInfo, default: Any) -> Any:
    """The annotation of a field's option: its type, range, help, default and completion."""
    from featbert.config import CHOICES  # light commands do without pydantic

    (kind, bounds), least, most = _kind(field), None, None
    for bound in bounds:
        least = getattr(bound, "ge", least)
        most = getattr(bound, "le", most)
    text = field.description or ""
    if known := CHOICES.get(name):
        text = f"{text.rstrip('.')}: {', '.join(known)}."
    if default is not None:
        text += f"  [default: {str(default).lower() if kind is bool else default}]"
    flag = f"--{name.replace('_', '-')}"
    option = typer.Option(
        f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
        help=text,
        metavar=_METAVARS.get(kind),
        min=least if kind in (int, float) else None,
        max=most if kind in (int, float) else None,
        autocompletion=_COMPLETIONS.get(name) or (completion.among(known) if known else None),
    )
    return Annotated[kind | None, option]


def _kind(field: FieldInfo) -> tuple[Any, list[Any]]:
    """Type and bounds of an option; text where the field takes several types."""
    annotation: Any = field.annotation
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else [annotation]
    kinds = [kind for kind in kinds if kind is not type(None)]
    if len(kinds) > 1:
        return str, []
    if get_origin(kinds[0]) is Annotated:
        kind, *bounds = get_args(kinds[0])
        return kind, bounds
    return kinds[0], field.metadata


def _number(value: Any, field: FieldInfo) -> Any:
    """A number of digits where the field takes numbers besides text."""
    if isinstance(value, str) and field.annotation is not str and value.isascii():
        return int(value) if value.isdigit() else value
    return value
