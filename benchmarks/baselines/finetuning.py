"""Fine-tuning as a good user of transformers writes it in an afternoon.

AutoModelForTokenClassification, tokenized once, shuffled batches of 32 sentences, padded to the
longest of the batch, float32; the first piece of each word has its label.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForTokenClassification,
)

from benchmarks.baselines.loop import IGNORED, label_numbers, train_plainly
from benchmarks.baselines.quiet import be_quiet
from featbert.data.corpus import Corpus, Split
from featbert.training.settings import TrainingSettings

Feature = dict[str, list[int]]


def finetune_plainly(
    corpus: Corpus, folder: Path, settings: TrainingSettings, *, seed: int
) -> float:
    """The best dev F1.

    Args:
        folder: of the checkpoint.
    """
    be_quiet()
    torch.manual_seed(seed)
    labels = label_numbers(corpus)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForTokenClassification.from_pretrained(
        folder, num_labels=len(labels), classifier_dropout=settings.dropout, dtype=torch.float32
    )
    positions = model.config.max_position_embeddings
    collate = DataCollatorForTokenClassification(tokenizer, label_pad_token_id=IGNORED)
    train: DataLoader[Any] = DataLoader(
        encoded(corpus["train"], tokenizer, labels, positions),  # type: ignore[arg-type]
        settings.batch_size,
        shuffle=True,
        collate_fn=collate,
    )
    dev: DataLoader[Any] = DataLoader(
        encoded(corpus["dev"], tokenizer, labels, positions),  # type: ignore[arg-type]
        settings.batch_size,
        collate_fn=collate,
    )
    return train_plainly(
        model,
        lambda batch: model(**{k: v for k, v in batch.items() if k != "labels"}).logits,
        train,
        dev,
        corpus["dev"].tags,
        labels,
        settings,
        steps=len(train),
    )


def encoded(split: Split, tokenizer: Any, labels: dict[str, int], positions: int) -> list[Feature]:
    """Each sentence as pieces, with labels at the first piece of each word."""
    texts = [list(sentence.words) for sentence in split]
    found = tokenizer(
        texts, is_split_into_words=True, truncation=True, max_length=positions, padding=False
    )
    features: list[Feature] = []
    for row, (ids, tags) in enumerate(zip(found["input_ids"], split.tags, strict=True)):
        features.append({"input_ids": ids, "labels": [IGNORED] * len(ids)})
        features[-1]["attention_mask"] = [1] * len(ids)
        words = found.word_ids(row)
        for place, word in enumerate(words):
            if word is not None and word != words[place - 1]:
                features[-1]["labels"][place] = labels.get(tags[word], 0)
    return features
