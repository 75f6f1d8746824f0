"""The data of the error browser: sentences with mistakes, as JSON that a page can hold.

    {"types": ["LOC", ...], "texts": [{"name", "told", "a", "b",
     "rows": [{"name", "run", "seed"}], "sentences": [[number, [word, ...], gold, [found, ...]]]}]}

An entity is [first word, word after the last one, place in types]; `found` is 0 where a row has
the gold entities, and its own entities where it does not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from featbert.analysis.disagreements import JudgedText, Span
from featbert.report.units import visible
from featbert.text import counted

# Joiners belong to the spelling of some languages; other format characters could reorder a page.
_JOINERS = "\u200c\u200d"


def browser_json(texts: Sequence[JudgedText], best: str | None, baseline: str | None) -> str:
    """JSON without a character that could end the element that it stands in.

    Args:
        best, baseline: names of the rows that are set side by side at first.
    """
    kinds = _kinds(texts)
    data: dict[str, list[Any]] = {"types": [visible(kind) for kind in kinds], "texts": []}
    places = {kind: place for place, kind in enumerate(kinds)}
    several = len({text.corpus for text in texts}) > 1
    for text in texts:
        names = [answer.row for answer in text.answers]
        data["texts"].append(
            {
                "name": f"{visible(text.corpus)} {text.split}" if several else text.split,
                "told": _told(text),
                "a": names.index(best) if best in names else 0,
                "b": names.index(baseline) if baseline in names else len(names) - 1,
                "rows": [
                    {"name": visible(a.row), "run": visible(a.run), "seed": a.seed}
                    for a in text.answers
                ],
                "sentences": [
                    [
                        sentence.number,
                        [shown_word(word) for word in sentence.words],
                        _spans(sentence.gold, places),
                        [0 if one is None else _spans(one, places) for one in sentence.found],
                    ]
                    for sentence in text.sentences
                ],
            }
        )
    told = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        told = told.replace(character, f"\\u{ord(character):04x}")
    return told


def shown_word(word: str) -> str:
    """A word with what would control the page written out; joiners stay."""
    return "".join(c if c in _JOINERS else visible(c) for c in word)


def _kinds(texts: Sequence[JudgedText]) -> list[str]:
    """Entity types, the most frequent first."""
    counts: Counter[str] = Counter()
    for text in texts:
        for sentence in text.sentences:
            counts.update(kind for _, _, kind in sentence.gold)
            for found in sentence.found:
                counts.update({kind: 0 for _, _, kind in found or ()})
    return [kind for kind, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def _spans(spans: Sequence[Span], places: dict[str, int]) -> list[Any]:
    return [[first, stop, places[kind]] for first, stop, kind in spans]


def _told(text: JudgedText) -> str:
    """What the browser holds of a text."""
    seeds = sorted({answer.seed for answer in text.answers})
    runs = f"runs of seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
    of = (
        f"{text.with_mistakes:,} of {counted(text.size, 'sentence')} have a mistake of some row; "
        f"{runs}"
    )
    if len(text.sentences) < text.with_mistakes:
        return f"{of}; the first {len(text.sentences):,} of these are here"
    return of
