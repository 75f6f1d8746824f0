"""The errors that featbert raises on purpose, and the helpers that word them.

A message says what is wrong (with the value), then where, then what to do, in one line: "tag_column
is 3, but line 41 of dev.conll has 2 columns: 'EU NNP'". A command writes `--tag-column` in it.
"""

import difflib
import errno
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

# What people type from habit, and the name of featbert that is meant where it is known.
_MEANT = """lr=learning_rate rate=learning_rate batch=batch_size bs=batch_size clip=clip_norm
hidden_size=lstm_size hidden=lstm_size units=lstm_size num_layers=lstm_layers wd=weight_decay
num_epochs=epochs num_train_epochs=epochs dataset=data corpus=data encoder=model bert=model
output_dir=runs_dir ls=runs list=runs remove=rm delete=rm eval=evaluate test=evaluate fit=train
columns=show ner=entities pos=labels gpu=cuda half=fp16 md=markdown tex=latex last4=concat_last4
truecase=casing baseline=against classification=classes regression=scores choice=choices"""
SYNONYMS = dict(pair.split("=") for pair in _MEANT.split())


# What torch, oneDNN, the C++ library, safetensors and the loader of libraries say.
NO_MEMORY = (
    *("out of memory", "can't allocate memory", "not enough memory", "_ALLOC_FAILED"),
    *("std::bad_alloc", "can't start new thread", "could not create a primitive"),
    *("failed to map segment", "Cannot allocate memory", "memory allocation"),
)


# The options of the running command, by parameter. None in Python and for experiment files.
OPTIONS: ContextVar[Mapping[str, str] | None] = ContextVar("featbert_options", default=None)


@contextmanager
def spelled_as(options: Mapping[str, str] | None) -> Iterator[None]:
    """Within the block, messages spell settings as these `OPTIONS`."""
    before = OPTIONS.set(options)
    try:
        yield
    finally:
        OPTIONS.reset(before)


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
        return f"--set {shlex.quote(f'{setting}={value}')}"
    option, text = options.get(setting, f"--{setting.replace('_', '-')}"), str(value)
    text = shlex.quote(text) if text.isprintable() else f"${text!r}"  # $'\\t'
    return option if value is None else f"{option}{'=' if text[0] == '-' else ' '}{text}"


class FeatbertError(Exception):
    """A mistake that the user can correct; the command line shows it in one line, exit code 1.

    The text of an error with a `setting` goes on after its name: "is 17, but ...".
    """

    def __init__(self, text: object, *, setting: str = "") -> None:
        super().__init__(f"{spelling(setting)} {text}" if setting else text)
        self.setting = setting


class InputError(FeatbertError, ValueError):
    """A value, a file's content or a combination of options that cannot be used."""


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
    """The error in a few words, with the size that did not fit where it is known."""
    asked = re.search(r"tried to allocate ([0-9.]+) (\w+)", str(error), re.IGNORECASE)
    if asked is None:
        return "out of memory"
    size = f"{int(asked[1]) / 1e6:,.0f} MB" if asked[2] == "bytes" else f"{asked[1]} {asked[2]}"
    return f"out of memory, {size} more did not fit"


def reason(error: Exception, smaller: str = "") -> str:
    """Why something failed, in one line. `smaller` says what to do if memory ran out."""
    if isinstance(error, FeatbertError):
        return str(error)
    if out_of_memory(error):
        smaller = smaller or f"lower {spelling('token_budget')} or {spelling('jobs')}"
        return f"{memory_lack(error)}; {smaller}"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    return f"unexpected {type(error).__name__}: {error}"


def nearest(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'epochs'?)`, or nothing where no known name is near."""
    match = _closest(name, known)
    return f" (did you mean {match!r}?)" if match else ""


def check_known(noun: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raises InputError for the first of `names` that is not known; `noun` is what they name."""
    for name in names:
        if name not in known:
            use = f"use {', '.join(known)}" if known else "there are none"
            raise InputError(f"unknown {noun} {name!r}{nearest(name, known)}; {use}")


def nearest_path(path: Path, pattern: str = "*") -> str:
    """` (did you mean 'experiments/runs'?)` for the neighbours of a path that does not exist."""
    try:
        beside = sorted({p.name for p in path.parent.glob(pattern)} - {path.name})
    except (OSError, ValueError):
        return ""
    match = _closest(path.name, beside)
    return f" (did you mean {str(path.with_name(match))!r}?)" if match else ""


def _closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is meant, or of which a part or the whole is most similar.

    One that begins with it goes first. Case does not matter, nor do the dashes of options.
    """
    wanted = _plain(name)
    spellings = {_plain(s): one for one in known for s in (*one.split("--"), one)}
    if (meant := SYNONYMS.get(wanted)) in spellings:
        return spellings[meant]
    begun = [s for s in spellings if len(wanted) > 3 and s.startswith(wanted)]
    near = sorted(begun, key=len) or difflib.get_close_matches(wanted, spellings, 1, 0.65)
    return spellings[near[0]] if near else None


def _plain(name: str) -> str:
    return name.casefold().lstrip("-").replace("-", "_")
