"""Numbers in benchmarks/README.md are those of the records beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.readme import kept, table
from benchmarks.record import Spread, figure
from featbert.analysis.compare import Comparison
from featbert.runs.run import Run

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
README = (BENCHMARKS / "README.md").read_text("utf-8")
RECORDS = sorted((BENCHMARKS / "records").glob("*.json"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_ratios_shares_and_commands_are_the_records(path) -> None:
    record = json.loads(path.read_text("utf-8"))
    assert path.stem.startswith(record["benchmark"])
    for ratio in record["ratios"].values():
        assert str(Spread(**ratio)) in README
    for row in record["measured"].values():
        if "share_of_matmul_rate" in row:
            assert f"| {figure(row['share_of_matmul_rate'])} |" in README
    if record["benchmark"] != "tolerance":  # that one is told in docs/reliability.md
        assert record["command"].split()[2] in README


def test_f1_by_precision_is_that_of_the_records() -> None:
    assert "\n".join(table("precision")) in README
    comparison = kept("precision")
    found = {(r.record.signature.training_precision, r.record.seed) for r in runs_of(comparison)}
    assert found == {(precision, seed) for precision in ("fp32", "bf16") for seed in (1, 2, 3)}


def runs_of(comparison: Comparison) -> list[Run]:
    return [run for row in comparison.rows for run in row.runs]


def test_tolerances_are_the_record_s() -> None:
    record = json.loads((BENCHMARKS / "records" / "tolerance.json").read_text("utf-8"))
    page = (BENCHMARKS.parent / "docs" / "reliability.md").read_text("utf-8")
    for name, row in record["measured"].items():
        told = [figure(row["mean"]), figure(row["highest"])]
        differing = f"{100 * row['float16 numbers that differ']:.2g}%"
        assert f"| {name} | {told[0]} | {told[1]} | {differing} |" in page
        assert row["highest"] < 1e-5


def test_the_command_of_each_record_is_told() -> None:
    pages = README + (BENCHMARKS.parent / "docs" / "reliability.md").read_text("utf-8")
    told = " ".join(pages.split())
    for path in RECORDS:
        assert json.loads(path.read_text("utf-8"))["command"] in told
