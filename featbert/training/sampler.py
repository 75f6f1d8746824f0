"""Which sentences make a step: the same for all rows of a comparison with one seed.

In sentence context a batch is a length bucket of shuffled sentences. In document context sentences
are drawn by document, since sentences of a batch that share a window share its cost. A document of
more sentences than a batch is cut into runs of neighbouring sentences.
"""

import numpy as np

from featbert.encoders.batching import Ints

# Sentences are sorted by length within pools of this many batches, after shuffling.
POOL_BATCHES = 16
# Batches that wait to be filled with further documents.
OPEN_BATCHES = 16


def pass_batches(
    lengths: Ints, batch_size: int, *, seed: int, number: int, documents: Ints | None = None
) -> list[Ints]:
    """Sentence ids of each step of a pass (numbered from 1), every sentence once.

    Args:
        lengths: (S,) words of each sentence.
        batch_size: sentences of a step, or at most so many if documents are drawn.
        documents: (S,) document of each sentence, neighbours together. None draws single sentences.
    """
    random = np.random.default_rng([seed, number])
    if documents is None:
        pools = _parts(random.permutation(len(lengths)), POOL_BATCHES * batch_size)
        by_length = [pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]
        batches = [batch for pool in by_length for batch in _parts(pool, batch_size)]
    else:
        runs = _document_runs(documents, batch_size)
        batches = _packed([runs[i] for i in random.permutation(len(runs))], batch_size)
    return [batches[i] for i in random.permutation(len(batches))]


def count_steps(
    lengths: Ints, batch_size: int, *, seed: int, passes: int, documents: Ints | None = None
) -> int:
    """Steps of all passes, which may differ if documents are packed."""
    if documents is None:
        return -(-len(lengths) // batch_size) * passes

    return sum(
        len(pass_batches(lengths, batch_size, seed=seed, number=number, documents=documents))
        for number in range(1, passes + 1)
    )


def _parts(ids: Ints, size: int) -> list[Ints]:
    return [ids[i : i + size] for i in range(0, len(ids), size)]


def _document_runs(documents: Ints, batch_size: int) -> list[Ints]:
    """Runs of neighbouring sentences of one document, nearly equal, none above a batch."""
    edges = np.flatnonzero(np.diff(documents)) + 1
    return [
        run
        for document in np.split(np.arange(len(documents)), edges)
        for run in np.array_split(document, -(-len(document) // batch_size))
        if len(run)
    ]


def _packed(runs: list[Ints], batch_size: int) -> list[Ints]:
    """Whole runs put together to batches: each into the first open one that has room for it."""
    closed: list[list[Ints]] = []
    waiting: list[tuple[int, list[Ints]]] = []  # sentences so far, runs
    for run in runs:
        for place, (size, batch) in enumerate(waiting):
            if size + len(run) <= batch_size:
                batch.append(run)
                waiting[place] = (size + len(run), batch)
                break
        else:
            waiting.append((len(run), [run]))
        full = [i for i, (size, _) in enumerate(waiting) if size == batch_size]
        closed += [waiting.pop(i)[1] for i in reversed(full)]
        if len(waiting) > OPEN_BATCHES:
            fullest = max(range(len(waiting)), key=lambda i: waiting[i][0])
            closed.append(waiting.pop(fullest)[1])
    return [np.concatenate(batch) for batch in [*closed, *(batch for _, batch in waiting)]]
