"""Notations of entity tags in published files, read as the tags of `tags`.

    notation         "Jane Roe | Rome" (PER LOC)    is read as
    prefix last      PER-B PER-I LOC-B              B-PER I-PER B-LOC
    other joiners    B_PER I_PER B_LOC              also `:`, `/`, `.`, `|`, `+`, a space, a dash
    lower case       b-per i-per b-loc              B-per I-per B-loc, and `o` is O
    no type          B I B                          B-ENTITY I-ENTITY B-ENTITY
    BMES, BMEWO      B-PER E-PER W-LOC              M is I, W is S
    another O        0, OUT, OTHER, NONE, -, _      O, if no tag is O
    brackets         (PER* *) (LOC*)                also (PER PER) (LOC), and - for *

A corpus has one notation, which every tag of all its splits fits. Tags that `tags` can read stay
unchanged, and so do tags that fit no notation.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from featbert.data.tags import TAG, TagError
from featbert.text import excerpt

# The type of entities if tags have none.
ONE_TYPE = "ENTITY"
# Prefixes that occur together.
_SCHEMES = ("BIES", "BILU", "BMES", "BMEW")
_SAME = {"M": "I", "W": "S"}
# Names of O, in lower case.
OUTSIDE = ("o", "0", "out", "outside", "other", "none", "-", "_")
_JOINER = r"[-_:/.|+ \u2010-\u2014]"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        rf"(?P<prefix>[BIESLUMW]){_JOINER}(?P<type>.+)",
        rf"(?P<type>.+){_JOINER}(?P<prefix>[BIESLUMW])",
        rf"(?P<prefix>[BIESLUMW])(?:{_JOINER})?(?P<type>)",
    )
)
_BRACKETS = re.compile(r"(?=.)(?:\((?P<type>[^()*\s]+))?\*?(?P<end>(?P<closes>[^()*\s]*)\))?")


@dataclass(frozen=True)
class Notation:
    """How the tags of a corpus are written.

    Attributes:
        usual: the usual form of each tag in another form.
        brackets: whether entities are in brackets.
    """

    usual: Mapping[str, str] = field(default_factory=dict)
    brackets: bool = False

    def __str__(self) -> str:
        """Examples of tags and their usual forms, for people, or empty if all have these."""
        if self.brackets:
            return "tags in brackets, (PER* *) as B-PER I-PER"
        changed = sorted(self.usual.items(), key=lambda pair: (pair[1] != "O", pair[1]))
        shown = [*changed[:1], *[pair for pair in changed if pair[1] != "O"][:1]]
        pairs = dict.fromkeys(
            f"{excerpt(tag)[1:-1]} as {excerpt(usual)[1:-1]}" for tag, usual in shown
        )
        return f"tags: {', '.join(pairs)}" if pairs else ""

    def read(self, tags: Sequence[str]) -> tuple[str, ...]:
        """The usual form of a sentence's tags (T,). TagError for ill-formed brackets."""
        if self.brackets:
            return _from_brackets(tags)
        return tuple(self.usual.get(tag, tag) for tag in tags) if self.usual else tuple(tags)


def notation_of(tags: Collection[str]) -> Notation:
    """The notation of the distinct tags of a corpus."""
    mark = next((mark for mark in OUTSIDE if any(tag.lower() == mark for tag in tags)), None)
    outside = {tag for tag in tags if tag.lower() == mark}
    inside = [tag for tag in tags if tag not in outside]
    to_o = dict.fromkeys(outside - {"O"}, "O")
    if any(tag.startswith("(") for tag in tags) and all(map(_BRACKETS.fullmatch, inside)):
        return Notation(brackets=True)
    if inside and all(map(TAG.fullmatch, inside)):
        return Notation(to_o)
    for pattern in _PATTERNS:
        parts = {tag: match for tag in inside if (match := pattern.fullmatch(tag))}
        letters = {match["prefix"].upper() for match in parts.values()}
        if letters and len(parts) == len(inside) and _go_together(letters):
            usual = {
                tag: f"{_SAME.get(prefix, prefix)}-{match['type'] or ONE_TYPE}"
                for tag, match in parts.items()
                if (prefix := match["prefix"].upper())
            }
            return Notation({tag: new for tag, new in usual.items() if tag != new} | to_o)
    # Only types. Numbers have names elsewhere, and next to O a type may be called o.
    return Notation({} if mark == "0" or "O" in outside or not inside else to_o)


def _go_together(letters: set[str]) -> bool:
    """Whether these are the prefixes of a scheme, and not the ends of names (vitamin-E)."""
    of_a_scheme = any(letters <= {*scheme} for scheme in _SCHEMES)
    return of_a_scheme and (letters <= {"B", "I"} or ("B" in letters and len(letters) > 2))


def _from_brackets(tags: Sequence[str]) -> tuple[str, ...]:
    usual, type_ = [], ""
    for i, tag in enumerate(tags):
        match = _BRACKETS.fullmatch(tag)  # None for another O and for a word without a tag
        opens, ends, closes = match.group("type", "end", "closes") if match else (None,) * 3
        if opens and type_:
            raise TagError(f"{excerpt(tag)} begins inside an entity of the type {type_}", i)
        current = opens or type_
        if ends and (not current or closes not in ("", current)):
            raise TagError(f"{excerpt(tag)} ends no entity", i)
        within = f"I-{type_}" if type_ else "O"
        usual.append(f"B-{opens}" if opens else within if tag else tag)
        type_ = "" if ends else current
    if type_:
        raise TagError(f"no ')' ends the last entity, of the type {type_},", len(tags) - 1)
    return tuple(usual)
