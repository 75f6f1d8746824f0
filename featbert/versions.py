"""Versions of what a number depends on, for signatures; nothing is imported to find them."""

import contextlib
import functools
import platform
from importlib.metadata import PackageNotFoundError, version

# Once a process: each look parses a package's metadata.
_version = functools.cache(version)
LIBRARIES = (
    *("torch", "transformers", "tokenizers", "peft", "numpy", "h5py", "seqeval", "scikit-learn"),
)


def library_versions() -> dict[str, str]:
    """Version by library name, with Python's and featbert's own."""
    from featbert import __version__

    found = {"featbert": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = _version(name)
    return found
