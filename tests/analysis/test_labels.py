import pytest

from featbert.analysis.compare import compare
from featbert.analysis.labels import by_value, run_labels
from featbert.runs.record import SplitIdentity
from featbert.text import natural
from tests.analysis.records import make_run, make_signature


def labels(*runs):
    (comparison,) = compare(runs)
    return [row.label for row in comparison.rows]


def test_rows_of_one_name_say_which_settings_differ():
    rows = labels(
        make_run("a", settings={"epochs": 4, "learning_rate": 0.001, "scheme": "x"}),
        make_run("b", settings={"epochs": 4, "learning_rate": 3e-5, "scheme": "y"}),
        make_run("c", settings={"epochs": 4, "learning_rate": 3e-5, "scheme": "y", "crf": True}),
        make_run("d", layers="last", settings={"epochs": 9}),
    )
    assert rows == [
        "last (epochs=9)",
        "concat_last4 (epochs=4, learning_rate=3e-05, scheme=y, crf=true)",
        "concat_last4 (epochs=4, learning_rate=3e-05, scheme=y, crf=unset)",
        "concat_last4 (epochs=4, learning_rate=0.001, scheme=x, crf=unset)",
    ]


def test_a_setting_in_place_of_another_one_is_named_alone():
    runs = ({"head_epochs": 1}, {"head_epochs": 2}, {"head_from": "e2a3"})
    assert labels(*(make_run(f"r{i}", settings=own) for i, own in enumerate(runs))) == [
        "concat_last4 (head_epochs=1)",
        "concat_last4 (head_epochs=2)",
        "concat_last4 (head_from=e2a3)",
    ]


def test_a_body_and_an_output_have_the_names_that_people_read():
    parts = [{"body": body, "output": "crf"} for body in ("linear", "hidden")]
    rows = labels(
        *(make_run(f"r{i}", settings=part) for i, part in enumerate(parts)),
        make_run("r2", settings={"body": "linear", "output": "softmax"}),
    )
    assert set(rows) == {
        "concat_last4 (linear, CRF)",
        "concat_last4 (hidden, CRF)",
        "concat_last4 (linear, softmax)",
    }


def test_rows_come_in_the_order_of_the_numbers_that_differ():
    rates = [0.01, 2e-5, 1e-4, 5e-3, 1e-5]
    assert labels(
        *(make_run(f"r{r}", settings={"learning_rate": r, "epochs": 4}) for r in rates)
    ) == [f"concat_last4 (learning_rate={r})" for r in ("1e-05", "2e-05", "0.0001", 0.005, 0.01)]
    # Nothing frozen comes before what is.
    frozen = [None, 0, 4, 12]
    assert labels(
        *(make_run(f"k{k}", layers=None, settings={"freeze_to": k}) for k in reversed(frozen))
    ) == [f"fine-tuning (freeze_to={k})" for k in ("none", 0, 4, 12)]
    told = ["unset", "1e-05", "true", "none", "10", "nan", "inf", "0.001", "9", "-1", "0.5"]
    assert sorted(told, key=by_value) == [
        *("-1", "1e-05", "0.001", "0.5", "9", "10"),
        *sorted(["unset", "true", "none", "nan", "inf"]),
    ]


def test_numbers_within_names_are_numbers():
    ordered = ["", "1" + "0" * 5000, "a", "layer:0", "layer:9", "layer:010", "layer:11", "layers"]
    ordered.sort(key=natural)
    assert ordered[1:3] == ["a", "layer:0"]
    assert ordered[3:] == ["layer:9", "layer:010", "layer:11", "layers", "1" + "0" * 5000]


def test_a_bilstm_of_no_layers_is_called_linear():
    lstm = {"body": "bilstm", "lstm_layers": 2, "lstm_size": 256, "epochs": 4}
    probe = {"body": "linear", "epochs": 4}
    assert labels(
        make_run("a", layers="layer:2", layer_indices=[2], settings=probe),
        make_run("b", layers="layer:2", layer_indices=[2], settings=lstm),
        make_run("c", layers="last", layer_indices=[3], settings=lstm),
        make_run("d", layers="last", layer_indices=[3], settings={**lstm, "lstm_size": 64}),
        make_run("e", layers="last", layer_indices=[3], settings={**probe, "epochs": 9}),
        make_run("f", layers="embeddings", layer_indices=[0], settings=lstm),
        make_run("g", settings=lstm),
    ) == [
        # single layers in their order, whatever they are called, before combinations
        "embeddings (BiLSTM, lstm_size=256)",
        "layer:2 (BiLSTM, lstm_size=256)",
        "layer:2 (linear, epochs=4)",
        "last (BiLSTM, lstm_size=64)",
        "last (BiLSTM, lstm_size=256)",
        "last (linear, epochs=9)",
        "concat_last4 (BiLSTM, lstm_size=256)",
    ]
    # Where nobody is one, sizes are told as they are.
    assert labels(
        make_run("a", settings=lstm), make_run("b", settings={**lstm, "lstm_layers": 1})
    ) == ["concat_last4 (lstm_layers=1)", "concat_last4 (lstm_layers=2)"]


LSTM = {"body": "bilstm", "output": "softmax", "lstm_size": 256, "epochs": 4}
LINEAR = {"body": "linear", "output": "softmax", "epochs": 4}


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [
        ({"settings": LSTM}, {"settings": LINEAR}, ("BiLSTM", "linear")),
        ({"settings": LSTM}, {"settings": LSTM | {"output": "crf"}}, ("softmax", "CRF")),
        (
            {"settings": LSTM},
            {"settings": LSTM | {"lstm_size": 8}},
            ("lstm_size=256", "lstm_size=8"),
        ),
        (
            {"settings": LINEAR | {"sentence_pooling": "mean"}},
            {"settings": LINEAR | {"sentence_pooling": "cls"}},
            ("mean", "cls"),
        ),
        (
            {"settings": LINEAR | {"learning_rate": 0.2}},
            {"settings": LINEAR | {"learning_rate": 0.1}},
            ("learning_rate=0.2", "learning_rate=0.1"),
        ),
        (
            {"signature": {"packing": "apart"}},
            {"signature": {"packing": "joint"}},
            ("packing=apart", "packing=joint"),
        ),
        (
            {"signature": {"pooling": "mean"}},
            {"signature": {"pooling": "last"}},
            ("pooling=mean", "pooling=last"),
        ),
        (
            {"signature": {"encoder_precision": "fp32"}},
            {"signature": {"encoder_precision": "bf16"}},
            ("encoder_precision=fp32", "encoder_precision=bf16"),
        ),
        (
            {"signature": {"encoder_precision": "fp32", "training_precision": "fp32"}},
            {"signature": {"encoder_precision": "bf16", "training_precision": "bf16"}},
            ("precision=fp32", "precision=bf16"),
        ),
        (
            {"signature": {"encoder_precision": "fp32", "training_precision": "bf16"}},
            {"signature": {"encoder_precision": "bf16", "training_precision": "fp32"}},
            (
                "encoder_precision=fp32, training_precision=bf16",
                "encoder_precision=bf16, training_precision=fp32",
            ),
        ),
    ],
)
def test_rows_of_other_layers_say_what_else_differs(first, second, named):
    ends = {"layers": "layer:1", "layer_indices": [1]}, {"layers": "last", "layer_indices": [3]}
    runs = make_run("a", **ends[0], **first), make_run("b", **ends[1], **second)
    for names in (labels(*runs), list(run_labels(run.record for run in runs).values())):
        assert names == [
            f"{base} ({what})" for base, what in zip(("layer:1", "last"), named, strict=True)
        ]


def test_frozen_and_tuned_rows_say_what_else_differs():
    rows = labels(
        make_run("a", layers="last", settings=LSTM, signature={"packing": "apart"}),
        make_run(
            "b",
            layers=None,
            settings=LINEAR | {"learning_rate": 3e-5, "epochs": 9},
            signature={
                "packing": "joint",
                "store_dtype": None,
                "encoder_precision": f"{make_signature().encoder_precision}-autocast",
            },
        ),
    )
    assert rows == ["last (BiLSTM, packing=apart)", "fine-tuning (linear, packing=joint)"]


def test_settings_that_a_search_chose_are_named_among_rows_of_the_same_layers():
    chosen = {"configurations_tried": 3}
    assert labels(
        make_run("a", layers="layer:1", settings=LINEAR | {"learning_rate": 0.1}, **chosen),
        make_run("b", layers="last", settings=LINEAR | {"learning_rate": 0.2}, **chosen),
    ) == ["last", "layer:1"]


def test_conditions_keep_rows_apart():
    assert labels(
        make_run("a", seed=1),
        make_run("b", seed=2, signature={"pooling": "mean", "store_dtype": "float32"}),
    ) == [
        "concat_last4 (pooling=first, store_dtype=float16)",
        "concat_last4 (pooling=mean, store_dtype=float32)",
    ]


def test_training_texts_are_told_by_size_or_by_fingerprint():
    def trained_on(text, sentences):
        splits = make_signature().splits
        return {"splits": {**splits, "train": SplitIdentity(text, "1" * 64, sentences, 9)}}

    rows = labels(
        make_run("a", signature=trained_on("x" * 64, 60)),
        make_run("b", signature=trained_on("y" * 64, 600)),
        make_run("c", signature=trained_on("z" * 64, 600)),
    )
    assert rows == [
        "concat_last4 (train=60 sentences)",
        "concat_last4 (train=600 sentences yyyyyyyy/11111111)",
        "concat_last4 (train=600 sentences zzzzzzzz/11111111)",
    ]


def test_what_varies_by_declaration_is_no_part_of_the_label():
    signatures = {
        "document": {"context": "document"},
        "other": {"encoder_files": "0" * 64},
        "big": {"encoder_weights": "d" * 64, "model": "big"},
    }
    (comparison,) = compare(
        [
            make_run(name, vary=["model", "context"], settings={"context": name}, signature=own)
            for name, own in signatures.items()
        ]
    )
    assert {row.label for row in comparison.rows} == {"concat_last4"}
    assert comparison.varied == ("model", "context")
    assert [dict(row.varied) for row in comparison.rows] == [
        # Two encoders of one name are told apart by their weights and files.
        {"model": "all-MiniLM-L6-v2 eeeeeeee/00000000", "context": "sentence"},
        {"model": "all-MiniLM-L6-v2 eeeeeeee/ffffffff", "context": "document"},
        {"model": "big", "context": "sentence"},
    ]
