"""Versions of the libraries that results depend on, for signatures. Imports none of them."""

import contextlib
import functools
import platform
from importlib.metadata import PackageNotFoundError, version

# Once per process: each look-up parses a package's metadata.
_version = functools.cache(version)
LIBRARIES = (
    *("torch", "transformers", "tokenizers", "peft", "numpy", "h5py", "seqeval", "scikit-learn"),
)


def library_versions() -> dict[str, str]:
    """Version by library name, also of Python and featbert."""
    from featbert import __version__

    versions = {"featbert": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = _version(name)
    return versions
