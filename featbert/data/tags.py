"""Tag schemes of entities, and the kinds of targets that a corpus can be read for (`TARGETS`).

A tag of an entity is `O`, or a prefix, a hyphen and a type (`B-PER`, `I-creative-work`). `notation`
reads files that write it otherwise.

    scheme   other names    the two entities of "Jane Roe | Rome | Oslo" (PER LOC LOC)
    BIO      IOB2           B-PER I-PER B-LOC B-LOC   every entity begins with B-
    IOB1                    I-PER I-PER I-LOC B-LOC   B- only right after an entity of its type
    IO                      I-PER I-PER I-LOC I-LOC   neighbours of one type become one entity
    BIOES    BILOU, IOBES   B-PER E-PER S-LOC S-LOC   E- (or L-) ends, S- (or U-) is alone

In every scheme entities are read as conlleval does, the scorer of the CoNLL shared tasks. An entity
begins at B- and S-, and at I- or E- if the word before is O, has another type or ended an entity
(E-, S-). This repairs ill-formed tags. A tag counts as repaired if it differs from the tag that a
correct file of the scheme has for the same entities.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from featbert.data.choices import ChoiceReader
from featbert.data.columns import (
    ANSWER_KEYS,
    CLASS_KEYS,
    ENTITY_KEYS,
    LABEL_KEYS,
    RIGHT_CHOICE_KEYS,
    SCORE_KEYS,
)
from featbert.data.corpus import UNLABELLED, Corpus
from featbert.data.examples import ClassReader, ScoreReader, TextReader
from featbert.data.sets import SEPARATOR, SetReader, classes_of
from featbert.data.spans import QuestionReader
from featbert.errors import InputError, check_known
from featbert.text import excerpt

SCHEMES = ("IOB1", "BIO", "IO", "BIOES")
_ALIASES = {"IOB2": "BIO", "IOBES": "BIOES", "BILOU": "BIOES", "BIOLU": "BIOES"}
_BIOES_PREFIX = {"L": "E", "U": "S"}
_BARE_PREFIX = re.compile(r"[BIESLU](-|$)")
TAG = re.compile(r"([BIESLU])-(.+)", re.DOTALL)


class Span(NamedTuple):
    """An entity: words start <= i < end of one sentence."""

    type: str
    start: int
    end: int


class TagError(InputError):
    """A tag outside of its scheme. `index` is its place in the sentence, from 0."""

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index


def scheme_name(name: str) -> str:
    """One of `SCHEMES` for any usual spelling: iob2 -> BIO."""
    check_known("tag scheme", [name.lower()], [s.lower() for s in (*SCHEMES, *_ALIASES)])
    return _ALIASES.get(name.upper(), name.upper())


def detect_scheme(sentences: Iterable[Sequence[str]]) -> str:
    """The scheme of tags (S sentences of T tags each), best of a whole corpus.

    1. Any E-, S-, L- or U- tag: BIOES.
    2. More entities begin with I- than with B-: IOB1, else BIO. B- after a word of its type begins
       an entity in both and is no evidence. Both give the same entities for any tags, and a wrong
       guess changes only the count of repairs.
    3. No prefix at all (`PER`, `LOC`), and more O than all other tags together: IO with bare types.
       The majority of O distinguishes it from a column of other labels, such as parts of speech.
    """
    begun_b = begun_i = prefixed = bare = outside = 0
    for tags in sentences:
        before = ""
        for tag in tags:
            match = TAG.fullmatch(tag)
            prefix, type_ = match.groups() if match else ("", "")
            outside += tag == "O"
            prefixed += prefix != ""
            bare += tag != "O" and match is None
            if prefix not in ("B", "I", ""):
                return "BIOES"
            if type_ != before:
                begun_b += prefix == "B"
                begun_i += prefix == "I"
            before = type_
    if bare and not prefixed and outside > bare:
        return "IO"
    return "IOB1" if begun_i > begun_b else "BIO"


def spans(tags: Sequence[str], scheme: str = "BIO") -> list[Span]:
    """Entities of one sentence's tags (T,) in order, by the rules of conlleval."""
    scheme = scheme_name(scheme)
    entities: list[Span] = []
    open_ = False  # whether the word before belongs to an entity that can go on
    before = ""  # the type of the word before, "" for O
    for i, tag in enumerate(tags):
        prefix, type_ = _parse(tag, scheme, i)
        if prefix:
            if prefix in "BS" or not open_ or type_ != before:
                entities.append(Span(type_, i, i + 1))
            else:
                entities[-1] = Span(type_, entities[-1].start, i + 1)
        open_ = prefix in ("B", "I")
        before = type_
    return entities


def to_bio(tags: Sequence[str], scheme: str) -> tuple[tuple[str, ...], int]:
    """BIO tags (T,) of one sentence written in `scheme`, and how many tags were ill-formed.

    A word without a tag stays without. An entity ends before it.
    """
    scheme = scheme_name(scheme)
    if all(tag == "O" for tag in tags):
        return tuple(tags), 0
    entities = spans(tags, scheme)
    bio = _write(entities, len(tags), "BIO")
    expected = bio if scheme == "BIO" else _write(entities, len(tags), scheme)
    repaired = sum(
        _parse(tag, scheme, i) != _parse(right, scheme, i)
        for i, (tag, right) in enumerate(zip(tags, expected, strict=True))
    )
    return only_labelled(tags, bio), repaired


def from_bio(tags: Sequence[str], scheme: str) -> tuple[str, ...]:
    """Tags (T,) in `scheme` for the entities of BIO tags: the inverse of `to_bio`.

    IO joins neighbouring entities of one type.
    """
    return only_labelled(tags, _write(spans(tags), len(tags), scheme_name(scheme)))


def only_labelled(tags: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    """The new tags (T,), except for words without an old tag."""
    return tuple(tag if tag == UNLABELLED else to for tag, to in zip(tags, new, strict=True))


def _parse(tag: str, scheme: str, index: int) -> tuple[str, str]:
    """(prefix of B I E S, type), or ("", "") for O and for a word without a tag."""
    if tag in ("O", UNLABELLED):
        return "", ""
    match = TAG.fullmatch(tag)
    if match:
        prefix, type_ = match.groups()
        if scheme == "BIOES":
            return _BIOES_PREFIX.get(prefix, prefix), type_
        if prefix in "BI":
            return prefix, type_
    elif scheme == "IO" and tag and not _BARE_PREFIX.match(tag):
        return "I", tag
    expected = {"BIOES": "B-, I-, E- or S-", "IO": "I-"}.get(scheme, "B- or I-")
    raise TagError(
        f"{excerpt(tag)} is not a tag of {scheme} (O, or {expected} and a type, as in B-PER)", index
    )


def _write(entities: Iterable[Span], length: int, scheme: str) -> tuple[str, ...]:
    tags = ["O"] * length
    before = Span("", 0, 0)
    for entity in entities:
        type_, start, end = entity
        tags[start:end] = [f"I-{type_}"] * (end - start)
        touches = before.end == start and before.type == type_
        if scheme in ("BIO", "BIOES") or (scheme == "IOB1" and touches):
            tags[start] = f"B-{type_}"
        if scheme == "BIOES":
            tags[end - 1] = f"{'S' if end - start == 1 else 'E'}-{type_}"
        before = entity
    return tuple(tags)


def known_tags(tags: Sequence[str]) -> list[str]:
    """The tags of the words that have one."""
    return [tag for tag in tags if tag != UNLABELLED]


@dataclass(frozen=True)
class TargetKind:
    """A kind of answers that a corpus is read for.

    Attributes:
        keys: usual names of their column. None reads no answers.
        conllu: their column in CoNLL-U, if there is one.
        reader: reads examples with such answers, or None if each word has a tag.
        separator: between the classes of one tag, if it can hold several.
        classes_of: the classes of an answer, for counts of a corpus.
        numbered: whether answers have no names: a dataset's class is its number.
        has_scheme: whether the labels are tags of a scheme, which become BIO.
        one_class: whether each text has exactly one class.
        in_groups: whether an example has several texts, with an answer each.
        has_places: whether answers are places in their texts.
    """

    name: str
    keys: tuple[str, ...] | None
    conllu: str | None = None
    reader: type[TextReader] | None = None
    classes_of: Callable[[Sequence[str]], Sequence[str]] = known_tags
    numbered: bool = False
    has_scheme: bool = False
    separator: str = ""
    one_class: bool = False
    in_groups: bool = False
    has_places: bool = False

    @property
    def of_words(self) -> bool:
        """Whether each word has an answer."""
        return self.reader is None and self.keys is not None

    @property
    def has_names(self) -> bool:
        """Whether answers are classes with names."""
        return self.keys is not None and not self.numbered


def _types(tags: Sequence[str]) -> list[str]:
    return [entity.type for entity in spans(tags)]


def _members(tags: Sequence[str]) -> list[str]:
    return [name for tag in tags for name in classes_of(tag)]


def _answerable(tags: Sequence[str]) -> list[str]:
    return ["answerable" if tag else "unanswerable" for tag in tags[:1]]


TARGETS = {
    kind.name: kind
    for kind in (
        TargetKind("entities", ENTITY_KEYS, classes_of=_types, has_scheme=True),
        TargetKind("labels", LABEL_KEYS, "upos"),
        TargetKind("classes", CLASS_KEYS, reader=ClassReader, one_class=True),
        TargetKind("sets", CLASS_KEYS, None, SetReader, _members, separator=SEPARATOR),
        TargetKind("scores", SCORE_KEYS, None, ScoreReader, lambda _: (), numbered=True),
        TargetKind(
            "choices", RIGHT_CHOICE_KEYS, reader=ChoiceReader, numbered=True, in_groups=True
        ),
        TargetKind(
            "spans",
            ANSWER_KEYS,
            reader=QuestionReader,
            classes_of=_answerable,
            numbered=True,
            has_places=True,
        ),
    )
}


def corpus_kind(corpus: Corpus) -> TargetKind:
    """The kind of answers that a corpus was read for, without columns if it is unknown here."""
    return TARGETS.get(corpus.targets or "", TargetKind("", None))


def target_kind(targets: str | TargetKind | None) -> TargetKind:
    """The kind with this name. InputError for an unknown one."""
    if isinstance(targets, str):
        check_known("targets", [targets], TARGETS)
        return TARGETS[targets]
    return targets or TargetKind("", None)
