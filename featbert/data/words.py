"""Raw text split into words, each with its place: what `featbert predict` does to a line.

The rule is that of Unicode's default word boundaries (UAX #29, section 4.1), as far as it can be
said in a few lines, with four habits of the corpora that taggers learn from (CoNLL-2003,
wikigold, OntoNotes) put in. No language is asked for and no list of abbreviations is kept.

1. White space parts words and belongs to none. Every other character is in exactly one word, so
   the words with their places give the line back.
2. Letters, digits, marks and low lines stand together: `naïve`, `v2`, `user_name`, `हिन्दी`.
3. One sign between two of these stays inside the word: an apostrophe (`don't`, `O'Brien`,
   `l'Europe`), a hyphen (`Jean-Claude`, `3-1`), a middle dot, a Hebrew geresh; a full stop
   between two letters or two digits (`example.com`, `3.14`); a comma or a colon between two digits
   (`1,000`, `10:30`). A slash parts words.
4. A final `'s` is a word of its own, as in the corpora: `Smith 's`.
5. The full stop after single letters with stops between them stays: `U.S.`, `e.g.`; so does the
   one after a single capital that is not the line's last word: `J. Smith`, but `plan B .`. Every
   other final full stop is apart, after abbreviations of several letters too: `Mr .`.
6. Every other sign is a word of its own, repeated signs are one word: `( Rome )`, `...`, `!!`.
   Brackets and quotation marks are never joined.
7. Marks, variation selectors, skin tones and invisible format characters belong to the character
   before them; signs that a zero-width joiner joins are one (`👩‍👩‍👧`), and so are two regional
   indicators (a flag).
8. Han characters and hiragana are a word each, as in UAX #29. Thai, Lao, Khmer and Burmese, which
   are written without spaces, are not split: give tokenised text instead.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Literal, NamedTuple

# A character's part in the rule: white space, letters and their like (rule 2), a character that
# is a word alone (8), what belongs to the character before it (7), any other sign.
_Kind = Literal["space", "letter", "alone", "extender", "sign"]

_ZWJ = "\u200d"
_APOSTROPHES = frozenset("'’")
_IN_WORDS = _APOSTROPHES | frozenset("-‐‑·׳״")
_NEVER_REPEATED = ("Ps", "Pe", "Pi", "Pf")  # brackets and typographic quotation marks
_IN_NUMBERS = frozenset(",:٫٬")
_ALONE = (
    (0x3041, 0x309F),  # hiragana
    (0x3007, 0x3007),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)


class _Cluster(NamedTuple):
    """A character with what belongs to it: places start <= i < end of the line."""

    kind: _Kind
    start: int
    end: int


def split_words(line: str) -> list[tuple[int, int]]:
    """Places of the words of a line, in order; time is linear in its length.

    Returns:
        (start, end) by word, in code points from 0, end exclusive: word = line[start:end].
    """
    clusters = _clusters(line)
    words: list[tuple[int, int]] = []
    k = 0
    while k < len(clusters):
        kind = clusters[k].kind
        if kind == "letter":
            stop = _end_of_letters(line, clusters, k)
            start, end = clusters[k].start, clusters[stop - 1].end
            if stop - k > 2 and _is_clitic(line[clusters[stop - 2].start : end]):
                words += [(start, clusters[stop - 2].start), (clusters[stop - 2].start, end)]
            else:
                words.append((start, end))
        else:
            stop = k + 1 if kind == "alone" else _end_of_signs(line, clusters, k)
            words.append((clusters[k].start, clusters[stop - 1].end))
        k = stop
    return words


def _clusters(line: str) -> list[_Cluster]:
    """Every character that is not white space, in clusters (rule 7)."""
    found: list[_Cluster] = []
    i = 0
    while i < len(line):
        kind = _kind(line[i])
        start, i = i, i + 1
        if kind == "space":
            continue
        if kind == "extender":  # nothing before it: it goes with what follows
            kind = "letter"
        if _is_flag_letter(line, start) and _is_flag_letter(line, i):
            i += 1
        while i < len(line):
            after = _kind(line[i])
            joined = kind == after == "sign" and line[i - 1] == _ZWJ
            if after != "extender" and not joined:
                break
            i += 1
        found.append(_Cluster(kind, start, i))
    return found


def _end_of_letters(line: str, clusters: list[_Cluster], k: int) -> int:
    """The cluster after the word of letters that cluster `k` begins (rules 2, 3 and 5)."""
    first = k
    k += 1
    while _touches(clusters, k):
        if clusters[k].kind == "letter":
            k += 1
        elif _touches(clusters, k + 1) and _joins(line, clusters, k):
            k += 2
        else:
            break
    stop = _touches(clusters, k) and _text(line, clusters[k]) == "."
    if not stop or (_touches(clusters, k + 1) and _text(line, clusters[k + 1])[0] == "."):
        return k
    letters = line[clusters[first].start : clusters[k - 1].end].split(".")
    single = all(len(part) == 1 and part.isalpha() for part in letters)
    initial = letters[0].isupper() and k + 1 < len(clusters)
    return k + 1 if single and (len(letters) > 1 or initial) else k


def _end_of_signs(line: str, clusters: list[_Cluster], k: int) -> int:
    """The cluster after the word that the sign `k` begins (rules 4 and 6)."""
    sign = _text(line, clusters[k])
    if _touches(clusters, k + 1) and _is_clitic(line[clusters[k].start : clusters[k + 1].end]):
        stop = _end_of_letters(line, clusters, k + 1)
        if stop == k + 2:
            return stop
    k += 1
    if unicodedata.category(sign[0]) in _NEVER_REPEATED or sign in ("'", '"'):
        return k
    while _touches(clusters, k) and _text(line, clusters[k]) == sign:
        k += 1
    return k


def _joins(line: str, clusters: list[_Cluster], k: int) -> bool:
    """Whether the sign `k` stays inside the word around it (rule 3)."""
    sign = _text(line, clusters[k])
    left, right = line[clusters[k - 1].start], line[clusters[k + 1].start]
    if clusters[k + 1].kind != "letter":
        return False
    if sign in _IN_WORDS:
        return True
    digits = left.isdigit() and right.isdigit()
    return (sign in _IN_NUMBERS and digits) or (
        sign == "." and (digits or (left.isalpha() and right.isalpha()))
    )


def _touches(clusters: list[_Cluster], k: int) -> bool:
    """Whether cluster `k` exists and no white space stands before it."""
    return 0 < k < len(clusters) and clusters[k - 1].end == clusters[k].start


def _text(line: str, cluster: _Cluster) -> str:
    return line[cluster.start : cluster.end]


def _is_clitic(text: str) -> bool:
    return len(text) == 2 and text[0] in _APOSTROPHES and text[1] in "sS"


def _is_flag_letter(line: str, i: int) -> bool:
    return i < len(line) and ord(line[i]) in _FLAG_LETTERS


@lru_cache(maxsize=1 << 14)
def _kind(character: str) -> _Kind:
    if character.isspace():
        return "space"
    code, category = ord(character), unicodedata.category(character)
    if category[0] == "M" or category == "Cf" or code in _SKIN_TONES:
        return "extender"
    if any(first <= code <= last for first, last in _ALONE):
        return "alone"
    return "letter" if category[0] in "LN" or category == "Pc" else "sign"
