"""BitFit: which parameters it trains, and that it has a row of its own."""

from __future__ import annotations

from featbert import compare, defaults, extract, finetune, train


def test_only_biases_of_the_encoder_and_the_classifier_are_trained(workspace):
    corpus, model = str(workspace.corpus), str(workspace.model)
    options = {"runs_dir": workspace.runs, "device": "cpu", "precision": "fp32"}
    runs = [
        finetune(corpus, model, settings=defaults(tuning).but(epochs=1), **options)
        for tuning in ("bitfit", "full")
    ]
    bitfit, full = runs
    head = len(bitfit.record.labels) * (16 + 1)
    layers = 4 * (
        4 * 16 + 2 * 16 + 32 + 16
    )  # attention, norms and the two of the feed-forward part
    assert bitfit.record.cost.trained_parameters == head + 16 + layers  # and the embeddings' norm
    assert bitfit.record.cost.trained_parameters < full.record.cost.trained_parameters / 10
    store = extract(corpus, model, cache_dir=workspace.cache, precision="fp32")
    settings = defaults("none").but(epochs=1, lstm_size=4)
    runs.append(train(store, "last", settings=settings, **options))
    (comparison,) = compare(runs)
    assert [row.tuning for row in comparison.rows] == ["none", "full", "bitfit"]
    assert len({row.name for row in comparison.rows}) == 3
