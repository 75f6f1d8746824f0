import math

from featbert.analysis.compare import compare
from featbert.analysis.training_curves import training_curves
from featbert.training.history import Epoch
from tests.analysis.records import make_run


def history(*epochs):
    return [Epoch(n, loss, f1, f1, f1, 1.0, []) for n, (loss, f1) in enumerate(epochs, 1)]


def test_curves_hold_the_histories_by_row_and_seed():
    runs = [
        make_run("b", seed=2, history=history((0.9, 0.1), (0.5, 0.3)), best_epoch=2),
        make_run("a", seed=1, history=history((0.8, 0.4), (0.4, 0.2)), best_epoch=1),
        make_run("t", layers=None, history=history((math.inf, None)), best_epoch=1),
    ]
    (comparison,) = compare(runs)
    curves = training_curves(comparison)
    assert curves.title == "wikigold · all-MiniLM-L6-v2 · context: sentence"
    features, tuned = curves.rows
    assert (features.name, features.approach) == ("concat_last4", "features")
    assert [(c.run, c.seed, c.best_epoch) for c in features.seeds] == [("a", 1, 1), ("b", 2, 2)]
    assert [c.loss for c in features.seeds] == [(0.8, 0.4), (0.9, 0.5)]
    assert [c.dev_f1 for c in features.seeds] == [(0.4, 0.2), (0.1, 0.3)]
    assert features.seeds[0].epochs == (1, 2)
    assert tuned.seeds[0].loss == (math.inf,)
    assert tuned.seeds[0].dev_f1 == (None,)
