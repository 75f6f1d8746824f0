"""Corpora and encoders of an experiment, each read once however many runs need it."""

from __future__ import annotations

import json
from pathlib import Path

from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.encoders.source import EncoderSource, find_encoder
from featbert.features.store import FeatureStore
from featbert.runs.arm import Arm


class Resources:
    """What has been read so far; it only grows."""

    def __init__(self) -> None:
        self._corpora: dict[str, Corpus] = {}
        self._sources: dict[str, EncoderSource] = {}
        self._stores: dict[Path, FeatureStore] = {}

    def corpus(self, arm: Arm) -> Corpus:
        """The arm's corpus; raises what `load_corpus` raises."""
        key = json.dumps([arm.data, arm.reading], sort_keys=True)
        if key not in self._corpora:
            self._corpora[key] = load_corpus(arm.data, **arm.reading)
        return self._corpora[key]

    def encoder(self, model: str) -> EncoderSource:
        """The encoder of that name; raises what `find_encoder` raises."""
        if model not in self._sources:
            self._sources[model] = find_encoder(model)
        return self._sources[model]

    def store(self, path: Path) -> FeatureStore:
        """The finished store at a path."""
        if path not in self._stores:
            self._stores[path] = FeatureStore(path)
        return self._stores[path]
