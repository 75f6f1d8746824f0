"""Bodies, outputs and trainers by name. A new one is a file and a line here.

The lists are read before torch is loaded, so they name classes and do not import them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from featbert.registry import Entry, Registry


@dataclass(frozen=True)
class Part(Entry):
    """A body or an output.

    Attributes:
        settings: names of settings that only this part has.
        words: of a body, whether it reads the words of a text. If not, it reads one vector per
            text, if the task pools them.
        firsts: of an output, whether it also reads [CLS] of each sequence.
        answers: of an output, the kinds of answers that it can give (`tasks.base.ANSWERS`).
        trainer: how a model with this part is fitted.
        rate_on_tuned: of an output, default learning rate of the head on a tuned encoder, unless
            the encoder's is higher. None for the encoder's.
        in_transformers: whether transformers has models with such a head on a tuned encoder.
    """

    title: str
    settings: tuple[str, ...] = ()
    words: bool = True
    firsts: bool = False
    answers: tuple[str, ...] = ()
    trainer: str = "gradient"
    rate_on_tuned: float | None = None
    in_transformers: bool = True


_LINEAR = "featbert.models.linear:DropoutOnly"
BODIES = Registry(
    "body",
    {
        "bilstm": Part(
            "featbert.models.bilstm:BiLSTM",
            "BiLSTM",
            ("lstm_size", "lstm_layers", "variational_dropout"),
            in_transformers=False,
        ),
        "linear": Part(_LINEAR, "linear", words=False),
        "logistic": Part(_LINEAR, "logistic regression", words=False, trainer="logistic"),
        "ridge": Part(_LINEAR, "ridge regression", words=False, trainer="ridge"),
    },
)
OUTPUTS = Registry(
    "output",
    {
        "softmax": Part(
            "featbert.models.logits:Softmax",
            "softmax",
            ("class_weight", "label_smoothing"),
            answers=("class", "tags"),
        ),
        "focal": Part(
            "featbert.models.logits:Focal",
            "focal loss",
            ("class_weight", "gamma"),
            answers=("class", "tags"),
        ),
        "crf": Part(
            "featbert.models.crf:CRF",
            "CRF",
            answers=("tags",),
            rate_on_tuned=8e-3,
            in_transformers=False,
        ),
        "sigmoid": Part(
            "featbert.models.logits:Sigmoid",
            "sigmoid",
            ("thresholds", "class_weight"),
            answers=("set",),
        ),
        "score": Part("featbert.models.logits:Score", "score", answers=("score",)),
        "choice": Part("featbert.models.choice:GroupSoftmax", "choice", answers=("choice",)),
        "span": Part(
            "featbert.models.span:Span",
            "span",
            ("longest_answer",),
            firsts=True,
            answers=("span",),
        ),
    },
)


@dataclass(frozen=True)
class Trainer(Entry):
    """A method of fitting a model: a class of `Epochs` (`training/trainers/base.py`).

    After each epoch dev is scored. The best weights on dev are the result. An epoch is a pass over
    the text, or one value of a solver's parameter (`Epoch.step_value`).

    Attributes:
        title: for people: "gradient steps".
        settings: names of the settings that it reads, in addition to the settings of all runs.
            Others are refused, and are neither in a run's record nor in its name.
        precision: of its numbers, or None for the run's `precision`.
        has_seed: whether its numbers depend on the seed.
        passes: whether an epoch is a pass over the text, so that a smaller text may need more.
        most_epochs: epochs from which on a further one changes nothing, or None.
        ignores: names of settings of outputs that it does not read, as its loss is another one.
        defaults: settings for tasks of texts that differ from the defaults of task and tuning.
    """

    title: str
    settings: tuple[str, ...] = ()
    precision: Literal["fp64"] | None = None
    has_seed: bool = True
    passes: bool = True
    most_epochs: int | None = None
    ignores: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)


# Settings of AdamW and of its steps.
_ADAMW = (
    *("batch_size", "learning_rate", "warmup", "schedule", "bias_correction"),
    *("weight_decay", "clip_norm"),
)
TRAINERS = Registry(
    "trainer",
    {
        "gradient": Trainer(
            "featbert.training.loop:GradientSteps",
            "gradient steps",
            (*_ADAMW, "mix_learning_rate", "head_learning_rate", "dropout", "equal_steps"),
        ),
        "logistic": Trainer(
            "featbert.training.trainers.logistic:LogisticPath",
            "logistic regression",
            precision="fp64",
            has_seed=False,
            passes=False,
            most_epochs=20,  # penalties
            ignores=("label_smoothing",),
        ),
        "contrastive": Trainer(
            "featbert.training.trainers.contrastive:ContrastiveRounds",
            "contrastive tuning",
            (*_ADAMW, "max_pairs"),
            passes=False,
            ignores=("label_smoothing",),
            defaults={
                "sentence_pooling": "mean",
                "epochs": 10,
                "batch_size": 16,
                "learning_rate": 2e-5,
            },
        ),
        "ridge": Trainer(
            "featbert.training.trainers.ridge:RidgePath",
            "ridge regression",
            precision="fp64",
            has_seed=False,
            passes=False,
            most_epochs=20,
        ),
    },
)
# Methods that pool a text into one vector. "none" is for word-level answers.
POOLINGS = {
    "none": "words",
    "cls": "[CLS]",
    "pooler": "[CLS] through the checkpoint's pooler",
    "mean": "mean of all subwords, special tokens included",
    "max": "maximum of all subwords",
    "max_mean": "maximum and mean of all subwords",
    "word_mean": "mean of words",
    "attention": "attention over words",
}
# Poolings that depend on nothing trained, and the kinds of stored vectors that they read.
KEPT_POOLINGS = {"cls": ("cls",), "mean": ("mean",), "max": ("max",), "max_mean": ("max", "mean")}
# Kinds of stored vectors for each value of `Settings.reads`.
KINDS = {"words": ("words",), "sequence": ("words", "cls"), **KEPT_POOLINGS}
