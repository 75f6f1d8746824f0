"""Training an encoder as a language model with transformers' `Trainer`.

The loss is BERT's own (Devlin et al. 2019, appendix A.2). Heads compute masked pieces only, since
logits of all pieces would take most of the memory.
"""

import math
import shutil
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import TypeAdapter
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForPreTraining,
    DataCollatorForTokenClassification,
    PrinterCallback,
    Trainer,
    TrainingArguments,
)

from featbert.adaptation.plan import MAX_LENGTH, AdaptationPlan, AdaptEpoch
from featbert.adaptation.text import NONE, MaskedText, Vocabulary, cut_blocks
from featbert.encoders.loading import load_encoder, pretrained
from featbert.encoders.source import EncoderSource
from featbert.encoders.tokenizer import pretrained_tokenizer
from featbert.errors import InputError, spelling
from featbert.io import explaining, write_text
from featbert.progress import Advance, report, stage, track
from featbert.training.checkpoint import Pace

# Keys of the answers, in the order in which models give their logits.
TARGETS = ("labels", "next_sentence_label")
# The last file of a checkpoint: which training it belongs to.
COMPUTATION = "computation.txt"


def train_language_model(
    plan: AdaptationPlan, folder: Path, encoder_folder: Path, computation: str
) -> dict[str, Any]:
    """Trains encoder and heads on train and evaluates on dev, and returns the results to record.

    Args:
        folder: of checkpoints. Training resumes from the last one with the same `computation`.
        encoder_folder: to write the model to.
        computation: hash of everything that determines the numbers.
    """
    source, settings, nsp, seed = plan.source, plan.settings, plan.nsp, plan.determinants["seed"]
    precision, device = plan.determinants["precision"], plan.device
    encoder = load_encoder(source)  # checks the checkpoint, and knows its tokenizer and positions
    wordpieces, positions = encoder.wordpieces, encoder.positions
    model, tokenizer, fresh = load_language_model(source, nsp=nsp, seed=seed)
    longest = settings.max_length or min(MAX_LENGTH, positions)
    if longest > positions:
        raise InputError(
            f"is {longest}, but {source.name} reads at most {positions}", setting="max_length"
        )
    capacity = longest - wordpieces.n_special
    if nsp:
        capacity = (capacity - len(wordpieces.suffix)) // 2
    counts: Counter[str] = Counter()
    texts = []
    for name in ("train", "dev"):
        blocks, split_counts = cut_blocks(
            plan.corpus[name].sentences, wordpieces, capacity, even=nsp
        )
        vocabulary = vocabulary_of(tokenizer)
        texts.append(MaskedText(blocks, wordpieces, vocabulary, settings, nsp=nsp, seed=seed))
        counts.update(split_counts)
    train, dev = texts
    # A batch is computed in equal parts of at most the token budget.
    fits = max(1, settings.token_budget // longest)
    size = settings.batch_size
    part = max(n for n in range(1, min(size, fits) + 1) if size % n == 0)
    steps = settings.epochs * math.ceil(len(train) / size)
    checkpoint = last_checkpoint(folder, computation)
    arguments = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=part,
        gradient_accumulation_steps=size // part,
        per_device_eval_batch_size=fits,
        train_sampling_strategy="group_by_length",
        learning_rate=settings.learning_rate,
        warmup_steps=round(settings.warmup * steps),  # the first of them is at rate 0
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.clip_norm,
        optim="adamw_torch_fused",
        adam_epsilon=1e-6,
        seed=seed,
        use_cpu=device.kind == "cpu",
        bf16=precision == "bf16",
        fp16=precision == "fp16",
        dataloader_pin_memory=device.kind == "cuda",
        eval_strategy="epoch",
        eval_on_start=checkpoint is None,
        save_strategy="no",  # `evaluate` decides
        logging_strategy="no",
        remove_unused_columns=False,
        disable_tqdm=True,
        log_level="error",
        report_to="none",
    )
    arguments._n_gpu = min(1, arguments.n_gpu)  # only the first GPU
    collate = DataCollatorForTokenClassification(tokenizer, label_pad_token_id=NONE)
    with stage(f"adapting {source.name}", "steps", steps, done=_steps(checkpoint)) as advance:
        trainer = _LanguageModelTrainer(
            model, arguments, collate, train, dev, computation=computation, advance=advance
        )
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    model.cpu().eval().save_pretrained(encoder_folder)
    return {
        "sequence_length": longest,
        "counts": dict(counts),
        "fresh": fresh,
        "history": [vars(row) | {"dev_perplexity": row.dev_perplexity} for row in trainer.history],
        "seconds": sum(row.seconds for row in trainer.history),
    }


def load_language_model(
    source: EncoderSource, *, nsp: bool, seed: int
) -> tuple[Any, Any, tuple[str, ...]]:
    """The encoder with heads in fp32, its tokenizer, and missing parts, drawn from `seed`."""
    inputs = ["input_ids", "attention_mask"]
    tokenizer = pretrained_tokenizer(source, padding_side="right", model_input_names=inputs)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.unk_token
    if tokenizer.mask_token_id is None:
        raise InputError(
            f"the tokenizer of {source.name} has no mask token; use an encoder that was trained "
            "with one, such as bert-base-cased"
        )
    architecture: Any = AutoModelForPreTraining if nsp else AutoModelForMaskedLM
    torch.manual_seed(seed)
    model, info = pretrained(source, architecture, dtype=torch.float32)
    lacking = [key for key in info["missing_keys"] if key not in model.all_tied_weights_keys]
    return model, tokenizer, tuple(sorted({key.rpartition(".")[0] for key in lacking}))


def vocabulary_of(tokenizer: Any) -> Vocabulary:
    """Numbers of the pieces of a tokenizer of transformers."""
    added = [i for i, token in tokenizer.added_tokens_decoder.items() if token.special]
    special = np.unique([*tokenizer.all_special_ids, *added])
    ordinary = np.setdiff1d(list(tokenizer.get_vocab().values()), special)
    return Vocabulary(int(tokenizer.mask_token_id), ordinary, special)


def last_checkpoint(folder: Path, computation: str) -> Path | None:
    """The latest complete checkpoint of this training in a folder."""
    marks = folder.glob(f"checkpoint-*/{COMPUTATION}")
    checkpoints = [mark.parent for mark in marks if mark.read_text("utf-8") == computation]
    return max(checkpoints, key=_steps, default=None)


def clear(folder: Path, *, but: Path | None) -> None:
    """Removes everything in a folder but one checkpoint, or the whole folder."""
    if but is None:
        shutil.rmtree(folder, ignore_errors=True)
        return
    for path in folder.iterdir():
        if path != but:
            shutil.rmtree(path)


def _steps(checkpoint: Path | None) -> int:
    """checkpoint-120 -> 120"""
    return int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0


class _LanguageModelTrainer(Trainer):
    """Adds up both losses over all masked pieces and all labelled pairs of a batch.

    The loss is the sum of their means, each over the whole batch, which may be computed in parts.
    """

    loss_is_scaled_for_ga = True

    def __init__(self, *arguments: Any, computation: str, advance: Advance) -> None:
        super().__init__(*arguments)
        self.remove_callback(PrinterCallback)
        self.computation, self.advance, self.pace = computation, advance, Pace()
        self._began = time.perf_counter()
        self._totals = torch.zeros(2, 1, dtype=torch.float64, device=self.args.device)
        model: Any = self.model
        model.base_model.register_forward_hook(self._keep_chosen)

    @property
    def history(self) -> list[AdaptEpoch]:
        """The epochs in the log, those before an interruption included."""
        rows = [row for row in self.state.log_history if "dev_mlm" in row]
        numbered = [row | {"epoch": number} for number, row in enumerate(rows)]
        return TypeAdapter(list[AdaptEpoch]).validate_python(numbered)

    def get_batch_samples(self, *arguments: Any) -> tuple[list[Any], Tensor]:
        """The parts of a batch, and (K,) its masked pieces and labelled pairs."""
        parts, _ = super().get_batch_samples(*arguments)
        self.advance(1)
        counts = torch.stack([_counts(part) for part in parts]).sum(0)
        return parts, counts.clamp(min=1).to(self.args.device)

    def compute_loss(
        self, model: nn.Module, inputs: Any, *_: Any, num_items_in_batch: Any = None, **__: Any
    ) -> Any:
        """The share of a part in the loss of its batch, which has (K,) `num_items_in_batch`."""
        return (self._losses(model, inputs) / num_items_in_batch).sum()

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Logs the losses of an epoch, and decides whether a checkpoint is written."""
        row = {f"train_{name}": loss for name, loss in self._means().items()}
        loader: Any = self.get_eval_dataloader()
        model: Any = self.model
        model.eval()
        with torch.inference_mode():
            for batch in track(loader, "measuring perplexity", "batches"):
                self._losses(model, self._prepare_inputs(batch))
        row |= {f"dev_{name}": loss for name, loss in self._means().items()}
        if "dev_mlm" not in row:
            raise InputError("dev has no wordpiece to mask: the tokenizer knows none of its words")
        if wrong := [loss for loss in row.values() if not math.isfinite(loss)]:
            raise InputError(
                f"the loss is {wrong[0]} in epoch {round(self.state.epoch or 0)}; lower "
                f"{spelling('learning_rate')}, or use {spelling('precision', 'fp32')}"
            )
        now = time.perf_counter()
        self.log(row | {"seconds": now - self._began})
        self._began = now
        report(str(self.history[-1]))
        unfinished = 0 < self.state.global_step < self.state.max_steps
        self.control.should_save = unfinished and self.pace.is_due()
        return row

    def _save_checkpoint(self, *arguments: Any) -> None:
        """Marks the checkpoint as complete and removes those before it."""
        began, folder = time.perf_counter(), Path(str(self.args.output_dir))
        with explaining(folder, RuntimeError):
            super()._save_checkpoint(*arguments)
        latest = folder / f"checkpoint-{self.state.global_step}"
        write_text(latest / COMPUTATION, self.computation)
        clear(folder, but=latest)
        self.pace.wrote(began)

    def _means(self) -> dict[str, float]:
        """Mean losses by name since the last call, without losses that nothing was counted for."""
        columns = zip(("mlm", "nsp"), *self._totals.tolist(), strict=False)
        self._totals = torch.zeros_like(self._totals)
        return {name: total / n for name, total, n in columns if n}

    def _losses(self, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        """(K,) summed losses: of masked pieces and, where the model has two heads, of pairs."""
        self._chosen = inputs["labels"] != NONE
        outputs: Any = model(**{key: value for key, value in inputs.items() if key not in TARGETS})
        targets = [inputs["labels"][self._chosen], *(inputs[k] for k in TARGETS[1:] if k in inputs)]
        loss = partial(cross_entropy, ignore_index=NONE, reduction="sum")
        pairs = zip(outputs.to_tuple(), targets, strict=False)
        sums = torch.stack([loss(logits.float().flatten(0, -2), gold) for logits, gold in pairs])
        self._totals = self._totals + torch.stack([sums.detach(), _counts(inputs)])
        return sums

    def _keep_chosen(self, _module: nn.Module, _inputs: Any, output: Any) -> Any:
        """(R, longest, H) -> (1, M, H) between the encoder and the heads."""
        output.last_hidden_state = output.last_hidden_state[self._chosen].unsqueeze(0)
        return output


def _counts(batch: dict[str, Tensor]) -> Tensor:
    """(K,) masked pieces and labelled pairs."""
    return torch.stack([(batch[key] != NONE).sum() for key in TARGETS if key in batch])
