"""Attention against brute force, each vector by itself; and what it lets a head learn."""

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

from featbert.config import RowsTable
from featbert.encoders.layers import parse_layers
from featbert.models.attention import Attention
from featbert.models.combination import CombineLayers
from featbert.models.model import BatchLayout
from featbert.models.pooling import Pooling
from featbert.tasks.base import TargetSummary
from featbert.training.assembly import make_model


def test_each_text_attends_to_the_other() -> None:
    torch.manual_seed(0)
    attention = Attention(5, dropout=0.5).eval()
    lengths = np.array([[2, 7], [3, 1], [1, 4]])
    vectors = torch.randn(int(lengths.sum()), 5, requires_grad=True)
    pairs = torch.split(vectors, lengths.ravel().tolist())
    expected = []
    for pair in zip(pairs[::2], pairs[1::2], strict=True):
        h = [text @ attention.project.weight.T for text in pair]
        for own, others in (h, h[::-1]):
            for x in own:
                weights = torch.stack([x @ other / 16 for other in others]).softmax(0)
                a = sum(w * other for w, other in zip(weights, others, strict=True))
                expected.append(torch.cat([x, a, (x - a).abs(), x * a]))
    found = attention(vectors, lengths)
    torch.testing.assert_close(found, torch.stack(expected))
    assert attention.width == found.shape[1]
    wanted = torch.autograd.grad(torch.stack(expected).square().sum(), vectors, retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(found.square().sum(), vectors), wanted)


def test_attention_pooling_is_torch_s_attention_with_one_query() -> None:
    """The bias is the same for all words, so softmax removes it."""
    torch.manual_seed(0)
    pooling, lengths = Pooling(6, "attention"), np.array([3, 1, 5])
    vectors = torch.randn(9, 6)
    expected = [
        scaled_dot_product_attention(pooling.scores.weight, words, words, scale=1.0)
        for words in vectors.split(lengths.tolist())
    ]
    torch.testing.assert_close(pooling(vectors, lengths), torch.cat(expected))
    # scores far apart do not overflow
    large = pooling(1e4 * vectors, lengths)
    assert large.isfinite().all()


def test_what_is_asked_is_found_in_the_passage() -> None:
    """The answer is the word after the one that is asked; words are random and encoded alone."""
    torch.manual_seed(0)
    states, n = torch.randn(30, 16), 32
    table = RowsTable(lstm_size=16, lstm_layers=1, dropout=0)
    settings = table.settings_for("none", 3, "spans")
    model = make_model(
        CombineLayers(parse_layers("last", 3), 16),
        TargetSummary(("answerable",)),
        settings,
        texts=2,
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(40):
        passages = torch.rand(n, 30).argsort(1)[:, :8]
        at = torch.randint(7, (n, 1))
        words = torch.cat([torch.zeros_like(at), passages.gather(1, at), passages], dim=1)
        batch, layout = states[words.ravel()][None], BatchLayout(np.tile([2, 8], (n, 1)))
        right = (at + 3).expand(-1, 2)  # after the first piece, the question and the word asked
        if step == 39:
            break
        optimizer.zero_grad()
        model.loss(batch, layout, right).backward()
        optimizer.step()
    answers = model.output.decode(*model.eval().vectors(batch, layout))
    assert (answers[:, :2] == right).all(dim=1).float().mean() > 0.9
