"""Published reference figures (`published.toml`), to be shown next to reproduced ones.

F1 is in percent, as printed. `verified` names the place of a table's figures.
"""

import functools
import tomllib
from importlib import resources
from typing import Any

from pydantic import BaseModel, ConfigDict

from featbert.errors import check_known


class PublishedRow(BaseModel):
    """One row of a published table: what identifies it, and its figures.

    Further names say how it was trained: epochs, tag_scheme, ... `dev` and `test` are one figure,
    or figures by language code. A table with tunings as columns has `finetune` and `features`.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    tuning: str | None = None
    model: str | None = None
    layers: str | None = None
    train: str | None = None
    setting: str | None = None
    dev: float | dict[str, float] | None = None
    test: float | dict[str, float] | None = None
    sd: float | None = None

    @property
    def conditions(self) -> dict[str, Any]:
        """The conditions that distinguish it from the table's other rows, by name."""
        figures = {"tuning", "layers", "dev", "test", "sd", "source"}
        conditions = self.model_dump(exclude_none=True, exclude=figures)
        return dict(sorted(conditions.items(), key=lambda item: (item[0] != "model", item[0])))


class PublishedTable(BaseModel):
    """One published table, its source and its protocol.

    `data` is the corpus name in runs, if it does not follow from `corpus` and the rows' language.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    title: str
    corpus: str
    verified: str
    rows: tuple[PublishedRow, ...]
    task: str = "entities"
    data: str | None = None
    source: str | None = None
    context: str | None = None
    scorer: str | None = None
    seeds: int | None = None
    protocol: str | None = None
    note: str | None = None


@functools.cache
def published_tables() -> tuple[PublishedTable, ...]:
    """All published tables that ship with the package, in the file's order."""
    text = (resources.files("featbert.experiments") / "published.toml").read_text("utf-8")
    return tuple(PublishedTable(**table) for table in tomllib.loads(text)["table"])


def published_table(table_id: str) -> PublishedTable:
    """The published table called `table_id`, such as "devlin2019-table7". InputError if unknown."""
    tables = {table.id: table for table in published_tables()}
    check_known("published table", [table_id], tables)
    return tables[table_id]
