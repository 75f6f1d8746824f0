"""featbert probe"""

import typer

from featbert import api
from featbert.cli import options as o
from featbert.cli.stores import EXAMPLE
from featbert.tasks.base import get_task
from featbert.text import printable


@o.command(
    f"probe --features {EXAMPLE} --layers last,3",
    defaults={"data": "sample; with --features the store's corpus"},
)
def probe(request: api.ProbeRequest) -> None:
    """Check features quickly: logistic regression on layers.

    Trains a linear model on the word vectors of each layer, without a learning rate or a seed, and
    scores it on dev. A single combination is also reported by class. The scores are no row of a
    comparison. Only for the tasks entities and labels. Features are read or extracted as in
    `featbert train`.
    """
    columns = get_task(request.task).columns
    keys = [*columns]
    results = []
    for result in api.probe(request):
        scores = (f"{columns[key]} {100 * result.scores[key]:.2f}" for key in (keys[0], keys[-1]))
        typer.echo(f"{result.layers}  dev {'  '.join(scores)}")
        results.append(result)
    if len(results) == 1:
        from sklearn.metrics import classification_report

        from featbert.tasks.labels import labelled_words

        gold_and_predicted = labelled_words(results[0].gold, results[0].predicted)
        tags = [[*map(printable, row)] for row in gold_and_predicted]
        typer.echo(classification_report(*tags, zero_division=0))
