"""Loads a corpus: a folder of split files, one file, a dataset, or the embedded sample.

Tags are interpreted over all splits together (`tags`), so that a small dev file that would fit two
schemes gets the one of its corpus.
"""

import inspect
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import chain, islice
from pathlib import Path
from typing import Any, Self

from featbert.data.choices import usual_form
from featbert.data.conll import read_conll
from featbert.data.corpus import SPLITS, UNLABELLED, Corpus, Sentence, Split, of_shards
from featbert.data.examples import (
    CLASS_KEYS,
    IDS,
    SCORE_KEYS,
    TEXTS,
    Columns,
    Examples,
    delimiter_advice,
    usual_texts,
)
from featbert.data.files import (
    COLUMN_EXTENSIONS,
    Column,
    RawFile,
    Row,
    codec_name,
    excerpt,
    is_json,
    json_rows,
    lower_names,
    read_file,
    without_language,
)
from featbert.data.folder import LABEL_NAMES, SPLIT_WORDS, find_splits, splits_named, stem
from featbert.data.hub import PREFIX, HubName, dataset_of, dataset_rows, load_splits, read_table
from featbert.data.notation import Notation, notation_of
from featbert.data.rows import WORD_KEYS, Words, read_rows, text_and_spans, unanswered
from featbert.data.share import with_dev, with_fold
from featbert.data.spans import Questions, json_questions, may_be_answerable, suited_targets
from featbert.data.tables import FIRST_LINES, Table, fasttext_rows
from featbert.data.tags import (
    TAG,
    TagError,
    Targets,
    detect_scheme,
    only_labelled,
    scheme_name,
    targets_of,
    to_bio,
)
from featbert.errors import InputError, MissingError, nearest, nearest_path
from featbert.progress import notice, track
from featbert.text import listed

SAMPLE = "sample"
# Folders of the embedded samples, by what they are called.
SAMPLES = {SAMPLE: ".", "sample:choice": "choice", "sample:spans": "spans"}
# Languages of ISO 639-1.
_LANGUAGE = re.compile(
    "a[abefkmnrsvyz]|b[aegimnors]|c[aehorsuvy]|d[aevz]|e[elnostu]|f[afijory]|g[adlnuv]|"
    "h[aeiortuyz]|i[adegikostu]|j[av]|k[agijklmnorsuvwy]|l[abginotuv]|m[ghiklnrsty]|"
    "n[abdeglnorvy]|o[cjmrs]|p[ailst]|qu|r[mnouw]|s[acdegiklmnoqrstuvw]|t[aeghiklnorstwy]|"
    "u[gkrz]|v[eio]|w[ao]|xh|y[io]|z[ahu]"
)
# Of targets that columns show: what a file has, and the task for it.
_SUITED = {"choices": ("choices", "choice"), "spans": ("questions on passages", "spans")}
# Rows of a file that show what its columns hold.
_FIRST_ROWS = 100
# Fewer sentences do not show which columns have words and tags.
_FEW_SENTENCES = 10


def load_corpus(
    path: str | Path | None = None,
    *,
    targets: str | Targets | None = "entities",
    language: str | None = None,
    encoding: str = "utf-8",
    token_column: Column | None = None,
    tag_column: Column | None = None,
    delimiter: str | None = None,
    quoting: str = "auto",
    escape: str | None = None,
    label_names: str | None = None,
    scheme: str = "auto",
    text: Column | None = None,
    pair: Column | None = None,
    target: Column | None = None,
    limit: int | None = None,
    dev_share: float | None = None,
    folds: int | None = None,
    fold: int | None = None,
    answerable: bool = False,
    missing: str | None = None,
    first_choice: int | None = None,
    alone: str = "train",
) -> Corpus:
    """Load a corpus.

    Args:
        path: a folder with split files; one file, the corpus of the split in its name, else of
            `alone`; None or "sample" for the embedded sample (a folder of that name is "./sample"),
            "sample:choice" and "sample:spans" for those of other tasks; "hf:NAME", a dataset of
            the Hugging Face Hub (`hub`), or a folder with one. Files ending in .jsonl, .ndjson or
            .json hold JSON; .tsv and .csv examples or words, all others words in columns.
        targets: one of `tags.TARGETS`, or how to read others; None reads words or texts alone.
        language: BCP 47 code; by default that of a folder or a dataset's configuration named
            like one (wikiann/de), which then also names the corpus ("wikiann-de").
        token_column, tag_column, text, pair, target: keys, names in the header or of CoNLL-U
            ("upos"), or numbers from 1; by default those with usual names (`rows`, `tags`,
            `examples`), of words else the first and the last.
        label_names: names of tags or classes that are numbers, "O,B-PER,I-PER"; by default those in
            labels.txt beside the files, one a line.
        scheme: of entities: "iob1", "bio", "io", "bioes", or "auto" to detect it (`tags`).
        missing: values that are no answer, "-,NA": an empty one among them is an empty cell, and
            "" alone says that no value is such; by default what `answers` says.
        first_choice: number of the first choice in labels, 0 or 1; by default what they say.
        limit: reads only the first sentences or examples of each split.
        dev_share, folds, fold: a share of train that becomes dev, and the fold of K (from 1) that
            becomes test before: whole documents, or examples, always the same ones.

    The name of a corpus that is not read whole says so: "NAME-answerable", "NAME-first-100",
    "NAME-fold-1-of-5".

    Raises:
        MissingError: no such path or dataset, or a package that it needs is not installed.
        InputError: splits not found or ambiguous, or a file that cannot be read; names the line.
    """
    asked, kind = dict(locals()), targets_of(targets)
    for name, sign in (("delimiter", delimiter), ("escape", escape)):
        if sign is not None and (len(sign) != 1 or sign in '"\r\n'):
            raise InputError(f"{name} {sign!r} is not one character other than a quotation mark")
    if quoting not in ("auto", "none", "double"):
        raise InputError(f"quoting {quoting!r} is not auto, none or double")
    for option, given, fits in (
        ("scheme", scheme != "auto", kind.has_scheme),
        ("label_names", label_names, not kind.numbered),
        ("answerable", answerable, kind.name == "spans"),
        ("missing", missing is not None, kind.name != "spans"),
        ("first_choice", first_choice is not None, kind.name == "choices"),
    ):
        if given and kind.keys is not None and not fits:
            raise InputError(f"{option} is given, but it is not for {kind.name}; leave it out")
    marks = None if missing is None else frozenset(value.strip() for value in missing.split(","))
    marks = frozenset() if missing == "" else marks
    columns = Columns(
        text, pair, target, token_column, tag_column, delimiter, quoting, escape, marks
    )
    read = _Reader(kind, encoding, columns, answerable, limit)
    path = SAMPLE if path is None else str(path)
    place = Path(os.path.abspath(Path(path.removeprefix(PREFIX)).expanduser()))
    where = None if path in SAMPLES else dataset_of(path)
    if where is not None:
        if encoding != "utf-8":
            raise InputError(f"encoding {encoding!r} is given, but {path} is Unicode")
        raw, (name, found), source = read.dataset(where), where.corpus, where.source
        place = Path(where.name if where.is_folder else os.devnull)
    elif path in SAMPLES:
        (name, found), source, place = (path.replace(":", "-"), "en"), path, Path(os.devnull)
        with resources.as_file(resources.files("featbert.data").joinpath(SAMPLE)) as folder:
            raw = read.files(find_splits(folder / SAMPLES[source]))
    else:
        raw = read.files(_files(place, path, alone))
        (name, found), source = _name(place), str(place)
    raw = [(split, _bare(file)) for split, file in raw]
    _check_alike({file.path: file.sentences[0] for _, file in raw})
    if kind.keys is not None:
        more = {} if first_choice is None else {"first_choice": first_choice}
        raw = _settled(raw, kind, marks=missing is None, **more)
    beside = (place if place.is_dir() else place.parent) / LABEL_NAMES
    names = label_names.split(",") if label_names else []
    names = names or (read_file(beside, encoding) if beside.is_file() else [])
    if names and not kind.numbered and kind.keys is not None:
        raw = [(split, _named(file, names)) for split, file in raw]
    splits = _splits(raw, kind, scheme, codec_name(encoding), keep_paths=Path(source).is_absolute())
    if folds is not None or fold is not None:
        splits = with_fold(splits, folds or 0, fold or 0)
    if dev_share is not None:
        splits = with_dev(splits, dev_share)
    name += "-answerable" * answerable + (f"-first-{limit}" if limit else "")
    name += f"-fold-{fold}-of-{folds}" if fold else ""
    usual = inspect.signature(load_corpus).parameters
    own = {n: value for n, value in asked.items() if value != usual[n].default}
    reading = {n: value for n, value in own.items() if n not in ("path", "targets")}
    return Corpus(name, splits, language or found, source, kind.name or None, reading)


@dataclass(frozen=True)
class _Reader:
    kind: Targets
    encoding: str
    columns: Columns
    answerable: bool
    limit: int | None
    names: tuple[str, ...] = ()  # of the columns of a table without a header

    def files(self, files: Mapping[str, Sequence[Path]]) -> list[tuple[str, RawFile]]:
        """The files of the splits, each with its split."""
        tables = [path for paths in files.values() for path in paths if self._is_table(path)]
        heads = {
            path: Table(
                read_file(path, self.encoding, FIRST_LINES, returns=True), path, self.columns
            )
            for path in tables
            if len(tables) > 1
        }
        found = []
        for split, paths in files.items():
            read = self
            for path in paths:
                part = read._with_head(heads.get(path), [*heads.values()])
                file = part._file(path, split)
                found.append((split, file))
                if read.limit:
                    examples = len({s.lines[0] for s in file.sentences})
                    if examples == read.limit:
                        break
                    read = replace(read, limit=read.limit - examples)
        return self._in_same_columns(found)

    def _in_same_columns(self, raw: list[tuple[str, RawFile]]) -> list[tuple[str, RawFile]]:
        """The files, short ones read again where the first one shows other columns.

        InputError where two long ones seem to have other columns.
        """
        told = ((file, file.columns) for _, file in raw if file.columns)
        first, columns = next(told, (None, ()))
        found = []
        for split, file in raw:
            if first and file.columns and file.columns[1:] != columns[1:]:
                n = len(file.sentences)
                few = n < _FEW_SENTENCES and n <= len(first.sentences)
                if not few or file.columns[0] != columns[0]:
                    raise InputError(
                        f"words or tags seem to be in other columns of {file.path} than of "
                        f"{first.path}; name them with --token-column and --tag-column"
                    )
                file = self._words(file.path, columns[1:])
            found.append((split, file))
        return found

    def _is_table(self, path: Path) -> bool:
        """Whether the lines of a file are rows of a table, not words."""
        ending = path.suffix.lower().lstrip(".")
        of_texts = self.kind.form is not None or (not self.kind.keys and self.columns.of_texts)
        others = is_json(path) or ending in (*COLUMN_EXTENSIONS, "parquet", "arrow")
        return ending in ("tsv", "csv") or (of_texts and not others)

    def _with_head(self, table: Table | None, parts: Sequence[Table]) -> Self:
        """The reader of a part, where only some parts have a header."""
        headed = [one for one in parts if one.has_header]
        if table is None or len(headed) in (0, len(parts)):
            return self
        columns, keys = self.columns, self.kind.keys or (*CLASS_KEYS, *SCORE_KEYS)
        if not table.has_header:  # it has the columns of a header that names answers, too
            alike = (one.names for one in headed if len(one.names) == table.width)
            named = (n for n in alike if columns.in_header(n) or {*keys} & lower_names(n).keys())
            if names := tuple(next(named, ())):
                notice(f"{table.path} has no header; columns are read as {listed(names)}")
            return replace(self, names=names)
        by_number = dict(enumerate(table.names, 1))
        usual = usual_texts(table.names)
        if isinstance(columns.text, int) and usual and by_number.get(columns.text) not in usual:
            columns = replace(columns, text=None, pair=None)
        same = all(one.width == table.width for one in parts)
        if isinstance(columns.target, int):
            name = by_number.get(columns.target, "")
            if not same or name in usual or name.lower() in IDS:
                columns = replace(columns, target=None)
        return replace(self, columns=columns)

    def _file(self, path: Path, split: str) -> RawFile:
        if path.suffix.lower() in (".parquet", ".arrow"):
            if self.encoding != "utf-8":
                raise InputError(f"encoding {self.encoding!r} is given, but {path} is Unicode")
            return self._split(read_table(path), path, split)

        if is_json(path):
            lines = track(read_file(path, self.encoding), f"reading {path.name}", "lines")
            return self._rows(json_questions(json_rows(lines, path), path), path, split)
        if self._is_table(path):
            content = read_file(path, self.encoding, returns=True)
            if content and content[0].lstrip().startswith("__label__"):
                return self._rows(fasttext_rows(content, path), path, split, in_columns=True)
            table = Table(content, path, self.columns)
            names = lower_names(table.names).keys()
            if self.kind.form is None and not names.isdisjoint({*WORD_KEYS} - {*TEXTS}):
                return self._words(path)
            return self._rows(table.rows(self.names), path, split, in_columns=True)
        if self.kind.form is not None:
            raise InputError(
                f"{path} has words, not texts with {self.kind.name}; use --task entities or "
                "labels, or name files with columns .tsv, .csv or .jsonl"
            )
        return self._words(path)

    def _words(self, path: Path, chosen: tuple[int, ...] | None = None) -> RawFile:
        read, limit = self.encoding, self.limit
        return read_conll(path, self.columns, self.kind, encoding=read, limit=limit, chosen=chosen)

    def _rows(
        self, rows: Iterator[Row], path: Path, split: str, *, in_columns: bool = False
    ) -> RawFile:
        """What rows hold: examples, or a sentence each, or else words that are `in_columns`."""
        begin = [*islice(rows, 1)]
        if in_columns and self._form(path, begin[0].values if begin else {}) is None:
            del rows  # and its bar of progress
            return self._words(path)
        begin += islice(rows, min(_FIRST_ROWS, self.limit or _FIRST_ROWS) - 1)
        first = begin[0] if begin else None
        if first is not None:
            first = replace(first, values=_filled([row.values for row in begin]))
        must = self.kind.keys is not None and split == "train"
        hidden = first and not (self.kind.form or must) and unanswered(first.values, self.kind.keys)
        form = None if hidden else self._form(path, first.values if first else {})
        read = (form or Words)(self.columns, self.kind.keys, path, must)
        if first is not None:
            read.begin(first)
        rows = chain(begin, rows)
        rows = filter(may_be_answerable, rows) if self.answerable else rows
        return read_rows(rows, read, self.limit)

    def _form(self, path: Path, values: Mapping[Any, Any]) -> type[Examples] | None:
        """What reads such rows as examples; None where they are of words.

        InputError where the targets are of another kind.
        """
        kind, form = self.kind, self.kind.form or Examples
        lists = lower_names([name for name, value in values.items() if isinstance(value, list)])
        words = self.columns.token_column is not None or not lists.keys().isdisjoint(WORD_KEYS)
        words = words or text_and_spans(values) is not None
        usual = None if words else usual_form(values)
        cells = {str(cell).strip().lower() for item in values.items() for cell in item}
        of_words = words or not cells.isdisjoint({*WORD_KEYS} - {*TEXTS})
        of_texts = bool(values) and path.suffix.lower() == ".csv" and not of_words
        if not (self.columns.of_texts or kind.form or of_texts or usual):
            return None
        named = self.columns.text or self.columns.pair
        suited = None if named else suited_targets(values)
        if kind.keys is not None and (kind.form is None or suited not in (None, kind.name)):
            has, task = _SUITED.get(suited or "", ("texts", "classification or regression"))
            how = "words with --token-column" if kind.form is None else "texts with --text, --pair"
            raise InputError(
                f"{path} has {has}, no {kind.name}; --task {task} reads them, or name the columns "
                f"of {how}{delimiter_advice(values)}"
            )
        if kind.form is None and suited == "spans":
            return Questions  # whose passages are drawn whole, as where answers are read
        return usual if usual and suited == "choices" and form.of_lines else form

    def dataset(self, where: HubName) -> list[tuple[str, RawFile]]:
        """The splits with usual names, each with its name."""
        loaded = load_splits(where)
        named: dict[str, str] = {}
        for split in SPLITS:
            # MultiNLI has two dev and test parts; the matched ones have the genres of train.
            for suffix in ("", "_matched"):
                bare = {name: name.lower().removesuffix(suffix) for name in loaded}
                names = [n for n in loaded if SPLIT_WORDS.get(bare[n]) == split]
                if len(names) > 1:
                    raise InputError(f"several {split} splits in {where.source}: {listed(names)}")
                if names:
                    named[split] = names[0]
                    break
        if not named:
            raise InputError(f"no train, dev or test in {where.source}; it has {listed(loaded)}")
        if others := loaded.keys() - named.values():
            notice(f"not read of {where.source}: {listed(sorted(others))}")
        return [
            (split, self._split(loaded[name], Path(where.source, name), split))
            for split, name in named.items()
        ]

    def _split(self, dataset: Any, path: Path, split: str) -> RawFile:
        return self._rows(dataset_rows(dataset, path, names=not self.kind.numbered), path, split)


def _filled(rows: Sequence[Mapping[Any, Any]]) -> dict[Any, Any]:
    """By column the first value of rows that is not empty."""
    values: dict[Any, Any] = {}
    for row in rows:
        empty = {name for name, value in values.items() if value in (None, "", [])}
        values |= {
            name: value for name, value in row.items() if name in empty or name not in values
        }
    return values


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


def _settled(
    raw: Sequence[tuple[str, RawFile]], kind: Targets, **more: Any
) -> list[tuple[str, RawFile]]:
    """The files with answers in one notation; a split without any answer hides them."""
    files = [file for _, file in raw]
    files = kind.form.settled(files, **more) if kind.form else files
    settled = [(split, file) for (split, _), file in zip(raw, files, strict=True)]
    answered = {
        split
        for split, file in settled
        if any(s.tags and (kind.form or {*s.tags} != {UNLABELLED}) for s in file.sentences)
    }
    if not answered and not kind.form:
        path = files[0].path
        raise InputError(
            f"no word of {path} has a tag; if they are in another column, --tag-column"
        )
    return [(n, file if n in answered else _without_answers(file)) for n, file in settled]


def _bare(file: RawFile) -> RawFile:
    """The file, without a language before every word."""
    code, sentences = without_language(file.sentences)
    if not code:
        return file
    dialects = (*file.notes.dialects, f"words without {code} before each")
    return replace(file, sentences=tuple(sentences), notes=replace(file.notes, dialects=dialects))


def _without_answers(file: RawFile) -> RawFile:
    sentences = tuple(replace(s, tags=None) for s in file.sentences)
    return replace(file, sentences=sentences, notes=replace(file.notes, missing={}))


def _named(file: RawFile, names: Sequence[str]) -> RawFile:
    """The file with names for tags that are numbers; InputError for one without a name."""
    known = {str(number): name.strip() for number, name in enumerate(names)}
    found = {tag for s in file.sentences for tag in s.tags or ()}
    if unnamed := [tag for tag in found - known.keys() if tag.isdecimal()]:
        raise InputError(
            f"no name for the label {min(unnamed)} of {file.path}; there are {len(known)}, from 0"
        )
    tagged = ((s, s.tags and tuple(known.get(tag, tag) for tag in s.tags)) for s in file.sentences)
    return replace(file, sentences=tuple(replace(s, tags=tags) for s, tags in tagged))


def _splits(
    raw: Sequence[tuple[str, RawFile]], kind: Targets, scheme: str, codec: str, *, keep_paths: bool
) -> dict[str, Split]:
    found, notation = "none", Notation()
    if kind.has_scheme:
        notation = notation_of({tag for _, file in raw for tag in _tags(file)})
        if str(notation):
            raw = [(split, _in_usual_notation(file, notation)) for split, file in raw]
        labels = (
            [tag or "O" for tag in s.tags or ()]
            for split, file in raw
            for s in track(file.sentences, f"finding the tag scheme of {split}", "sentences")
        )
        found = detect_scheme(labels) if scheme == "auto" else scheme_name(scheme)
    parts: dict[str, list[Split]] = {}
    for split, file in raw:
        repaired = 0
        sentences = []
        for s in track(file.sentences, f"reading tags of {split}", "sentences"):
            tags = s.tags
            if tags is not None and kind.has_scheme:
                try:
                    tags, count = to_bio(tags, found)
                except TagError as error:
                    if scheme == "auto":
                        fault = f"{excerpt(tags[error.index])} is no tag of entities"
                        error = TagError(f"{fault} (O, or as B-PER, I-PER)", error.index)
                    raise _refused(error, s, file) from None
                repaired += count
            sentences.append(replace(s, tags=tags, lines=()))
        dialects = (*file.notes.dialects, *filter(None, [str(notation)]))
        notes = replace(
            file.notes, scheme=found, encoding=codec, repaired_tags=repaired, dialects=dialects
        )
        part = Split(split, tuple(sentences), file.path if keep_paths else None, notes)
        parts.setdefault(split, []).append(part)
    splits = {split: of_shards(shards) for split, shards in parts.items()}
    for dialect in dict.fromkeys(one for split in splits.values() for one in split.notes.dialects):
        notice(f"read {dialect}")
    return splits


def _unusual(file: RawFile) -> Iterator[str]:
    return (tag for tag in _tags(file) if tag != "O" and not TAG.fullmatch(tag))


def _tags(file: RawFile) -> Iterator[str]:
    return (tag for s in file.sentences for tag in s.tags or () if tag != UNLABELLED)


def _in_usual_notation(file: RawFile, notation: Notation) -> RawFile:
    sentences = []
    for s in file.sentences:
        try:
            tags = s.tags and only_labelled(s.tags, notation.read(s.tags))
            sentences.append(replace(s, tags=tags))
        except TagError as error:
            raise _refused(error, s, file) from None
    return replace(file, sentences=tuple(sentences))


def _refused(error: TagError, sentence: Sentence, file: RawFile) -> InputError:
    """The error with its place, and what to do."""
    tag, word = ((row or ("",))[error.index] for row in (sentence.tags, sentence.words))
    line = sentence.lines[error.index if len(sentence.lines) > 1 else 0]
    advice = "give --tag-column if the tags are in another, or --task labels"
    if tag.isdecimal():
        advice = f"give names with --label-names, or one a line in {LABEL_NAMES}"
    elif not any(map(str.isalnum, tag)):
        advice = f"if it means that there is no tag, --missing={tag}; else " + advice
    elif " " in tag:
        advice = "if it holds a whole sentence, write JSONL: lists of words and tags"
    elif any(" " in word for word in sentence.words):
        advice = "if these are texts, give --task classification and --text"
    elif line == 1 and file.unit == "line" and [*_unusual(file)] == [tag]:
        advice = f"if line 1 is a header, --token-column {sentence.words[0]}; " + advice
    return InputError(
        f"{error}, {file.unit} {line} of {file.path} (word {excerpt(word)}); {advice}"
    )


def _files(place: Path, given: str, alone: str) -> dict[str, tuple[Path, ...]]:
    """The split files of a folder, or a file as its only split, `alone` if its name says none."""
    if place.is_dir():
        return find_splits(place)
    if place.exists():
        named = splits_named(place.name) or splits_named(stem(place.name) + ".conll")
        return {named[0] if len(named) == 1 else alone: (place,)}
    while not place.parent.exists():  # the part of the path that is missing
        place = place.parent
    near = nearest_path(place) or nearest(given, SAMPLES)
    hub = "" if given[:1] in "/.~" else f"; a dataset of the Hub is written {PREFIX}{given}"
    raise MissingError(f"{place} does not exist{near}{hub}")


def _name(place: Path) -> tuple[str, str | None]:
    """Name and language: ("wikiann-de", "de") for the folder wikiann/de.

    Bytes that are no UTF-8 are written out.
    """
    folder = place if place.is_dir() else place.parent
    name, language = folder.name or "corpus", None
    if _LANGUAGE.fullmatch(name):
        language = name
        name = f"{folder.parent.name}-{name}".lstrip("-")
    name = name if folder == place else f"{name}-{stem(place.name)}"
    return name.encode(errors="backslashreplace").decode(), language
