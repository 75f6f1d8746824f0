"""featbert: fine-tune BERT, or train a small model on its frozen features?

The steps of the command line as Python: `load_corpus`, `extract`, `FeatureStore`, `train`,
`finetune`, `find_runs`, `compare`. Names are imported when they are first used.
"""

import importlib
import os
import sys
from typing import Any

from featbert.registry import Entry, Registry

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
# Public names.
PUBLIC = Registry(
    "name",
    {
        "Adapt": Entry("featbert.config:Adapt"),
        "Comparison": Entry("featbert.analysis.comparison:Comparison"),
        "Corpus": Entry("featbert.data.corpus:Corpus"),
        "Evaluation": Entry("featbert.api:Evaluation"),
        "FeatbertError": Entry("featbert.errors:FeatbertError"),
        "FeatureStore": Entry("featbert.features.store:FeatureStore"),
        "Run": Entry("featbert.runs.run:Run"),
        "Sentence": Entry("featbert.data.corpus:Sentence"),
        "Settings": Entry("featbert.config:Settings"),
        "adapt": Entry("featbert.api:adapt"),
        "check_corpus": Entry("featbert.data.check:check_corpus"),
        "compare": Entry("featbert.analysis.compare:compare"),
        "compare_runs": Entry("featbert.analysis.compare:compare_runs"),
        "defaults": Entry("featbert.config:defaults"),
        "evaluate": Entry("featbert.api:evaluate"),
        "export": Entry("featbert.api:export"),
        "extract": Entry("featbert.api:extract"),
        "find_runs": Entry("featbert.runs.run:find_runs"),
        "finetune": Entry("featbert.api:finetune"),
        "load": Entry("featbert.inference.load:load"),
        "load_corpus": Entry("featbert.api:load_corpus"),
        "parse_layers": Entry("featbert.encoders.layers:parse_layers"),
        "plot": Entry("featbert.report.figures.registry:plot"),
        "predict": Entry("featbert.api:predict"),
        "probe": Entry("featbert.api:probe"),
        "render": Entry("featbert.report.rendering:render"),
        "run": Entry("featbert.api:run"),
        "speed": Entry("featbert.api:speed"),
        "train": Entry("featbert.api:train"),
    },
)
__all__ = ["__version__", *PUBLIC]


def __getattr__(name: str) -> Any:
    if name in PUBLIC:
        return PUBLIC.load(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC})


if "IPython" in sys.modules and (_shell := sys.modules["IPython"].get_ipython()) is not None:
    _notebook = importlib.import_module("featbert.report.html.notebook")
    _notebook.register_renderers(_shell.display_formatter.formatters["text/html"])
