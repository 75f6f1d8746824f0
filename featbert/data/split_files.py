"""Which file of a folder is which split, by its name.

A name is cut at `.`, `_`, `-` and spaces. A piece that is one of the usual words names the
split (`eng.testa` is dev, `en-train.jsonl` is train); where no piece is, a piece counts that
ends in one of them after something that is no letter (`wnut17train.conll`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from featbert.data.corpus import SPLITS
from featbert.data.files import excerpt
from featbert.errors import InputError

JSON_EXTENSIONS = ("jsonl", "ndjson")
_EXTENSIONS = {
    *JSON_EXTENSIONS,
    *("conll", "conll03", "conllu", "conllx", "txt", "tsv", "col", "cols", "data", "ner"),
    *("iob", "iob1", "iob2", "bio", "io", "bioes", "iobes", "bilou", "tags", "tagged"),
    *("annotated", "gold"),
}
_WORDS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("dev", "devel", "development"), "dev"),
    **dict.fromkeys(("valid", "validation", "val", "testa"), "dev"),
    **dict.fromkeys(("test", "testing", "testb"), "test"),
}
_GLUED = re.compile(rf".*[^a-z]({'|'.join(sorted(_WORDS, key=len, reverse=True))})", re.DOTALL)
_NO_DATA = {"readme", "license", "licence"}


def stem(name: str) -> str:
    """A file name without its data extensions: "train.txt.conll" -> "train"."""
    parts = name.split(".")
    while len(parts) > 1 and parts[-1].lower() in _EXTENSIONS:
        parts.pop()
    return ".".join(parts)


def splits_named(name: str) -> tuple[str, ...]:
    """Splits that a file name stands for, in the order train, dev, test.

    None for a file that is no split (hidden, of another extension, or named otherwise), several
    for a name that leaves it open ("train-dev.conll").
    """
    bare = stem(name)
    if name.startswith(".") or bare.lower() in _NO_DATA:
        return ()
    # Without a data extension the last part must be the split itself: eng.train, not train.py.
    part = bare if bare != name else bare.rsplit(".", 1)[-1]
    pieces = [p for p in re.split(r"[._\-\s]+", part.lower()) if p]
    found = {_WORDS[p] for p in pieces if p in _WORDS}
    if not found:
        found = {_WORDS[m.group(1)] for p in pieces if (m := _GLUED.fullmatch(p))}
    if _NO_DATA & set(pieces):
        return ()
    return tuple(s for s in SPLITS if s in found)


def split_called(name: str) -> str | None:
    """The split that a usual word means ("validation" -> "dev"), None for other words."""
    return _WORDS.get(name.lower())


def find_splits(folder: Path) -> dict[str, Path]:
    """By split the file of `folder` (an existing one) that holds it, in the order of `SPLITS`.

    Hidden files, subfolders and files of other names are passed over.

    Raises:
        InputError: two files for one split, one file for two splits, no split at all, a split
            that is a link to nothing, or a folder that cannot be listed.
    """
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder} cannot be listed: {error.strerror}") from None
    for path in entries:
        if path.is_symlink() and not path.exists() and splits_named(path.name):
            raise InputError(
                f"a file expected in {folder}, {excerpt(path.name)} is a link to nothing that "
                "exists; mend or remove it"
            )
    named = {p: splits_named(p.name) for p in entries if p.is_file()}
    found: dict[str, Path] = {}
    for split in SPLITS:
        candidates = [p for p, splits in named.items() if split in splits]
        if len(candidates) > 1:
            raise InputError(
                f"one {split} file expected in {folder}, found {len(candidates)}: "
                f"{_listed(p.name for p in candidates)}; move the others away or rename them"
            )
        if candidates:
            path = candidates[0]
            if len(named[path]) > 1:
                raise InputError(
                    f"{path} could be {' or '.join(named[path])} by its name; rename it"
                )
            found[split] = path
    if not found:
        seen = [p.name + "/" * p.is_dir() for p in entries if not p.name.startswith(".")]
        raise InputError(
            f"split files expected in {folder} (train, dev, test, with an extension such as "
            f".conll, .txt, .tsv or .jsonl, or none), found "
            + (_listed(seen) if seen else "no file at all")
        )
    return found


def _listed(names: Iterable[str], most: int = 12) -> str:
    rows: Sequence[str] = [excerpt(n)[1:-1] for n in names]
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return ", ".join(rows[:most]) + more
