"""Any input is read whole or refused in one line; see `targets.py` for what is held."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from featbert.data.tags import SCHEMES
from tests.hostile import strategies as made
from tests.hostile import targets
from tests.hostile.budget import inputs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@inputs(500)
@given(
    data=made.column_files,
    options=st.fixed_dictionaries(
        {},
        optional={
            "encoding": made.encodings,
            "token_column": st.integers(-1, 4),
            "tag_column": st.integers(-1, 4),
            "tagged": st.booleans(),
        },
    ),
)
@example(data=b"a +2AA- B-PER\n", options={"encoding": "utf-7"})
@example(data=b"a B-+2AA-\n", options={"encoding": "utf-7"})
def test_column_files(folder: Path, data: bytes, options: dict[str, Any]) -> None:
    targets.conll(data, folder / "train.conll", **options)


@inputs(250)
@given(data=made.jsonl_files, encoding=made.encodings)
def test_jsonl(folder: Path, data: bytes, encoding: str) -> None:
    targets.jsonl(data, folder / "train.jsonl", encoding=encoding)


@inputs(400)
@given(given_tags=made.tag_lists, scheme=st.sampled_from(SCHEMES))
def test_tags(given_tags: list[str], scheme: str) -> None:
    targets.tags(given_tags, scheme)


@inputs(300)
@given(spec=made.layer_specs, num_layers=st.none() | st.integers(0, 30))
def test_layer_specs(spec: str, num_layers: int | None) -> None:
    targets.layers(spec, num_layers)


@inputs(150)
@given(data=made.tables)
@example(data={"features": {}, "train_sizes": {"shares": [5e-324]}})
@example(data={"features": {"epochs": 10**5000}})
def test_experiment_tables(data: dict[str, Any]) -> None:
    targets.experiment_data(data)


@inputs(200)
@given(data=made.experiment_files)
@example(data=b"seeds = [0x" + b"f" * 5000 + b"]\n[finetune]\n")
@example(data=b"[" + b"k" * 5000 + b"finetune]\nwarmup = 0.1\n")
@example(data=b'data = "sample"\npublished = ["' + b"p" * 5000 + b'"]\n[finetune]\n')
@example(data=b"seeds = [" + b"9" * 5000 + b"]\n[finetune]\n")
@example(data=b"[grid.features]\nepochs = " + b"[" * 300 + b"]" * 300 + b"\n[features]\n")
def test_experiment_files(folder: Path, data: bytes) -> None:
    targets.experiment_text(data, folder / "trial.toml")


@inputs(150)
@given(text=made.records)
@example(text=json.dumps(made.RECORD | {"settings": {"epochs": None}}))
def test_run_records(text: str) -> None:
    targets.record(text)


@inputs(100)
@given(files=made.run_files)
def test_run_folders(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    runs = tmp_path_factory.mktemp("runs")
    (runs / "trial").mkdir()
    targets.run_folder(files, runs)


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"k{i} = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" for i in range(30)),
        "[features]\n" + "".join("[[variant]]\n" for _ in range(200)),
    ],
    ids=["9 ** 30 ways", "40,000 arms"],
)
def test_products_that_nobody_can_wait_for_are_refused_at_once(folder: Path, text: str) -> None:
    head = "[variants]\n" if text.startswith("k") else ""
    corpora = "[corpora]\n" + "".join(f"c{i} = 'x'\n" for i in range(200)) if not head else ""
    begun = time.process_time()
    targets.experiment_text((head + text + corpora).encode(), folder / "trial.toml")
    assert time.process_time() - begun < 2


def test_a_long_list_of_layers_takes_no_memory_before_it_is_refused() -> None:
    begun = time.process_time()
    targets.layers("mean:" + ",".join(["0-9999"] * 20_000), None)
    assert time.process_time() - begun < 2
