"""A model of transformers as `model.onnx`, for onnxruntime.

Inputs are named as the tokenizer names them: input_ids, attention_mask, and token_type_ids if the
encoder has them. Outputs are logits, or start_logits and end_logits of spans. Numbers of texts and
of their pieces are free.
"""

import inspect
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from featbert.encoders.source import refusing
from featbert.errors import InputError
from featbert.models.transformers_model import equal_logits
from featbert.progress import silent
from featbert.runs.folder import ONNX
from featbert.text import enumerated

# One file of protobuf has less than 2 GiB. Larger weights get model.onnx.data.
LARGEST_FILE = 2**31 - 2**24
# Pieces of the longer texts on which logits are compared, if the encoder reads so many.
_LONG = 300


def check_installed() -> None:
    """Raises InputError if a package of the extra `onnx` is missing."""
    packages = ("onnx", "onnxscript", "onnxruntime")
    missing_packages = [name for name in packages if find_spec(name) is None]
    if missing_packages:
        needs = f"needs {enumerated(missing_packages)}; pip install 'featbert[onnx]'"
        raise InputError(needs, setting="onnx")


def write_onnx(model: Any, inputs: Mapping[str, Tensor], folder: Path, positions: int) -> None:
    """Writes `model` as `model.onnx` to the folder.

    `inputs` are two examples or more: tensors (examples, pieces), or (examples, choices, pieces).
    The encoder reads up to `positions` pieces. InputError if torch cannot export the model,
    or if the logits of onnxruntime differ, for these or for longer texts.
    """
    from onnxruntime import InferenceSession

    names = [name for name in inspect.signature(model.forward).parameters if name in inputs]
    example = {name: inputs[name] for name in names}
    outputs = [*_logits(model, example)]
    axes = {0: "batch", 1: "sequence"}
    if example["input_ids"].dim() == 3:
        axes = {0: "batch", 1: "choice", 2: "sequence"}
    n_bytes = sum(p.numel() * p.element_size() for p in model.parameters())
    advice_dropped = warnings.catch_warnings(action="ignore")  # to authors of models
    with silent(), advice_dropped, refusing("torch cannot export it"):
        torch.onnx.export(
            model,
            (),
            folder / ONNX,
            kwargs=example,
            input_names=names,
            output_names=outputs,
            dynamic_shapes=dict.fromkeys(names, axes),
            dynamo=True,
            external_data=n_bytes > LARGEST_FILE,
            verbose=False,
        )
    length = min(_LONG, positions)
    longer = {name: _longer(tensor, length) for name, tensor in example.items()}
    longer["attention_mask"][0, ..., length // 2 :] = 0
    with refusing("onnxruntime cannot read it"):
        session = InferenceSession(folder / ONNX, providers=["CPUExecutionProvider"])
    for batch in (example, longer, {name: tensor[-1:] for name, tensor in longer.items()}):
        with refusing("onnxruntime cannot compute it"):
            arrays = session.run(outputs, {name: tensor.numpy() for name, tensor in batch.items()})
        # What padding gets depends on the kernel of attention.
        is_piece = batch["attention_mask"].bool()
        for array, expected in zip(arrays, _logits(model, batch).values(), strict=True):
            of_pieces = expected.shape[: is_piece.dim()] == is_piece.shape
            places = is_piece if of_pieces else slice(None)
            if not equal_logits(torch.from_numpy(array)[places], expected[places]):
                raise InputError("onnxruntime gives other logits")


def _logits(model: Any, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """By name: (examples, ...)."""
    with torch.no_grad():
        return {name: v for name, v in model(**batch).items() if name.endswith("logits")}


def _longer(tensor: Tensor, length: int) -> Tensor:
    """Three examples of `length` pieces."""
    repeats = -(-length // tensor.shape[-1])
    rows = tensor.repeat_interleave(2, dim=0)[:3]
    return torch.cat([rows] * repeats, dim=-1)[..., :length].contiguous()
