"""Export of a finished run as a folder for transformers, featbert or peft.

    transformers  config.json, model.safetensors, tokenizer     weights.safetensors: the head
                  model.onnx on request
    featbert      weights.safetensors: all trained parameters   encoder/ on request
    peft          as featbert, and adapter_config.json, adapter_model.safetensors, tokenizer

All have `featbert.json`, the run's record, so that `featbert.load` answers with each, and
README.md, a model card. A folder appears whole or not at all.
"""

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError

from featbert.data.corpus import Sentence
from featbert.data.examples import examples_of
from featbert.encoders.batches import PieceBatch
from featbert.encoders.source import find_encoder
from featbert.encoders.tokenizer import transformers_tokenizer
from featbert.encoders.tunings import get_tuning
from featbert.errors import InputError, check_known, spelling
from featbert.inference.load import LoadedRun, load
from featbert.inference.onnx_model import check_installed, write_onnx
from featbert.io import (
    expanded,
    explaining,
    file_hash,
    flush,
    owning,
    remove_folder,
    replace_folder,
    write_text,
)
from featbert.models.transformers_model import transformers_model, write_adapters
from featbert.progress import report
from featbert.runs.folder import (
    CARD,
    ENCODER,
    EXPORT_FILES,
    ONNX,
    WEIGHTS,
    check_free,
    save_weights,
)
from featbert.runs.record import EXPORTED, RunRecord, write_json
from featbert.runs.run import UsableRun

# Texts of different lengths, on which the pieces and logits of both models are compared.
_TEXTS = ("Rome is old.", "It is.")


def export(
    usable: UsableRun,
    folder: Path,
    form: str,
    *,
    card: str,
    with_encoder: bool = False,
    onnx: bool = False,
    overwrite: bool = False,
) -> None:
    """Writes a run as a folder of a form of `FORMS`, with a model card.

    `with_encoder` copies the encoder's files into a folder for featbert. `onnx` adds model.onnx to
    a folder for transformers. InputError if the folder is not empty, unless it is an export to be
    replaced (`overwrite`), and if transformers or onnxruntime has no model with the run's answers.
    """
    check_known("format", [form], FORMS)
    if with_encoder and form == "transformers":
        raise InputError("is not for transformers, which has the encoder", setting="with_encoder")
    if onnx and form != "transformers":
        raise InputError(f"is for {spelling('format', 'transformers')}", setting="onnx")
    if onnx:
        check_installed()
    check_free(folder, overwrite)
    if form != "featbert":
        _check_read_alike(usable)
    folder = expanded(folder).resolve()
    if folder == usable.folder.resolve():
        raise InputError(f"{folder} is the run that is to be exported; name another folder")
    new, before = (folder.with_name(f".{folder.name}.{end}") for end in ("partial", "before"))
    with owning(folder), explaining(folder, SafetensorError):
        remove_folder(new, EXPORT_FILES)
        new.mkdir()
        try:
            record = FORMS[form](usable, new)
            if with_encoder:
                record = _with_encoder(usable, record, new / ENCODER)
            if onnx:
                _add_onnx(usable, new)
            write_text(new / CARD, card)
            write_json(new / EXPORTED, record)
            for path in (path for path in new.rglob("*") if path.is_file()):
                shutil.copymode(new / EXPORTED, path)  # safetensors makes files for their owner
                flush(path)
            replace_folder(folder, new, before, EXPORT_FILES)
        finally:
            shutil.rmtree(new, ignore_errors=True)


def _check_read_alike(usable: UsableRun) -> None:
    """Raises InputError for a run with an input that models of transformers do not have."""
    signature = usable.record.signature
    if get_tuning(usable.record.tuning).frozen:
        raise _no_model(usable, "it reads stored features")
    if signature.casing != "original":
        raise _no_model(usable, "it reads words in another casing")
    if signature.pooling != "first" and usable.settings.reads != "cls":
        raise _no_model(usable, f"it reads the {signature.pooling} subword of words")


def _no_model(usable: UsableRun, reason: str) -> InputError:
    return InputError(
        f"{usable.name} cannot be a model of transformers: {reason}; {_instead(usable)}"
    )


def _instead(usable: UsableRun) -> str:
    """How to share a run that transformers has no model for."""
    advice = f"use featbert.load on the run, or {spelling('format', 'featbert')}"
    if usable.settings.output == "crf" and not get_tuning(usable.record.tuning).frozen:
        advice += f", or train it with {spelling('output', 'softmax')}"
    return advice


def _for_featbert(usable: UsableRun, folder: Path) -> RunRecord:
    """The run's own weights and record."""
    load(usable, device="cpu")  # checks them
    shutil.copyfile(usable.folder / WEIGHTS, folder / WEIGHTS)
    return usable.record


def _with_encoder(usable: UsableRun, record: RunRecord, folder: Path) -> RunRecord:
    """Copies the encoder's files and names their folder in the record."""
    source = usable.source
    folder.mkdir()
    for path in (*source.files, *source.folder.glob("*.index.json")):
        shutil.copyfile(path, folder / path.name)
    depth = "" if source.depth is None else f":{source.depth}"
    return dataclasses.replace(record, model_source=f"./{ENCODER}{depth}")


def _for_transformers(usable: UsableRun, folder: Path) -> RunRecord:
    """A model and a tokenizer of transformers, and the head's weights as featbert reads them.

    The record names the encoder in the folder, with the weights that the run has trained.
    """
    loaded, model, _ = _transformed(usable, folder)
    model.save_pretrained(folder)
    head = [name for name in loaded.model.state_dict() if not name.startswith("states.model.")]
    save_weights(folder / WEIGHTS, loaded.model, head)
    source = find_encoder(str(folder))
    signature = dataclasses.replace(
        usable.record.signature,
        encoder_weights=source.weights_hash,
        encoder_files=source.files_hash,
    )
    weights = file_hash(folder / WEIGHTS)
    return dataclasses.replace(
        usable.record,
        signature=signature,
        model_source=".",
        weights=weights,
        temperature=None,  # the weights were divided by it
    )


def _add_onnx(usable: UsableRun, folder: Path) -> None:
    """Writes `model.onnx` next to the model of transformers in the folder."""
    import transformers

    report(f"writing {ONNX}")
    kind = usable.task.auto_model
    model = getattr(transformers, kind).from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = (list(_TEXTS), list(_TEXTS[::-1]))[: 1 + (usable.record.signature.packing is not None)]
    inputs = tokenizer(*texts, padding=True, return_tensors="pt")
    if "MultipleChoice" in kind:
        inputs = {name: torch.stack([tensor, tensor]) for name, tensor in inputs.items()}
    try:
        write_onnx(model, inputs, folder, tokenizer.model_max_length)
    except InputError as error:
        raise InputError(f"{usable.name} cannot be exported as {ONNX}: {error}") from None


def _for_peft(usable: UsableRun, folder: Path) -> RunRecord:
    """Like `_for_featbert`, with the adapters and the head of transformers' model for peft."""
    loaded, model, batch = _transformed(usable, folder)
    kind, base = usable.task.auto_model, usable.source.whole
    try:
        write_adapters(model, kind, loaded.encoder, folder, base, batch)
    except InputError as error:
        reason = f"{usable.name} cannot be exported for peft: {error}"
        raise InputError(f"{reason}; {_instead(usable)}") from None
    return _for_featbert(usable, folder)


def _transformed(usable: UsableRun, folder: Path) -> tuple[LoadedRun, Any, PieceBatch]:
    """The run, its model of transformers, and the batch on which both were compared.

    Writes the model's config and tokenizer. InputError if there is no such model, or the tokenizer
    gives other pieces.
    """
    from transformers import AutoTokenizer

    record, task = usable.record, usable.task
    loaded = load(usable, device="cpu")
    encoder = loaded.encoder
    sentences = _sentences(loaded)
    inputs = loaded.inputs(sentences)
    rows = np.arange(len(inputs.offsets) - 1)
    batch, layout = inputs.batch(rows), inputs.layout(rows)
    config = task.model_config(record.targets.classes)
    try:
        model = transformers_model(loaded.model, task.auto_model, config, batch, layout)
    except InputError as error:
        s = usable.settings
        head = f"body {s.body}, output {s.output}, sentence_pooling {s.sentence_pooling}"
        raise _no_model(usable, f"{error} ({head})") from None
    tokenizer = transformers_tokenizer(
        usable.source,
        encoder.wordpieces,
        positions=encoder.positions,
        types=encoder.has_types,
        raw=task.of_texts,
    )
    mask = torch.ones_like(batch.ids) if batch.mask is None else batch.mask
    ids = [row[is_piece.bool()].tolist() for row, is_piece in zip(batch.ids, mask, strict=True)]
    model.config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    saved, raw = AutoTokenizer.from_pretrained(folder), task.of_texts
    texts = [s.texts if raw else (list(s.words),) for s in sentences]
    if [saved(*text, is_split_into_words=not raw)["input_ids"] for text in texts] != ids:
        raise _no_model(usable, "its tokenizer gives other subwords there")
    return loaded, model, batch


def _sentences(loaded: LoadedRun) -> list[Sentence]:
    """Two texts, or pairs, as the run reads them."""
    n_texts = 1 + (loaded.record.signature.packing is not None)
    examples = examples_of([_TEXTS[:n_texts], _TEXTS[::-1][:n_texts]])
    # Like `is_split_into_words`, which tokenises every word by itself.
    changes: dict[str, Any] = {} if loaded.task.of_texts else {"touches": ()}
    return [dataclasses.replace(s, document=n, **changes) for n, s in enumerate(examples)]


FORMS: dict[str, Callable[[UsableRun, Path], RunRecord]] = {
    "transformers": _for_transformers,
    "peft": _for_peft,
    "featbert": _for_featbert,
}
