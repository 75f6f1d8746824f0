"""featbert train, finetune and adapt"""

import shlex
from collections.abc import Callable
from datetime import UTC, datetime

import typer

from featbert import api
from featbert.cli import options as o
from featbert.config import defaults_by_task
from featbert.progress import report
from featbert.runs.run import Run
from featbert.text import printable, unusual


@o.command(
    "train --data corpora/mine --layers concat_last4,last",
    defaults=defaults_by_task("none") | {"data": "sample; with --features the store's corpus"},
)
def train(request: api.TrainRequest) -> None:
    """Train a small model on stored features.

    First extracts the features of --data and --model to --cache-dir, unless a store with the same
    options exists. --features names a store to read instead, with its text and columns. With
    --features, --data and the column options read other tags of the same text. A finished run with
    the same settings is shown, not trained again.
    """
    api.train(request, on_run=_shown_since_now())
    report("featbert compare shows all finished runs")


@o.command(
    "finetune --model bert-base-cased --seeds 1-5",
    defaults=defaults_by_task("full"),
)
def finetune(request: api.FinetuneRequest) -> None:
    """Fine-tune the encoder, or a part of it, with a head on top.

    Batches, loss, selection on dev and scorer are the same as in `featbert train`.
    """
    api.finetune(request, on_run=_shown_since_now())
    report("featbert compare shows all finished runs")


@o.command("adapt --data corpora/wikigold --epochs 10", defaults={"max_length": "128 or less"})
def adapt(request: api.AdaptRequest) -> None:
    """Train the encoder as a language model on the corpus first.

    The encoder learns to predict masked subwords of the train split and, if the corpus has
    documents, the next sentence. The new folder is an encoder: give it to --model.
    """
    adapted = api.adapt(request)
    lines = [*map(str, adapted.history)]
    if adapted.fresh:
        lines.append(f"not in the checkpoint, random at the start: {', '.join(adapted.fresh)}")
    if counts := unusual(adapted.counts):
        lines.append(f"unusual: {counts}")
    state = "exists already, nothing to do" if adapted.hit else "written"
    for line in [*lines, f"{adapted.folder}: {state}"]:
        typer.echo(printable(line))
    words = f"--model {shlex.quote(str(adapted.folder))}"
    words += "" if request.data == "sample" else f" --data {shlex.quote(str(request.data))}"
    report(f"featbert train {words} and featbert finetune {words} read it")


def _shown_since_now() -> Callable[[Run], None]:
    """Prints runs. Runs that began before this call were finished before."""
    from featbert.report.listings import run_line

    now = datetime.now(UTC).isoformat(timespec="seconds")
    return lambda run: typer.echo(run_line(run, was_there=run.record.started < now))
