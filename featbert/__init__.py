"""featbert: fine-tune BERT, or train a small model on its frozen features?

The steps of the command line as Python: `load_corpus`, `extract`, `FeatureStore`, `train`,
`finetune`, `find_runs`, `compare`. Names are loaded when they are used, so that importing
featbert costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from featbert.comparison import Comparison, Run, compare, find_runs
    from featbert.data import Corpus, Sentence, load_corpus
    from featbert.errors import FeatbertError
    from featbert.experiments import finetune, run_experiment, train
    from featbert.features import FeatureStore, extract, parse_layers
    from featbert.report import render

__version__ = "0.1.0"
_HOMES = {
    "Comparison": "featbert.comparison",
    "Corpus": "featbert.data",
    "FeatbertError": "featbert.errors",
    "FeatureStore": "featbert.features",
    "Run": "featbert.comparison",
    "Sentence": "featbert.data",
    "compare": "featbert.comparison",
    "extract": "featbert.features",
    "find_runs": "featbert.comparison",
    "finetune": "featbert.experiments",
    "load_corpus": "featbert.data",
    "parse_layers": "featbert.features",
    "render": "featbert.report",
    "run_experiment": "featbert.experiments",
    "train": "featbert.experiments",
}
__all__ = [
    "Comparison",
    "Corpus",
    "FeatbertError",
    "FeatureStore",
    "Run",
    "Sentence",
    "compare",
    "extract",
    "find_runs",
    "finetune",
    "load_corpus",
    "parse_layers",
    "render",
    "run_experiment",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'featbert' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
