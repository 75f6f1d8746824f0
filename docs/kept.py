"""Results files of the repository, each read once."""

import functools
from pathlib import Path

from featbert.runs.run import find_runs

ROOT = Path(__file__).parents[1]
EXPERIMENTS = ROOT / "experiments"
RESULTS = "results.jsonl.xz"
kept_runs = functools.cache(find_runs)
