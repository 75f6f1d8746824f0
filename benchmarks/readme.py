"""The records behind tables of the READMEs: kept here, so that every number can be traced.

    featbert run experiments/layers.toml --set data=corpora/wikigold
    python -m benchmarks.readme --experiment layers --runs experiments/runs

copies the records of an experiment's rows to `benchmarks/readme/<experiment>/`, without the folder
that the corpus was read from; tests compare the project's README ("layers") and that of the
benchmarks ("precision") with them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.kept import markdown_tables, record_text, with_columns
from featbert.analysis.compare import Comparison, compare_runs
from featbert.report.rendering import render
from featbert.runs.experiment_record import read_experiment_record
from featbert.runs.record import RunRecord, from_json
from featbert.runs.run import Run

KEPT = Path(__file__).parent / "readme"
COLUMNS = {
    "layers": ("approach", "seeds", "dev F1", "test F1", "Δ dev", "Δ test", "trained", "store"),
    "precision": ("approach", "seeds", "dev F1", "test F1"),
}


def keep(experiment: str, runs_dir: Path) -> int:
    """Copies the records of an experiment's rows; how many there are."""
    folder = KEPT / experiment
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    names = read_experiment_record(runs_dir, experiment).rows
    for name in names:
        (folder / f"{name}.json").write_text(record_text(runs_dir / name), "utf-8")
    return len(names)


def kept(experiment: str) -> Comparison:
    """The comparison of the records that are kept of an experiment."""
    runs = [
        Run(path.with_suffix(""), from_json(RunRecord, path.read_text("utf-8"), where=str(path)))
        for path in sorted((KEPT / experiment).glob("*.json"))
    ]
    return compare_runs(runs)


def table(experiment: str) -> list[str]:
    """The lines of a README's table."""
    (lines,) = markdown_tables(render([kept(experiment)], "markdown"))
    return with_columns(lines, COLUMNS[experiment])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--experiment", required=True, choices=COLUMNS)
    parser.add_argument("--runs", type=Path, default=Path("experiments/runs"))
    options = parser.parse_args()
    print(f"{keep(options.experiment, options.runs)} records kept")
    print("\n".join(table(options.experiment)))


if __name__ == "__main__":
    main()
