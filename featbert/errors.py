"""The errors that featbert raises on purpose, and helpers for their messages.

A message names the wrong value, its place, and what to do, in one line: "tag_column is 3, but line
41 of dev.conll has 2 columns: 'EU NNP'". In a command it begins with `--tag-column`.
"""

import difflib
import errno
import re
import shlex
from collections.abc import Collection, Iterable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

# What people type from habit, and the name of featbert that they mean.
_MEANT = """lr=learning_rate rate=learning_rate batch=batch_size bs=batch_size clip=clip_norm
hidden_size=lstm_size hidden=lstm_size units=lstm_size num_layers=lstm_layers wd=weight_decay
num_epochs=epochs num_train_epochs=epochs dataset=data corpus=data encoder=model bert=model
output_dir=runs_dir ls=runs list=runs remove=rm delete=rm eval=evaluate test=evaluate fit=train
ner=entities pos=labels gpu=cuda half=fp16 md=markdown tex=latex last4=concat_last4
truecase=casing baseline=against classification=classes regression=scores choice=choices
on=evaluated_on no_text=no_sentences figures=figures_dir text=predictions output=out
discriminative=layer_decay targets=target_modules
scheme=file_scheme share=predict_share
mlm_probability=predict_share"""
SYNONYMS = dict(pair.split("=") for pair in _MEANT.split())

# What torch, oneDNN, the C++ library, safetensors and the loader of libraries say.
NO_MEMORY = (
    *("out of memory", "can't allocate memory", "not enough memory", "_ALLOC_FAILED"),
    *("std::bad_alloc", "can't start new thread", "could not create a primitive"),
    *("failed to map segment", "Cannot allocate memory", "memory allocation"),
)
# The options of the running command, by parameter. None in Python and for experiment files.
OPTIONS: ContextVar[Mapping[str, str] | None] = ContextVar("featbert_options", default=None)
# The parameters of the running function of `api`, or None.
PARAMETERS: ContextVar[Collection[str] | None] = ContextVar("featbert_parameters", default=None)


def spelling(setting: str, value: Any = None) -> str:
    """A setting, perhaps with a value, as its user writes it.

    `rank=8` in Python and experiment files, `--rank 8` in a command, and `--set rank=8` in a
    command that has --set and no option of this name.
    """
    options = OPTIONS.get()
    is_key = options is not None and setting not in options and "--set" in options.values()
    if options is None or (is_key and value is None):
        return setting if value is None else f"{setting}={value!r}"
    if is_key:
        return as_key(setting, value)
    option, text = options.get(setting, f"--{setting.replace('_', '-')}"), str(value)
    text = shlex.quote(text) if text.isprintable() else f"${text!r}"  # $'\\t'
    return option if value is None else f"{option}{'=' if text[0] == '-' else ' '}{text}"


def other_task(tasks: str) -> str:
    """A task, or several as words, as its user names them: `--task labels`.

    It is "a run for labels" if the running command or function takes runs, which have a task.
    """
    settings = PARAMETERS.get() if OPTIONS.get() is None else OPTIONS.get()
    if settings is not None and "task" not in settings and {"run", "runs"} & {*settings}:
        return f"a run for {tasks}"
    return f"{spelling('task')} {tasks}" if " " in tasks else spelling("task", tasks)


def as_key(setting: str, value: Any) -> str:
    """A setting and its value for `featbert run`, such as `--set answerable=true`."""
    text = str(value).lower() if isinstance(value, bool) else value
    return f"--set {shlex.quote(f'{setting}={text}')}"


class FeatbertError(Exception):
    """A mistake that the user can correct. A command shows it in one line and has exit code 1.

    If the value of a `setting` is wrong, the text follows its name: "is 17, but ...".
    """

    def __init__(self, text: object, *, setting: str = "") -> None:
        super().__init__(f"{spelling(setting)} {text}" if setting else text)
        self.setting = setting


class InputError(FeatbertError, ValueError):
    """A value, a file's content or a combination of options that cannot be used."""


class FormError(InputError):
    """A file or an option of another task: without its columns, or with words and not texts."""


class MissingError(FeatbertError, FileNotFoundError):
    """A file, folder, store, run or model that does not exist."""


class BusyError(FeatbertError):
    """Another process is writing this run, store or encoder."""


class PrunedError(FeatbertError):
    """A search ended this run early: its dev scores are below the median of others."""


def out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out, on the processor or a GPU."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return getattr(error, "errno", None) == errno.ENOMEM or any(t in str(error) for t in NO_MEMORY)


def memory_lack(error: BaseException) -> str:
    """The error in a few words, with the size that did not fit if the error has it."""
    number = re.search(r"tried to allocate ([0-9.]+) (\w+)", str(error), re.IGNORECASE)
    if number is None:
        return "out of memory"
    size = f"{int(number[1]) / 1e6:,.0f} MB" if number[2] == "bytes" else " ".join(number.groups())
    return f"out of memory, {size} more did not fit"


def reason(error: Exception, smaller: str = "") -> str:
    """Why something failed, in one line. `smaller` says what to do if memory ran out."""
    if isinstance(error, FeatbertError):
        return str(error)
    if out_of_memory(error):
        smaller = smaller or f"lower {spelling('token_budget')} or {spelling('jobs')}"
        return f"{memory_lack(error)}; {smaller}"
    if isinstance(error, OSError):
        file = f"{error.filename}: " if error.filename else ""
        return f"{file}{error.strerror or error}"
    return f"unexpected {type(error).__name__}: {error}"


def nearest(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'epochs'?)`, or nothing if no known name is near."""
    match = _closest(name, known)
    return f" (did you mean {match!r}?)" if match else ""


def check_known(noun: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raises InputError for the first of `names` that is not known. A `noun` says their kind."""
    for name in names:
        if name not in known:
            use = f"use {', '.join(known)}" if known else "there are none"
            raise InputError(f"unknown {noun} {name!r}{nearest(name, known)}; {use}")


def nearest_path(path: Path, pattern: str = "*") -> str:
    """` (did you mean 'experiments/runs'?)` for the neighbours of a path that does not exist."""
    try:
        neighbours = sorted({p.name for p in path.parent.glob(pattern)} - {path.name})
    except (OSError, ValueError):
        return ""
    match = _closest(path.name, neighbours)
    return f" (did you mean {str(path.with_name(match))!r}?)" if match else ""


def _closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is meant, or of which a part or the whole is most similar.

    One that begins with it goes first. Case does not matter, nor do the dashes of options.
    """

    def plain(text: str) -> str:
        return text.casefold().lstrip("-").replace("-", "_")

    typed = plain(name)
    names = {plain(part): full for full in known for part in (*full.split("--"), full)}
    if (synonym := SYNONYMS.get(typed)) in names:
        return names[synonym]
    longer = [part for part in names if len(typed) > 3 and part.startswith(typed)]
    near = sorted(longer, key=len) or difflib.get_close_matches(typed, names, 1, 0.65)
    return names[near[0]] if near else None
