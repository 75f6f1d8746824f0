"""One run of `featbert.train` or `featbert.finetune`, for tests that ask for one seed and row."""

from typing import Any

from featbert import api
from featbert.runs.run import Run


def train(*material: Any, seed: int = 1, **options: Any) -> Run:
    """The run on features of a store and layers."""
    (run,) = api.train(*material, seeds=seed, progress=False, **options)
    return run


def finetune(*material: Any, seed: int = 1, **options: Any) -> Run:
    """The run that tunes an encoder on a corpus."""
    (run,) = api.finetune(*material, seeds=seed, progress=False, **options)
    return run
