import pytest

from featbert.analysis.compare import compare_runs
from featbert.analysis.matching import match, published_facts, row_facts
from featbert.runs.published import PublishedRow, published_table
from tests.analysis.records import make_run


def facts(**changes):
    (row,) = compare_runs([make_run("a", **changes)]).rows
    return row_facts(row)


def fitting(table_id, **known):
    """Labels of what fits in a shipped table: (model, what else it fixes)."""
    rows = published_table(table_id).rows
    places, unknown = match([published_facts(row) for row in rows], known)
    return [rows[place] for place in places], unknown


def tuned(**settings):
    return facts(layers=None, settings={"epochs": 4, **settings})


def test_what_a_row_knows_of_itself():
    signature = {"language": "de", "context": "document", "model": "google-bert/bert-Base-cased"}
    settings = {"epochs": 3, "warmup": 0.1}
    assert facts(layers=None, signature=signature, settings=settings) == {
        "approach": "finetune",
        "model": "bert-base-cased",
        "context": "document",
        "language": "de",
        "tag_scheme": "bio",
        "warmup": True,
        "epochs": 3,
        "method": "plain",
        "setting": "in-language",
    }
    assert facts(signature={"language": None}, settings={}) == {
        "approach": "features",
        "layers": "concat_last4",
        "model": "all-minilm-l6-v2",
        "context": "sentence",
        "tag_scheme": "bio",
    }


@pytest.mark.parametrize(
    ("settings", "fact", "value"),
    [
        ({"warmup": 0.0}, "warmup", False),
        ({"warmup": 0}, "warmup", False),
        ({"warmup": 0.01}, "warmup", True),
        ({"discriminative": 1.0, "unfreeze": None}, "method", "plain"),
        ({"discriminative": 2.6}, "method", "discriminative"),
        ({"unfreeze": 3}, "method", "unfreezing"),
        ({"discriminative": 2.6, "unfreeze": 3}, "method", "discriminative+unfreezing"),
        ({"freeze_to": None}, "setting", "in-language"),
        ({"freeze_to": 0}, "setting", "embeddings frozen"),
        ({"freeze_to": 6}, "setting", "layers to 6 frozen"),
    ],
)
def test_what_follows_from_settings(settings, fact, value):
    assert tuned(**settings)[fact] == value


def test_the_words_are_those_of_the_published_tables():
    methods = {row.method for row in published_table("baumann2019-tables5-6").rows}
    assert {"plain", "discriminative+unfreezing"} <= methods
    settings = {row.setting for row in published_table("wu-dredze2019-table4").rows}
    assert {"in-language", "embeddings frozen", "layers to 6 frozen"} <= settings


def test_fine_tuning_is_published_plain_unless_it_says_otherwise():
    assert published_facts(PublishedRow(model="m", dev=1.0)) == {
        "approach": "finetune",
        "model": "m",
        "method": "plain",
        "setting": "in-language",
    }
    assert published_facts(PublishedRow(approach="features", layers="last", warmup=False)) == {
        "approach": "features",
        "layers": "last",
        "warmup": False,
    }
    assert published_facts(PublishedRow(method="lm10"))["method"] == "lm10"


@pytest.mark.parametrize("model", ["bert-base-cased", "all-minilm-l6-v2", "bert-base-uncased"])
def test_an_encoder_that_table_7_lacks_stands_beside_the_base_model(model):
    known = {"approach": "finetune", "model": model}
    (row,), unknown = fitting("devlin2019-table7", **known)
    assert (row.model, row.test, unknown) == ("bert-base-cased", 92.4, [])
    (row,), _ = fitting("devlin2019-table7", approach="features", model=model, layers="last")
    assert row.dev == 94.9


def test_an_encoder_of_the_table_stands_beside_its_own_rows_alone():
    (row,), _ = fitting("devlin2019-table7", approach="finetune", model="bert-large-cased")
    assert row.test == 92.8
    rows, _ = fitting("devlin2019-table7", approach="features", model="bert-large-cased")
    assert rows == []


@pytest.mark.parametrize(
    ("known", "dev"),
    [
        # English has as many rows of either encoder: the first is meant, not the one with the
        # most rows in all languages.
        ({"language": "en", "model": "other"}, 96.31),
        ({"language": "en-GB", "model": "other"}, 96.31),
        ({"language": "de", "model": "other"}, 88.44),
        ({"language": "en", "model": "bert-base-multilingual-cased"}, 96.51),
        ({"model": "bert-base-cased"}, 96.31),
    ],
)
def test_the_encoder_meant_is_one_of_the_run_s_language(known, dev):
    known |= {"approach": "finetune", "warmup": True, "epochs": 3}
    (row,), unknown = fitting("baumann2019-table4", **known)
    assert (row.dev, unknown) == (dev, [])


@pytest.mark.parametrize("model", ["other", "bert-base-multilingual-cased"])
def test_rows_that_an_unknown_fact_alone_tells_apart_are_undecided(model):
    known = {"approach": "finetune", "model": model, "warmup": False, "epochs": 4}
    assert fitting("baumann2019-table4", **known)[1] == ["language"]
    known |= {"language": "de"}
    assert fitting("baumann2019-table4", **known)[1] == []
    del known["epochs"], known["warmup"]
    assert fitting("baumann2019-table4", **known)[1] == ["warmup", "epochs"]


@pytest.mark.parametrize(("scheme", "test"), [("bio", 84.98), ("IOB2", 84.98), ("iob1", 85.81)])
def test_a_tag_scheme_has_several_names(scheme, test):
    (row,), _ = fitting("baumann2019-table3", approach="finetune", model="m", tag_scheme=scheme)
    assert row.test == test
    assert fitting("baumann2019-table3", model="m", tag_scheme="sentencepiece")[0] == []


def test_a_known_fact_that_differs_refuses_and_an_unknown_one_does_not():
    published = [{"approach": "finetune", "epochs": 3}]
    assert match(published, {"approach": "finetune"}) == ([0], [])
    assert match(published, {"approach": "finetune", "epochs": 3}) == ([0], [])
    assert match(published, {"approach": "finetune", "epochs": 4}) == ([], [])
    assert match(published, {"approach": "features", "epochs": 3}) == ([], [])
    assert match(published, {"layers": "last", "anything": 1}) == ([0], [])
    assert match([], {"approach": "finetune"}) == ([], [])


def test_rows_that_name_no_encoder_fit_any():
    published = [{"epochs": 3}, {"epochs": 3, "model": "a"}, {"epochs": 3, "model": "b"}]
    assert match(published, {"model": "b"})[0] == [0, 2]
    assert match(published, {"model": "c"})[0] == [0, 1]
    assert match(published[:1], {"model": "c"})[0] == [0]
