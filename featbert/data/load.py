"""Loads a corpus: a folder of split files, one file, a dataset, or an embedded sample.

Tags are interpreted across all splits (`tags`): a small dev file that fits two schemes gets the
scheme of its corpus.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, Self

from featbert.data.annotations import is_unanswered, text_and_spans
from featbert.data.brat import BratReader
from featbert.data.choices import ChoiceReader
from featbert.data.columns import (
    EXAMPLE_KEYS,
    IDS,
    WORD_KEYS,
    WORD_ONLY_KEYS,
    delimiter_advice,
    looks_like_choices,
    looks_like_texts,
    lower_names,
    usual_columns,
    usual_targets,
    usual_texts,
)
from featbert.data.conll import has_columns, read_conll
from featbert.data.corpus import (
    LANGUAGES,
    SPLITS,
    UNLABELLED,
    Corpus,
    ReadingNotes,
    Sentence,
    Split,
    of_shards,
)
from featbert.data.examples import TextReader
from featbert.data.files import (
    COLUMN_EXTENSIONS,
    RawFile,
    RawRow,
    codec_name,
    extension,
    read_file,
    without_language,
)
from featbert.data.folder import (
    LABEL_NAMES,
    SPLIT_WORDS,
    brat_splits,
    class_splits,
    find_splits,
    not_read,
    slot_splits,
    splits_named,
    stem,
)
from featbert.data.hub import PREFIX, HubName, dataset_of, dataset_rows, load_splits, read_table
from featbert.data.jsonl import is_json, json_rows, literal
from featbert.data.notation import Notation, notation_of
from featbert.data.options import ReadingOptions
from featbert.data.rows import WordReader, read_rows
from featbert.data.sets import not_one_class
from featbert.data.share import with_dev, with_fold
from featbert.data.spans import QuestionReader, json_questions, may_be_answerable
from featbert.data.tables import Table, corpus_tables, fasttext_rows, is_fasttext
from featbert.data.tags import (
    TAG,
    TagError,
    TargetKind,
    detect_scheme,
    only_labelled,
    scheme_name,
    target_kind,
    to_bio,
)
from featbert.errors import (
    FormError,
    InputError,
    MissingError,
    nearest,
    nearest_path,
    other_task,
    spelling,
)
from featbert.io import expanded
from featbert.progress import notice, track
from featbert.text import excerpt, listed

SAMPLE = "sample"
# Folders of the embedded samples.
SAMPLES = {SAMPLE: "."} | {f"sample:{name}": name for name in ("choice", "multilabel", "spans")}
# By targets that columns show: the content of a file, and the task for it.
_TASKS = {"choices": ("choices", "choice"), "spans": ("questions on passages", "spans")}
# Rows of a file that show the content of its columns.
_FIRST_ROWS = 100
# Fewer sentences do not show which columns have words and tags.
_FEW_SENTENCES = 10


def load_corpus(
    path: str | Path | None = None,
    options: ReadingOptions = ReadingOptions(),  # noqa: B008
    *,
    targets: str | TargetKind | None = "entities",
) -> Corpus:
    """Load a corpus.

    Args:
        path: a folder with split files or with texts of brat (`folder`), or one file, which is the
            split in its name or `options.alone`. None or "sample" is the embedded sample (a folder
            with this name is "./sample"), "sample:choice", ... are samples of other tasks.
            "hf:NAME" is a dataset of the Hugging Face Hub (`hub`), or a folder with one. Files
            ending in .jsonl, .ndjson or .json hold JSON, .tsv and .csv examples or words, all
            others words in columns.
        options: how the files are read.
        targets: one of `tags.TARGETS`, or another kind. None reads only words or texts.

    The name of a corpus that is not read whole says it: "NAME-answerable", "NAME-first-100",
    "NAME-fold-1-of-5".

    Raises:
        MissingError: no such path or dataset, or a package that it needs is not installed.
        InputError: splits not found or ambiguous, or an unreadable file. Names the line.
    """
    kind, encoding = target_kind(targets), codec_name(options.encoding)
    for option, fits in (
        ("file_scheme", kind.has_scheme),
        ("label_names", not kind.numbered),
        ("answerable", kind.name == "spans"),
        ("missing", kind.name != "spans"),
        ("first_choice", kind.name == "choices"),
        ("class_separator", bool(kind.separator)),
        *((column, kind.reader is None) for column in ("nested", "token_column", "tag_column")),
    ):
        if option in options.changed and kind.keys is not None and not fits:
            raise FormError(f"is not for {kind.name}; leave it out", setting=option)
    reader = _CorpusReader(kind, options)
    path = SAMPLE if path is None else str(path)
    place, folder = Path(os.path.abspath(expanded(path.removeprefix(PREFIX)))), None
    dataset = None if path in SAMPLES else dataset_of(path)
    if dataset is not None:
        if options.encoding != "utf-8":
            raise InputError(f"is {options.encoding!r}, but {path} is Unicode", setting="encoding")
        files, (name, language), source = reader.dataset(dataset), dataset.corpus, dataset.source
        folder = Path(dataset.name) if dataset.is_folder else None
    elif path in SAMPLES:
        name, language, source = path.replace(":", "-"), "en", path
        with resources.as_file(resources.files("featbert.data").joinpath(SAMPLE)) as samples:
            files = reader.files(find_splits(samples / SAMPLES[source]))
    else:
        if texts_of_splits := brat_splits(place, options.alone):
            folders = [n for n in not_read(place) if n[-1] == "/"] if place.is_dir() else []
            if folders:
                notice(f"not read of {place}: {listed(folders)}")
            files = [reader.brat(texts, split) for split, texts in texts_of_splits.items()]
        elif texts_of_splits := class_splits(place, options.alone):
            files = [reader.classes(texts, split) for split, texts in texts_of_splits.items()]
        elif slots := slot_splits(place):
            files = [reader.slots(*paths, split=split) for split, paths in slots.items()]
        else:
            files = reader.files(_files(place, path, options.alone))
        (name, language), source = _name(place), str(place)
        folder = place if place.is_dir() else place.parent
    files = [_without_language(file) for file in files]
    _check_alike(files)
    if kind.keys is not None:
        files = _settled(files, kind, options)
    names = _label_names(folder, options)
    if names and kind.has_names:
        files = [_with_names(file, names, kind) for file in files]
        labels = {part for file in files for tag in _tags(file) for part in _parts(tag, kind)}
        if options.label_names and labels and labels.isdisjoint(map(str.strip, names)):
            fault = (
                f"names numbers, but no label of {files[0].path} is one: {listed(sorted(labels))}"
            )
            raise InputError(f"{fault}; leave it out", setting="label_names")
    splits = _splits(
        files, kind, options.file_scheme, encoding, keep_paths=Path(source).is_absolute()
    )
    if options.folds is not None or options.fold is not None:
        splits = with_fold(splits, options.folds or 0, options.fold or 0)
    if options.dev_share is not None:
        splits = with_dev(splits, options.dev_share, classes=kind.name == "classes")
    name += "-answerable" * options.answerable
    name += f"-first-{options.limit}" if options.limit else ""
    name += f"-fold-{options.fold}-of-{options.folds}" if options.fold else ""
    language = options.language or language
    return Corpus(name, splits, language, source, kind.name or None, options.changed)


def _label_names(folder: Path | None, options: ReadingOptions) -> list[str]:
    """Names of numbered labels: the given ones, or those of a file in the corpus's folder."""
    if options.label_names:
        return options.label_names.split(",")
    if folder is None or not (file := folder / LABEL_NAMES).is_file():
        return []
    return list(read_file(file, options.encoding))


@dataclass(frozen=True)
class _CorpusReader:
    """Reads the files of a corpus.

    Attributes:
        names: of the columns of a table without a header.
        train: notes of the first part. Other parts have the same columns.
    """

    kind: TargetKind
    options: ReadingOptions
    names: tuple[str, ...] = ()
    train: ReadingNotes = field(default_factory=ReadingNotes)

    def files(self, paths_of_splits: Mapping[str, Sequence[Path]]) -> list[RawFile]:
        """The files of the splits."""
        lines = {
            path: read_file(path, self.options.encoding, returns=True)
            for path in chain(*paths_of_splits.values())
            if self._is_table(path)
        }
        tables = corpus_tables(lines, self.options)
        files: list[RawFile] = []
        shown = self._with_shown_columns([*tables.values()])
        for split, paths in paths_of_splits.items():
            limit = self.options.limit
            for path in paths:
                reader = shown._with_head(tables.get(path), [*tables.values()])
                options = replace(reader.options, limit=limit)
                reader = replace(reader, options=options)._after(files)
                file = reader._file(path, split, lines.get(path), tables.get(path))
                files.append(replace(file, split=split))
                if limit is not None:
                    limit -= len({(s.lines[0], s.document) for s in file.sentences})
                    if not limit:
                        break
        return self._in_equal_columns(files)

    def _after(self, files: Sequence[RawFile]) -> Self:
        """The reader of a part, which has the columns of the first part."""
        return replace(self, train=files[0].notes) if files else self

    def _in_equal_columns(self, files: Sequence[RawFile]) -> list[RawFile]:
        """The files. A file without a header is read again in the columns of a header as wide.

        If there is none, a short file is read again in the columns of the first one.

        InputError if two long ones seem to have different columns.
        """
        headed = {f.columns[0]: f for f in reversed(files) if f.columns and f.notes.header_lines}
        first = next((f for f in files if f.columns and not f.notes.header_lines), None)
        equal = []
        for file in files:
            if first and file.columns and not file.notes.header_lines:
                model = headed.get(file.columns[0], first)
                n = len(file.sentences)
                is_short = n < _FEW_SENTENCES and n <= len(first.sentences)
                if file.columns[1:] != model.columns[1:]:
                    if model is first and not (is_short and file.columns[0] == first.columns[0]):
                        columns = f"{spelling('token_column')}, {spelling('tag_column')}"
                        raise InputError(
                            f"words or tags seem to be in other columns of {file.path} than of "
                            f"{first.path}; name {columns}"
                        )
                    n_columns, token, tag = model.columns
                    options = replace(
                        self.options,
                        limit=self.options.limit and n,
                        token_column=token + 1,
                        tag_column=tag % n_columns + 1,
                    )
                    again = read_conll(file.path, options, self.kind)
                    file = replace(again, split=file.split)
            equal.append(file)
        return equal

    def _is_table(self, path: Path) -> bool:
        """Whether the lines of a file are rows of a table, not words."""
        ending = extension(path)
        has_texts = self.kind.reader or (not self.kind.keys and self.options.name_texts)
        is_other = is_json(path) or ending in (*COLUMN_EXTENSIONS, "parquet", "arrow")
        return ending in ("tsv", "csv") or bool(has_texts and not is_other)

    def _with_shown_columns(self, tables: Sequence[Table]) -> Self:
        """The reader of tables without usual names, with the columns that the first one shows."""
        options, reader = self.options, self.kind.reader
        is_named = {options.text, options.pair, options.target} != {None}
        has_usual_names = any(t.has_header and not t.has_other_names for t in tables)
        if reader is None or not reader.in_columns or is_named or has_usual_names or not tables:
            return self
        first = tables[0]
        are_equal = first.has_header or len({table.width for table in tables}) == 1
        shown = first.shown_columns() if are_equal else {}
        head = f"{first.path} has no header: "
        if first.has_header:
            head = f"{first.path} has the header {listed(first.names)}: "
            shown = {option: first.names[number - 1] for option, number in shown.items()}
        if shown:
            columns = ", ".join(f"{option} is column {column}" for option, column in shown.items())
            notice(head + columns)
        return replace(self, options=replace(options, **shown))

    def _with_head(self, table: Table | None, parts: Sequence[Table]) -> Self:
        """The reader of a part, if only some of the parts have a header."""
        headed = [part for part in parts if part.has_header]
        if table is None or len(headed) in (0, len(parts)):
            return self
        options, keys = self.options, self.kind.keys or EXAMPLE_KEYS
        header_names = lower_names([*chain(*(part.names for part in headed))]).keys()
        if not table.has_header and not header_names.isdisjoint(table.first_cells):
            table.take_header()  # with another name of its text
        if not table.has_header:  # it has the columns of a header that names answers, too
            fitting = (part.names for part in headed if len(part.names) == table.width)
            headers = (n for n in fitting if options.are_in(n) or usual_columns(n, keys))
            if names := tuple(next(headers, ())):
                notice(f"{table.path} has no header; columns are read as {listed(names)}")
            return replace(self, names=names)
        by_number, usual = dict(enumerate(table.names, 1)), usual_texts(table.names)
        if isinstance(options.text, int) and usual and by_number.get(options.text) not in usual:
            options = replace(options, text=None, pair=None)
        if isinstance(options.target, int):
            name = by_number.get(options.target, "")
            differ = any(part.width != table.width for part in parts)
            if differ or name in usual or name.lower() in IDS:
                options = replace(options, target=None)
        return replace(self, options=options)

    def _file(
        self, path: Path, split: str, content: list[str] | None, table: Table | None
    ) -> RawFile:
        """The content of a file. Of tables it is read already."""
        encoding = self.options.encoding
        if extension(path) in ("parquet", "arrow"):
            if encoding != "utf-8":
                raise InputError(f"is {encoding!r}, but {path} is Unicode", setting="encoding")
            return self._split(read_table(path), path, split)
        if is_json(path):
            lines = track(read_file(path, encoding), f"reading {path.name}", "lines")
            return self._rows(json_questions(json_rows(lines, path), path), path, split)
        if content is not None and is_fasttext(content):
            return self._rows(fasttext_rows(content, path), path, split, in_columns=True)
        if table is not None:
            has_words = bool(usual_columns(table.names, WORD_ONLY_KEYS))
            if self.kind.reader or not has_words:
                return self._rows(table.rows(self.names), path, split, in_columns=True)
        if self.kind.reader is not None:
            raise FormError(
                f"{path} has words, not texts with {self.kind.name}; use "
                f"{other_task('entities or labels')}, or name files with columns .tsv, .csv or "
                ".jsonl"
            )
        return read_conll(path, self.options, self.kind)

    def brat(self, texts: Sequence[Path], split: str) -> RawFile:
        """The texts of a split that brat's files annotate."""
        path = texts[0] if len(texts) == 1 else texts[0].parent
        if self.kind.reader is not None:
            task = other_task("entities")
            raise FormError(f"{path} has entities of brat, no {self.kind.name}; use {task}")
        reader = BratReader(path, self.options.encoding, with_entities=self.kind.keys is not None)
        file = self._rows(iter(reader.rows(texts, self.options.limit)), path, split)
        return replace(file, notes=replace(file.notes, **reader.notes), split=split)

    def classes(self, texts: Sequence[Path], split: str) -> RawFile:
        """The texts of a split in folders of classes."""
        folder = texts[0].parents[1]
        if all(has_columns(self._text(path)) for path in texts[:_FIRST_ROWS]):
            raise InputError(
                f"the texts in sub-folders of {folder} are words with tags in columns; put one "
                "file of them for each part, such as train.conll, into the folder of the corpus"
            )
        if self.kind.reader is None and self.kind.keys is not None:
            task = other_task("classification")
            raise FormError(
                f"{folder} has texts in folders of classes, no {self.kind.name}; use {task}, or "
                "put one file of words with tags for each part into the folder of the corpus"
            )
        rows = (
            RawRow(
                {"text": self._text(path), "label": path.parent.name},
                str(path),
                number,
                "file",
            )
            for number, path in enumerate(track(texts, f"reading {folder.name}", "files"), 1)
        )
        return replace(self._rows(rows, folder, split), split=split)

    def slots(self, words: Path, tags: Path, *, split: str) -> RawFile:
        """The words of a split and their tags, a text in each line of both files."""
        if self.kind.reader is not None:
            task = other_task("entities")
            raise FormError(f"{words} has words with tags, no {self.kind.name}; use {task}")
        lines = (read_file(path, self.options.encoding) for path in (words, tags))
        rows = (
            RawRow({"tokens": text.split(), "tags": row.split()}, f"line {n} of {words}", n)
            for n, (text, row) in enumerate(zip_longest(*lines, fillvalue=""), 1)
        )
        return replace(self._rows(rows, words, split), split=split)

    def _text(self, path: Path) -> str:
        return "\n".join(read_file(path, self.options.encoding))

    def _rows(
        self, rows: Iterator[RawRow], path: Path, split: str, *, in_columns: bool = False
    ) -> RawFile:
        """The content of rows: examples, or a sentence each, or words that are `in_columns`."""
        begin = [*islice(rows, 1)]
        if in_columns and self._reader(path, begin[0].values if begin else {}) is None:
            del rows  # and its bar of progress
            return read_conll(path, self.options, self.kind)
        begin += islice(rows, min(_FIRST_ROWS, self.options.limit or _FIRST_ROWS) - 1)
        values = _filled([row.values for row in begin])
        kind, must = self.kind, self.kind.keys is not None and split == "train"
        hides = begin and not (kind.reader or must) and is_unanswered(values, kind.keys)
        form = None if hides else self._reader(path, values)
        of_train = self.train.text_columns, self.train.answer_columns
        reader = (form or WordReader)(self.options, kind.keys, path, must, *of_train)
        if begin:
            reader.begin(replace(begin[0], values=values))
        rows = chain(begin, rows)
        rows = filter(may_be_answerable, rows) if self.options.answerable else rows
        return read_rows(rows, reader)

    def _reader(self, path: Path, values: Mapping[Any, Any]) -> type[TextReader] | None:
        """The reader of examples, or None for words. InputError for targets of another kind."""
        kind, options = self.kind, self.options
        lists = [name for name, value in values.items() if isinstance(value, list)]
        has_words = options.token_column is not None or bool(usual_columns(lists, WORD_KEYS))
        has_words = has_words or text_and_spans(values) is not None
        has_texts = not has_words and (looks_like_choices(values) or looks_like_texts(values))
        cells = {str(cell).strip().lower() for item in values.items() for cell in item}
        is_word_table = has_words or not cells.isdisjoint(WORD_ONLY_KEYS)
        is_csv = bool(values) and extension(path) == "csv" and not is_word_table
        if not (options.name_texts or kind.reader or is_csv or has_texts):
            return None
        is_named = options.text or options.pair
        suited = None if is_named else usual_targets(values)
        if kind.keys is not None and (kind.reader is None or suited not in (None, kind.name)):
            spans = text_and_spans({name: literal(value) for name, value in values.items()})
            if kind.has_scheme and spans is not None:
                raise InputError(f"{path} has spans in a table; export JSON, whose spans are read")
            content, task = _TASKS.get(
                suited or "", ("texts", "classification, multilabel or regression")
            )
            names = ("text", "pair") if kind.reader else ("token_column",)
            advice = delimiter_advice(values, path)
            raise FormError(
                f"{path} has {content}, no {kind.name}; {other_task(task)} reads them, or name "
                f"columns with {', '.join(map(spelling, names))}{advice}"
            )
        if kind.reader is None and suited == "spans":
            return QuestionReader  # its passages are documents, as if answers were read
        if kind.reader is None and has_texts and suited == "choices":
            return ChoiceReader
        return kind.reader or TextReader

    def dataset(self, where: HubName) -> list[RawFile]:
        """The splits with usual names."""
        loaded = load_splits(where)
        chosen: dict[str, str] = {}
        for split in SPLITS:
            # MultiNLI's matched dev and test parts have the genres of train.
            for suffix in ("", "_matched"):
                bare = {name: name.lower().removesuffix(suffix) for name in loaded}
                names = [n for n in loaded if SPLIT_WORDS.get(bare[n]) == split]
                if len(names) > 1:
                    raise InputError(f"several {split} splits in {where.source}: {listed(names)}")
                if names:
                    chosen[split] = names[0]
                    break
        if not chosen:
            raise InputError(f"no train, dev or test in {where.source}; it has {listed(loaded)}")
        if unread := loaded.keys() - chosen.values():
            notice(f"not read of {where.source}: {listed(sorted(unread))}")
        files: list[RawFile] = []
        for split, name in chosen.items():
            file = self._after(files)._split(loaded[name], Path(where.source, name), split)
            files.append(replace(file, split=split))
        return files

    def _split(self, dataset: Any, path: Path, split: str) -> RawFile:
        return self._rows(dataset_rows(dataset, path, names=not self.kind.numbered), path, split)


def _filled(rows: Sequence[Mapping[Any, Any]]) -> dict[Any, Any]:
    """By column the first value of rows that is not empty."""
    values: dict[Any, Any] = {}
    for row in rows:
        empty = {name for name, value in values.items() if value in (None, "", [])}
        values |= {n: value for n, value in row.items() if n in empty or n not in values}
    return values


def _check_alike(files: Sequence[RawFile]) -> None:
    """Raises InputError if some files have words, and others texts or pairs of them."""

    def content(file: RawFile) -> str:
        s = file.sentences[0]
        return "pairs" if s.pair is not None else "single texts" if s.texts else "words"

    first = files[0]
    for file in files:
        if content(file) != content(first):
            raise InputError(
                f"{first.path} has {content(first)}, but {file.path} has {content(file)}; name "
                f"columns with {spelling('text')} and {spelling('pair')}, or move one of them away"
            )


def _settled(files: Sequence[RawFile], kind: TargetKind, options: ReadingOptions) -> list[RawFile]:
    """The files with answers in one notation. A split without any answer hides them."""
    files = kind.reader.settled(files, options) if kind.reader else files
    answered = {
        file.split
        for file in files
        if any(s.tags and (kind.reader or {*s.tags} != {UNLABELLED}) for s in file.sentences)
    }
    if not answered and not kind.reader:
        raise InputError(
            f"no word of {files[0].path} has a tag; if they are in another column, name it with "
            f"{spelling('tag_column')}"
        )
    return [file if file.split in answered else _without_answers(file) for file in files]


def _without_answers(file: RawFile) -> RawFile:
    return file.with_sentences((replace(s, tags=None) for s in file.sentences), missing={})


def _without_language(file: RawFile) -> RawFile:
    """The file, without a language code before every word."""
    code, sentences = without_language(file.sentences)
    if not code:
        return file
    dialects = (*file.notes.dialects, f"words without {code} before each")
    return file.with_sentences(sentences, dialects=dialects)


def _parts(tag: str, kind: TargetKind) -> list[str]:
    """The classes in a tag."""
    return tag.split(kind.separator) if kind.separator else [tag]


def _with_names(file: RawFile, names: Sequence[str], kind: TargetKind) -> RawFile:
    """The file with names for the numbers in tags. InputError for a number without a name."""
    by_number = {str(number): name.strip() for number, name in enumerate(names)}
    if several := [name for name in by_number.values() if len(_parts(name, kind)) > 1]:
        place = f"{spelling('label_names')} or {LABEL_NAMES}"
        raise InputError(f"{not_one_class(several[0])}, {place} for {file.path}")
    numbers = {part for s in file.sentences for tag in s.tags or () for part in _parts(tag, kind)}
    if unnamed := [number for number in numbers - by_number.keys() if number.isdecimal()]:
        names_given = f"there are {len(by_number)}, from 0"
        raise InputError(f"no name for the label {min(unnamed)} of {file.path}; {names_given}")

    def named(tag: str) -> str:
        return kind.separator.join(sorted(by_number.get(p, p) for p in _parts(tag, kind)))

    return file.with_sentences(
        replace(s, tags=s.tags and tuple(map(named, s.tags))) for s in file.sentences
    )


def _splits(
    files: Sequence[RawFile], kind: TargetKind, scheme: str, codec: str, *, keep_paths: bool
) -> dict[str, Split]:
    """The splits, with the tags of entities as BIO."""
    file_scheme, notation = "none", Notation()
    if kind.has_scheme:
        notation = notation_of({tag for file in files for tag in _tags(file)})
        labels = (
            [tag or "O" for tag in _in_notation(s, notation, file)]
            for file in files
            for s in track(file.sentences, f"finding the tag scheme of {file.split}", "sentences")
        )
        file_scheme = detect_scheme(labels) if scheme == "auto" else scheme_name(scheme)
    parts: dict[str, list[Split]] = {}
    for file in files:
        repaired = 0
        sentences = []
        for s in track(file.sentences, f"reading tags of {file.split}", "sentences"):
            tags = s.tags
            if tags is not None and kind.has_scheme:
                tags = _in_notation(s, notation, file)
                try:
                    tags, count = to_bio(tags, file_scheme)
                except TagError as error:
                    if scheme == "auto":
                        fault = f"{excerpt(tags[error.index])} is no tag of entities"
                        error = TagError(f"{fault} (O, or as B-PER, I-PER)", error.index)
                    raise _refused(error, s, file) from None
                repaired += count
            sentences.append(replace(s, tags=tags, lines=()))
        notes = replace(
            file.notes,
            scheme=file_scheme,
            encoding=codec,
            repaired_tags=repaired,
            dialects=(*file.notes.dialects, *filter(None, [str(notation)])),
        )
        part = Split(file.split, tuple(sentences), file.path if keep_paths else None, notes)
        parts.setdefault(file.split, []).append(part)
    splits = {split: of_shards(shards) for split, shards in parts.items()}
    for dialect in dict.fromkeys(d for split in splits.values() for d in split.notes.dialects):
        notice(f"read {dialect}")
    return splits


def _tags(file: RawFile) -> Iterator[str]:
    return (tag for s in file.sentences for tag in s.tags or () if tag != UNLABELLED)


def _in_notation(sentence: Sentence, notation: Notation, file: RawFile) -> tuple[str, ...]:
    """The tags of a sentence in the usual notation."""
    tags = sentence.tags or ()
    try:
        return only_labelled(tags, notation.read(tags))
    except TagError as error:
        raise _refused(error, sentence, file) from None


def _refused(error: TagError, sentence: Sentence, file: RawFile) -> InputError:
    """The error with its place, and an advice."""
    tag, word = ((row or ("",))[error.index] for row in (sentence.tags, sentence.words))
    line = sentence.lines[error.index if len(sentence.lines) > 1 else 0]
    advice = f"give {spelling('tag_column')} for others, or {other_task('labels')}"
    unusual = [tag for tag in _tags(file) if tag != "O" and not TAG.fullmatch(tag)]
    if tag.isdecimal():
        advice = f"give names with {spelling('label_names')}, or one a line in {LABEL_NAMES}"
    elif not any(map(str.isalnum, tag)):
        marks = ",".join(sorted({tag, *(t for t in unusual if not any(map(str.isalnum, t)))}))
        advice = f"if it means that there is no tag, {spelling('missing', marks)}; else {advice}"
    elif " " in tag:
        advice = "if it holds a whole sentence, write JSONL: lists of words and tags"
    elif any(" " in word for word in sentence.words):
        advice = f"if these are texts, {other_task('classification')}"
    elif line == 1 and file.unit == "line" and unusual == [tag]:
        column = spelling("token_column", sentence.words[0])
        advice = f"if line 1 is a header, {column}; {advice}"
    return InputError(
        f"{error}, {file.unit} {line} of {file.path} (word {excerpt(word)}); {advice}"
    )


def _files(place: Path, path: str, alone: str) -> dict[str, tuple[Path, ...]]:
    """The split files of a folder, or a file as its only split, `alone` if its name says none."""
    if place.is_dir():
        return find_splits(place)
    if place.exists():
        splits = splits_named(place.name) or splits_named(stem(place.name) + ".conll")
        return {splits[0] if len(splits) == 1 else alone: (place,)}
    while not place.parent.exists():  # the part of the path that is missing
        place = place.parent
    near = nearest_path(place) or nearest(path, SAMPLES)
    hub = "" if path[:1] in "/.~" else f"; a dataset of the Hub is written {PREFIX}{path}"
    raise MissingError(f"{place} does not exist{near}{hub}")


def _name(place: Path) -> tuple[str, str | None]:
    """Name and language: ("wikiann-de", "de") for the folder wikiann/de."""
    folder = place if place.is_dir() else place.parent
    name, language = folder.name or "corpus", None
    if LANGUAGES.fullmatch(name):
        language = name
        name = f"{folder.parent.name}-{name}".lstrip("-")
    name = name if folder == place else f"{name}-{stem(place.name)}"
    return name.encode(errors="backslashreplace").decode(), language
