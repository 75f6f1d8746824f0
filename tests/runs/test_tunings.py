"""Runs of several ways to tune: what they train, what they keep, and a row of each."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from featbert import extract
from featbert.api import load_corpus
from featbert.config import defaults
from featbert.encoders.tunings import get_tuning
from featbert.errors import InputError, MissingError
from featbert.report.figures.values import tuning_look
from featbert.runs.folder import WEIGHTS
from featbert.runs.train import _with_chosen_epochs
from featbert.training.fitting import Fitting
from tests.analysis.records import compare
from tests.runs.rows import assert_answers_again
from tests.workspace import command, finetune, ok, train

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
        settings = defaults(tuning, output="softmax").but(epochs=1, **given)
        return finetune(corpus, str(workspace.model), settings=settings, **options)

    store = extract(corpus, str(workspace.model), cache_dir=workspace.cache, precision="fp32")
    settings = defaults("none").but(epochs=1, lstm_size=4)
    runs = [tune(name) for name in [*TRAINED, "full"]]
    runs += [tune("lora", rank=2), train(store, "last", settings=settings, **options)]
    for run, trained in zip(runs, TRAINED.values(), strict=False):
        head = len(run.record.targets.classes) * (16 + 1)
        assert run.record.cost.trained_parameters == trained + head
        with safe_open(run.folder / WEIGHTS, "np") as kept:
            sizes = {name: kept.get_tensor(name).size for name in kept.keys()}  # noqa: SIM118
        assert sum(sizes.values()) == trained + head
        assert_answers_again(run, corpus["dev"])
    (comparison,) = compare(runs)
    found = [(row.tuning, row.settings.get("rank")) for row in comparison.rows]
    ways = ["none", "full", "top:1", "top:2", "lora", "lora", "ia3", "bitfit", "layernorm"]
    assert [tuning for tuning, _ in found] == ways
    assert found[4:6] == [("lora", 2), ("lora", 8)]
    assert len({row.name for row in comparison.rows}) == len(runs)
    assert comparison.rows[3].name == f"{get_tuning('top:2').title} (linear)"
    assert tuning_look("top:1") == tuning_look("top:2") != tuning_look("full")


def test_a_finished_features_run_is_the_first_stage(workspace, monkeypatch):
    corpus, model = load_corpus(workspace.corpus), str(workspace.model)
    where = {"runs_dir": workspace.runs, "device": "cpu", "precision": "fp32"}
    store = extract(corpus, model, cache_dir=workspace.cache, precision="fp32")
    linear = defaults("none", body="linear").but(output="softmax", epochs=2)
    head = train(store, "last", settings=linear, **where)
    began = {}

    def noting(made, *args, **kwargs):
        began.update({name: p.detach().clone() for name, p in made.named_parameters()})
        return Fitting(made, *args, **kwargs)

    monkeypatch.setattr("featbert.runs.train.Fitting", noting)
    settings = defaults("head-then-full", output="softmax").but(epochs=1, head_from=head.id)
    tuned = finetune(corpus, model, settings=settings, **where)
    kept = load_file(head.folder / WEIGHTS)
    assert len(kept) == 2
    assert all(torch.equal(began[name], kept[name]) for name in kept)
    assert tuned.record.settings["head_from"] == head.id
    assert "head_epochs" not in tuned.record.settings
    with pytest.raises(InputError, match="head_epochs"):
        settings.check_given(["head_epochs"])
    assert tuned.record.cost.trained_parameters == sum(p.numel() for p in began.values())
    full = finetune(
        corpus, model, settings=defaults("full", output="softmax").but(epochs=1), **where
    )
    of_head = head.record.cost
    extraction = of_head.extraction_flops * 5 / 6  # train is four times dev, test is the same text
    before = of_head.training_flops + extraction
    assert tuned.record.cost.training_flops == pytest.approx(
        full.record.cost.training_flops + before
    )
    by_name = settings.but(head_from=head.name)
    assert finetune(corpus, model, settings=by_name, **where).name == tuned.name  # found
    ok(command("export", head.folder, exported := workspace.folder / "any" / "head", "-q"))
    by_folder = settings.but(head_from=str(exported))
    assert finetune(corpus, model, settings=by_folder, **where).name == tuned.name
    other = train(store, "last", settings=linear, seed=2, **where)
    second = finetune(corpus, model, settings=settings.but(head_from=other.id), seed=2, **where)
    (comparison,) = compare([tuned, second])
    assert [row.seeds for row in comparison.rows] == [(1, 2)]
    assert_answers_again(tuned, corpus["dev"])

    others = {
        "layers": train(store, "layer:1", settings=linear, **where),
        "seed": other,
        "train_share": train(store, "last", settings=linear.but(train_share=0.5), **where),
        "tag_scheme": train(store, "last", settings=linear, tag_scheme="iob1", **where),
    }
    before = {path.name for path in workspace.runs.iterdir()}
    for wrong, run in others.items():
        with pytest.raises(InputError, match=wrong):
            finetune(corpus, model, settings=settings.but(head_from=run.id), **where)
    with pytest.raises(InputError, match="train_on"):
        finetune(corpus, model, settings=settings.but(train_on="train+dev"), **where)
    with pytest.raises(MissingError, match="ffffffff"):
        finetune(corpus, model, settings=settings.but(head_from="ffffffff"), **where)
    (head.folder / WEIGHTS).write_bytes((others["seed"].folder / WEIGHTS).read_bytes())
    with pytest.raises(InputError, match="modified"):
        finetune(corpus, model, settings=settings.but(epochs=2), **where)
    assert not [
        p for p in workspace.runs.iterdir() if p.name not in before and (p / WEIGHTS).exists()
    ]


@pytest.mark.parametrize(("chosen", "epochs"), [(1, 3), (2, 3), (3, 3), (4, 4), (5, 5)])
def test_a_run_on_train_and_dev_has_the_epochs_that_its_tuning_needs(chosen, epochs):
    """The first two epochs train only the head."""
    settings = defaults("head-then-full").but(epochs=5, head_epochs=2, train_on="train+dev")
    plan = SimpleNamespace(
        options=SimpleNamespace(settings=settings),
        signature=SimpleNamespace(encoder_layers=4),
        folder=Path("run"),
    )
    base = SimpleNamespace(record=SimpleNamespace(best_epoch=chosen))
    assert _with_chosen_epochs(plan, base).epochs == epochs
    assert _with_chosen_epochs(plan, None) == settings
