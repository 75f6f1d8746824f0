"""The tables of the reference, made from the program itself.

    python -m tests.docs.reference        renews docs/reference/

A page holds `<!-- table: NAME -->` and `<!-- end -->`; what stands between them is made here from
the commands' help, the tables of experiment files and the docstrings of the records. A test
compares the pages with what is made now.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pydantic import BaseModel, Field

from featbert.cli.main import commands
from featbert.config import Adapt, RowsTable, Section, defaults
from featbert.features.store import Manifest, StoredSplit
from featbert.runs import experiment_file, experiment_record, record
from featbert.runs.evaluations import EvaluationRecord
from featbert.tasks.base import Scores
from featbert.training.history import Epoch, ParameterGroup
from tests.docs.pages import DOCS
from tests.docs.reference_words import DEFAULT_WORDS, WORDS

_PLACE = re.compile(r"(<!-- table: ([\w.-]+) -->\n).*?(<!-- end -->)", re.S)
_DEFAULT = re.compile(r"\s*\[default: (.*)\]$")


class GridSeeds(Section):
    """The key of `[grid]` that is no table."""

    seeds: list[int] = Field([1], description="Seeds that each setting is tried with.")


def tables() -> dict[str, str]:
    """Every table by its name, as Markdown."""
    made: dict[str, Callable[[], Iterable[str]]] = {
        "commands": command_lines,
        "file": lambda: keys(experiment_file.FileKeys, "file"),
        "arm": lambda: keys(experiment_file.Configuration, "arm"),
        "train_sizes": lambda: keys(experiment_file.TrainSizes, "train_sizes"),
        "grid": lambda: keys(GridSeeds, "grid"),
        "adapt": lambda: keys(experiment_file.AdaptTable, "adapt", Adapt()),
    }
    for table, kind, tuning in (
        ("features", experiment_file.FeaturesTable, "none"),
        ("finetune", RowsTable, "full"),
    ):
        made[table] = lambda kind=kind, table=table, tuning=tuning: keys(  # type: ignore[misc]
            kind, table, defaults(tuning)
        )
    for record_kind in (
        *(record.RunRecord, record.Signature, record.SplitIdentity, record.Mix, record.Cost),
        *(Scores, Epoch, ParameterGroup, EvaluationRecord, Manifest, StoredSplit),
        *(experiment_record.ExperimentRecord, experiment_record.SearchRecord),
        experiment_record.TriedSettings,
    ):
        made[record_kind.__name__] = lambda kind=record_kind: fields(kind)  # type: ignore[misc]
    return {name: "\n".join(lines()) for name, lines in made.items()}


# Commands ---------------------------------------------------------------------------------------


def command_lines() -> Iterator[str]:
    """A section a command: what it does, an example, its arguments and options."""
    for words, command in commands():
        yield f"## {' '.join(['featbert', *words.split()])}\n"
        yield from (f"{' '.join(part.split())}\n" for part in command.help.split("\n\n"))
        if command.epilog:
            yield "Example: `" + command.epilog.removeprefix("Example: ") + "`\n"
        rows = [parameter(p) for p in command.params if not getattr(p, "hidden", False)]
        if rows:
            yield from grid(("argument or option", "default", "meaning"), rows)
        yield ""


def parameter(p: Any) -> tuple[str, str, str]:
    """An argument or option as it is written, its default and its help."""
    told = " ".join((p.help or "").split())
    found = _DEFAULT.search(told)
    if p.param_type_name == "argument":
        name = f"`{p.metavar or p.name.upper()}`"
    else:
        name = ", ".join(f"`{word}`" for word in (*p.opts, *p.secondary_opts))
    if chosen := choices(p):
        name += f" {'|'.join(chosen)}"
    elif p.metavar and p.param_type_name == "option":
        name += f" {p.metavar}"
    default = shown(found[1]) if found else "required" if p.required else shown(p.default)
    return name, default, _DEFAULT.sub("", told)


def choices(p: Any) -> list[str]:
    """The words that an option takes, if they are few."""
    annotation = getattr(getattr(p, "type_descriptor", None), "annotation", None)
    kinds = [annotation, *typing.get_args(annotation)]
    return [
        word for k in kinds if typing.get_origin(k) is typing.Literal for word in typing.get_args(k)
    ]


# Keys and fields --------------------------------------------------------------------------------


def keys(kind: Any, table: str, used: Any = None) -> Iterator[str]:
    """The keys of a table of experiment files."""
    rows = []
    for name, key in kind.model_fields.items():
        default = key.get_default(call_default_factory=True)
        if default is None and used is not None:
            default = getattr(used, name, None)
        told = key.description or WORDS[f"{table}.{name}"]
        told = sentence(told.replace("None:", "–:"))
        by_default = DEFAULT_WORDS.get(f"{table}.{name}", shown(default))
        rows.append((f"`{name}`", values(key.annotation), by_default, told))
    return grid(("key", "value", "default", "meaning"), rows)


def fields(kind: type) -> Iterator[str]:
    """The fields of a record."""
    known, rows = attributes(kind), []
    for field in dataclasses.fields(kind):
        told = WORDS.get(f"{kind.__name__}.{field.name}") or WORDS.get(f"*.{field.name}")
        told = told or known[field.name].replace("None", "null")
        rows.append((f"`{field.name}`", in_json(str(field.type)), sentence(told)))
    return grid(("field", "type", "meaning"), rows)


def attributes(kind: type) -> dict[str, str]:
    """What a docstring says of each attribute; one text may be of several names."""
    found: dict[str, str] = {}
    doc = kind.__doc__ or ""
    _, _, listed = doc.partition("Attributes:\n")
    for entry in re.split(r"\n {8}(?! )", "\n" + listed.rstrip()):
        names, colon, told = entry.partition(": ")
        if colon and re.fullmatch(r"[\w, ]+", names.strip()):
            text = " ".join(told.split())
            found |= {name.strip(): text for name in names.split(",")}
    return found


# Words ------------------------------------------------------------------------------------------


def shown(value: Any) -> str:
    """A default for people."""
    if value is None or value is False or value == "" or value in ([], {}, ()):
        return "–"
    if value is True:
        return "true"
    if isinstance(value, str) and " " in value:
        return value
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value))
    return f"`{value}`"


def values(annotation: Any) -> str:
    """What a key takes, by its type."""
    inner = [kind for kind in typing.get_args(annotation) if kind is not type(None)]
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return values(inner[0])
    if origin is typing.Literal:
        return ", ".join(f"`{word}`" for word in inner)
    if origin in (typing.Union, types.UnionType):
        return ", ".join(map(values, inner))
    if origin is list:
        return f"list: {values(inner[0])}"
    if origin is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return "table"
    return {int: "whole number", float: "number", bool: "true or false", str: "text"}[annotation]


def in_json(annotation: str) -> str:
    """A field's type as JSON has it."""
    words = {
        "None": "null",
        "int": "integer",
        "float": "number",
        "str": "string",
        "bool": "boolean",
    }
    for name, word in words.items():
        annotation = re.sub(rf"\b{name}\b", word, annotation)
    for name, word in (("list", "array of"), ("tuple", "array of"), ("dict", "object of")):
        annotation = re.sub(
            rf"\b{name}\[(?:string, )?(.+?)(?:, \.\.\.)?\]", rf"{word} \1", annotation
        )
    return annotation.replace("Any", "any").replace("Approach", "string").replace(" | ", " or ")


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    text = text[:1].upper() + text[1:] if text[:1].islower() else text
    return text if text.endswith((".", ":", ")")) else text + "."


def grid(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """A Markdown table."""
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def renewed(text: str) -> str:
    """A page with its tables as they are made now."""
    made = tables()
    return _PLACE.sub(lambda m: f"{m[1]}{made[m[2]].rstrip()}\n{m[3]}", text)


def main() -> None:
    """Renews the pages."""
    for page in sorted((DOCS / "reference").glob("*.md")):
        page.write_text(renewed(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
