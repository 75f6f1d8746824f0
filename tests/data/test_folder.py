"""A folder is read as the split files at its top; shards of a split are one split."""

import json

import pytest

from featbert.data.check import check_corpus
from featbert.data.folder import not_read
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.errors import InputError
from featbert.tasks.suited import suited_task
from tests.data.support import made

pytestmark = pytest.mark.usefixtures("offline")


def write(path, *words):
    """A sentence a word, in the format that the name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix in (".parquet", ".arrow"):
        import pyarrow as pa

        rows = made({"tokens": [[w] for w in words], "ner_tags": [[3]] * len(words)})
        if path.suffix == ".parquet":
            rows.to_parquet(path)
        else:
            opened = pa.ipc.new_file if "dev" in path.name else pa.ipc.new_stream
            with opened(str(path), rows.data.table.schema) as sink:
                sink.write_table(rows.data.table)
    elif path.suffix == ".jsonl":
        rows = [json.dumps({"tokens": [w], "tags": ["B-LOC"]}) for w in words]
        path.write_text("\n".join(rows), "utf-8")
    elif path.suffix == ".csv":
        path.write_text("word,tag\n" + "".join(f"{w},B-LOC\n\n" for w in words), "utf-8")
    else:
        path.write_text("".join(f"{w} B-LOC\n\n" for w in words), "utf-8")


def words(corpus, split="train"):
    return [word for s in corpus[split] for word in s.words]


FORMATS = ("conll", "csv", "jsonl", "parquet", "arrow")


@pytest.mark.parametrize("format", FORMATS)
def test_what_lies_elsewhere_is_named_and_not_read(tmp_path, format):
    folder = tmp_path / "news"
    for name in ("train", "dev", "old/train", "old/test", "test/test", "stray"):
        write(folder / f"{name}.{format}", name.replace("/", "-"))
    for name in ("stray.parquet", "stray.arrow"):
        write(folder / name, "stray")
    for name in ("README.md", "LICENSE", ".hidden", "labels.txt"):
        (folder / name).write_text("O\n", "utf-8")
    for path in (str(folder), f"hf:{folder}"):
        corpus = load_corpus(path)
        assert {name: words(corpus, name) for name in corpus.splits} == {
            "train": ["train"],
            "dev": ["dev"],
        }
        assert corpus.source == str(folder)
        assert {s.tags[0] for s in corpus["train"]} == {"B-LOC"}
        others = {f"stray.{format}", "stray.parquet", "stray.arrow", "old/", "test/"}
        assert check_corpus(corpus).not_read == sorted(others)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("inner", ["", "data/"])
def test_shards_are_one_split(tmp_path, format, inner):
    for i in range(11):
        write(tmp_path / f"{inner}train-{i:05}-of-00011.{format}", f"a{i}", f"b{i}")
    write(tmp_path / f"{inner}validation-00000-of-00001.{format}", "dev")
    write(tmp_path / f"{inner}old/test-00000-of-00001.{format}", "test")
    corpus = load_corpus(tmp_path)
    assert [*corpus.splits] == ["train", "dev"]
    assert words(corpus) == [f"{letter}{i}" for i in range(11) for letter in "ab"]
    assert not_read(tmp_path) == [f"{inner}old/"]
    assert len(load_corpus(tmp_path, ReadingOptions(limit=3))["train"]) == 3
    assert words(load_corpus(corpus.source, ReadingOptions(limit=2))) == ["a0", "b0"]


def test_shards_with_hashes(tmp_path):
    for i, end in enumerate(("0f1e2d3c4b5a6978", "1359597a978bc4fa")):
        write(tmp_path / "data" / f"train-0000{i}-of-00002-{end}.parquet", f"w{i}")
    assert words(load_corpus(tmp_path)) == ["w0", "w1"]
    (tmp_path / "data" / "train-00000-of-00002-0f1e2d3c4b5a6978.parquet").unlink()
    with pytest.raises(InputError, match="train-00001-of-00002"):
        load_corpus(tmp_path)


def test_shards_by_their_numbers(tmp_path):
    for i in range(1, 12):  # names sort otherwise: 1, 10, 11, 2
        (tmp_path / f"train.{i}.conll").write_text(f"-DOCSTART- O\n\n# x\nw{i}\tO\n", "utf-8")
    corpus = load_corpus(tmp_path)
    assert words(corpus) == [f"w{i}" for i in range(1, 12)]
    assert [s.document for s in corpus["train"]] == [*range(11)]
    assert corpus["train"].notes.comment_lines == 11
    (tmp_path / "train.2.conll").write_text("w2\tB-LOC\nx\tNN\n", "utf-8")
    with pytest.raises(InputError, match=r"line 2 of .*train\.2\.conll"):
        load_corpus(tmp_path)


def test_words_and_their_tags_may_be_in_two_files(tmp_path):
    for part in ("train", "valid", "test", "other"):
        (tmp_path / part).mkdir()
        (tmp_path / part / "seq.in").write_text("to Rome \nnothing here\n")
        (tmp_path / part / "seq.out").write_text("O B-city\nO O\n")
        (tmp_path / part / "label").write_text("go\nstay\n")
    corpus = load_corpus(tmp_path)
    assert [*corpus.splits] == ["train", "dev", "test"]
    for split in corpus.splits.values():
        assert [s.words for s in split] == [("to", "Rome"), ("nothing", "here")]
        assert split.tags == [("O", "B-city"), ("O", "O")]
    assert not_read(tmp_path) == ["other/"]
    assert load_corpus(tmp_path / "valid")["dev"].sentences == corpus["dev"].sentences
    assert suited_task(str(tmp_path), ReadingOptions()) == "entities"
    with pytest.raises(InputError, match="entities"):
        load_corpus(tmp_path, targets="classes")
    for lines in ("O B-city\n", "O B-city\nO\n", "O B-city\nO O\nO\n"):
        (tmp_path / "train" / "seq.out").write_text(lines)
        with pytest.raises(InputError, match=r"line [23] of .*train/seq\.in"):
            load_corpus(tmp_path)
    (tmp_path / "other").rename(tmp_path / "dev")
    with pytest.raises(InputError, match=str(tmp_path)):
        load_corpus(tmp_path)


def test_splits_in_sub_folders_are_refused_by_name(tmp_path):
    write(tmp_path / "inner" / "valid" / "valid.conll", "x")
    with pytest.raises(InputError, match="sub-folders such as valid/"):
        load_corpus(tmp_path / "inner")
    # A folder whose names say nothing is read with hf:
    write(tmp_path / "names" / "train" / "0000.parquet", "x")
    with pytest.raises(InputError, match="train/"):
        load_corpus(tmp_path / "names")
    assert words(load_corpus(f"hf:{tmp_path / 'names'}")) == ["x"]
