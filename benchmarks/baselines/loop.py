"""The training loop of both baselines: torch's DataLoader and AdamW, transformers' schedule.

Shuffled batches, padded to the longest, float32; dev is scored after each epoch and the best
weights are kept, as featbert does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import get_linear_schedule_with_warmup

from featbert.data.corpus import Corpus
from featbert.tasks.entities import TASK
from featbert.training.settings import TrainingSettings

IGNORED = -100  # label of what is no word: padding, specials, further pieces

Batch = dict[str, Any]
Forward = Callable[[Batch], Tensor]  # (B, T, C) logits


def label_numbers(corpus: Corpus) -> dict[str, int]:
    """Numbers of the training split's tags; a tag that dev alone has cannot be predicted."""
    tags = sorted({tag for row in corpus["train"].tags for tag in row} | {"O"})
    return {tag: number for number, tag in enumerate(tags)}


def train_plainly(
    model: nn.Module,
    forward: Forward,
    train: Iterable[Batch],
    dev: Iterable[Batch],
    gold: Sequence[Sequence[str]],
    labels: dict[str, int],
    settings: TrainingSettings,
    *,
    steps: int,
) -> float:
    """The best dev F1.

    Args:
        train, dev: batches with "labels" (B, T); dev in the text's order.
        gold: dev's tags.
        steps: of an epoch.
    """
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    total = steps * settings.epochs
    schedule = get_linear_schedule_with_warmup(  # type: ignore[no-untyped-call]
        optimizer, round(total * settings.warmup), total
    )
    best: tuple[float, dict[str, Tensor]] | None = None
    for _ in range(settings.epochs):
        model.train()
        for batch in train:
            logits = forward(batch)
            loss = functional.cross_entropy(
                logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=IGNORED
            )
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
            optimizer.step()
            schedule.step()
        f1 = score(model, forward, dev, gold, list(labels))
        if best is None or f1 > best[0]:
            best = (f1, {name: tensor.clone() for name, tensor in model.state_dict().items()})
    assert best is not None
    model.load_state_dict(best[1])
    return best[0]


def score(
    model: nn.Module,
    forward: Forward,
    dev: Iterable[Batch],
    gold: Sequence[Sequence[str]],
    labels: Sequence[str],
) -> float:
    """Dev F1; words that were cut off are "O"."""
    model.eval()
    predicted: list[list[str]] = []
    with torch.inference_mode():
        for batch in dev:
            for ids, wanted in zip(forward(batch).argmax(-1), batch["labels"], strict=True):
                predicted.append([labels[int(i)] for i in ids[wanted != IGNORED]])
    whole = [
        row + ["O"] * (len(tags) - len(row)) for row, tags in zip(predicted, gold, strict=True)
    ]
    return TASK.dev_values(gold, whole)["f1"]
