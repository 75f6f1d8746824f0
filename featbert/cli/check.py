"""featbert check"""

import dataclasses

import typer

from featbert import api
from featbert.cli import options as o
from featbert.cli.showing import terminal_width
from featbert.data.check import check_corpus
from featbert.data.corpus import Corpus
from featbert.errors import as_key, spelling
from featbert.progress import notice, report
from featbert.tasks.base import Task, get_task
from featbert.tasks.suited import suited_task
from featbert.text import json_text


@o.command("check corpora/conll2003", arguments=("data",))
def check(request: api.CorpusRequest, format: o.TableFormat = o.TABLE_FORMAT) -> None:
    """Show how a corpus is read: counts, repairs, overlap."""
    task, corpus = _read(request)
    checked = check_corpus(corpus)
    if format == "json":
        typer.echo(json_text(dataclasses.asdict(checked)))
        return
    from featbert.report.corpus import corpus_text

    typer.echo(corpus_text(corpus, checked, task, terminal_width()))
    if not checked.doubts:
        given = {"data": request.data} | request.given
        keys = " ".join(as_key(name, value) for name, value in given.items())
        shared = checked.dev_in_test or any(
            part.repeated_sentences for part in checked.against_train.values()
        )
        result = "some texts are in two parts (see above)" if shared else "nothing looks wrong"
        report(f"{result}; next: featbert run decide {keys} --minutes 20")


def _read(request: api.CorpusRequest) -> tuple[Task, Corpus]:
    """The corpus for the task that was given, or for one that it suits."""
    task = get_task(request.task)
    if "task" not in request.given:
        task = get_task(suited_task(str(request.data), request.reading))
    corpus = request.corpus(task.targets)
    if task.name != request.task:
        notice(f"{request.data} is read for {spelling('task', task.name)}")
    return task, corpus
