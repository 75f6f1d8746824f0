"""Programs read the same files, in processes of their own, and finished ones stay."""

import json
import runpy
import sys

import pytest

from benchmarks.compared import __main__ as compared
from benchmarks.compared.__main__ import main, score
from benchmarks.compared.contests import CONTESTS
from featbert.errors import InputError
from tests.tiny_encoders import write_encoder

PROGRAMS = {"featbert", "sentence_transformers"}


def test_programs_learn_the_same_examples_and_finished_ones_stay(tmp_path, monkeypatch):
    """featbert runs in this process, which has imported it."""
    in_own_process = compared.measured

    def measured(command, log):
        if "benchmarks.compared.with_featbert" not in command:
            return in_own_process(command, log)
        monkeypatch.setattr(sys, "argv", command[2:])
        runpy.run_module(command[2], run_name="__main__")
        return 1.0, 1.0

    monkeypatch.setattr(compared, "measured", measured)
    texts = {"good": "a good film", "bad": "a bad film"}
    folder = tmp_path / "corpora" / "polarity"
    folder.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        lines = [f"{text} {n}\t{label}" for n in range(12) for label, text in texts.items()]
        (folder / f"{split}.tsv").write_text("\n".join(["sentence\tlabel", *lines, ""]), "utf-8")
    model, out = write_encoder(tmp_path / "bert", layers=4), tmp_path / "out.jsonl"
    words = ["shots", "--model", str(model), "--corpora", str(tmp_path / "corpora")]
    words += ["--seeds", "1", "--without", "setfit", "--without", "flair", "--out", str(out)]
    main(words)
    first = out.read_bytes()
    machine, *rows = map(json.loads, first.splitlines())
    assert machine.keys() == {"machine"}
    assert {row["program"] for row in rows} == PROGRAMS
    assert len(rows) == len(CONTESTS["shots"].entrants) - 2
    assert all(0 <= row["test"] <= 100 and row["seconds"] > 0 for row in rows)
    main(words)
    assert out.read_bytes() == first


def test_scores_are_those_of_all_examples():
    entities = [["B-PER", "O"], ["B-LOC", "I-LOC"]]
    assert score(CONTESTS["wikigold"], entities, entities) == 100
    assert score(CONTESTS["wikigold"], entities, [["B-PER", "O"], ["B-LOC", "O"]]) == 50
    assert score(CONTESTS["polarity"], ["a", "b", "a", "a"], ["a", "a", "a", "b"]) == 50
    with pytest.raises(InputError):
        score(CONTESTS["polarity"], ["a", "b"], ["a"])
