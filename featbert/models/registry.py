"""Bodies and outputs by name; a new one is a file and a line here.

The lists are read where torch is not loaded yet, so they name a class and do not import it.
"""

from dataclasses import dataclass

from featbert.registry import Entry, Registry


@dataclass(frozen=True)
class Part(Entry):
    """A body or an output.

    Attributes:
        settings: names of settings that only this part has.
        words: of a body, whether it reads the words of a text; if not, it reads one vector a text
            where the task pools them.
        firsts: of an output, whether it reads the first special piece of each sequence, too.
    """

    title: str
    settings: tuple[str, ...] = ()
    words: bool = True
    firsts: bool = False


BODIES = Registry(
    "body",
    {
        "bilstm": Part("featbert.models.bilstm:BiLSTM", "BiLSTM", ("lstm_size", "lstm_layers")),
        "linear": Part("featbert.models.linear:Linear", "linear", words=False),
    },
)
OUTPUTS = Registry(
    "output",
    {
        "softmax": Part("featbert.models.softmax:Softmax", "softmax"),
        "crf": Part("featbert.models.crf:CRF", "CRF"),
        "score": Part("featbert.models.score:Score", "score"),
        "choice": Part("featbert.models.choice:Choice", "choice"),
        "span": Part("featbert.models.span:Span", "span", ("longest_answer",), firsts=True),
    },
)
# One vector a text; "none" for answers of words. A body that reads words pools what it makes of
# them.
POOLINGS = {
    "none": "words",
    "cls": "first special piece",
    "pooler": "first special piece through the checkpoint's pooler",
    "mean": "mean of all subwords, special ones included",
    "max": "maximum of all subwords",
    "max_mean": "maximum and mean of all subwords",
    "word_mean": "mean of words",
    "attention": "attention over words",
}
# The kinds of stored vectors that each pooling reads which does not depend on what is trained.
KEPT_POOLINGS = {"cls": ("cls",), "mean": ("mean",), "max": ("max",), "max_mean": ("max", "mean")}
# Those that each kind of head reads (`Settings.reads`).
KINDS = {"words": ("words",), "sequence": ("words", "cls"), **KEPT_POOLINGS}
