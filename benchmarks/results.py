"""The records behind `experiments/README.md`, a runs directory of their own: `experiments/results`.

    python -m benchmarks.results --runs-dir experiments/runs bert-table7 layer-freezing

keeps what the tables and figures of these experiments are made of (the experiment's record, those
of its rows and of what its grids tried, and evaluations on other data; no weights, no predictions),
draws the figures anew and prints the tables. A test compares the README with the records.

    featbert compare --runs-dir experiments/results --experiment bert-table7

shows one of them again.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
from pathlib import Path

from benchmarks.kept import markdown_tables, record_text, without_columns
from featbert.analysis.compare import Comparison, compare_runs
from featbert.analysis.transfer import TransferMatrix, transfer_matrices
from featbert.cli.showing import reproductions_of
from featbert.report.rendering import render
from featbert.report.transfer_rendering import render_transfer
from featbert.runs.evaluations import FOLDER as EVALUATIONS
from featbert.runs.experiment_record import experiment_path, read_experiment_record
from featbert.runs.record import read_record
from featbert.runs.run import Run

RESULTS = Path(__file__).parents[1] / "experiments" / "results"
# Figures that the README shows, of those that `featbert compare --figures` draws.
SHOWN = {
    "bert-table7": ("mix-weights",),
    "layer-freezing": ("freezing-test",),
    "layer-ablation": ("layers-test", "mix-weights"),
    "zero-shot-transfer": ("transfer",),
}
# Times and memory are another machine's on another machine; disk and words/s go with them.
LEFT_OUT = ("training", "extraction", "words/s", "store", "memory")


def keep(experiment: str, runs_dir: Path, kept_dir: Path = RESULTS) -> int:
    """Copies the records of an experiment; how many runs there are."""
    record = read_experiment_record(runs_dir, experiment)
    tried = {run for search in record.searches for one in search.tried for run in one.runs}
    names = sorted({*record.rows, *tried})
    for name in names:
        folder = kept_dir / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "record.json").write_text(record_text(runs_dir / name), "utf-8")
        for path in sorted((runs_dir / name / EVALUATIONS).glob("*.json")):
            evaluation = json.loads(path.read_text("utf-8"))
            evaluation["source"] = evaluation["corpus"]
            (folder / EVALUATIONS).mkdir(exist_ok=True)
            text = json.dumps(evaluation, indent=1, ensure_ascii=False) + "\n"
            (folder / EVALUATIONS / path.name).write_text(text, "utf-8")
    shutil.copyfile(experiment_path(runs_dir, experiment), experiment_path(kept_dir, experiment))
    return len(names)


def kept(experiment: str, kept_dir: Path = RESULTS) -> tuple[Comparison, list[TransferMatrix]]:
    """The comparison of an experiment's rows, with published tables, and its transfer matrices."""
    record = read_experiment_record(kept_dir, experiment)
    runs = [Run(kept_dir / name, read_record(kept_dir / name)) for name in record.rows]
    comparison = compare_runs(runs, vary=record.vary)
    beside, _ = reproductions_of(comparison, record.published)
    matrices = list(transfer_matrices(runs)) if record.transfer else []
    return dataclasses.replace(comparison, reproductions=beside), matrices


def tables(experiment: str, kept_dir: Path = RESULTS) -> list[str]:
    """Every table of an experiment in Markdown, the comparison first."""
    comparison, matrices = kept(experiment, kept_dir)
    show = read_experiment_record(kept_dir, experiment).show
    first, *others = markdown_tables(render([comparison], "markdown", show=show))
    if matrices:
        others += markdown_tables(render_transfer(matrices, "markdown", published=[]))
    return ["\n".join(table) for table in (without_columns(first, LEFT_OUT), *others)]


def draw(experiment: str, kept_dir: Path = RESULTS) -> list[Path]:
    """The experiment's figures for the README: `figures/<experiment>--<figure>.png`."""
    from featbert.report.figures.choosing import figures_of
    from featbert.report.figures.saving import save_figure

    drawn = dict(figures_of(*kept(experiment, kept_dir)))
    return [
        save_figure(drawn[name], kept_dir / "figures" / f"{experiment}--{name}.png")
        for name in SHOWN.get(experiment, ())
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("experiments", nargs="+")
    parser.add_argument("--runs-dir", type=Path, default=Path("experiments/runs"))
    options = parser.parse_args()
    for experiment in options.experiments:
        print(f"{experiment}: {keep(experiment, options.runs_dir)} records kept")
        for path in draw(experiment):
            print(path.name)
        print("\n\n".join(tables(experiment)), end="\n\n")


if __name__ == "__main__":
    main()
