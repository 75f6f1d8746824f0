"""The splits of a folder: the files at its top with the names of splits.

Names are cut at `.`, `_`, `-` and spaces. A part that is a usual word names the split (`eng.testa`
is dev, `en-train.jsonl` is train). If there is none, a part that ends in such a word after a
character other than a letter names it (`wnut17train.conll`). Files that differ only in a number are
the shards of a split if the numbers count them (`train-00000-of-00002`, `train-00001-of-00002`,
also with a hash at the end, or `train.0`, `train.1`).

Other files and sub-folders are no part of a corpus (`not_read`). If only the sub-folder `data` has
split files, as in copies of the Hub's repositories, it is read instead. Texts with annotations of
brat, texts in folders of classes, and slots have rules of their own (`brat_splits`, `class_splits`,
`slot_splits`).
"""

import re
from contextlib import suppress
from itertools import zip_longest
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
# In the folder of a split of ATIS or SNIPS, words and their tags, a text in each line.
SLOT_FILES = ("seq.in", "seq.out")
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


def find_splits(folder: Path) -> dict[str, tuple[Path, ...]]:
    """By split the file of a folder that holds it, or its shards in order.

    InputError for several candidates or none, or if only a compressed file has a split's name.
    """
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


def brat_splits(place: Path, default: str) -> dict[str, tuple[Path, ...]]:
    """Texts of brat's standoff files by split. Empty for a place of other files.

    A folder has them in sub-folders with the names of splits, or at its top. If each name at the
    top says a split, the texts are of these splits. If not, they are of the split that the folder's
    name is, or else of `default`. Without sub-folders `place` may also be one text or its `.ann`.

    InputError for annotations without a text, or several sub-folders of one split.
    """
    if not place.is_dir():
        text, names = place.with_suffix(".txt"), splits_named(place.with_suffix(".txt").name)
        is_pair = place.suffix in (".txt", ".ann") and place.with_suffix(".ann").is_file()
        if is_pair and not text.exists():
            raise _without_text(place)
        return {names[0] if len(names) == 1 else default: (text,)} if is_pair else {}
    entries = _entries(place)
    of_splits = [path for path in entries if splits_named(path.name) and not path.is_dir()]
    if of_splits and not {path.with_suffix(".ann") for path in of_splits}.intersection(entries):
        return {}
    folders = [place]
    if not _annotations(place):
        folders = [path for path in entries if path.name.lower() in SPLIT_WORDS and path.is_dir()]
    splits: dict[str, list[Path]] = {}
    for folder in folders if any(map(_annotations, folders)) else ():
        texts = _texts(folder)
        names_of_splits = [splits_named(path.name) for path in texts]
        split = SPLIT_WORDS.get(folder.name.lower(), default)
        if split in splits:
            raise InputError(
                f"several sub-folders of {split} in {place}; rename or move the others"
            )
        by_name = folder == place and all(len(names) == 1 for names in names_of_splits)
        for text, names in zip(texts, names_of_splits, strict=True):
            splits.setdefault(names[0] if by_name else split, []).append(text)
    return {split: tuple(splits[split]) for split in SPLITS if split in splits}


def class_splits(place: Path, default: str = SPLITS[0]) -> dict[str, tuple[Path, ...]]:
    """Text files by split, each in a folder called like its class. Empty for a place of others.

        train/pos/0.txt, train/neg/0.txt, test/pos/0.txt ...      or only pos/0.txt, neg/0.txt

    Without sub-folders of splits they are of the split that the folder's name is, or else of
    `default`. One of each class follows the other, so that the first ones are of all classes.
    Folders of texts without a class, such as IMDB's `unsup`, are left out, and so are notes for
    people. InputError for several sub-folders of one split.
    """
    if not place.is_dir() or has_splits(place_of_splits(place)) or _annotations(place):
        return {}
    folders = [path for path in _entries(place) if path.is_dir()]
    of_splits: dict[str, list[Path]] = {}
    for path in folders:
        if path.name.lower() in SPLIT_WORDS:
            of_splits.setdefault(SPLIT_WORDS[path.name.lower()], []).append(path)
    of_splits = of_splits or {SPLIT_WORDS.get(place.name.lower(), default): [place]}
    texts_of_splits = {}
    for split in SPLITS:
        places = of_splits.get(split, [])
        classes = [path for folder in places for path in _entries(folder) if path.is_dir()]
        texts = [_texts_of_class(path) for path in classes]
        if texts := [paths for paths in texts if paths]:
            if len(places) > 1:
                raise InputError(
                    f"several sub-folders of {split} in {place}; rename or move the others"
                )
            by_turns = (path for paths in zip_longest(*texts) for path in paths)
            texts_of_splits[split] = tuple(path for path in by_turns if path is not None)
    is_corpus = all(
        path.stem.lower() not in SPLIT_WORDS for paths in texts_of_splits.values() for path in paths
    )
    n_classes = len({path.parent.name for path in next(iter(texts_of_splits.values()), ())})
    return texts_of_splits if is_corpus and n_classes > 1 else {}


def slot_splits(place: Path) -> dict[str, tuple[Path, ...]]:
    """The `SLOT_FILES` by split, in folders that are called like it. Empty for a place of others.

    InputError for several folders of one split.
    """
    is_other = not place.is_dir() or has_splits(place)
    splits: dict[str, list[Path]] = {}
    for folder in [] if is_other else [place, *_entries(place)]:
        if folder.name.lower() in SPLIT_WORDS and (folder / SLOT_FILES[0]).is_file():
            paths = splits.setdefault(SPLIT_WORDS[folder.name.lower()], [])
            paths += (folder / name for name in SLOT_FILES)
    if any(len(paths) > len(SLOT_FILES) for paths in splits.values()):
        raise InputError(f"several folders of one split in {place}; rename or move the others")
    return {split: tuple(splits[split]) for split in SPLITS if split in splits}


def _texts_of_class(folder: Path) -> list[Path]:
    """The texts in a folder of a class: no texts if it has no class, or is annotated by brat."""
    if folder.name.lower() in _UNLABELLED or _annotations(folder):
        return []
    texts = (path for path in _entries(folder) if path.suffix.lower() == ".txt" and path.is_file())
    return [path for path in texts if path.stem.lower() not in _NO_DATA]


def _annotations(folder: Path) -> list[Path]:
    """The files with annotations of brat."""
    return [path for path in _entries(folder) if path.suffix == ".ann"]


def _texts(folder: Path) -> list[Path]:
    """Texts of brat, with annotations or without."""
    texts = [path for path in _entries(folder) if path.suffix == ".txt"]
    texts = [path for path in texts if path.stem.lower() not in _NO_DATA]
    if lonely := {*_annotations(folder)} - {path.with_suffix(".ann") for path in texts}:
        raise _without_text(min(lonely))
    return texts


def _without_text(annotations: Path) -> InputError:
    text = annotations.with_suffix(".txt").name
    return InputError(f"{annotations} has no text; add {text} to its folder, or move it away")


def not_read(folder: Path) -> list[str]:
    """Files and sub-folders in a folder that are no part of its corpus.

    Hidden files, notes for people (README, LICENSE, `.md`) and `labels.txt` are not listed.
    """
    place, documents = place_of_splits(folder), brat_splits(folder, SPLITS[0])
    classes = {} if documents else class_splits(folder)
    splits = documents or classes or slot_splits(folder) or find_splits(folder)
    corpus_paths = {path for paths in splits.values() for path in paths} | {place}
    corpus_paths |= {path.parent for path in corpus_paths}
    folders = {folder, place}
    if documents:
        folders |= {path.parent for paths in documents.values() for path in paths}
        corpus_paths |= {path.with_suffix(".ann") for path in corpus_paths} | folders
    if classes:
        texts = [path for paths in classes.values() for path in paths]
        folders |= {path.parents[1] for path in texts}
        corpus_paths |= {path.parent for path in texts} | folders
    entries = [path for inside in sorted(folders) for path in _entries(inside)]
    notes = {*_NO_DATA, "md"}
    return [
        f"{path.relative_to(folder)}" + "/" * path.is_dir()
        for path in entries
        if path not in corpus_paths
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
