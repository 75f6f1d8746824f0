"""The model card of an exported run: use, scores with intervals, data, signature and cost.

It holds no text of the corpus. The Hub reads its evaluations (`model-index`).
"""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from featbert.analysis.interval import LEVEL
from featbert.analysis.labels import run_title
from featbert.analysis.significance import run_estimate
from featbert.encoders.source import PACKAGED
from featbert.encoders.tunings import get_tuning
from featbert.errors import FeatbertError
from featbert.report import listings
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
        language=s.language if re.fullmatch(r"[a-z]{2,3}(-\w+)?", s.language or "") else None,
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
    blocks = _use(run, folder.name, form)
    if onnx:
        blocks.append(_use_of_onnx(run, folder.name))
    parts = [
        f"# {markdown_text(printable(run.name))}\n",
        markdown_text(printable(about)) + "\n",
        f"## Use\n\nIn the folder that has `{folder.name}`:\n",
        *(f"```python\n{code}```\n" for code in blocks),
        *(f"{markdown_text(note)}\n" for note in _notes(run, form)),
        f"## Data and scores\n\n{_splits(run)}",
        as_markdown(listings.run_scores_table(run)),
        f"## Signature and cost\n\n{as_markdown(facts)}",
    ]
    return str(ModelCard(f"---\n{data.to_yaml()}\n---\n\n" + "\n".join(parts)))


def _use(run: UsableRun, folder: str, form: str) -> list[str]:
    """Code to run next to the folder: with featbert and, if `form` allows it, without."""
    task, name = run.task, run.task.pipeline
    example = _example(run)
    blocks = [f"import featbert\n\nprint(featbert.load({folder!r}).predict({example!r}))\n"]
    if form == "featbert":
        return blocks
    lines = [f"tokenizer = AutoTokenizer.from_pretrained({folder!r})"]
    if form == "transformers":
        lines.append(f"model = {task.auto_model}.from_pretrained({folder!r})")
    else:
        lines += [
            f"config = AutoConfig.from_pretrained({folder!r})",
            f"base = {task.auto_model}.from_pretrained({run.source.whole!r}, config=config)",
            f"model = PeftModel.from_pretrained(base, {folder!r}).get_base_model()",
        ]
    if not task.of_texts:
        lines += _of_words(example, "pt", "model(**batch).logits", "model.config")
    elif name not in _EXAMPLES:
        lines.append(f"answer = pipeline({name!r}, model, tokenizer=tokenizer)")
        pair = isinstance(example, tuple)
        example_input = dict(zip(("text", "text_pair"), example, strict=True)) if pair else example
        lines.append(f"print(answer({example_input!r}))")
    code = "\n".join(lines)
    names = [n for n in ("AutoConfig", task.auto_model, "AutoTokenizer", "pipeline") if n in code]
    peft = "from peft import PeftModel\n" * (form == "peft")
    return [*blocks, f"{peft}from transformers import {', '.join(names)}\n\n{code}\n"]


def _example(run: Run) -> Any:
    """An input for `predict`."""
    pairs = run.record.signature.packing is not None
    text = _PAIR if pairs else _REVIEW if run.task.of_texts else _TEXT
    return _EXAMPLES.get(run.task.pipeline, text)


def _of_words(example: str, kind: str, logits: str, config: str) -> list[str]:
    """Code that prints each word and its class, with arrays of numpy ("np") or torch ("pt")."""
    return [
        f"words = {example!r}.split()",
        f'batch = tokenizer(words, is_split_into_words=True, return_tensors="{kind}")',
        f"best = {logits}[0].argmax(-1).tolist()",
        "places = batch.word_ids()",
        "for number, word in enumerate(words):",
        f"    print(word, {config}.id2label[best[places.index(number)]], sep='\\t')",
    ]


def _use_of_onnx(run: UsableRun, folder: str) -> str:
    """Code for onnxruntime and a tokenizer, without torch."""
    task, example = run.task, _example(run)
    texts = example if isinstance(example, tuple) else (example,)
    batch = f'batch = tokenizer({", ".join(map(repr, texts))}, return_tensors="np")'
    logits = "session.run(None, dict(batch))"
    if task.pipeline == "question-answering":
        lines = [
            batch,
            f"start, end = {logits}",
            "sums = start[0][:, None] + end[0]  # of first and last pieces",
            "sums[np.tri(len(sums), k=-1, dtype=bool)] = -np.inf",
            "first, last = np.unravel_index(sums.argmax(), sums.shape)",
            'print(tokenizer.decode(batch["input_ids"][0, first : last + 1]))',
        ]
    elif task.pipeline == "multiple-choice":
        context, choices = example
        lines = [
            f"context, choices = {context!r}, {choices!r}",
            "contexts = [context] * len(choices)",
            'batch = tokenizer(contexts, choices, padding=True, return_tensors="np")',
            "one = {name: values[None] for name, values in batch.items()}",
            "print(choices[session.run(None, one)[0].argmax()])",
        ]
    elif not task.of_texts:
        lines = _of_words(example, "np", f"{logits}[0]", "config")
    else:
        problem = task.model_config(run.record.targets.classes).get("problem_type")
        lines = [batch, f"logits = {logits}[0][0]"]
        if problem == "regression":
            lines.append("print(float(logits[0]))")
        elif problem == "multi_label_classification":
            lines.append("print(dict(zip(config.id2label.values(), 1 / (1 + np.exp(-logits)))))")
        else:
            lines.append("print(config.id2label[int(logits.argmax())])")
    if "config." in "\n".join(lines):
        lines.insert(0, f"config = AutoConfig.from_pretrained({folder!r})")
    lines = [
        f"tokenizer = AutoTokenizer.from_pretrained({folder!r})",
        f"session = onnxruntime.InferenceSession({f'{folder}/{ONNX}'!r})",
        *lines,
    ]
    code = "\n".join(lines)
    names = ", ".join(name for name in ("AutoConfig", "AutoTokenizer") if name in code)
    numpy = "import numpy as np\n" * ("np." in code)
    return f"{numpy}import onnxruntime\nfrom transformers import {names}\n\n{code}\n"


def _notes(run: Run, form: str) -> list[str]:
    """Advice to users of transformers for the same answers as the run's."""
    over, classes = run.record.threshold, run.record.targets.classes
    always = (
        "featbert reads texts of any length in windows, and gives the answers that were scored."
    )
    notes = {
        "transformers reads one window: with truncation, longer texts are cut.": True,
        "An empty text, or a word of control characters, is the unknown token in featbert and "
        "nothing in transformers: answers may differ.": True,
        "The first subword of each word between spaces has its answer. transformers' pipeline "
        "cuts words at inner signs, as in O'Brien.": not run.task.of_texts,
        "It was trained on whole documents: give documents, not sentences.": (
            run.record.signature.context == "document"
        ),
        "" if over is None else run.task.threshold_note(over, classes): over is not None,
    }
    if run.record.temperature is not None:
        always += (
            f" Its logits are divided by {run.record.temperature:.4f}, which was chosen on dev and "
            "changes probabilities only. The calibration errors below are those before it."
        )
    return [always, *(note for note, holds in notes.items() if holds and form != "featbert")]


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
                estimate = run_estimate(run, name)
                interval = f"[{percent(estimate.low)}, {percent(estimate.high)}]"
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
