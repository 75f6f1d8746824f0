"""A page to a file."""

from __future__ import annotations

from pathlib import Path

from featbert.errors import FeatbertError, InputError
from featbert.io import cannot_write, replacing


def write_report(path: Path | str, page: str) -> Path:
    """Write a page; the file appears whole or not at all, folders above it are made.

    Raises:
        InputError: the name does not end in .html or .htm.
        FeatbertError: it could not be written.
    """
    path = Path(path)
    check_report_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, durable=False) as temporary:
            temporary.write_text(page, "utf-8", newline="\n")
    except OSError as error:
        raise FeatbertError(f"report {cannot_write(path, error)}") from error
    return path


def check_report_path(path: Path) -> None:
    """Raises InputError where a report cannot be written under that name."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"a report's file ending in .html expected, found {path.name!r}")
    if path.is_dir():
        raise InputError(f"a file to write the report to expected, {path} is a folder")
    above = next((p for p in path.absolute().parents if p.exists()), None)
    if above is not None and not above.is_dir():
        raise InputError(f"a folder to write the report into expected, {above} is a file")
