from dataclasses import replace

import pytest

from featbert.analysis.compare import compare as compare_with
from featbert.analysis.listing import run_lines
from featbert.config import Analyses
from featbert.errors import InputError, MissingError
from featbert.runs.record import ExperimentRecord, SplitIdentity
from featbert.runs.run import FoundRuns
from tests.analysis.records import (
    compare,
    compare_runs,
    make_run,
    make_seeds,
    make_signature,
    usual_runs,
)

SPLITS = make_signature().splits
# A corpus with another dev, and the same test.
OTHER = {
    "corpus": "other",
    "splits": SPLITS | {"dev": SplitIdentity("x" * 64, "y" * 64, 10, 20)},
}
LATER = ["layer:10", "layer:9", "mean:1,2"]
PAPER = [
    *("embeddings", "second_to_last", "last"),
    *("sum_last4", "weighted_last4", "concat_last4", "weighted_all"),
]


def test_rows_come_in_the_order_of_the_paper():
    runs = [make_run(f"r{i}", layers=n) for i, n in enumerate([None, *LATER, *reversed(PAPER)])]
    (comparison,) = compare(runs)
    expected = [*PAPER, "layer:9", "layer:10", "mean:1,2", None]
    assert [row.layers for row in comparison.rows] == expected


def test_means_over_seeds_and_differences_to_fine_tuning():
    (comparison,) = compare(usual_runs())
    embeddings, _, concat, tuned = comparison.rows
    assert concat.score("dev").mean == pytest.approx(0.635)
    assert concat.score("dev").sd == pytest.approx(0.005)
    assert concat.score("dev").values == (0.63, 0.64, 0.635)
    assert tuned.is_baseline
    assert tuned.difference is None
    assert concat.baseline == embeddings.baseline == "fine-tuning"
    mean = (0.66 + 0.655 + 0.67) / 3
    assert concat.difference == pytest.approx({"dev": 0.635 - mean, "test": 0.635 - mean})
    # Without fine-tuning there is no difference.
    (alone,) = compare(make_seeds("a", [0.5]))[0].rows
    assert (alone.baseline, alone.difference) == (None, None)


def test_the_best_fine_tuned_row_on_dev_is_the_baseline():
    runs = [
        make_run("low", layers=None, dev=0.6, test=0.9, settings={"epochs": 1}),
        make_run("high", layers=None, dev=0.7, test=0.1, settings={"epochs": 2}),
        make_run("features", dev=0.8, test=0.5),
    ]
    (comparison,) = compare(runs)
    assert [row.is_baseline for row in comparison.rows] == [False, False, True]
    assert comparison.rows[1].difference == pytest.approx({"dev": -0.1, "test": 0.8})
    assert comparison.rows[1].baseline == "fine-tuning (epochs=2)"


@pytest.mark.parametrize("name", ["last", "last-2"])  # a row, and a run of it
def test_a_row_can_be_named_as_baseline(name):
    (comparison,) = compare(usual_runs(), against=name)
    assert [row.is_baseline for row in comparison.rows] == [False, True, False, False]
    assert comparison.rows[3].difference["dev"] == pytest.approx(1.985 / 3 - 0.615)
    with pytest.raises(MissingError, match=r"'lust'.*did you mean 'last'"):
        compare(usual_runs(), against="lust")


def test_what_varies_has_a_baseline_for_each_of_its_values():
    runs = [
        make_run(name, layers=layers, dev=dev, signature=own, vary=["context", "casing"])
        for name, layers, dev, own in (
            ("f1", "last", 0.5, {"context": "sentence"}),
            ("f2", "last", 0.55, {"context": "document"}),
            ("t1", None, 0.6, {"context": "sentence"}),
            ("t2", None, 0.7, {"context": "document"}),
            ("f3", "concat_last4", 0.5, {"context": "sentence", "casing": "truecased"}),
        )
    ]
    (comparison,) = compare(runs)
    found = {r.runs[0].name: r.difference and r.difference["dev"] for r in comparison.rows}
    differences = {"f1": pytest.approx(-0.1), "f2": pytest.approx(-0.15)}
    assert found == dict.fromkeys(("f3", "t1", "t2")) | differences
    assert comparison.context == "sentence, document"
    assert comparison.key["encoder_weights"] == "e" * 64
    assert "context" not in comparison.key
    # A named baseline reaches across contexts, which share their text.
    (comparison,) = compare(runs, against="t1")
    document = next(row for row in comparison.rows if row.runs[0].name == "f2")
    assert document.difference["dev"] == pytest.approx(-0.05)


def test_a_baseline_never_reaches_across_texts():
    longer = {"splits": SPLITS | {"train": SplitIdentity("l" * 64, "l" * 64, 900, 18_000)}}
    (apart,) = compare([*usual_runs(), make_run("l", layers="l", signature=longer)])
    assert {row.layers for row in apart.rows if row.baseline is None} == {"l"}
    runs = [
        make_run("f", dev=0.5, vary=["corpus"]),
        make_run("g", dev=0.5, vary=["corpus"], signature=OTHER),
        make_run("t", dev=0.7, layers=None, vary=["corpus"]),
    ]
    for baseline in (None, "t"):
        (comparison,) = compare(runs, against=baseline)
        differences = {r.corpus: r.difference for r in comparison.rows if r.layers}
        assert differences["other"] is None
        assert differences["wikigold"]["dev"] == pytest.approx(-0.2)
    assert comparison.sizes == {"test": (150, 3201)}
    assert comparison.corpus == "wikigold, other"


def test_a_comparison_for_each_group():
    runs = [*usual_runs(), make_run("b", test=None, signature={"context": "document"})]
    document, sentence = compare(runs)
    assert (document.context, len(document.rows), document.splits) == ("document", 1, ("dev",))
    assert (sentence.context, len(sentence.rows)) == ("sentence", 4)
    assert sentence.corpus == "wikigold"
    assert sentence.splits == ("dev", "test")
    assert sentence.sizes == {"dev": (150, 3201), "test": (150, 3201)}
    assert sentence.varied == sentence.notes == ()
    assert len(compare([])) == 0


def test_a_note_names_tables_that_are_apart_although_runs_are_comparable():
    frozen = {"experiment": "frozen", "vary": ["corpus"]}
    runs = [make_run("t", layers=None), make_run("f", **frozen)]
    elsewhere = make_run("g", signature=OTHER, **frozen)
    for together in (runs, [*runs, make_run("g", **frozen)]):
        (comparison,) = (compared := compare(together))
        assert [row.tuning for row in comparison.rows] == ["none", "full"]
        assert not compared.notes
    apart = [*runs, elsewhere]
    comparisons = compare(apart)
    (note,) = comparisons.notes
    assert (len(comparisons), "1 and 2 of 2" in note, "corpus" in note) == (2, True, True)
    assert not compare_with(apart, groups="one", request=Analyses(vary=["corpus"])).notes
    assert not compare([runs[0], elsewhere]).notes
    both = {"experiment": "both", "vary": ["corpus", "model"]}
    signature = OTHER | {"model": "m", "encoder_weights": "d" * 64}
    runs = [runs[0], make_run("b", **both), make_run("c", signature=signature, **both)]
    (note,) = compare(runs).notes
    assert "corpus,model" in note
    together = compare_with(runs, groups="one", request=Analyses(vary=["corpus", "model"]))
    assert len(together) == 1


def test_columns_of_answers_of_one_corpus_have_names():
    columns = {
        name: {
            "splits": {s: replace(of_split, tags=name[0] * 64) for s, of_split in SPLITS.items()}
        }
        for name in ("topic", "mood")
    }
    runs = [make_run(n, signature=s, reading={"target": n}) for n, s in columns.items()]
    assert {c.corpus for c in compare(runs)} == {"wikigold (topic)", "wikigold (mood)"}
    assert [row.corpus for c in compare(runs[:1]) for row in c.rows] == ["wikigold"]
    rows = {line["row"] for line in run_lines(FoundRuns(tuple(runs), {}, ()))}
    assert rows == {f"concat_last4 (target={name})" for name in columns}


def test_named_runs_have_to_fit_together():
    runs = [make_run("a"), make_run("b", signature={"context": "document"})]
    with pytest.raises(InputError, match=r"context: sentence .a. against document .b."):
        compare_runs(runs)
    assert len(compare_runs(runs, vary=["context"]).rows) == 2
    assert len(compare_runs(runs[:1]).rows) == 1
    with pytest.raises(InputError):
        compare_runs([])
    # A run that is named twice is one run.
    assert compare_runs([runs[0], runs[0]]).rows[0].left_out == ()


def test_a_part_of_an_experiment_shows_the_scores_that_its_tasks_have():
    show = ["has_answer_f1", "precision"]  # the first belongs to questions
    record = ExperimentRecord("trial", "", [], [], [], [], show, False, {}, [], {})
    assert compare_with([make_run("a")], experiment=record).view.show == ("precision",)
    with pytest.raises(InputError, match="has_answer_f1"):
        compare_with([make_run("a")], Analyses(show=show), experiment=record)


def test_notes_say_what_is_unusual():
    runs = [
        make_run("a", started="2026-01-01"),
        make_run("b", started="2026-01-02"),
        make_run("c", seed=2, signature={"device_name": "GPU", "threads": 1}),
        make_run("d", layers=None),
    ]
    (comparison,) = compare(runs)
    left_out, hardware = comparison.notes
    assert left_out.endswith("not a")
    assert "Some processor, threads: 2; GPU, threads: 1" in hardware


def test_what_learned_from_dev_has_a_baseline_of_its_own():
    """Fine-tuning on train alone says nothing about features that learned from dev too."""
    both = {"trained_on": ["train", "dev"], "settings": {"train_on": "train+dev"}}
    runs = [
        make_run("tuned", layers=None, dev=0.60, test=0.60),
        make_run("last", layers="last", dev=0.58, test=0.58),
        make_run("tuned-both", layers=None, dev=None, test=0.70, **both),
        make_run("last-both", layers="last", dev=None, test=0.65, **both),
    ]
    comparison = compare_runs(runs)
    assert not any("Δ" in note for note in comparison.notes)
    rows = {row.runs[0].name: row for row in comparison.rows}
    assert rows["last"].difference["test"] == pytest.approx(-0.02)
    assert rows["last-both"].difference == {"test": pytest.approx(-0.05)}
    assert rows["tuned"].is_baseline
    assert rows["tuned-both"].is_baseline
    (note,) = (n for n in compare_runs([*runs[:2], runs[3]]).notes if "Δ" in n)
    assert rows["last-both"].name in note
    assert rows["last"].name not in note.replace(rows["last-both"].name, "")
    assert not any("Δ" in note for note in compare_runs(runs[1:2]).notes)
