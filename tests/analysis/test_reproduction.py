import dataclasses
import statistics
from fractions import Fraction

import pytest

from featbert.analysis.compare import compare, compare_runs
from featbert.analysis.reproduction import reproduce
from featbert.errors import InputError
from featbert.runs.published import PublishedTable, published_table, published_tables
from featbert.runs.record import SplitIdentity
from tests.analysis.records import make_run, make_seeds, usual_runs

TABLE_7 = (
    "embeddings",
    "second_to_last",
    "last",
    "weighted_last4",
    "concat_last4",
    "weighted_all",
)


def tuned(name="a", **changes):
    """A fine-tuned run with the settings of Baumann's Table 4."""
    settings = {"epochs": 3, "warmup": 0.1, **changes.pop("settings", {})}
    return make_run(name, layers=None, settings=settings, **changes)


def beside(reproduction):
    """What stands beside what: labels of the published rows and of the comparison's."""
    return {row.label: row.row and row.row.label for row in reproduction.rows}


def test_every_row_of_table_7_finds_its_own():
    names = (*TABLE_7, "sum_last4")
    runs = [
        run
        for i, name in enumerate(names)
        for run in make_seeds(name, [0.5 + i / 100, 0.52 + i / 100], layers=name)
    ]
    runs += make_seeds("tuned", [0.7, 0.8], layers=None)
    reproduction = reproduce(compare_runs(runs), published_table("devlin2019-table7"))
    assert beside(reproduction) == {
        "fine-tuning (bert-large-cased)": None,
        "fine-tuning (bert-base-cased)": "fine-tuning",
        **{name: name for name in TABLE_7},
    }
    assert reproduction.unpublished == ("sum_last4",)
    assert reproduction.splits == ("dev", "test")
    expected = dict(zip(TABLE_7, (91.0, 95.6, 94.9, 95.9, 96.1, 95.5), strict=True))
    for row in reproduction.rows[2:]:
        dev, test = row.figures["dev"], row.figures["test"]
        mean = 0.51 + names.index(row.label) / 100
        assert dev.published == pytest.approx(expected[row.label] / 100, abs=1e-12)
        assert dev.reproduced.mean == pytest.approx(mean)
        assert dev.difference == pytest.approx(mean - expected[row.label] / 100)
        assert (test.published, test.difference) == (None, None)
        assert test.reproduced.mean == pytest.approx(mean - 0.05)
    large, base = reproduction.rows[:2]
    assert (large.figures["test"].published, large.figures["test"].reproduced) == (0.928, None)
    assert base.figures["test"].difference == pytest.approx(0.7 - 0.924)


def test_published_figures_are_unrounded_shares():
    for table in published_tables():
        for its in table.rows:
            if not isinstance(its.dev, float) or its.approach not in (None, "finetune"):
                continue
            its = its.model_copy(update={"method": None, "language": None})
            alone = table.model_copy(update={"rows": (its,)})
            facts = {k: v for k, v in {"tag_scheme": its.tag_scheme}.items() if v}
            facts |= {"context": its.context or "sentence", "language": None}
            settings = {"epochs": its.epochs or 3, "warmup": float(its.warmup is not False)}
            run = tuned(settings=settings, signature=facts)
            figure = reproduce(compare_runs([run]), alone).rows[0].figures["dev"]
            exact = Fraction(str(its.dev)) / 100
            # The float nearest to the figure: no other is nearer.
            assert figure.published == float(exact)
            assert figure.published_sd == (its.sd and float(Fraction(str(its.sd)) / 100))


def test_rows_that_fit_one_published_row_have_a_line_each():
    runs = [tuned("a"), tuned("b", settings={"learning_rate": 0.5}), make_run("c")]
    comparison = compare_runs(runs)
    reproduction = reproduce(comparison, published_table("devlin2019-table7"))
    lines = [row for row in reproduction.rows if row.row]
    assert [row.label for row in lines] == [
        "fine-tuning (bert-base-cased, learning_rate=0.5)",
        "fine-tuning (bert-base-cased, learning_rate=unset)",
        "concat_last4",
    ]
    assert {row.figures["dev"].published for row in lines[:2]} == {0.964}
    assert [row.row for row in lines] == [*comparison.rows[1:], comparison.rows[0]]


def test_what_varies_by_declaration_tells_lines_apart():
    changes = [{"context": "document"}, {"context": "sentence"}]
    runs = [
        tuned(c["context"], signature=c, vary=["context"], settings={"epochs": 4}) for c in changes
    ]
    reproduction = reproduce(compare_runs(runs), published_table("devlin2019-table7"))
    assert [row.label for row in reproduction.rows[1:3]] == [
        "fine-tuning (bert-base-cased, document)",
        "fine-tuning (bert-base-cased, sentence)",
    ]
    assert "context: published document, here document or sentence" in reproduction.protocol
    # What a row of the table fixes itself decides.
    table = published_table("sentence-level-reproductions")
    lines = beside(reproduce(compare_runs(runs), table))
    assert lines == {
        "fine-tuning (kamalkraj/BERT-NER, sentence)": "fine-tuning",
        "fine-tuning (transformers run_ner example, sentence)": "fine-tuning",
        "fine-tuning (dsindex/ntagger, sentence)": "fine-tuning",
        "fine-tuning (dsindex/ntagger, document)": "fine-tuning",
        "features (BiLSTM-CRF) (google-research/bert issue 223)": None,
    }


def test_warmup_and_epochs_choose_the_row_and_its_deviation():
    runs = [
        *(tuned(f"w{e}", settings={"epochs": e}) for e in (3, 4, 5)),
        *(tuned(f"n{e}", settings={"epochs": e, "warmup": 0.0}, dev=0.4) for e in (3, 4)),
    ]
    table = published_table("baumann2019-table4")
    reproduction = reproduce(compare_runs(runs), table)
    assert reproduction.splits == ("dev",)
    figures = [(row.figures["dev"], row.row) for row in reproduction.rows[:4]]
    assert [(f.published, f.published_sd, row.settings["epochs"]) for f, row in figures] == [
        (0.9631, 0.0013, 3),
        (0.9642, 0.0009, 4),
        (0.9576, 0.0047, 3),
        (0.948, 0.0239, 4),
    ]
    assert [f.reproduced.mean for f, _ in figures] == [0.6, 0.6, 0.4, 0.4]
    assert len(reproduction.unpublished) == 1
    assert "epochs=5" in reproduction.unpublished[0]


def test_the_language_narrows_the_table_and_stands_in_for_one_unknown():
    table = published_table("baumann2019-table4")
    unknown = compare_runs([tuned(signature={"language": None})])
    with pytest.raises(InputError, match=r"differ in language, .* fine-tuning; give the language"):
        reproduce(unknown, table)
    german = reproduce(unknown, table, language="de")
    assert beside(german) == {
        "fine-tuning (warmup, epochs=3)": "fine-tuning",
        "fine-tuning (warmup, epochs=4)": None,
        "fine-tuning (no warmup, epochs=3)": None,
        "fine-tuning (no warmup, epochs=4)": None,
    }
    assert german.rows[0].figures["dev"].published == 0.8844
    assert german.table is table
    with pytest.raises(InputError, match=r"figures for en, de; found 'nl'"):
        reproduce(unknown, table, language="nl")
    with pytest.raises(InputError, match=r"language de; .*found .*language en;"):
        reproduce(compare_runs([tuned(signature={"language": "en"})]), table, language="de")


def test_runs_of_one_table_may_be_told_in_part():
    known = tuned("a", signature={"language": "en"}, vary=["corpus"])
    splits = {
        name: dataclasses.replace(identity, text="f" * 64)
        for name, identity in known.record.signature.splits.items()
    }
    unknown = tuned(
        "b", signature={"language": None, "corpus": "x", "splits": splits}, vary=["corpus"]
    )
    reproduction = reproduce(compare_runs([known, unknown]), published_table("baumann2019-table4"))
    assert [row.row.corpus for row in reproduction.rows if row.row] == ["wikigold"]
    assert reproduction.notes[0].startswith("rows of baumann2019-table4 differ in language, which")


@pytest.mark.parametrize("settings", [{"discriminative": 2.6}, {"unfreeze": 3}, {"freeze_to": 0}])
def test_what_is_not_plain_fine_tuning_stands_beside_no_plain_one(settings):
    odd = tuned("b", settings=settings)
    reproduction = reproduce(compare_runs([tuned(), odd]), published_table("devlin2019-table7"))
    assert [row.row.runs[0].name for row in reproduction.rows if row.row] == ["a"]
    assert len(reproduction.unpublished) == 1


def test_a_split_that_was_trained_on_is_not_reproduced():
    run = tuned(dev=None, trained_on=["train", "dev"])
    reproduction = reproduce(compare_runs([run]), published_table("devlin2019-table7"))
    figures = reproduction.rows[1].figures
    assert (figures["dev"].published, figures["dev"].reproduced) == (0.964, None)
    assert figures["dev"].difference is None
    assert figures["test"].reproduced.mean == 0.55
    assert "trained on: published unknown, here train+dev" in reproduction.protocol


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("wu-dredze2019-table4", "has its figures by language: it belongs beside a transfer"),
        ("pires2019-table1", "has its figures by language: it belongs beside a transfer"),
        ("devlin2019-table8", "has none: what its rows differ in is no part of a run's record"),
    ],
)
def test_tables_of_another_shape_are_refused(table, message):
    with pytest.raises(InputError, match=f"{table} {message}"):
        reproduce(compare_runs([tuned()]), published_table(table))


def test_no_row_at_all_says_what_was_looked_for():
    comparison = compare_runs([make_run("a", layers="layer:3"), make_run("b", layers="layer:4")])
    with pytest.raises(InputError) as told:
        reproduce(comparison, published_table("devlin2019-table7"))
    assert str(told.value) == (
        "a row like those of devlin2019-table7 expected (approach finetune or features; layers "
        "embeddings or second_to_last or last or weighted_last4 or concat_last4 or weighted_all; "
        "model bert-large-cased or bert-base-cased) among the "
        "rows of wikigold, all-MiniLM-L6-v2; found approach features; layers layer:3 or layer:4; "
        "model all-minilm-l6-v2; train such runs, or name another table"
    )
    with pytest.raises(
        InputError, match=r"\(model .*; warmup yes or no; epochs 3 or 4\).* yes; ep"
    ):
        reproduce(
            compare_runs([tuned(settings={"epochs": 7})]), published_table("baumann2019-table4")
        )


def test_protocol_tells_what_differs_a_line_each():
    reproduction = reproduce(compare(usual_runs())[0], published_table("devlin2019-table7"))
    assert reproduction.protocol == (
        "model: published bert-base-cased, here all-MiniLM-L6-v2",
        "corpus: published CoNLL-2003 English, here wikigold",
        "context: published document, here sentence",
        "scorer: published conlleval, here seqeval 1.2.2, conlleval semantics",
        "seeds: published 5, here 3",
        "tag scheme: published unknown, here BIO",
        f"published protocol: {published_table('devlin2019-table7').protocol}",
        "fine-tuning here: epochs=4, learning_rate=3e-05",
        "features here: epochs=15, learning_rate=0.001",
    )


def test_what_is_the_same_on_both_sides_has_no_line():
    signature = {
        "model": "google-bert/bert-base-cased",
        "corpus": "CoNLL-2003 English",
        "context": "document",
        "scorer": "conlleval",
        "tag_scheme": "iob2",
    }
    table = PublishedTable.model_validate(
        {
            "id": "t",
            "title": "T",
            "corpus": "CoNLL-2003 English",
            "verified": "transcription",
            "context": "document",
            "scorer": "conlleval",
            "seeds": 2,
            "rows": ({"model": "bert-base-cased", "tag_scheme": "BIO", "dev": 1.0},),
        }
    )
    runs = make_seeds("a", [0.5, 0.6], layers=None, signature=signature, settings={"clip": 1.0})
    reproduction = reproduce(compare_runs(runs), table)
    assert (reproduction.protocol, reproduction.notes) == ((), ())
    # One more seed in another pooling, and each is told.
    runs += [make_run("b", layers=None, signature=signature | {"pooling": "mean"}, settings={})]
    assert reproduce(compare_runs(runs), table).protocol == (
        "seeds: published 2, here 1 or 2",
        "pooling: published unknown, here first or mean",
    )


def test_figures_from_memory_say_so():
    table = published_table("devlin2019-table7")
    note = "What a reader should know."
    remembered = table.model_copy(update={"verified": "memory", "note": note})
    comparison = compare_runs([tuned()])
    assert reproduce(comparison, table).notes == ()
    assert reproduce(comparison, remembered).notes == (
        "the published figures are from memory: check them before relying on them",
        note,
    )


def test_the_mean_is_over_seeds():
    values = [0.66, 0.655, 0.67]
    reproduction = reproduce(compare(usual_runs())[0], published_table("devlin2019-table7"))
    reproduced = reproduction.rows[1].figures["dev"].reproduced
    assert reproduced.values == tuple(values)
    assert reproduced.mean == statistics.fmean(values)


def test_a_corpus_named_after_its_language_stands_beside_rows_of_that_language():
    """Baumann's Table 2 is of English, Table 3 of German; a comparison may hold both."""
    texts = {"en": "e" * 64, "de": "d" * 64}
    runs = [
        tuned(
            language,
            dev=0.6 if language == "en" else 0.5,
            vary=["corpus"],
            signature={
                "language": language,
                "corpus": language,
                "splits": {s: SplitIdentity(text, text, 150, 3201) for s in ("dev", "test")},
            },
        )
        for language, text in texts.items()
    ]
    comparison = compare_runs(runs)
    for table, mean in (("baumann2019-table2", 0.6), ("baumann2019-table3", 0.5)):
        reproduction = reproduce(comparison, published_table(table))
        matched = [row for row in reproduction.rows if row.row]
        assert matched
        assert {row.figures["dev"].reproduced.mean for row in matched} == {mean}
