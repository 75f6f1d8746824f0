"""Results files: a runs directory in one file, without weights, to be read and shared.

    <name>.jsonl.xz      lines of JSON, compressed by xz
      {"format": "featbert results 1", "sha256": "..."}             of all lines that follow
      {"file": "<run>/record.json", "content": {...}}               a line for each file, by name
      {"file": "<run>/dev.counts.json", "content": {...}}

`results.jsonl.xz/<run>/record.json` is a path in such a file. Whatever reads a runs directory
reads files and lists folders by the functions of this module, so it reads a results file too.
"""

import contextlib
import functools
import hashlib
import json
import lzma
import tempfile
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from featbert.errors import InputError
from featbert.io import explaining, regular_file, replacing

ENDING = ".jsonl.xz"
FORMAT = "featbert results 1"
# Bytes of all lines, at most. A damaged or foreign file may claim any number.
LARGEST = 1 << 30


def results_file(path: Path) -> Path | None:
    """The results file that a path names or leads into. None for other paths."""
    return next((p for p in (path, *path.parents) if p.name.endswith(ENDING) and p.is_file()), None)


def read_text(path: Path) -> str:
    """The text of a regular file. OSError if there is none."""
    if (file := results_file(path)) is None:
        return regular_file(path).read_text("utf-8")
    content = _contents(file).get(path.relative_to(file).as_posix())
    if content is None:
        raise FileNotFoundError(f"{file} has no {path.relative_to(file)}")
    return content if isinstance(content, str) else json.dumps(content)


@contextlib.contextmanager
def on_disk(path: Path) -> Iterator[Path]:
    """Within the block, a file of the file system with the bytes of `path`."""
    if results_file(path) is None:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, path.name)
        copy.write_bytes(read_text(path).encode())
        yield copy


def exists(path: Path) -> bool:
    """Whether there is a file or folder."""
    if (file := results_file(path)) is None or file == path:
        return path.exists()
    name, contents = path.relative_to(file).as_posix(), _contents(file)
    return name in contents or any(path_in.startswith(f"{name}/") for path_in in contents)


def listed_in(folder: Path, pattern: str = "*") -> list[Path]:
    """Files and folders in a folder that match a pattern, by name. None without a folder."""
    if (file := results_file(folder)) is None:
        return sorted(folder.glob(pattern))
    above = "".join(f"{part}/" for part in folder.relative_to(file).parts)
    below = (name.removeprefix(above) for name in _contents(file) if name.startswith(above))
    names = {name.partition("/")[0] for name in below}
    return [folder / name for name in sorted(names) if fnmatchcase(name, pattern)]


def names_in(file: Path) -> list[str]:
    """Paths of all files in a results file, relative to it, by name."""
    return [*_contents(file)]


def run_folders(runs_dir: Path) -> list[Path]:
    """Folders of a runs directory, except hidden ones. OSError if it cannot be listed."""
    if (file := results_file(runs_dir)) is None:
        paths = [path for path in sorted(runs_dir.iterdir()) if path.is_dir()]
    else:
        names = (name.partition("/")[0] for name in _contents(file) if "/" in name)
        paths = [runs_dir / name for name in sorted({*names})]
    return [path for path in paths if path.name[0] != "."]


def check_name(file: Path) -> None:
    """Raises InputError for a name that results files do not have."""
    if not file.name.endswith(ENDING):
        raise InputError(f"{file} is no name of a results file; let it end in {ENDING}")


def write_results(file: Path, contents: Mapping[str, Any]) -> None:
    """Writes texts and JSON values by name. Equal contents give equal bytes.

    InputError if the file has another ending, or there is a file that is no results file.
    """
    check_name(file)
    if file.exists():
        _contents(regular_file(file))
    lines = (json.dumps({"file": name, "content": contents[name]}) for name in sorted(contents))
    body = "".join(f"{line}\n" for line in lines).encode()
    head = json.dumps({"format": FORMAT, "sha256": hashlib.sha256(body).hexdigest()})
    with explaining(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as temporary:
            temporary.write_bytes(lzma.compress(f"{head}\n".encode() + body, preset=9))


def _contents(file: Path) -> Mapping[str, Any]:
    """Contents by name. InputError with the reason if the file is damaged or foreign."""
    status = file.stat()
    return _read(file, status.st_ino, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=4)
def _read(file: Path, *changed: int) -> Mapping[str, Any]:
    lzma_stream = lzma.LZMADecompressor(lzma.FORMAT_XZ)
    try:
        text = lzma_stream.decompress(file.read_bytes(), LARGEST)
        head, _, body = text.partition(b"\n")
        if not lzma_stream.eof:
            size = f"more than {LARGEST:,} bytes" if len(text) >= LARGEST else "cut off"
            raise ValueError(f"it is {size}")
        if lzma_stream.unused_data:  # as of files that were joined
            raise ValueError("data follow its end; unpack several files into one folder")
        about = json.loads(head)
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise ValueError(f"its first line does not name the format {FORMAT!r}")
        if about.get("sha256") != hashlib.sha256(body).hexdigest():
            raise ValueError("it was modified after it was written (checksum mismatch)")
        lines = map(json.loads, body.splitlines())
        contents = {line["file"]: line["content"] for line in lines}
        if outside := [n for n in contents if {"", "..", "."} & {*n.replace("\\", "/").split("/")}]:
            raise ValueError(f"{outside[0]!r} is no path of a file in a folder of runs")
        return contents
    except (OSError, ValueError, LookupError, TypeError, RecursionError, lzma.LZMAError) as error:
        raise InputError(f"{file} cannot be read as a results file: {error}") from None
