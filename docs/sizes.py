"""The tables of docs/explanation/sizes.md: counted operations, bytes, and measured rates.

Operations are counted by featbert's own code on encoders without weights. Seconds are these
operations over the operations per second of records in `benchmarks/records/`.
"""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch

from featbert.encoders.encoder import Encoder
from featbert.encoders.flops import forward_flops, training_flops
from featbert.encoders.tokenizer import WordPieces
from featbert.models.bilstm import BiLSTM
from featbert.models.model import matrix_entries
from featbert.units import duration, operations, parameters, size

RECORDS = Path(__file__).parents[1] / "benchmarks" / "records"
WORDS = (10_000, 100_000, 1_000_000)
LAST = 4  # layers of concat_last4
STATE = 2  # bytes of a number, float16


class Shape(NamedTuple):
    name: str
    layers: int
    hidden: int
    heads: int


SHAPES = (Shape("small", 6, 384, 12), Shape("base", 12, 768, 12), Shape("large", 24, 1024, 16))


class Text(NamedTuple):
    """A text like the benchmark's: words per sentence, and tokens per sentence with specials."""

    words: float
    tokens: float


class Cost(NamedTuple):
    """Per word of a text: operations of a forward pass, an epoch of tuning, and of the head."""

    parameters: int
    forward: float
    tuning: float
    head: float
    head_parameters: int
    states: int  # bytes of all layers
    last_states: int  # bytes of the last four layers


@cache
def record(name: str) -> dict[str, Any]:
    return dict(json.loads((RECORDS / f"{name}.json").read_text("utf-8")))


def rate(name: str, precision: str) -> float:
    """Operations per second of featbert in a record."""
    return float(record(name)["measured"][f"featbert {precision}"]["flops_per_second"])


def text() -> Text:
    about = record("extract-narrow")["about"]
    sentences = about["sentences"]["train"]
    return Text(about["words"] / sentences, about["wordpieces"] / sentences + 2)


@cache
def cost(shape: Shape) -> Cost:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=4 * shape.hidden,
    )
    with torch.device("meta"):
        model = BertModel(config, add_pooling_layer=False)
        head = BiLSTM(LAST * shape.hidden, dropout=0.5, lstm_size=768, lstm_layers=2)
    encoder, sample = Encoder(model, cast(WordPieces, None)), text()
    sentences = 1_000
    extra = round(sentences * (sample.tokens % 1))  # sentences with one token more than the others
    lengths = int(sample.tokens) + (np.arange(sentences) < extra)
    vectors = 1 + 1 / sample.words  # a sentence has one for [CLS], too
    return Cost(
        encoder.n_parameters,
        forward_flops(encoder, lengths) / sentences / sample.words,
        training_flops(encoder, lengths) / sentences / sample.words,
        3 * 2 * matrix_entries(head),
        sum(p.numel() for p in head.parameters()),
        round(vectors * (shape.layers + 1) * shape.hidden * STATE),
        round(vectors * LAST * shape.hidden * STATE),
    )


def per_encoder() -> Iterator[list[str]]:
    """What does not depend on the number of words."""
    head = ["encoder", "parameters", "weights", "pass, per word", "store, per word"]
    yield [*head, "fine-tuning, at least", "BiLSTM, at least"]
    yield ["---", *["---:"] * 6]
    for shape in SHAPES:
        costs = cost(shape)
        yield [
            f"{shape.name}, {shape.layers} × {shape.hidden}",
            parameters(costs.parameters),
            size(4 * costs.parameters),
            operations(costs.forward),
            size(costs.states),
            size(16 * costs.parameters),
            size(20 * costs.head_parameters),
        ]


def per_words() -> Iterator[list[str]]:
    """Disk, memory and seconds by the number of words. Seconds in fp32 and bf16."""
    head = ["encoder", "words", "store, all layers", "store and memory, last 4", "extraction"]
    yield [*head, "epoch of BiLSTM", "epoch of fine-tuning"]
    yield ["---", *["---:"] * 6]
    for shape in SHAPES:
        costs = cost(shape)
        for words in WORDS:
            works = (
                (costs.forward, "extract-narrow"),
                (costs.head, "train-narrow"),
                (costs.tuning, "finetune-narrow"),
            )
            seconds = (
                ", ".join(duration(words * work / rate(name, p)) for p in ("fp32", "bf16"))
                for work, name in works
            )
            stored = (size(words * costs.states), size(words * costs.last_states))
            yield [shape.name, f"{words:,}", *stored, *seconds]


def _lines(rows: Iterator[list[str]]) -> Iterator[str]:
    yield from ("| " + " | ".join(row) + " |" for row in rows)


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "sizes by encoder": lambda: _lines(per_encoder()),
    "sizes by words": lambda: _lines(per_words()),
}
