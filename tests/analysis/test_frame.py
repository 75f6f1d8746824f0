"""Comparisons as pandas tables, against the records that they are from."""

import pandas
import pytest

from featbert.analysis.transfer import transfer_matrices
from featbert.errors import InputError
from featbert.report.tables import transfer_tables
from tests.analysis.evaluation_records import identity, transfer_runs
from tests.analysis.records import compare, compare_runs, make_run, usual_runs
from tests.report.html.judged import usual


@pytest.mark.parametrize("per", ["row", "run"])
def test_columns_and_their_types_do_not_depend_on_what_was_run(per) -> None:
    (usual,) = compare(usual_runs())
    no_utf8 = {"corpus": "\udcff"}
    (lone,) = compare([make_run("one", layers=None, test=None, signature=no_utf8)])
    assert lone.frame(per)["corpus"].tolist() == ["\udcff"]
    some, other = (c.frame(per).dtypes.to_dict() for c in (usual, lone))
    shared = {name: kind for name, kind in some.items() if not name.startswith("setting_")}
    assert shared == other
    if True:
        assert {str(shared[name]) for name in ("store_bytes", "trained_parameters")} == {"Int64"}
    assert str(shared["layers"]) == "string"
    with pytest.raises(InputError, match="'rows'"):
        lone.frame("rows")


def test_a_line_is_a_run_where_that_is_asked_for() -> None:
    (comparison,) = compare(usual_runs())
    frame = comparison.frame("run").set_index("run")
    assert len(frame) == 12
    for run in usual_runs():
        line, record = frame.loc[run.name], run.record
        assert (line["seed"], line["best_epoch"]) == (record.seed, record.best_epoch)
        assert line["dev_f1"] == record.scores["dev"].values["f1"]
        assert line["test_strict_f1"] == record.scores["test"].values["strict_f1"]
        assert line["training_seconds"] == record.cost.training_seconds


def test_settings_in_which_rows_differ_are_columns_with_their_own_values() -> None:
    runs = [
        make_run(f"tuned-{n}", layers=None, settings={"epochs": 4, "freeze_to": n})
        for n in (None, 2, 4)
    ]
    document = {"settings": {"epochs": 4}, "signature": {"context": "document"}}
    frame = compare_runs([*runs, make_run("a", **document)], vary=["context"]).frame()
    assert sorted(frame["setting_freeze_to"].dropna()) == [2, 4]
    assert "setting_epochs" not in frame
    assert list(frame["context"]) == ["document", *["sentence"] * 3]


def test_every_analysis_has_its_columns_on_the_lines_of_its_rows(tmp_path) -> None:
    splits = {split: identity("x", split) for split in ("train", "dev", "test")}
    other = make_run("other", signature={"corpus": "x", "splits": splits})
    asked = {"stats": True, "cost": True, "scorers": True, "by": ["type", "length"]}
    comparison = compare_runs([*usual(tmp_path), other], vary=["corpus"], **asked)
    frame = comparison.frame().set_index("row")
    assert list(frame.index) == [row.name for row in comparison.rows]
    assert len(comparison.differences) == 4
    for d in comparison.differences:
        line = frame.loc[d.row]
        assert line["baseline_row"] == d.baseline
        assert line[f"{d.split}_difference"] == d.value
        assert d.value == pytest.approx(line[f"{d.split}_f1_difference"])
        assert (line[f"{d.split}_low"], line[f"{d.split}_high"]) == (d.low, d.high)
        assert line[f"{d.split}_p"] == d.estimate.p_value
        assert line[f"{d.split}_p_adjusted"] == d.adjusted
    for row, price in comparison.prices.items():
        for name, value in vars(price).items():
            cell = frame.loc[row, name]
            assert cell == value or (value is None and pandas.isna(cell)), name
    assert len(comparison.breakdowns) == 4
    for found in comparison.breakdowns:
        for name, buckets in found.rows.items():
            for bucket, score in buckets.items():
                column = f"{found.split}_f1_{found.facet}_{bucket}"
                assert frame.loc[name, f"{column}_mean"] == score.mean
                assert frame.loc[name, f"{column}_sd"] == score.sd
    alone = frame.loc["concat_last4 · x"]
    for name in ("baseline_row", "dev_difference", "dev_p", "dev_winner", "dev_f1_type_PER_mean"):
        assert pandas.isna(alone[name]), name


def test_a_corpus_called_like_a_column_is_no_column(tmp_path) -> None:
    f1 = {("seeds", "seeds"): 0.9, ("seeds", "de"): 0.6, ("de", "de"): 0.8, ("de", "seeds"): 0.7}
    (matrix,) = transfer_matrices(transfer_runs(tmp_path, f1))
    (table,) = transfer_tables([matrix])
    assert [line["seeds"] for line in table.lines] == [3, 3]
    assert [line["seeds_mean"] for line in table.lines] == pytest.approx([0.7, 0.9])


def test_a_page_leaves_out_facets_with_one_group_unless_they_are_named(tmp_path) -> None:
    runs = [*usual(tmp_path, seeds=(1,), n=20)]
    for by, named in (((), {}), (("sentence",), {"sentence": 1})):
        (comparison,) = compare(runs, everything=True, by=by)
        groups = {part.facet: len(part.gold) for part in comparison.breakdowns}
        assert groups == {"type": 3, "length": 2} | named
