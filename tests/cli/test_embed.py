"""featbert embed: files and standard input in, files of vectors out."""

import h5py
import numpy as np
import pytest

import featbert
from tests.workspace import command, error_of, ok

TEXTS = ["Jordan Smith beat Washington.", "", "EU rejects German call"]


@pytest.fixture
def vectors(tiny_bert):
    return featbert.embed(TEXTS, tiny_bert, device="cpu", precision="fp32")


@pytest.fixture
def embed(tiny_bert):
    def run(*words: object, input: str | None = None):
        where = ("--model", tiny_bert, "--device", "cpu", "--precision", "fp32", "-q")
        return command("embed", *words, *where, input=input)

    return run


def read_parquet(path):
    return pytest.importorskip("pyarrow.parquet").read_table(path)["vectors"].to_pylist()


def read_h5(path):
    with h5py.File(path) as file:
        assert file["vectors"].attrs["layer"] == "last"
        return file["vectors"][:]


@pytest.mark.parametrize(
    ("ending", "read"), [(".npy", np.load), (".parquet", read_parquet), (".h5", read_h5)]
)
def test_each_line_has_a_row_in_each_format(embed, vectors, tmp_path, ending, read):
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n", "utf-8")
    result = ok(embed(tmp_path / "texts.txt", "-o", tmp_path / f"out{ending}"))
    assert "3 vectors of 16 numbers" in result.stdout
    np.testing.assert_array_equal(read(tmp_path / f"out{ending}"), vectors)
    assert len(list(tmp_path.iterdir())) == 2


def test_standard_input_and_columns_give_the_same_vectors(embed, vectors, tmp_path):
    ok(embed("-o", tmp_path / "lines.npy", input="\n".join(TEXTS)))
    (tmp_path / "x.csv").write_text("id,review\n" + "".join(f'1,"{t}"\n' for t in TEXTS), "utf-8")
    ok(embed(tmp_path / "x.csv", "--text", "review", "-o", tmp_path / "csv.npy"))
    for name in ("lines", "csv"):
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}.npy"), vectors)
    assert "line 1" in error_of(embed("-o", tmp_path / "no.npy", input="id,review\n1,a\n"))
    assert not (tmp_path / "no.npy").exists()


def test_pairs_are_lines_with_a_tab_or_two_columns(embed, tiny_bert, tmp_path):
    pairs = [(TEXTS[0], TEXTS[2]), ("", ""), (TEXTS[2], TEXTS[0])]
    expected = featbert.embed(pairs, tiny_bert, device="cpu", precision="fp32")
    ok(embed("-o", tmp_path / "a.npy", input=f"{TEXTS[0]}\t{TEXTS[2]}\n\n{TEXTS[2]}\t{TEXTS[0]}"))
    rows = "".join(f'{{"premise": "{a}", "hypothesis": "{b}"}}\n' for a, b in pairs)
    (tmp_path / "x.jsonl").write_text(rows, "utf-8")
    ok(embed(tmp_path / "x.jsonl", "-o", tmp_path / "b.npy"))
    for name in "ab":
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}.npy"), expected)


@pytest.mark.parametrize(
    ("text", "words", "part"),
    [
        ("", (), "no text"),
        ("a\n", ("--layer", "9"), "layers 0 to 4"),
        ("a\tb\nc\n", (), "line 2"),
        ("a\n", ("--pair", "b"), "--input"),
        ("a\n", ("-o", "x.txt"), ".npy, .parquet, .h5"),
        ("a\n", ("-o", "absent/x.npy"), "absent"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(embed, tmp_path, text, words, part):
    out = () if "-o" in words else ("-o", tmp_path / "x.npy")
    assert part in error_of(embed(*out, *words, input=text))
    assert not list(tmp_path.iterdir())


def test_a_file_or_a_named_pair_that_is_missing_is_named(embed, tmp_path):
    (tmp_path / "x.csv").write_text("id,review\n1,good\n", "utf-8")
    words = ("--pair", "title", "-o", tmp_path / "x.npy")
    for file, part in (("x.csv", "title"), ("absent.csv", "absent.csv")):
        assert part in error_of(embed(tmp_path / file, *words))
