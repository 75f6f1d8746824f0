"""Comparison: run records, which runs fit together, rows over seeds, published figures.

Everything here reads records and predictions of finished runs; nothing imports torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from featbert.comparison.compare import Comparison, compare, compare_runs
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

__all__ = [
    "RECORD_NAME",
    "VARYABLE",
    "Comparison",
    "Cost",
    "Figure",
    "FoundRuns",
    "IncomparableError",
    "Mix",
    "Predictions",
    "PredictionsError",
    "Problem",
    "PublishedRow",
    "PublishedTable",
    "RecordError",
    "ReproducedRow",
    "Reproduction",
    "Row",
    "RowCost",
    "Run",
    "RunRecord",
    "Signature",
    "SplitIdentity",
    "SplitSummary",
    "Statistic",
    "check_vary",
    "comparable_key",
    "compare",
    "compare_runs",
    "find_runs",
    "group_comparable",
    "published_table",
    "published_tables",
    "read_record",
    "record_from_json",
    "record_to_json",
    "reproduce",
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
    },
)
