import pytest

from featbert.analysis.labels import by_value, run_labels
from featbert.runs.record import SplitIdentity
from featbert.text import natural
from tests.analysis.records import compare, make_run, make_signature

LSTM = {"body": "bilstm", "output": "softmax", "lstm_size": 256, "epochs": 4}
LINEAR = {"body": "linear", "output": "softmax", "epochs": 4}
FIRST, LAST = ({"layers": n, "layer_indices": [i]} for n, i in (("layer:1", 1), ("last", 3)))


def labels(*changes):
    (comparison,) = compare([make_run(f"r{n}", **change) for n, change in enumerate(changes)])
    return [row.label for row in comparison.rows]


def settings(*values, **changes):
    return [{"settings": value, **changes} for value in values]


def trained_on(text, sentences):
    train = SplitIdentity(text * 64, "1" * 64, sentences, 9)
    return {"signature": {"splits": make_signature().splits | {"train": train}}}


def precisions(encoder, training):
    return {"encoder_precision": encoder, "training_precision": training}


RATE, POOLING = "learning_rate", "sentence_pooling"
OTHER_READING = {"pooling": "mean", "store_dtype": "float32"}
AUTOCAST = {"encoder_precision": f"{make_signature().encoder_precision}-autocast"}
# Changes of runs, and the labels of their rows in order.
CASES = {
    "settings that differ among rows of one name": (
        [
            *settings(
                {"epochs": 4, RATE: 0.001, "schedule": "linear"},
                {"epochs": 4, RATE: 3e-5, "schedule": "constant"},
                {"epochs": 4, RATE: 3e-5, "schedule": "constant", "dora": True},
            ),
            {"layers": "last", "settings": {"epochs": 9}},
        ],
        [
            "last (epochs=9)",
            "concat_last4 (epochs=4, learning_rate=3e-05, schedule=constant, dora=false)",
            "concat_last4 (epochs=4, learning_rate=3e-05, schedule=constant, dora=true)",
            "concat_last4 (epochs=4, learning_rate=0.001, schedule=linear, dora=false)",
        ],
    ),
    "a setting in place of another": (
        settings({"head_epochs": 1}, {"head_epochs": 2}, {"head_from": "e2a3"}),
        [f"concat_last4 ({n})" for n in ("head_epochs=1", "head_epochs=2", "head_from=e2a3")],
    ),
    "bodies and outputs by their titles": (
        settings(LINEAR | {"output": "crf"}, {"body": "logistic", "output": "crf"}, LINEAR),
        [
            f"concat_last4 ({name})"
            for name in ("linear", "linear, CRF", "logistic regression, CRF")
        ],
    ),
    "nothing frozen before what is": (
        settings(*({"freeze_to": k} for k in (12, 4, 0, None)), layers=None),
        [f"fine-tuning (freeze_to={k})" for k in ("none", 0, 4, 12)],
    ),
    "single layers in their order before combinations": (
        [
            {"layers": "layer:2", "layer_indices": [2], "settings": LINEAR},
            {"layers": "layer:2", "layer_indices": [2], "settings": LSTM},
            *({**LAST, "settings": LSTM | {"lstm_size": size}} for size in (256, 64)),
            {**LAST, "settings": LINEAR | {"epochs": 9}},
            {"layers": "embeddings", "layer_indices": [0], "settings": LSTM},
            {"settings": LSTM},
        ],
        [
            "embeddings (BiLSTM, lstm_size=256)",
            "layer:2 (BiLSTM, lstm_size=256)",
            "layer:2 (linear, epochs=4)",
            "last (BiLSTM, lstm_size=64)",
            "last (BiLSTM, lstm_size=256)",
            "last (linear, epochs=9)",
            "concat_last4 (BiLSTM, lstm_size=256)",
        ],
    ),
    "frozen and tuned rows": (
        [
            {"layers": "last", "settings": LSTM, "signature": {"packing": "apart"}},
            {
                "layers": None,
                "settings": LINEAR | {RATE: 3e-5, "epochs": 9},
                "signature": {"packing": "joint", "store_dtype": None, **AUTOCAST},
            },
        ],
        ["last (BiLSTM, packing=apart)", "fine-tuning (linear, packing=joint)"],
    ),
    "one option of all precisions": (
        [
            {**layers, "settings": body, "signature": precisions(encoder, training)}
            for layers, body, encoder, training in (
                (LAST, {"body": "logistic"}, "bf16", "fp64"),
                (LAST, {"body": "logistic"}, "fp32", "fp64"),
                (FIRST, LINEAR, "bf16", "bf16"),
                ({"layers": None}, LINEAR, "bf16-autocast", "bf16"),
                ({"layers": None}, LINEAR, "fp32", "fp32"),
            )
        ],
        [
            "layer:1 (linear, precision=bf16)",
            "last (logistic regression, precision=bf16)",
            "last (logistic regression, precision=fp32)",
            "fine-tuning (linear, precision=bf16)",
            "fine-tuning (linear, precision=fp32)",
        ],
    ),
    "rates that a search chose for several layers": (
        [
            {**layers, "settings": LINEAR | {RATE: rate}, "configurations_tried": 3}
            for layers, rate in ((FIRST, 0.1), (LAST, 0.2))
        ],
        ["layer:1", "last"],
    ),
    "conditions": (
        [{"seed": 1}, {"seed": 2, "signature": OTHER_READING}],
        [
            "concat_last4 (pooling=first, store_dtype=float16)",
            "concat_last4 (pooling=mean, store_dtype=float32)",
        ],
    ),
    "training texts by size or by fingerprint": (
        [trained_on("x", 60), trained_on("y", 600), trained_on("z", 600)],
        [
            "concat_last4 (train=60 sentences)",
            "concat_last4 (train=600 sentences yyyyyyyy/11111111)",
            "concat_last4 (train=600 sentences zzzzzzzz/11111111)",
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_labels_say_what_differs(case):
    changes, expected = CASES[case]
    assert labels(*changes) == expected


@pytest.mark.parametrize(
    ("part", "first", "last", "named"),
    [
        ("settings", LSTM, LINEAR, ("BiLSTM", "linear")),
        ("settings", LSTM, LSTM | {"output": "crf"}, ("", "CRF")),
        ("settings", LSTM, LSTM | {"lstm_size": 8}, ("lstm_size=256", "lstm_size=8")),
        ("settings", *(LINEAR | {POOLING: kind} for kind in ("mean", "cls")), ("mean", "cls")),
        ("settings", LINEAR | {RATE: 0.2}, LINEAR | {RATE: 1}, (f"{RATE}=0.2", f"{RATE}=1")),
        *(
            ("signature", {name: a}, {name: b}, (f"{name}={a}", f"{name}={b}"))
            for name, a, b in (
                ("packing", "apart", "joint"),
                ("pooling", "mean", "last"),
                ("encoder_precision", "fp32", "bf16"),
            )
        ),
        (
            *("signature", precisions("fp32", "fp32"), precisions("bf16", "bf16")),
            ("precision=fp32", "precision=bf16"),
        ),
        (
            *("signature", precisions("fp32", "bf16"), precisions("bf16", "fp32")),
            (
                "encoder_precision=fp32, training_precision=bf16",
                "encoder_precision=bf16, training_precision=fp32",
            ),
        ),
    ],
)
def test_rows_of_other_layers_say_what_else_differs(part, first, last, named):
    changes = [FIRST | {part: first}, LAST | {part: last}]
    records = (make_run(f"r{n}", **change).record for n, change in enumerate(changes))
    for names in (labels(*changes), list(run_labels(records).values())):
        expected = zip(("layer:1", "last"), named, strict=True)
        assert names == [f"{layers} ({text})" if text else layers for layers, text in expected]


def test_numbers_as_texts_come_in_their_order():
    values = ["auto", "1e-05", "true", "none", "10", "nan", "inf", "0.001", "9", "-1", "0.5"]
    assert sorted(values, key=by_value) == [
        *("-1", "1e-05", "0.001", "0.5", "9", "10"),
        *sorted(["auto", "true", "none", "nan", "inf"]),
    ]
    names = ["", "a", "layer:0", "layer:9", "layer:010", "layer:11", "layers", "1" + "0" * 5000]
    assert sorted(["", names[-1], *names[1:-1]], key=natural) == names


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
