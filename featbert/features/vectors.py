"""Files of vectors: .npy, .parquet and .h5. Row i is the vector of text i."""

from collections.abc import Mapping
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
ENDINGS = (".npy", ".parquet", ".h5")


def write_vectors(path: Path, vectors: Vectors, about: Mapping[str, Any]) -> None:
    """Writes (n, H) float32 as a whole file or not at all. `about` is kept in .h5 and .parquet.

    The file's ending says its format. Errors are as of `check_vectors_file`.
    """
    check_vectors_file(path)
    with explaining(path), replacing(path) as temporary:
        texts, ending = {name: str(value) for name, value in about.items()}, path.suffix.lower()
        if ending == ".npy":
            with temporary.open("wb") as file:
                np.save(file, vectors)
        elif ending == ".h5":
            with h5py.File(temporary, "w") as file:
                file[NAME] = vectors
                file[NAME].attrs.update(texts)
        else:
            import pyarrow
            from pyarrow import parquet

            column = pyarrow.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1])
            table = pyarrow.table({NAME: column}).replace_schema_metadata(texts)
            parquet.write_table(table, temporary)


def check_vectors_file(path: Path) -> None:
    """Raises InputError for an unknown ending, MissingError for a missing folder or library."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path} has the ending {path.suffix!r}; use {', '.join(ENDINGS)}")
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
