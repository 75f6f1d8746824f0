"""A finished run scored on other data: another language, another domain, another split.

The words go the way that the run's own went: its casing, encoder, context, precision and layers.
Frozen vectors come from a store, so that a second evaluation of another run finds them: one of the
whole corpus in the cache serves, else the split alone is extracted into

    <cache>/evaluations/

beside the stores that `featbert train` chooses from, where a store of one split would be in the
way. Truecased words are another text than the file's, and so are a store of their own.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from featbert.data.conll import write_conll
from featbert.data.corpus import Corpus
from featbert.encoders.encoding import Casing, Context, Encoding, Pooling
from featbert.features.extraction import run_extraction
from featbert.features.plan import ExtractionPlan, plan_extraction
from featbert.features.store import FeatureStore
from featbert.runs.evaluation_plan import PlannedEvaluation, plan_evaluation
from featbert.runs.evaluations import EvaluationRecord, write_evaluation
from featbert.runs.loading import LoadedTagger, load_tagger
from featbert.runs.run import Run
from featbert.runs.type_mapping import mapped_tags, mapped_types
from featbert.runs.usable import UsableRun, check_usable
from featbert.tasks.base import get_task
from featbert.versions import library_versions

FOLDER = "evaluations"


def evaluate(
    run: Run | UsableRun,
    corpus: Corpus,
    split: str = "test",
    *,
    mapping: Mapping[str, str] | None = None,
    cache_dir: str | Path = "cache",
    device: str = "auto",
    overwrite: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> EvaluationRecord:
    """Scores of a finished run on a split of a corpus; record and predictions go to its folder.

    An evaluation of the same text, tags and mapping that is there already is returned as it is
    unless `overwrite`.

    Args:
        mapping: new names of entity types, for gold and predicted tags alike; "O" takes out.
        on_progress: of an extraction; words done and words in all.

    Raises:
        FeatbertError: see `check_usable`, `plan_evaluation`, `load_tagger` and `extract`.
    """
    usable = check_usable(run) if isinstance(run, Run) else run
    plan = plan_evaluation(usable, corpus, split, mapping)
    found = None if overwrite else plan.finished
    if found is not None:
        return found
    tagger = load_tagger(usable, device=device)
    return carry_out_evaluation(plan, tagger, cache_dir=cache_dir, on_progress=on_progress)


def carry_out_evaluation(
    plan: PlannedEvaluation,
    tagger: LoadedTagger,
    *,
    cache_dir: str | Path = "cache",
    on_progress: Callable[[int, int], None] | None = None,
) -> EvaluationRecord:
    """Predicts, scores and records; the record is written last."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    corpus, split = plan.corpus, plan.split
    extraction_seconds = None
    if plan.usable.combination is None:
        inputs = tagger.inputs(split.sentences)
    else:
        store, extraction_seconds = _vectors(plan, tagger, Path(cache_dir), on_progress)
        inputs = tagger.stored(store, split.name)
    clock = time.perf_counter()
    predicted = tagger.tags(inputs)
    prediction_seconds = time.perf_counter() - clock
    gold: list[Any] = list(split.tags)
    if plan.mapping:
        gold = [mapped_tags(tags, plan.mapping) for tags in gold]
        predicted = [mapped_tags(tags, plan.mapping) for tags in predicted]
    task = get_task(plan.usable.record.task)
    scores = task.score(gold, predicted)
    types = mapped_types((t[2:] for row in gold for t in row if t != "O"), {})
    taught = mapped_types(plan.usable.entity_types, plan.mapping)
    record = EvaluationRecord(
        run=plan.usable.record.name,
        corpus=corpus.name,
        source=corpus.source,
        language=corpus.language,
        split=split.name,
        identity=plan.identity,
        entity_types=types,
        mapping=plan.mapping,
        unseen_types=[name for name in types if name not in taught],
        absent_types=[name for name in taught if name not in types],
        scores=scores,
        scorer=task.scorer,
        extraction_seconds=extraction_seconds,
        prediction_seconds=prediction_seconds,
        device=tagger.device.kind,
        device_name=tagger.device.name,
        threads=tagger.device.threads,
        versions=library_versions(),
        started=started,
    )
    plan.path.parent.mkdir(parents=True, exist_ok=True)
    plan.path.unlink(missing_ok=True)  # one that is overwritten no longer fits its predictions
    sentences = [
        dataclasses.replace(s, tags=tuple(tags))
        for s, tags in zip(split.sentences, gold, strict=True)
    ]
    write_conll(plan.predictions, sentences, predicted)
    write_evaluation(plan.path, record)
    return record


def _vectors(
    plan: PlannedEvaluation,
    tagger: LoadedTagger,
    cache_dir: Path,
    on_progress: Callable[[int, int], None] | None,
) -> tuple[FeatureStore, float | None]:
    """A store that holds the split's vectors, and the seconds that it took if it is new."""
    combination, signature = plan.usable.combination, plan.usable.record.signature
    assert combination is not None
    corpus, name = plan.corpus, plan.split.name

    def extraction(of: Corpus, casing: str, folder: Path) -> ExtractionPlan:
        return plan_extraction(
            of,
            plan.usable.source,
            Encoding(
                layers=combination.indices,
                context=cast(Context, signature.context),
                casing=cast(Casing, casing),
                pooling=cast(Pooling, signature.pooling),
                precision=signature.encoder_precision,
                dtype=signature.store_dtype or "float16",
                device=tagger.device.kind,
            ),
            cache_dir=folder,
        )

    marked = all(s.has_documents for s in corpus.splits.values())
    own_train = "train" in corpus and (
        corpus["train"].text_fingerprint == signature.splits["train"].text
    )
    # A store of the whole corpus counts casing in the corpus's own training split.
    if (signature.context == "sentence" or marked) and (
        signature.casing == "original" or own_train
    ):
        whole = extraction(corpus, signature.casing, cache_dir)
        if whole.hit is not None:
            return whole.hit, None
    sentences = tuple(tagger.reading(plan.split.sentences))
    part = dataclasses.replace(plan.split, sentences=sentences)
    alone = Corpus(corpus.name, {name: part}, corpus.language, corpus.source)
    planned = extraction(alone, "original", cache_dir / FOLDER)
    if planned.hit is not None:
        return planned.hit, None
    store = run_extraction(planned, alone, plan.usable.source)
    return store, store.manifest.seconds
