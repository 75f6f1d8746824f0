"""The data of the error browser: sentences with mistakes, as JSON that a page can hold.

    {"types": ["LOC", ...], "texts": [{"name", "about", "a", "b",
     "rows": [{"name", "run", "seed"}], "sentences": [[number, [word, ...], gold, [found, ...]]]}]}

An entity is [first word, word after the last one, place in types]; `found` is 0 where a row has
the gold entities, and its own entities where it does not.
"""

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from featbert.analysis.breakdown import JudgedText, Span
from featbert.report.units import visible
from featbert.text import counted

# Joiners belong to the spelling of some languages; other format characters could reorder a page.
_JOINERS = "\u200c\u200d"


def browser_json(
    texts: Sequence[JudgedText], best: Sequence[str], baselines: Sequence[str], *, unit: str
) -> str:
    """JSON without a character that could end the element which holds it.

    At first the page compares the first rows of `best` and `baselines` that a text has; `unit` is
    what is judged, such as "sentence".
    """
    types = _types(texts)
    several = len({text.corpus for text in texts}) > 1
    shown = [
        {
            "name": f"{visible(text.corpus)} {text.split}" if several else text.split,
            **_sides(text, best, baselines),
            **_text(text, types),
            "about": _about(text, unit),
        }
        for text in texts
    ]
    data = {"types": [visible(kind) for kind in types], "texts": shown}
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return written


def _types(texts: Sequence[JudgedText]) -> list[str]:
    """The most frequent in gold first."""
    counts: Counter[str] = Counter()
    for sentence in itertools.chain(*(text.sentences for text in texts)):
        counts.update(kind for _, _, kind in sentence.gold)
        counts.update({kind: 0 for found in sentence.found for _, _, kind in found or ()})
    return sorted(counts, key=lambda kind: (-counts[kind], kind))


def _sides(text: JudgedText, best: Sequence[str], baselines: Sequence[str]) -> dict[str, int]:
    names = [name for name, _ in text.runs]
    a = next((names.index(name) for name in best if name in names), 0)
    others = [*baselines, *reversed(names)]
    b = next((names.index(n) for n in others if n in names and n != names[a]), a)
    return {"a": a, "b": b}


def _text(text: JudgedText, types: list[str]) -> dict[str, Any]:
    def spans(found: Sequence[Span]) -> list[list[int]]:
        return [[first, stop, types.index(kind)] for first, stop, kind in found]

    return {
        "rows": [
            {"name": visible(name), "run": visible(run.name), "seed": run.record.seed}
            for name, run in text.runs
        ],
        "sentences": [
            [
                sentence.number,
                [visible(word, _JOINERS) for word in sentence.words],
                spans(sentence.gold),
                [0 if one is None else spans(one) for one in sentence.found],
            ]
            for sentence in text.sentences
        ],
    }


def _about(text: JudgedText, unit: str) -> str:
    seeds = sorted({run.record.seed for _, run in text.runs})
    about = (
        f"{text.with_mistakes:,} of {counted(text.size, unit)} have a mistake of some row; "
        f"runs of seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
    )
    if len(text.sentences) < text.with_mistakes:
        about += f"; the first {len(text.sentences):,} of these are here"
    return about
