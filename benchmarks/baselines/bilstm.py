"""A BiLSTM on frozen features as a good user of torch writes it in an afternoon.

Features are read from HDF5 sentence by sentence by a Dataset; shuffled batches of 32 are padded
and packed for `nn.LSTM`, in float32. No loader processes, which share the cores with the training
and cannot share an open HDF5 file.
"""

from __future__ import annotations

from collections.abc import Sequence

import h5py
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

from benchmarks.baselines.loop import IGNORED, Batch, label_numbers, train_plainly
from featbert.data.corpus import Corpus, Split
from featbert.features.store.reader import FeatureStore
from featbert.training.settings import TrainingSettings

Item = tuple[Tensor, Tensor]  # (T, D) vectors, (T,) labels


class StoredSentences(Dataset[Item]):
    """Sentences of a store, each read when it is asked for."""

    def __init__(
        self, file: h5py.File, split: Split, layers: Sequence[int], labels: dict[str, int]
    ) -> None:
        self.states = [file[f"{split.name}/layers/{layer:02d}"] for layer in layers]
        self.offsets = file[f"{split.name}/offsets"][:]
        self.labels = [torch.tensor([labels.get(tag, 0) for tag in row]) for row in split.tags]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Item:
        start, stop = self.offsets[index], self.offsets[index + 1]
        vectors = np.concatenate([state[start:stop] for state in self.states], axis=1)
        return torch.from_numpy(vectors).float(), self.labels[index]


class Tagger(nn.Module):
    """Dropout, BiLSTM, dropout, linear classifier: the same sizes as featbert's."""

    def __init__(self, width: int, n_labels: int, settings: TrainingSettings) -> None:
        super().__init__()
        self.dropout = nn.Dropout(settings.dropout)
        self.lstm = nn.LSTM(
            width,
            settings.lstm_size,
            num_layers=settings.lstm_layers,
            dropout=settings.dropout if settings.lstm_layers > 1 else 0.0,
            bidirectional=True,
            batch_first=True,
        )
        self.classifier = nn.Linear(2 * settings.lstm_size, n_labels)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, C)"""
        packed = pack_padded_sequence(
            self.dropout(vectors), lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        logits: Tensor = self.classifier(self.dropout(states))
        return logits


def train_bilstm_plainly(
    store: FeatureStore,
    corpus: Corpus,
    layers: Sequence[int],
    settings: TrainingSettings,
    *,
    seed: int,
) -> float:
    """The best dev F1 of a tagger on the concatenation of these layers."""
    torch.manual_seed(seed)
    labels = label_numbers(corpus)
    with h5py.File(store.path, "r") as file:
        sets = [StoredSentences(file, corpus[name], layers, labels) for name in ("train", "dev")]
        train: DataLoader[Item] = DataLoader(
            sets[0], settings.batch_size, shuffle=True, collate_fn=collate
        )
        dev: DataLoader[Item] = DataLoader(sets[1], settings.batch_size, collate_fn=collate)
        tagger = Tagger(store.manifest.hidden_size * len(layers), len(labels), settings)
        return train_plainly(
            tagger,
            lambda batch: tagger(batch["vectors"], batch["lengths"]),
            train,
            dev,
            corpus["dev"].tags,
            labels,
            settings,
            steps=len(train),
        )


def collate(items: Sequence[Item]) -> Batch:
    """Padded to the longest."""
    vectors = [vectors for vectors, _ in items]
    labels = [labels for _, labels in items]
    return {
        "vectors": pad_sequence(vectors, batch_first=True),
        "lengths": torch.tensor([len(v) for v in vectors]),
        "labels": pad_sequence(labels, batch_first=True, padding_value=IGNORED),
    }
