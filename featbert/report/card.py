"""The model card of an exported run: use, scores with intervals, data, signature and cost.

It holds no text of the corpus. The Hub reads its evaluations (`model-index`).
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

from featbert.analysis.interval import LEVEL
from featbert.analysis.labels import run_title
from featbert.analysis.significance import run_estimate
from featbert.data.corpus import LANGUAGES
from featbert.encoders.source import PACKAGED
from featbert.encoders.tunings import get_tuning
from featbert.errors import FeatbertError
from featbert.report import listings
from featbert.report.html.notebook import template
from featbert.report.rendering import as_markdown, markdown_text
from featbert.report.table import Column, Table
from featbert.runs.folder import ONNX
from featbert.runs.run import Run, UsableRun
from featbert.text import enumerated, printable
from featbert.units import NONE, percent

# Examples for tasks without a pipeline in transformers, and for other tasks.
_EXAMPLES: dict[str, Any] = {
    "question-answering": ("Where was Ada born?", "Ada was born in London."),
    "multiple-choice": ("It rained.", ["I got wet.", "I sang."]),
}
_REVIEW = "The film is a joy from start to end."
_TEXT, _PAIR = "Ada Lovelace was born in London .", ("It rained.", "I got wet.")


def model_card(run: UsableRun, folder: Path, form: str, *, onnx: bool = False) -> str:
    """Markdown with metadata for the Hub, for a run that is exported to `folder`."""
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

    r, s, task = run.record, run.record.signature, run.task
    frozen, base = get_tuning(r.tuning).frozen, s.model.removesuffix(f":{run.source.depth}")
    data = ModelCardData(
        # Corpora of an experiment may be called by anything else.
        language=s.language if LANGUAGES.fullmatch(s.language or "") else None,
        library_name=form,
        pipeline_tag=task.pipeline,
        # The Hub shows every model with a base as a tuned one.
        base_model=None if frozen else PACKAGED[base][2] if base in PACKAGED else base,
        tags=[
            *("featbert", *["onnx"] * onnx),
            *(["feature-based"] if frozen else ["fine-tuned", r.tuning]),
        ],
        model_name=run.name,
        eval_results=[
            EvalResult(
                task_type=task.pipeline,
                dataset_type=s.corpus,
                dataset_name=s.corpus,
                dataset_split=split,
                metric_type=task.measure.key,
                metric_name=task.measure.name,
                metric_value=round(scores.values[task.measure.key], 6),
            )
            for split, scores in r.scores.items()
        ],
    )
    # The corpus has a path.
    facts = listings.facts_table(
        "", [fact for fact in listings.run_facts(run) if fact[0] != "corpus"]
    )
    title = run_title(r.tuning, r.layers, r.settings, r.task)
    about = f"{task.title} of {s.corpus}: {title}, encoder {s.model}, seed {r.seed}."
    threshold_note = ""
    if r.threshold is not None:
        threshold_note = task.threshold_note(r.threshold, r.targets.classes)
    example = _PAIR if s.packing is not None else _REVIEW if task.of_texts else _TEXT
    text = template("card.md.j2").render(
        name=markdown_text(printable(run.name)),
        about=markdown_text(printable(about)),
        folder=folder.name,
        form=form,
        onnx=ONNX if onnx else "",
        task=task,
        problem=task.model_config(r.targets.classes).get("problem_type"),
        source=run.source,
        example=_EXAMPLES.get(task.pipeline, example),
        record=r,
        threshold_note=markdown_text(threshold_note),
        splits=_splits(run),
        scores=as_markdown(listings.run_scores_table(run)),
        facts=as_markdown(facts),
    )
    return str(ModelCard(f"---\n{data.to_yaml()}\n---\n\n{text}"))


def _splits(run: Run) -> str:
    """A table of the splits: sizes, hashes, scores and their intervals."""
    r, task, lines = run.record, run.task, []
    several = task.groups(()) is not None
    unit = "sequences" if several else f"{task.unit}s"
    for name, split in r.signature.splits.items():
        score, interval, floor = NONE, NONE, None
        if name in r.scores:
            floor = r.scores[name].floor
            score = percent(r.score(name))
            with suppress(FeatbertError):  # the run was kept without predictions
                ends = run_estimate(run, name).possible_ends(task.measure.lowest)
                interval = f"[{', '.join(map(percent, ends))}]"
        line = {"split": name, unit: f"{split.sentences:,}", "words": f"{split.words:,}"}
        line |= {task.measure.name: score, f"{LEVEL:.0%} interval": interval}
        line |= {task.floor: NONE if floor is None else percent(floor)} if task.floor else {}
        line |= {"SHA-256 of the text": split.text[:12], "of the answers": split.tags[:12]}
        lines.append(line)
    columns = [Column(head, head, right=place > 0) for place, head in enumerate(lines[0])]
    units = " or, if there are none, ".join(dict.fromkeys((f"{task.group}s", f"{task.unit}s")))
    legend = [f"trained on {enumerated(r.trained_on)}; intervals: over other {units}; one seed"]
    if several:
        legend.append("the sequences of an example are answered together")
    return as_markdown(Table("", lines, columns, legend=legend))
