"""Run records made up for tests: plausible, and different only where a test says so."""

import dataclasses
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from featbert.analysis.compare import compare as compare_with
from featbert.analysis.comparison import Comparison, Comparisons
from featbert.config import Analyses
from featbert.runs.record import Cost, Mix, RunRecord, Signature, SplitIdentity, checksum
from featbert.runs.run import Run
from featbert.tasks.base import Scores, TargetSummary
from featbert.tasks.measures import prf
from featbert.training.history import Epoch, ParameterGroup


def compare(runs: Iterable[Run], **analyses: object) -> Comparisons:
    """A comparison for each group of comparable runs, with these analyses."""
    return compare_with(runs, Analyses(**analyses))


def compare_runs(runs: Iterable[Run], **analyses: object) -> Comparison:
    """One comparison of all runs, with these analyses."""
    return compare_with(runs, Analyses(**analyses), groups="one")[0]


def make_scores(f1: float, gold: int = 10_000) -> Scores:
    one, strict, by_word = (prf(round(gold * v), gold, gold) for v in (f1, f1 - 0.01, f1 + 0.02))
    return Scores(
        values={
            **{key: one[key] for key in ("f1", "precision", "recall")},
            "strict_f1": strict["f1"],
            "word_f1": by_word["f1"],
            "word_accuracy": 0.9,
        },
        by_class={"PER": one},
        examples=150,
        words=3201,
    )


READ = 15_201 / 18_402  # of the words in a store: train and dev, not test


def make_epoch(epoch: int, loss: float, dev: float | None, seconds: float = 2.5) -> Epoch:
    values = None if dev is None else {"f1": dev, "precision": dev, "recall": dev}
    return Epoch(epoch, loss, values, seconds, [ParameterGroup("tagger", 1000, 0.001)])


def make_signature(**changes) -> Signature:
    splits = {
        "train": SplitIdentity("a" * 64, "1" * 64, 600, 12_000),
        "dev": SplitIdentity("b" * 64, "2" * 64, 150, 3201),
        "test": SplitIdentity("c" * 64, "3" * 64, 150, 3201),
    }
    signature = Signature(
        corpus="wikigold",
        source="shared/data/wikigold",
        language="en",
        splits=splits,
        tag_scheme="bio",
        entity_types=["PER"],
        model="all-MiniLM-L6-v2",
        encoder_weights="e" * 64,
        encoder_layers=6,
        encoder_hidden_size=384,
        context="sentence",
        pooling="first",
        encoder_precision="fp32",
        training_precision="fp32",
        store_dtype=None,
        scorer="seqeval 1.2.2, conlleval semantics",
        device="cpu",
        device_name="Some processor",
        threads=2,
        versions={"torch": "2.13.0"},
        encoder_files="f" * 64,
        extraction_device=None,
        casing="original",
        adapted_epochs=0,
    )
    return dataclasses.replace(signature, **changes)


def make_record(
    name: str = "run",
    *,
    layers: str | None = "concat_last4",
    seed: int = 1,
    dev: float | None = 0.6,
    test: float | None = 0.55,
    signature: dict | None = None,
    cost: dict | None = None,
    **changes,
) -> RunRecord:
    """A run on features from `layers`, or of fine-tuning for None; `signature` and `cost` give
    fields of those that differ from the usual."""
    features = layers is not None
    scores = {"dev": dev, "test": test}
    record = RunRecord(
        name=name,
        task="entities",
        tuning="none" if features else "full",
        layers=layers,
        layer_indices=[3, 4, 5, 6] if features else None,
        seed=seed,
        experiment=None,
        vary=[],
        settings={"epochs": 15 if features else 4, "learning_rate": 0.001 if features else 3e-5},
        signature=make_signature(
            **{"store_dtype": "float16" if features else None, **(signature or {})}
        ),
        scores={s: make_scores(f1) for s, f1 in scores.items() if f1 is not None},
        history=[make_epoch(1, 0.7, dev, 0.5)],
        best_epoch=1,
        mix=Mix([3, 4], [0.25, 0.75], 1.5) if features else None,
        cost=Cost(
            extraction_seconds=12.5 if features else None,
            extraction_words=18_402 if features else None,
            store_bytes=99_000_000 if features else None,
            training_seconds=41.0 if features else 95.5,
            prediction_seconds=0.5,
            prediction_words=6402,
            peak_memory_bytes=1_260_000_000,
            trained_parameters=13_400_000 if features else 22_600_000,
            total_parameters=36_000_000 if features else 22_600_000,
            run_bytes=53_000_000,
            extraction_flops=8.0e11 if features else None,
            training_flops=6.0e13,
            prediction_flops=4.0e11,
        ),
        counts={"windowed_sentences": 0},
        started=f"2026-01-02T{seed % 24:02d}:04:05+00:00",
        targets=TargetSummary(("O", "B-PER", "I-PER")),
        model_source="all-MiniLM-L6-v2",
        reading={},
        trained_on=["train"],
        epochs_from=None,
        configurations_tried=1,
        weights="",
        predictions={},
        train_sentences=600,
        train_words=12_000,
    )
    if cost:
        record = dataclasses.replace(record, cost=dataclasses.replace(record.cost, **cost))
    return dataclasses.replace(record, **changes)


def make_run(name: str = "run", **changes) -> Run:
    """A run in a folder that does not exist."""
    return Run(Path("runs") / name, make_record(name, **changes))


def make_seeds(name: str, dev: list[float], **changes) -> list[Run]:
    """Runs `name-1`, `name-2`, ... with seeds 1, 2, ... and the given dev F1; test lies 5 below."""
    return [
        make_run(f"{name}-{seed}", seed=seed, dev=f1, test=f1 - 0.05, **changes)
        for seed, f1 in enumerate(dev, 1)
    ]


def usual_runs() -> list[Run]:
    """Three feature rows and a fine-tuned one, three seeds each."""
    lowest = {"layer_indices": [0], "cost": {"trained_parameters": 6_300_000}}
    return [
        *make_seeds("tuned", [0.66, 0.655, 0.67], layers=None),
        *make_seeds("concat", [0.63, 0.64, 0.635]),
        *make_seeds("last", [0.62, 0.61, 0.615], layers="last", layer_indices=[6]),
        *make_seeds("emb", [0.45, 0.46, 0.44], layers="embeddings", **lowest),
    ]


def rewrite(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Writes the record in a file again after `change` has changed its data."""
    data = json.loads(path.read_text("utf-8"))
    data.pop("checksum")
    change(data)
    path.write_text(json.dumps(data | {"checksum": checksum(data)}), "utf-8")
