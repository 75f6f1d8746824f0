"""The feature half of the BERT paper's Table 7 by `featbert run`, from text to table."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from featbert.errors import FeatbertError
from featbert.runs.run import Run, find_runs

ROOT = Path(__file__).parents[1]
# Devlin et al. 2019, table 7; weighted_all is the paper's "all 12 layers".
ROWS = (
    "embeddings",
    "second_to_last",
    "last",
    "weighted_last4",
    "concat_last4",
    "weighted_all",
)
GRACE = 10.0  # seconds that an interrupted run has to end by itself


def run_table7(
    data: Path,
    model: Path,
    folder: Path,
    *,
    seeds: Sequence[int],
    jobs: int,
    settings: dict[str, int],
    device: str,
    limit: float,
) -> dict[str, Any]:
    """What the whole command took, and each row's training.

    Args:
        folder: an empty one, for the experiment file, its store and its runs.
        settings: of the features, such as epochs; the defaults where there are none.
        limit: seconds after which it is interrupted; finished runs are told all the same.

    Raises:
        FeatbertError: the command failed.
    """
    file = folder / "table7.toml"
    file.write_text(experiment(data, model, seeds, settings, device), "utf-8")
    words = ["run", file, "--jobs", jobs, "--quiet", "--cache-dir", folder / "cache"]
    words += ["--runs-dir", folder / "runs"]
    started = time.perf_counter()
    code, told = call([str(word) for word in words], limit)
    seconds = time.perf_counter() - started
    (folder / "runs").mkdir(exist_ok=True)  # it may have been interrupted before
    runs = find_runs(folder / "runs").runs
    whole = len(runs) == len(ROWS) * len(seeds)
    if code not in (0, None) or (code == 0 and not whole):
        raise FeatbertError(f"featbert run expected to end well, it ended with {code}: {told}")
    return {
        "seconds": seconds,
        "complete": whole and code == 0,
        "runs_finished": len(runs),
        "runs": len(ROWS) * len(seeds),
        "jobs": jobs,
        "seeds": list(seeds),
        **by_row(runs),
    }


def experiment(
    data: Path, model: Path, seeds: Sequence[int], settings: dict[str, int], device: str
) -> str:
    """The experiment file."""
    lines = [
        'name = "table7"',
        f"data = {json.dumps(str(data))}",
        f"model = {json.dumps(str(model))}",
        f"seeds = {list(seeds)}",
        f"device = {json.dumps(device)}",
        "[features]",
        f"layers = {json.dumps(list(ROWS))}",
        *(f"{name} = {value}" for name, value in settings.items()),
    ]
    return "\n".join(lines) + "\n"


def call(words: Sequence[str], limit: float) -> tuple[int | None, str]:
    """Exit code and last line of a featbert command; None where time was up.

    Interrupted as by a person, so that it ends its own workers.
    """
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(
        [sys.executable, "-m", "featbert", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        _, told = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        return None, "time was up"
    return process.returncode, told.strip().rpartition("\n")[2]


def by_row(runs: Sequence[Run]) -> dict[str, Any]:
    """Seconds of the extraction, and the median seconds of training by row."""
    costs: dict[str, list[float]] = {}
    for run in runs:
        costs.setdefault(run.record.layers or "", []).append(run.record.cost.training_seconds)
    extraction = [run.record.cost.extraction_seconds for run in runs]
    return {
        "extraction_seconds": extraction[0] if extraction else None,
        "training_seconds": {row: statistics.median(each) for row, each in sorted(costs.items())},
        "epochs": runs[0].record.settings["epochs"] if runs else None,
        "training_precision": runs[0].record.signature.training_precision if runs else None,
    }
