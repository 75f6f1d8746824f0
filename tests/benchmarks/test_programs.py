"""Every program in a tiny form: it runs to its record, which has what a reader looks for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from benchmarks import (
    extract,
    finetune,
    gpu,
    growth,
    memory,
    precision,
    rows,
    start,
    store,
    streaming,
    table7,
    tolerance,
    train,
)
from benchmarks.run_records import KEPT, write_runs
from benchmarks.stores import write_random_store
from benchmarks.text import Size, generated_corpus
from featbert.cli import app
from featbert.encoders.layers import NAMES
from featbert.runs.run import find_runs
from featbert.training.inputs import FeatureInputs

RECORD = {"benchmark", "command", "machine", "about", "measured", "ratios", "notes"}
SPEED = {"seconds", "words_per_second", "flops_per_second", "share_of_matmul_rate"}


@pytest.fixture
def recorded(tmp_path: Path, capsys):
    """Runs a program and gives its record; what it printed is in `printed`."""

    def run(main, *words: object) -> dict:
        file = tmp_path / "record.json"
        main([*map(str, words), "--json", str(file), "--work", str(tmp_path)])
        record = json.loads(file.read_text("utf-8"))
        assert set(record) == RECORD
        assert str(tmp_path) not in json.dumps(record)
        assert record["command"] in capsys.readouterr().out
        assert not list(tmp_path.glob("featbert-benchmark-*"))
        return record

    return run


def test_extract(recorded, reader) -> None:
    record = recorded(extract.main, "--rounds", 1, "--sentences", 8, "--model", reader)
    for row in record["measured"].values():
        assert set(row) == SPEED
        assert len(row["seconds"]) == 1
    assert "featbert fp32 over transformers loop fp32" in record["ratios"]
    assert "featbert fp32 over forward alone fp32, loading not counted" in record["ratios"]
    assert record["about"]["wordpieces"] >= record["about"]["words"]
    assert not any("lost" in note for note in record["notes"])


def test_train(recorded, reader) -> None:
    small = ("--sentences", 8, "--epochs", 1, "--lstm-size", 4)
    record = recorded(train.main, "--rounds", 1, *small, "--model", reader)
    for row in record["measured"].values():
        assert set(row) == {*SPEED, "dev_f1"}
    assert "featbert fp32 over nn.LSTM loop fp32" in record["ratios"]


def test_finetune(recorded, reader) -> None:
    small = ("--sentences", 8, "--epochs", 1)
    record = recorded(finetune.main, "--rounds", 1, *small, "--model", reader)
    for row in record["measured"].values():
        assert set(row) == {*SPEED, "dev_f1"}
    assert "featbert fp32 over transformers loop fp32" in record["ratios"]


def test_store(recorded) -> None:
    small = ("--megabytes", 2, "--hidden", 64, "--rounds", 1)
    measured = recorded(store.main, *small)["measured"]
    assert set(measured) == {"one layer", "last four", "all layers", "whole file"}
    asked = [row["bytes_asked"] for row in measured.values()]
    assert asked[0] < asked[1] < asked[2]  # what was not asked for is not read


def test_memory(recorded, reader, monkeypatch) -> None:
    monkeypatch.setattr(memory, "in_own_process", lambda work, *args: work(*args))
    small = ("--sizes", "8", "--train-sizes", "8", "--lstm-size", 4)
    measured = recorded(memory.main, *small, "--model", reader)["measured"]
    assert "above_bytes" in measured["extraction, 8 sentences"]
    assert {"above_bytes", "layers_bytes"} <= set(measured["training, 8 sentences"])


def test_streaming(recorded) -> None:
    record = recorded(streaming.main, "--sentences", 40, "--rounds", 1, "--lstm-size", 4)
    assert set(record["measured"]) == {"in memory", "from disk"}
    assert "from disk over in memory" in record["ratios"]


def test_a_batch_from_disk_is_the_batch_in_memory(tmp_path) -> None:
    corpus = generated_corpus({"train": Size(20)})
    store = write_random_store(corpus, tmp_path, num_layers=2, hidden_size=8)
    arrays = store.mapped("train", [1, 2])
    mapped = FeatureInputs([[torch.from_numpy(a) for a in arrays]], store.offsets("train"))
    held = FeatureInputs(torch.from_numpy(store.read("train", [1, 2])), store.offsets("train"))
    ids = np.array([7, 3, 19])
    found = streaming.Forgetful(mapped, store.path).batch(ids)
    assert torch.equal(found.states, held.batch(ids).states)


def test_start(recorded) -> None:
    measured = recorded(start.main, "--rounds", 1, "--runs", 2)["measured"]
    assert {row["imported"] for row in measured.values()} == {"neither"}
    assert set(measured) == {"--help", "compare, 2 runs"}


def test_as_many_runs_as_are_asked_for(tmp_path) -> None:
    number = len(list(KEPT.glob("*.json"))) + 1
    write_runs(tmp_path, number)
    found = find_runs(tmp_path)
    assert len(found.runs) == number
    assert len({(run.record.name, run.record.seed) for run in found}) == number


def test_growth(recorded, reader, tmp_path) -> None:
    figure = tmp_path / "growth.png"
    small = ("--sentences", 4, "--times", "1,2", "--rounds", 1, "--lstm-size", 4)
    record = recorded(growth.main, *small, "--model", reader, "--figure", figure)
    assert set(record["measured"]) == {
        "extraction, 4 sentences", "extraction, 8 sentences",
        "training, 4 sentences", "training, 8 sentences",
    }  # fmt: skip
    assert set(record["ratios"]) == {"exponent of extraction", "exponent of training"}
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_gpu(recorded, monkeypatch) -> None:
    def in_this_process(words: list[str], limit: float) -> tuple[int, str]:
        done = CliRunner().invoke(app, words)
        return done.exit_code, f"{done.output} {done.exception!r}"

    monkeypatch.setattr(table7, "call", in_this_process)
    tiny = ("--scale", 0.001, "--shape", "tiny", "--lstm-size", 4)
    table = ("--epochs", 1, "--seeds", 1, "--jobs", 1)
    measured = recorded(gpu.main, *tiny, *table, "--device", "cpu")["measured"]
    assert set(measured) == {"disk", "extraction", "bilstm", "finetuning", "table7"}
    assert {part.get("failed") for part in measured.values()} == {None}
    assert {"words_per_second", "share_of_matmul_rate"} <= set(measured["extraction"])
    assert measured["bilstm"]["epoch_seconds"] > 0
    assert measured["finetuning"]["epoch_seconds"] > 0
    assert measured["table7"]["complete"]
    assert set(measured["table7"]["training_seconds"]) == set(table7.ROWS)


def test_a_part_that_fails_costs_the_others_nothing(recorded, monkeypatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no such thing")

    for part in ("extract_once", "finetune_encoder", "run_table7"):
        monkeypatch.setattr(gpu, part, broken)
    tiny = ("--scale", 0.001, "--shape", "tiny", "--device", "cpu")
    measured = recorded(gpu.main, *tiny)["measured"]
    assert "no such thing" in measured["extraction"]["failed"]
    assert "the extraction failed" in measured["bilstm"]["failed"]
    assert measured["disk"]["bytes"] > 0


def test_precision(recorded, reader) -> None:
    measured = recorded(precision.main, "--sentences", 8, "--model", reader)["measured"]
    for row in measured.values():
        assert 0 < row["fp32, stored as float16, mean"] < 2**-11
        assert 2**-11 < row["bf16, stored as float32, mean"] < 0.1
        assert row["bf16, stored as float32, highest"] > row["bf16, stored as float32, mean"]


def test_rows(recorded, reader) -> None:
    small = ("--sentences", 8, "--seeds", 1, "--epochs", 1, "--lstm-size", 4)
    record = recorded(rows.main, *small, "--model", reader)
    one, each = list(record["measured"].values())[:2]
    assert one["runs"] == each["runs"]
    assert one["extraction"] < each["extraction"]
    assert record["about"]["runs"] == len(NAMES) == len(record["measured"]) - 2
    (ratio,) = record["ratios"].values()
    assert ratio["median"] == each["seconds"] / one["seconds"] > 1


def test_tolerance(recorded, reader) -> None:
    measured = recorded(tolerance.main, "--sentences", 12, "--model", reader)["measured"]
    assert set(measured.pop(tolerance.PLAIN).values()) == {0}  # the same bits
    assert len(measured) == 5
    for row in measured.values():
        assert 0 <= row["mean"] <= row["highest"] < 1e-5
        assert 0 <= row["float16 numbers that differ"] < 0.05


def test_tolerance_compares_the_same_words() -> None:
    corpus = generated_corpus({"train": Size(9)})
    chosen = np.array([7, 0, 3])
    told = tolerance.with_sentences(corpus, chosen)["train"].sentences
    assert list(told) == [corpus["train"].sentences[i] for i in chosen]


def test_relative_errors() -> None:
    found, expected = np.array([[3.0, 5.0], [1, 0]]), np.array([[3.0, 4.0], [1, 0]])
    assert precision.relative_errors(found, expected).tolist() == [0.2, 0]
