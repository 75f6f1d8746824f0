"""Comparison: run records, which runs fit together, rows over seeds, published figures.

Everything here reads records and predictions of finished runs; nothing imports torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.comparison.compare import Comparison, Comparisons, compare, compare_runs
from featbert.comparison.grouping import (
    VARYABLE,
    IncomparableError,
    check_vary,
    comparable_key,
    group_comparable,
)
from featbert.comparison.record import (
    RECORD_NAME,
    Cost,
    Mix,
    RecordError,
    RunRecord,
    Signature,
    SplitIdentity,
    read_record,
    record_from_json,
    record_to_json,
)
from featbert.comparison.rows import Row, RowCost, SplitSummary, Statistic
from featbert.comparison.runs import (
    FoundRuns,
    Predictions,
    PredictionsError,
    Problem,
    Run,
    find_runs,
    write_record,
)
from featbert.lazy import attach

if TYPE_CHECKING:
    from featbert.comparison.breakdowns import (
        Breakdown,
        with_breakdowns,
    )
    from featbert.comparison.cost import (
        CostRow,
        Price,
        with_costs,
    )
    from featbert.comparison.curves import (
        FreezingCurve,
        LayerCurve,
        MixProfile,
        freezing_points,
        layer_points,
        mix_points,
    )
    from featbert.comparison.evaluations import (
        EvaluationRecord,
        evaluations_of,
        read_evaluation,
    )
    from featbert.comparison.learning import (
        Lead,
        LearningCurve,
        leads,
        learning_curves,
    )
    from featbert.comparison.pareto import (
        ParetoFront,
        ParetoPoint,
        pareto_points,
    )
    from featbert.comparison.published import (
        PublishedRow,
        PublishedTable,
        published_table,
        published_tables,
    )
    from featbert.comparison.reproduction import (
        Figure,
        ReproducedRow,
        Reproduction,
        reproduce,
    )
    from featbert.comparison.scorers import (
        ScorerFigure,
        ScorerRow,
        with_scorers,
    )
    from featbert.comparison.significance import (
        Difference,
        with_significance,
    )
    from featbert.comparison.transfer import (
        TransferMatrix,
        TransferRow,
        transfer_matrices,
    )
    from featbert.comparison.transfer_cells import (
        TransferCell,
    )
    from featbert.comparison.transfer_published import (
        PublishedMatrix,
        published_matrices,
    )

__all__ = [
    "RECORD_NAME",
    "VARYABLE",
    "Breakdown",
    "Comparison",
    "Comparisons",
    "Cost",
    "CostRow",
    "Difference",
    "EvaluationRecord",
    "Figure",
    "FoundRuns",
    "FreezingCurve",
    "IncomparableError",
    "LayerCurve",
    "Lead",
    "LearningCurve",
    "Mix",
    "MixProfile",
    "ParetoFront",
    "ParetoPoint",
    "Predictions",
    "PredictionsError",
    "Price",
    "Problem",
    "PublishedMatrix",
    "PublishedRow",
    "PublishedTable",
    "RecordError",
    "ReproducedRow",
    "Reproduction",
    "Row",
    "RowCost",
    "Run",
    "RunRecord",
    "ScorerFigure",
    "ScorerRow",
    "Signature",
    "SplitIdentity",
    "SplitSummary",
    "Statistic",
    "TransferCell",
    "TransferMatrix",
    "TransferRow",
    "check_vary",
    "comparable_key",
    "compare",
    "compare_runs",
    "evaluations_of",
    "find_runs",
    "freezing_points",
    "group_comparable",
    "layer_points",
    "leads",
    "learning_curves",
    "mix_points",
    "pareto_points",
    "published_matrices",
    "published_table",
    "published_tables",
    "read_evaluation",
    "read_record",
    "record_from_json",
    "record_to_json",
    "reproduce",
    "transfer_matrices",
    "with_breakdowns",
    "with_costs",
    "with_scorers",
    "with_significance",
    "write_record",
]

# Checked by pydantic, which a comparison of runs need not wait for.
_PUBLISHED = "featbert.comparison.published"
_REPRODUCTION = "featbert.comparison.reproduction"
__getattr__, __dir__ = attach(
    __name__,
    {
        "PublishedRow": _PUBLISHED,
        "PublishedTable": _PUBLISHED,
        "published_table": _PUBLISHED,
        "published_tables": _PUBLISHED,
        "Figure": _REPRODUCTION,
        "ReproducedRow": _REPRODUCTION,
        "Reproduction": _REPRODUCTION,
        "reproduce": _REPRODUCTION,
        "CostRow": "featbert.comparison.cost",
        "Price": "featbert.comparison.cost",
        "with_costs": "featbert.comparison.cost",
        "Breakdown": "featbert.comparison.breakdowns",
        "with_breakdowns": "featbert.comparison.breakdowns",
        "ScorerFigure": "featbert.comparison.scorers",
        "ScorerRow": "featbert.comparison.scorers",
        "with_scorers": "featbert.comparison.scorers",
        "Difference": "featbert.comparison.significance",
        "with_significance": "featbert.comparison.significance",
        "TransferMatrix": "featbert.comparison.transfer",
        "TransferRow": "featbert.comparison.transfer",
        "transfer_matrices": "featbert.comparison.transfer",
        "TransferCell": "featbert.comparison.transfer_cells",
        "PublishedMatrix": "featbert.comparison.transfer_published",
        "published_matrices": "featbert.comparison.transfer_published",
        "FreezingCurve": "featbert.comparison.curves",
        "LayerCurve": "featbert.comparison.curves",
        "MixProfile": "featbert.comparison.curves",
        "freezing_points": "featbert.comparison.curves",
        "layer_points": "featbert.comparison.curves",
        "mix_points": "featbert.comparison.curves",
        "Lead": "featbert.comparison.learning",
        "LearningCurve": "featbert.comparison.learning",
        "leads": "featbert.comparison.learning",
        "learning_curves": "featbert.comparison.learning",
        "ParetoFront": "featbert.comparison.pareto",
        "ParetoPoint": "featbert.comparison.pareto",
        "pareto_points": "featbert.comparison.pareto",
        "EvaluationRecord": "featbert.comparison.evaluations",
        "evaluations_of": "featbert.comparison.evaluations",
        "read_evaluation": "featbert.comparison.evaluations",
    },
)
