import dataclasses
import statistics

import pytest

from featbert.analysis.transfer import transfer_matrices
from featbert.runs.record import SearchRecord, TriedSettings
from tests.analysis.evaluation_records import evaluate, identity, language_run, transfer_runs
from tests.analysis.records import make_run

LANGUAGES = ("en", "de", "nl")
ROWS = {"en": (0.90, 0.60, 0.70), "de": (0.65, 0.80, 0.75), "nl": (0.55, 0.50, 0.85)}
F1 = {(a, b): f1 for a, row in ROWS.items() for b, f1 in zip(LANGUAGES, row, strict=True)}


def cell(matrix, train, test):
    return row(matrix, train).cells[matrix.evaluated_on.index(test)]


def row(matrix, train):
    return matrix.rows[matrix.trained_on.index(train)]


def test_every_cell_is_where_it_belongs(tmp_path):
    (matrix,) = transfer_matrices(transfer_runs(tmp_path, F1))
    assert matrix.trained_on == matrix.evaluated_on == ("de", "en", "nl")
    assert matrix.notes == ()
    for (train, test), f1 in F1.items():
        found = cell(matrix, train, test)
        assert found.score.values == pytest.approx((f1 - 0.01, f1, f1 + 0.01)), (train, test)
        assert found.own == (train == test)
        assert found.seeds == (1, 2, 3)
    assert matrix.means[1][0] == cell(matrix, "en", "de").score.mean
    assert matrix.own == tuple(tuple(i == j for j in range(3)) for i in range(3))
    run = language_run(tmp_path, "en", "dev", dev=0.91)
    evaluate(run, "de", 0.6, split="dev", identity=identity("de", "dev"))
    (dev,) = transfer_matrices([run], split="dev")
    assert dev.means == ((0.91, 0.6),)


def test_the_average_is_over_other_data_and_its_spread_over_seeds(tmp_path):
    runs = [language_run(tmp_path, "en", seed=seed, test=0.9) for seed in (1, 2)]
    for run, (nl, de) in zip(runs, ((0.3, 0.5), (0.6, 0.4)), strict=True):
        evaluate(run, "nl", nl)
        evaluate(run, "de", de)
    (matrix,) = transfer_matrices(runs)
    averages = [(0.3 + 0.5) / 2, (0.6 + 0.4) / 2]
    assert row(matrix, "en").average == pytest.approx(statistics.fmean(averages))
    assert row(matrix, "en").average_sd == pytest.approx(statistics.stdev(averages))


@pytest.mark.parametrize(
    "change", [{"encoder_weights": "x" * 64}, {"context": "document"}, {"pooling": "mean"}]
)
def test_runs_that_are_not_comparable_share_no_matrix(tmp_path, change):
    usual = transfer_runs(tmp_path / "a", F1, seeds=(1,))
    other = transfer_runs(tmp_path / "b", F1, seeds=(2,), signature=change)
    matrices = transfer_matrices([*usual, *other])
    assert len(matrices) == 2
    assert {row.seeds for m in matrices for row in m.rows} == {(1,), (2,)}


def test_what_a_search_chose_for_each_corpus_parts_no_matrix(tmp_path):
    runs, searches = [], []
    for language, rate, target in (("en", 0.004, "de"), ("de", 0.01, "en"), ("nl", 0.004, "en")):
        settings = {"epochs": 4, "learning_rate": rate}
        run = language_run(tmp_path, language, settings=settings, configurations_tried=2)
        evaluate(run, target)
        runs.append(run)
        tried = [TriedSettings({"learning_rate": rate}, [run.name], 0.5, 0.5, "finished", 1.0, 1.0)]
        of_run = ("none", "concat_last4", f"wikiann-{language}", "", "grid", tried, 0, [run.name])
        searches.append(SearchRecord(*of_run))
    assert len(transfer_matrices(runs)) == 2
    (matrix,) = transfer_matrices(runs, searches)
    assert matrix.trained_on == ("de", "en", "nl")


def test_another_scorer_shares_no_matrix_and_an_evaluation_by_it_is_left_out(tmp_path):
    runs = transfer_runs(tmp_path, F1, seeds=(1,))
    run = language_run(tmp_path, "es", seed=1)
    evaluate(run, "de", 0.1, scorer="another")
    (matrix,) = transfer_matrices([*runs, run])
    assert cell(matrix, "es", "de") is None
    assert "left out: es-concat_last4-1 on wikiann-de, which was scored by another" in matrix.notes
    others = transfer_runs(tmp_path / "b", F1, seeds=(1,), signature={"scorer": "another"})
    by_scorer = {m.scorer: m for m in transfer_matrices([*runs, *others])}
    # The others' evaluations are by the usual scorer, so nothing but their own cells is left.
    left = [c for r in by_scorer["another"].rows for c in r.cells if c is not None]
    assert [c.own for c in left] == [True] * 3


def test_what_was_not_evaluated_is_empty_and_said(tmp_path):
    runs = transfer_runs(tmp_path, F1, seeds=(1,))
    untested = language_run(tmp_path, "fr", seed=1, test=None)
    alone = language_run(tmp_path, "es", seed=1, test=0.7)
    for run in (untested, alone):
        evaluate(run, "de", 0.4)
    (matrix,) = transfer_matrices([*runs, alone, untested])
    assert matrix.trained_on == ("de", "en", "es", "fr", "nl")
    assert matrix.evaluated_on == ("de", "en", "es", "nl")
    assert [c is None for c in row(matrix, "es").cells] == [False, True, False, True]
    assert [c is None for c in row(matrix, "fr").cells] == [False, True, True, True]
    assert row(matrix, "es").average == pytest.approx(0.4)
    missing = [note for note in matrix.notes if "not evaluated" in note]
    assert [note.partition(":")[0] for note in missing if "fr" not in note] == [
        *("de on es", "en on es", "es on en", "es on nl", "nl on es")
    ]


def test_without_other_data_there_is_no_matrix(tmp_path):
    assert transfer_matrices([]) == []
    assert transfer_matrices([make_run("a"), make_run("b", layers=None)]) == []
    # Two languages without an evaluation are a matrix that says what is missing.
    runs = [language_run(tmp_path, language) for language in ("de", "en")]
    (matrix,) = transfer_matrices(runs)
    assert matrix.means == ((0.55, None), (None, 0.55))
    assert len(matrix.notes) == 2
    # Nor is there one of a sample of the corpus itself.
    evaluate(runs[0], "xx", corpus="wikiann-de-first-100")
    assert transfer_matrices(runs[:1]) == []


def test_text_that_was_trained_on_is_said(tmp_path):
    run = language_run(tmp_path, "en", "r")
    evaluate(run, "de", identity=identity("en", "train"))
    (matrix,) = transfer_matrices([run])
    (note,) = matrix.notes
    assert note.startswith("en on de: en was trained on wikiann-de test")
    # A corpus without a language goes by its name.
    run = language_run(tmp_path, "en", "s", signature={"language": None})
    evaluate(run, "de", corpus="a corpus", language=None)
    assert transfer_matrices([run])[0].evaluated_on == ("wikiann-en", "a corpus")


def test_of_two_mappings_the_newest_counts_for_all_seeds(tmp_path):
    runs = [language_run(tmp_path, "en", seed=seed) for seed in (1, 2)]
    for run in runs:
        evaluate(run, "de", 0.1, started="2026-01-03T00:00:00+00:00")
    evaluate(runs[0], "de", 0.9, mapping={"MISC": "O"}, started="2026-01-04T00:00:00+00:00")
    (matrix,) = transfer_matrices(runs)
    found = cell(matrix, "en", "de")
    assert (found.score.values, found.seeds) == ((0.9,), (1,))
    assert found.remarks == ("wikiann-de test is scored with MISC=O",)


def test_corpora_of_one_language_are_told_apart(tmp_path):
    splits = {split: identity("gold", split) for split in ("train", "dev", "test")}
    silver = language_run(tmp_path, "en", "a")
    gold = language_run(tmp_path, "en", "b", signature={"corpus": "wikigold", "splits": splits})
    evaluate(silver, "en", corpus="wikigold", identity=identity("gold"))
    # Other tags on one text are another column, too.
    evaluate(silver, "de")
    evaluate(silver, "de", identity=dataclasses.replace(identity("de"), tags="f" * 64))
    (matrix,) = transfer_matrices([silver, gold])
    assert matrix.trained_on == ("en (wikiann-en)", "en (wikigold)")
    assert matrix.evaluated_on[:2] == matrix.trained_on
    assert set(matrix.evaluated_on[2:]) == {
        "de (wikiann-de de-test-/de-test-)",
        "de (wikiann-de de-test-/ffffffff)",
    }


@pytest.mark.parametrize("other", [False, True])
def test_a_damaged_or_another_runs_evaluation_is_left_out_with_a_note(tmp_path, other):
    runs = [language_run(tmp_path, "en", "r"), language_run(tmp_path, "de", "s")]
    of_another = evaluate(runs[1], "en").read_text("utf-8")
    path = evaluate(runs[0], "de")
    path.write_text(of_another if other else "{", "utf-8")
    (matrix,) = transfer_matrices(runs)
    assert any(str(path) in note for note in matrix.notes)
    assert cell(matrix, "en", "de") is None
