import pytest

from featbert.tasks.scorer import TagError, score
from featbert.tasks.word_report import word_level_report

GOLD = [["B-PER", "I-PER", "O"], ["B-LOC", "O", "O", "B-O"]]
PREDICTED = [["B-PER", "B-PER", "O"], ["B-PER", "I-LOC", "O", "I-O"]]


def test_by_type_agrees_with_the_word_score():
    report = word_level_report(GOLD, PREDICTED)
    word = score(GOLD, PREDICTED).word
    micro = report.rows["micro avg"]
    assert micro["precision"] == pytest.approx(word.precision)
    assert micro["recall"] == pytest.approx(word.recall)
    assert micro["f1-score"] == pytest.approx(word.f1)
    assert [k for k in report.rows if "avg" not in k] == ["LOC", "O", "PER"]
    assert report.rows["PER"]["support"] == 2
    assert report.rows["PER"]["precision"] == pytest.approx(2 / 3)
    assert report.text.splitlines()[2].split() == ["LOC", "0.0000", "0.0000", "0.0000", "1"]


def test_by_tag_tells_b_from_i():
    rows = word_level_report(GOLD, PREDICTED, per="tag").rows
    assert rows["B-PER"]["recall"] == 1.0
    assert rows["I-PER"]["recall"] == 0.0
    assert "O" not in rows


def test_without_any_outside_word_there_is_still_a_micro_average():
    rows = word_level_report([["B-PER", "B-LOC"]], [["B-PER", "B-PER"]]).rows
    assert rows["micro avg"]["precision"] == pytest.approx(0.5)
    assert "accuracy" not in rows


def test_nothing_to_report():
    report = word_level_report([["O"], []], [["O"], []])
    assert report.rows == {}
    assert "no word is tagged" in report.text


def test_what_does_not_fit_is_refused():
    with pytest.raises(TagError, match="sentence 1"):
        word_level_report([["O"]], [["O", "O"]])
