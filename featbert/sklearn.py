"""Hidden states as a transformer of scikit-learn.

    pipeline = make_pipeline(HiddenStates("all-MiniLM-L6-v2"), LogisticRegression(max_iter=1000))
    search = GridSearchCV(pipeline, {"hiddenstates__layer": range(7)})
    search.fit(texts, classes)

A search clones its estimators, so encoded texts are kept outside of them, in `CACHE`: each text
goes through an encoder once, which gives the pooled states of all layers, however many layers and
folds are searched. The cache is in memory and bounded. It drops the least recently used texts
first. Each process has its own (`n_jobs`).
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from featbert.data.columns import EXAMPLE_KEYS, usual_columns, usual_texts
from featbert.data.examples import examples_of, text_rows
from featbert.encoders.device import load_torch
from featbert.encoders.layers import LayerCombination, fixed_layers
from featbert.encoders.sentence_modules import TextPooling, text_pooling
from featbert.encoders.source import DEFAULT_MODEL, EncoderSource, find_encoder
from featbert.errors import InputError, check_known
from featbert.io import expanded
from featbert.models.registry import KEPT_POOLINGS
from featbert.text import listed

if TYPE_CHECKING:
    from featbert.encoders.encoding import Packing
    from featbert.inference.embed import TextEncoder

Vectors = NDArray[np.float32]
# Bytes of pooled states that stay in memory: 100,000 texts of all-MiniLM-L6-v2.
CACHE_BYTES = 1 << 30


class StatesCache:
    """Pooled states (L+1, D) of texts by key, and the encoder that was used last.

    Attributes:
        limit: bytes of states to keep.
        size: bytes of the states that are kept.
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.size = limit, 0
        self.lock = RLock()
        self._states: OrderedDict[Hashable, Vectors] = OrderedDict()
        self._encoder: tuple[Hashable, TextEncoder] | None = None

    def get(self, key: Hashable) -> Vectors | None:
        """The states of a text, or None."""
        if key not in self._states:
            return None
        self._states.move_to_end(key)
        return self._states[key]

    def add(self, key: Hashable, states: Vectors) -> None:
        """Keeps the states of a text, and removes others beyond the limit."""
        self._states[key] = states
        self.size += states.nbytes
        while self.size > self.limit:
            self.size -= self._states.popitem(last=False)[1].nbytes

    def encoder(
        self, key: Hashable, source: EncoderSource, device: str, precision: str
    ) -> TextEncoder:
        """The encoder of `source`, which is loaded unless it was used last."""
        if self._encoder is None or self._encoder[0] != key:
            load_torch()
            from featbert.inference.embed import TextEncoder

            self._encoder = None  # before another one takes memory
            self._encoder = key, TextEncoder(source, device=device, precision=precision)
        return self._encoder[1]

    def clear(self) -> None:
        """Removes all states and the encoder."""
        with self.lock:
            self._states.clear()
            self.size, self._encoder = 0, None


CACHE = StatesCache(CACHE_BYTES)


class HiddenStates(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Vectors of texts from a frozen encoder, with the numbers of `featbert.embed`.

    It learns nothing: `fit` only checks its parameters. Texts are a list, array or Series of
    strings, or rows of one or two strings (a pair). InputError, a ValueError, for other values.

    Args:
        model: encoder, as a folder, Hub id or installed package.
        layer: layer combination without learned weights: "last", 7, "concat:9-12", ...
        pooling: "cls", "mean", "max", "max_mean", or "auto": as the modules of a
            sentence-transformers checkpoint say, and else "mean".
        normalize: whether to divide each vector by its length. None follows the modules.
        prompt: text to put before each text. None is the checkpoint's default prompt.
        device, precision: as of `featbert.embed`.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        layer: str | int = "last",
        pooling: str = "auto",
        normalize: bool | None = None,
        prompt: str | None = None,
        device: str = "auto",
        precision: str = "auto",
    ) -> None:
        self.model = model
        self.layer = layer
        self.pooling = pooling
        self.normalize = normalize
        self.prompt = prompt
        self.device = device
        self.precision = precision

    def fit(self, X: Iterable[Any], y: Any = None) -> Self:
        """Checks the parameters. Reads neither texts nor weights."""
        self._plan()
        return self

    def transform(self, X: Iterable[Any]) -> Vectors:
        """(n, H) float32 vectors of n texts."""
        source, layers, method = self._plan()
        normalize = method.normalize if self.normalize is None else self.normalize
        prompt = method.prompt if self.prompt is None else self.prompt
        texts = rows_of(X)
        if not texts:
            raise InputError("there are no texts to transform")
        files = [(path.name, path.stat()) for path in source.files]
        place = source.reference, self.device, self.precision
        encoder_key = (*place, *((name, s.st_size, s.st_mtime_ns) for name, s in files))
        encoding = method.pooling, prompt, encoder_key
        width = (source.hidden_size or 0) * len(KEPT_POOLINGS[method.pooling])
        all_layers = range((source.num_layers or 0) + 1)
        step = max(1, CACHE.limit // (4 * width * len(all_layers)))
        chosen: dict[Any, Vectors] = {}  # (k, D) by text
        with CACHE.lock:
            for text in dict.fromkeys(texts):
                if (states := CACHE.get((text, encoding))) is not None:
                    chosen[text] = states[[*layers.indices]]
            absent = [text for text in dict.fromkeys(texts) if text not in chosen]
            for start in range(0, len(absent), step):
                part = absent[start : start + step]
                examples = examples_of(part, prompt=prompt, lowercase=method.lowercase)
                encoder = CACHE.encoder(encoder_key, source, self.device, self.precision)
                packing: Packing | None = None if examples[0].pair is None else "joint"
                states = encoder.pooled_states(examples, all_layers, method.pooling, packing)
                for number, text in enumerate(part):
                    chosen[text] = states[[*layers.indices], number]
                    CACHE.add((text, encoding), states[:, number].copy())
        from featbert.inference.embed import combined

        stacked = np.stack([chosen[text] for text in texts], axis=1)
        return combined(stacked, layers, normalize=normalize)

    def _plan(self) -> tuple[EncoderSource, LayerCombination, TextPooling]:
        """The encoder's files, the layers and the pooling. InputError for wrong parameters."""
        check_known("pooling", [self.pooling], ("auto", *KEPT_POOLINGS))
        model = str(self.model)
        find = find_encoder if expanded(model).is_dir() else _find_once
        source = find(model)
        layers = fixed_layers(self.layer, source.num_layers)
        return source, layers, text_pooling(source, self.pooling)

    @property
    def _n_features_out(self) -> int:
        """Numbers of a vector, for `get_feature_names_out`."""
        source, layers, method = self._plan()
        return layers.width(source.hidden_size or 0) * len(KEPT_POOLINGS[method.pooling])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.requires_fit = False
        return tags


# The Hub is asked once for each name.
_find_once = functools.cache(find_encoder)


def rows_of(X: Iterable[Any]) -> Sequence[Any]:
    """Texts as strings, pairs as tuples.

    InputError for a single string, a mapping, a value that is no text, and for two columns of a
    table if one of them has answers by its name, or only one of them has texts by its name.
    """
    if isinstance(X, str):
        raise InputError(f"{X!r:.60} is a single text; give a list of texts")
    table = X if isinstance(X, Mapping) else getattr(X, "columns", ())
    names = [name for name in table if isinstance(name, str)]
    answers, usual = usual_columns(names, EXAMPLE_KEYS), usual_texts(names)
    if isinstance(X, Mapping) or (len(names) > 1 and (answers or len(usual) == 1)):
        text = next((name for name in (*usual, *names) if name not in answers), "text")
        raise InputError(
            f"a table with the columns {listed(names)} is neither texts nor pairs of texts; give "
            f"its column of texts, table[{text!r}], or a list of pairs of texts"
        )
    rows = np.asarray(X).tolist() if hasattr(X, "__array__") else [*X]
    texts = [tuple(row.values.values()) for row in text_rows(rows)]
    return [text if len(text) > 1 else text[0] for text in texts]
