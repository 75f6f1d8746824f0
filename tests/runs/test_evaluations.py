"""Where evaluations are kept, and what is read there."""

import dataclasses
from pathlib import Path

import pytest

from featbert.errors import InputError, MissingError
from featbert.runs.evaluate import evaluation_files, evaluation_path, read_evaluation
from featbert.runs.record import SplitIdentity
from featbert.runs.run import Run
from tests.analysis.evaluation_records import evaluate, make_evaluation
from tests.analysis.records import make_record

IDENTITY = SplitIdentity("t" * 64, "g" * 64, 10, 100)


def path_of(corpus: str = "wikiann-de", split: str = "test", mapping=(), **identity) -> Path:
    changed = dataclasses.replace(IDENTITY, **identity)
    return evaluation_path(Path("runs/r"), corpus, split, changed, dict(mapping))


def test_each_evaluation_has_a_path_of_its_own():
    paths = [
        path_of(),
        path_of(text="x" * 64),
        path_of(tags="x" * 64),
        path_of(split="dev"),
        path_of(corpus="wikiann-nl"),
        path_of(mapping={"MISC": "O"}),
        path_of(mapping={"MISC": "ORG"}),
        path_of(mapping={"MISC": "O", "GPE": "LOC"}),
    ]
    assert len(set(paths)) == len(paths)
    assert all(path.parent == Path("runs/r/evaluations") for path in paths)
    # Sizes follow from the text, and a mapping has no order.
    assert path_of(sentences=11, words=12) == paths[0]
    assert path_of(mapping={"GPE": "LOC", "MISC": "O"}) == paths[-1]


def test_evaluations_are_read_or_refused(tmp_path):
    run = Run(tmp_path / "r", make_record("r"))
    assert evaluation_files(run) == []
    kept = [evaluate(run, "nl", 0.3), evaluate(run, "de", 0.2)]
    kept.append(evaluate(run, "de", 0.25, mapping={"MISC": "O"}))
    (kept[0].parent / "x.json.tmp").write_text("{")
    assert evaluation_files(run) == sorted(kept)
    assert read_evaluation(run, kept[0]) == make_evaluation("r", "nl", 0.3)
    text = kept[0].read_text("utf-8")
    for damaged in ("", "null", text[:-40], text.replace("0.3", "0.4")):
        kept[0].write_text(damaged, "utf-8")
        with pytest.raises(InputError, match=kept[0].name):
            read_evaluation(run, kept[0])
    with pytest.raises(MissingError, match=r"none\.json"):
        read_evaluation(run, tmp_path / "none.json")
