"""Raw text split into words, each with its place: what `featbert predict` does to a line.

The rule follows Unicode's default word boundaries (UAX #29, section 4.1), as one expression of
the package `regex`, with four habits of the corpora that taggers learn from (CoNLL-2003, wikigold,
OntoNotes). It knows no language and no list of abbreviations.

1. White space separates words and belongs to none. Every other character is in exactly one word.
2. Letters, digits, marks and low lines form a word: `naïve`, `v2`, `user_name`, `हिन्दी`.
3. One sign between two of these stays inside the word: an apostrophe (`don't`, `O'Brien`), a hyphen
   (`Jean-Claude`, `3-1`), a middle dot, a Hebrew geresh, a full stop between two letters or two
   digits (`example.com`, `3.14`), a comma or colon between two digits (`1,000`, `10:30`).
4. A final `'s` is a word of its own: `Smith 's`.
5. The full stop after single letters with stops between them stays: `U.S.`, `e.g.`, and so does the
   one after a single capital that is not the last word of the line: `J. Smith`, but `plan B .`.
   Every other final full stop is a word: `Mr .`.
6. Every other sign is a word, repeated signs are one: `( Rome )`, `...`, `!!`. Brackets and
   quotation marks are never joined.
7. Marks, variation selectors, skin tones and invisible format characters belong to the character
   before them. Signs joined by a zero-width joiner are one (`👩‍👩‍👧`), and so are two regional
   indicators (a flag).
8. Scripts without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese and their like) have no
   words that can be seen: each of their characters is one, with its marks (`ที่`, a grapheme cluster,
   UAX #29, section 3). Examples are cut by this rule, too.
"""

from collections.abc import Iterator

import regex

_EXTENDER = r"[\p{M}\p{Cf}\U0001F3FB-\U0001F3FF]"  # rule 7
_UNSPACED = (  # rule 8: Line_Break=SA is Unicode's class of South East Asian scripts
    r"[\p{Han}\p{Hiragana}\p{Katakana}\u30FC\uFF70\p{Bopomofo}\p{Yi}\p{Tangut}\p{Nushu}\p{Line_Break=SA}]"
)
_CHARACTER = rf"(?={_UNSPACED}) \X"
_LETTER = rf"[[\p{{L}}\p{{N}}\p{{Pc}}]--{_UNSPACED}]"
_SIGN = (
    rf"[[^\s\x1C-\x1F]--[\p{{L}}\p{{N}}\p{{Pc}}\p{{M}}\p{{Cf}}\U0001F3FB-\U0001F3FF]--{_UNSPACED}]"
)
_JOINED = rf"(?: (?<=\u200d) {_SIGN}{_EXTENDER}* )*"
_QUOTE = r"[\p{Ps}\p{Pe}\p{Pi}\p{Pf}'\"]"
_WORDS = regex.compile(
    rf"""(?xV1)
    # Rule 8.
    {_CHARACTER} [{_EXTENDER}--{_UNSPACED}]*
    # Rule 5: U.S. and J., unless a letter or another full stop follows.
    | (?: {_LETTER}(?<=\p{{L}}){_EXTENDER}* (?: \. {_LETTER}(?<=\p{{L}}){_EXTENDER}* )+ \.
      | \p{{Lu}}{_EXTENDER}* \. (?= \s* \S ) )
    (?! \. | {_EXTENDER} | {_LETTER}(?<=\p{{L}}) )
    # Rules 2 and 3.
    | (?: {_LETTER} | {_EXTENDER} ) (?: {_LETTER} | {_EXTENDER}
        | (?: ['’‐‑·׳״-] | (?<=\d{_EXTENDER}*) [,:٫٬.] (?=\d)
            | (?<=\p{{L}}{_EXTENDER}*) \. (?=\p{{L}}) ) (?={_LETTER}) )*
    # Rule 4: 's after a sign or a space.
    | ['’][sS] (?! {_LETTER} | {_EXTENDER} | ['’‐‑·׳״-]{_LETTER} )
    # Rules 6 and 7.
    | {_QUOTE}{_EXTENDER}*{_JOINED}
    | (?P<sign> (?: [\U0001F1E6-\U0001F1FF]{{2}} | {_SIGN} ) {_EXTENDER}*{_JOINED} )
      (?: (?P=sign) (?! {_EXTENDER} ) )*
    """
)
_CLITIC = regex.compile(r"(?<=.)['’][sS]$")  # rule 4, inside a match of rules 2 and 3


_UNITS = regex.compile(rf"(?xV1) {_CHARACTER} | (?: (?!{_UNSPACED}) \X )+")


def units(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A part of a text without white space, split only by rule 8."""
    return (match.span() for match in _UNITS.finditer(text, start, end))


def split_words(line: str) -> list[tuple[int, int]]:
    """(start, end) of each word of a line, in code points: word = line[start:end]."""
    words: list[tuple[int, int]] = []
    for match in _WORDS.finditer(line):
        start, end = match.span()
        if clitic := _CLITIC.search(match.group()):
            words.append((start, start + clitic.start()))
            start += clitic.start()
        words.append((start, end))
    return words
