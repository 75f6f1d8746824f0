"""Datasets read through `datasets`, from local folders without a network."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import datasets
import pytest

from featbert.config import Data
from featbert.data import load
from featbert.data.hub import CONVERTED, HubName
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.errors import InputError, MissingError
from featbert.tasks.base import get_task
from tests.data.support import ROWS, made, tags, written
from tests.workspace import ok

pytestmark = pytest.mark.usefixtures("offline")


@pytest.mark.parametrize("scheme", ["BIO", "IOB1", "BIOES"])
def test_a_corpus_comes_back_from_parquet_files(tmp_path, scheme):
    sample = load_corpus("sample")
    folder = written(sample, tmp_path / "copy", scheme)
    corpus = load_corpus(f"hf:{folder}")
    assert (corpus.name, corpus.language, corpus.source) == ("copy", None, str(folder))
    assert list(corpus.splits) == ["train", "dev", "test"]
    for name, split in sample.splits.items():
        assert corpus[name].text_fingerprint == split.text_fingerprint
        assert corpus[name].tag_fingerprint == split.tag_fingerprint
        assert (corpus[name].notes.scheme, corpus[name].notes.repaired_tags) == (scheme, 0)
        assert corpus[name].path.parent == folder


def test_a_folder_that_changed_is_read_again(tmp_path):
    folder = tmp_path / "copy"
    folder.mkdir()
    for words in (["Rome"], ["Oslo"]):
        made({"tokens": [words], "ner_tags": [[3]]}).to_parquet(folder / "train.parquet")
        (sentence,) = load_corpus(f"hf:{folder}")["train"]
        assert list(sentence.words) == words


def test_what_save_to_disk_wrote(saved, tmp_path, monkeypatch):
    source = saved(train=ROWS, validation=ROWS, extra=ROWS)
    monkeypatch.chdir(tmp_path)
    corpus = load_corpus("hf:news")
    assert corpus.source == source
    assert load_corpus(corpus.source)["dev"].tag_fingerprint == corpus["dev"].tag_fingerprint
    assert list(corpus.splits) == ["train", "dev"]
    assert tags(corpus, "train") == ["B-PER I-PER O B-LOC", "O O O"]
    made(ROWS).save_to_disk(tmp_path / "one")
    assert list(load_corpus("hf:one").splits) == ["train"]  # which --dev-share may be cut from
    with pytest.raises(InputError, match="'de'"):
        load_corpus(f"{source}:de")


def test_configurations(tmp_path):
    card = ["---", "configs:"]
    for config in ("de", "en"):
        (tmp_path / config).mkdir()
        made({"tokens": [[config]], "ner_tags": [[0]]}).to_parquet(tmp_path / config / "a.parquet")
        card += [f"- config_name: {config}", f"  data_files: {config}/a.parquet"]
    (tmp_path / "README.md").write_text("\n".join([*card, "---", ""]), "utf-8")
    corpus = load_corpus(f"hf:{tmp_path}:de")
    assert (corpus.name, corpus.language) == (f"{tmp_path.name}-de", "de")
    assert corpus.source == f"hf:{tmp_path}:de"
    assert corpus["train"].sentences[0].words == ("de",)
    for wrong in (f"hf:{tmp_path}", f"hf:{tmp_path}:dee"):
        with pytest.raises(InputError, match=r"'de', 'en'"):
            load_corpus(wrong)


def test_what_is_absent_or_no_dataset_is_named(tmp_path, monkeypatch):
    (tmp_path / "none").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "train.parquet").write_bytes(b"no parquet")
    for name, path in (("none", "hf:.*none"), ("broken", r"broken/train\.parquet")):
        with pytest.raises(InputError, match=path):
            load_corpus(f"hf:{tmp_path / name}")
    for name in (f"{tmp_path}/gone", "a/b:de"):  # there is no network, either
        with pytest.raises(MissingError, match=name):
            load_corpus(f"hf:{name}")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingError, match=r"featbert\[hub\]"):
        load_corpus(f"hf:{tmp_path}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hf:conll2003", ("conll2003", None, "conll2003", None)),
        ("hf:unimelb-nlp/wikiann:de", ("unimelb-nlp/wikiann", "de", "wikiann-de", "de")),
        ("hf:nyu-mll/glue:ax", ("nyu-mll/glue", "ax", "glue-ax", None)),
        ("hf:x/y.z:zh-min-nan", ("x/y.z", "zh-min-nan", "y.z-zh-min-nan", None)),
    ],
)
def test_names(text, expected):
    found = HubName.parse(text)
    assert (found.name, found.config, *found.corpus) == expected
    assert (found.source, found.is_folder) == (text, False)
    for wrong in ("hf:", "hf::de", "hf:a/b:", "hf:a/b/c", "hf:a b", "hf:-x"):
        with pytest.raises(InputError, match=wrong):
            HubName.parse(wrong)


@pytest.fixture
def hub(monkeypatch):
    """A Hub that knows one dataset; `asked` is what `datasets` was asked for."""
    import huggingface_hub

    asked = SimpleNamespace(calls=[], fails=None, files=[])

    def load_dataset(path, name=None, **more):
        asked.calls.append((path, name, more))
        if asked.fails is not None and not more:
            raise asked.fails
        return datasets.DatasetDict(train=made(ROWS))

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr(
        huggingface_hub.HfApi, "list_repo_files", lambda self, name, **more: asked.files
    )
    return asked


def test_a_dataset_of_the_hub(hub):
    assert load_corpus("hf:a/b:de").source == "hf:a/b:de"
    # The prefix keeps `datasets` from its packaged readers: hf:parquet is no folder of files.
    assert hub.calls == [("hf://datasets/a/b", "de", {})]
    hub.fails = datasets.exceptions.DatasetNotFoundError("Dataset 'a/b' is gated.\nLog in.")
    with pytest.raises(MissingError, match=r"hf:a/b .*gated"):
        load_corpus("hf:a/b")
    hub.fails = OSError(28, "No space left on device")
    with pytest.raises(InputError, match=r"hf:a/b .*No space left"):
        load_corpus("hf:a/b")


def test_of_a_script_the_conversion_is_read(hub):
    hub.fails = RuntimeError("Dataset scripts are no longer supported, but found b.py")
    converted = {"revision": CONVERTED}
    hub.files = [".gitattributes", "b/train/0000.parquet", "b/test/0000.parquet"]
    assert load_corpus("hf:a/b").source == "hf:a/b"
    assert hub.calls[-1] == ("hf://datasets/a/b", None, {"data_dir": "b"} | converted)
    hub.files = ["de/train/0000.parquet", "en/train/0000.parquet"]
    load_corpus("hf:a/b:en")
    assert hub.calls[-1] == ("hf://datasets/a/b", None, {"data_dir": "en"} | converted)
    for name in ("hf:a/b", "hf:a/b:fr"):
        with pytest.raises(InputError, match="de, en"):
            load_corpus(name)


def test_a_run_on_a_dataset_is_used_again(workspace):
    folder = written(load_corpus(workspace.corpus), workspace.folder / "set")
    data = ("--data", f"hf:{folder}", "--token-column", "words", "--tag-column", "labels")
    ok(workspace.finetune(*data, "--casing", "truecased", "--epochs", 1))
    (run,) = workspace.runs.iterdir()
    text = workspace.folder / "raw.txt"
    text.write_text("Smith is near Washington .\n", "utf-8")
    found = ok(workspace.call("predict", run, text))
    assert "Washington" in found.stdout


TEXT = datasets.Value("string")


def test_without_the_usual_columns_or_splits(saved):
    with pytest.raises(InputError, match="'latin-1'"):
        load_corpus(saved(train=ROWS), ReadingOptions(encoding="latin-1"))
    other = datasets.Features({"text": TEXT})
    with pytest.raises(InputError, match="has text"):
        load_corpus(saved("text", types=other, train={"text": ["a"]}))
    with pytest.raises(InputError, match="en, de"):
        load_corpus(saved("languages", en=ROWS, de=ROWS))
    with pytest.raises(InputError, match="dev, validation"):
        load_corpus(saved("two", dev=ROWS, validation=ROWS))


@pytest.mark.parametrize("name", ["spans", "choice"])
def test_questions_and_choices(tmp_path, name):
    text = next((Path(load.__file__).parent / "sample" / name).glob("dev.*")).read_text("utf-8")
    if name == "choice":
        rows = [json.loads(line) for line in text.splitlines()]
    else:  # a row for each question, with a struct of lists
        passages = [p for article in json.loads(text)["data"] for p in article["paragraphs"]]
        rows = [{"context": p["context"], **question} for p in passages for question in p["qas"]]
        for row in rows:
            row["answers"] = {k: [a[k] for a in row["answers"]] for k in ("text", "answer_start")}
    datasets.DatasetDict(dev=datasets.Dataset.from_list(rows)).save_to_disk(tmp_path / "copy")
    names = (f"hf:{tmp_path}/copy", f"sample:{name}")
    read, kept = (load_corpus(one, targets=get_task(name).targets)["dev"] for one in names)
    assert read.text_fingerprint == kept.text_fingerprint
    assert read.tag_fingerprint == kept.tag_fingerprint


PAIR = ("sentence1", "sentence2")
# By configuration: its task, the names of its classes, its columns of texts.
GLUE = {
    "cola": ("classification:matthews", ["unacceptable", "acceptable"], ("sentence",)),
    "sst2": ("classification", ["negative", "positive"], ("sentence",)),
    "mrpc": ("classification", ["not_equivalent", "equivalent"], PAIR),
    "stsb": ("regression", None, PAIR),
    "mnli": (
        "classification",
        ["entailment", "neutral", "contradiction"],
        ("premise", "hypothesis"),
    ),
}


@pytest.fixture(scope="module")
def glue(offline, tmp_path_factory):
    """A copy of some of GLUE, as the Hub has it: classes with names, hidden test answers."""
    folder, card = tmp_path_factory.mktemp("copy") / "glue", ["---", "configs:"]
    for config, (_, names, keys) in GLUE.items():
        card += [f"- config_name: {config}", "  data_files:"]
        answer = datasets.ClassLabel(names=names) if names else datasets.Value("float32")
        types = dict.fromkeys(keys, TEXT) | {"label": answer, "idx": datasets.Value("int32")}
        parts = ["train", "validation", "test"]
        if config == "mnli":
            held_out = [f"{part}_{how}" for part in parts[1:] for how in ("matched", "mismatched")]
            parts = ["train", *held_out]
        (folder / config).mkdir(parents=True)
        for part in parts:
            labels = [-1, -1] if "test" in part else [1, 0] if names else [0.5, 4.25]
            rows = {key: [f"{part} of {key}.", "Two."] for key in keys}
            made(rows | {"label": labels, "idx": [0, 1]}, datasets.Features(types)).to_parquet(
                folder / config / f"{part}.parquet"
            )
            card += [f"  - split: {part}", f"    path: {config}/{part}.parquet"]
    (folder / "README.md").write_text("\n".join([*card, "---", ""]), "utf-8")
    return folder


@pytest.mark.parametrize("config", GLUE)
def test_data_sets_of_glue(glue, config, caplog):
    name, names, keys = GLUE[config]
    data = f"hf:{glue}:{config}"
    assert Data(data=data, task="classification").task == name
    assert Data(data=data, task="classification:accuracy").task == "classification:accuracy"
    assert Data(data=data, task="labels").task == "labels"
    corpus = load_corpus(data, targets=get_task(name).targets)
    assert list(corpus.splits) == ["train", "dev", "test"]
    expected = [(names[1],), (names[0],)] if names else [("0.5",), ("4.25",)]
    assert corpus["train"].tags == corpus["dev"].tags == expected
    assert not corpus["test"].is_tagged
    is_pair = {s.pair is not None for split in corpus.splits.values() for s in split}
    assert is_pair == {len(keys) == 2}
    wanted = "validation_matched" if config == "mnli" else "validation"
    assert corpus["dev"].sentences[0].texts[0].startswith(f"{wanted} of ")
    # The other dev part of MultiNLI is named.
    unread = [("validation_mismatched" in m, "_matched" in m) for m in caplog.messages]
    assert unread == [(True, False)] * (config == "mnli")


def test_numbers_without_a_name_are_no_answers(saved):
    names = datasets.ClassLabel(names=["entailment", "neutral", "contradiction"])
    types = datasets.Features({"premise": TEXT, "hypothesis": TEXT, "label": names})
    rows = {"premise": ["a"] * 4, "hypothesis": ["b"] * 4, "label": [0, -1, 2, None]}
    corpus = load_corpus(saved(types=types, train=rows), targets="classes")
    found = [s.tags for s in corpus["train"]]
    assert found == [("entailment",), None, ("contradiction",), None]
    assert sum(corpus["train"].notes.missing.values()) == 2
    numbers = load_corpus(corpus.source, ReadingOptions(missing="entailment"), targets="classes")
    assert [s.tags for s in numbers["train"]] == [None, None, ("contradiction",), None]
    rows = {"tokens": [["New", "York", "."], ["Oslo"]], "ner_tags": [[3, 4, -100], [-100]]}
    words = load_corpus(saved("words", train=rows))["train"]
    assert [s.tags for s in words] == [("B-LOC", "I-LOC", ""), ("",)]
