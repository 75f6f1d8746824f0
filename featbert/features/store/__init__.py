"""The HDF5 feature store; nothing else in featbert knows HDF5."""

from featbert.features.store.manifest import Manifest, StoredSplit
from featbert.features.store.reader import FeatureStore, StoreError, StoreNotFoundError
from featbert.features.store.writer import StoreBusyError, StoreWriter

__all__ = [
    "FeatureStore",
    "Manifest",
    "StoreBusyError",
    "StoreError",
    "StoreNotFoundError",
    "StoreWriter",
    "StoredSplit",
]
