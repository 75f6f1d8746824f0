"""Training by gradient steps, and prediction. Neither knows the task, the head or the tuning.

A batch may be computed in parts. Their losses are summed and divided by the number of losses of
the whole batch, which changes only the rounding. Gradients are clipped to a norm, and checked
before each step: one that is not finite would make every weight NaN. On a GPU the host would wait
for each check, so it reads the result at the end of the epoch.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from featbert.config import Settings
from featbert.encoders.batching import Ints, TokenBudget, ranges
from featbert.encoders.device import Device, Precision, Stopwatch, autocast, to_device
from featbert.errors import InputError, memory_lack, out_of_memory, spelling
from featbert.models.model import Model
from featbert.progress import Advance, stage
from featbert.training.assembly import set_trained
from featbert.training.checkpoint import Learner
from featbert.training.history import Epoch, Progress
from featbert.training.inputs import Inputs
from featbert.training.optimizer import describe_groups, make_optimizer, make_schedule
from featbert.training.sampler import count_steps, pass_batches
from featbert.training.trainers.base import Epochs


@dataclass(frozen=True)
class Backend:
    """The device and the precision that a model computes with."""

    device: Device
    precision: Precision = "fp32"


@dataclass(frozen=True)
class GoldAnswers:
    """Gold answers of a text's items.

    Attributes:
        values: (T,) or (T, ...) numbers, sequence after sequence.
        offsets: (S + 1,) items before each sequence: words for tags, one each for classes.
        joint: whether the items of a sequence have one loss together, not one each.
        counted: (T,) which items have a right answer, and so a loss. None means all.
    """

    values: Tensor
    offsets: Ints
    joint: bool = False
    counted: NDArray[np.bool_] | None = None

    def rows(self, sequences: Ints) -> Ints:
        """Numbers of the items of sequences, in their order."""
        sizes = np.diff(self.offsets)[sequences]
        return ranges(self.offsets[sequences], sizes)

    def losses(self, sequences: Ints) -> int:
        """Number of losses of sequences, by which the sum of a batch is divided."""
        if self.joint:
            return len(sequences)
        rows = self.rows(sequences)
        return len(rows) if self.counted is None else int(self.counted[rows].sum())

    def __len__(self) -> int:
        return int(self.offsets[-1])


@dataclass(frozen=True)
class TrainingText:
    """A text to learn from.

    Attributes:
        answers: of the inputs' items.
        documents: (S,) document of each sequence, if batches are drawn by document.
        name_of: the name of a sequence in error messages.
    """

    inputs: Inputs
    answers: GoldAnswers
    documents: Ints | None = None
    name_of: Callable[[int], str] = "sentence {}".format


class GradientSteps(Epochs):
    """A model that is fitted by steps of AdamW along the gradients of its loss.

    InputError if the loss or gradients are not finite, or a batch does not fit in memory.
    """

    def __init__(
        self, model: Model, text: TrainingText, settings: Settings, backend: Backend, seed: int
    ) -> None:
        self.model, self.settings, self.backend = model, settings, backend
        answers = replace(text.answers, values=text.answers.values.to(backend.device.torch))
        self.text, self.loss = replace(text, answers=answers), model.loss
        # Listing them in every step would take as long as a short step.
        self.parameters = list(model.parameters())
        self.lengths: Ints = np.diff(text.inputs.offsets)
        self.drawing: dict[str, Any] = {
            "batch_size": settings.batch_size,
            "seed": seed,
            "documents": text.documents,
        }
        passes = settings.passes_until(settings.epochs)
        self.steps = count_steps(self.lengths, passes=passes, **self.drawing)
        self.optimizer = make_optimizer(model, settings)
        trained = [name for name, p in model.named_parameters() if p.requires_grad]
        self.schedule = make_schedule(self.optimizer, settings, total=self.steps)
        self.scaler = torch.amp.GradScaler(backend.device.kind, enabled=backend.precision == "fp16")
        self.checks_each_step = backend.device.kind == "cpu"
        parts = {"optimizer": self.optimizer, "schedule": self.schedule, "scaler": self.scaler}
        self.learner = Learner(model, trained, parts)

    def train(self, epoch: int, progress: Progress, advance: Advance) -> Epoch:
        """The passes of an epoch, from 1. Adds steps and operations to the progress."""
        self.model.train()
        set_trained(self.model, self.settings, epoch)
        parameters = self.model.named_parameters()
        progress.trained |= {n: p.numel() for n, p in parameters if p.requires_grad}
        loss_sum = torch.zeros((), device=self.backend.device.torch)
        passes = [*map(self.settings.passes_until, (epoch - 1, epoch))]
        batches = [
            batch
            for number in range(passes[0] + 1, passes[1] + 1)
            for batch in pass_batches(self.lengths, number=number, **self.drawing)
        ]

        first_step, first_wrong = progress.step, torch.zeros((), device=self.backend.device.torch)
        for number, sequences in enumerate(batches, 1):
            loss_sum, flops = self._gradients(sequences, loss_sum)
            progress.flops += flops
            self.scaler.unscale_(self.optimizer)
            norm = nn.utils.clip_grad_norm_(self.parameters, self.settings.clip_norm)
            is_wrong = ~norm.isfinite()
            if self.checks_each_step and is_wrong:
                raise _diverged(f"step {number} of epoch {epoch}, {self._place(sequences)}")
            first_wrong = torch.where(is_wrong & (first_wrong == 0), number, first_wrong)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.schedule.step()
            progress.step += 1
            advance(1)
        # fp16 leaves out steps that overflow. Below a scale of 1 it would leave out all of them.
        overflows = self.scaler.is_enabled() and self.scaler.get_scale() >= 1
        if first_wrong and not overflows:
            raise _diverged(f"step {int(first_wrong)} of epoch {epoch}")
        n_losses = self.text.answers.losses(np.arange(len(self.lengths))) * (passes[1] - passes[0])
        mean_loss = float(loss_sum) / n_losses
        if not np.isfinite(mean_loss):
            raise _diverged(f"epoch {epoch}")
        share = max(map(self.schedule.lr_lambdas[0], range(first_step, progress.step)))
        return Epoch(epoch, mean_loss, None, 0.0, describe_groups(self.optimizer, share))

    def _gradients(self, sequences: Ints, loss_sum: Tensor) -> tuple[Tensor, float]:
        """Sets the gradients and returns `loss_sum` plus the loss of each item, and operations."""
        inputs, answers, budget = self.text.inputs, self.text.answers, self.settings.token_budget
        n_losses, flops = max(1, answers.losses(sequences)), 0.0
        loss_sum, device = loss_sum.clone(), self.backend.device
        for parameter in self.parameters:
            parameter.grad = None
        try:
            for ids in inputs.parts(sequences, budget):
                rows = to_device(torch.from_numpy(answers.rows(ids)), device.torch)
                with autocast(device, self.backend.precision):
                    batch, layout = inputs.batch(ids, budget), inputs.layout(ids)
                    loss = self.loss(batch, layout, answers.values[rows])
                self.scaler.scale(loss / n_losses).backward()  # type: ignore[no-untyped-call]
                loss_sum += loss.detach()
                flops += inputs.flops(self.model, ids, training=True)
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            raise InputError(
                f"a batch of {budget:,} tokens does not fit in memory ({memory_lack(error)}); "
                f"lower {spelling('token_budget')}, for example to {max(1, budget // 2)}"
            ) from None
        return loss_sum, flops

    def _place(self, sequences: Ints) -> str:
        """The first sequence of a batch with a loss or gradients that are not finite."""
        wrong, nothing = [], torch.zeros((), device=self.backend.device.torch)
        for sequence in sequences:
            loss, _ = self._gradients(np.array([sequence]), nothing)
            gradients = [p.grad for p in self.parameters if p.grad is not None]
            if not all(bool(values.isfinite().all()) for values in [loss, *gradients]):
                wrong.append(int(sequence))
        if 0 < len(wrong) < len(sequences):
            return f"in {self.text.name_of(wrong[0])}"
        # If no sequence has, or all have, the weights are the reason.
        return f"in a batch with {self.text.name_of(int(sequences[0]))}"


def _diverged(place: str) -> InputError:
    advice = f"lower {spelling('learning_rate')}, or use {spelling('precision', 'fp32')}"
    return InputError(f"the loss or its gradients are not finite in {place}; {advice}")


# Padded tokens of a batch in prediction over training, on features and on a tuned encoder. A GPU
# has room, since there are no gradients. On a processor a BiLSTM is faster with many rows, and an
# encoder with states that fit into the caches.
_PREDICTION = {"cpu": (0.5, 0.25), "cuda": (4, 4), "mps": (1, 1)}


def prediction_budget(model: Model, settings: Settings, device: Device) -> TokenBudget:
    """Padded tokens of a batch of prediction."""
    factor = _PREDICTION[device.kind][model.encoder is not None]
    return TokenBudget(max(1, int(settings.token_budget * factor)))


def prediction_flops(model: Model, inputs: Inputs, settings: Settings, device: Device) -> float:
    """Operations of `predict` over the whole text, estimated from shapes."""
    everything = np.arange(len(inputs.offsets) - 1)
    parts = inputs.parts(everything, prediction_budget(model, settings, device).tokens)
    return sum(inputs.flops(model, ids, training=False) for ids in parts)


def predict(
    model: Model,
    inputs: Inputs,
    offsets: Ints,
    backend: Backend,
    budget: TokenBudget,
    *,
    probabilities: bool = False,
    apart: Stopwatch | None = None,
) -> tuple[NDArray[Any], ...]:
    """(T, ...) the answer of each item, in the text's order: a number of a class, or a score.

    Args:
        offsets: (S + 1,) items before each sequence.
        budget: a `prediction_budget`.
        probabilities: returns also (T, C) the probability of every class.
        apart: measures how much longer the probabilities take than the answers. They are then
            in float16.
    """
    model.eval()
    items = GoldAnswers(torch.empty(0), offsets)
    results: list[Tensor] = []
    with (
        torch.inference_mode(),
        autocast(backend.device, backend.precision),
        stage("predicting", "items", len(items)) as advance,
    ):

        def keep(number: int, places: Tensor, part: Tensor) -> None:
            if number == len(results):
                results.append(part.new_empty((len(items), *part.shape[1:])))
            results[number][places] = part

        def read(ids: Ints) -> None:
            rows = torch.from_numpy(items.rows(ids))
            places = to_device(rows, backend.device.torch)
            vectors, lengths = model.vectors(inputs.batch(ids, budget.tokens), inputs.layout(ids))
            if not probabilities or apart is not None:
                keep(0, places, model.output.decode(vectors, lengths))
            if probabilities:
                with nullcontext() if apart is None else apart.running():
                    answers, shares = model.output.probabilities(vectors, lengths)
                    if apart is None:
                        keep(0, places, answers)
                    keep(1, places, shares)
            advance(len(rows))

        everything = np.arange(len(inputs.offsets) - 1)
        for ids in inputs.parts(everything, budget.tokens):
            budget.compute_parts(ids, read, size=inputs.tokens, cut=inputs.parts)
        if apart is not None and len(results) > 1:
            with apart.running():
                results[1] = results[1].half().cpu()
    if not results:
        return (np.empty(0),) * (1 + probabilities)
    return tuple(result.cpu().numpy() for result in results)
