"""Loads a corpus: a folder of split files, one file, a dataset, or the embedded sample.

Which file of a folder is which split follows from its name, cut at `.`, `_`, `-` and spaces. A
piece that is one of the usual words names the split (`eng.testa` is dev, `en-train.jsonl` is
train); if no piece is, one that ends in such a word after something other than a letter
(`wnut17train.conll`) does.

Tags are interpreted over all splits together (`tags`), so that a small dev file that would fit two
schemes gets the one of its corpus.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from featbert.data.choices import usual_form
from featbert.data.conll import read_conll
from featbert.data.corpus import SPLITS, Corpus, Sentence, Split
from featbert.data.examples import TABLE_EXTENSIONS, Columns, Examples, read_examples, table_rows
from featbert.data.files import EXTENSIONS, RawFile, Row, codec_name, excerpt, is_json, read_file
from featbert.data.hub import PREFIX, HubName, dataset_rows, load_splits, read_rows
from featbert.data.jsonl import WORD_KEYS, jsonl_sentences
from featbert.data.share import with_dev
from featbert.data.spans import json_questions, may_be_answerable
from featbert.data.tags import TagError, Targets, detect_scheme, scheme_name, targets_of, to_bio
from featbert.errors import InputError, MissingError, nearest_path
from featbert.progress import notice, track
from featbert.text import counted, listed

SAMPLE = "sample"
# Folders of the embedded samples, by what they are called.
SAMPLES = {SAMPLE: ".", "sample:choice": "choice", "sample:spans": "spans"}
_SPLIT_WORDS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("dev", "devel", "development"), "dev"),
    **dict.fromkeys(("valid", "validation", "val", "testa"), "dev"),
    **dict.fromkeys(("test", "testing", "testb"), "test"),
}
_GLUED = re.compile(
    rf".*[^a-z]({'|'.join(sorted(_SPLIT_WORDS, key=len, reverse=True))})", re.DOTALL
)
_NO_DATA = {"readme", "license", "licence"}
_LANGUAGE = re.compile(r"[a-z]{2}")
# Among which is one that is not blank, such as the header.
FIRST_LINES = 1000


def load_corpus(
    path: str | Path | None = None,
    *,
    targets: str | Targets | None = "entities",
    language: str | None = None,
    encoding: str = "utf-8",
    token_column: int | str | None = None,
    tag_column: int | str | None = None,
    scheme: str = "auto",
    text: int | str | None = None,
    pair: int | str | None = None,
    target: int | str | None = None,
    dev_share: float | None = None,
    answerable: bool = False,
) -> Corpus:
    """Load a corpus.

    Args:
        path: a folder with split files; one file, the corpus of the split in its name, else of
            "test"; None or "sample" for the embedded sample (a folder of that name is "./sample"),
            "sample:choice" and "sample:spans" for those of other tasks; or "hf:NAME", a dataset of
            the Hugging Face Hub or a folder with one (`hub`). Files ending in .jsonl, .ndjson or
            .json are JSONL or SQuAD's JSON, all others column files.
        targets: "entities" reads BIO tags, whatever the scheme of the files; "labels" any label a
            word, such as parts of speech; "classes" and "scores" one an example; "choices" which
            one of several texts is right; "spans" answers in a passage; None reads words or texts
            alone. Or how to read others.
        language: BCP 47 code; by default that of a folder or a dataset's configuration named
            like one (wikiann/de), which then also names the corpus ("wikiann-de").
        encoding: text encoding of all files.
        token_column, tag_column: in column files by number, from 1 (by default the first and the
            last), or in CoNLL-U by name ("form", "upos"); in JSONL and datasets by name.
        scheme: of entities: "iob1", "bio", "io", "bioes", or "auto" to detect it (`tags`).
        text, pair, target: columns of examples by name, or by number from 1 (`examples`).
        dev_share: part of train that becomes dev, where there is no dev: whole documents, or
            examples, always the same ones.
        answerable: leaves out questions without an answer; the corpus is "NAME-answerable".

    Raises:
        MissingError: no such path or dataset, or a package that it needs is not installed.
        InputError: splits not found or ambiguous, or a file that cannot be read; names the line.
    """
    kind = targets_of(targets)
    if kind.keys is None and tag_column is not None:
        raise InputError(f"tag column {tag_column} is given, but the text is read without tags")
    columns = Columns(text, pair, target)
    read = _Reader(kind, encoding, token_column, tag_column, columns, answerable)
    if str(path).startswith(PREFIX):
        if encoding != "utf-8":
            raise InputError(f"encoding {encoding!r} is given, but {path} is Unicode")
        where = HubName.parse(str(path))
        raw, (name, found), source = read.dataset(where), where.corpus, where.source
    elif path is None or str(path) in SAMPLES:
        source = str(path or SAMPLE)
        name, found = source.replace(":", "-"), "en"
        with resources.as_file(resources.files("featbert.data").joinpath(SAMPLE)) as folder:
            raw = read.files(find_splits(folder / SAMPLES[source]))
    else:
        place = Path(os.path.abspath(Path(path).expanduser()))
        raw = read.files(_files(place))
        (name, found), source = _name(place), str(place)
    _check_alike({file.path: file.sentences[0] for file in raw.values()})
    splits = _splits(raw, kind, scheme, codec_name(encoding), keep_paths=Path(source).is_absolute())
    if dev_share is not None:
        splits = with_dev(splits, dev_share)
    name += "-answerable" * answerable
    return Corpus(name, splits, language or found, source, kind.name or None)


@dataclass(frozen=True)
class _Reader:
    kind: Targets
    encoding: str
    token_column: int | str | None
    tag_column: int | str | None
    columns: Columns
    answerable: bool

    def files(self, files: Mapping[str, Path]) -> dict[str, RawFile]:
        """The files of the splits."""
        return {split: self._file(path, split) for split, path in files.items()}

    def _file(self, path: Path, split: str) -> RawFile:
        form = self._form(path, self._names(path))
        if form is None and not is_json(path):
            return read_conll(
                path,
                encoding=self.encoding,
                token_column=self.token_column,
                tag_column=self.tag_column,
                tagged=self.kind.keys is not None,
                conllu_tags=self.kind.conllu,
            )
        lines = track(read_file(path, self.encoding), f"reading {path.name}", "lines")
        if form is None:
            return RawFile(path, tuple(jsonl_sentences(lines, path, **self._by_name)))
        return self._examples(form, self._rows(lines, path), path, split)

    def _rows(self, lines: Iterable[str], path: Path) -> Iterator[Row]:
        in_json = is_json(path)
        return json_questions(lines, path) if in_json else table_rows(lines, path, self.columns)

    def _names(self, path: Path) -> Collection[str] | None:
        """The columns of the first row; None for a column file, whose columns have no names."""
        if not is_json(path) and path.suffix.lower().lstrip(".") not in TABLE_EXTENSIONS:
            return None
        # SQuAD's JSON is one object, whose lines say nothing by themselves.
        most = None if path.suffix.lower() == ".json" else FIRST_LINES
        row = next(self._rows(read_file(path, self.encoding, most), path), None)
        return row.values if row else ()

    def _form(self, path: Path, names: Collection[str] | None) -> type[Examples] | None:
        """What reads rows with these columns as examples; None where they are of words.

        InputError where the targets are of another kind.
        """
        kind, form = self.kind, self.kind.form or Examples
        words = any(key in (names or ()) for key in (self.token_column, *WORD_KEYS))
        usual = None if names is None or words else usual_form(names)
        asked = bool(self.columns) or kind.form is not None or path.suffix.lower() == ".csv"
        if names is None or not (asked or usual):
            if kind.form is not None:
                raise InputError(
                    f"{path} has words, not texts with one of the {kind.name} each; name files "
                    "with columns .tsv, .csv or .jsonl, or use another --task"
                )
            return None
        if kind.form is None and kind.keys is not None:
            raise InputError(
                f"{path} has texts with one answer each, no {kind.name} of words; "
                "use --task classification, regression, choice or spans"
            )
        named = self.columns.text or self.columns.pair
        if named or not usual or usual.of_lines or not form.of_lines:
            return form
        if kind.keys is not None:
            raise InputError(f"{path} has choices, no {kind.name}; use --task choice")
        return usual

    def _examples(
        self, form: type[Examples], rows: Iterable[Row], path: Path, split: str, unit: str = "line"
    ) -> RawFile:
        rows = filter(may_be_answerable, rows) if self.answerable else rows
        must = self.kind.keys is not None and split == "train"
        return read_examples(rows, form(self.columns, self.kind.keys, path, must), unit=unit)

    def dataset(self, where: HubName) -> dict[str, RawFile]:
        """The splits with usual names."""
        loaded = load_splits(where)
        named: dict[str, str] = {}
        for split in SPLITS:
            # MultiNLI has two dev and test parts; the matched ones have the genres of train.
            for suffix in ("", "_matched"):
                bare = {name: name.lower().removesuffix(suffix) for name in loaded}
                names = [n for n in loaded if _SPLIT_WORDS.get(bare[n]) == split]
                if len(names) > 1:
                    raise InputError(f"several {split} splits in {where.source}: {listed(names)}")
                if names:
                    named[split] = names[0]
                    break
        if not named:
            raise InputError(
                f"no split train, validation or test in {where.source}; it has {listed(loaded)}"
            )
        if others := loaded.keys() - named.values():
            notice(f"not read of {where.source}: {listed(sorted(others))}")
        return {
            split: self._split(loaded[name], Path(where.source, name), split)
            for split, name in named.items()
        }

    def _split(self, dataset: Any, path: Path, split: str) -> RawFile:
        form = self._form(path, dataset.features)
        if form is None:
            return read_rows(dataset, path, **self._by_name)
        rows = dataset_rows(dataset, path, names=not self.kind.numbered)
        return self._examples(form, rows, path, split, unit="row")

    @property
    def _by_name(self) -> dict[str, Any]:
        columns = {"token_column": self.token_column, "tag_column": self.tag_column}
        return columns | {"tag_keys": self.kind.keys}


def _check_alike(first: Mapping[Path, Sentence]) -> None:
    """Raises InputError where some files have words, and others texts or pairs of them."""
    kinds = {
        path: "pairs" if s.pair is not None else "single texts" if s.texts else "words"
        for path, s in first.items()
    }
    one, *others = kinds
    for other in others:
        if kinds[other] != kinds[one]:
            raise InputError(
                f"{one} has {kinds[one]}, but {other} has {kinds[other]}; name columns with "
                "--text and --pair, or move one of them away"
            )


def _splits(
    raw: Mapping[str, RawFile], kind: Targets, scheme: str, codec: str, *, keep_paths: bool
) -> dict[str, Split]:
    found = "none"
    if kind.keys is not None and not kind.has_scheme and scheme != "auto":
        raise InputError(f"scheme {scheme!r} is given, but {kind.name} have no tag scheme")
    if kind.has_scheme:
        labels = (
            s.tags or ()
            for split, file in raw.items()
            for s in track(file.sentences, f"finding the tag scheme of {split}", "sentences")
        )
        found = detect_scheme(labels) if scheme == "auto" else scheme_name(scheme)
    splits = {}
    for split, file in raw.items():
        repaired = 0
        sentences = []
        for s in track(file.sentences, f"reading tags of {split}", "sentences"):
            tags = s.tags
            if tags is not None and kind.has_scheme:
                try:
                    tags, count = to_bio(tags, found)
                except TagError as error:
                    line = s.lines[error.index if len(s.lines) > 1 else 0]
                    raise InputError(
                        f"{error}, {file.unit} {line} of {file.path} (word "
                        f"{excerpt(s.words[error.index])}); give --tag-column if the tags are in "
                        "another column, --scheme if it is another, or --task labels"
                    ) from None
                repaired += count
            sentences.append(replace(s, tags=tags, lines=()))
        notes = replace(file.notes, scheme=found, encoding=codec, repaired_tags=repaired)
        splits[split] = Split(split, tuple(sentences), file.path if keep_paths else None, notes)
    return splits


def _files(place: Path) -> dict[str, Path]:
    """The split files of a folder, or a file as its only split."""
    if place.is_dir():
        return find_splits(place)
    if place.exists():
        named = splits_named(place.name) or splits_named(stem(place.name) + ".conll")
        return {named[0] if len(named) == 1 else "test": place}
    while not place.parent.exists():  # the part of the path that is missing
        place = place.parent
    raise MissingError(f"{place} does not exist{nearest_path(place)}")


def _name(place: Path) -> tuple[str, str | None]:
    """Name and language: ("wikiann-de", "de") for the folder wikiann/de."""
    folder = place if place.is_dir() else place.parent
    name, language = folder.name or "corpus", None
    if _LANGUAGE.fullmatch(name):
        language = name
        name = f"{folder.parent.name}-{name}".lstrip("-")
    return (name if folder == place else f"{name}-{stem(place.name)}"), language


def stem(name: str) -> str:
    """A file name without its data extensions: "train.txt.conll" -> "train"."""
    parts = name.split(".")
    while len(parts) > 1 and parts[-1].lower() in EXTENSIONS:
        parts.pop()
    return ".".join(parts)


def splits_named(name: str) -> tuple[str, ...]:
    """Splits that a file name may mean; several for an ambiguous name ("train-dev.conll")."""
    bare = stem(name)
    if name.startswith("."):
        return ()
    # Without a data extension the last part must be the split itself: eng.train, not train.py.
    part = bare if bare != name else bare.rsplit(".", 1)[-1]
    pieces = [p for p in re.split(r"[._\-\s]+", part.lower()) if p]
    found = {_SPLIT_WORDS[p] for p in pieces if p in _SPLIT_WORDS}
    if not found:
        found = {_SPLIT_WORDS[m.group(1)] for p in pieces if (m := _GLUED.fullmatch(p))}
    return () if _NO_DATA & set(pieces) else tuple(s for s in SPLITS if s in found)


def find_splits(folder: Path) -> dict[str, Path]:
    """By split the file of a folder that holds it; InputError where that is not clear."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder} cannot be listed: {error.strerror}") from None
    named = {p: splits_named(p.name) for p in entries if p.is_file() or not p.exists()}
    found: dict[str, Path] = {}
    for split in SPLITS:
        candidates = [p for p, splits in named.items() if split in splits]
        if len(candidates) > 1:
            raise InputError(
                f"{counted(len(candidates), f'{split} file')} in {folder}: "
                f"{listed(p.name for p in candidates)}; rename or move the others"
            )
        if candidates:
            path = candidates[0]
            if not path.exists():
                name = excerpt(path.name)
                raise InputError(f"{name} in {folder} is a link to nothing; mend or remove it")
            if len(named[path]) > 1:
                raise InputError(
                    f"{path} could be {' or '.join(named[path])} by its name; rename it"
                )
            found[split] = path
    if not found:
        seen = [p.name + "/" * p.is_dir() for p in entries if not p.name.startswith(".")]
        raise InputError(
            f"no split files in {folder}; it has {listed(seen) or 'no file at all'}; name them "
            "train, dev, test, with an extension such as .conll, .txt, .tsv or .jsonl, or none"
        )
    return found
