"""What computing in bfloat16 and storing in float16 do to hidden states, layer by layer.

    python -m benchmarks.precision --data wikigold --sentences 500

The same text is extracted in fp32 and bf16, stored as float32, and in fp32 stored as float16. The
error of a word's vector is its distance from the fp32 vector over that vector's length. What it
does to F1 is asked by `precision.toml`. Where bfloat16 is emulated the numbers are those of native
hardware but for the order of summation, and the time means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.command import Options, add_text_options, carry_out, parser_of, work_folder
from benchmarks.corpora import corpus_of, described
from benchmarks.machine import facts
from benchmarks.ours import extract_once
from benchmarks.record import Record
from featbert.encoders.device import find_device
from featbert.features.store.reader import FeatureStore

Floats = NDArray[Any]
EXACT = ("fp32", "float32")
WAYS = {
    "bf16, stored as float32": ("bf16", "float32"),
    "fp32, stored as float16": ("fp32", "float16"),
}


def measure(options: Options) -> Record:
    """Each way against fp32 in float32."""
    device = find_device("cpu")
    corpus = corpus_of(options, ["train"])
    with work_folder(options) as folder:

        def stored(precision: str, dtype: str) -> FeatureStore:
            return extract_once(
                corpus, options.model, folder, device, precision=precision, dtype=dtype
            ).store

        exact = stored(*EXACT)
        stores = {name: stored(*how) for name, how in WAYS.items()}
        measured = {}
        for layer in exact.layers:
            row: dict[str, float] = {}
            expected = exact.read("train", [layer])[0]
            for name, store in stores.items():
                error = relative_errors(store.read("train", [layer])[0], expected)
                row[f"{name}, mean"] = float(error.mean())
                row[f"{name}, highest"] = float(error.max())
            measured[f"layer {layer}"] = row
    about = {**described(corpus), "model": Path(options.model).name}
    return Record("precision", options.command, facts(device), about, measured)


def relative_errors(found: Floats, expected: Floats) -> Floats:
    """(N, H) and (N, H) -> (N,) distance over length of what is expected."""
    exact = expected.astype(np.float64)
    errors: Floats = np.linalg.norm(found - exact, axis=1) / np.linalg.norm(exact, axis=1)
    return errors


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of("precision", __doc__, rounds=1)
    add_text_options(parser, sentences=500)
    carry_out(parser, measure, arguments)


if __name__ == "__main__":
    main()
