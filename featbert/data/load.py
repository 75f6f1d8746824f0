"""A corpus loaded: from a folder of split files, one file, a dataset, or the embedded sample.

The tag scheme is detected over all splits together, so that a small dev file that would fit two
schemes gets the one of its corpus.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import ExitStack
from importlib import resources
from pathlib import Path
from typing import NamedTuple, TypeVar

from featbert.data.conll import read_conll
from featbert.data.corpus import SPLITS, Corpus, ReadingNotes, Sentence, Split
from featbert.data.files import RawFile
from featbert.data.hub import PREFIX, HubName, read_hub
from featbert.data.jsonl import read_jsonl
from featbert.data.split_files import JSON_EXTENSIONS, find_splits, splits_named, stem
from featbert.data.tags import TagError, detect_scheme, scheme_name, to_bio
from featbert.errors import InputError, MissingError, nearest
from featbert.progress import track

SAMPLE = "sample"
_LANGUAGE = re.compile(r"[a-z]{2}")
_Column = TypeVar("_Column", int, str)


def load_corpus(
    path: str | Path | None = None,
    *,
    language: str | None = None,
    encoding: str = "utf-8",
    token_column: int | str | None = None,
    tag_column: int | str | None = None,
    scheme: str = "auto",
    tagged: bool = True,
) -> Corpus:
    """Load a corpus, its tags turned into BIO.

    Args:
        path: a folder with split files under their usual names (`split_files`); or one file,
            the corpus of the split that its name says, else of "test"; or None or "sample" for
            the embedded sample (a folder of that name is "./sample"). Files ending in .jsonl,
            .ndjson or, given alone, .json are JSONL, all others column files. "hf:NAME" is a
            dataset of the Hugging Face Hub or a folder with one (`hub`).
        language: BCP 47 code; by default that of a folder or a dataset's configuration named
            like one (wikiann/de), which then also names the corpus ("wikiann-de").
        encoding: text encoding of all files.
        token_column, tag_column: in column files, from 1; first and last by default. In a
            dataset, by name; those called as usual by default (`hub_rows`).
        scheme: "iob1", "bio", "io", "bioes", or "auto" to detect it (`schemes`).
        tagged: False reads words alone; sentences then have no tags.

    Returns:
        The splits that exist; the caller decides whether it needs others.

    Raises:
        MissingError: no such path or dataset.
        MissingPackageError: a dataset without the package that reads it.
        InputError: splits not found or ambiguous, or a file that cannot be read, with its line.
    """
    if scheme != "auto":
        scheme = scheme_name(scheme)
    if str(path).startswith(PREFIX):
        if encoding != "utf-8":
            raise InputError(f"{path} is Unicode and needs no encoding, found {encoding!r}")
        found = _from_dataset(
            HubName.parse(str(path)),
            token_column=_column(token_column, "token", str),
            tag_column=_column(tag_column, "tag", str),
            tagged=tagged,
        )
    else:
        found = _from_files(
            SAMPLE if path is None else path,
            encoding=encoding,
            token_column=_column(token_column, "token", int),
            tag_column=_column(tag_column, "tag", int),
            tagged=tagged,
        )
    if tagged and scheme == "auto":
        scheme = detect_scheme(
            s.tags or ()
            for split, f in found.raw.items()
            for s in track(f.sentences, f"recognising the tag scheme of {split}", "sentences")
        )
    splits = _splits(found.raw, scheme if tagged else None, keep_paths=found.keep_paths)
    return Corpus(found.name, splits, language or found.language, found.source)


class _Found(NamedTuple):
    """What was read, and what it is called; `keep_paths`: the files are the user's own."""

    name: str
    language: str | None
    source: str
    raw: dict[str, RawFile]
    keep_paths: bool


def _from_dataset(
    where: HubName, *, token_column: str | None, tag_column: str | None, tagged: bool
) -> _Found:
    raw = read_hub(where, token_column=token_column, tag_column=tag_column, tagged=tagged)
    return _Found(*where.corpus, where.source, raw, keep_paths=False)


def _from_files(
    path: str | Path,
    *,
    encoding: str,
    token_column: int | None,
    tag_column: int | None,
    tagged: bool,
) -> _Found:
    with ExitStack() as stack:
        if str(path) == SAMPLE:
            name = source = SAMPLE
            language: str | None = "en"
            folder = resources.files("featbert.data").joinpath(SAMPLE)
            files = {
                split: stack.enter_context(resources.as_file(folder / f"{split}.conll"))
                for split in SPLITS
            }
        else:
            place = Path(os.path.abspath(Path(path).expanduser()))
            source, files = str(place), _files(place)
            name, language = _name(place)
        raw = {
            split: (
                read_jsonl(file, encoding=encoding, tagged=tagged)
                if _is_json(file)
                else read_conll(
                    file,
                    encoding=encoding,
                    token_column=token_column,
                    tag_column=tag_column,
                    tagged=tagged,
                )
            )
            for split, file in files.items()
        }
    return _Found(name, language, source, raw, keep_paths=source != SAMPLE)


def _column(value: int | str | None, what: str, type_: type[_Column]) -> _Column | None:
    """A column as it is said where it is read: by number in files, by name in datasets."""
    if value is None or isinstance(value, type_):
        return value
    expected = "number of a file's" if type_ is int else "name of a dataset's"
    raise InputError(f"the {expected} {what} column expected, found {value!r}")


def _files(place: Path) -> dict[str, Path]:
    """The split files of a folder, or a file as its only split."""
    if place.is_dir():
        return find_splits(place)
    if place.exists():
        named = splits_named(place.name) or splits_named(stem(place.name) + ".conll")
        return {named[0] if len(named) == 1 else "test": place}
    known = place  # the nearest folder above that exists
    while not known.parent.exists():
        known = known.parent
    missing, parent = known.name, known.parent
    if not parent.is_dir():
        raise MissingError(f"a corpus folder or file expected, {parent} is a file, not a folder")
    names = sorted(p.name for p in parent.iterdir())
    hint = nearest(missing, [*names, SAMPLE] if parent == Path.cwd() else names)
    raise MissingError(
        f"a corpus folder or file expected, {place} does not exist: {parent} has no "
        f"{missing!r}{hint}"
    )


def _name(place: Path) -> tuple[str, str | None]:
    """Name and language: ("wikiann-de", "de") for the folder wikiann/de."""
    folder = place if place.is_dir() else place.parent
    name, language = folder.name or "corpus", None
    if _LANGUAGE.fullmatch(name):
        language = name
        name = f"{folder.parent.name}-{name}".lstrip("-")
    return (name if folder == place else f"{name}-{stem(place.name)}"), language


def _is_json(file: Path) -> bool:
    return file.suffix.lower().lstrip(".") in (*JSON_EXTENSIONS, "json")


def _splits(
    raw: Mapping[str, RawFile], scheme: str | None, *, keep_paths: bool
) -> dict[str, Split]:
    """Splits with BIO tags; `scheme` is None for text without tags."""
    splits = {}
    for split, file in raw.items():
        repaired = 0
        sentences = []
        for sentence in track(file.sentences, f"reading tags of {split}", "sentences"):
            tags = sentence.tags
            if tags is not None and scheme is not None:
                try:
                    tags, count = to_bio(tags, scheme)
                except TagError as error:
                    line = file.line_of(sentence, error.index)
                    raise InputError(
                        f"{error}, {file.unit} {line} of {file.path} (word "
                        f"{sentence.words[error.index]!r}); give --tag-column if the tags stand "
                        "in another column, or the scheme if it is another"
                    ) from None
                repaired += count
            sentences.append(Sentence(sentence.words, tags, sentence.document))
        notes = ReadingNotes(
            scheme or "none", file.encoding, repaired, file.comment_lines, file.empty_rows
        )
        splits[split] = Split(split, tuple(sentences), file.path if keep_paths else None, notes)
    return splits
