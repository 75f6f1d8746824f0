"""Language-model adaptation: an encoder learns the task's text before the task.

Howard and Ruder 2018, section 3.2, with BERT's own objectives (Devlin et al. 2019, section 3.1) on
the words of train; dev has masks that never change, so that its perplexities compare. The weights
of the last epoch are kept, in a folder that `adaptation.json` completes. While it is made:

    .<name>.partial     checkpoints, which an interrupted adaptation resumes from; the new folder
    .<name>.lock        which process makes it
"""

from __future__ import annotations

import contextlib
import json
import math
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from featbert.config import Adapt
from featbert.data.corpus import Corpus
from featbert.encoders.source import (
    ADAPTATION_RECORD,
    DEFAULT_MODEL,
    ENCODER_FILES,
    EncoderSource,
    find_encoder,
)
from featbert.errors import InputError, MissingError
from featbert.io import (
    check_ours,
    explaining,
    flush,
    json_hash,
    owning,
    regular_file,
    replace_folder,
    slug,
    utf8_path,
    write_text,
)
from featbert.progress import shown
from featbert.text import json_text
from featbert.versions import library_versions

if TYPE_CHECKING:
    from featbert.encoders.device import Device

# Wordpieces of a sequence unless given; fewer where the encoder reads fewer.
MAX_LENGTH = 128
# Of the training: another one gives other weights for the same settings.
VERSION = 3
# The new folder within the partial one.
ENCODER = "encoder"
BEFORE = "before"
# What the partial folder may hold: checkpoints, as transformers writes them, and encoders.
PARTIAL_FILES = (
    "checkpoint-*/*",
    *(f"{folder}/{name}" for folder in (ENCODER, BEFORE) for name in ENCODER_FILES),
)


@dataclass(frozen=True, kw_only=True)
class AdaptEpoch:
    """Mean losses in nats of masked pieces and labelled pairs; epoch 0 is dev before training."""

    epoch: int
    train_mlm: float | None = None
    train_nsp: float | None = None
    dev_mlm: float
    dev_nsp: float | None = None
    seconds: float

    @property
    def dev_perplexity(self) -> float:
        """exp of the mean masked-LM loss on dev, at most e^700."""
        return math.exp(min(self.dev_mlm, 700.0))

    def __str__(self) -> str:
        """epoch 1  train MLM 8.7007 NSP 0.6946  dev MLM 7.7981 NSP 0.6940  perplexity 2435.93"""
        cells = [f"epoch {self.epoch}"]
        losses = {"train": (self.train_mlm, self.train_nsp), "dev": (self.dev_mlm, self.dev_nsp)}
        for split, (mlm, nsp) in losses.items():
            if mlm is not None:
                cells.append(f"{split} MLM {mlm:.4f}" + ("" if nsp is None else f" NSP {nsp:.4f}"))
        return "  ".join([*cells, f"perplexity {self.dev_perplexity:.2f}"])


@dataclass(frozen=True)
class Adapted:
    """An adapted encoder on disk; its `folder` is what `--model` takes.

    Attributes:
        fresh: parts of the model that the checkpoint lacked; they began at random values.
        counts: what was unusual in train and dev: split_sentences, unknown_words.
        hit: whether it was there already, and nothing was done.
    """

    folder: Path
    history: list[AdaptEpoch]
    fresh: tuple[str, ...]
    counts: dict[str, int]
    hit: bool


@dataclass(frozen=True)
class AdaptationPlan:
    """What `adapt` will do.

    Attributes:
        identity: hash of `asked`, which determines the result and is recorded.
        nsp: whether next-sentence prediction is trained.
    """

    corpus: Corpus
    source: EncoderSource
    folder: Path
    identity: str
    asked: dict[str, Any]
    settings: Adapt
    nsp: bool
    device: Device
    overwrite: bool

    @property
    def finished(self) -> Adapted | None:
        """The adapted encoder, where it is there already and is not to be overwritten.

        InputError where the folder holds something else, which is kept: files of another kind,
        another adapted encoder, or a damaged one (`overwrite` replaces the last two).
        """
        folder, path = self.folder, self.folder / ADAPTATION_RECORD
        if folder.resolve() == self.source.folder.resolve():
            raise InputError(f"--out {folder} is the encoder itself; name another folder")
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return None
        if not path.is_file():
            raise InputError(
                f"--out {folder} is something else than an adapted encoder's folder; name another "
                "one"
            )
        if self.overwrite:
            check_ours(folder, ENCODER_FILES)
            return None
        with contextlib.suppress(MissingError, ValueError, KeyError, TypeError):
            record = json.loads(regular_file(path).read_text("utf-8"))
            asked = (self.identity, find_encoder(str(folder)).weights_hash)
            if (record["identity"], record["weights"]) == asked:
                return self.made(record, hit=True)
        raise InputError(
            f"{folder} is damaged, or was adapted with other settings, text or base model; name "
            "another folder with --out, or replace it with --overwrite"
        )

    def made(self, record: dict[str, Any], *, hit: bool) -> Adapted:
        """The encoder in the folder, from its record."""
        found = record | {"folder": self.folder, "hit": hit}
        return TypeAdapter(Adapted).validate_python(found)


def adapt(
    corpus: Corpus,
    model: str | EncoderSource = DEFAULT_MODEL,
    *,
    progress: bool = True,
    **options: Any,
) -> Adapted:
    """Trains an encoder as a language model on train of a corpus and writes it as a folder.

    Options are those of `plan_adaptation`. InputError for sequences longer than the encoder reads,
    no mask token or masked-LM architecture, a loss that is not finite, or a full disk.
    """
    source = find_encoder(model) if isinstance(model, str) else model
    plan = plan_adaptation(corpus, source, **options)
    with shown(progress):
        return plan.finished or run_adaptation(plan)


def plan_adaptation(
    corpus: Corpus,
    source: EncoderSource,
    *,
    settings: Adapt | None = None,
    out: str | Path | None = None,
    models_dir: str | Path = "cache/models",
    seed: int = 1,
    device: str = "auto",
    precision: str = "auto",
    overwrite: bool = False,
) -> AdaptationPlan:
    """What `adapt` will do, checked and named; nothing is written.

    Args:
        out: folder to write; by default one in `models_dir` named after encoder, corpus and
            identity. One that holds the same result already is a hit, unless `overwrite`.
        precision: "fp32", "bf16", "fp16", or "auto" (bf16 where the hardware has it); weights
            stay in fp32.
    """
    settings = settings or Adapt()
    nsp = decide_nsp(corpus, source, settings.nsp)

    from featbert.encoders.device import find_device, find_precision

    where = find_device(device)
    if where.number:
        raise InputError(
            f"a language model is trained on the first GPU, not on {where.spec}; set "
            f"CUDA_VISIBLE_DEVICES={where.number} and use --device cuda"
        )
    asked: dict[str, Any] = {
        "version": VERSION,
        "base": {"weights": source.weights_hash, "files": source.files_hash},
        "text": {name: corpus[name].text_fingerprint for name in ("train", "dev")},
        "settings": settings.model_dump()
        | {"nsp": nsp, "max_length": settings.max_length or MAX_LENGTH},
        "seed": seed,
        "precision": find_precision(precision, where),
    }
    identity = json_hash(asked)
    name = "--".join(map(slug, (source.name, corpus.name, identity[:8])))
    folder = Path(models_dir) / name if out is None else Path(out).expanduser()
    if folder.name in ("", ".."):
        folder = folder.resolve()
    utf8_path(folder.absolute())
    return AdaptationPlan(corpus, source, folder, identity, asked, settings, nsp, where, overwrite)


def decide_nsp(corpus: Corpus, source: EncoderSource, wanted: str) -> bool:
    """Whether next-sentence prediction is trained; InputError where "on" is impossible.

    It needs a model with a next-sentence head, and two sentences of one document in each split.
    """
    where = corpus.source or corpus.name
    lacking = []
    kind = source.config.get("model_type")
    if kind != "bert" or source.config.get("type_vocab_size", 2) != 2:
        lacking.append(f"{source.name} is no BERT with two segment types ({kind})")
    for name in ("train", "dev"):
        if name not in corpus or not len(corpus[name]):
            raise InputError(
                f"{where} has no {name} split ({', '.join(corpus.splits) or 'none at all'}); "
                f"add a {name} file to the folder"
            )
        documents = [s.document for s in corpus[name]]
        # The texts of a pair are not sentences that follow one another.
        pairs = corpus[name].has_pairs
        if pairs or None in documents or len(set(documents)) == len(documents):
            lacking.append(
                f"{name} of {where} has no documents of at least two sentences (-DOCSTART- lines "
                "mark them)"
            )
    if lacking and wanted == "on":
        raise InputError(f"--nsp on: {'; '.join(lacking)}; use --nsp off, or auto")
    return wanted != "off" and not lacking


def run_adaptation(plan: AdaptationPlan) -> Adapted:
    """Carries out a plan, unless another process has finished it; see `adapt`."""
    from safetensors import SafetensorError

    folder = plan.folder
    partial = folder.with_name(f".{folder.name}.partial")
    with owning(folder), explaining(folder, SafetensorError):
        check_ours(partial, PARTIAL_FILES)
        _move_into_place(folder, partial)  # what a kill interrupted
        if (done := plan.finished) is not None:
            return done
        record = _train(plan, partial)
        _move_into_place(folder, partial)
        return plan.made(record, hit=False)


def _train(plan: AdaptationPlan, partial: Path) -> dict[str, Any]:
    """Makes the new folder within the partial one; returns its record."""
    from featbert.adaptation.language_model import last_checkpoint, train_language_model
    from featbert.encoders.memory import TRAINED_BYTES, check_memory, freed_memory_kept

    corpus, source, where, versions = plan.corpus, plan.source, plan.device, library_versions()
    new = partial / ENCODER
    check_memory(
        (source.parameters or 0) * TRAINED_BYTES,
        where,
        what=f"training {source.name} as a language model (weights, gradients, moments)",
        less="use a smaller encoder",
    )
    # Checkpoints of other settings, versions or processors would end in other numbers.
    computation = json_hash([plan.identity, versions, where.name, where.threads])
    clear(partial, keep=last_checkpoint(partial, computation))
    partial.mkdir(exist_ok=True)
    try:
        with freed_memory_kept():
            found = train_language_model(plan, partial, computation)
        _copy_tokenizer(source, new)
        record = {
            "identity": plan.identity,
            **plan.asked,
            "model": source.name,
            "model_source": source.reference,
            "corpus": corpus.name,
            "source": corpus.source,
            "language": corpus.language,
            **found,
            "device": where.kind,
            "device_name": where.name,
            "threads": where.threads,
            "versions": versions,
            "weights": find_encoder(str(new)).weights_hash,
        }
        for path in new.iterdir():
            # safetensors makes files that their owner alone can read
            shutil.copymode(new / "config.json", path)
            flush(path)
        # The last file: with it the folder is whole
        write_text(new / ADAPTATION_RECORD, json_text(record) + "\n")
    except BaseException as error:
        again = isinstance(error, InputError)  # the same command would end so again
        clear(partial, keep=None if again else last_checkpoint(partial, computation))
        raise
    return record


def clear(partial: Path, *, keep: Path | None) -> None:
    """Removes everything in a folder but one checkpoint; the folder too, where none is kept."""
    if keep is None:
        shutil.rmtree(partial, ignore_errors=True)
        return
    for path in partial.iterdir():
        if path != keep:
            shutil.rmtree(path)


def _move_into_place(folder: Path, partial: Path) -> None:
    """Gives a new encoder that is whole its name."""
    if (partial / ENCODER / ADAPTATION_RECORD).is_file():
        replace_folder(folder, partial / ENCODER, partial / BEFORE, ENCODER_FILES)
        shutil.rmtree(partial, ignore_errors=True)


def _copy_tokenizer(source: EncoderSource, folder: Path) -> None:
    """Copies the base's tokenizer files; InputError where the copy gives other pieces."""
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
