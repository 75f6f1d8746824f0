"""featbert: fine-tune BERT, or train a small model on its frozen features?

The steps of the command line as Python: `load_corpus`, `extract`, `FeatureStore`, `train`,
`finetune`, `find_runs`, `compare`. Names are imported when they are first used.
"""

import importlib
import os
import sys
from typing import Any

__version__ = "0.1.0"
# What threads of OpenMP, torch's, do that wait for each other: beside another busy process it takes
# a fraction of the time when they soon sleep. Torch's library reads both when it is loaded; the
# second is the number of turns before they sleep, with GNU's OpenMP.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
# Products that oneDNN and torch's use of it keep compiled, 0.5 to 5 MB each: batches of many sizes
# would fill the 1,024 that are usual. One takes a millisecond, a small part of a batch's products.
for _cache in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
    os.environ.setdefault(_cache, "256")
# Public names by the module that defines them.
_HOMES = {
    "Adapt": "featbert.config",
    "Comparison": "featbert.analysis.compare",
    "Corpus": "featbert.data.corpus",
    "FeatbertError": "featbert.errors",
    "FeatureStore": "featbert.features.store",
    "Run": "featbert.runs.run",
    "Sentence": "featbert.data.corpus",
    "Settings": "featbert.config",
    "adapt": "featbert.adaptation.adapt",
    "check_corpus": "featbert.data.check",
    "compare": "featbert.analysis.compare",
    "compare_runs": "featbert.analysis.compare",
    "defaults": "featbert.config",
    "evaluate": "featbert.inference.evaluate",
    "extract": "featbert.features.extraction",
    "find_runs": "featbert.runs.run",
    "finetune": "featbert.runs.train",
    "load": "featbert.inference.load",
    "load_corpus": "featbert.data.load",
    "parse_layers": "featbert.encoders.layers",
    "plot": "featbert.report.figures.registry",
    "render": "featbert.report.rendering",
    "run_experiment": "featbert.api",
    "train": "featbert.runs.train",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


if "IPython" in sys.modules and (_shell := sys.modules["IPython"].get_ipython()) is not None:
    _notebook = importlib.import_module("featbert.report.html.notebook")
    _notebook.register_renderers(_shell.display_formatter.formatters["text/html"])
