"""featbert probe"""

import typer

from featbert import api
from featbert.cli import options as o
from featbert.cli.inspect import EXAMPLE
from featbert.tasks.base import get_task
from featbert.text import printable


@o.command(
    f"probe --features {EXAMPLE} --layers last,3",
    api.ProbeRequest,
    defaults={"data": "sample; with --features that of the store"},
)
def probe(request: api.ProbeRequest) -> None:
    """Check features quickly: logistic regression on layers.

    A linear model on each word's vector, scored on dev: what layers hold, without a learning rate
    or a seed. One combination alone is reported by class. It is not a row to compare with, and only
    for the tasks entities and labels. Features are found or made as in `featbert train`.
    """
    columns = get_task(request.task).columns
    keys = [*columns]
    probed = []
    for one in api.probe(request):
        scores = (f"{columns[key]} {100 * one.scores[key]:.2f}" for key in (keys[0], keys[-1]))
        typer.echo(f"{one.layers}  dev {'  '.join(scores)}")
        probed.append(one)
    if len(probed) == 1:
        from sklearn.metrics import classification_report

        from featbert.tasks.labels import labelled

        tags = [[*map(printable, row)] for row in labelled(probed[0].gold, probed[0].predicted)]
        typer.echo(classification_report(*tags, zero_division=0))
