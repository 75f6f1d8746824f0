"""Datasets read through `datasets`, from local folders: no test reaches for a network."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import datasets
import pytest

from featbert.data.hub import CONVERTED, HubName
from featbert.data.load import load_corpus
from featbert.errors import InputError, MissingError, MissingPackageError
from tests.data.support import ROWS, made, tags, written
from tests.workspace import error_of

pytestmark = pytest.mark.usefixtures("offline")


@pytest.mark.parametrize("scheme", ["BIO", "IOB1", "BIOES"])
def test_a_corpus_comes_back_from_parquet_files(tmp_path, scheme):
    sample = load_corpus("sample")
    folder = written(sample, tmp_path / "copy", scheme)
    corpus = load_corpus(f"hf:{folder}")
    assert (corpus.name, corpus.language, corpus.source) == ("copy", None, f"hf:{folder}")
    assert list(corpus.splits) == ["train", "dev", "test"]
    for name, split in sample.splits.items():
        assert corpus[name].text_fingerprint == split.text_fingerprint
        assert corpus[name].tag_fingerprint == split.tag_fingerprint
        assert (corpus[name].notes.scheme, corpus[name].notes.repaired_tags) == (scheme, 0)
        assert corpus[name].path is None


def test_a_folder_that_changed_is_read_anew(tmp_path):
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
    assert [list(s.words) for s in corpus["train"]] == ROWS["tokens"]
    assert tags(corpus, "train") == ["B-PER I-PER O B-LOC", "O O O"]
    assert not corpus["train"].has_documents
    made(ROWS).save_to_disk(tmp_path / "one")
    assert list(load_corpus("hf:one").splits) == ["test"]


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
    with pytest.raises(InputError, match=r"a configuration expected of .*, it has de, en; as in"):
        load_corpus(f"hf:{tmp_path}")
    with pytest.raises(InputError, match=r"found 'dee' \(did you mean 'de'\?\); it has de, en"):
        load_corpus(f"hf:{tmp_path}:dee")


def test_folders_that_cannot_be_read(saved, tmp_path):
    (tmp_path / "none").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "train.parquet").write_bytes(b"no parquet")
    for name in ("none", "broken"):
        with pytest.raises(InputError, match=f"hf:.*{name} cannot be read") as caught:
            load_corpus(f"hf:{tmp_path / name}")
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="found 'de'; it has none"):
        load_corpus(f"{saved(train=ROWS)}:de")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hf:conll2003", ("conll2003", None, "conll2003", None)),
        ("hf:lhoestq/conll2003", ("lhoestq/conll2003", None, "conll2003", None)),
        ("hf:unimelb-nlp/wikiann:de", ("unimelb-nlp/wikiann", "de", "wikiann-de", "de")),
        ("hf:x/y.z:zh-min-nan", ("x/y.z", "zh-min-nan", "y.z-zh-min-nan", None)),
    ],
)
def test_names(text, expected):
    found = HubName.parse(text)
    assert (found.name, found.config, *found.corpus) == expected
    assert (found.source, found.is_folder) == (text, False)


@pytest.mark.parametrize("text", ["hf:", "hf::de", "hf:a/b:", "hf:a/b/c", "hf:a b", "hf:-x"])
def test_names_that_are_none(text):
    with pytest.raises(InputError, match="hf:NAME or hf:NAME:CONFIG expected"):
        HubName.parse(text)


def test_no_folder_and_no_network(tmp_path):
    with pytest.raises(MissingError, match=r"a dataset folder expected, .*/gone is no folder"):
        load_corpus(f"hf:{tmp_path}/gone")
    with pytest.raises(MissingError, match="the Hugging Face Hub expected to answer, 'a/b' is no"):
        load_corpus("hf:a/b:de")


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


def test_a_script_is_not_run_its_conversion_is_read(hub):
    hub.fails = RuntimeError("Dataset scripts are no longer supported, but found b.py")
    converted = {"revision": CONVERTED}
    hub.files = [".gitattributes", "b/train/0000.parquet", "b/test/0000.parquet"]
    assert load_corpus("hf:a/b").source == "hf:a/b"
    assert hub.calls[-1] == ("hf://datasets/a/b", None, {"data_dir": "b"} | converted)
    hub.files = ["de/train/0000.parquet", "en/train/0000.parquet"]
    load_corpus("hf:a/b:en")
    assert hub.calls[-1] == ("hf://datasets/a/b", None, {"data_dir": "en"} | converted)
    with pytest.raises(InputError, match="it has de, en; as in hf:a/b:de"):
        load_corpus("hf:a/b")
    hub.files = [".gitattributes"]
    with pytest.raises(InputError, match="it is a script, which is not run"):
        load_corpus("hf:a/b")


def test_what_the_hub_refuses(hub):
    hub.fails = datasets.exceptions.DatasetNotFoundError("Dataset 'a/b' is gated.\nLog in.")
    with pytest.raises(
        MissingError, match=r"'a/b' is no folder here, .* check the name, or log in"
    ):
        load_corpus("hf:a/b")
    hub.fails = OSError(28, "No space left on device")
    with pytest.raises(InputError, match=r"hf:a/b cannot be read .*No space left"):
        load_corpus("hf:a/b")


def test_what_datasets_was_told_stays(saved):
    datasets.enable_progress_bars()
    datasets.logging.set_verbosity_info()
    try:
        load_corpus(saved(train=ROWS))
        assert not datasets.are_progress_bars_disabled()
        assert datasets.logging.get_verbosity() == datasets.logging.INFO
    finally:
        datasets.disable_progress_bars()
        datasets.logging.set_verbosity_warning()


def test_without_the_package(workspace, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingPackageError, match="pip install"):
        load_corpus(f"hf:{workspace.folder}")
    assert "pip install 'featbert[hub]'" in error_of(workspace.call("check", "hf:a/b"))


def test_a_run_on_a_dataset_is_used_again(workspace):
    folder = written(load_corpus(workspace.corpus), workspace.folder / "set")
    data = ("--data", f"hf:{folder}", "--token-column", "words", "--tag-column", "labels")
    tuned = workspace.finetune(*data, "--truecase", "--epochs", 1)
    assert tuned.exit_code == 0, tuned.stderr
    (run,) = workspace.runs.iterdir()
    seen = workspace.compare("--by", "seen")  # both read the training text again
    assert (seen.exit_code, "no scores by" in seen.output) == (0, False)
    assert "seen" in seen.stdout
    text = workspace.folder / "raw.txt"
    text.write_text("Smith is near Washington .\n", "utf-8")
    found = workspace.call("predict", run, text)
    assert found.exit_code == 0, found.stderr
    assert "Washington" in found.stdout
