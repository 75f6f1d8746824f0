"""What the programs share: turns and ratios, one-line mistakes, records, shapes, batches."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks import extract, gpu, table7
from benchmarks.command import command_line
from benchmarks.forward import batches_of
from benchmarks.machine import Product, facts, matmul_rate
from benchmarks.random_bert import SHAPES, Shape, write_random_bert
from benchmarks.record import Record, as_json, as_text, spread
from benchmarks.resident import in_own_process
from benchmarks.rounds import in_turn, ratio
from featbert.encoders.alignment import align
from featbert.encoders.device import find_device
from featbert.encoders.encoder import Encoder, load_encoder
from featbert.encoders.layers import NAMES
from featbert.encoders.source import find_encoder
from featbert.features.extraction import extract as extract_features
from featbert.runs.file import read_experiment


def test_contestants_take_turns() -> None:
    heard: list[tuple[str, int]] = []

    def contestant(name: str):
        def work(number: int) -> float:
            heard.append((name, number))
            return float(number)

        return work

    seconds = in_turn({"a": contestant("a"), "b": contestant("b")}, 3)
    assert heard == [("a", 1), ("b", 1), ("b", 2), ("a", 2), ("a", 3), ("b", 3)]
    assert seconds == {"a": [1, 2, 3], "b": [1, 2, 3]}


def test_ratios_compare_within_a_round() -> None:
    found = ratio([4.0, 9.0, 5.0], [2.0, 3.0, 5.0])
    assert (found.median, found.low, found.high, found.each) == (2, 1, 3, (2, 3, 1))


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--rounds", "0"], 2, "argument --rounds: a whole number of at least 1 expected"),
        (["--rounds", "two"], 2, "argument --rounds: a whole number of at least 1 expected"),
        (["--json", "nowhere/x.json"], 2, "argument --json: a file in a folder that exists"),
        (["--work", "nowhere"], 2, "argument --work: a folder that exists expected"),
        (["--bogus"], 2, "unrecognized arguments: --bogus"),
        (["--data", "nowhere"], 1, "a corpus folder or file expected"),
    ],
)
def test_mistakes_are_one_line(arguments, code, told, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        extract.main(arguments)
    assert ended.value.code == code
    out, line = capsys.readouterr()
    assert out == ""
    assert line.startswith(f"python -m benchmarks.extract: {told}")
    assert line.count("\n") == 1


@pytest.mark.parametrize("scale", ["0", "1.5", "much"])
def test_a_scale_is_a_share(scale, capsys) -> None:
    with pytest.raises(SystemExit):
        gpu.main(["--scale", scale])
    assert "a number above 0 and at most 1 expected" in capsys.readouterr().err


def test_commands_are_told_without_places(tmp_path) -> None:
    data = tmp_path / "wikigold"
    data.mkdir()
    given = ["--json", f"{tmp_path}/x.json", f"--work={tmp_path}", "--data", str(data), "--rounds"]
    told = command_line("python -m benchmarks.extract", [*given, "3", "--model", "org/name"])
    assert told == "python -m benchmarks.extract --data wikigold --rounds 3 --model org/name"


def test_a_record_as_text_and_json() -> None:
    rows = {"us": {"seconds": [1.0, 3.0, 2.0], "whole": True}, "them": {"seconds": [4.0]}}
    record = Record("x", "command", {"cores": 2}, {"words": 1234}, rows, {"r": spread([2.0])})
    text = as_text(record).split("\n")
    assert text[:3] == ["command", "cores 2", "words 1,234"]
    assert "2 (1 to 3)" in text[5]
    assert json.loads(as_json(record))["ratios"]["r"]["each"] == [2.0]


def test_the_machine_is_described_without_names() -> None:
    found = facts()
    assert {"processor", "cores", "threads", "bf16", "versions"} <= set(found)
    assert os.uname().nodename not in json.dumps(found)
    assert matmul_rate(Product(8, 8, 8), "fp32", find_device("cpu")) > 0


def test_a_random_bert_is_a_checkpoint(news, tmp_path) -> None:
    folder = write_random_bert(tmp_path / "bert", news, Shape(2, 8, 2, 700))
    encoder = load_encoder(find_encoder(str(folder)))
    assert (encoder.num_layers, encoder.hidden_size, encoder.positions) == (2, 8, 512)
    assert encoder.model.config.vocab_size == 700
    alignment = align(news["train"].sentences, encoder.wordpieces, positions=encoder.positions)
    assert alignment.counts["unknown_words"] == 0
    assert encoder.wordpieces.unknown_id not in alignment.pieces
    again = write_random_bert(tmp_path / "again", news, Shape(2, 8, 2, 700))
    assert find_encoder(str(folder)).weights_hash == find_encoder(str(again)).weights_hash
    assert SHAPES["base"] == Shape(12, 768, 12, 28_996)


def test_the_forward_pass_has_the_extraction_s_batches(news, reader, tmp_path, monkeypatch) -> None:
    computed = []
    hidden_states = Encoder.hidden_states

    def heard(self, batch, layers=None):
        computed.append(batch.ids.numpy())
        return hidden_states(self, batch, layers)

    monkeypatch.setattr(Encoder, "hidden_states", heard)
    store = extract_features(news, str(reader), cache_dir=tmp_path, device="cpu")
    encoder = load_encoder(find_encoder(str(reader)))
    batches = [
        batch.ids.numpy()
        for split in news.splits.values()
        for batch in batches_of(
            encoder,
            align(split.sentences, encoder.wordpieces, positions=encoder.positions),
            store.manifest,
        )
    ]
    assert len(batches) == len(computed) > 1
    for expected, found in zip(computed, batches, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_work_in_a_process_of_its_own() -> None:
    assert in_own_process(os.getpid) != os.getpid()


def test_a_command_that_takes_too_long_is_interrupted(tmp_path) -> None:
    assert table7.call(["--help"], 60) == (0, "")
    told = table7.run_table7(
        tmp_path, tmp_path, tmp_path, seeds=[1], jobs=1, settings={}, device="cpu", limit=0.0
    )
    assert (told["complete"], told["runs_finished"], told["runs"]) == (False, 0, 6)


def test_the_experiment_of_feature_rows_reads() -> None:
    (arm,) = read_experiment(Path(table7.__file__).with_name("feature-rows.toml")).arms
    assert arm.finetune is None
    assert arm.features is not None
    assert (arm.features.layers, arm.seeds) == (list(NAMES), [1, 2, 3])
