"""Files of vectors: .npy, .parquet and .h5. Row i is the vector of text i."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from featbert.errors import InputError, MissingError
from featbert.io import explaining, is_other, replacing

Vectors = NDArray[np.float32]
# Name of the dataset of a .h5 file and of the column of a .parquet file.
NAME = "vectors"


def write_vectors(path: Path, vectors: Vectors, about: Mapping[str, Any]) -> None:
    """Writes (n, H) float32 as a whole file or not at all. `about` is kept in .h5 and .parquet.

    The file's ending says its format. Errors are as of `check_vectors_file`.
    """
    check_vectors_file(path)
    with explaining(path), replacing(path) as temporary:
        _WRITERS[path.suffix.lower()](temporary, vectors, {k: str(v) for k, v in about.items()})


def check_vectors_file(path: Path) -> None:
    """Raises InputError for an unknown ending, MissingError for a missing folder or library."""
    if path.suffix.lower() not in _WRITERS:
        raise InputError(f"{path} has the ending {path.suffix!r}; use {', '.join(_WRITERS)}")
    if not path.parent.is_dir():
        raise MissingError(f"{path} cannot be written: the folder {path.parent} does not exist")
    if is_other(path):
        raise InputError(f"{path} is a link, folder or device; name a new file")
    if path.suffix.lower() == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise MissingError(
                f"{path} needs pyarrow; pip install 'featbert[hub]', or write .npy or .h5"
            ) from None


def _write_npy(path: Path, vectors: Vectors, _: Mapping[str, str]) -> None:
    with path.open("wb") as file:
        np.save(file, vectors)


def _write_h5(path: Path, vectors: Vectors, about: Mapping[str, str]) -> None:
    with h5py.File(path, "w") as file:
        file[NAME] = vectors
        file[NAME].attrs.update(about)


def _write_parquet(path: Path, vectors: Vectors, about: Mapping[str, str]) -> None:
    import pyarrow
    from pyarrow import parquet

    column = pyarrow.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1])
    table = pyarrow.table({NAME: column}).replace_schema_metadata(dict(about))
    parquet.write_table(table, path)


_WRITERS: dict[str, Callable[[Path, Vectors, Mapping[str, str]], None]] = {
    ".npy": _write_npy,
    ".parquet": _write_parquet,
    ".h5": _write_h5,
}
