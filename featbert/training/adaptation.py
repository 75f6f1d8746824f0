"""Fine-tuning an encoder as a language model on the task's text, before the task.

Howard and Ruder 2018, section 3.2, with BERT's own pre-training objectives (Devlin et al. 2019,
section 3.1): masked pieces and, where the corpus has documents, the next sentence. Training reads
the words of the train split; dev is read with a mask that never changes, so that its perplexities
compare. The last epoch's weights are kept. Killed, the same command goes on after the last epoch
that its checkpoint holds.

Importing this module loads neither torch nor transformers.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from featbert.atomic import cannot_write
from featbert.data.corpus import Corpus
from featbert.errors import InputError
from featbert.features.source import DEFAULT_MODEL, EncoderSource, find_encoder
from featbert.training.adaptation_settings import DEFAULT_SETTINGS, MAX_LENGTH, AdaptSettings
from featbert.training.adapted_folder import (
    abandon,
    begin_folder,
    checkpoint_path,
    finished_record,
    folder_name,
    identity_hash,
    owned,
    settle_adapted,
    write_folder,
)
from featbert.versions import library_versions

if TYPE_CHECKING:
    from featbert.features.device import Device, Precision


class AdaptationError(InputError):
    """An adaptation that cannot be done: see the message."""


@dataclass(frozen=True)
class AdaptEpoch:
    """Losses of one epoch, in nats; `epoch` 0 is dev before training.

    Attributes:
        train_mlm, dev_mlm: mean loss of the chosen pieces.
        train_nsp, dev_nsp: mean loss of the labelled pairs; None without them.
        seconds: wall time, dev included.
    """

    epoch: int
    train_mlm: float | None
    train_nsp: float | None
    dev_mlm: float
    dev_nsp: float | None
    seconds: float

    @property
    def dev_perplexity(self) -> float:
        """exp of the mean masked-LM loss on dev."""
        return math.exp(self.dev_mlm) if self.dev_mlm < 700 else math.inf


@dataclass(frozen=True)
class Adapted:
    """An adapted encoder on disk.

    Attributes:
        folder: what `--model` takes.
        history: one row an epoch, from epoch 0.
        fresh: parts of the model that the checkpoint lacked; they began at random values.
        nsp: whether next-sentence prediction was trained.
        counts: what was unusual in train and dev: windowed_sentences, unknown_words.
        hit: whether it was there already, and nothing was done.
    """

    folder: Path
    history: list[AdaptEpoch]
    fresh: tuple[str, ...]
    nsp: bool
    counts: dict[str, int]
    hit: bool


@dataclass(frozen=True)
class AdaptationPlan:
    """What `adapt` will do.

    Attributes:
        folder: where the adapted encoder will be, or is.
        identity: hash of what it follows from.
        asked: what it follows from, as it is recorded.
        settings, seed: what it is trained with.
        nsp: whether next-sentence prediction is trained.
        device, precision: where and in what it is computed.
        overwrite: whether one that is there is made again.
        finished: the adapted encoder, where it is there already.
    """

    folder: Path
    identity: str
    asked: dict[str, Any]
    settings: AdaptSettings
    seed: int
    nsp: bool
    device: Device
    precision: Precision
    overwrite: bool
    finished: Adapted | None


def decide_nsp(corpus: Corpus, source: EncoderSource, wanted: str) -> bool:
    """Whether next-sentence prediction is trained; checks what language modelling needs.

    Raises:
        AdaptationError: the corpus lacks train or dev; or "on" where the model has no
            next-sentence head or a split no two sentences of one document.
    """
    for name, use in (("train", "train on"), ("dev", "measure perplexity on")):
        if name not in corpus or not len(corpus[name]):
            raise AdaptationError(
                f"a {name} split expected to {use}, {corpus.source or corpus.name} has "
                f"{', '.join(corpus.splits) or 'none'}; add a {name} file to the folder"
            )
    if wanted == "off":
        return False
    kind = source.config.get("model_type")
    lacking = []
    if kind != "bert" or source.config.get("type_vocab_size", 2) != 2:
        lacking.append(
            f"a BERT with two segment types expected for --nsp on, {source.name} is none ({kind})"
        )
    without = [name for name in ("train", "dev") if not _has_neighbours(corpus, name)]
    if without:
        lacking.append(
            "documents of at least two sentences expected for --nsp on, "
            f"{' and '.join(without)} of {corpus.source or corpus.name} "
            f"{'have' if len(without) > 1 else 'has'} none (-DOCSTART- lines mark them)"
        )
    if lacking and wanted == "on":
        raise AdaptationError("; ".join(lacking) + "; use --nsp off, or auto")
    return not lacking


def adapt(
    corpus: Corpus,
    model: str | EncoderSource = DEFAULT_MODEL,
    *,
    settings: AdaptSettings = DEFAULT_SETTINGS,
    out: str | Path | None = None,
    models_dir: str | Path = "cache/models",
    seed: int = 1,
    device: str = "auto",
    precision: str = "auto",
    overwrite: bool = False,
    on_step: Callable[[int, int], None] | None = None,
    on_epoch: Callable[[AdaptEpoch], None] | None = None,
) -> Adapted:
    """Fine-tunes an encoder as a language model on a corpus and writes it as a folder.

    Args:
        corpus: with train and dev; tags play no part.
        model: a folder, a Hub id, or the name of an installed package's encoder.
        out: folder to write; by default one in `models_dir` named after encoder, corpus and
            what identifies the result. One that holds the same result already is a hit.
        device: "auto", "cpu" or "cuda".
        precision: "fp32", "bf16", "fp16", or "auto" (bf16 where the hardware has it); weights
            stay in fp32.
        overwrite: train again, and replace an adapted encoder that is there.
        on_step: called with steps done and steps in all.
        on_epoch: called with each row of the history, epoch 0 first, those that a checkpoint kept
            included.

    Raises:
        AdaptationError: see `decide_nsp`; sequences longer than the encoder reads; a loss that
            is not finite.
        AdaptedFolderError: see `finished_record`; or another process makes it.
        LanguageModelError, EncoderError, TokenizerError: see `load_language_model`.
        DeviceError: see `find_device` and `find_precision`.
    """
    source = find_encoder(model) if isinstance(model, str) else model
    plan = plan_adaptation(
        corpus,
        source,
        settings=settings,
        out=out,
        models_dir=models_dir,
        seed=seed,
        device=device,
        precision=precision,
        overwrite=overwrite,
    )
    if plan.finished is not None:
        settle_adapted(plan.folder)
        return plan.finished
    return run_adaptation(plan, corpus, source, on_step=on_step, on_epoch=on_epoch)


def plan_adaptation(
    corpus: Corpus,
    source: EncoderSource,
    *,
    settings: AdaptSettings = DEFAULT_SETTINGS,
    out: str | Path | None = None,
    models_dir: str | Path = "cache/models",
    seed: int = 1,
    device: str = "auto",
    precision: str = "auto",
    overwrite: bool = False,
) -> AdaptationPlan:
    """What `adapt` will do, checked and named; nothing is written. See there."""
    nsp = decide_nsp(corpus, source, settings.nsp)

    from featbert.features.device import find_device, find_precision

    where = find_device(device)
    computed = find_precision(precision, where)
    asked: dict[str, Any] = {
        "base": {"weights": source.weights_hash, "files": source.files_hash},
        "text": {name: corpus[name].text_fingerprint for name in ("train", "dev")},
        "settings": dataclasses.asdict(settings)
        | {"nsp": nsp, "max_length": settings.max_length or MAX_LENGTH},
        "seed": seed,
        "precision": computed,
    }
    identity = identity_hash(asked)
    name = folder_name(source.name, corpus.name, identity)
    folder = Path(models_dir) / name if out is None else Path(out).expanduser()
    plan = AdaptationPlan(
        folder, identity, asked, settings, seed, nsp, where, computed, overwrite, None
    )
    return dataclasses.replace(plan, finished=_finished(plan, source))


def run_adaptation(
    plan: AdaptationPlan,
    corpus: Corpus,
    source: EncoderSource,
    *,
    on_step: Callable[[int, int], None] | None = None,
    on_epoch: Callable[[AdaptEpoch], None] | None = None,
) -> Adapted:
    """Carries out a plan that is not finished; see `adapt`.

    Where another process has finished it by now, it is returned as it is unless it is overwritten.

    Raises:
        AdaptationBusyError: another process makes it.
    """
    folder, settings, where = plan.folder, plan.settings, plan.device

    from featbert.features.fitting import TokenBudget, halved_budgets
    from featbert.features.memory import TRAINED_BYTES, check_memory
    from featbert.training.adaptation_loop import (
        Surroundings,
        fit_language_model,
        longest_sentence,
    )
    from featbert.training.checkpoint import Checkpoint
    from featbert.training.language_model import load_language_model
    from featbert.training.sentence_pairs import piece_text

    check_memory(
        (source.parameters or 0) * TRAINED_BYTES,
        where,
        what=f"training {source.name} as a language model (weights, gradients, moments)",
        less="use a smaller encoder",
    )
    language_model = load_language_model(source, nsp=plan.nsp, seed=plan.seed)
    longest = settings.max_length or min(MAX_LENGTH, language_model.positions)
    if longest > language_model.positions:
        raise AdaptationError(
            f"--max-length of at most {language_model.positions} expected for {source.name}, "
            f"found {longest}"
        )
    train, dev = (
        piece_text(corpus[split].sentences, language_model.wordpieces) for split in ("train", "dev")
    )
    surroundings = Surroundings(longest, plan.seed, where, plan.precision)
    limit = longest_sentence(language_model, surroundings)
    counts = {
        "windowed_sentences": sum(int((text.sizes > limit).sum()) for text in (train, dev)),
        "unknown_words": train.unknown + dev.unknown,
    }
    budgets = {name: TokenBudget(settings.token_budget) for name in ("training", "scoring")}
    with owned(folder):
        if (done := _finished(plan, source)) is not None:
            return done
        with _begun(folder):
            history = fit_language_model(
                language_model,
                train,
                dev,
                settings,
                surroundings,
                budgets=budgets,
                on_step=on_step,
                on_epoch=on_epoch,
                checkpoint=Checkpoint(
                    checkpoint_path(folder),
                    _computation(plan),
                    lambda fields: AdaptEpoch(**fields),
                    budgets=budgets,
                ),
            )
            record = {
                "identity": plan.identity,
                **plan.asked,
                "model": source.name,
                "model_source": source.reference,
                "corpus": corpus.name,
                "source": corpus.source,
                "language": corpus.language,
                "sequence_length": longest,
                "counts": counts,
                "fresh": list(language_model.fresh),
                "history": [_record(row) for row in history],
                "halved_to": halved_budgets(budgets),
                "device": where.kind,
                "device_name": where.name,
                "threads": where.threads,
                "versions": library_versions(),
            }
            write_folder(folder, source, language_model.model.cpu(), record)
    return Adapted(folder, history, language_model.fresh, plan.nsp, counts, hit=False)


@contextlib.contextmanager
def _begun(folder: Path) -> Iterator[None]:
    """Makes room for what is written; where that comes to nothing, at most a checkpoint is left.

    Raises:
        AdaptationError: nothing can be written there, which is told before the work.
    """
    try:
        begin_folder(folder)
    except OSError as error:
        raise AdaptationError(cannot_write(folder, error)) from None
    try:
        yield
    finally:
        abandon(folder)


def _computation(plan: AdaptationPlan) -> str:
    """What must be the same for equal numbers: sums follow the device and its threads."""
    where = {"device": plan.device.name, "threads": plan.device.threads}
    return identity_hash({"adaptation": plan.identity, "versions": library_versions()} | where)


def _finished(plan: AdaptationPlan, source: EncoderSource) -> Adapted | None:
    """The adapted encoder that is wanted, where it is there."""
    record = finished_record(plan.folder, source, plan.identity, overwrite=plan.overwrite)
    if record is None:
        return None
    history = [_row(row) for row in record["history"]]
    fresh, counts = tuple(record["fresh"]), record["counts"]
    return Adapted(plan.folder, history, fresh, plan.nsp, counts, hit=True)


def _record(row: AdaptEpoch) -> dict[str, Any]:
    """A row of the history as JSON, which has no infinity."""
    perplexity = row.dev_perplexity if math.isfinite(row.dev_perplexity) else None
    return dataclasses.asdict(row) | {"dev_perplexity": perplexity}


def _row(record: dict[str, Any]) -> AdaptEpoch:
    return AdaptEpoch(**{k: v for k, v in record.items() if k != "dev_perplexity"})


def _has_neighbours(corpus: Corpus, split: str) -> bool:
    """Whether all sentences have a document, and two neighbours the same."""
    documents = [s.document for s in corpus[split]]
    return None not in documents and len(set(documents)) < len(documents)
