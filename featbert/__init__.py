"""featbert: fine-tune BERT, or train a small model on its frozen features?

The steps of the command line as Python: `load_corpus`, `extract`, `FeatureStore`, `train`,
`finetune`, `find_runs`, `compare`. Names are loaded when they are used, so that importing
featbert costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.lazy import attach

if TYPE_CHECKING:
    from featbert.comparison import Comparison, Run, compare, compare_runs, find_runs
    from featbert.data import Corpus, Sentence, check_corpus, load_corpus
    from featbert.errors import FeatbertError
    from featbert.experiments import evaluate, finetune, load_tagger, run_experiment, train
    from featbert.features import FeatureStore, extract, parse_layers
    from featbert.report import render
    from featbert.training import AdaptSettings, TrainingSettings, adapt

__all__ = [
    "AdaptSettings",
    "Comparison",
    "Corpus",
    "FeatbertError",
    "FeatureStore",
    "Run",
    "Sentence",
    "TrainingSettings",
    "__version__",
    "adapt",
    "check_corpus",
    "compare",
    "compare_runs",
    "evaluate",
    "extract",
    "find_runs",
    "finetune",
    "load_corpus",
    "load_tagger",
    "parse_layers",
    "render",
    "run_experiment",
    "train",
]
__version__ = "0.1.0"
__getattr__, __dir__ = attach(
    __name__,
    {
        "AdaptSettings": "featbert.training",
        "Comparison": "featbert.comparison",
        "Corpus": "featbert.data",
        "FeatbertError": "featbert.errors",
        "FeatureStore": "featbert.features",
        "Run": "featbert.comparison",
        "Sentence": "featbert.data",
        "TrainingSettings": "featbert.training",
        "adapt": "featbert.training",
        "check_corpus": "featbert.data",
        "compare": "featbert.comparison",
        "compare_runs": "featbert.comparison",
        "evaluate": "featbert.experiments",
        "extract": "featbert.features",
        "find_runs": "featbert.comparison",
        "finetune": "featbert.experiments",
        "load_corpus": "featbert.data",
        "load_tagger": "featbert.experiments",
        "parse_layers": "featbert.features",
        "render": "featbert.report",
        "run_experiment": "featbert.experiments",
        "train": "featbert.experiments",
    },
)
