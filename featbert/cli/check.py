"""featbert check"""

import dataclasses

import typer

from featbert import api
from featbert.cli import options as o
from featbert.cli.showing import terminal_width
from featbert.data.check import check_corpus
from featbert.tasks.base import get_task
from featbert.text import json_text


@o.command("check corpora/conll2003", arguments=("data",))
def check(request: api.CorpusRequest, format: o.TableFormat = o.TABLE_FORMAT) -> None:
    """Show how a corpus is read: counts, repairs, overlap."""
    task = get_task(request.task)
    corpus = request.corpus(task.targets)
    report = check_corpus(corpus)
    if format == "json":
        typer.echo(json_text(dataclasses.asdict(report)))
        return
    from featbert.report.corpus import corpus_text

    typer.echo(corpus_text(corpus, report, task, terminal_width()))
