"""A model of transformers has the logits of ours, for every family and kind of answer."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from tokenizers.models import Unigram

from featbert.config import defaults
from featbert.data.examples import example_of, split_text
from featbert.data.files import RawRow
from featbert.encoders.alignment import align
from featbert.encoders.loading import load_encoder
from featbert.encoders.source import find_encoder
from featbert.encoders.tokenizer import transformers_tokenizer
from featbert.errors import InputError
from featbert.models.transformers_model import transformers_model
from featbert.tasks.base import TargetSummary, get_task
from featbert.training.assembly import make_model
from featbert.training.inputs import PieceInputs
from tests.tiny_encoders import DECODERS, FAMILIES

TARGETS = {
    "regression": TargetSummary(lowest=-1.5, highest=4.0),
    "spans": TargetSummary(("answerable",)),
    "choice": TargetSummary(("0", "1")),
}
ABC = TargetSummary(("a", "b", "c"))
PAIRED = ("regression", "choice", "spans")
# Made of words that each tokenizer cuts, with signs inside and without spaces around.
TEXTS = [("The fox's [SEP] jumps.", "EU rejects 3-1"), ("Smith", "on Sunday, said the Herald")]
TASKS = ("entities", "classification", *PAIRED)
POOLER = {"sentence_pooling": "pooler"}  # the dense layer of a head of transformers


def made_from(folder, task, given, texts=1):
    """Our model with a random head, and how it reads pairs or single texts."""
    encoder = load_encoder(
        find_encoder(str(folder)), pooler=given.get("sentence_pooling") == "pooler"
    )
    output = "softmax" if task == "entities" else None  # transformers has no CRF
    settings = defaults("full", task, output=output).but(**given)
    torch.manual_seed(1)
    model = make_model(encoder, TARGETS.get(task, ABC), settings, texts).eval()

    def batch_of(examples):
        names = ("text", "pair")[: len(examples[0])]
        rows = (RawRow(dict(zip(names, e, strict=True)), "here", 1) for e in examples)
        read = (example_of(row, *names) for row in rows)
        # Words of tags are read each alone, as by `is_split_into_words`.
        alone = {} if get_task(task).of_texts else {"touches": ()}
        sentences = [replace(one, document=n, **alone) for n, one in enumerate(read)]
        packing = None if len(examples[0]) == 1 else "joint" if texts == 1 else "apart"
        found = align(sentences, encoder.wordpieces, positions=encoder.positions, packing=packing)
        inputs = PieceInputs(found, encoder, torch.device("cpu"), reads=settings.reads)
        rows = np.arange(len(examples))
        return inputs.batch(rows), inputs.layout(rows)

    return model, batch_of


@pytest.mark.parametrize(
    ("family", "task", "given"),
    [
        *((f, task, {}) for task in TASKS for f in FAMILIES if f not in DECODERS),
        *((f, task, POOLER) for task in ("classification", "choice") for f in ("bert", "roberta")),
    ],
)
def test_logits_are_ours(encoder_folder, tmp_path, family, task, given):
    """Of transformers alone, from texts or from words, on other text than the probe."""
    source, kind = encoder_folder(family), get_task(task)
    model, batch_of = made_from(source, task, given)
    used = TEXTS if task in PAIRED else [texts[:1] for texts in TEXTS]
    config = kind.model_config(TARGETS.get(task, ABC).classes)
    probe = [tuple("Rome is." for _ in used[0]), tuple("It" for _ in used[0])]
    encoder = model.encoder
    made = transformers_model(model, kind.auto_model, config, *batch_of(probe))
    raw = kind.of_texts
    if raw and isinstance(encoder.wordpieces.backend.model, Unigram):
        # A special piece is one of the model there: transformers reads its name in a text as it.
        used = [tuple(text.replace("[SEP] ", "") for text in texts) for texts in used]
    sizes = {"positions": encoder.positions, "types": encoder.has_types, "raw": raw}
    tokenizer = transformers_tokenizer(find_encoder(str(source)), encoder.wordpieces, **sizes)
    made.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    again = getattr(transformers, kind.auto_model).from_pretrained(tmp_path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert tokenizer.model_max_length == encoder.positions
    batch, layout = batch_of(used)
    with torch.no_grad():
        weight, bias = model.output.linear()
        wanted = model.vectors(batch, layout)[0] @ weight.T + bias
        given = [*map(list, zip(*used, strict=True))]
        if not raw:
            given = [[[text[a:b] for a, b in split_text(text)] for text in given[0]]]
        how = {"is_split_into_words": not raw, "padding": True, "return_tensors": "pt"}
        encoded = tokenizer(*given, **how)
        assert torch.equal(encoded["input_ids"], batch.ids)
        if task == "choice":
            found = again(**{name: one[None] for name, one in encoded.items()}).logits.T
        elif task == "spans":
            output = again(**encoded)
            found = torch.stack([output.start_logits, output.end_logits], -1).flatten(0, 1)
        else:
            found = again(**encoded).logits.flatten(0, -2)
    if batch.segments is None:
        found = found[batch.positions]
    torch.testing.assert_close(found, wanted, rtol=0, atol=2e-5 * max(1, float(wanted.abs().max())))


@pytest.mark.parametrize(
    ("family", "task", "given", "texts"),
    [
        ("bert", "entities", {"output": "crf"}, 1),
        ("bert", "entities", {"body": "bilstm", "lstm_size": 4}, 1),
        ("bert", "classification", {"sentence_pooling": "mean"}, 1),
        ("bert", "classification", {"sentence_pooling": "attention"}, 1),
        ("bert", "regression", {}, 2),
        ("qwen3", "entities", {}, 1),
        ("qwen3", "classification", {}, 1),
    ],
)
def test_heads_that_transformers_lacks_are_refused(encoder_folder, family, task, given, texts):
    kind = get_task(task)
    model, batch_of = made_from(encoder_folder(family), task, given, texts)
    probe = [("Rome is old.", "It")[: 2 if task in PAIRED else 1]] * 2
    with pytest.raises(InputError):
        transformers_model(model, kind.auto_model, kind.model_config("abc"), *batch_of(probe))
