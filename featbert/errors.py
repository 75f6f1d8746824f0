"""The one base class of everything featbert refuses.

A message says what was expected, what was found, where, and what to do, in one line:
"tag column 3 expected, line 41 of dev.conll has 2 columns: 'EU NNP'". Subclasses live beside
the code that raises them and also subclass the fitting builtin (`FileNotFoundError`,
`ValueError`), so that callers of the library can catch what they know.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class FeatbertError(Exception):
    """A mistake that its reader can mend; the command line shows it in one line, exit code 1."""


class InputError(FeatbertError, ValueError):
    """A value, a file's content or a combination of options that cannot be used."""


class MissingError(FeatbertError, FileNotFoundError):
    """A file, folder, store, run or model that is not where it was looked for."""

    def __str__(self) -> str:  # FileNotFoundError would format (errno, strerror)
        return str(self.args[0]) if self.args else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'epochs'?)`, or nothing where no known name is near."""
    match = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" (did you mean {match[0]!r}?)" if match else ""
