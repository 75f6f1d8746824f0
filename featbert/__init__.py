"""featbert: fine-tune BERT, or train a small model on its frozen features?

The steps of the command line as Python: `load_corpus`, `extract`, `FeatureStore`, `train`,
`finetune`, `find_runs`, `compare`. Names are loaded when they are used, so that importing
featbert costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.lazy import attach

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
__getattr__, __dir__, __all__ = attach(__name__, _HOMES)
