"""The chunk logic of the conlleval script (Tjong Kim Sang and De Meulder 2003), as an oracle.

Written from the script's definition and in its manner, a stream of words with one flag, which
shares nothing with the sets of spans that seqeval and featbert compare.
"""

from collections import Counter
from collections.abc import Sequence


def _ends(last: str, last_type: str, tag: str, type_: str) -> bool:
    return (
        (last in "BI" and tag == "B")
        or (last in "BI" and tag == "O")
        or (last != "O" and last_type != type_)
    )


def _starts(last: str, last_type: str, tag: str, type_: str) -> bool:
    return tag == "B" or (last == "O" and tag == "I") or (tag != "O" and last_type != type_)


def conlleval(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> dict[str, tuple[int, int, int]]:
    """(correct, guessed, found-in-gold) by type; types that never occur are absent."""
    correct: Counter[str] = Counter()
    guessed: Counter[str] = Counter()
    in_gold: Counter[str] = Counter()
    for gold_row, predicted_row in zip(gold, predicted, strict=True):
        last_g, last_g_type, last_p, last_p_type = "O", "", "O", ""
        inside = False
        for g_full, p_full in zip([*gold_row, "O"], [*predicted_row, "O"], strict=True):
            g, _, g_type = g_full.partition("-")
            p, _, p_type = p_full.partition("-")
            g_ends = _ends(last_g, last_g_type, g, g_type)
            p_ends = _ends(last_p, last_p_type, p, p_type)
            if inside:
                if g_ends and p_ends and last_g_type == last_p_type:
                    inside = False
                    correct[last_g_type] += 1
                elif g_ends != p_ends or g_type != p_type:
                    inside = False
            g_starts = _starts(last_g, last_g_type, g, g_type)
            p_starts = _starts(last_p, last_p_type, p, p_type)
            if g_starts and p_starts and g_type == p_type:
                inside = True
            in_gold[g_type] += g_starts
            guessed[p_type] += p_starts
            last_g, last_g_type, last_p, last_p_type = g, g_type, p, p_type
    types = {t for t in (*guessed, *in_gold) if guessed[t] or in_gold[t]}
    return {t: (correct[t], guessed[t], in_gold[t]) for t in types}
