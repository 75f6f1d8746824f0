"""The tables of docs/reference/, made from the commands, the configuration and the records.

A command's table comes from its help, a key's description from its model in `featbert/config.py` or
`featbert/experiments/file.py`, and a field's from the `Attributes` of the record's docstring.
"""

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import typer.main
from pydantic import BaseModel
from typer.core import TyperGroup

import featbert
from featbert.cli.main import app
from featbert.config import defaults_by_task
from featbert.experiments import file as files
from featbert.features.manifest import Manifest, StoredSplit
from featbert.inference.evaluate import EvaluationRecord
from featbert.inference.speed import Speed
from featbert.runs import record
from featbert.runs.counts import KeptCounts
from featbert.tasks.base import Scores
from featbert.tasks.forecasts import ProbabilityScores, Reliability
from featbert.training.history import Epoch, ParameterGroup
from tests.tiny_encoders import DECODERS, FAMILIES, POOLERS

_DEFAULT = re.compile(r"\s*\[default: (.*)\]$")
RECORDS = (
    *(record.RunRecord, record.Signature, record.SplitIdentity, record.Mix, record.Cost),
    *(Scores, ProbabilityScores, Reliability, Epoch, ParameterGroup, EvaluationRecord),
    *(Speed, Manifest, StoredSplit),
    *(record.ExperimentRecord, record.SearchRecord, record.TriedSettings, KeptCounts),
)
TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "commands": lambda: command_lines(),
    "encoders": lambda: encoder_lines(),
    "python": lambda: public_names(),
    "file": lambda: keys(files.FileKeys),
    "configuration": lambda: keys(files.Configuration),
    "train_sizes": lambda: keys(files.TrainSizes),
    "features": lambda: keys(files.FeaturesTable, defaults_by_task("none")),
    "finetune": lambda: keys(files.FileRows, defaults_by_task("full")),
    "adapt": lambda: keys(files.AdaptTable),
    "search": lambda: keys(files.Search),
    **{kind.__name__: partial(lambda kind: fields(kind), kind) for kind in RECORDS},
}


def commands(words: str = "", command: Any = None) -> Iterator[tuple[str, Any]]:
    """Every command by the words that call it, the empty string for `featbert` itself."""
    command = command or typer.main.get_command(app)
    yield words, command
    if isinstance(command, TyperGroup):
        for name in command.list_commands(None):  # type: ignore[arg-type]
            yield from commands(f"{words} {name}".strip(), command.get_command(None, name))  # type: ignore[arg-type]


def command_lines() -> Iterator[str]:
    """A section per command: what it does, an example, its arguments and options."""
    for words, command in commands():
        yield f"## {' '.join(['featbert', *words.split()])}\n"
        yield from (f"{' '.join(part.split())}\n" for part in command.help.split("\n\n"))
        if command.epilog:
            yield "Example: `" + command.epilog.removeprefix("Example: ") + "`\n"
        panels: dict[str, list[tuple[str, str, str]]] = {}
        for p in command.params:
            if not getattr(p, "hidden", False):
                panel = getattr(p, "rich_help_panel", None) or "Argument or option"
                panels.setdefault(panel, []).append(parameter(p))
        for panel, rows in panels.items():
            yield from grid((panel, "default", "meaning"), rows)
            yield ""


def encoder_lines() -> Iterator[str]:
    """The architectures that the tests build."""
    head = ("architecture", "such as", "tokenizer", "word", "pooler", "by layer", "adapt")
    rows = [
        (
            family.classes,
            f"`{family.published}`",
            family.tokenizer,
            "last" if name in DECODERS else "first",
            "yes" if name in POOLERS else "",
            "" if name == "albert" else "yes",
            "" if name in DECODERS else "yes",
        )
        for name, family in FAMILIES.items()
    ]
    yield from grid(head, rows)


def public_names() -> Iterator[str]:
    """What `featbert` exports, with the first sentence of its documentation."""
    rows = []
    for name, entry in featbert.PUBLIC.items():
        said = " ".join((getattr(featbert, name).__doc__ or "").partition("\n\n")[0].split())
        rows.append((f"`{name}`", said, f"`{entry.module}`"))
    yield from grid(("name", "meaning", "module"), rows)


def parameter(p: Any) -> tuple[str, str, str]:
    """An argument or option as it is written, its default and its help."""
    text = " ".join((p.help or "").split())
    found = _DEFAULT.search(text)
    annotation = getattr(getattr(p, "type_descriptor", None), "annotation", None)
    choices = [
        word
        for kind in (annotation, *typing.get_args(annotation))
        if typing.get_origin(kind) is typing.Literal
        for word in typing.get_args(kind)
    ]
    if p.param_type_name == "argument":
        name = f"`{p.metavar or p.name.upper()}`"
    else:
        name = ", ".join(f"`{word}`" for word in (*p.opts, *p.secondary_opts))
        name += f" {'|'.join(choices) or p.metavar or ''}".rstrip()
    default = shown(found[1]) if found else "required" if p.required else shown(p.default)
    return name, default, _DEFAULT.sub("", text)


def keys(model: type[BaseModel], given: Mapping[str, Any] = {}) -> Iterator[str]:
    """The keys of a table of experiment files.

    Args:
        given: has the defaults of its settings, where the model's are not those.
    """
    rows = []
    for name, field in model.model_fields.items():
        usual = "required" if field.is_required() else field.get_default(call_default_factory=True)
        default = given.get(name, usual)
        rows.append(
            (f"`{name}`", values(field.annotation), shown(default), field.description or "")
        )
    return grid(("key", "value", "default", "meaning"), rows)


def fields(kind: Any) -> Iterator[str]:
    """The fields of a record."""
    known = attributes(kind)
    rows = []
    for field in dataclasses.fields(kind):
        evaluated = not isinstance(field.type, str)
        of_python = inspect.formatannotation(field.type) if evaluated else field.type
        bare = re.sub(r"\w+\.", "", str(of_python))  # without modules
        rows.append((f"`{field.name}`", in_json(bare), known.get(field.name, "")))
    return grid(("field", "type", "meaning"), rows)


def attributes(kind: type) -> Mapping[str, str]:
    """What a docstring says of each attribute; one text may be of several names."""
    found: dict[str, str] = {}
    listed = (kind.__doc__ or "").partition("Attributes:\n")[2]
    for entry in re.split(r"\n {8}(?! )", "\n" + listed.rstrip()):
        names, colon, text = entry.partition(": ")
        if colon and re.fullmatch(r"[\w, ]+", names.strip()):
            meaning = " ".join(text.split()).replace("None", "null")
            meaning = meaning[:1].upper() + meaning[1:]
            found |= {name.strip(): meaning for name in names.split(",")}
    return found


def shown(value: Any) -> str:
    """A default for people."""
    if isinstance(value, BaseModel) or value in (None, False, "", [], {}, ()):
        return "–"
    if value is True:
        return "true"
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value))
    return value if isinstance(value, str) and " " in value else f"`{value}`"


def values(annotation: Any) -> str:
    """What a key takes, by its type."""
    inner = [kind for kind in typing.get_args(annotation) if kind is not type(None)]
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return values(inner[0])
    if origin is typing.Literal:
        return ", ".join(f"`{word}`" for word in inner)
    if origin in (typing.Union, types.UnionType):
        return ", ".join(dict.fromkeys(map(values, inner)))
    if origin is list:
        return f"list: {values(inner[0])}"
    if origin is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return "table"
    return {int: "whole number", float: "number", bool: "true or false", str: "text"}[annotation]


def in_json(annotation: str) -> str:
    """A field's type as JSON has it; checks of a type's values play no part."""
    checked = r"\bAnnotated\[([^()]+?), \w+\(.*?\)\]"
    annotation = re.sub(checked, r"\1", annotation)
    annotation = re.sub(r"\bOptional\[(.+)\]", r"\1 | None", annotation)
    for name, word in (
        *(("Count|Index", "int"), ("Number|Amount|Seconds|Share", "float"), ("Moment", "str")),
        *(("None", "null"), ("int", "integer"), ("float", "number"), ("str", "string")),
        *(("bool", "boolean"), ("Any", "any")),
        ("(Moment|Context|Casing|Packing|SubwordPooling|Precision)", "string"),
    ):
        annotation = re.sub(rf"\b(?:{name})\b", word, annotation)
    for name, word in (("list", "array of"), ("tuple", "array of"), ("dict", "object of")):
        annotation = re.sub(
            rf"\b{name}\[(?:string, (?!\.))?(.+?)(?:, \.\.\.)?\]", rf"{word} \1", annotation
        )
    return annotation.replace(" | ", " or ")


def grid(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """A Markdown table."""
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
