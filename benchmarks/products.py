"""Products of like shape: what the larger matrix products of each kind of work are."""

from __future__ import annotations

from benchmarks.machine import Product
from featbert.features.store.manifest import Manifest
from featbert.training.settings import TrainingSettings

# Of a sentence of news, specials included.
WORDS, PIECES = 16, 20


def of_extraction(manifest: Manifest) -> Product:
    """The larger product of a transformer layer over a full batch."""
    return Product(manifest.token_budget, manifest.hidden_size, 4 * manifest.hidden_size)


def of_finetuning(hidden_size: int, settings: TrainingSettings) -> Product:
    """The same over a step's sentences."""
    return Product(PIECES * settings.batch_size, hidden_size, 4 * hidden_size)


def of_projection(width: int, settings: TrainingSettings) -> Product:
    """The first BiLSTM layer's input projection, one direction, over a step's words."""
    return Product(WORDS * settings.batch_size, width, 4 * settings.lstm_size)


def of_time_step(settings: TrainingSettings) -> Product:
    """One time step of a BiLSTM layer, one direction, over a step's sentences."""
    return Product(settings.batch_size, settings.lstm_size, 4 * settings.lstm_size)
