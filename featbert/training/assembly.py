"""A model as the settings name it, and which of its parameters an epoch trains."""

from featbert.config import Settings
from featbert.encoders.encoder import Encoder
from featbert.encoders.tunings import get_tuning
from featbert.models.attention import Attention
from featbert.models.combination import CombineLayers
from featbert.models.model import Model
from featbert.models.pooling import Pooling
from featbert.models.registry import BODIES, KEPT_POOLINGS, OUTPUTS
from featbert.tasks.base import TargetSummary


def make_model(
    states: CombineLayers | Encoder, targets: TargetSummary, settings: Settings, texts: int = 1
) -> Model:
    """A model with a new head on stored states, or on an encoder that is tuned.

    `texts` is 2 for pairs of texts that are encoded apart.
    """
    if isinstance(states, Encoder):
        get_tuning(settings.tuning).prepare(states.model, settings)
        width = states.hidden_size
    else:
        width = states.width
    pools, body_entry = settings.sentence_pooling != "none", BODIES[settings.body]
    pools_first = pools and not body_entry.words
    attention = pooling = None
    if texts == 2 and not pools:
        attention = Attention(width, dropout=settings.dropout)
        width = attention.width
    if pools_first:
        pooling = _pooling(width, settings, texts)
        width = pooling.width
    options = {name: getattr(settings, name) for name in body_entry.settings}
    body = body_entry.load()(width, dropout=settings.dropout, **options)
    width = body.width
    if pools and not pools_first:
        pooling = _pooling(width, settings, texts)
        width = pooling.width
    output_entry = OUTPUTS[settings.output]
    options = {name: getattr(settings, name) for name in output_entry.settings}
    output = output_entry.load()(width, targets, **options)
    return Model(
        states, body, output, attention=attention, pooling=pooling, pools_first=pools_first
    )


def _pooling(width: int, settings: Settings, texts: int) -> Pooling:
    vectors_per_text = None
    if get_tuning(settings.tuning).frozen and settings.reads in KEPT_POOLINGS:
        vectors_per_text = len(KEPT_POOLINGS[settings.reads])
    method = settings.sentence_pooling
    return Pooling(width, method, texts=texts, vectors_per_text=vectors_per_text)


def set_trained(model: Model, settings: Settings, epoch: int) -> None:
    """Marks the encoder's parameters that an epoch (from 1) trains. A head is always trained.

    Modules in which nothing is trained go to eval mode.
    """
    if (encoder := model.encoder) is None:
        return
    trains, depths = get_tuning(settings.tuning).trains, encoder.parameter_depths
    for name, parameter in encoder.model.named_parameters():
        trained = trains(name, depths[name], settings, encoder.num_layers, epoch)
        parameter.requires_grad_(trained)
    model.train(model.training)
