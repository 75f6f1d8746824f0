import pytest

from featbert.analysis.compare import compare
from featbert.errors import InputError
from featbert.report.table import SHOWABLE, tables
from featbert.runs.record import SplitIdentity
from tests.analysis.records import make_run, make_seeds, make_signature, usual_runs


def heads(table, *blocks):
    return [column.head for column in table.select(*blocks)[0]]


def column(table, head):
    (place,) = [i for i, c in enumerate(table.columns) if c.head == head]
    return [row[place] for row in table.rows]


def test_columns_stand_in_blocks_and_empty_ones_are_left_out():
    (table,) = tables(compare(usual_runs()))
    assert heads(table, "name", "quality") == [
        "approach",
        "seeds",
        "dev F1",
        "test F1",
        "Δ dev",
        "Δ test",
    ]
    assert heads(table, "cost") == [
        "trained",
        "training",
        "extraction",
        "words/s",
        "store",
        "memory",
    ]
    (table,) = tables(compare([make_run("a", layers=None, test=None)]))
    assert heads(table, "quality") == ["seeds", "dev F1", "Δ dev"]
    assert heads(table, "cost") == ["trained", "training", "words/s", "memory"]


def test_what_varies_gets_a_column():
    runs = [
        make_run("a", vary=["context"]),
        make_run("b", vary=["context"], signature={"context": "document"}),
    ]
    (table,) = tables(compare(runs))
    assert heads(table, "name") == ["approach", "context"]
    assert [cell.text for cell in column(table, "context")] == ["document", "sentence"]
    assert table.title == "wikigold · all-MiniLM-L6-v2 · context: sentence, document"


def test_cells_hold_text_and_the_same_number():
    (table,) = tables(compare(usual_runs()))
    concat = [c[2] for c in (column(table, h) for h in ("dev F1", "Δ test", "training", "store"))]
    assert [(cell.text, cell.data) for cell in concat] == [
        ("63.50 ± 0.50", ("63.50", "0.50")),
        ("-2.67", ("-2.67",)),
        ("41 s", ("41.0",)),
        ("99.0 MB", ("99000000",)),
    ]
    for row in table.rows:
        for cell, its_column in zip(row, table.columns, strict=True):
            assert len(cell.data) == len(its_column.fields)


def test_best_is_the_highest_mean_on_its_data():
    runs = [
        *make_seeds("low", [0.5], layers="last"),
        make_run("high", dev=0.6, test=0.4),
        make_run("tie", layers=None, dev=0.6, test=0.5),
    ]
    (table,) = tables(compare(runs))
    assert [cell.best for cell in column(table, "dev F1")] == [False, True, True]
    assert [cell.best for cell in column(table, "test F1")] == [False, False, True]
    (table,) = tables(compare([make_run("alone")]))
    assert not column(table, "dev F1")[0].best


def test_rows_of_different_texts_do_not_compete():
    splits = {**make_signature().splits, "dev": SplitIdentity("x" * 64, "y" * 64, 10, 20)}
    runs = [
        make_run("a", dev=0.5, vary=["corpus"]),
        make_run("b", dev=0.9, vary=["corpus"], signature={"corpus": "easy", "splits": splits}),
        make_run("c", dev=0.6, vary=["corpus"], layers=None),
    ]
    (table,) = tables(compare(runs))
    best = {
        row.text: cell.best
        for row, cell in zip(column(table, "dev F1"), column(table, "dev F1"), strict=True)
    }
    assert best == {"50.00": False, "90.00": False, "60.00": True}


def test_encoders_compete_on_one_text_and_casings_too():
    vary = {"vary": ["model", "casing"]}
    other = {"model": "m", "encoder_weights": "f", "encoder_files": "g"}
    runs = [
        make_run("a", dev=0.5, **vary),
        make_run("b", dev=0.7, signature=other, **vary),
        make_run("c", dev=0.6, signature={"casing": "truecased"}, **vary),
    ]
    (table,) = tables(compare(runs))
    best = {cell.text: cell.best for cell in column(table, "dev F1")}
    assert best == {"50.00": False, "70.00": True, "60.00": False}
    assert heads(table, "name") == ["approach", "model", "casing"]


def test_casing_is_told_where_it_is_not_the_usual():
    (usual,) = tables(compare([make_run("a")]))
    (cased,) = tables(compare([make_run("a", signature={"casing": "truecased"})]))
    assert usual.title == "wikigold · all-MiniLM-L6-v2 · context: sentence"
    assert cased.title == f"{usual.title} · casing: truecased"
    assert [cell.text for cell in column(cased, "casing")] == ["truecased"]


def test_scores_are_shown_beside_entity_f1():
    (table,) = tables(compare(usual_runs()), show=["word_f1", "precision"])
    assert heads(table)[6:11] == [
        "dev word F1",
        "dev precision",
        "test word F1",
        "test precision",
        "trained",
    ]
    assert [cell.text for cell in column(table, "dev word F1")][2:] == [
        "65.50 ± 0.50",
        "68.17 ± 0.76",
    ]
    assert [cell.best for cell in column(table, "test word F1")] == [False, False, False, True]
    assert any(line.startswith("word F1: ") for line in table.legend)
    (plain,) = tables(compare(usual_runs()))
    assert not any(line.startswith("word F1") for line in plain.legend)
    assert not any(cell.best for cell in column(plain, "test word F1"))
    assert {c.head for c in plain.columns} == {c.head for c in table.columns}


@pytest.mark.parametrize("name", SHOWABLE)
def test_every_score_can_be_shown(name):
    (table,) = tables(compare(usual_runs()), show=[name])
    dev, test = heads(table, "shown")
    row = compare(usual_runs())[0].rows[0]
    for head, split in ((dev, "dev"), (test, "test")):
        mean = getattr(row.splits[split], name).mean
        assert column(table, head)[0].data[0] == f"{100 * mean:.2f}"


def test_a_score_that_nobody_knows_is_refused():
    with pytest.raises(InputError, match=r"word_f1, .*, found 'wordf1' \(did you mean 'word_f1'"):
        tables([], show=["recall", "wordf1"])


def test_titles_notes_and_sections():
    runs = [*usual_runs(), make_run("x", signature={"context": "document", "corpus": "a\x1bb"})]
    first, second = tables(compare(runs))
    assert first.title == r"1 of 2 · a\x1bb · all-MiniLM-L6-v2 · context: document"
    assert second.subtitle == (
        "dev 150 sentences, 3,201 words · test 150 sentences, 3,201 words · "
        "scorer: seqeval 1.2.2, conlleval semantics"
    )
    assert second.sections == (False, False, False, True)
    assert any(line.startswith("Δ") for line in second.legend)
    assert not any(line.startswith("Δ") for line in first.legend)
    twice = [make_run("a\x07", started="2026-01-01"), make_run("b", started="2026-01-02")]
    (table,) = tables(compare(twice))
    assert table.notes == (
        r"note: concat_last4: of runs with one seed and settings the newest counts, not a\x07",
    )
