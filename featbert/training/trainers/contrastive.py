"""Contrastive tuning, then a logistic head: SetFit (Tunstall et al. 2022, sections 3 and 4.1).

    loss of a pair (a, b) = (cos(u_a, u_b) - y)^2,  y = 1 for texts of one class, else 0

u are pooled vectors of the encoder that is tuned. Epochs come in rounds of five. The first epoch of
a round makes one pass of AdamW over pairs. All five then have a head by scikit-learn's logistic
regression on the tuned vectors, each with another C of `PENALTIES`. So dev chooses the number of
passes and C. One epoch is SetFit at its defaults: one pass, and C = 1.

A pass has equally many pairs of one class and of two. They are drawn from all pairs, and a text and
itself are a pair of one class. The rarer kind is repeated, as by SetFit 1.2 with "oversampling".
`max_pairs` bounds them, and each pass draws others. Two things differ from SetFit: a text that
occurs several times on one side of a batch is encoded once, and the head reads standardised
vectors.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from featbert.config import Settings
from featbert.encoders.batching import Ints
from featbert.encoders.device import autocast
from featbert.errors import InputError
from featbert.models.model import Model
from featbert.models.registry import KEPT_POOLINGS
from featbert.progress import Advance
from featbert.training.history import Epoch, Progress
from featbert.training.inputs import Inputs
from featbert.training.loop import Backend, GoldAnswers, GradientSteps, TrainingText
from featbert.training.trainers.logistic import LogisticPath

# C of the head in the epochs of a round.
PENALTIES = (1.0, 10.0, 0.1, 100.0, 0.01)


class Pairs:
    """Pairs of texts as the sequences of a batch. See `Inputs`.

    The first half of the pairs are of one class, the others of two.

    Attributes:
        members: (P, 2) texts of each pair.
    """

    def __init__(self, inputs: Inputs, classes: Ints, most: int) -> None:
        self.inputs = inputs
        self._texts: Ints = np.argsort(classes, kind="stable")  # in the order of their classes
        numbers = np.arange(len(classes))
        # (S,) Texts before the first one of the same class.
        before = np.searchsorted(classes[self._texts], classes[self._texts])
        # Each text's first partner, and its number of partners up to itself.
        self._same = before, numbers - before + 1
        self._other = np.zeros_like(before), before
        n_pairs = max(int(self._same[1].sum()), int(self._other[1].sum()))
        self.n_each = min(most // 2, n_pairs)
        self.offsets: Ints = np.arange(2 * self.n_each + 1)
        self.members: Ints = np.zeros((2 * self.n_each, 2), dtype=np.int64)

    def draw(self, random: np.random.Generator) -> None:
        """Draws the pairs of a pass."""
        halves = []
        for first, sizes in (self._same, self._other):
            ends = np.cumsum(sizes)
            n_drawn = min(self.n_each, int(ends[-1]))
            chosen = random.choice(int(ends[-1]), n_drawn, replace=False)
            chosen = np.resize(chosen, self.n_each)
            text = np.searchsorted(ends, chosen, side="right")
            partner = first[text] + chosen - (ends - sizes)[text]
            halves.append(np.stack([partner, text], axis=1))
        self.members = self._texts[np.concatenate(halves)]

    def parts(self, pairs: Ints, token_budget: int) -> Iterator[Ints]:
        """Pairs with texts within the budget. A longer pair is a part by itself."""
        if len(pairs) == 1 or self.tokens(pairs) <= token_budget:
            yield pairs
            return
        middle = len(pairs) // 2
        yield from self.parts(pairs[:middle], token_budget)
        yield from self.parts(pairs[middle:], token_budget)

    def tokens(self, pairs: Ints) -> int:
        return sum(self.inputs.tokens(texts) for texts, _ in self._sides(pairs))

    def batch(self, pairs: Ints, token_budget: int | None = None) -> list[Any]:
        return [self.inputs.batch(texts, token_budget) for texts, _ in self._sides(pairs)]

    def layout(self, pairs: Ints) -> Any:
        """For each side the layout of its texts, and (P,) the text of each pair among them."""
        return [(self.inputs.layout(texts), places) for texts, places in self._sides(pairs)]

    def flops(self, model: Model, pairs: Ints, *, training: bool) -> float:
        sides = self._sides(pairs)
        return sum(self.inputs.flops(model, texts, training=training) for texts, _ in sides)

    def _sides(self, pairs: Ints) -> list[tuple[Ints, Ints]]:
        """For each side of the pairs its texts, each once, and the place of each pair's text."""
        return [np.unique(side, return_inverse=True) for side in self.members[pairs].T]


def cosine_loss(model: Model, batch: Any, layout: Any, targets: Tensor) -> Tensor:
    """Sum of the squared errors of the cosines of pairs. targets (P,) are 1 or 0."""
    assert model.pooling is not None
    sides = []
    for states, (lengths, places) in zip(batch, layout, strict=True):
        vectors = model.pooling(model.states(states), lengths.lengths).float()
        sides.append(vectors[torch.from_numpy(places).to(vectors.device)])  # (P, D)
    return functional.mse_loss(functional.cosine_similarity(*sides), targets, reduction="sum")


class ContrastiveRounds:
    """Passes over pairs, and heads on the vectors after each. See `Epochs`."""

    @classmethod
    def check(cls, settings: Any, task: Any, combination: Any) -> None:
        if task.answer != "class" or settings.output != "softmax":
            raise InputError(
                f"contrastive tuning needs one class for each text and the output softmax; the "
                f"task is {task.title}, the output {settings.output}"
            )
        if settings.reads not in KEPT_POOLINGS:
            raise InputError(
                f"contrastive tuning compares pooled vectors: use the body linear and one of "
                f"{', '.join(KEPT_POOLINGS)}",
                setting="sentence_pooling",
            )

    def __init__(
        self, model: Model, text: TrainingText, settings: Settings, backend: Backend, seed: int
    ) -> None:
        self.model, self.text, self.settings = model, text, settings
        self.backend, self.seed = backend, seed
        classes = text.answers.values.numpy()
        if (classes == classes[0]).all():
            raise InputError("contrastive tuning needs two classes, but train has one")
        self.pairs = Pairs(text.inputs, classes, settings.max_pairs)
        answers = torch.repeat_interleave(torch.tensor([1.0, 0.0]), self.pairs.n_each)
        of_pairs = TrainingText(
            self.pairs,
            GoldAnswers(answers, self.pairs.offsets),
            name_of=lambda pair: text.name_of(int(self.pairs.members[pair, 0])),
        )
        rounds = settings.but(epochs=-(-settings.epochs // len(PENALTIES)))
        self.steps_of_pairs = GradientSteps(model, of_pairs, rounds, backend, seed)
        self.steps_of_pairs.loss = partial(cosine_loss, model)
        self.steps = self.steps_of_pairs.steps
        self.learner = self.steps_of_pairs.learner
        self.head: Any = None

    def train(self, epoch: int, progress: Progress, advance: Advance) -> Epoch:
        """A pass over pairs if a round begins, and a head on the vectors of texts."""
        number, place = divmod(epoch - 1, len(PENALTIES))
        groups = []
        if place == 0:
            self.head = None
            self.pairs.draw(np.random.default_rng([self.seed, number]))
            groups = self.steps_of_pairs.train(number + 1, progress, advance).groups
            texts = np.arange(len(self.text.inputs.offsets) - 1)
            progress.flops += self.text.inputs.flops(self.model, texts, training=False)
        if self.head is None:  # also after a checkpoint within a round
            with autocast(self.backend.device, self.backend.precision):
                self.head = LogisticPath(
                    self.model, self.text, self.settings, self.backend, self.seed
                )
            for solver in self.head.solvers:
                solver.warm_start = False
        loss = self.head.set_solution(PENALTIES[place], progress)
        values = {"passes": number + 1.0, "C": PENALTIES[place]}
        return Epoch(epoch, loss, None, 0.0, groups, values)
