import tomllib
from importlib import resources

import pytest

from featbert.errors import InputError, MissingError
from featbert.runs.published import published_table, published_tables, read_published


def test_all_shipped_figures_are_read():
    text = (resources.files("featbert.runs") / "published.toml").read_text("utf-8")
    raw = tomllib.loads(text)["table"]
    tables = published_tables()
    assert [t.id for t in tables] == [t["id"] for t in raw]
    for table, expected in zip(tables, raw, strict=True):
        assert table.model_dump(exclude_none=True, mode="json") == expected


def test_a_table_is_found_by_its_id():
    table = published_table("devlin2019-table7")
    (row,) = [r for r in table.rows if r.layers == "concat_last4"]
    assert (row.tuning, row.dev, row.test) == ("none", 96.1, None)
    with pytest.raises(MissingError, match=r"did you mean 'pires2019-table1'"):
        published_table("pires2019-table")


GOOD = '[[table]]\nid = "a"\ntitle = "t"\ncorpus = "c"\nverified = "memory"\nrows = []\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[table]", "is not TOML"),
        (GOOD + "colour = 1", r"table\.0\.colour: Extra"),
        (GOOD.replace("rows = []", "rows = [{ f1 = 3 }]"), r"table\.0\.rows\.0\.f1: Extra"),
        (GOOD.replace("rows = []", 'rows = [{ dev = "96" }]'), r"rows\.0\.dev"),
        (GOOD.replace('title = "t"\n', ""), r"table\.0\.title: Field required"),
        (GOOD + "seeds = 1979-05-27", r"table\.0\.seeds"),
        (GOOD + GOOD, "twice there: a"),
        ("", "table: Field required"),
    ],
)
def test_figures_that_do_not_fit_are_refused(text, message):
    with pytest.raises(InputError, match=message):
        read_published(text, where="published.toml")


def test_the_same_without_the_mistake_is_read():
    assert read_published(GOOD, where="x")[0].rows == ()
