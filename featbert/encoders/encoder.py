"""The encoder: hidden states of the embedding output and every layer, at word level.

The same class gives frozen features and is fine-tuned, so that the two approaches cannot
differ in how a word becomes a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from featbert.encoders.alignment import Alignment
from featbert.encoders.copies import to_device
from featbert.encoders.depth import parameter_depths
from featbert.encoders.layer_states import layer_stack, read_layers
from featbert.encoders.ranges import ranges
from featbert.encoders.source import EncoderSource
from featbert.encoders.wordpieces import WordPieces, load_wordpieces
from featbert.errors import InputError, out_of_memory
from featbert.progress import stage

Ints = NDArray[np.int64]
Pooling = Literal["first", "last", "mean"]
POOLINGS: tuple[Pooling, ...] = ("first", "last", "mean")


class EncoderError(InputError):
    """A checkpoint that transformers cannot load as an encoder, or loads incompletely."""


@dataclass(frozen=True)
class PieceBatch:
    """R windows as one padded batch, and where the words are in it.

    Attributes:
        ids: (R, longest) piece ids with specials, padded on the right.
        mask: (R, longest) 1 where a piece stands, or None where no row is padded.
        positions: (Q,) places in the flattened (R * longest) batch that stand for words.
        segments: (Q,) the word that each place belongs to, where several places are averaged
            (mean pooling); None where place q is word q.
        n_words: W, words of the batch.
        lengths: (B,) words by sentence, where the batch was made of whole sentences.
    """

    ids: Tensor
    mask: Tensor | None
    positions: Tensor
    segments: Tensor | None
    n_words: int
    lengths: Tensor | None = None

    def to(self, device: torch.device) -> PieceBatch:
        """The batch on `device`."""

        def move(tensor: Tensor | None) -> Tensor | None:
            return None if tensor is None else to_device(tensor, device)

        ids, positions = move(self.ids), move(self.positions)
        assert ids is not None
        assert positions is not None
        return PieceBatch(
            ids, move(self.mask), positions, move(self.segments), self.n_words, self.lengths
        )


class Encoder(nn.Module):
    """A BERT-family encoder with its word tokenizer.

    Attributes:
        num_layers: L.
        hidden_size: H.
        positions: longest sequence it reads, specials included.
    """

    def __init__(
        self, model: nn.Module, wordpieces: WordPieces, *, pooling: Pooling = "first"
    ) -> None:
        super().__init__()
        if pooling not in POOLINGS:
            raise EncoderError(f"pooling {', '.join(POOLINGS)} expected, found {pooling!r}")
        config: Any = model.config
        self.model = model
        self.wordpieces = wordpieces
        self.pooling = pooling
        self.num_layers = int(config.num_hidden_layers)
        self.hidden_size = int(config.hidden_size)
        self.positions = _usable_positions(model)

    def batch(self, alignment: Alignment, windows: Ints, words: Ints | None = None) -> PieceBatch:
        """The windows as a padded batch.

        Args:
            windows: (R,) window numbers; the rows of the batch in this order.
            words: (W,) words to read, each owned by one of `windows`; None reads all words
                that the windows own, window by window.
        """
        spans = alignment.windows[windows]
        prefix, suffix = self.wordpieces.prefix, self.wordpieces.suffix
        lengths = alignment.window_lengths[windows]
        longest = int(lengths.max())
        ids = np.full((len(windows), longest), self.wordpieces.pad_id, dtype=np.int64)
        ids[:, : len(prefix)] = prefix
        for row, (start, end) in zip(ids, spans, strict=True):
            stop = len(prefix) + end - start
            row[len(prefix) : stop] = alignment.pieces[start:end]
            row[stop : stop + len(suffix)] = suffix
        if words is None:
            words = alignment.owned_words(windows)
            rows = np.repeat(
                np.arange(len(windows)), alignment.owned[windows + 1] - alignment.owned[windows]
            )
        else:
            order = np.argsort(windows)
            rows = order[np.searchsorted(windows[order], alignment.windows_of(words))]
        # Place of a piece in the flattened batch: row start + prefix + place in the window.
        base = rows * longest + len(prefix) - spans[rows, 0]
        first = alignment.word_pieces[words]
        end = np.minimum(alignment.word_pieces[words + 1], spans[rows, 1])
        segments = None
        if self.pooling == "first":
            positions = base + first
        elif self.pooling == "last":
            positions = base + end - 1
        else:
            positions = ranges(base + first, end - first)
            segments = torch.from_numpy(np.repeat(np.arange(len(words)), end - first))
        padded = longest != int(lengths.min())
        mask = torch.from_numpy(np.arange(longest) < lengths[:, None]).long() if padded else None
        return PieceBatch(
            torch.from_numpy(ids), mask, torch.from_numpy(positions), segments, len(words)
        )

    def sentence_batch(self, alignment: Alignment, sentences: Ints) -> PieceBatch:
        """The words of whole sentences, in the given order of sentences."""
        sizes = alignment.sentence_lengths[sentences]
        words = ranges(alignment.sentences[sentences], sizes)
        batch = self.batch(alignment, np.unique(alignment.windows_of(words)), words)
        return PieceBatch(
            batch.ids,
            batch.mask,
            batch.positions,
            batch.segments,
            batch.n_words,
            torch.from_numpy(sizes),
        )

    def hidden_states(self, batch: PieceBatch, layers: Sequence[int] | None = None) -> list[Tensor]:
        """(W, H) for each of `layers`, 0 being the embeddings; all L + 1 by default.

        Layers above the highest of them are not computed.
        """
        wanted = range(self.num_layers + 1) if layers is None else layers
        found: dict[int, Tensor] = {}

        def take(layer: int, states: Tensor) -> None:
            found[layer] = self._words(states, batch)

        inputs = {"input_ids": batch.ids, "attention_mask": batch.mask}
        read_layers(self.model, self.num_layers, set(wanted), take, **inputs)
        missing = sorted(set(wanted) - set(found))
        if missing:
            raise EncoderError(
                f"hidden states of layers {', '.join(map(str, wanted))} expected, "
                f"{type(self.model).__name__} passed layers {', '.join(map(str, missing))} by"
            )
        return [found[layer] for layer in wanted]

    def forward(self, batch: PieceBatch) -> Tensor:
        """(W, H) the last layer's word vectors."""
        found = self.model(input_ids=batch.ids, attention_mask=batch.mask)
        return self._words(found.last_hidden_state, batch)

    @cached_property
    def parameter_depths(self) -> dict[str, int]:
        """Depth by parameter name: 0 the embeddings, 1..L the layers."""
        return parameter_depths(self.model, self.num_layers)

    @cached_property
    def _named(self) -> list[tuple[str, nn.Parameter]]:
        """Every parameter with its name, found once."""
        return list(self.model.named_parameters())

    @property
    def has_stack(self) -> bool:
        """Whether layers above the highest one that is read can be left out."""
        return layer_stack(self.model, self.num_layers) is not None

    @property
    def trained_share(self) -> float:
        """Share of the layers that gradients pass through: those above what is frozen below."""
        if all(p.requires_grad for _, p in self._named):
            return 1.0
        depths = self.parameter_depths
        trained = [depths[name] for name, p in self._named if p.requires_grad]
        if not trained:
            return 0.0
        return (self.num_layers - max(0, min(trained) - 1)) / self.num_layers

    def _words(self, states: Tensor, batch: PieceBatch) -> Tensor:
        """(R, longest, H) -> (W, H) by the pooling."""
        # (R * longest, H) -> (Q, H)
        read = states.flatten(0, 1).index_select(0, batch.positions)
        if batch.segments is None:
            return read
        total = read.new_zeros((batch.n_words, read.shape[1]), dtype=torch.float32)
        total = total.index_add(0, batch.segments, read.float())
        sizes = torch.bincount(batch.segments, minlength=batch.n_words).unsqueeze(1)
        return (total / sizes).to(read.dtype)


def load_encoder(
    source: EncoderSource, *, dtype: torch.dtype = torch.float32, pooling: Pooling = "first"
) -> Encoder:
    """The encoder of a checkpoint, in eval mode, without pooler.

    Raises:
        EncoderError: not loadable, or a checkpoint that leaves layers at random values.
        TokenizerError: see `load_wordpieces`.
    """
    from transformers import AutoModel
    from transformers.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    options: dict[str, Any] = {
        "dtype": dtype,
        "local_files_only": True,
        "trust_remote_code": False,
        "weights_only": True,  # nothing in a pytorch_model.bin is called
        "output_loading_info": True,
    }
    try:
        with stage(f"loading {source.name}", ""):
            try:
                model, info = AutoModel.from_pretrained(
                    source.folder, add_pooling_layer=False, **options
                )
            except TypeError:  # DistilBERT, ELECTRA, ModernBERT have no pooler to leave out
                model, info = AutoModel.from_pretrained(source.folder, **options)
    except Exception as error:  # a config of others can fail in as many ways as it has keys
        if out_of_memory(error):
            raise
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise EncoderError(
            f"an encoder expected in {source.folder}, transformers cannot load it: {reason}"
        ) from None
    missing = sorted(k for k in info["missing_keys"] if "pooler" not in k)
    if missing:
        raise EncoderError(
            f"weights of every layer expected in {source.folder}, {len(missing)} are missing "
            f"({missing[0]}, ...); the checkpoint is of another architecture"
        )
    wordpieces = load_wordpieces(source)
    pieces, known = wordpieces.backend.get_vocab_size(), model.get_input_embeddings().num_embeddings
    if pieces > known:
        raise EncoderError(
            f"an embedding for each of {pieces:,} pieces expected in {source.folder}, the encoder "
            f"has {known:,}; tokenizer and weights are not of one checkpoint"
        )
    return Encoder(model, wordpieces, pooling=pooling).eval()


def _usable_positions(model: nn.Module) -> int:
    """Longest input; RoBERTa's positions begin after the padding index, not at 0."""
    config: Any = model.config
    positions = int(config.max_position_embeddings)
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            offset = 0 if module.padding_idx is None else module.padding_idx + 1
            return min(positions, module.num_embeddings) - offset
    return positions
