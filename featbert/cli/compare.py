"""featbert compare"""

from featbert import api
from featbert.cli import options as o
from featbert.cli.showing import Outputs


@o.command("compare --format markdown", arguments=("runs",))
def compare(request: api.CompareRequest, outputs: Outputs) -> None:
    """Compare finished runs: quality over seeds, and cost.

    Without names, one table for each group of comparable runs: same text and tags, encoder,
    context and scorer. Named runs must be comparable. JSON holds the whole comparison: --from makes
    tables, figures and the report from it.
    """
    outputs.show(api.compare(request.model_copy(update=outputs.analyses)))
