"""The data of the error browser: sentences with mistakes, as JSON that a page can hold.

    {"texts": [{"name", "about", "a", "b",
     "rows": [{"name", "run", "seed"}], "sentences": [[number, [word, ...], gold, [found, ...]]]}]}

An entity is [first word, word after the last one, type]; `found` is null where a row has the gold
entities, and its own entities where it does not.
"""

import json
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
    several = len({text.corpus for text in texts}) > 1
    shown = [
        {
            "name": f"{visible(text.corpus)} {text.split}" if several else text.split,
            **_sides(text, best, baselines),
            **_text(text),
            "about": _about(text, unit),
        }
        for text in texts
    ]
    written = json.dumps({"texts": shown}, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return written


def _sides(text: JudgedText, best: Sequence[str], baselines: Sequence[str]) -> dict[str, int]:
    names = [name for name, _ in text.runs]
    a = next((names.index(name) for name in best if name in names), 0)
    others = [*baselines, *reversed(names)]
    b = next((names.index(n) for n in others if n in names and n != names[a]), a)
    return {"a": a, "b": b}


def _text(text: JudgedText) -> dict[str, Any]:
    def spans(found: Sequence[Span]) -> list[Any]:
        return [(first, stop, visible(kind)) for first, stop, kind in found]

    return {
        "rows": [
            {"name": visible(name), "run": visible(run.name), "seed": run.record.seed}
            for name, run in text.runs
        ],
        "sentences": [
            (
                one.number,
                [visible(word, _JOINERS) for word in one.words],
                spans(one.gold),
                [None if found is None else spans(found) for found in one.found],
            )
            for one in text.sentences
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
