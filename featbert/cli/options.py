"""Options that several commands share: one name, one meaning, one default."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer

from featbert.cli import completion
from featbert.cli.main import Command, app, show_all
from featbert.encoders.layers import NAMES
from featbert.errors import InputError
from featbert.report.figures.registry import FIGURES

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from featbert.config import Option, Section


def option(
    metavar: str | None,
    text: str,
    complete: completion.Completion | None = None,
    *names: str,
    default: Any = None,
    **place: Any,
) -> Any:
    """An option with a value, named like its parameter unless it has `names`.

    `place` has its panel and whether it is hidden, as typer names these.
    """
    return typer.Option(
        default, *names, metavar=metavar, help=text, autocompletion=complete, **place
    )


def argument(
    metavar: str, text: str, complete: completion.Completion | None = None, default: Any = ...
) -> Any:
    """An argument of a command, required unless it has a default."""
    return typer.Argument(default, metavar=metavar, help=text, autocompletion=complete)


def flag(name: str, text: str, *short: str, **more: Any) -> Any:
    """An option without a value. `more` is for typer."""
    return typer.Option(False, name, *short, help=text, **more)


def output(text: str, default: Any = ...) -> Any:
    """The option for a file to write, required unless it has a default."""
    return option("FILE", text, None, "--out", "-o", default=default)


ReportFormat = Literal["text", "markdown", "latex", "csv", "json"]
TableFormat = Literal["text", "json"]
NAMED_RUN = "A run: its id or another part of its name, or its folder."
NAMED_RUNS = "Runs: their ids or other parts of their names, or their folders."
RUN = argument(
    "RUN",
    "A finished run: its id or another part of its name, its folder, or the label of its row.",
    completion.runs,
)
BEST = flag("--best", "Take the best run on dev if RUN means several, such as seeds.")
CACHE_DIR = option("DIR", "Folder of feature stores.", default=completion.FOLDERS["cache_dir"])
RUNS_DIR = option("DIR", "Folder of runs.", default=completion.FOLDERS["runs_dir"])
KEPT_RUNS = option(
    "DIR", "Folder of runs, or a results file.", default=completion.FOLDERS["runs_dir"]
)
QUIET = flag("--quiet", "Print only the result: no progress, no notes.", "-q")
HELP_ALL = flag("--help-all", "Show all options, and exit.", is_eager=True, callback=show_all)
RUN_DATA = option("TEXT", "Only runs on corpora with this in their name.")
RUN_TASK = option("TEXT", "Only runs of this task.")
REPORT_FORMAT = option(
    None,
    "Format of the tables. csv has a line per row. json has everything, unrounded.",
    default="text",
)
TABLE_FORMAT = option(None, "Format of the result.", default="text")

# Completions of generated options, by metavar (`Option`). A field with names of a registry or with
# fixed values completes these.
_COMPLETIONS: dict[str, completion.Completion] = {
    "CORPUS": completion.corpora,
    "ENCODER": completion.models,
    "STORE": completion.stores,
    "LAYERS": completion.among(*NAMES.items()),
    "RUN": completion.runs,
    "ROW": completion.runs,
    "EXPERIMENT": completion.experiments,
    "TABLE": completion.published,
    "FACET": completion.facets,
    "SCORE": completion.scores,
}
_TYPES: dict[Any, str] = {int: "INT", float: "NUMBER", str: "TEXT", list[str]: "TEXT"}
_BOUNDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}


def command(
    example: str,
    *,
    defaults: Mapping[str, Any] | None = None,
    arguments: Collection[str] = (),
    completions: Mapping[str, completion.Completion] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a function a command, with --quiet.

    A parameter that is a section of settings, such as a request, gets its values from an option for
    each field. Other parameters are options themselves. Help has a panel for each kind of section.
    --help-all shows also rare options (`Section.place`).

    Args:
        example: for the help text, without the program's name.
        defaults: defaults to show in help, by field, instead of the field's.
        arguments: fields that are arguments instead of options.
        completions: by field, instead of the usual ones.
    """

    def add(function: Callable[..., None]) -> Callable[..., None]:
        from featbert.config import NO_OPTION, PANELS, validated

        keyword = functools.partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
        sections: dict[str, type[Section]] = {}
        of_function: list[inspect.Parameter] = []
        for p in inspect.signature(function, eval_str=True).parameters.values():
            if hasattr(p.annotation, "model_fields"):
                sections[p.name] = p.annotation
            else:
                of_function.append(keyword(p.name, default=p.default, annotation=p.annotation))
        options = {
            name: section
            for section in sections.values()
            for name, field in section.fields().items()
            if NO_OPTION not in field.metadata
        }
        places = {name: section.place(name) for name, section in options.items()}
        parameters: list[inspect.Parameter] = []
        for name in sorted(options, key=lambda n: (n not in arguments, PANELS.index(places[n][0]))):
            kind, default = _option(
                options[name],
                name,
                default=(defaults or {}).get(name),
                complete=(completions or {}).get(name),
                is_argument=name in arguments,
            )
            parameters.append(keyword(name, default=default, annotation=kind))
        has_rare = any(is_rare for _, is_rare in places.values())
        flags = {"quiet": QUIET} | ({"help_all": HELP_ALL} if has_rare else {})
        of_flags = (keyword(n, default=shown, annotation=bool) for n, shown in flags.items())
        parameters += [*of_function, *of_flags]

        @functools.wraps(function)
        def called(**values: Any) -> None:
            for name in flags:  # `Command` reads --quiet, and --help-all has shown help
                del values[name]
            option_values = {name: values.pop(name) for name in options}
            for parameter, section in sections.items():
                settings = {
                    name: _number(option_values[name], field)
                    for name, field in section.fields().items()
                    if option_values.get(name) not in (None, [])
                }
                try:
                    values[parameter] = validated(section, settings)
                except InputError as error:  # names all wrong values
                    raise typer.BadParameter(str(error)) from None
            function(**values)

        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        app.command(cls=Command, epilog=f"Example: featbert {example}")(called)
        return called

    return add


def _option(
    section: type[Section],
    name: str,
    *,
    default: Any,
    complete: completion.Completion | None,
    is_argument: bool,
) -> tuple[Any, Any]:
    """A field's type (text if it takes several types) and its option or argument."""
    from featbert.config import CHOICES, ENCODER_TUNINGS

    field = section.model_fields[name]
    style = _style(field)
    default = field.default if default is None else default
    kinds = [*_kinds(field.annotation)]
    kind: Any = kinds[0] if len(kinds) == 1 else str
    kind = list[str] if list[str] in kinds else Path if Path in kinds else kind
    is_filter = name in section.filters
    choices_of = {**CHOICES, "tuning": ENCODER_TUNINGS, "figure": FIGURES}
    choices = None if is_filter else choices_of.get(name)
    text = field.description or ""
    first, _, remainder = f"{text} ".partition(". ")
    if choices:
        text = f"{first}: {', '.join(choices)}. {remainder}".rstrip()
    if kind is float and "[default" not in text:
        ends = ((w, getattr(m, k, None)) for m in field.metadata for k, w in _BOUNDS.items())
        bounds = ", ".join(f"{w} {n:g}" for w, n in ends if n is not None)
        text = f"{first} ({bounds}). {remainder}".rstrip()
    text = text.replace(" [default: ", "  [default: ")
    if default not in (None, [], {}) and not field.is_required() and not style.is_flag:
        text += f"  [default: {str(default).lower() if kind is bool else default}]"
    metavar = style.metavar or ("NAME" if choices else _TYPES.get(kind))
    complete = complete or _COMPLETIONS.get(style.metavar)
    if complete is None and (values := choices or style.suggests):
        complete = completion.among(*values)
    if is_filter:
        metavar, complete = "TEXT", None
    empty: Any = ... if field.is_required() else None
    if is_argument:
        return kind if empty is ... else kind | None, argument(metavar or "", text, complete, empty)
    names = [style.name or f"--{name.replace('_', '-')}"]
    if kind is bool and not style.is_flag:
        names = [f"{names[0]}/--no-{names[0][2:]}"]
    panel, is_rare = section.place(name)
    place = {"rich_help_panel": panel or None, "hidden": is_rare}
    return kind | None, option(metavar, text, complete, *names, default=empty, **place)


def _style(field: FieldInfo) -> Option:
    """How the command line shows a field: by its own annotation, or else by its types."""
    from featbert.config import Option

    def parts(annotation: Any) -> Iterator[Any]:
        yield from getattr(annotation, "__metadata__", ())
        for kind in get_args(annotation):
            yield from parts(kind)

    styles = [*reversed(field.metadata), *parts(field.annotation)]
    return next((part for part in styles if isinstance(part, Option)), Option())


def _kinds(annotation: Any) -> Iterator[Any]:
    """The types that a field takes, except None."""
    if get_origin(annotation) in (Union, UnionType):
        for kind in get_args(annotation):
            yield from _kinds(kind)
    elif get_origin(annotation) is Annotated:
        yield from _kinds(get_args(annotation)[0])
    elif get_origin(annotation) is list and str in _kinds(*get_args(annotation)):
        yield list[str]
    elif annotation is not type(None):
        yield annotation


def _number(value: Any, field: FieldInfo) -> Any:
    """Digits as a number if the field takes numbers, other values unchanged."""
    if isinstance(value, str) and int in _kinds(field.annotation) and value.isascii():
        return int(value) if value.isdigit() else value
    return value
