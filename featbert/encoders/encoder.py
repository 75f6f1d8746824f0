"""The encoder: hidden states of the embedding output and every layer, at word level.

State k below L is what enters transformer layer k + 1: the embeddings for k = 0. State L is the
encoder's output, after its final norm where it has one.

Operations are those of matrix products, a multiply-add as two, as torch counts them in a few small
windows, from which those of others follow. Padding does not count, and no layer above the highest
one that is read, nor what a forward pass computes once for all windows.
"""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from featbert.data.corpus import Sentence
from featbert.encoders.alignment import Alignment, align
from featbert.encoders.batching import Ints, ranges
from featbert.encoders.device import to_device
from featbert.encoders.encoding import Context, Packing, Pooling
from featbert.encoders.kernels import PRODUCT_FLOPS, use_dropout, use_products
from featbert.encoders.source import EncoderSource, hashed_folder, refusing
from featbert.encoders.tokenizer import WordPieces, load_wordpieces
from featbert.errors import InputError
from featbert.progress import stage


@dataclass(frozen=True)
class PieceBatch:
    """R windows as one padded batch, and where the words are in it.

    Attributes:
        ids: (R, longest) piece ids with specials, padded on the right.
        mask: (R, longest) 1 where there is a piece, or None where no row is padded.
        types: (R, longest) 1 in the second text of a pair; None without pairs, or where the encoder
            does not distinguish them.
        positions: (Q,) places in the flattened (R * longest) batch that are read.
        segments: (Q,) the word that each place belongs to, where several places are averaged
            (mean pooling, or first pieces of windows); None where place q is word q.
        n_words: W, vectors that are read: of words, sequences (of which only first pieces are
            read), or pieces.
        rows: windows that are computed at a time; None for all.
    """

    ids: Tensor
    mask: Tensor | None
    types: Tensor | None
    positions: Tensor
    segments: Tensor | None
    n_words: int
    rows: int | None = None

    def to(self, device: torch.device) -> PieceBatch:
        """The batch on `device`."""
        tensors = {name: one for name, one in vars(self).items() if isinstance(one, Tensor)}
        there: Any = {name: to_device(one, device) for name, one in tensors.items()}
        return replace(self, **there)

    def part(self, start: int, stop: int) -> tuple[PieceBatch, Tensor]:
        """Windows `start` to `stop`, and which of the (Q,) places are theirs."""
        rows, first = slice(start, stop), start * self.ids.shape[1]
        end = first + self.ids[rows].numel()
        there = ((self.positions >= first) & (self.positions < end)).nonzero().squeeze(1)
        inputs = (None if one is None else one[rows] for one in (self.ids, self.mask, self.types))
        names: Any = dict(zip(("ids", "mask", "types"), inputs, strict=True))
        part = replace(self, **names, positions=self.positions[there] - first)
        return part, there


class Encoder(nn.Module):
    """A transformer with its word tokenizer.

    `positions` is the longest sequence it reads, specials included. With `pooler` first pieces are
    read through the checkpoint's own pooler, a dense layer and tanh. Where attention is `causal`
    the first piece has seen nothing: the last one of a window takes its place everywhere.
    """

    def __init__(
        self,
        model: nn.Module,
        wordpieces: WordPieces,
        *,
        pooling: Pooling = "first",
        pooler: bool = False,
        causal: bool = False,
    ) -> None:
        super().__init__()
        config: Any = model.config
        self.model = model
        self.wordpieces = wordpieces
        self.pooling = pooling
        self.pooler = pooler
        self.causal = causal
        self.num_layers = int(config.num_hidden_layers)
        self.hidden_size = int(config.hidden_size)
        positions = _usable_positions(model)
        self.positions = min(positions, CAUSAL_POSITIONS) if causal else positions
        self.has_types = int(getattr(config, "type_vocab_size", 0) or 0) > 1
        self.stack = _layer_list(model, self.num_layers)
        layers: Any = () if self.stack is None else model.get_submodule(self.stack)
        for number, layer in enumerate(layers):
            layer.register_forward_pre_hook(partial(_entering, number), with_kwargs=True)
        self._counted: dict[Hashable, NDArray[np.float64]] = {}

    def align(
        self,
        sentences: Sequence[Sentence],
        context: Context = "sentence",
        packing: Packing | None = None,
    ) -> Alignment:
        """Sentences in subwords and windows of this encoder; see `alignment.align`."""
        words, most = self.wordpieces, self.positions
        return align(sentences, words, positions=most, context=context, packing=packing)

    def batch(
        self,
        alignment: Alignment,
        windows: Ints,
        parts: Ints | None = None,
        *,
        firsts: bool = False,
        pieces: bool = False,
    ) -> PieceBatch:
        """The windows (R,) as a padded batch, in this order.

        `parts` (W,) are the parts of words to read, each owned by one of the windows; by default
        all that they own, window by window. With `firsts` the first special piece of each window is
        read, too, and with `pieces` all that each owns and its specials, window by window
        (`Alignment.whole_lengths`): more vectors, after the others.
        """
        spans = alignment.windows[windows]  # (R, T, 2)
        lengths = alignment.window_lengths[windows]
        special = (self.wordpieces.prefix, self.wordpieces.middle, self.wordpieces.suffix)
        prefix, middle, suffix = (np.array(part, dtype=np.int64) for part in special)
        read: list[Ints] = []
        for row in spans:
            first, *second = (alignment.pieces[start:end] for start, end in row)
            read += [prefix, first, *(part for text in second for part in (middle, text)), suffix]
        places = np.arange(longest := int(lengths.max()))
        inside = places < lengths[:, None]  # (R, longest)
        ids = np.full(inside.shape, self.wordpieces.pad_id, dtype=np.int64)
        ids[inside] = np.concatenate(read)
        # (R, T) place of the first piece of each text
        sizes = np.diff(spans)[..., 0] + len(middle)
        begins = len(prefix) + np.cumsum(sizes, axis=1) - sizes
        types = None
        if begins.shape[1] == 2 and self.has_types:
            types = torch.from_numpy(inside & (places >= begins[:, 1:])).long()
        parts = alignment.owned_parts(windows) if parts is None else parts
        order = np.argsort(windows)
        rows = order[np.searchsorted(windows, alignment.windows_of(parts), sorter=order)]
        # Place of a piece in the flattened batch: row start + place of the text + place in it.
        first, end = alignment.parts[parts].T
        text = np.sum(first[:, None] >= spans[rows, 1:, 0], axis=1)  # (W,) 1 in the second one
        base = rows * longest + begins[rows, text] - spans[rows, text, 0]
        segments: Ints | None = None
        if self.pooling == "first":
            positions = base + first
        elif self.pooling == "last":
            positions = base + end - 1
        else:
            positions = ranges(base + first, end - first)
            segments = np.repeat(np.arange(len(parts)), end - first)
        more = self._firsts(lengths) if firsts else np.zeros(0, dtype=np.int64)
        if pieces:
            whole = inside.copy()
            owned = alignment.owned_pieces[windows[:, None] + [0, 1]]
            for begin, (start, stop) in zip(begins.T, np.moveaxis(spans, 0, 2), strict=True):
                # (R, longest) the piece of this text at each place
                at = places - begin[:, None] + start[:, None]
                others = (at < owned[:, :1]) | (at >= owned[:, 1:])
                whole &= ~(others & (at >= start[:, None]) & (at < stop[:, None]))
            more = np.concatenate([more, np.flatnonzero(whole)])
        if segments is not None:
            segments = np.concatenate([segments, len(parts) + np.arange(len(more))])
        mask = None if inside.all() else torch.from_numpy(inside).long()
        return PieceBatch(
            torch.from_numpy(ids),
            mask,
            types,
            torch.from_numpy(np.concatenate([positions, more])),
            None if segments is None else torch.from_numpy(segments),
            len(parts) + len(more),
        )

    def _firsts(self, lengths: Ints) -> Ints:
        """(R,) place in the flattened batch of each window's first piece; see the class."""
        firsts: Ints = np.arange(len(lengths)) * lengths.max() + (lengths - 1) * self.causal
        return firsts

    def sentence_batch(
        self, alignment: Alignment, sentences: Ints, *, firsts: bool = False
    ) -> PieceBatch:
        """The words of whole sentences, in the given order of sentences.

        With `firsts` each one's first special piece is before its words, that of the first text
        where texts are apart; sentence context alone.
        """
        texts = alignment.texts[sentences]  # (B, T, 2)
        sizes = np.diff(texts)[..., 0]
        words = ranges(texts[..., 0].ravel(), sizes.ravel())
        begin, end = alignment.word_parts[words], alignment.word_parts[words + 1]
        if self.pooling == "first":
            parts = begin
        elif self.pooling == "last":
            parts = end - 1
        else:
            parts = ranges(begin, end - begin)
        units = alignment.text_units[sentences, 0]
        n_windows = np.diff(alignment.units)[units]
        begun = ranges(alignment.units[units], n_windows)
        windows = alignment.windows_of(parts)
        windows = np.unique(np.concatenate([windows, begun]) if firsts else windows)
        batch = self.batch(alignment, windows, parts)
        if len(parts) > len(words) and batch.segments is not None:
            of_word = torch.from_numpy(np.repeat(np.arange(len(words)), end - begin))
            batch = replace(batch, segments=of_word[batch.segments], n_words=len(words))
        if not firsts:
            return batch
        rows = np.searchsorted(windows, begun)
        # Where each is in the result: of several windows of a text the mean
        lengths = sizes.sum(axis=1)
        begin = np.cumsum(lengths + 1) - (lengths + 1)
        places = ranges(begin + 1, lengths)
        places = places if batch.segments is None else places[batch.segments.numpy()]
        segments = torch.from_numpy(np.concatenate([places, np.repeat(begin, n_windows)]))
        there = self._firsts(alignment.window_lengths[windows])[rows]
        read = torch.cat([batch.positions, torch.from_numpy(there)])
        n_words = len(words) + len(sentences)
        if len(read) > n_words:
            return replace(batch, positions=read, segments=segments, n_words=n_words)
        positions = torch.empty_like(read).index_copy(0, segments, read)
        return replace(batch, positions=positions, segments=None, n_words=n_words)

    def first_batch(self, alignment: Alignment, sentences: Ints) -> PieceBatch:
        """The first special pieces of whole sentences; two a sentence where its texts are apart."""
        units = alignment.text_units[sentences].ravel()
        sizes = np.diff(alignment.units)[units]
        windows = ranges(alignment.units[units], sizes)
        batch = self.batch(alignment, windows, np.zeros(0, np.int64), firsts=True)
        sequences = torch.from_numpy(np.repeat(np.arange(len(units)), sizes))
        return replace(batch, n_words=len(units), segments=sequences)

    def text_batch(self, alignment: Alignment, sentences: Ints) -> PieceBatch:
        """All pieces of whole sentences, specials included; text after text where these are apart.

        What is repeated in the windows of a pair counts once (`Alignment.whole_lengths`).
        """
        units = alignment.text_units[sentences].ravel()
        every = ranges(alignment.units[units], np.diff(alignment.units)[units])
        windows, rows = np.unique(every, return_inverse=True)
        batch = self.batch(alignment, windows, np.zeros(0, np.int64), pieces=True)
        sizes = alignment.whole_lengths[windows]
        places = ranges((np.cumsum(sizes) - sizes)[rows], sizes[rows])
        positions = batch.positions[torch.from_numpy(places)]
        return replace(batch, positions=positions, segments=None, n_words=len(positions))

    def hidden_states(self, batch: PieceBatch, layers: Sequence[int] | None = None) -> list[Tensor]:
        """(W, H) for each of `layers`, 0 being the embeddings; all L + 1 by default.

        The pass ends at the highest of them. Threads may compute batches at the same time.
        """
        wanted = range(self.num_layers + 1) if layers is None else layers
        found: dict[int, Tensor] = {}

        def take(layer: int, states: Tensor) -> None:
            if layer in wanted:
                found[layer] = _meant(_at_positions(states, batch), batch)
            if layer == max(wanted):
                raise _EnoughError

        before = _taking.set(take)
        try:
            at_once = self.stack is None  # one layer's weights for all (ALBERT)
            output = self.model(**_inputs(batch), output_hidden_states=at_once)
            for layer, states in enumerate(output.hidden_states if at_once else ()):
                take(layer, states)
            take(self.num_layers, output.last_hidden_state)
        except _EnoughError:
            pass
        finally:
            _taking.reset(before)
        if missing := sorted(set(wanted) - set(found)):
            raise InputError(
                f"{type(self.model).__name__} does not compute layers "
                f"{', '.join(map(str, missing))} one after the other; use another encoder"
            )
        return [found[layer] for layer in wanted]

    def forward(self, batch: PieceBatch) -> Tensor:
        """(W, H) the last layer's vectors of words, or of first pieces (`first_batch`)."""
        if batch.rows is None or len(batch.ids) <= batch.rows:
            return _meant(self._read(batch), batch)
        # In parts, so that memory does not grow with a text: what a part needs for its gradients
        # is computed again when they are.
        parts, places = [], []
        for start in range(0, len(batch.ids), batch.rows):
            part, there = batch.part(start, start + batch.rows)
            parts.append(checkpoint(self._read, part, use_reentrant=False))
            places.append(there)
        read = torch.cat(parts)
        return _meant(torch.empty_like(read).index_copy(0, torch.cat(places), read), batch)

    @cached_property
    def parameter_depths(self) -> dict[str, int]:
        """Depth by parameter name: 0 the embeddings, 1..L the layers.

        A final norm, the pooler, and weights that layers share belong to the last layer; what else
        is outside of the layers serves all of them (such as relative positions) and counts as
        embeddings. InputError where the encoder keeps its layers in no list.
        """
        config: Any = self.model.config
        groups = getattr(config, "num_hidden_groups", self.num_layers)
        if self.stack is None and groups == self.num_layers:
            raise InputError(
                f"{type(self.model).__name__} has no list of {self.num_layers} layers, so its "
                "layers cannot be frozen or have learning rates of their own"
            )
        prefix, last = f"{self.stack}.", ("norm.", "final", "pooler.", f"{SHARED}.")
        depths = {}
        for name, _ in self._named:
            outside = self.num_layers if name.startswith(last) else 0
            number = name.removeprefix(prefix).partition(".")[0]
            depths[name] = int(number) + 1 if name.startswith(prefix) else outside
        return depths

    @cached_property
    def _named(self) -> list[tuple[str, nn.Parameter]]:
        return list(self.model.named_parameters())

    def flops(self, window_lengths: Ints, *, highest: int | None = None) -> float:
        """Operations of a forward pass over windows of these lengths, specials included.

        `highest` is the last layer that is computed; L by default, and then the pooler, if any.
        """

        def forward(batch: PieceBatch) -> None:
            with torch.no_grad():
                self(batch) if highest is None else self.hidden_states(batch, [highest])

        return float(_terms(window_lengths)[1:] @ self._per_term(highest, forward)[1:])

    def training_flops(self, window_lengths: Ints) -> float:
        """Operations of a training step over windows of these lengths: forward and backward.

        Where all is trained, that is three forward passes; else it depends on where gradients pass.
        """
        trained = tuple(p.requires_grad for _, p in self._named)
        if all(trained):
            return 3 * self.flops(window_lengths)

        def step(batch: PieceBatch) -> None:
            states, learned = self(batch), [p for _, p in self._named if p.requires_grad]
            if states.requires_grad:
                torch.autograd.grad(states.sum(), learned, allow_unused=True)

        return float(_terms(window_lengths) @ self._per_term(trained, step))

    def _per_term(
        self, what: Hashable, compute: Callable[[PieceBatch], None]
    ) -> NDArray[np.float64]:
        """Operations of `compute`, called `what`, for each one of `_terms`."""
        if what in self._counted:
            return self._counted[what]
        there, terms, counts = next(self.parameters()).device, [], []
        devices = [there] if there.type == "cuda" else []
        for rows, length in ((1, 2), (2, 2), (1, 3), (1, 4)):
            numbers = torch.arange(rows * length, device=there)
            batch = PieceBatch(numbers.view(rows, length), None, None, numbers, None, len(numbers))
            if self.pooler:
                batch = replace(batch, n_words=rows, positions=numbers[:rows])
            counter = FlopCounterMode(display=False, custom_mapping=PRODUCT_FLOPS)
            # Fused attention is counted as the products it is made of; dropout draws nothing.
            with torch.random.fork_rng(devices), sdpa_kernel(SDPBackend.MATH), counter:
                compute(batch)
            terms.append(_terms(np.full(rows, length)))
            counts.append(counter.get_total_flops())
        self._counted[what] = np.linalg.solve(terms, counts).round().astype(np.float64)
        return self._counted[what]

    def _read(self, batch: PieceBatch) -> Tensor:
        """(Q, H) the last layer at the batch's positions, or what the pooler makes of windows."""
        output = self.model(**_inputs(batch))
        if self.pooler:
            pooled: Tensor = output.pooler_output
            return pooled
        return _at_positions(output.last_hidden_state, batch)


def _terms(lengths: Ints) -> NDArray[np.float64]:
    """What operations grow with: passes, windows, tokens, and pairs of tokens."""
    squares = lengths.astype(np.float64) ** 2
    return np.array([1.0, len(lengths), lengths.sum(), squares.sum()])


def _at_positions(states: Tensor, batch: PieceBatch) -> Tensor:
    """(R, longest, H) -> (Q, H)"""
    return states.flatten(0, 1).index_select(0, batch.positions)


def _meant(read: Tensor, batch: PieceBatch) -> Tensor:
    """(Q, H) -> (W, H) mean of the places of each word."""
    if batch.segments is None:
        return read
    total = read.new_zeros((batch.n_words, read.shape[1]), dtype=torch.float32)
    total = total.index_add(0, batch.segments, read.float())
    sizes = torch.bincount(batch.segments, minlength=batch.n_words).unsqueeze(1)
    return (total / sizes).to(read.dtype)


def segment_pool(vectors: Tensor, lengths: Ints, how: str) -> Tensor:
    """(W, D) -> (B, D) float32: sum, mean, max or first ("cls") of runs of `lengths` (B,)."""
    if how == "cls":
        starts = torch.from_numpy(np.cumsum(lengths) - lengths)
        return vectors.index_select(0, to_device(starts, vectors.device)).float()
    sizes = to_device(torch.from_numpy(lengths), vectors.device)
    pooled: Tensor = torch.segment_reduce(vectors.float(), how, lengths=sizes, unsafe=True)
    return pooled


def pooled_by_layer(vectors: Tensor, lengths: Ints, how: str) -> Tensor:
    """(layers, N, H) -> (layers, U, H) float32: each layer's `segment_pool`."""
    return torch.stack([segment_pool(layer, lengths, how) for layer in vectors])


def _inputs(batch: PieceBatch) -> dict[str, Tensor | None]:
    inputs = {"input_ids": batch.ids, "attention_mask": batch.mask}
    return inputs if batch.types is None else inputs | {"token_type_ids": batch.types}


def load_encoder(
    source: EncoderSource,
    *,
    dtype: torch.dtype = torch.float32,
    pooling: Pooling | None = None,
    pooler: bool = False,
) -> Encoder:
    """The encoder of a checkpoint, in eval mode; `pooling` is the source's unless given.

    InputError where it cannot be loaded, leaves layers at random values, or has no `pooler` that is
    asked for, through which first pieces are to be read.
    """
    from transformers import AutoModel

    if (kind := source.config.get("model_type")) in UNMASKED:
        raise InputError(
            f"vectors of a {kind} depend on the padding of a batch; use another encoder"
        )
    with stage(f"loading {source.name}", ""):
        model, info = pretrained(source, AutoModel, dtype=dtype, add_pooling_layer=pooler)
    absent = [name for name in info["missing_keys"] if "pooler" in name]
    if pooler and (absent or getattr(model, "pooler", None) is None):
        what = "weights of its pooler" if absent else "pooler"
        raise InputError(f"{source.name} has no {what}; use --sentence-pooling cls")
    if missing := sorted({*info["missing_keys"]} - {*absent}):
        raise InputError(
            f"{len(missing)} weights are missing in {source.folder} ({missing[0]}, ...); the "
            "checkpoint has another architecture than its config"
        )
    wordpieces = load_wordpieces(source)
    highest, rows = wordpieces.highest_id, model.get_input_embeddings().num_embeddings
    if highest >= rows:
        raise InputError(
            f"the tokenizer in {source.folder} gives pieces up to {highest:,}, the encoder has "
            f"embeddings of 0 to {rows - 1:,}; they are not of one checkpoint"
        )
    if not source.causal and any(getattr(m, "is_causal", False) for m in model.modules()):
        raise InputError(
            f"subwords of {source.name} see only what is before them, but its config.json does not "
            "say so; set is_decoder to true there"
        )
    use_products(model)
    use_dropout(model)
    model.config.use_cache = False  # of keys and values, which only generation reads again
    return Encoder(
        model, wordpieces, pooling=pooling or source.pooling, pooler=pooler, causal=source.causal
    ).eval()


def pretrained(
    source: EncoderSource, architecture: Any, *, dtype: torch.dtype, **options: Any
) -> tuple[Any, dict[str, Any]]:
    """A model of an auto class of transformers, and which weights were missing or not used.

    It is made of the files that are hashed: the config, and weights that are read here, so that
    transformers looks at nothing else. `options` are left out if the class does not take them.
    InputError if it cannot be made.
    """
    from transformers import AutoConfig
    from transformers.utils.logging import disable_progress_bar, set_verbosity

    set_verbosity(logging.CRITICAL)
    disable_progress_bar()  # type: ignore[no-untyped-call]
    cut = {} if source.depth is None else {"num_hidden_layers": source.depth}
    # How a layer is computed in parts, and what a pass returns, is not for the config to say.
    plain = {"chunk_size_feed_forward": 0, "return_dict": True, "output_attentions": False}
    what = f"transformers cannot load {source.folder}"
    with hashed_folder(source, what) as folder:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, **cut, **plain)
    with refusing(what), ExitStack() as files:
        weights: dict[str, Any] = {}
        for path in source.loaded_files:
            if path.suffix == ".safetensors":
                file = files.enter_context(safe_open(path, framework="pt"))
                weights |= {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            else:
                mapped = zipfile.is_zipfile(path)
                weights |= torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
        with torch.device("meta"):
            shell = architecture.from_config(config)
        given = {"config": shell.config, "state_dict": weights, "dtype": dtype}
        make = partial(type(shell).from_pretrained, None, **given, output_loading_info=True)
        try:
            model, info = make(**options)
        except TypeError:  # DistilBERT, ELECTRA, ModernBERT have no pooler to leave out
            model, info = make()
        except RuntimeError as error:
            if "mismatched" in str(error):
                raise InputError("its weights have other sizes than config.json says") from None
            raise
    return model, info


def _usable_positions(model: nn.Module) -> int:
    """Longest input; RoBERTa's positions begin after the padding index, not at 0."""
    config: Any = model.config
    positions: int | None = getattr(config, "max_position_embeddings", None)
    if positions is None:
        kind = config.model_type
        raise InputError(f"the config of a {kind} has no max_position_embeddings; use a BERT")
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            offset = 0 if module.padding_idx is None else module.padding_idx + 1
            return min(positions, module.num_embeddings) - offset
    return positions


# Types whose vectors depend on the padding of a batch: they read no mask, or not in all layers.
UNMASKED = ("fnet", "convbert")
# What a decoder reads at a time: it could read far more, with memory that nobody would expect.
CAUSAL_POSITIONS = 512
# Where ALBERT keeps its one layer.
SHARED = "encoder.albert_layer_groups"


class _EnoughError(Exception):
    """The highest layer that was asked for has been read."""


# What gets the number of each layer and what enters it, in this thread's pass.
_taking: ContextVar[Callable[[int, Tensor], None] | None] = ContextVar("taking", default=None)


def _entering(layer: int, _: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    if (take := _taking.get()) is not None:
        take(layer, args[0] if args else named["hidden_states"])


def _layer_list(model: nn.Module, num_layers: int) -> str | None:
    """Name of the outermost list of `num_layers` layers; None where all share their weights."""
    for name, module in model.named_modules():
        if isinstance(module, nn.ModuleList) and len(module) == num_layers:
            return str(name)
    return None
