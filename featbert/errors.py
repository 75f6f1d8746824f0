"""The errors that featbert raises on purpose.

A message is one line: what is wrong first (with the value), then where, then what to do. Each class
also subclasses the fitting builtin (`FileNotFoundError`, `ValueError`), so that callers of the
library can catch what they know.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path


class FeatbertError(Exception):
    """A mistake that its reader can mend; the command line shows it in one line, exit code 1."""


class InputError(FeatbertError, ValueError):
    """A value, a file's content or a combination of options that cannot be used."""


class MissingError(FeatbertError, FileNotFoundError):
    """A file, folder, store, run or model that is not where it was looked for."""

    def __str__(self) -> str:  # FileNotFoundError would format (errno, strerror)
        return str(self.args[0]) if self.args else ""


class BusyError(FeatbertError):
    """Another process is writing this run, store or encoder."""


class MissingPackageError(FeatbertError, ImportError):
    """An optional package that is needed now and not installed."""


def out_of_memory(error: BaseException) -> bool:
    """Whether memory did not suffice, the processor's or a GPU's; torch need not be loaded."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    texts = ("out of memory", "can't allocate memory", "not enough memory", "_ALLOC_FAILED")
    return isinstance(error, RuntimeError) and any(text in str(error) for text in texts)


def memory_lack(error: BaseException) -> str:
    """What there was no room for, as far as the error says it: "out of memory, 2.00 GiB more"."""
    asked = re.search(r"tried to allocate ([0-9.]+) (\w+)", str(error), re.IGNORECASE)
    if asked is None:
        return "out of memory"
    size = f"{int(asked[1]) / 1e6:,.0f} MB" if asked[2] == "bytes" else f"{asked[1]} {asked[2]}"
    return f"out of memory, {size} more could not be had"


def nearest(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'epochs'?)`, or nothing where no known name is near."""
    match = _closest(name, known)
    return f" (did you mean {match!r}?)" if match else ""


def nearest_path(path: Path, pattern: str = "*") -> str:
    """` (did you mean 'experiments/runs'?)` for a similar name next to a path that does not exist.

    Args:
        pattern: of names that can be meant, such as "*.h5".
    """
    try:
        beside = sorted(p.name for p in path.parent.glob(pattern))
    except (OSError, ValueError):
        return ""
    match = _closest(path.name, beside)
    return f" (did you mean {str(path.with_name(match))!r}?)" if match else ""


def _closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like `name`; capitals make no difference.

    One that begins with it goes first; names of runs and stores are also known by their parts.
    """
    wanted = name.casefold()
    folded = {known_name.casefold(): known_name for known_name in known}
    begun = [key for key in folded if len(wanted) > 3 and key.startswith(wanted)]
    if begun:
        return folded[min(begun, key=len)]
    parts = {part: key for key in reversed(folded) for part in key.split("--")}
    for keys in (dict(zip(folded, folded, strict=True)), parts):
        if match := difflib.get_close_matches(wanted, keys, n=1, cutoff=0.6):
            return folded[keys[match[0]]]
    return None
