"""Probes of stored layers by logistic regression, without a learning rate or a seed."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

from featbert.data.corpus import UNLABELLED, Corpus
from featbert.encoders.layers import LayerCombination
from featbert.features.store import FeatureStore
from featbert.progress import track
from featbert.tasks.base import Task


@dataclass(frozen=True)
class Probed:
    """A layer combination's scores on dev, by key, and the tags of each sentence."""

    layers: str
    scores: dict[str, float]
    gold: Sequence[tuple[str, ...]]
    predicted: Sequence[list[str]]

    def __repr__(self) -> str:
        scores = [f"{key} {100 * value:.2f}" for key, value in self.scores.items()]
        return f"<Probed: {' · '.join([self.layers, *scores])}>"


def probe(
    store: FeatureStore, corpus: Corpus, task: Task, combinations: Sequence[LayerCombination]
) -> Iterator[Probed]:
    """Scores on dev of a linear model that learns the tag of each word of train."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    gold = corpus["dev"].tags
    tags = {name: [tag for row in corpus[name].tags for tag in row] for name in ("train", "dev")}
    labelled = [i for i, tag in enumerate(tags["train"]) if tag != UNLABELLED]
    for combination in track(combinations, "probing", "combinations"):
        train, dev = (_vectors(store, split, combination) for split in tags)
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200, C=0.1))
        with warnings.catch_warnings():  # a probe need not converge to the last digit
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(train[labelled], [tags["train"][i] for i in labelled])
        by_word = model.predict(dev).tolist()
        predicted = [by_word[a:b] for a, b in pairwise(store.offsets("dev"))]
        scores = task.score(*task.with_gold(gold, predicted)).values
        yield Probed(combination.name, scores, gold, predicted)


def _vectors(store: FeatureStore, split: str, combination: LayerCombination) -> NDArray[Any]:
    """(N, width) vectors of a split's words."""
    states: NDArray[Any] = store.read(split, combination.indices).astype("float32")  # (k, N, H)
    if combination.mode == "concat":
        states = states.transpose(1, 0, 2).reshape(states.shape[1], -1)
    else:
        states = states.mean(axis=0) if combination.mode == "mean" else states.sum(axis=0)
    return states
