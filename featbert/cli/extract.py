"""featbert extract"""

import time

import typer

from featbert import api
from featbert.cli import completion
from featbert.cli import options as o
from featbert.encoders.layers import NAMES
from featbert.text import printable, unusual


@o.command(
    "extract --model all-MiniLM-L6-v2 --data corpora/wikigold",
    defaults={"task": "none: reads the text without answers", "keep": "words"},
    completions={"layers": completion.among("all", *NAMES)},
)
def extract(
    request: api.ExtractRequest,
    dry_run: bool = o.flag("--dry-run", "Show the planned store, and do nothing."),
) -> None:
    """Store the hidden states of every word, once.

    A store has (words + texts) x (layers + 1) x hidden size x 2 bytes. It holds the first special
    token (cls) of each text, too. An existing store is not computed again, and an interrupted
    extraction resumes. With --shards, only lost shards are made again.
    """
    from featbert.features.plan import stored_size

    began, lines = time.time_ns(), []
    plan = api.plan_extract(request) if dry_run else None
    store = api.extract(request) if plan is None else plan.finished
    if store is None and plan is not None:
        lines = [f"{plan.path}: would hold {stored_size(plan.manifest)}"]
    elif store is not None and store.path.stat().st_mtime_ns < began:
        lines = [f"{store.path}: exists with all requested layers, nothing to do"]
    elif store is not None:
        m = store.manifest
        speed = round(m.words / max(m.seconds, 1e-9))
        lines = [f"{store.path}: {stored_size(m)}, {speed:,} words/s"]
        names = next(iter(m.splits.values())).counts
        if counts := unusual({n: sum(s.counts[n] for s in m.splits.values()) for n in names}):
            lines.append(f"unusual: {counts}")
    for line in lines:
        typer.echo(printable(line))
