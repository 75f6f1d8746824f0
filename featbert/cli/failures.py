"""What went wrong or was stopped, in one line that says how to go on."""

from __future__ import annotations

import re
from typing import Any

from featbert.cli.text import printable
from featbert.errors import nearest

# By command: what an interruption leaves, and what the same command does with it.
_KEPT = {
    "extract": "finished blocks are kept; the same command goes on after them",
    "train": "finished runs and kept epochs stay; the same command goes on after them",
    "adapt": "kept epochs stay; the same command goes on after them",
    "compare": "tests that were finished are kept; the same command goes on",
    "evaluate": "finished splits and extracted blocks are kept; the same command goes on",
    "run": (
        "finished runs, kept epochs and extracted blocks stay; the same command goes on after them"
    ),
    "rm": "what was removed until now is gone; featbert runs lists what is left",
}
_KEPT["finetune"] = _KEPT["train"]
_OVERWRITTEN = {
    "train": (
        "runs that were trained again are kept, those not reached are as before; to go on, name "
        "what is left by --layers and --seeds"
    ),
    "finetune": (
        "runs that were trained again are kept, those not reached are as before; to go on, name "
        "what is left by --seeds"
    ),
    "adapt": (
        "the encoder that was there and kept epochs stay; the same command goes on after them"
    ),
    "evaluate": (
        "splits that were evaluated again are kept; to go on, name what is left by --split"
    ),
}
# By command: what takes less memory.
_LESS = {
    "extract": "give a smaller --token-budget, or fewer --layers",
    "train": "give a smaller --token-budget or --hidden-size, or a combination of fewer layers",
    "finetune": "give a smaller --token-budget, or --precision bf16",
    "adapt": "give a smaller --token-budget, or a smaller --max-length",
    "evaluate": "use --device cpu, or a machine with more memory",
    "predict": "use --device cpu, or a machine with more memory",
    "run": "set a smaller token_budget in the file's tables, or give fewer --jobs",
    "probe": "name fewer --layers",
}


def interrupted(command: str | None, *, overwrite: bool) -> str:
    """What is kept of a command that was stopped, and how to go on."""
    name = command or ""
    told = _OVERWRITTEN.get(name) if overwrite else None
    return told or _KEPT.get(name) or "the same command starts again"


def less_memory(command: str | None) -> str:
    """What to do where memory did not suffice."""
    return _LESS.get(command or "", "use a machine with more memory")


def misused(error: Any) -> str:
    """Wrong usage as typer found it: expected, found, the nearest right one, where to read on."""
    context = getattr(error, "ctx", None)
    path = "featbert" if context is None else context.command_path
    return printable(f"{_mistake(error, context, path)}; {path} --help tells more")


def _mistake(error: Any, context: Any, path: str) -> str:
    message = str(error.format_message())
    option = getattr(error, "option_name", None)
    if option is not None and "No such option" in message:
        known = [name for param in context.command.params for name in param.opts]
        return f"an option of {path} expected, found {option!r}{nearest(option, known)}"
    if unknown := re.match(r"No such command '(.*?)'", message):
        known = list(context.command.commands)
        return f"a command expected, found {unknown[1]!r}{nearest(unknown[1], known)}"
    if missing := re.match(r"Missing (argument|option) '(.*?)'", message):
        return f"{missing[2]} expected, found none"
    if bare := re.match(r"Option '(.*?)' requires an argument", message):
        return f"a value expected for {bare[1]}, found none"
    if invalid := re.match(r"Invalid value for '(.*?)'(?: / '.*?')*: (.*)", message, re.DOTALL):
        return _invalid(error, invalid[1], invalid[2])
    if extra := re.match(r"Got unexpected extra argument\S* \((.*)\)$", message):
        known = [name for param in context.command.params for name in param.opts]
        first = extra[1].partition(" ")[0]
        hint = f" (a corpus is named by --data {first})" if first and "--data" in known else ""
        return f"an option of {path} expected, found {extra[1]!r}{hint}"
    return message.rstrip(".")


def _invalid(error: Any, name: str, reason: str) -> str:
    """A value that cannot be read: a choice, or a number."""
    mistakes: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    found = str(mistakes[0]["input"]) if mistakes else ""
    found = found or (quoted[1] if (quoted := re.match(r"'(.*?)' is not", reason)) else "")
    if " not one of " in reason:
        choices = re.findall(r"'(.*?)'", reason.partition(" not one of ")[2])
        return f"{_or(choices)} expected for {name}, found {found!r}{nearest(found, choices)}"
    if mistakes:
        from featbert.runs.mistakes import expectation

        return f"{expectation(mistakes[0])} expected for {name}, found {found!r}"
    return f"{name}: {reason.rstrip('.')}"


def _or(names: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
