"""An encoder of few dimensions that reads long sentences whole, and a little generated text."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.text import Size, generated_corpus
from featbert.data.corpus import Corpus


@pytest.fixture(autouse=True)
def quick_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test looks at how fast a machine is."""
    from benchmarks import machine

    monkeypatch.setattr(machine, "CHUNK_SECONDS", 1e-3)


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.tiny_encoders import write_encoder

    return write_encoder(tmp_path_factory.mktemp("benchmarks") / "reader", layers=4, positions=512)


@pytest.fixture(scope="session")
def news() -> Corpus:
    return generated_corpus({"train": Size(40), "dev": Size(12)})
