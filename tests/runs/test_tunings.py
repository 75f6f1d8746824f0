"""Runs of several ways to tune: what they train, what they keep, and a row of each."""

from safetensors import safe_open

from featbert import compare, defaults, extract, finetune, load_corpus, train
from featbert.encoders.tunings import get_tuning, tuning_title
from featbert.report.figures.values import tuning_look
from featbert.runs.folder import WEIGHTS
from featbert.runs.load import load

LAYER = 4 * (16 * 16 + 16) + 2 * 16 * 32 + 32 + 16 + 4 * 16
# Parameters of the encoder that are trained, of four layers of 16 dimensions.
TRAINED = {
    "top:1": LAYER,
    "top:2": 2 * LAYER,
    "lora": 4 * 2 * (8 * 16 + 16 * 8),
    "ia3": 4 * (2 * 16 + 16 + 32),
    # attention, norms and the two of the feed-forward part; the norm of the embeddings
    "bitfit": 4 * (4 * 16 + 2 * 16 + 32 + 16) + 16,
    "layernorm": (4 * 2 + 1) * 2 * 16,
}


def test_each_way_has_a_row_and_keeps_what_it_trained(workspace):
    corpus = load_corpus(workspace.corpus)
    options = {"runs_dir": workspace.runs, "device": "cpu", "precision": "fp32"}

    def tune(tuning, **given):
        settings = defaults(tuning).but(epochs=1, **given)
        return finetune(corpus, str(workspace.model), settings=settings, **options)

    store = extract(corpus, str(workspace.model), cache_dir=workspace.cache, precision="fp32")
    settings = defaults("none").but(epochs=1, lstm_size=4)
    runs = [tune(name) for name in [*TRAINED, "full"]]
    runs += [tune("lora", rank=2), train(store, "last", settings=settings, **options)]
    for run, trained in zip(runs, TRAINED.values(), strict=False):
        head = len(run.record.labels) * (16 + 1)
        assert run.record.cost.trained_parameters == trained + head
        with safe_open(run.folder / WEIGHTS, "np") as kept:
            sizes = {name: kept.get_tensor(name).size for name in kept.keys()}  # noqa: SIM118
        assert sum(sizes.values()) == trained + head
        loaded = load(run, device="cpu")
        dev = corpus["dev"].sentences
        assert loaded.answers(loaded.inputs(dev), dev) == run.predictions("dev").predicted
    (comparison,) = compare(runs)
    found = [(row.tuning, row.settings.get("rank")) for row in comparison.rows]
    ways = ["none", "full", "top:1", "top:2", "lora", "lora", "ia3", "bitfit", "layernorm"]
    assert [tuning for tuning, _ in found] == ways
    assert found[4:6] == [("lora", 2), ("lora", 8)]
    assert len({row.name for row in comparison.rows}) == len(runs)
    assert comparison.rows[3].name == tuning_title("top:2") == get_tuning("top:2").title
    assert tuning_look("top:1") == tuning_look("top:2") != tuning_look("full")
