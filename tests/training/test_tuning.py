"""What of an encoder is trained, in which epoch and how fast, read from the history."""

from collections import Counter
from contextlib import nullcontext

import numpy as np
import peft
import pytest
import torch
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import nn
from transformers import AutoModel

from featbert.config import defaults, recorded
from featbert.data.load import load_corpus
from featbert.encoders.alignment import align
from featbert.encoders.device import Device
from featbert.encoders.encoding import EncodingOptions
from featbert.encoders.source import find_encoder
from featbert.encoders.tunings import get_tuning, tuning_title
from featbert.errors import InputError
from featbert.models.model import Model
from featbert.models.registry import OUTPUTS
from featbert.runs.planned import RunOptions, plan_tuned_run
from featbert.tasks.base import get_task
from featbert.training.assembly import set_trained
from featbert.training.checkpoint import Checkpoint
from featbert.training.inputs import PieceInputs
from featbert.training.loop import GoldAnswers, TrainingText
from featbert.training.optimizer import make_optimizer
from tests.features.support import sentences_of
from tests.models.support import TUNED, settings_of, tuned
from tests.tiny_encoders import FAMILIES
from tests.training.test_loop import fit

SETTINGS = settings_of("full", epochs=4, batch_size=4, learning_rate=1e-2, dropout=0.0)
TEXTS = ["The fox said", "Jordan beat the Herald", "EU", "lazy dog near Hamilton"] * 2
HEAD = {"output.classifier.weight", "output.classifier.bias"}


def model_of(folder, **given) -> Model:
    torch.manual_seed(0)
    return tuned(folder, 2, dropout=0.0, **given)


def inputs_of(model, texts=TEXTS) -> PieceInputs:
    alignment = align(sentences_of(texts), model.encoder.wordpieces, positions=40)
    return PieceInputs(alignment, model.encoder, torch.device("cpu"))


def trained(model, settings, checkpoint=None):
    words = [w for s in sentences_of(TEXTS) for w in s.words]
    labels = torch.tensor([w[0].isupper() for w in words]).long()
    inputs = inputs_of(model)
    text = TrainingText(inputs, GoldAnswers(labels, inputs.offsets))
    return fit(model, text, settings, checkpoint=checkpoint)


def groups_of(model, settings):
    """Names of the parameters of each group, and its rate and decay."""
    groups = make_optimizer(model, settings).param_groups
    names = {id(p): n for n, p in model.named_parameters()}
    return {g["name"]: {names[id(p)] for p in g["params"]} for g in groups}, {
        g["name"]: (g["lr"], g["weight_decay"]) for g in groups
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_every_parameter_of_a_family_has_its_depth_and_decays_if_it_is_a_matrix(
    encoder_folder, family
):
    model = model_of(encoder_folder(family))
    depths, layers = model.parameter_depths(), model.encoder.num_layers
    assert depths.keys() == {n for n, _ in model.named_parameters()}
    shared = family == "albert"  # its layers have one depth, the last
    assert set(depths.values()) == ({0, 3, 4} if shared else set(range(layers + 2)))
    for name, depth in depths.items():
        number = [part for part in name.split(".") if part.isdigit()]
        if number and shared:
            assert depth == layers, name
        elif number:  # every family numbers its layers from 0
            assert depth == int(number[0]) + 1, name
        elif "embedding" in name:
            assert depth == 0, name
    assert {n for n, d in depths.items() if d == layers + 1} == HEAD
    # LayerNorm and biases do not decay, whatever they are called.
    given = {"epochs": 1, "learning_rate": 1e-3, "weight_decay": 0.02}
    names, rates = groups_of(model, settings_of("full", **given))
    of_norms = {
        f"{module}.{name}"
        for module, m in model.named_modules()
        if "Norm" in type(m).__name__
        for name, _ in m.named_parameters()
    }
    biases = {n for n in depths if n.endswith("bias")}
    of_one_row = {n for n, p in model.states.named_parameters(prefix="states") if 1 in p.shape}
    assert of_norms
    assert names["vectors"] == of_norms | biases | of_one_row
    assert names["vectors"] | names["matrices"] == {*depths}
    assert rates == {"matrices": (1e-3, 0.02), "vectors": (1e-3, 0.0)}


def test_layers_that_share_weights_are_trained_together(encoder_folder, tmp_path):
    source, corpus = find_encoder(str(encoder_folder("albert"))), load_corpus("sample")

    def planned(**given):
        options = RunOptions(1, SETTINGS.but(**given), tmp_path, Device("cpu", "", 1))
        return plan_tuned_run(source, corpus, options, EncodingOptions())

    for given in ({"freeze_to": 1}, {"unfreeze": 1, "epochs": 4}, {"layer_decay": 2.0}):
        with pytest.raises(InputError, match="albert"):
            planned(**given)
    for given in ({}, {"freeze_to": 0}, {"freeze_to": 3}, {"tuning": "bitfit"}):
        assert planned(**given).signature.pooling == "first"


def test_gradual_unfreezing_by_hand():
    """Baumann 2019: twelve layers in groups of three take five epochs."""

    def lowest(epochs, **given):
        asked, trains = SETTINGS.but(epochs=9, **given), get_tuning("full").trains
        depths = ([d for d in range(13) if trains("", d, asked, 12, e + 1)] for e in range(epochs))
        return [min(trained, default=13) for trained in depths]

    assert lowest(6, unfreeze=3) == [13, 10, 7, 4, 0, 0]
    assert lowest(5, unfreeze=5) == [13, 8, 3, 0, 0]
    assert lowest(5, unfreeze=3, freeze_to=4) == [13, 10, 7, 5, 5]
    assert lowest(1) == [0]
    assert lowest(1, freeze_to=0) == [1]


def test_the_history_says_what_was_trained_and_how_fast(encoder_folder):
    model = model_of(encoder_folder("bert"))
    place_of, expected = ("embeddings", "layer 1", "layer 2", "layer 3", "head"), Counter()
    for (_, p), depth in zip(
        model.named_parameters(), model.parameter_depths().values(), strict=True
    ):
        expected[place_of[depth]] += p.numel()
    settings = SETTINGS.but(unfreeze=1, layer_decay=2.0, warmup=0.0, schedule="constant")
    history = trained(model, settings).history
    found = [{g.name: (g.parameters, g.learning_rate) for g in row.groups} for row in history]
    rates = {"head": 1e-2, "layer 3": 5e-3, "layer 2": 2.5e-3, "layer 1": 1.25e-3}
    rates["embeddings"] = 6.25e-4
    assert [row.keys() for row in found] == [{*[*rates][:n]} for n in (1, 2, 3, 5)]
    for row in found:
        assert row == {name: (expected[name], pytest.approx(rates[name])) for name in row}


CASES = [
    *((name, {}) for name in TUNED if get_tuning(name).trainer == "gradient"),
    *(("full", {"freeze_to": k}) for k in (0, 3)),
    ("lora", {"dora": True, "rank": 2, "target_modules": "intermediate.dense, value"}),
]


@pytest.mark.parametrize(("tuning", "given"), CASES)
def test_exactly_what_is_trained_moves_and_is_kept(encoder_folder, tmp_path, tuning, given):
    settings = SETTINGS.but(tuning=tuning, **given)
    model = model_of(encoder_folder("bert"), tuning=tuning, **given)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    kept = Checkpoint(tmp_path / "checkpoint.pt", "")
    fitted = trained(model, settings, kept)
    depths, trains = model.encoder.parameter_depths, get_tuning(tuning).trains
    free = HEAD | {
        f"states.model.{n}" for n, d in depths.items() if trains(n, d, settings, 3, settings.epochs)
    }
    moved = {n for n, p in model.named_parameters() if not torch.equal(p, before[n])}
    # A key's bias moves no softmax, so it has next to no gradient.
    assert moved | {n for n in free if "key.bias" in n} == free
    assert set(fitted.trained) == free
    assert torch.load(kept.path, weights_only=True)["weights"].keys() == free
    assert free > HEAD or given == {"freeze_to": 3}


def test_dropout_is_on_where_something_is_trained(encoder_folder):
    """LoRA's own, and the attention's whose query and value have adapters; no other."""
    model = model_of(encoder_folder("bert"), tuning="lora")
    model.train()
    set_trained(model, SETTINGS.but(tuning="lora"), 1)
    dropouts = {n: m for n, m in model.encoder.named_modules() if isinstance(m, nn.Dropout)}
    on = {name for name, module in dropouts.items() if module.training}
    assert on == {n for n in dropouts if n.endswith("attention.self.dropout") or "lora" in n}
    assert len(on) == 3 * (1 + 2) < len(dropouts)
    # Frozen layers give the states that frozen features hold, while the others drop out.
    model = model_of(encoder_folder("bert"))
    batch = inputs_of(model, TEXTS[:2]).batch(np.arange(2))
    still = [s.clone() for s in model.eval().encoder.hidden_states(batch)]
    set_trained(model.train(), SETTINGS.but(freeze_to=2), 1)  # layer 3 and the head are trained
    states = model.encoder.hidden_states(batch)
    torch.testing.assert_close(states[:3], still[:3])
    assert not torch.allclose(states[3], still[3], atol=1e-3)


def test_a_head_may_have_a_rate_of_its_own(encoder_folder):
    model = model_of(encoder_folder("bert"), tuning="lora")
    settings = SETTINGS.but(tuning="lora", head_learning_rate=0.5, layer_decay=2.0)
    names, rates = groups_of(model, settings)
    assert names["head matrices"] | names["head vectors"] == HEAD
    assert {name: rate for name, (rate, _) in rates.items()} == {
        "encoder matrices": 1e-2,
        "head matrices": 0.5,
        "head vectors": 0.5,
    }
    # A body that reads words learns as fast as on features, whatever it is trained with.
    of_features = defaults("none", "classification", "bilstm").learning_rate
    with_body = defaults("lora", "classification", "bilstm")
    assert with_body.head_learning_rate == of_features
    get_task("classification").check(with_body)
    assert defaults("lora", "classification").head_learning_rate is None


def test_a_crf_on_a_tuned_encoder_learns_at_a_rate_of_its_own_or_as_fast_as_the_encoder():
    of_a_crf = OUTPUTS["crf"].rate_on_tuned
    for tuning in ("full", "head-then-full", "top:2", "lora", "bitfit", "ia3", "layernorm"):
        usual = defaults(tuning)
        rate = max(usual.learning_rate, of_a_crf)
        assert (usual.output, usual.head_learning_rate or usual.learning_rate) == ("crf", rate)
        with_softmax = defaults(tuning, output="softmax").head_learning_rate
        assert with_softmax == get_tuning(tuning).defaults.get("head_learning_rate")
    # A run whose head learned at the encoder's rate has no rate of its own when it is read again.
    used = defaults("full").used()
    assert recorded(used, "full").head_learning_rate == used.pop("head_learning_rate")
    assert recorded(used, "full").head_learning_rate is None


@pytest.mark.parametrize("family", FAMILIES)
def test_adapters_by_default_are_where_peft_puts_them(encoder_folder, family):
    """Where peft knows the architecture. None decays a vector."""
    for tuning, config in (("lora", peft.LoraConfig(r=8)), ("ia3", peft.IA3Config())):
        model = model_of(encoder_folder(family), tuning=tuning)
        found = {n for n, m in model.encoder.model.named_modules() if isinstance(m, BaseTunerLayer)}
        assert found
        set_trained(model, SETTINGS.but(tuning=tuning), 1)
        names, _ = groups_of(model, settings_of(tuning))
        vectors = {n for n, p in model.named_parameters() if p.requires_grad and 1 in p.shape}
        assert vectors <= names["vectors"]
        plain = AutoModel.from_pretrained(encoder_folder(family))
        try:
            peft.inject_adapter_in_model(config, plain)
        except ValueError:  # peft has no defaults
            continue
        adapted = {n for n, m in plain.named_modules() if isinstance(m, BaseTunerLayer)}
        assert found == {name for name in adapted if not name.startswith("pooler")}


@pytest.mark.parametrize(
    ("family", "given", "value"),
    [
        ("bert", {"target_modules": "value,gate"}, "'gate'.*attention.self.query, .*output.dense"),
        ("bert", {"target_modules": ""}, "''.*attention.self.query"),
        ("bert", {"rank": 17}, "rank is 17.* 16"),
        ("modernbert", {"tuning": "bitfit"}, "ModernBertModel"),  # it has no bias
    ],
)
def test_tunings_that_cannot_be_made_are_refused(encoder_folder, family, given, value):
    with pytest.raises(InputError, match=value):
        model_of(encoder_folder(family), **{"tuning": "lora"} | given)


@pytest.mark.parametrize("name", ["top:", "top:0", "top:-1", "top:x", "top:²", "full:2", "half"])
def test_names_of_ways_are_checked(name):
    with pytest.raises(InputError, match=name.partition(":")[0]):
        SETTINGS.but(tuning=name)
    # A number is part of a name.
    assert SETTINGS.but(tuning="top").tuning == SETTINGS.but(tuning="top:01").tuning == "top:1"
    assert len({tuning_title(f"top:{n}") for n in (1, 2, 12)}) == 3


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"tuning": "top:4"}, "top:4"),
        ({"tuning": "head-then-full", "head_epochs": 4}, "head_epochs is 4"),
        ({"freeze_to": 4}, "freeze_to is 4"),
        ({"unfreeze": 4}, "unfreeze is 4"),
        ({"unfreeze": 1, "epochs": 3}, "epochs is 3; 4 "),
        ({"unfreeze": 2, "epochs": 2}, "epochs is 2; 3 "),
        ({"freeze_to": 3}, None),
        ({"unfreeze": 3, "epochs": 2}, None),
        ({"unfreeze": 1}, None),
        ({"unfreeze": 1, "freeze_to": 2, "epochs": 2}, None),
        ({"tuning": "top:3"}, None),
    ],
)
def test_what_an_encoder_cannot_do_is_refused(given, value):
    settings = SETTINGS.but(**given)
    with nullcontext() if value is None else pytest.raises(InputError, match=value):
        get_tuning(settings.tuning).check(settings, 3)
