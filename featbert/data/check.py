"""The corpus check: counts of the splits, their overlap, doubts, and the name of a known corpus."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import groupby, islice, pairwise
from math import isnan
from pathlib import Path
from typing import Self

from featbert.data.answers import doubtful_classes, missing_marks, number_of, whole
from featbert.data.choices import whole_examples
from featbert.data.corpus import UNLABELLED, Corpus, ReadingNotes, Split
from featbert.data.folder import not_read
from featbert.data.tags import TargetKind, corpus_kind, spans
from featbert.errors import spelling
from featbert.progress import notice, track
from featbert.text import excerpt, listed, shortened

# Published counts of the shared task (Tjong Kim Sang and De Meulder 2003, tables 1 and 2). The
# sentences are without the -DOCSTART- lines.
CONLL_2003_ENGLISH = "CoNLL-2003 English"
_CONLL_2003_ENGLISH = {
    "train": (14_041, 203_621, 23_499),
    "dev": (3_250, 51_362, 5_942),
    "test": (3_453, 46_435, 5_648),
}
# Labelled examples that show whether their labels are classes.
_SOME = 10


@dataclass(frozen=True, kw_only=True)
class SplitReport(ReadingNotes):
    """Counts of one split.

    Attributes:
        documents: None if the file marks none.
        labels: entities by type, words by label, or examples by class, sorted. Empty for scores,
            for spans the questions with an answer and without one.
        scores: the lowest and the highest score, if there are scores.
        choices: in all examples together, 0 for other targets.
        contradictions: examples with a text that has another answer elsewhere in the split.
        answers: examples with an answer.
        unlabelled: words without an answer, or examples if others have one.
        longest_sentence: in words.
    """

    sentences: int
    documents: int | None
    words: int
    labels: dict[str, int]
    scores: tuple[float, float] | None
    choices: int
    contradictions: int
    answers: int
    unlabelled: int
    longest_sentence: int
    path: str | None
    text_fingerprint: str
    tag_fingerprint: str


@dataclass(frozen=True)
class HeldOutReport:
    """Dev or test against train.

    Attributes:
        repeated_sentences: sentences with exactly the words of a sentence of train.
        entity_forms: distinct surface forms (the exact words of an entity, of any type).
        unseen_forms: the surface forms that are no entity in train.
        new_types: entity types or labels that train lacks, sorted.
    """

    repeated_sentences: int
    entity_forms: int
    unseen_forms: int
    unseen_words: int
    new_types: list[str]


@dataclass(frozen=True)
class CorpusReport:
    """The result of `check_corpus`.

    Attributes:
        targets: "entities", ..., or None.
        against_train: by name of the other splits (empty without train).
        dev_in_test: sentences of dev with exactly the words of one of test (None without both).
        not_read: files and sub-folders in the corpus folder that are no part of it.
        recognised: the known corpus with as many sentences, and other differences from it.
        doubts: probable mistakes in the corpus or its options, and advice.
    """

    name: str
    language: str | None
    source: str
    targets: str | None
    splits: dict[str, SplitReport]
    against_train: dict[str, HeldOutReport]
    dev_in_test: int | None
    not_read: list[str]
    recognised: str | None
    doubts: list[str]


def check_corpus(corpus: Corpus) -> CorpusReport:
    """Counts the corpus. Time is linear in its words."""
    examples = whole_examples(corpus)
    contents = {n: _Contents(s, corpus[n], corpus_kind(corpus)) for n, s in examples.splits.items()}
    reports = {name: content.report() for name, content in contents.items()}
    train, folder = contents.get("train"), Path(corpus.source)
    held_out = ((name, content) for name, content in contents.items() if name != "train")
    against = {name: content.against(train) for name, content in held_out if train}
    overlaps = [
        f"{name}: more than half of its {len(contents[name].split):,} texts are also in train, so "
        "scores will be too high"
        for name, report in against.items()
        if 2 * report.repeated_sentences > len(contents[name].split)
    ]
    has_both = "dev" in contents and "test" in contents
    return CorpusReport(
        corpus.name,
        corpus.language,
        corpus.source,
        corpus.targets,
        reports,
        against,
        contents["dev"].repeated_in(contents["test"]) if has_both else None,
        not_read(folder) if folder.is_absolute() and folder.is_dir() else [],
        _recognise(reports),
        [*doubts(corpus), *overlaps],
    )


def doubts(corpus: Corpus) -> Iterator[str]:
    """Probable mistakes in the corpus or its options, and advice."""
    splits: dict[str, list[str]] = {}
    labels = {
        n: Counter(t for s in split for t in s.tags or ()) for n, split in corpus.splits.items()
    }
    for counts in labels.values() if not corpus_kind(corpus).has_places else ():
        del counts[UNLABELLED]
    for name, split in corpus.splits.items():
        for doubt in (*_label_doubts(name, labels, corpus), *_doubts(split, labels[name], corpus)):
            splits.setdefault(doubt, []).append(name)
    yield from (f"{', '.join(names)}: {doubt}" for doubt, names in splits.items())
    if incomplete := {n: s for n, s in corpus.splits.items() if s.notes.missing}:
        marks = ", ".join(
            f"{name} {n:,} ({mark})"
            for name, split in incomplete.items()
            for mark, n in split.notes.missing.items()
        )
        of_texts = any(split.sentences[0].texts for split in incomplete.values())
        items = "examples" if of_texts else "words"
        yield f"{items} without an answer are neither learned nor scored: {marks}"
    kind, answers = corpus_kind(corpus), {*sum(labels.values(), Counter[str]())}
    classes = {*kind.classes_of([*answers])} if kind.separator else answers
    says_missing = "missing" in corpus.reading
    if classes == {"-1", "0", "1"} and corpus.has_pairs and not says_missing:
        yield f"-1 is a class; if it means no answer, give {_missing_too(['-1'], corpus)}"
    if kind.separator and classes == {"0", "1"}:
        advice = f"{spelling('target', 'NAME,NAME')} or {spelling('label_names', 'NAME,NAME')}"
        yield f"0 and 1 are classes; if they say which classes a text has, {advice}"
    if (kind.one_class or kind.separator) and "class_separator" not in corpus.reading:
        task, signs = "", ",;/+"
        if kind.one_class:
            task, signs = f"{spelling('task', 'multilabel')} ", f"|{signs}"
        separated = (
            f"{excerpt(name)}; if these are several, give {task}{spelling('class_separator', sign)}"
            for sign in signs
            for name in sorted(classes)
            if sign in name and not classes.isdisjoint(part.strip() for part in name.split(sign))
        )
        yield from (f"read as one class: {name}" for name in islice(separated, 1))
    if kind.has_scheme:
        types = {*kind.classes_of([*answers])}
        inner = {name[2:] for name in types if {f"B-{name[2:]}", f"I-{name[2:]}"} <= types}
        if tags := types & {"O", *(f"{prefix}-{name}" for name in inner for prefix in "BI")}:
            yield (
                f"entities of the types {listed(sorted(tags))}, which seem to be tags; a span is a "
                "whole entity: write its type alone, and no span for other words"
            )
    if kind.one_class or kind.separator:
        doubtful = [name for name in doubtful_classes(classes) if name in answers]
        if doubtful and kind.one_class:  # without these, others may be marks, too
            more_marks = missing_marks([counts.keys() - {*doubtful} for counts in labels.values()])
            doubtful = sorted({*doubtful, *more_marks & answers})
        if doubtful and not says_missing:
            advice = f"answer, give {_missing_too(doubtful, corpus)}"
            names = listed(map(repr, doubtful))
            yield f"read as classes: {names}; if these say that there is no {advice}"
        spellings, numbers = defaultdict(list), defaultdict(list)
        for name in sorted(classes):
            spellings[name.casefold()].append(name)
            if not isnan(number_of(point := name.replace(",", "."))):
                numbers[whole(point)].append(name)
        for equal in (equal for equal in numbers.values() if len(equal) > 1):
            yield f"classes that seem to be one number: {' and '.join(equal)}; write them alike"
        if alike := [name for names in spellings.values() if len(names) > 1 for name in names]:
            yield f"classes that differ only in capitals: {listed(alike)}; write them alike"
    if "train" in corpus and "dev" not in corpus:
        yield f"no dev part, which training needs; {split_advice(corpus, 'dev')}"
    if "train" not in corpus:
        yield f"no train part, which training needs; {split_advice(corpus, 'train')}"


def _missing_too(names: Iterable[str], corpus: Corpus) -> str:
    """The option by which these values are no answer, besides those that are none already."""
    marks = {m for s in corpus.splits.values() for ms in s.notes.missing for m in ms.split(", ")}
    option_value = str(corpus.reading.get("missing", "-,-1,_")).split(",")
    values = {*names, *({*map(str.strip, option_value)} & {*map(whole, marks)})}
    return spelling("missing", ",".join(sorted(values)))


def split_advice(corpus: Corpus, name: str) -> str:
    """What to do if training needs a split that a corpus lacks."""
    if not corpus.source:  # made in Python
        return f"add {name!r}: Split({name!r}, ...) to its splits"
    share = f", or give {spelling('dev_share', 0.1)}" if name == "dev" else ""
    return f"add a {name} file to its folder{share}"


def notice_doubts(*corpora: Corpus) -> None:
    """Warns of the doubts about corpora."""
    for doubt in dict.fromkeys(doubt for corpus in corpora for doubt in doubts(corpus)):
        notice(doubt)


def _label_doubts(name: str, labels: Mapping[str, Counter[str]], corpus: Corpus) -> Iterator[str]:
    """Doubts about the labels of a part, given the labels of all parts."""
    split, counts, limit = corpus[name], labels[name], corpus.reading.get("limit")
    all_labels, kind = sum(labels.values(), Counter[str]()), corpus_kind(corpus)
    effect = {"train": "nothing can be learned", "dev": "F1 on it cannot choose an epoch"}
    if kind.separator and not counts and split.is_tagged:
        yield f"no text has a class, so {effect.get(name, 'F1 on it says nothing')}"
    if not counts or not kind.has_names or kind.separator:
        return
    label = shortened(next(iter(counts)))
    if kind.has_scheme and counts.keys() == {"O"} != all_labels.keys():
        advice = f"raise {spelling('limit')}" if limit else "add sentences with entities to it"
        yield f"no entity, so {effect.get(name, 'F1 on it says nothing')}; {advice}"
    elif kind.one_class and limit and 1 < limit <= len(split) and _is_sorted(split):
        order = f"all {label}" if len(counts) == 1 else "in the order of their classes"
        yield (
            f"the first {len(split):,} examples, which {spelling('limit')} takes, are {order}; is "
            f"the file sorted? shuffle it, or leave {spelling('limit')} out"
        )
    elif len(all_labels) == 1:
        option = spelling("target" if split.sentences[0].texts else "tag_column")
        advice = f", or raise {spelling('limit')}" if limit else ""
        yield f"all labels are {label}; is {option} another column?{advice}"
    elif kind.one_class and counts.total() >= _SOME and 2 * len(counts) > counts.total():
        are_numbers = all(number_of(label) == number_of(label) for label in counts)
        question = f"is {spelling('target')} another column?"
        if are_numbers:
            question = f"are they scores, for {spelling('task', 'regression')}?"
        yield f"{len(counts):,} classes of {counts.total():,} examples; {question}"
    elif not kind.has_scheme and len(counts) == 1 < counts.total():
        advice = "mix the parts"
        if kind.one_class and next(iter(counts)) not in labels.get("train", counts):
            advice = f"if it hides the answers, give {_missing_too([label], corpus)}"
        yield f"all labels are {label}, of {len(all_labels)} in the corpus; {advice}"
    if name != "train" and "train" in labels and len(counts) > 1:
        prefix = "B-" if kind.has_scheme else ""
        in_train = {t: n for t, n in labels["train"].items() if t.startswith(prefix)}
        lacking = sorted(in_train.keys() - counts.keys())
        if lacking and 2 * sum(in_train[tag] for tag in lacking) >= sum(in_train.values()):
            names = listed(tag.removeprefix(prefix) for tag in lacking)
            yield f"no {names}: half or more of train's labels, which scores do not measure"


def _is_sorted(split: Split) -> bool:
    """Whether the answers of examples come class by class: one class, or several of many."""
    answers = [s.tags[0] for s in split if s.tags]
    runs, classes = len([*groupby(answers)]), len({*answers})
    return runs == classes and (classes == 1 or len(answers) >= 10 * classes)


def _doubts(split: Split, labels: Counter[str], corpus: Corpus) -> Iterator[str]:
    """Doubts about the columns and texts of a part."""
    first, notes = split.sentences[0], split.notes
    if unread := notes.unread_columns:
        yield (
            f"columns that seem to be texts are not read: {listed(unread)}; if one is the second "
            f"text of a pair, give {spelling('pair', unread[0])}, or also {spelling('text')}"
        )
    if other_answers := notes.other_answers:
        answer = listed(notes.answer_columns)
        yield (
            f"answers are in column {answer}; {listed(other_answers)} could have them, too: "
            f"{spelling('target', other_answers[0])}"
        )
    for column in notes.part_columns:
        yield (
            f"column {column} names parts such as train and test, but all rows are read as one "
            "part; write a file for each"
        )
    if 2 * (notes.moved_answers + notes.misplaced_answers) > labels.total() - labels[""]:
        yield "most answers are not where answer_start says; it counts characters from 0"
    if notes.doubtful_offsets:
        yield (
            "entities that are whole words only if offsets do not count characters from 0: "
            f"{notes.doubtful_offsets:,}; convert the offsets, or give each entity its text"
        )
    is_unique = first.tags and labels[first.tags[0]] == 1 < len(split) and not notes.header_lines
    kind = corpus_kind(corpus)
    of_words = (kind.of_words and not kind.has_scheme) or notes.scheme == "IO"
    repeat = of_words and 2 * sum(n == 1 for n in labels.values()) <= len(labels)
    if is_unique and (repeat or (kind.one_class and 2 * len(labels) < len(split))):
        begin = (first.texts or first.words)[0]
        item, option = ("text", "text") if first.texts else ("word", "token_column")
        yield (
            f"the label of the first {item}, {excerpt(begin)}, is of no other; if these are names "
            f"of columns, give {spelling(option, shortened(begin))}"
        )
    if first.texts:
        return
    words, begin = [word for s in split for word in s.words], " ".join(first.words[:3])
    are_numbers = len(words) > len(split) and all(map(str.isdecimal, words))
    if are_numbers and all(int(b) - int(a) == 1 for s in split for a, b in pairwise(s.words)):
        yield f"the words are an index, {begin}; name their column: {spelling('token_column', 2)}"
    repeated = [len({*s.words}) == 1 for s in split if len(s) > 1]
    if len(repeated) > 1 and all(repeated):
        advice = f"name the column of words with {spelling('token_column')}"
        yield f"all words of a sentence are the same, {shortened(begin)}; {advice}"
    if (mean := len(words) / len(split)) > 200:
        yield f"{mean:,.0f} words a sentence; is a blank line missing after each sentence?"
    if sign := next((sign for sign in ",;|" if all(sign in word for word in words)), None):
        yield f"{sign} is in every word: {shortened(begin)}; give {spelling('delimiter', sign)}"
    if 2 * sum(" " in word for word in words) > len(words):
        text = next(excerpt(word) for word in words if " " in word)
        task = spelling("task", "classification")
        # Without answers, as for a language model, there is no task to name.
        advice = task if split.is_tagged else f"{task} or {spelling('text', 1)}"
        yield f"most words hold spaces, as {text}; if these are texts, give {advice}"


class _Contents:
    """Words, labels or entity types, and entity forms of a split of whole examples.

    `read` is the split with a sequence for each choice.
    """

    def __init__(self, split: Split, read: Split, kind: TargetKind) -> None:
        self.split, self.read, self.kind = split, read, kind
        self.words = Counter(word for s in read for word in s.words)
        self.kinds: Counter[str] = Counter()
        self.forms: set[tuple[str, ...]] = set()
        for s in track(split.sentences, f"counting {kind.name} of {split.name}", "sentences"):
            self.kinds.update(kind.classes_of(s.tags or ()))
            if kind.has_scheme:
                self.forms.update(s.words[e.start : e.end] for e in spans(s.tags or ()))
        self.sentences = {s.words for s in split}

    def report(self) -> SplitReport:
        examples, split, kind = self.split, self.read, self.kind
        is_scored = kind.numbered and not (kind.in_groups or kind.has_places)
        scores = [float(s.tags[0]) for s in split if s.tags] if is_scored else []
        answers = {(s.words, s.pair, s.tags) for s in examples if s.tags is not None}
        answers_of = Counter((words, pair) for words, pair, _ in answers)
        contradictions = sum(answers_of[s.words, s.pair] > 1 for s in examples)
        has_one_answer = kind.reader is not None and not kind.has_places
        unlabelled = sum(s.tags is None for s in examples) if examples.is_tagged else 0
        if kind.of_words:
            tags = (["" for _ in s.words] if s.tags is None else s.tags for s in examples)
            unlabelled = sum(row.count(UNLABELLED) for row in tags)
        return SplitReport(
            sentences=len(examples),
            documents=len({s.document for s in split}) if split.has_documents else None,
            words=split.n_words,
            labels=dict(sorted(self.kinds.items())),
            scores=(min(scores), max(scores)) if scores else None,
            choices=len(split) if kind.in_groups else 0,
            contradictions=contradictions if has_one_answer else 0,
            answers=sum(s.tags is not None for s in examples),
            unlabelled=unlabelled,
            longest_sentence=max(map(len, split), default=0),
            **asdict(split.notes),
            path=None if split.path is None else str(split.path),
            text_fingerprint=split.text_fingerprint,
            tag_fingerprint=split.tag_fingerprint,
        )

    def against(self, train: Self) -> HeldOutReport:
        return HeldOutReport(
            repeated_sentences=self.repeated_in(train),
            entity_forms=len(self.forms),
            unseen_forms=len(self.forms - train.forms),
            unseen_words=sum(n for word, n in self.words.items() if word not in train.words),
            new_types=sorted(self.kinds.keys() - train.kinds.keys()),
        )

    def repeated_in(self, other: Self) -> int:
        return sum(s.words in other.sentences for s in self.split)


def _recognise(reports: Mapping[str, SplitReport]) -> str | None:
    """Name of a known corpus, with the counts that differ from it."""
    counts = {k: (r.sentences, r.words, sum(r.labels.values())) for k, r in reports.items()}
    if {k: c[0] for k, c in counts.items()} != {k: c[0] for k, c in _CONLL_2003_ENGLISH.items()}:
        return None
    differing = [
        f"{split} has {counts[split][i]:,} {unit} instead of {expected[i]:,}"
        for split, expected in _CONLL_2003_ENGLISH.items()
        for i, unit in ((1, "words"), (2, "entities"))
        if counts[split][i] != expected[i]
    ]
    return f"{CONLL_2003_ENGLISH}, but {'; '.join(differing)}" if differing else CONLL_2003_ENGLISH
