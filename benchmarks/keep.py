"""Keeps the records of an experiment, without weights, predictions and folders of the machine.

    python -m benchmarks.keep bert-table7 --runs-dir experiments/runs --to experiments/results

copies the experiment's record, those of its rows and of what its grids tried, evaluations on other
data, and the tests that `compare --stats` has made. `python -m docs.generate` then renews the
tables that are made of them.
"""

import argparse
import dataclasses
import json
import shutil
from pathlib import Path

from featbert.analysis.significance import FOLDER as TESTS
from featbert.inference.speed import FILE as SPEED
from featbert.runs.folder import EVALUATIONS
from featbert.runs.record import (
    RECORD_NAME,
    experiment_path,
    read_experiment_record,
    read_record,
    write_json,
)


def keep(experiment: str, runs_dir: Path, kept_dir: Path) -> int:
    """Copies the records of an experiment; returns the number of runs."""
    record = read_experiment_record(runs_dir, experiment)
    tried = {run for search in record.searches for one in search.tried for run in one.runs}
    names = sorted({*record.rows, *tried})
    for name in names:
        (kept_dir / name).mkdir(parents=True, exist_ok=True)
        keep_run(runs_dir / name, kept_dir / name)
    shutil.copyfile(experiment_path(runs_dir, experiment), experiment_path(kept_dir, experiment))
    if (runs_dir / TESTS).is_dir():
        shutil.copytree(runs_dir / TESTS, kept_dir / TESTS, dirs_exist_ok=True)
    return len(names)


def keep_run(folder: Path, kept: Path) -> None:
    """A run's record, speed and evaluations; corpora and encoders by name instead of by folder."""
    record = read_record(folder)
    signature = dataclasses.replace(record.signature, source=record.signature.corpus)
    model = signature.model if Path(record.model_source).is_absolute() else record.model_source
    write_json(
        kept / RECORD_NAME, dataclasses.replace(record, signature=signature, model_source=model)
    )
    if (folder / SPEED).is_file():
        shutil.copyfile(folder / SPEED, kept / SPEED)
    for path in sorted((folder / EVALUATIONS).glob("*.json")):
        evaluation = json.loads(path.read_text("utf-8"))
        evaluation["source"] = evaluation["corpus"]
        (kept / EVALUATIONS).mkdir(exist_ok=True)
        text = json.dumps(evaluation, indent=1, ensure_ascii=False) + "\n"
        (kept / EVALUATIONS / path.name).write_text(text, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("experiment")
    parser.add_argument("--runs-dir", type=Path, default=Path("experiments/runs"))
    parser.add_argument("--to", type=Path, default=Path("experiments/results"))
    options = parser.parse_args()
    print(f"{keep(options.experiment, options.runs_dir, options.to)} records kept")


if __name__ == "__main__":
    main()
