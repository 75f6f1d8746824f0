"""Evaluation records made up for tests, and runs in several languages that have them."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from featbert.inference.evaluate import EvaluationRecord, evaluation_path
from featbert.runs.record import SplitIdentity, write_json
from featbert.runs.run import Run
from tests.analysis.records import make_record, make_scores


def identity(language: str, split: str = "test") -> SplitIdentity:
    return SplitIdentity(f"{language}-{split}-text", f"{language}-{split}-tags", 1000, 8000)


def language_run(runs_dir: Path, language: str, name: str = "", **changes) -> Run:
    """A run trained on a language's corpus; its folder is made when an evaluation is."""
    splits = {split: identity(language, split) for split in ("train", "dev", "test")}
    signature = {
        "corpus": f"wikiann-{language}",
        "language": language,
        "splits": splits,
        "entity_types": ["LOC", "ORG", "PER"],
        **changes.pop("signature", {}),
    }
    name = name or f"{language}-{changes.get('layers', 'concat_last4')}-{changes.get('seed', 1)}"
    return Run(runs_dir / name, make_record(name, signature=signature, **changes))


def evaluate(run: Run, language: str, f1: float = 0.5, /, **changes) -> Path:
    """Write an evaluation of the run on the test split of a language's corpus into its folder."""
    record = EvaluationRecord(
        run=run.name,
        corpus=f"wikiann-{language}",
        source=f"corpora/wikiann/{language}",
        language=language,
        split="test",
        identity=identity(language),
        entity_types=["LOC", "ORG", "PER"],
        mapping={},
        unseen_types=[],
        absent_types=[],
        scores=make_scores(f1),
        scorer="seqeval 1.2.2, conlleval semantics",
        extraction_seconds=None,
        prediction_seconds=0.5,
        device="cpu",
        device_name="Some processor",
        threads=2,
        versions={"torch": "2.13.0"},
        started="2026-01-03T00:00:00+00:00",
        predictions="",
    )
    record = dataclasses.replace(record, **changes)
    path = evaluation_path(run.folder, record.corpus, record.split, record.identity, record.mapping)
    write_json(path, record)
    return path


def transfer_runs(
    runs_dir: Path,
    f1: Mapping[tuple[str, str], float],
    *,
    seeds: tuple[int, ...] = (1, 2, 3),
    **changes,
) -> list[Run]:
    """Runs with `f1[train, test]` as their mean over three seeds, a language's own included.

    Seed 1 lies 0.01 below the mean, seed 2 on it, seed 3 above it.
    """
    runs = []
    for train in dict.fromkeys(train for train, _ in f1):
        for seed in seeds:
            off = 0.01 * (seed - 2)
            own = f1[train, train] + off
            run = language_run(runs_dir, train, seed=seed, dev=own, test=own, **changes)
            for (source, target), mean in f1.items():
                if source == train and target != train:
                    evaluate(run, target, mean + off)
            runs.append(run)
    return runs
