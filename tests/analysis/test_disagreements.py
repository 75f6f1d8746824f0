"""Sentences in which rows differ, against a look at every tag."""

from featbert.analysis import breakdown
from featbert.analysis.rows import compare_group
from featbert.units import visible
from tests.conlleval import chunks
from tests.report.html.judged import usual


def spans(tags: list[str]) -> tuple[tuple[int, int, str], ...]:
    return tuple((first, end, name) for name, first, end in chunks(tags))


def judged(runs):
    return breakdown.with_texts(*compare_group(runs, frozenset()))


def test_sentences_with_a_mistake_of_any_row_are_kept_in_order(tmp_path) -> None:
    runs = {run.name: run for run in usual(tmp_path)}
    comparison = judged([*runs.values()])
    assert not comparison.missing_texts
    assert [text.name for text in comparison.texts] == ["dev", "test"]
    for text in comparison.texts:
        names = [(row.name, row.seed) for row in text.rows]
        assert names == [("last", 1), ("concat_last4", 1), ("fine-tuning", 1)]
        read = [runs[row.run].predictions(text.name) for row in text.rows]
        expected = []
        for place, (words, gold) in enumerate(zip(read[0].words, read[0].gold, strict=True)):
            found = [spans(one.predicted[place]) for one in read]
            differing = tuple(None if one == spans(gold) else one for one in found)
            if differing != (None,) * len(read):
                shown = tuple(visible(word, "\u200c\u200d") for word in words)
                expected.append((place + 1, shown, spans(gold), differing))
        assert [*text.sentences] == expected
        assert f" {len(expected)} of 90 sentences; " in text.about
        assert 10 < len(expected) < 90


def test_a_page_has_a_most_one_seed_stands_for_the_rows_and_what_is_missing_is_told(
    tmp_path, monkeypatch
):
    runs = [run for run in usual(tmp_path) if run.name not in ("last-1", "concat-3")]
    whole = judged(runs).texts[0]
    with monkeypatch.context() as patch:
        patch.setattr(breakdown, "MOST", 5)
        cut = judged(runs).texts[0]
    assert {row.seed for row in whole.rows} == {2}
    assert cut.sentences == whole.sentences[:5]
    assert cut.about.startswith(whole.about)
    (runs[1].folder / "test.conll").unlink()
    comparison = judged(runs)
    assert [text.name for text in comparison.texts] == ["dev"]
    (note,) = comparison.missing_texts
    assert "test.conll" in note
