"""Tags: what the raw labels of a file mean (`TARGETS`), and the tag schemes of entities.

A tag of an entity is `O`, or a prefix, a hyphen and a type (`B-PER`, `I-creative-work`); files that
write it otherwise are read by `notation`.

    scheme   other names    the two entities of "Jane Roe | Rome | Oslo" (PER LOC LOC)
    BIO      IOB2           B-PER I-PER B-LOC B-LOC   every entity begins with B-
    IOB1                    I-PER I-PER I-LOC B-LOC   B- only right after an entity of its type
    IO                      I-PER I-PER I-LOC I-LOC   neighbours of one type become one entity
    BIOES    BILOU, IOBES   B-PER E-PER S-LOC S-LOC   E- (or L-) ends, S- (or U-) is alone

Entities are those of conlleval, the scorer of the CoNLL shared tasks, whatever the scheme: one
begins at B- and S-, and at I- or E- where the word before is O, is of another type or ended an
entity (E-, S-). So ill-formed tags are repaired by reading them: a tag counts as repaired where it
differs from the tag that a correct file of the scheme has for the same entities.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from featbert.data.choices import RIGHT_KEYS, Choices
from featbert.data.corpus import UNLABELLED
from featbert.data.examples import CLASS_KEYS, SCORE_KEYS, Classes, Examples, Scores
from featbert.data.files import excerpt
from featbert.data.spans import ANSWER_KEYS, Questions
from featbert.errors import InputError, check_known

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
    """A tag that its scheme does not know; `index` is its place in the sentence, from 0."""

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index


def scheme_name(name: str) -> str:
    """One of `SCHEMES` for any usual spelling: iob2 -> BIO."""
    check_known("tag scheme", [name.lower()], [s.lower() for s in (*SCHEMES, *_ALIASES)])
    return _ALIASES.get(name.upper(), name.upper())


def detect_scheme(sentences: Iterable[Sequence[str]]) -> str:
    """The scheme of tags (S sentences of T tags each), of a whole corpus if possible.

    1. Any E-, S-, L- or U- tag: BIOES.
    2. More entities begin with I- than with B-: IOB1; else BIO. B- right after a word of its own
       type begins one in both and is no evidence. The two give the same entities for any tags, so
       a wrong guess changes only the count of repairs.
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
    """Entities of one sentence's tags (T,) in order, the conlleval way; see `to_bio` for errors."""
    scheme = scheme_name(scheme)
    found: list[Span] = []
    open_ = False  # whether the word before belongs to an entity that can go on
    before = ""  # the type of the word before, "" for O
    for i, tag in enumerate(tags):
        prefix, type_ = _parse(tag, scheme, i)
        if prefix:
            if prefix in "BS" or not open_ or type_ != before:
                found.append(Span(type_, i, i + 1))
            else:
                found[-1] = Span(type_, found[-1].start, i + 1)
        open_ = prefix in ("B", "I")
        before = type_
    return found


def to_bio(tags: Sequence[str], scheme: str) -> tuple[tuple[str, ...], int]:
    """BIO tags (T,) of one sentence written in `scheme`, and how many tags were ill-formed.

    A word without a tag stays so; an entity ends before it.
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
    """The new tags (T,), but for words without one of the tags before."""
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


@dataclass(frozen=True)
class Targets:
    """What a column of raw labels holds.

    Attributes:
        keys: its usual names; None where no labels are read.
        conllu: its column in CoNLL-U, if there is one.
        form: what reads examples with such answers; None for a tag a word.
        numbered: whether answers have no names: a class of a dataset is its number.
        has_scheme: whether the labels are tags of a scheme, which become BIO.
    """

    name: str
    keys: tuple[str, ...] | None
    conllu: str | None = None
    form: type[Examples] | None = None
    numbered: bool = False
    has_scheme: bool = False


ENTITY_KEYS = ("tags", "ner_tags", "labels", "ner", "tag", "ner_tag", "label", "ne-coarse-lit")
LABEL_KEYS = ("upos", "pos_tags", "pos", "tags", "labels", "pos_tag", "tag", "label")
TAG_KEYS = {*ENTITY_KEYS, *LABEL_KEYS}
TARGETS = {
    "entities": Targets("entities", ENTITY_KEYS, has_scheme=True),
    "labels": Targets("labels", LABEL_KEYS, "upos"),
    "classes": Targets("classes", CLASS_KEYS, form=Classes),
    "scores": Targets("scores", SCORE_KEYS, form=Scores, numbered=True),
    "choices": Targets("choices", RIGHT_KEYS, form=Choices, numbered=True),
    "spans": Targets("spans", ANSWER_KEYS, form=Questions, numbered=True),
}


def targets_of(targets: str | Targets | None) -> Targets:
    """The targets of this name; InputError for an unknown one."""
    if isinstance(targets, str):
        check_known("targets", [targets], TARGETS)
        return TARGETS[targets]
    return targets or Targets("", None)
