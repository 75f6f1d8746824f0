"""How far a run came that has no record: interrupted, or still running."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class UnfinishedRun:
    """What its folder says; None where it does not.

    Attributes:
        epochs_done, epochs: trained so far, and in all.
        dev_score: of the best epoch so far, in [0, 1].
        seconds: of the epochs so far.
    """

    folder: Path
    tuning: str | None
    layers: str | None
    corpus: str | None
    model: str | None
    seed: int | None
    epochs_done: int
    epochs: int | None
    dev_score: float | None
    seconds: float


def unfinished_run(folder: Path) -> UnfinishedRun:
    """Reads `config.json` and `history.jsonl`; what is missing or damaged is left out."""
    (config,) = _objects(folder / "config.json") or ({},)
    signature, settings = _table(config, "signature"), _table(config, "settings")
    history = _objects(folder / "history.jsonl")
    scores = [next(iter(dev.values())) for row in history if (dev := _table(row, "dev"))]
    return UnfinishedRun(
        folder,
        tuning=_of(config.get("tuning"), str),
        layers=_of(config.get("layers"), str),
        corpus=_of(signature.get("corpus"), str),
        model=_of(signature.get("model"), str),
        seed=_of(config.get("seed"), int),
        epochs_done=len(history),
        epochs=_of(settings.get("epochs"), int),
        dev_score=max((s for s in scores if isinstance(s, float)), default=None),
        seconds=sum(row["seconds"] for row in history if isinstance(row.get("seconds"), float)),
    )


def _objects(path: Path) -> list[dict[str, Any]]:
    """Objects of a JSON file, or of the whole lines of a JSONL file."""
    try:
        text = path.read_text("utf-8")
        parts = text.split("\n")[:-1] if path.suffix == ".jsonl" else [text]
        found = [json.loads(part) for part in parts]
    except (OSError, ValueError, RecursionError):
        return []
    return [row for row in found if isinstance(row, dict)]


def _table(config: dict[str, Any], name: str) -> dict[str, Any]:
    found = config.get(name)
    return found if isinstance(found, dict) else {}


def _of(value: Any, kind: type[Any]) -> Any:
    return value if isinstance(value, kind) else None
