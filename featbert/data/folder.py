"""The splits of a folder: the files at its top with the names of splits.

Names are cut at `.`, `_`, `-` and spaces. A part that is a usual word names the split (`eng.testa`
is dev, `en-train.jsonl` is train). If there is none, a part that ends in such a word after a
character other than a letter names it (`wnut17train.conll`). Files that differ only in a number are
the shards of a split if the numbers count them (`train-00000-of-00002`, `train-00001-of-00002`,
also with a hash at the end, or `train.0`, `train.1`).

Other files and sub-folders are no part of a corpus (`not_read`). If only the sub-folder `data` has
split files, as in copies of the Hub's repositories, it is read instead. Texts with annotations of
brat, and texts in folders of classes, have rules of their own (`_brat_splits`, `_class_splits`).
"""

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import chain, zip_longest
from pathlib import Path

from featbert.data.corpus import SPLITS
from featbert.data.files import EXTENSIONS, check_unpacked
from featbert.errors import InputError
from featbert.text import counted, excerpt, listed

SPLIT_WORDS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("dev", "devel", "development"), "dev"),
    **dict.fromkeys(("valid", "validation", "val", "testa"), "dev"),
    **dict.fromkeys(("test", "testing", "testb"), "test"),
}
_GLUED = re.compile(rf".*[^a-z]({'|'.join(sorted(SPLIT_WORDS, key=len, reverse=True))})", re.S)
_NO_DATA = {"readme", "license", "licence"}
_UNLABELLED = ("unsup", "unlabeled", "unlabelled")
# Names of numeric tags, one a line, in the folder of a corpus.
LABEL_NAMES = "labels.txt"
DATA = "data"
_SHARD = re.compile(r"(.*?)(\d+)(?:-of-(\d+)(?:-[0-9a-f]{8,})?)?(\D*)", re.DOTALL)


def stem(name: str) -> str:
    """A file name without its data extensions: "train.txt.conll" -> "train"."""
    parts = name.split(".")
    while len(parts) > 1 and parts[-1].lower() in EXTENSIONS:
        parts.pop()
    return ".".join(parts)


def splits_named(name: str) -> tuple[str, ...]:
    """Splits that a file name may mean, several in an ambiguous name ("train-dev.conll")."""
    bare = stem(name)
    if name.startswith("."):
        return ()
    # Without a data extension the last part must be the split itself: eng.train, not train.py.
    part = bare if bare != name else bare.rsplit(".", 1)[-1]
    pieces = [p for p in re.split(r"[._\-\s]+", part.lower()) if p]
    splits = {SPLIT_WORDS[p] for p in pieces if p in SPLIT_WORDS}
    if not splits:
        splits = {SPLIT_WORDS[m.group(1)] for p in pieces if (m := _GLUED.fullmatch(p))}
    return () if _NO_DATA & set(pieces) else tuple(s for s in SPLITS if s in splits)


def has_splits(folder: Path) -> bool:
    """Whether a folder has split files at its top."""
    return any(splits_named(path.name) for path in _entries(folder) if not path.is_dir())


def place_of_splits(folder: Path) -> Path:
    """The folder, or its sub-folder `data` if only that has split files."""
    inner = folder / DATA
    return inner if inner.is_dir() and not has_splits(folder) and has_splits(inner) else folder


def corpus_files(place: Path, alone: str = SPLITS[0]) -> tuple[str, dict[str, tuple[Path, ...]]]:
    """The form of a corpus, "brat", "classes" or "", and by split its file, or its texts in order.

    A file is the split in its name, or else `alone`. InputError without a split, for several
    candidates, for annotations without a text, and if only a compressed file has a split's name.
    """
    if splits := _brat_splits(place, alone):
        return "brat", splits
    if not place.is_dir():
        names = splits_named(place.name) or splits_named(stem(place.name) + ".conll")
        return "", {names[0] if len(names) == 1 else alone: (place,)}
    splits = _class_splits(place, alone)
    return ("classes", splits) if splits else ("", find_splits(place))


def find_splits(folder: Path) -> dict[str, tuple[Path, ...]]:
    """By split the file of a folder that holds it, or its shards in order."""
    folder = place_of_splits(folder)
    entries = _entries(folder)
    splits_of = {p: splits_named(p.name) for p in entries if not p.is_dir()}
    files: dict[str, tuple[Path, ...]] = {}
    for split in SPLITS:
        candidates = [p for p, splits in splits_of.items() if split in splits]
        shards = _shards(candidates)
        if len(candidates) > 1 and not shards:
            raise InputError(
                f"{counted(len(candidates), f'{split} file')} in {folder}: "
                f"{listed(p.name for p in candidates)}; rename or move the others"
            )
        for path in candidates:
            if not path.exists():
                name = excerpt(path.name)
                raise InputError(f"{name} in {folder} is a link to nothing; mend or remove it")
            if len(splits_of[path]) > 1:
                raise InputError(f"{path} could be {' or '.join(splits_of[path])}; rename it")
        if candidates:
            files[split] = tuple(shards or candidates)
        for path in splits_of if not candidates else ():
            if split in splits_named(path.stem) and path.is_file():
                with suppress(OSError):
                    check_unpacked(path)
    if not files:
        names = [path.name + "/" * path.is_dir() for path in entries]
        inner = [p.name for p in entries if p.is_dir() and splits_named(p.name)]
        place = f" and put them here, not in sub-folders such as {inner[0]}/" if inner else ""
        raise InputError(
            f"no split files in {folder}; it has {listed(names) or 'no file at all'}; name them "
            "train, dev, test, with an extension such as .conll, .txt, .tsv, .csv, .json, .jsonl "
            f"or .parquet{place}"
        )
    return files


def _brat_splits(place: Path, default: str) -> dict[str, tuple[Path, ...]]:
    """Texts of brat's standoff files by split. Empty for a place of other files.

    A folder has them in sub-folders with the names of splits, or at its top. If each name at the
    top says a split, the texts are of these splits. If not, they are of the split that the folder's
    name is, or else of `default`. Without sub-folders `place` may also be one text or its `.ann`.
    """
    if not place.is_dir():
        text, annotations = place.with_suffix(".txt"), place.with_suffix(".ann")
        if place not in (text, annotations) or not annotations.is_file():
            return {}
        if not text.exists():
            raise _without_text(place)
        texts = [text]
    else:
        entries = _entries(place)
        of_splits = [path for path in entries if splits_named(path.name) and not path.is_dir()]
        if of_splits and {path.with_suffix(".ann") for path in of_splits}.isdisjoint(entries):
            return {}
        if not _annotations(place):
            splits = _in_sub_folders(place, _texts)
            are_annotated = any(_annotations(texts[0].parent) for texts in splits.values())
            return splits if are_annotated else {}
        texts, default = _texts(place), SPLIT_WORDS.get(place.name.lower(), default)
    names = [splits_named(text.name) for text in texts]
    by_name = all(len(splits_of_text) == 1 for splits_of_text in names)
    by_split: dict[str, list[Path]] = {}
    for text, splits_of_text in zip(texts, names, strict=True):
        by_split.setdefault(splits_of_text[0] if by_name else default, []).append(text)
    return {split: tuple(by_split[split]) for split in SPLITS if split in by_split}


def _class_splits(place: Path, default: str) -> dict[str, tuple[Path, ...]]:
    """Text files by split, each in a folder called like its class. Empty for a place of others.

        train/pos/0.txt, train/neg/0.txt, test/pos/0.txt ...      or only pos/0.txt, neg/0.txt

    Without sub-folders of splits they are of the split that the folder's name is, or else of
    `default`. One of each class follows the other, so that the first ones are of all classes.
    Folders of texts without a class, such as IMDB's `unsup`, are left out, and so are notes for
    people.
    """
    if has_splits(place_of_splits(place)) or _annotations(place):
        return {}
    if any(path.name.lower() in SPLIT_WORDS and path.is_dir() for path in _entries(place)):
        splits = _in_sub_folders(place, _texts_of_classes)
    else:
        split = SPLIT_WORDS.get(place.name.lower(), default)
        splits = {split: tuple(_texts_of_classes(place))}
    are_texts = all(path.stem.lower() not in SPLIT_WORDS for path in chain(*splits.values()))
    n_classes = len({path.parent.name for path in next(iter(splits.values()), ())})
    return splits if are_texts and n_classes > 1 else {}


def _in_sub_folders(
    place: Path, texts_in: Callable[[Path], list[Path]]
) -> dict[str, tuple[Path, ...]]:
    """Texts in the sub-folders with the names of splits. InputError for several of one split."""
    splits: dict[str, tuple[Path, ...]] = {}
    for folder in _entries(place):
        split = SPLIT_WORDS.get(folder.name.lower(), "")
        if split and folder.is_dir() and (texts := texts_in(folder)):
            if split in splits:
                raise InputError(
                    f"several sub-folders of {split} in {place}; rename or move the others"
                )
            splits[split] = tuple(texts)
    return {split: splits[split] for split in SPLITS if split in splits}


def _texts_of_classes(folder: Path) -> list[Path]:
    """The texts in sub-folders of classes by turns, without those that brat annotates."""
    texts_of_classes = [
        [path for path in _text_files(inner) if path.is_file()]
        for inner in _entries(folder)
        if inner.is_dir() and inner.name.lower() not in _UNLABELLED and not _annotations(inner)
    ]
    return [path for turn in zip_longest(*texts_of_classes) for path in turn if path is not None]


def _annotations(folder: Path) -> list[Path]:
    """The files with annotations of brat."""
    return [path for path in _entries(folder) if path.suffix == ".ann"]


def _texts(folder: Path) -> list[Path]:
    """Texts of brat, with annotations or without."""
    texts = _text_files(folder)
    if lonely := {*_annotations(folder)} - {path.with_suffix(".ann") for path in texts}:
        raise _without_text(min(lonely))
    return texts


def _text_files(folder: Path) -> list[Path]:
    texts = (path for path in _entries(folder) if path.suffix.lower() == ".txt")
    return [path for path in texts if path.stem.lower() not in _NO_DATA]


def _without_text(annotations: Path) -> InputError:
    text = annotations.with_suffix(".txt").name
    return InputError(f"{annotations} has no text; add {text} to its folder, or move it away")


def not_read(folder: Path) -> list[str]:
    """Files and sub-folders in a folder that are no part of its corpus.

    Hidden files, notes for people (README, LICENSE, `.md`) and `labels.txt` are not listed.
    """
    form, splits = corpus_files(folder)
    corpus_paths = {*chain(*splits.values())}
    folders = {folder, place_of_splits(folder)}
    if form == "brat":
        folders |= {path.parent for path in corpus_paths}
        corpus_paths |= {path.with_suffix(".ann") for path in corpus_paths}
    elif form == "classes":
        folders |= {path.parents[1] for path in corpus_paths}
        corpus_paths |= {path.parent for path in corpus_paths}
    entries = [path for inside in sorted(folders) for path in _entries(inside)]
    notes = {*_NO_DATA, "md"}
    return [
        f"{path.relative_to(folder)}" + "/" * path.is_dir()
        for path in entries
        if path not in corpus_paths | folders
        and path.name != LABEL_NAMES
        and notes.isdisjoint(path.name.lower().split("."))
    ]


def _entries(folder: Path) -> list[Path]:
    """Files and sub-folders that are not hidden."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise InputError(f"{folder} cannot be listed: {error.strerror}") from None


def _shards(paths: list[Path]) -> list[Path]:
    """The paths by their numbers, if only these differ and count them, or else none."""
    parts = [match.groups() for path in paths if (match := _SHARD.fullmatch(stem(path.name)))]
    if len(parts) < len(paths) or len({(a, total, z) for a, _, total, z in parts}) != 1:
        return []
    numbers = sorted(
        (int(number), path) for (_, number, _, _), path in zip(parts, paths, strict=True)
    )
    first, total = numbers[0][0], parts[0][2]
    complete = first in (0, 1) and [n for n, _ in numbers] == [*range(first, first + len(numbers))]
    if total is not None and not (complete and len(numbers) == int(total)):
        raise InputError(
            f"{counted(len(paths), 'shard')} of {int(total)} in {paths[0].parent}: "
            f"{listed(p.name for p in paths)}; add the others, or rename them"
        )
    return [path for _, path in numbers] if complete else []
