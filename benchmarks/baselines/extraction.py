"""Extraction as a good user of transformers writes it in an afternoon.

File order, batches of 32 sentences, padded to the longest of the batch, float32, all hidden states
pooled to the first piece of each word and written to HDF5 after each batch, as float16.
"""

from __future__ import annotations

from pathlib import Path

import h5py
import torch
from transformers import AutoModel, AutoTokenizer

from benchmarks.baselines.quiet import be_quiet
from featbert.data.corpus import Corpus

BATCH = 32


def extract_plainly(corpus: Corpus, folder: Path, path: Path, *, dtype: str = "float16") -> int:
    """Hidden states of words to `path`: /<split>/<layer>, (N, H) each.

    Args:
        folder: of the checkpoint.

    Returns:
        Words that were read. A word that is cut off, or that the tokenizer gives no piece, is lost,
        and nobody is told.
    """
    be_quiet()
    kept = 0
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    positions = model.config.max_position_embeddings
    with h5py.File(path, "w") as file, torch.inference_mode():
        for name, split in corpus.splits.items():
            shape = (split.n_words, model.config.hidden_size)
            layers = [
                file.create_dataset(f"{name}/{layer:02d}", shape, dtype)
                for layer in range(model.config.num_hidden_layers + 1)
            ]
            at = 0
            for start in range(0, len(split), BATCH):
                texts = [list(s.words) for s in split.sentences[start : start + BATCH]]
                batch = tokenizer(
                    texts,
                    is_split_into_words=True,
                    padding=True,
                    truncation=True,
                    max_length=positions,
                    return_tensors="pt",
                )
                rows, pieces = first_pieces(batch, len(texts))
                states = model(**batch, output_hidden_states=True).hidden_states
                for layer, state in zip(layers, states, strict=True):
                    found = state[rows, pieces].numpy()
                    layer[at : at + len(found)] = found.astype(dtype)
                at += len(rows)
            kept += at
    return kept


def first_pieces(batch: object, rows: int) -> tuple[list[int], list[int]]:
    """Row and place of the first piece of each word, in the text's order."""
    found: tuple[list[int], list[int]] = ([], [])
    for row in range(rows):
        before = None
        for place, word in enumerate(batch.word_ids(row)):  # type: ignore[attr-defined]
            if word is not None and word != before:
                found[0].append(row)
                found[1].append(place)
            before = word
    return found
