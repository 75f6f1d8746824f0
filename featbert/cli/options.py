"""Options that several commands share: one name, one meaning, one default."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin

import typer

from featbert.cli import completion
from featbert.cli.main import Command, app
from featbert.errors import InputError, MissingError, check_known, nearest, with_options
from featbert.progress import report
from featbert.report.figures import registry
from featbert.text import listed

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from featbert.config import Section
    from featbert.engine import Each
    from featbert.runs.run import Run

S = TypeVar("S", bound="Section")


def option(
    metavar: str | None,
    text: str,
    complete: completion.Completion | None = None,
    *names: str,
    default: Any = None,
    **more: Any,
) -> Any:
    """An option with a value; it is named like its parameter unless `names` are given."""
    more |= {"metavar": metavar, "help": text, "autocompletion": complete}
    return typer.Option(default, *names, **more)


def argument(
    metavar: str, text: str, complete: completion.Completion | None = None, default: Any = ...
) -> Any:
    """An argument of a command, required unless it has a default."""
    return typer.Argument(default, metavar=metavar, help=text, autocompletion=complete)


def flag(name: str, text: str, *short: str) -> Any:
    """An option without a value."""
    return typer.Option(False, name, *short, help=text)


BY = option(
    "FACET",
    "Scores also by a facet, such as type or length; may be given several times.",
    completion.facets,
)
ReportFormat = Literal["text", "markdown", "latex", "csv", "json"]
TableFormat = Literal["text", "json"]
RUN = argument(
    "RUN",
    "A finished run: its id or another part of its name, its folder, or the label of its row.",
    completion.runs,
)
BEST = flag("--best", "Of several runs that RUN means, such as seeds, take the best on dev.")
RUN_MODEL = option(
    "ENCODER",
    "Where the run's encoder is now.  [default: where the run found it]",
    completion.models,
)
FEATURES = option(
    "STORE",
    "Feature store to read as it is.  [default: that of --data and --model, made where missing]",
    completion.stores,
)
CACHE_DIR = option("DIR", "Folder of feature stores.", default=completion.FOLDERS["cache_dir"])
RUNS_DIR = option("DIR", "Folder of runs.", default=completion.FOLDERS["runs_dir"])
KEPT_RUNS = option(
    "DIR", "Folder of runs, or a results file.", default=completion.FOLDERS["runs_dir"]
)
SEEDS = option("SEEDS", "Random seeds, a run each: 1,2,3 or 1-5.", default="1")
OVERWRITE = flag("--overwrite", "Train again what is finished already.")
LOG_WITH = option(
    "TRACKER",
    "Log every epoch while a run trains, to .csv, .tensorboard, .wandb or .mlflow in --runs-dir.",
    completion.among("csv", "tensorboard", "wandb", "mlflow"),
)
ON = option(
    None,
    "Where to compute: here, or on a Ray cluster whose nodes share this folder.",
    default="here",
)
ADDRESS = option(
    "HOST:PORT",
    "Head of the Ray cluster to join.  [default: RAY_ADDRESS, or a Ray that is started here]",
)
CPUS = option("INT", "With --on ray: cores of each run or shard.  [default: 1]", min=1)
GPUS = option(
    "NUMBER",
    "With --on ray: GPUs of each run or shard, or a share such as 0.25.  [default: 1 where there "
    "are any]",
    min=0.0,
)
Engine = Literal["here", "ray"]
QUIET = flag("--quiet", "Print only the result: no progress, no notes.", "-q")
RUN_DATA = option("TEXT", "Only runs on corpora with this in their name.")
RUN_TASK = option("TEXT", "Only runs of this task.")
REPORT_FORMAT = option(
    None,
    "How to print the tables; csv has a line a row and json everything, unrounded.",
    default="text",
)
TABLE_FORMAT = option(None, "How to print the result.", default="text")
FIGURES = option("DIR", "Draw figures to this folder, as PNG and PDF.")
FIGURE_NAMES = option(
    "NAME",
    f"Which figure: {', '.join(registry.FIGURES)}; may be given several times.  "
    "[default: all that apply]",
    completion.figures,
)
REPORT = option("FILE", "Write everything that is known of the comparison to this HTML file.")
NO_TEXT = flag("--no-text", "Leave the sentences of the corpus out of the report.")


def check_log(tracker: str | None, runs_dir: Path) -> Path | None:
    """The folder that --log-with logs to, which is reported; refuses a file as --runs-dir first."""
    check_folder(runs_dir, "--runs-dir")
    if tracker is None:
        return None
    from featbert.training.tracking import log_folder

    folder = log_folder(tracker, runs_dir)
    watch = {"tensorboard": f"; to watch them: tensorboard --logdir {folder}"}
    report(f"epochs are logged to {folder}{watch.get(tracker, '')}")
    return folder


def joined(
    on: str,
    address: str | None,
    cpus: int | None,
    gpus: float | None,
    folders: Sequence[Path],
    jobs: int | None = None,
) -> AbstractContextManager[tuple[Each | None, int]]:
    """The cluster that --on names, once it is entered, or None; and how many runs at a time.

    InputError for options that do not go together, and where Ray is not installed.
    """
    if on == "here":
        own = {"--address": address, "--cpus-per-run": cpus, "--gpus-per-run": gpus}
        for name in (name for name, value in own.items() if value is not None):
            raise InputError(f"{name} is for Ray; add --on ray, or leave it out")
        return nullcontext((None, jobs or 1))
    try:
        from featbert.experiments import ray_engine
    except ImportError:
        raise InputError("--on ray needs Ray: pip install 'featbert[ray]'") from None
    address = address or os.environ.get("RAY_ADDRESS")
    return ray_engine.joined(address, folders, cpus=cpus or 1, gpus=gpus, jobs=jobs)


def check_folder(path: Path, option: str) -> None:
    """Raises InputError where a folder to write into is a file, or is in one."""
    place = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not place.is_dir():
        raise InputError(f"{option}: {place} is a file; name a folder")


def find_runs_called(name: str, runs_dir: Path) -> list[Run]:
    """The run with this name or part of a name, or all runs of the rows with this label."""
    from featbert.analysis.compare import compare
    from featbert.analysis.groups import rows_called
    from featbert.analysis.labels import base_name
    from featbert.runs.record import RECORD_NAME
    from featbert.runs.results import exists
    from featbert.runs.run import find_folders, find_run, find_runs

    folders = find_folders(name, runs_dir)
    if len(folders) != 1 and runs_dir.exists():
        finished = {run.name: run for run in find_runs(runs_dir)}
        tables = [one.rows for one in compare(finished.values())]
        called = [row for rows in tables for row in rows_called(name, rows)]
        if called:
            return [finished[run.name] for row in called for run in row.runs]
        every = [row for rows in tables for row in rows]
        labels = [text for row in every for text in (base_name(row.tuning, row.layers), row.label)]
        if not folders and (near := nearest(name, labels)):
            raise MissingError(
                f"no run or row {name!r} in {runs_dir}{near}; featbert runs lists them"
            )
        folders = [folder for folder in folders if exists(folder / RECORD_NAME)]
    return [find_run(str(folder), runs_dir) for folder in folders] or [find_run(name, runs_dir)]


def find_run_called(name: str, runs_dir: Path, best: bool, data: str | None = None) -> Run:
    """The run that `find_runs_called` finds; the `best` of several on dev, of one text and task.

    Of several, those alone that have `data` in the name of their corpus. Of those with several
    measures of one task and text, the best by the task's default measure.
    """
    from featbert.analysis.labels import run_labels
    from featbert.tasks.base import get_task

    found = find_runs_called(name, runs_dir)
    if data is not None and len(found) > 1:
        by_corpus = {run.record.signature.corpus: None for run in found}
        found = [r for r in found if data.casefold() in r.record.signature.corpus.casefold()]
        check_known("corpus", [] if found else [data], by_corpus)
    tasks = {run.record.task.partition(":")[0]: None for run in found}
    if best and len(tasks) == len({run.record.signature.splits["dev"] for run in found}) == 1:
        usual = get_task(next(iter(tasks))).measure.key
        found = [run for run in found if run.task.measure.key == usual] or found
    records = [run.record for run in found]
    comparable = len({(r.task, r.signature.splits["dev"]) for r in records}) == 1
    if len(found) == 1 or (best and comparable):
        return max(found, key=lambda run: run.record.score("dev") or 0.0)
    labels = run_labels(records)
    told = (f"{run.id} ({labels[run.record.name]}, seed {run.record.seed})" for run in found)
    runs = listed(told, 4, width=255)
    corpora = {r.signature.corpus: None for r in records}
    where, how = "", ", or --best"
    if not comparable:
        where = f" of {listed(corpora)}"
        how = f", or --best --data {next(iter(corpora))}" * (len(corpora) > 1)
    raise InputError(f"{name!r} is {len(found)} runs{where}: {runs}; give the id of one{how}")


# Completion of generated options; names of registries complete themselves.
_COMPLETIONS: dict[str, completion.Completion] = {
    "data": completion.corpora,
    "model": completion.models,
    "encoding": completion.among("utf-8", "utf-16", "latin-1", "cp1252"),
    "scheme": completion.among("auto", "bio", "iob1", "io", "bioes"),
}
_METAVARS: dict[Any, str] = {int: "INT", float: "NUMBER", str: "TEXT"}
_METAVARS |= dict.fromkeys(("token_column", "tag_column", "text", "pair", "target"), "COLUMN")
_METAVARS |= {"data": "CORPUS", "model": "ENCODER"}
_BOUNDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}


def command(
    example: str,
    sections: Sequence[type[Section]] = (),
    *,
    defaults: Mapping[str, Any] | None = None,
    without: Collection[str] = (),
    only: Collection[str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a function a command, with --quiet and an option for each field of sections.

    The fields, `only` some or `without` some, replace the parameter `given`, which gets what the
    user gave, by field. `defaults` are what the help shows where it is not the field's own.
    """
    fields = {
        name: field
        for section in sections
        for name, field in section.model_fields.items()
        if name not in without and (only is None or name in only)
    }

    def add(function: Callable[..., None]) -> Callable[..., None]:
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(function, eval_str=True).parameters.values():
            if parameter.name != "given":
                parameters.append(parameter)
                continue
            for name, field in fields.items():
                kind, own = _option(name, field, (defaults or {}).get(name, field.default))
                parameters.append(parameter.replace(name=name, annotation=kind, default=own))
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter("quiet", keyword, default=QUIET, annotation=bool))

        @functools.wraps(function)
        def called(*, quiet: bool, **values: Any) -> None:  # `Command` reads --quiet
            given = {name: values.pop(name) for name in fields}
            if fields:
                there = {name: value for name, value in given.items() if value is not None}
                values["given"] = {n: _number(value, fields[n]) for n, value in there.items()}
            function(**values)

        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        app.command(cls=Command, epilog=f"Example: featbert {example}")(called)
        return called

    return add


def chosen(section: type[S], given: Mapping[str, Any]) -> S:
    """The section with the values that were given; wrong usage has all that cannot be used."""
    from featbert.config import validated

    try:
        return validated(section, {n: v for n, v in given.items() if n in section.model_fields})
    except InputError as error:
        raise typer.BadParameter(with_options(str(error), section.model_fields)) from None


def _option(name: str, field: FieldInfo, default: Any) -> tuple[Any, Any]:
    """A field's type, as text where it takes several, and its option."""
    from featbert.config import CHOICES  # light commands do without pydantic

    kinds: Sequence[Any] = [field.annotation]
    if get_origin(field.annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(field.annotation) if kind is not type(None)]
    kind = kinds[0] if len(kinds) == 1 else str
    known, text = CHOICES.get(name), field.description or ""
    if known:
        text = f"{text.rstrip('.')}: {', '.join(known)}."
    if kind is float:
        ends = ((w, getattr(m, k, None)) for m in field.metadata for k, w in _BOUNDS.items())
        text = f"{text.rstrip('.')} ({', '.join(f'{w} {n:g}' for w, n in ends if n is not None)})."
    if default is not None:
        text += f"  [default: {str(default).lower() if kind is bool else default}]"
    flag = f"--{name.replace('_', '-')}"
    return kind | None, option(
        _METAVARS.get(name) or ("NAME" if known else _METAVARS.get(kind)),
        text,
        _COMPLETIONS.get(name) or (completion.among(*known) if known else None),
        f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
    )


def _number(value: Any, field: FieldInfo) -> Any:
    """A number of digits where the field takes numbers besides text."""
    if isinstance(value, str) and field.annotation is not str and value.isascii():
        return int(value) if value.isdigit() else value
    return value
