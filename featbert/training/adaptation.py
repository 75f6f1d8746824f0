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
from pathlib import Path
from typing import Any

from featbert.data.corpus import Corpus
from featbert.encoders.source import DEFAULT_MODEL, EncoderSource, find_encoder
from featbert.io import cannot_write
from featbert.training.adaptation_plan import (
    AdaptationError,
    AdaptationPlan,
    Adapted,
    AdaptEpoch,
    finished_adaptation,
    plan_adaptation,
)
from featbert.training.adaptation_settings import DEFAULT_SETTINGS, MAX_LENGTH, AdaptSettings
from featbert.training.adapted_folder import (
    abandon,
    begin_folder,
    checkpoint_path,
    identity_hash,
    owned,
    recover,
    settle_adapted,
    write_folder,
)
from featbert.versions import library_versions


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
    with owned(plan.folder):
        # Of a process that was killed while it put its encoder in the place of the one before.
        recovered = recover(plan.folder)
        done = finished_adaptation(plan, source, anew=plan.overwrite and not recovered)
        return done or _train(plan, corpus, source, on_step, on_epoch)


def _train(
    plan: AdaptationPlan,
    corpus: Corpus,
    source: EncoderSource,
    on_step: Callable[[int, int], None] | None,
    on_epoch: Callable[[AdaptEpoch], None] | None,
) -> Adapted:
    """Trains and writes the folder, for who owns it."""
    folder, settings, where = plan.folder, plan.settings, plan.device

    from featbert.encoders.fitting import TokenBudget, halved_budgets
    from featbert.encoders.memory import TRAINED_BYTES, check_memory
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
    checkpoint = Checkpoint(
        checkpoint_path(folder),
        _computation(plan),
        lambda fields: AdaptEpoch(**fields),
        budgets=budgets,
    )
    with _begun(folder):
        try:
            history = fit_language_model(
                language_model,
                train,
                dev,
                settings,
                surroundings,
                budgets=budgets,
                on_step=on_step,
                on_epoch=on_epoch,
                checkpoint=checkpoint,
            )
        except AdaptationError:  # it would end so again
            checkpoint.remove()
            raise
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


def _record(row: AdaptEpoch) -> dict[str, Any]:
    """A row of the history as JSON, which has no infinity."""
    perplexity = row.dev_perplexity if math.isfinite(row.dev_perplexity) else None
    return dataclasses.asdict(row) | {"dev_perplexity": perplexity}
