"""A finished run scored on other data: a record of its own, never mixed into the run's.

    <run>/evaluations/<corpus>--<split>--<8 hex>.json    what was scored, and the scores
                                                 .conll  word, gold tag, predicted tag

The 8 hex digits are of the split's text, its tags and the mapping of types, so that the same
evaluation is found again and another one never takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pydantic.dataclasses

from featbert.errors import MissingError
from featbert.io import json_hash, slug
from featbert.runs.record import PathText, SplitIdentity, read_json
from featbert.runs.run import Run
from featbert.tasks.base import KEPT, Scores

FOLDER = "evaluations"


@pydantic.dataclasses.dataclass(frozen=True, config=KEPT)
class EvaluationRecord:
    """One run on one split of other data.

    Attributes:
        run: name of the run.
        corpus, source, language: of the data, as in a run's signature.
        split: "dev", "test", or another split's name.
        identity: fingerprints and size of what was scored.
        entity_types: types that occur in the split, after mapping, sorted.
        mapping: what types were called instead before scoring, in gold and predicted tags alike;
            "O" takes a type out.
        unseen_types: types of the split that the run was never taught.
        absent_types: types the run was taught that do not occur in the split.
        scores: after mapping.
        scorer: as in a run's signature.
        extraction_seconds: of the split's vectors; None where a store had them, or none is used.
        prediction_seconds: from vectors (features) or words (fine-tuning) to tags.
        versions: library versions by name.
        started: UTC, ISO 8601.
    """

    run: str
    corpus: str
    source: PathText
    language: str | None
    split: str
    identity: SplitIdentity
    entity_types: list[str]
    mapping: dict[str, str]
    unseen_types: list[str]
    absent_types: list[str]
    scores: Scores
    scorer: str
    extraction_seconds: float | None
    prediction_seconds: float
    device: str
    device_name: str
    threads: int
    versions: dict[str, str]
    started: str


def evaluation_path(
    run_folder: Path, corpus: str, split: str, identity: SplitIdentity, mapping: Mapping[str, str]
) -> Path:
    """Where the record of this evaluation is, or will be."""
    short = json_hash([identity.text, identity.tags, dict(mapping)])[:8]
    return run_folder / FOLDER / f"{slug(corpus)}--{split}--{short}.json"


def read_evaluation(path: Path) -> EvaluationRecord:
    """The record in a file; raises MissingError where there is none."""
    try:
        return read_json(path, EvaluationRecord)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingError(f"no evaluation record at {path}") from None


def evaluation_files(run: Run) -> list[Path]:
    """Where a run's evaluations are, by file name."""
    return sorted((run.folder / FOLDER).glob("*.json"))
