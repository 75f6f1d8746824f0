"""Loading of encoders from the files that are hashed."""

import logging
import zipfile
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch
from safetensors import safe_open

from featbert.encoders.encoder import Encoder
from featbert.encoders.encoding import SubwordPooling
from featbert.encoders.kernels import lay_out_products, use_dropout, use_products
from featbert.encoders.source import EncoderSource, hashed_folder, refusing
from featbert.encoders.tokenizer import load_wordpieces
from featbert.errors import InputError, spelling
from featbert.progress import stage

# Types with vectors that depend on the padding of a batch: some layers do not apply the mask.
UNMASKED = ("fnet", "convbert", "mobilebert", "nystromformer", "yoso")


def load_encoder(
    source: EncoderSource,
    *,
    dtype: torch.dtype = torch.float32,
    pooling: SubwordPooling | None = None,
    pooler: bool = False,
) -> Encoder:
    """The encoder of a checkpoint, in eval mode. `pooling` is the source's unless given.

    With `pooler`, first pieces are read through the checkpoint's pooler. InputError if the encoder
    cannot be loaded, has no pooler for this, or if layers would keep random values.
    """
    from transformers import AutoModel

    if (kind := source.config.get("model_type")) in UNMASKED:
        raise InputError(
            f"vectors of a {kind} depend on the padding of a batch; use another encoder"
        )
    with stage(f"loading {source.name}", ""):
        model, info = pretrained(source, AutoModel, dtype=dtype, add_pooling_layer=pooler)
    absent = [name for name in info["missing_keys"] if "pooler" in name]
    if pooler and (absent or getattr(model, "pooler", None) is None):
        lack = "weights of its pooler" if absent else "pooler"
        raise InputError(f"{source.name} has no {lack}; use {spelling('sentence_pooling', 'cls')}")
    if unset := sorted({*info["missing_keys"]} - {*absent}):
        raise InputError(
            f"{len(unset)} weights are missing in {source.folder} ({unset[0]}, ...); the "
            "checkpoint has another architecture than its config"
        )
    wordpieces = load_wordpieces(source)
    highest, rows = wordpieces.highest_id, model.get_input_embeddings().num_embeddings
    if highest >= rows:
        raise InputError(
            f"the tokenizer in {source.folder} gives pieces up to {highest:,}, the encoder has "
            f"embeddings of 0 to {rows - 1:,}; they are from different checkpoints"
        )
    if not source.causal and any(getattr(m, "is_causal", False) for m in model.modules()):
        raise InputError(
            f"subwords of {source.name} see only the preceding text, but its config.json does not "
            "say so; set is_decoder to true there"
        )
    use_products(model)
    use_dropout(model)
    model.config.use_cache = False  # a cache of keys and values, only for generation
    return Encoder(
        model, wordpieces, pooling=pooling or source.pooling, pooler=pooler, causal=source.causal
    ).eval()


def load_frozen(
    source: EncoderSource,
    device: torch.device,
    *,
    dtype: torch.dtype,
    pooling: SubwordPooling | None = None,
) -> Encoder:
    """As `load_encoder`, on the device and not for training: its products are faster."""
    encoder = load_encoder(source, dtype=dtype, pooling=pooling).to(device)
    lay_out_products(encoder)
    return encoder


def pretrained(
    source: EncoderSource, architecture: Any, *, dtype: torch.dtype, **options: Any
) -> tuple[Any, dict[str, Any]]:
    """A model of an auto class of transformers, and the names of missing and unused weights.

    Made only from the hashed files, the config and the weights. `options` are left out if the class
    does not take them. InputError if the model cannot be made.
    """
    from transformers import AutoConfig
    from transformers.utils.logging import disable_progress_bar, set_verbosity

    set_verbosity(logging.CRITICAL)
    disable_progress_bar()  # type: ignore[no-untyped-call]
    cut = {} if source.depth is None else {"num_hidden_layers": source.depth}
    # The config decides neither about parts of a layer nor about outputs of a pass.
    plain = {"chunk_size_feed_forward": 0, "return_dict": True, "output_attentions": False}
    # A sparse BigBird changes to full attention at its first short batch, and keeps it.
    sparse = source.config.get("model_type") == "big_bird"
    full = {"attention_type": "original_full"} if sparse else {}
    failure = f"transformers cannot load {source.folder}"
    with hashed_folder(source, failure) as folder:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, **cut, **plain, **full)
    with refusing(failure), ExitStack() as files:
        weights: dict[str, Any] = {}
        for path in source.weight_files:
            if path.suffix == ".safetensors":
                file = files.enter_context(safe_open(path, framework="pt"))
                weights |= {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            else:
                mapped = zipfile.is_zipfile(path)
                weights |= torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
        with torch.device("meta"):
            shell = architecture.from_config(config)
        arguments = {"config": shell.config, "state_dict": weights, "dtype": dtype}
        make = partial(type(shell).from_pretrained, None, **arguments, output_loading_info=True)
        try:
            model, info = make(**options)
        except TypeError:  # DistilBERT, ELECTRA, ModernBERT have no pooler to leave out
            model, info = make()
        except RuntimeError as error:
            if "mismatched" in str(error):
                raise InputError("its weights have other sizes than config.json says") from None
            raise
    return model, info
