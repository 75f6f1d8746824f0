"""featbert probe"""

import warnings
from itertools import pairwise
from pathlib import Path

import typer

from featbert.cli import completion
from featbert.cli import options as o
from featbert.errors import InputError
from featbert.progress import stage
from featbert.text import printable


@o.command("probe --layers last,layer:3")
def probe(
    features: Path | None = o.option(
        "STORE", "Feature store.  [default: the only one]", completion.stores
    ),
    layers: list[str] | None = o.option(
        "SPEC",
        "Single layers: last, layer:3, ...; may be given several times.  [default: all]",
        completion.layers,
    ),
    cache_dir: Path = o.CACHE_DIR,
) -> None:
    """Check features quickly: logistic regression on single layers.

    A linear model on each word's vector, scored on dev in seconds: what one layer holds, without a
    learning rate or a seed. One layer alone is reported by class. It is not a row to compare with,
    and only for tasks of words, not of texts.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import classification_report
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from featbert.config import defaults
    from featbert.data.load import load_corpus
    from featbert.encoders.layers import parse_layers, split_specs
    from featbert.features.store import FeatureStore
    from featbert.runs.planned import check_same_text, check_trainable
    from featbert.tasks.entities import TASK

    store = FeatureStore(features or o.only_store(cache_dir))
    m = store.manifest
    specs = [s for spec in layers or [f"layer:{n}" for n in m.layers] for s in split_specs(spec)]
    wanted = [parse_layers(spec, m.num_layers) for spec in specs]
    for combination in wanted:
        if combination.mode != "single":
            raise InputError(f"{combination.name} is no single layer; featbert train reads those")
        store.require(combination.indices)
    corpus = load_corpus(m.source, **m.reading)
    check_trainable(corpus, defaults("none"))
    check_same_text(m, store.path, corpus)
    gold = corpus["dev"].tags
    words = {name: [tag for row in corpus[name].tags for tag in row] for name in ("train", "dev")}
    with stage("probing", "layers", len(wanted)) as advance:
        for combination in wanted:
            train, dev = (store.read(s, combination.indices)[0].astype("float32") for s in words)
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200, C=0.1))
            with warnings.catch_warnings():  # a probe need not converge to the last digit
                warnings.simplefilter("ignore", ConvergenceWarning)
                found = model.fit(train, words["train"]).predict(dev).tolist()
            scores = TASK.score(
                gold, [found[a:b] for a, b in pairwise(store.offsets("dev"))]
            ).values
            f1, accuracy = 100 * scores["f1"], 100 * scores["word_accuracy"]
            typer.echo(f"{combination.name}  dev F1 {f1:.2f}  word accuracy {accuracy:.2f}")
            advance(1)
    if len(wanted) == 1:
        shown = [[printable(tag) for tag in tags] for tags in (words["dev"], found)]
        typer.echo(classification_report(*shown, zero_division=0))
