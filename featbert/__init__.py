"""featbert: fine-tune BERT, or train a small model on its frozen features?

The steps of the command line as Python: `extract`, `train`, `finetune`, `compare`, `run`,
`evaluate`, `predict`, `export`, `load`. Names are imported when they are first used.
"""

import importlib
import os
import sys

from featbert.registry import Entry, Registry

__version__ = "0.2.0"
# Waiting threads of torch's OpenMP soon sleep: with another busy process this takes a fraction of
# the time. Torch's library reads both variables when it is loaded. The second one is the number of
# turns before threads sleep, with GNU's OpenMP.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
# Products that oneDNN and torch's use of it keep compiled, 0.5 to 5 MB each: batches of many sizes
# would fill the 1,024 that are usual. One takes a millisecond, a small part of a batch's products.
for _cache in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
    os.environ.setdefault(_cache, "256")
# Public names by module: a function for each step, and the types of their arguments and results.
_NAMES = {
    "featbert.api": "extract train finetune compare run evaluate predict embed export load "
    "ExperimentResult",
    "featbert.analysis.comparison": "Comparison Comparisons",
    "featbert.config": "Settings",
    "featbert.data.corpus": "Corpus",
    "featbert.errors": "FeatbertError",
    "featbert.features.store": "FeatureStore",
    "featbert.inference.evaluate": "Evaluation",
    "featbert.inference.load": "LoadedRun",
    "featbert.runs.run": "Run",
}
PUBLIC = Registry(
    "name",
    {name: Entry(f"{place}:{name}") for place, names in _NAMES.items() for name in names.split()},
)
__all__ = ["__version__", *PUBLIC]


__getattr__ = PUBLIC.attribute


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC})


if "IPython" in sys.modules and (_shell := sys.modules["IPython"].get_ipython()) is not None:
    _notebook = importlib.import_module("featbert.report.html.notebook")
    _notebook.register_renderers(_shell.display_formatter.formatters["text/html"])
