"""The encoder with its pre-training heads: masked words and, for BERT, the next sentence.

The masked-LM head is as wide as the vocabulary and in a small encoder costs as much as all
layers. It is applied to the chosen pieces alone: what the encoder gives the head is cut down to
them on the way, which changes no logit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from featbert.encoders.copies import to_device
from featbert.encoders.encoder import Encoder, EncoderError
from featbert.encoders.source import EncoderSource
from featbert.encoders.wordpieces import WordPieces, load_wordpieces
from featbert.errors import InputError, out_of_memory
from featbert.training.masking import MaskedText, Vocabulary
from featbert.training.sentence_pairs import PieceText, Sequences

Ints = NDArray[np.int64]


class LanguageModelError(InputError):
    """An encoder that cannot be trained as a masked language model."""


@dataclass(frozen=True)
class LanguageBatch:
    """R sequences as one padded batch.

    Attributes:
        ids: (R, longest) piece ids with specials, chosen pieces replaced, padded on the right.
        mask: (R, longest) 1 where a piece stands.
        types: (R, longest) 1 in the B of a pair, 0 elsewhere; None where the encoder has no
            next-sentence head.
        chosen: (M,) places in the flattened (R * longest) batch that are to be predicted.
        targets: (M,) the pieces that stood there.
        labels: (R,) next-sentence labels.
    """

    ids: Tensor
    mask: Tensor
    types: Tensor | None
    chosen: Tensor
    targets: Tensor
    labels: Tensor

    def to(self, device: torch.device) -> LanguageBatch:
        """The batch on `device`."""
        return LanguageBatch(
            to_device(self.ids, device),
            to_device(self.mask, device),
            None if self.types is None else to_device(self.types, device),
            to_device(self.chosen, device),
            to_device(self.targets, device),
            to_device(self.labels, device),
        )


class LanguageModel(nn.Module):
    """An encoder with its masked-LM head, and BERT's next-sentence head where `nsp` is set.

    Attributes:
        model: the model as transformers has it, which is what is saved.
        nsp: whether there is a next-sentence head.
        positions: longest sequence it reads, specials included.
        fresh: parts that the checkpoint lacks and that have random values before training.
    """

    def __init__(
        self,
        model: nn.Module,
        wordpieces: WordPieces,
        vocabulary: Vocabulary,
        *,
        nsp: bool,
        fresh: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        base: Any = model.base_model
        self.model = model
        self.wordpieces = wordpieces
        self.vocabulary = vocabulary
        self.nsp = nsp
        self.fresh = fresh
        self.positions = Encoder(base, wordpieces).positions
        self._chosen: Tensor | None = None
        base.register_forward_hook(self._keep_chosen)

    @property
    def special(self) -> int:
        """Special pieces around a sequence."""
        return self.wordpieces.n_special

    @property
    def separator(self) -> int:
        """Special pieces that end the B of a pair."""
        return len(self.wordpieces.suffix)

    def lengths(self, sequences: Sequences) -> Ints:
        """(R,) pieces of each sequence with its specials."""
        return sequences.lengths(self.special, self.separator)

    def batch(
        self, text: PieceText, sequences: Sequences, masked: MaskedText, rows: Ints
    ) -> LanguageBatch:
        """The sequences `rows` (R,) of a masked text."""
        longest = int(self.lengths(sequences)[rows].max())
        prefix = np.array(self.wordpieces.prefix, dtype=np.int64)
        suffix = np.array(self.wordpieces.suffix, dtype=np.int64)
        ids = np.full((len(rows), longest), self.wordpieces.pad_id, dtype=np.int64)
        mask = np.zeros_like(ids)
        types = np.zeros_like(ids)
        chosen: list[Ints] = []
        targets: list[Ints] = []
        for row, sequence in enumerate(rows):
            start, end = sequences.first[sequence]
            own, own_end = sequences.owned[sequence]
            second, second_end = sequences.second[sequence]
            first_pieces = text.pieces[start:end].copy()
            first_pieces[own - start : own_end - start] = masked.inputs[own:own_end]
            # Place of piece p of the text in the flattened batch: p plus this.
            shift = row * longest + len(prefix) - start
            places = np.arange(own, own_end) + shift
            asked = [(slice(own, own_end), places)]
            parts = [prefix, first_pieces, suffix]
            if second_end > second:
                shift = row * longest + len(prefix) + end - start + len(suffix) - second
                asked.append((slice(second, second_end), np.arange(second, second_end) + shift))
                parts += [masked.inputs[second:second_end], suffix]
            whole = np.concatenate(parts)
            ids[row, : len(whole)] = whole
            mask[row, : len(whole)] = 1
            types[row, len(prefix) + end - start + len(suffix) : len(whole)] = 1
            for where, places in asked:
                chosen.append(places[masked.chosen[where]])
                targets.append(text.pieces[where][masked.chosen[where]])
        return LanguageBatch(
            torch.from_numpy(ids),
            torch.from_numpy(mask),
            torch.from_numpy(types) if self.nsp else None,
            torch.from_numpy(np.concatenate(chosen)),
            torch.from_numpy(np.concatenate(targets)),
            torch.from_numpy(sequences.labels[rows]),
        )

    def forward(self, batch: LanguageBatch) -> tuple[Tensor, Tensor | None]:
        """(M, vocabulary) logits of the chosen pieces, and (R, 2) of the next sentence."""
        types = {} if batch.types is None else {"token_type_ids": batch.types}
        self._chosen = batch.chosen
        try:
            found = self.model(input_ids=batch.ids, attention_mask=batch.mask, **types)
        finally:
            self._chosen = None
        if not self.nsp:
            return found.logits[0], None
        return found.prediction_logits[0], found.seq_relationship_logits

    def _keep_chosen(self, _module: nn.Module, _given: Any, output: Any) -> Any:
        """(R, longest, H) -> (1, M, H) between the encoder and the head."""
        if self._chosen is not None:
            states = output.last_hidden_state
            kept = states.flatten(0, 1).index_select(0, self._chosen)
            output.last_hidden_state = kept.unsqueeze(0)
        return output


def load_language_model(source: EncoderSource, *, nsp: bool, seed: int) -> LanguageModel:
    """The checkpoint's encoder and heads in fp32; heads that it lacks are drawn from `seed`.

    Raises:
        LanguageModelError: no masked-LM architecture, no mask token, or a tokenizer with pieces
            that the encoder has no embedding for.
        EncoderError: not loadable, or a checkpoint that leaves layers at random values.
        TokenizerError: see `load_wordpieces`.
    """
    from transformers import AutoModelForMaskedLM, BertForPreTraining
    from transformers.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    wordpieces = load_wordpieces(source)
    vocabulary = load_vocabulary(source)
    architecture: Any = BertForPreTraining if nsp else AutoModelForMaskedLM
    torch.manual_seed(seed)
    try:
        model, info = architecture.from_pretrained(
            source.folder,
            dtype=torch.float32,
            local_files_only=True,
            trust_remote_code=False,
            weights_only=True,  # nothing in a pytorch_model.bin is called
            output_loading_info=True,
        )
    except Exception as error:  # as in `load_encoder`
        if out_of_memory(error):
            raise
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise LanguageModelError(
            f"an encoder with a masked-LM architecture expected in {source.folder}, "
            f"transformers cannot load it: {reason}"
        ) from None
    own = f"{model.base_model_prefix}."
    missing = sorted(info["missing_keys"])
    layers = [key for key in missing if key.startswith(own) and "pooler" not in key]
    if layers:
        raise EncoderError(
            f"weights of every layer expected in {source.folder}, {len(layers)} are missing "
            f"({layers[0]}, ...); the checkpoint is of another architecture"
        )
    largest = int(max(vocabulary.ordinary.max(), vocabulary.special.max()))
    if largest >= int(model.config.vocab_size):
        raise LanguageModelError(
            f"embeddings for piece {largest} of the tokenizer expected in {source.folder}, "
            f"it has {model.config.vocab_size}; the tokenizer is of another checkpoint"
        )
    fresh = _parts_of([key for key in missing if key not in model.all_tied_weights_keys])
    return LanguageModel(model, wordpieces, vocabulary, nsp=nsp, fresh=fresh)


def _parts_of(keys: list[str]) -> tuple[str, ...]:
    """Names of parameters, a weight and its bias together under their module's name."""
    names = []
    for key in keys:
        module, _, kind = key.rpartition(".")
        whole = {f"{module}.weight", f"{module}.bias"} <= set(keys)
        names.append(module if whole and kind in ("weight", "bias") else key)
    return tuple(dict.fromkeys(names))


def load_vocabulary(source: EncoderSource) -> Vocabulary:
    """The pieces of the checkpoint's tokenizer that masking works with.

    Raises:
        LanguageModelError: the tokenizer has no mask token.
    """
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(
        source.folder, local_files_only=True, trust_remote_code=False
    )
    if tokenizer.mask_token_id is None:
        raise LanguageModelError(
            f"a mask token expected in the tokenizer of {source.name}, it has none; "
            "take an encoder that was pre-trained with one, such as bert-base-cased"
        )
    added = [i for i, token in tokenizer.added_tokens_decoder.items() if token.special]
    special = np.unique(np.array([*tokenizer.all_special_ids, *added], dtype=np.int64))
    every = np.unique(np.array(list(tokenizer.get_vocab().values()), dtype=np.int64))
    return Vocabulary(int(tokenizer.mask_token_id), np.setdiff1d(every, special), special)
