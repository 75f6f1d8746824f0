"""One corpus in every form of file: the same words and tags, by usual names or by those given."""

import json
from contextlib import nullcontext

import pytest

from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.errors import InputError, MissingError

ROWS = {
    "train": [(["Rome", ",", "6;8"], ["B-LOC", "O", "O"]), (['"', "Jane"], ["O", "B-PER"])],
    "dev": [(["a|b"], ["O"]), (["word", "Oslo"], ["O", "B-LOC"])],
}
NAMES = ["O", "B-PER", "B-LOC"]
NUMBERS = {name: str(i) for i, name in enumerate(NAMES)}


def cells(separator, header=(), *, index=False, tag=str):
    """Columns, a header if there is one, and an empty line after each sentence."""

    def text(rows):
        out = [separator.join(header)] if header else []
        for words, tags in rows:
            for i, (w, t) in enumerate(zip(words, tags, strict=True)):
                word = '"{}"'.format(w.replace('"', '""')) if separator == "," else w
                out.append(separator.join([*([str(i)] if index else []), word, tag(t)]))
            out.append("")
        return "\n".join(out)

    return text


def numbered(rows):
    """As the CSV of Kaggle: the number of a sentence is in the line of its first word."""
    lines = ["Sentence #\tWord\tTag"]
    for number, (words, tags) in enumerate(rows, 1):
        marks = [f"Sentence: {number}"] + [""] * len(words)
        lines += map("\t".join, zip(marks, words, tags, strict=False))
    return "\n".join(lines)


def objects(tokens, tags, *, lines=True, number=lambda tag: tag):
    def text(rows):
        made = [{"text": " ".join(w), tokens: w, tags: [*map(number, t)]} for w, t in rows]
        return "".join(json.dumps(row) + "\n" for row in made) if lines else json.dumps(made)

    return text


FORMS = {
    "conll": (cells(" "), {}),
    "tsv": (cells("\t", ("index", "token", "ner_tag"), index=True), {}),
    "txt": (cells("\t", ("Wort", "Etikett")), {"token_column": "wort", "tag_column": "Etikett"}),
    "ner": (cells("~", index=True), {"delimiter": "~", "token_column": 2}),
    "csv": (cells(",", ("Word", "Tag")), {}),
    "cols": (numbered, {}),
    "data": (cells("\t", ("Word", "Label"), tag=NUMBERS.get), {"label_names": ",".join(NAMES)}),
    "jsonl": (objects("words", "ner"), {}),
    "ndjson": (objects("w", "t"), {"token_column": "w", "tag_column": 3}),
    "json": (objects("text ", "labels", lines=False, number=NAMES.index), {"token_column": 2}),
}


@pytest.fixture
def plain(tmp_path):
    return written(tmp_path / "plain", "bio", FORMS["conll"][0])


def written(folder, ending, form):
    folder.mkdir()
    for name, rows in ROWS.items():
        (folder / f"{name}.{ending}").write_text(form(rows), "utf-8")
    return folder


def prints(path, **options):
    """What the store depends on, and what is learned."""
    corpus = load_corpus(path, ReadingOptions(**options))
    words = load_corpus(path, ReadingOptions(**options), targets=None)
    texts = [split.text_fingerprint for split in corpus.splits.values()]
    assert [split.text_fingerprint for split in words.splits.values()] == texts
    return texts, [split.tag_fingerprint for split in corpus.splits.values()]


@pytest.mark.parametrize("ending", FORMS)
def test_every_form_has_the_same_words_and_tags(tmp_path, plain, ending):
    form, options = FORMS[ending]
    folder = written(tmp_path / "corpus", ending, form)
    if ending == "json":
        (folder / "labels.txt").write_text("\n".join(NAMES), "utf-8")
    assert prints(folder, **options) == prints(plain)
    notes = load_corpus(folder, ReadingOptions(**options))["train"].notes
    assert notes.header_lines == (ending in ("tsv", "txt", "csv", "data", "cols"))


@pytest.mark.parametrize("saved", [True, False])
def test_a_folder_of_a_dataset_needs_no_prefix(offline, tmp_path, plain, saved):
    import datasets

    data = datasets.DatasetDict()
    for name, rows in ROWS.items():
        made = [{"tokens": w, "ner_tags": [*map(NAMES.index, t)]} for w, t in rows]
        data[name.replace("dev", "validation")] = datasets.Dataset.from_list(made)
    folder = tmp_path / "saved"
    if saved:
        data.save_to_disk(folder)
    else:
        for name, split in data.items():
            split.to_parquet(folder / "data" / f"{name}-00000-of-00001.parquet")
    with pytest.raises(InputError, match="label_names"):
        load_corpus(folder)
    (folder / "labels.txt").write_text("O\nB-PER\nB-LOC\n", "utf-8")
    assert prints(folder) == prints(plain)
    assert load_corpus(folder).source == (f"hf:{folder}" if saved else str(folder))
    if not saved:
        path = (folder / "labels.txt").rename(folder / "data" / "labels.txt").parent
        alone = load_corpus(path / "train-00000-of-00001.parquet")
        assert alone["train"].tag_fingerprint == load_corpus(plain)["train"].tag_fingerprint


def test_a_number_without_a_name_is_refused(tmp_path):
    form, _ = FORMS["data"]
    folder = written(tmp_path / "corpus", "data", form)
    with pytest.raises(InputError, match=r"label 2 of .*train\.data.* 2, from 0"):
        load_corpus(folder, ReadingOptions(label_names="O,B-PER"))


def test_names_of_no_number_are_refused(tmp_path):
    path = tmp_path / "train.csv"
    for labels, names in (("ab", "x,y"), ("01", "x,y"), ("ab", "a,b")):
        path.write_text("text,label\n" + "".join(f"It was {n}.,{n}\n" for n in labels), "utf-8")
        refused = pytest.raises(InputError, match=r"label_names .*train\.csv")
        with refused if (labels, names) == ("ab", "x,y") else nullcontext():
            corpus = load_corpus(path, ReadingOptions(label_names=names), targets="classes")
            assert {*corpus["train"].labels} == {*names.split(",")}


def test_a_limit_reads_the_first_of_each_part(plain):
    corpus, whole = load_corpus(plain, ReadingOptions(limit=1)), load_corpus(plain)
    assert corpus.name == "plain-first-1"
    for name, split in corpus.splits.items():
        assert split.sentences == whole[name].sentences[:1]
    assert prints(plain, limit=2) == prints(plain)


def test_a_name_of_the_hub_is_told_apart_from_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingError, match="hf:conll2003"):
        load_corpus("conll2003")
    with pytest.raises(MissingError, match="~no-such-user"):
        load_corpus("~no-such-user/corpus")
