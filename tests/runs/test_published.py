import tomllib
from importlib import resources

import pytest

from featbert.errors import InputError
from featbert.runs.published import published_table, published_tables


def test_all_shipped_figures_are_read():
    text = (resources.files("featbert.runs") / "published.toml").read_text("utf-8")
    raw = tomllib.loads(text)["table"]
    tables = published_tables()
    assert [t.id for t in tables] == [t["id"] for t in raw]
    for table, expected in zip(tables, raw, strict=True):
        assert table.model_dump(exclude_unset=True, mode="json") == expected


def test_a_table_is_found_by_its_id():
    table = published_table("devlin2019-table7")
    (row,) = [r for r in table.rows if r.layers == "concat_last4"]
    assert (row.tuning, row.dev, row.test) == ("none", 96.1, None)
    with pytest.raises(InputError, match=r"did you mean 'pires2019-table1'"):
        published_table("pires2019-table")
