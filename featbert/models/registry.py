"""Bodies and outputs by name. A new one is a file and a line here.

The lists are read before torch is loaded, so they name classes and do not import them.
"""

from dataclasses import dataclass

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
        trainer: how a model with this part is fitted (`training.trainers`).
    """

    title: str
    settings: tuple[str, ...] = ()
    words: bool = True
    firsts: bool = False
    answers: tuple[str, ...] = ()
    trainer: str = "gradient"


BODIES = Registry(
    "body",
    {
        "bilstm": Part("featbert.models.bilstm:BiLSTM", "BiLSTM", ("lstm_size", "lstm_layers")),
        "linear": Part("featbert.models.linear:DropoutOnly", "linear", words=False),
        "logistic": Part(
            "featbert.models.linear:DropoutOnly",
            "logistic regression",
            words=False,
            trainer="logistic",
        ),
        "ridge": Part(
            "featbert.models.linear:DropoutOnly", "ridge regression", words=False, trainer="ridge"
        ),
    },
)
OUTPUTS = Registry(
    "output",
    {
        "softmax": Part(
            "featbert.models.softmax:Softmax",
            "softmax",
            ("class_weight", "label_smoothing"),
            answers=("class", "tags"),
        ),
        "focal": Part(
            "featbert.models.focal:Focal",
            "focal loss",
            ("class_weight", "gamma"),
            answers=("class", "tags"),
        ),
        "crf": Part("featbert.models.crf:CRF", "CRF", answers=("tags",)),
        "sigmoid": Part(
            "featbert.models.sigmoid:Sigmoid",
            "sigmoid",
            ("thresholds", "class_weight"),
            answers=("set",),
        ),
        "score": Part("featbert.models.score:Score", "score", answers=("score",)),
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
