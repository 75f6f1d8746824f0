"""featbert probe"""

from __future__ import annotations

import warnings
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.cli.extract import find_store, made_store, opened_store
from featbert.cli.inspect import EXAMPLE
from featbert.config import Compute, Data, Encoding
from featbert.data.corpus import UNLABELLED
from featbert.errors import InputError
from featbert.progress import stage
from featbert.text import printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from featbert.encoders.layers import LayerCombination
    from featbert.features.store import FeatureStore


@o.command(
    f"probe --features {EXAMPLE} --layers last,3",
    (Data, Encoding, Compute),
    defaults={"data": "sample; with --features that of the store"},
    without=("tag_scheme", "keep"),
)
def probe(
    *,
    features: Path | None = o.FEATURES,
    layers: list[str] | None = o.option(
        "LAYERS",
        "Layer combinations without learned weights: names such as last, single layers such as 3 "
        "or 1-6, or forms such as concat:9-12; several with commas.  [default: all single layers]",
        completion.layers,
    ),
    given: dict[str, Any],
    cache_dir: Path = o.CACHE_DIR,
) -> None:
    """Check features quickly: logistic regression on layers.

    A linear model on each word's vector, scored on dev: what layers hold, without a learning rate
    or a seed. One combination alone is reported by class. It is not a row to compare with, and only
    for the tasks entities and labels. Features are found or made as in `featbert train`.
    """
    from featbert.config import defaults
    from featbert.data.load import load_corpus
    from featbert.encoders.layers import parse_layers, split_specs
    from featbert.encoders.source import find_encoder
    from featbert.runs.planned import check_same_text, check_trainable
    from featbert.tasks.base import get_task
    from featbert.tasks.labels import labelled

    store, given = opened_store(features, given)
    text = o.chosen(Data, given)
    task = get_task(text.task)
    if task.of_texts:
        raise InputError(f"probe has no --task {text.task}; give entities or labels")
    if store is None:
        num_layers = find_encoder(o.chosen(Encoding, given).model).num_layers
        every = tuple(range((num_layers or 0) + 1))
    else:
        num_layers, every = store.manifest.num_layers, store.manifest.layers
    specs = split_specs(layers or list(every))
    wanted = [parse_layers(spec, num_layers) for spec in specs]
    for combination in wanted:
        if combination.mode == "weighted":
            raise InputError(f"{combination.name} is a learned mix; featbert train reads those")
        if store is not None:
            store.require(combination.indices)
    corpus = load_corpus(text.data, text.reading, targets=task.targets)
    check_trainable(corpus, defaults("none"))
    store = store or made_store(find_store(corpus, given, specs, cache_dir), corpus, given)
    check_same_text(store.manifest, store.path, corpus)

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import classification_report
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    first, *_, last = task.columns
    gold = corpus["dev"].tags
    words = {name: [tag for row in corpus[name].tags for tag in row] for name in ("train", "dev")}
    learned = [i for i, tag in enumerate(words["train"]) if tag != UNLABELLED]
    with stage("probing", "combinations", len(wanted)) as advance:
        for combination in wanted:
            train, dev = (_vectors(store, split, combination) for split in words)
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200, C=0.1))
            with warnings.catch_warnings():  # a probe need not converge to the last digit
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(train[learned], [words["train"][i] for i in learned])
            found = model.predict(dev).tolist()
            predicted = [found[a:b] for a, b in pairwise(store.offsets("dev"))]
            scores = task.score(*task.scored(gold, predicted)).values
            shown = (f"{task.columns[key]} {100 * scores[key]:.2f}" for key in (first, last))
            typer.echo(f"{combination.name}  dev {'  '.join(shown)}")
            advance(1)
    if len(wanted) == 1:
        named = [[*map(printable, tags)] for tags in labelled(gold, predicted)]
        typer.echo(classification_report(*named, zero_division=0))


def _vectors(store: FeatureStore, split: str, combination: LayerCombination) -> NDArray[Any]:
    """(N, width) vectors of a split's words."""
    states: NDArray[Any] = store.read(split, combination.indices).astype("float32")  # (k, N, H)
    if combination.mode == "concat":
        states = states.transpose(1, 0, 2).reshape(states.shape[1], -1)
    else:
        states = states.mean(axis=0) if combination.mode == "mean" else states.sum(axis=0)
    return states
