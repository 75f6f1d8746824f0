"""Published reference figures, to be shown next to what is reproduced.

The figures ship with the package (`published.toml`). F1 is in percent, as printed; `verified` says
where the figures of a table were seen.
"""

from __future__ import annotations

import functools
import json
import tomllib
from importlib import resources

from pydantic import BaseModel, ConfigDict

from featbert.errors import MissingError, nearest


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PublishedRow(_Strict):
    """One row of a published table: what identifies it, and its figures in percent.

    `dev` and `test` are one figure, or figures by language code; `finetune` and `features` are
    the figures of a table that has the tunings as columns.
    """

    tuning: str | None = None
    model: str | None = None
    layers: str | None = None
    context: str | None = None
    epochs: int | None = None
    language: str | None = None
    mask: int | None = None
    method: str | None = None
    random: int | None = None
    same: int | None = None
    setting: str | None = None
    source: str | None = None
    tag_scheme: str | None = None
    train: str | None = None
    warmup: bool | None = None
    dev: float | dict[str, float] | None = None
    test: float | dict[str, float] | None = None
    sd: float | None = None
    finetune: float | None = None
    features: float | None = None


class PublishedTable(_Strict):
    """One published table with where it is from and how it was made."""

    id: str
    title: str
    corpus: str
    verified: str
    rows: tuple[PublishedRow, ...]
    task: str = "entities"
    source: str | None = None
    context: str | None = None
    scorer: str | None = None
    seeds: int | None = None
    protocol: str | None = None
    note: str | None = None


class _File(_Strict):
    table: tuple[PublishedTable, ...]


@functools.cache
def published_tables() -> tuple[PublishedTable, ...]:
    """All published tables that ship with the package, in the file's order."""
    text = (resources.files("featbert.runs") / "published.toml").read_text("utf-8")
    # By way of JSON, where a strict tuple may come from a list, and TOML's dates are text.
    return _File.model_validate_json(json.dumps(tomllib.loads(text), default=str)).table


def published_table(table_id: str) -> PublishedTable:
    """The published table called `table_id`, such as "devlin2019-table7".

    Raises:
        MissingError: there is none; names the nearest.
    """
    tables = {table.id: table for table in published_tables()}
    if table_id not in tables:
        raise MissingError(
            f"no published table {table_id!r}{nearest(table_id, tables)}; "
            f"there are {', '.join(tables)}"
        )
    return tables[table_id]
