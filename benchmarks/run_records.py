"""Finished runs for `compare`, made from the records that are kept of the search for defaults."""

from __future__ import annotations

import dataclasses
from itertools import cycle, islice
from pathlib import Path

from featbert.runs.record import RECORD_NAME, RunRecord, from_json, to_json

KEPT = Path(__file__).parent / "defaults"


def write_runs(folder: Path, number: int) -> None:
    """Folders of `number` runs: the kept records, again with other seeds where they are too few."""
    paths = sorted(KEPT.glob("*.json"))
    for at, path in enumerate(islice(cycle(paths), number)):
        record = from_json(RunRecord, path.read_text("utf-8"), where=str(path))
        seed = record.seed + 100 * (at // len(paths))
        name = f"{record.name}-{at}"
        (folder / name).mkdir()
        text = to_json(dataclasses.replace(record, name=name, seed=seed))
        (folder / name / RECORD_NAME).write_text(text, "utf-8")
