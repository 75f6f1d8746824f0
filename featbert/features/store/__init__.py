"""The HDF5 feature store; nothing else in featbert knows HDF5."""

from featbert.features.store.journal import (
    StoreBusyError,
    forget_finished,
    journal_path,
    partial_path,
)
from featbert.features.store.manifest import Manifest, StoredSplit
from featbert.features.store.reader import FeatureStore, StoreError, StoreNotFoundError
from featbert.features.store.writer import StoreWriteError, StoreWriter

__all__ = [
    "FeatureStore",
    "Manifest",
    "StoreBusyError",
    "StoreError",
    "StoreNotFoundError",
    "StoreWriteError",
    "StoreWriter",
    "StoredSplit",
    "forget_finished",
    "journal_path",
    "partial_path",
]
