"""Sentences in which rows differ, against a look at every tag."""

from featbert.analysis.compare import compare
from featbert.report.html.browser import judged_texts
from featbert.units import visible
from tests.conlleval import chunks
from tests.report.html.judged import usual


def spans(tags: list[str]) -> list[tuple[int, int, str]]:
    return [(first, end, name) for name, first, end in chunks(tags)]


def test_sentences_with_a_mistake_of_any_row_are_kept_in_order(tmp_path) -> None:
    (comparison,) = compare(usual(tmp_path))
    texts, notes = judged_texts(comparison)
    assert not notes
    assert [text["name"] for text in texts] == ["dev", "test"]
    for text in texts:
        names = [(row["name"], row["seed"]) for row in text["rows"]]
        assert names == [("last", 1), ("concat_last4", 1), ("fine-tuning", 1)]
        read = [row.runs[0].predictions(text["name"]) for row in comparison.rows]
        expected = {}
        for number, (words, gold) in enumerate(zip(read[0].words, read[0].gold, strict=True), 1):
            found = [spans(one.predicted[number - 1]) for one in read]
            if any(one != spans(gold) for one in found):
                differing = [None if one == spans(gold) else one for one in found]
                expected[number] = (
                    [visible(w, "\u200c\u200d") for w in words],
                    spans(gold),
                    differing,
                )
        assert {number: found for number, *found in text["sentences"]} == {
            number: [*found] for number, found in expected.items()
        }
        assert f" {len(expected)} of 90 sentences; " in text["about"]
        assert 10 < len(expected) < 90


def test_no_more_sentences_than_a_page_holds_and_the_count_says_so(tmp_path) -> None:
    (comparison,) = compare(usual(tmp_path, seeds=[1]))
    whole, _ = judged_texts(comparison)
    (dev, _), _ = judged_texts(comparison, most=5)
    assert dev["sentences"] == whole[0]["sentences"][:5]
    assert dev["about"].startswith(whole[0]["about"])


def test_runs_of_one_seed_stand_for_the_rows(tmp_path) -> None:
    runs = [run for run in usual(tmp_path) if run.name not in ("last-1", "concat-3")]
    texts, _ = judged_texts(compare(runs)[0])
    assert {row["seed"] for row in texts[0]["rows"]} == {2}


def test_missing_predictions_are_told_and_the_rest_is_there(tmp_path) -> None:
    runs = usual(tmp_path, seeds=[1])
    (runs[0].folder / "test.conll").unlink()
    texts, (note,) = judged_texts(compare(runs)[0])
    assert [text["name"] for text in texts] == ["dev"]
    assert "test.conll" in note
