"""Each benchmark runs on something tiny, and its record holds what it promises."""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import (
    busy,
    embed,
    extract,
    finetune,
    gpu,
    precision,
    rows,
    scale,
    scaling,
    start,
    train,
)
from benchmarks.harness import command_line, in_turn, ratio
from benchmarks.text import CONLL2003, Size, generated_corpus
from featbert import FeatbertError
from featbert.config import defaults
from featbert.engine import in_turn as by_turns
from tests.tiny_encoders import write_encoder
from tests.workspace import command, ok

SPEED = {"seconds", "words_per_second", "flops_per_second", "share_of_matmul_rate"}
Recorded = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder with enough positions for the longest generated sentence."""
    return write_encoder(tmp_path_factory.mktemp("reader") / "bert", layers=4, positions=512)


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """Runs a program and returns its record."""

    def run(main: Callable[[list[str]], None], *words: object) -> dict[str, Any]:
        path = tmp_path / "record.json"
        main([*map(str, words), "--json", str(path), "--work", str(tmp_path)])
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        assert os.uname().nodename not in json.dumps(found["machine"])
        return found

    return run


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One precision on every machine. Its limit is not measured for long."""
    monkeypatch.setattr("benchmarks.machine.CHUNK_SECONDS", 1e-4)
    for module in ("extract", "contestants", "embed"):
        monkeypatch.setattr(f"benchmarks.{module}.precisions", lambda _: ["fp32"])


PROGRAMS = {
    "extract": (
        extract.main,
        (),
        {"transformers loop fp32", "featbert fp32", "forward alone fp32"},
    ),
    "train": (
        train.main,
        ("--epochs", 2, "--lstm-size", 4),
        {"nn.LSTM loop fp32", "featbert fp32"},
    ),
    "finetune": (finetune.main, ("--epochs", 2), {"transformers loop fp32", "featbert fp32"}),
    "lora": (
        finetune.main,
        ("--epochs", 2, "--tuning", "lora"),
        {"peft in a loop fp32", "featbert fp32"},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_contestants_have_seconds_and_rates(recorded: Recorded, reader: Path, name: str) -> None:
    main, more, contestants = PROGRAMS[name]
    record = recorded(main, "--sentences", 16, "--rounds", 2, "--model", reader, *more)
    assert set(record["measured"]) == contestants
    for row in record["measured"].values():
        assert row.keys() == SPEED | ({"dev_score"} if more else set())
        assert len(row["seconds"]) == 2
    assert {len(each["each"]) for each in record["ratios"].values()} == {2}


def test_sentences(
    recorded: Recorded, reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (texts := tmp_path / "texts").mkdir()
    for split in ("train", "dev", "test"):
        lines = [f"{('bad', 'good')[n % 2]} film {n} {split}\t{n % 2}\n" for n in range(20)]
        (texts / f"{split}.tsv").write_text("".join(["sentence\tlabel\n", *lines]), "utf-8")
    monkeypatch.setattr(rows, "featbert", lambda *words: ok(command(*words)))
    how = ("--data", texts, "--task", "classification", "--rounds", 1, "--model", reader)
    asked = ("--data", "sample:spans", "--sentences", 8, "--task", "spans", *how[4:])
    for each in (how, asked):
        measured = recorded(finetune.main, *each, "--epochs", 1)["measured"]
        assert all(0 <= row["dev_score"][0] <= 1 for row in measured.values())
    measured = recorded(rows.main, *how, "--seeds", 1)["measured"]
    assert len(measured["7 rows of 1 seeds"]["seconds"]) == 1
    epochs = measured["an epoch of a linear head"]["seconds"]
    assert len(epochs) == 7 * defaults("none", "classification").epochs


class ConstantEncode:
    """Stands for sentence-transformers."""

    def __init__(self, texts: Sequence[str], *_: object) -> None:
        self.vectors = np.full((len(texts), 16), 9, np.float32)

    def __call__(self) -> tuple[embed.Vectors, embed.Times]:
        return self.vectors, (3.0, 4.0)


def test_embed(recorded: Recorded, reader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "encoding", lambda *about: nullcontext(ConstantEncode(*about)))
    record = recorded(embed.main, "--sentences", 20, "--rounds", 2, "--model", reader)
    row = record["measured"]["featbert fp32"]
    assert len(row["seconds"]) == len(row["cpu_seconds"]) == 2
    assert row["median_difference"] > 1
    assert row["texts_within_0.001"] == 0
    assert len(record["ratios"]) == 2


def test_start(recorded: Recorded) -> None:
    measured = recorded(start.main, "--rounds", 1, "--runs", 2)["measured"]
    assert {row["imported"] for row in measured.values()} == {"neither"}


def test_scaling(recorded: Recorded, reader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "in_own_process", lambda work, *args: work(*args))
    small = ("--sentences", 4, "--times", "1,2", "--rounds", 1, "--lstm-size", 4)
    record = recorded(scaling.main, *small, "--model", reader)
    assert record["measured"]["training, 8 sentences"]["layers_bytes"][0] > 0
    assert set(record["ratios"]) == {"exponent of extraction", "exponent of training"}
    assert scaling.exponents([1, 2, 4], np.array([[1.0], [2.0], [4.0]])) == pytest.approx([1])


def test_scale(recorded: Recorded, reader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process stands for the workers."""
    monkeypatch.setattr(scale.ray_engine, "joined", lambda *_, **__: nullcontext((by_turns, 1)))
    small = ("--scale", 0.001, "--tasks", 2, "--rounds", 1, "--epochs", 1, "--lstm-size", 4)
    record = recorded(scale.main, *small, "--model", reader)
    names = {f"efficiency of {step}, 2 workers" for step in ("extraction", "runs")}
    assert set(record["ratios"]) == names


def test_precision(recorded: Recorded, reader: Path) -> None:
    measured = recorded(precision.main, "--sentences", 8, "--model", reader)["measured"]
    assert set(measured.pop("the same again").values()) == {0}
    for name, row in measured.items():
        if name.startswith("layer"):
            assert (
                row["fp32, stored as float16, mean"] < 2**-11 < row["bf16, stored as float32, mean"]
            )
        else:
            assert 0 <= row["mean"] <= row["highest"] < 1e-5


def test_gpu(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Table 7, which is a command of its own; a part that fails costs no other."""
    assert not gpu.call(["--help"], 0.0)  # killed at the limit

    def failing(words, limit):
        raise FeatbertError("no such thing")

    monkeypatch.setattr(gpu, "call", failing)
    tiny = ("--scale", 0.001, "--shape", "tiny", "--lstm-size", 4, "--device", "cpu")
    measured = recorded(gpu.main, *tiny)["measured"]
    assert set(measured) == {"disk", "extraction", "bilstm", "finetuning", "table7"}
    assert "no such thing" in measured.pop("table7")["failed"]
    assert not [part["failed"] for part in measured.values() if "failed" in part]


def test_generated_text_has_the_sizes_asked_for() -> None:
    sizes = {name: Size(s.sentences // 50, (s.words or 0) // 50) for name, s in CONLL2003.items()}
    corpus = generated_corpus(sizes)
    found = {name: Size(len(split), split.n_words) for name, split in corpus.splits.items()}
    assert found == sizes
    again = generated_corpus(sizes)
    assert [s.text_fingerprint for s in corpus.splits.values()] == [
        s.text_fingerprint for s in again.splits.values()
    ]


def test_contestants_take_turns_and_ratios_compare_within_a_round() -> None:
    heard: list[tuple[str, int]] = []
    works = {name: lambda n, name=name: float(not heard.append((name, n))) for name in "ab"}
    assert in_turn(works, 3) == {"a": [1, 1, 1], "b": [1, 1, 1]}
    assert heard == [("a", 1), ("b", 1), ("b", 2), ("a", 2), ("a", 3), ("b", 3)]
    assert ratio([4.0, 9.0, 5.0], [2.0, 3.0, 5.0]).each == (2, 3, 1)


def test_a_recorded_command_holds_no_paths(tmp_path: Path) -> None:
    data = tmp_path / "wikigold"
    data.mkdir()
    given = ["--json", f"{tmp_path}/x.json", f"--work={tmp_path}", "--data", str(data)]
    assert command_line("python -m benchmarks.start", given) == (
        "python -m benchmarks.start --data wikigold"
    )


def test_busy(
    recorded: Recorded, reader: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def here(options: Any, store: Path, folder: Path, work: str, *about: object) -> float:
        assert about[0] in busy.POLICIES.values()
        busy.child([work, str(store), str(folder), *options.given])
        return float(capsys.readouterr().out)

    monkeypatch.setattr(busy, "steps_a_minute", here)
    small = ("--sentences", 70, "--epochs", 2, "--lstm-size", 4, "--rounds", 1)
    record = recorded(busy.main, *small, "--model", reader, "--policies", "passive")
    rates = {name: row["median"] for name, row in record["measured"].items()}
    assert min(rates.values()) > 0
    shares = {name: each["median"] for name, each in record["ratios"].items()}
    beside, alone = (rates[f"bilstm, passive, {load}"] for load in ("beside", "alone"))
    assert shares["bilstm, passive: beside over alone"] == pytest.approx(beside / alone)
