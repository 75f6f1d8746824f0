"""The model card of an exported run: use, scores with intervals, data, signature and cost.

It holds no text of the corpus; what evaluations it names are read by the Hub (`model-index`).
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from featbert.analysis.resampling import LEVEL
from featbert.analysis.rows import run_title
from featbert.analysis.significance import score_interval
from featbert.encoders.source import PACKAGED
from featbert.errors import FeatbertError
from featbert.report import tables
from featbert.report.rendering import as_markdown, markdown_text
from featbert.report.units import NONE, percent
from featbert.runs.run import Run
from featbert.text import enumerated, printable


def model_card(run: Run, folder: Path, form: str) -> str:
    """Markdown with the Hub's metadata before it, for a run that is exported to `folder`."""
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

    r, s, task = run.record, run.record.signature, run.task
    packaged = PACKAGED.get(s.model)
    data = ModelCardData(
        language=s.language if re.fullmatch(r"[a-z]{2,3}(-\w+)?", s.language or "") else None,
        library_name=form,
        pipeline_tag=task.pipeline,
        base_model=s.model if packaged is None else packaged[2],
        tags=["featbert", r.tuning],
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
    facts = tables.facts_table(run.name, tables.run_facts(run))
    facts.title, facts.frame = "", facts.frame[facts.frame["name"] != "corpus"]  # which has a path
    title = run_title(r.tuning, r.layers, r.settings, r.task)
    about = f"{task.title} of {s.corpus}: {title}, encoder {s.model}, seed {r.seed}."
    parts = [
        f"# {markdown_text(printable(run.name))}\n",
        markdown_text(printable(about)) + "\n",
        f"## Use\n\n```python\n{_use(run, folder.name, form)}```\n",
        *(f"{markdown_text(note)}\n" for note in _notes(run, form)),
        f"## Scores\n\n{_scores(run)}",
        as_markdown(tables.run_scores_table(run)),
        f"## Data\n\n{_data(run)}",
        f"## Signature and cost\n\n{as_markdown(facts)}",
    ]
    return str(ModelCard(f"---\n{data.to_yaml()}\n---\n\n" + "\n".join(parts)))


def _use(run: Run, folder: str, form: str) -> str:
    kind, base = run.task.auto_model, run.record.signature.model
    of_transformers = f"""\
from transformers import AutoTokenizer, {kind}

tokenizer = AutoTokenizer.from_pretrained({folder!r})
model = {kind}.from_pretrained({folder!r})

"""
    of_peft = f"""\
from peft import PeftModel
from transformers import AutoConfig, AutoTokenizer, {kind}

tokenizer = AutoTokenizer.from_pretrained({folder!r})
base = {kind}.from_pretrained({base!r}, config=AutoConfig.from_pretrained({folder!r}))
model = PeftModel.from_pretrained(base, {folder!r})

"""
    of_featbert = f"""\
import featbert

featbert.load({folder!r}).predict(["..."])
"""
    return {"transformers": of_transformers, "peft": of_peft}.get(form, "") + of_featbert


def _notes(run: Run, form: str) -> list[str]:
    """What a user of transformers has to do so that its answers are the run's."""
    r, s = run.record, run.record.signature
    notes = [
        "featbert reads texts of any length in windows, and gives the answers that were scored."
    ]
    if form == "featbert":
        return notes
    notes.append(
        "transformers reads one window: longer texts are cut where truncation is asked for."
    )
    if not run.task.of_texts:
        notes.append(
            "Answers are those of each word's first piece (aggregation_strategy='first'), of words "
            "between spaces."
        )
    if s.context == "document":
        notes.append("It was trained on whole documents: give documents, not sentences.")
    if r.threshold is not None:
        notes.append(
            f"A question has an answer where the best span's score exceeds that of no answer, at "
            f"the first piece, by more than {r.threshold:.4f}."
        )
    return notes


def _table(lines: Sequence[Mapping[str, str]], about: str) -> str:
    """Lines by name as a table in Markdown; sizes and scores are at the right."""
    import pandas

    columns = [tables.Column(head, head, right=place > 0) for place, head in enumerate(lines[0])]
    return as_markdown(tables.Table("", pandas.DataFrame(lines), columns, legend=[about]))


def _scores(run: Run) -> str:
    """The measure by split, and what it may be on other text of the same kind."""
    lines = []
    for split in run.record.scores:
        try:
            interval = " to ".join(map(percent, score_interval(run, split)))
        except FeatbertError:  # the run was kept without predictions
            interval = NONE
        score = percent(run.record.score(split))
        line = {"split": split, run.task.measure.name: score, f"{LEVEL:.0%} interval": interval}
        lines.append(line)
    how = f"bootstrap over {run.task.group}s, or {run.task.unit}s where there are none; one seed"
    return _table(lines, how) if lines else ""


def _data(run: Run) -> str:
    """Splits of the corpus: sizes and hashes of their text and answers."""
    lines = [
        {
            "split": name,
            f"{run.task.unit}s": f"{split.sentences:,}",
            "words": f"{split.words:,}",
            "SHA-256 of the text": split.text[:12],
            "of the answers": split.tags[:12],
        }
        for name, split in run.record.signature.splits.items()
    ]
    return _table(lines, f"trained on {enumerated(run.record.trained_on)}")
