"""What tells an experiment's runs apart beside layers and seed: `context=document`, `epochs=3`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from featbert.runs.plan import Job

# Signature fields that an experiment may vary, as its file calls them.
_CONDITIONS = {
    "corpus": "corpus",
    "model": "model",
    "context": "context",
    "casing": "casing",
    "pooling": "pooling",
    "tag_scheme": "tag_scheme",
    "training_precision": "precision",
    "store_dtype": "store_dtype",
}


def job_labels(jobs: Sequence[Job]) -> dict[str, dict[str, str]]:
    """By run name: the conditions and settings in which it differs from others of its layers.

    A run whose like there is not, but for the seed, has none.
    """
    facts = {job.name: _facts(job) for job in jobs}
    alike: dict[tuple[str, str | None], list[str]] = {}
    for job in jobs:
        alike.setdefault((job.run.approach, job.run.layers), []).append(job.name)
    labels: dict[str, dict[str, str]] = {}
    for names in alike.values():
        keys = dict.fromkeys(key for name in names for key in facts[name])
        varied = [key for key in keys if len({facts[name].get(key) for name in names}) > 1]
        for name in names:
            labels[name] = {key: facts[name][key] for key in varied if key in facts[name]}
    return labels


def _facts(job: Job) -> dict[str, str]:
    signature = job.run.signature
    conditions = {shown: _text(getattr(signature, f)) for f, shown in _CONDITIONS.items()}
    return conditions | {name: _text(value) for name, value in job.run.settings.items()}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
