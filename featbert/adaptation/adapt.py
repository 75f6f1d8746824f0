"""Language-model adaptation: an encoder learns the task's text before the task.

Howard and Ruder 2018, section 3.2, with BERT's own objectives (Devlin et al. 2019, section 3.1) on
the words of train. Masks of dev never change, which makes its perplexities comparable. The weights
of the last epoch are kept, in a folder that `adaptation.json` completes. While it is made:

    .<name>.partial     checkpoints, which a new try resumes from, and the new folder
    .<name>.lock        the process that makes it
"""

import shutil
from pathlib import Path
from typing import Any

from featbert.adaptation.plan import AdaptationPlan, Adapted
from featbert.encoders.source import ADAPTATION_RECORD, ENCODER_FILES, EncoderSource, find_encoder
from featbert.errors import InputError
from featbert.io import check_ours, explaining, flush, json_hash, owning, replace_folder, write_text
from featbert.text import json_text
from featbert.versions import library_versions

# The new folder within the partial one.
ENCODER = "encoder"
BEFORE = "before"
# Files of the partial folder: checkpoints, as transformers writes them, and encoders.
PARTIAL_FILES = (
    "checkpoint-*/*",
    *(f"{folder}/{name}" for folder in (ENCODER, BEFORE) for name in ENCODER_FILES),
)


def run_adaptation(plan: AdaptationPlan) -> Adapted:
    """Carries out a plan, unless another process has finished it. See `adapt`."""
    from safetensors import SafetensorError

    folder = plan.folder
    partial = folder.with_name(f".{folder.name}.partial")
    with owning(folder), explaining(folder, SafetensorError):
        check_ours(partial, PARTIAL_FILES)
        _move_into_place(folder, partial)  # if a kill interrupted that
        if (done := plan.finished) is not None:
            return done
        record = _train(plan, partial)
        _move_into_place(folder, partial)
        return plan.made(record, hit=False)


def _train(plan: AdaptationPlan, partial: Path) -> dict[str, Any]:
    """Makes the new folder within the partial one, and returns its record."""
    from featbert.adaptation.language_model import clear, last_checkpoint, train_language_model
    from featbert.encoders.memory import TRAINED_BYTES, check_memory, freed_memory_kept

    corpus, source, device, versions = plan.corpus, plan.source, plan.device, library_versions()
    new = partial / ENCODER
    check_memory(
        (source.parameters or 0) * TRAINED_BYTES,
        device,
        what=f"training {source.name} as a language model (weights, gradients, moments)",
        less="use a smaller encoder",
    )
    # Checkpoints of other settings, versions or processors would end in other numbers.
    computation = json_hash([plan.identity, versions, device.name, device.threads])
    clear(partial, but=last_checkpoint(partial, computation))
    partial.mkdir(exist_ok=True)
    try:
        with freed_memory_kept():
            results = train_language_model(plan, partial, new, computation)
        _copy_tokenizer(source, new)
        record = {
            "identity": plan.identity,
            **plan.determinants,
            "model": source.name,
            "model_source": source.reference,
            "corpus": corpus.name,
            "source": corpus.source,
            "language": corpus.language,
            **results,
            "device": device.kind,
            "device_name": device.name,
            "threads": device.threads,
            "versions": versions,
            "weights": find_encoder(str(new)).weights_hash,
        }
        for path in new.iterdir():
            # only the owner can read files of safetensors
            shutil.copymode(new / "config.json", path)
            flush(path)
        # The last file: with it the folder is whole
        write_text(new / ADAPTATION_RECORD, json_text(record) + "\n")
    except BaseException as error:
        # After an InputError the same command would fail in the same way.
        is_final = isinstance(error, InputError)
        clear(partial, but=None if is_final else last_checkpoint(partial, computation))
        raise
    return record


def _move_into_place(folder: Path, partial: Path) -> None:
    """Gives a complete new encoder its name."""
    if (partial / ENCODER / ADAPTATION_RECORD).is_file():
        replace_folder(folder, partial / ENCODER, partial / BEFORE, ENCODER_FILES)
        shutil.rmtree(partial, ignore_errors=True)


def _copy_tokenizer(source: EncoderSource, folder: Path) -> None:
    """Copies the base's tokenizer files. InputError if the copy gives other pieces."""
    from featbert.encoders.tokenizer import load_wordpieces

    for path in source.tokenizer_files:
        shutil.copyfile(path, folder / path.name)
    copied, base = (
        (pieces.prefix, pieces.suffix, pieces.backend.to_str())
        for pieces in map(load_wordpieces, (find_encoder(str(folder)), source))
    )
    if copied != base:
        raise InputError(
            f"the tokenizer of {source.folder} is not complete in its own files; write them with "
            "save_pretrained"
        )
