"""The linear probe: it reads off what is linear in vectors, and nothing else."""

import numpy as np

from featbert.training.probe import fit_probe

TAGS = np.array(["O", "B-PER", "B-LOC"])


def test_it_reads_off_what_is_linear() -> None:
    random = np.random.default_rng(1)
    directions = random.normal(size=(3, 20))
    kinds = random.integers(0, 3, size=900)
    vectors = (directions[kinds] + 0.3 * random.normal(size=(900, 20))).astype(np.float16)
    found = fit_probe(vectors[:600], TAGS[kinds[:600]].tolist(), vectors[600:])
    assert (np.array(found) == TAGS[kinds[600:]]).mean() > 0.99
