"""Hostile corpora: read without losing a word, or refused in one line."""

from typer.testing import CliRunner, Result

from featbert.cli.main import app
from featbert.data.load import load_corpus
from tests.workspace import error_of, ok

GOOD = "Rome B-LOC\n. O\n"


def check(*words: object) -> Result:
    return CliRunner().invoke(app, ["check", *map(str, words)])


def test_a_name_without_a_file_is_refused_in_one_line(tmp_path):
    """A folder, a link to nothing, links in a circle."""
    places = [tmp_path / name for name in ("folder", "nothing", "circle")]
    for place in places:
        place.mkdir()
    (places[0] / "train.conll").mkdir()
    (places[1] / "dev.conll").write_text(GOOD, "utf-8")
    (places[1] / "train.conll").symlink_to("gone.conll")
    (places[2] / "train.conll").symlink_to("dev.conll")
    (places[2] / "dev.conll").symlink_to("train.conll")
    for place in places:
        line = error_of(check(place))
        assert str(place) in line
        assert ("train.conll/" if place == places[0] else "'train.conll'") in line


def test_a_word_of_a_megabyte(tmp_path):
    word = "é" * 500_000
    (tmp_path / "train.conll").write_text(f"{word} B-X\nb O\n", "utf-8")
    result = ok(check(tmp_path))
    assert len(result.stdout) < 5000
    assert load_corpus(tmp_path)["train"].sentences[0].words == (word, "b")
    (tmp_path / "dev.conll").write_text(f"b O\n{word}\n", "utf-8")
    assert len(error_of(check(tmp_path))) < 1000
