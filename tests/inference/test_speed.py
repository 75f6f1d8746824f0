"""How fast a run answers: what is timed, and the numbers that follow from it."""

import dataclasses

import pytest

from featbert.api import load
from featbert.data.load import load_corpus
from featbert.errors import InputError
from featbert.inference.load import LoadedRun
from featbert.inference.speed import FILE, measure_speed, read_speed
from featbert.runs.record import RECORD_NAME, write_json
from featbert.runs.run import Run
from tests.analysis.records import compare, make_run


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[str, ...]]]:
    """The words of each block that is answered."""
    blocks: list[list[tuple[str, ...]]] = []
    real = LoadedRun.answers

    def answers(self, inputs, sentences):
        blocks.append([sentence.words for sentence in sentences])
        return real(self, inputs, sentences)

    monkeypatch.setattr(LoadedRun, "answers", answers)
    return blocks


def test_every_sentence_by_itself_and_then_all_in_blocks(run: Run, answered) -> None:
    """Of both tunings, from the words of the run's own test text."""
    assert read_speed(run) is None
    signature = dataclasses.replace(run.record.signature, context="document")
    record = dataclasses.replace(run.record, signature=signature)
    write_json(run.folder / RECORD_NAME, record)
    measure_speed(load(Run(run.folder, record), device="cpu"), sentences=4, repeats=1)
    assert [len(block) for block in answered] == [4, 4, 4]  # documents stay whole
    answered.clear()
    write_json(run.folder / RECORD_NAME, run.record)
    speed = measure_speed(load(run, device="cpu"), sentences=4, repeats=2)
    assert read_speed(run) == speed
    words = [sentence.words for sentence in load_corpus(run.record.signature.source)["test"]]
    chosen = [words[i] for i in (0, 2, 5, 7)]
    single = [[one] for one in chosen]
    assert answered[3:] == [*single, *single, chosen, chosen]  # three before do not count
    assert (speed.split, speed.sentences, speed.words) == ("test", 4, sum(map(len, chosen)))
    assert len(speed.one_by_one) == len(speed.batched) == 2
    assert min(*speed.one_by_one, *speed.batched) > 0
    assert speed.text == run.record.signature.splits["test"].text
    (run.folder.parent.parent / "mine" / "test.conll").write_text("Other O\n", "utf-8")
    with pytest.raises(InputError, match=r"mine"):
        measure_speed(load(run, device="cpu"))


def test_seconds_are_medians_for_a_thousand_and_means_over_runs(tmp_path, run: Run) -> None:
    one = measure_speed(load(run, device="cpu"), sentences=1, repeats=1)
    times = {"one_by_one": [1.0, 9.0, 2.0], "batched": [0.5, 0.25, 0.125], "sentences": 100}
    speed = dataclasses.replace(one, **times)
    assert (speed.one_by_one_seconds, speed.batched_seconds) == (20.0, 2.5)
    runs = [make_run(f"tuned-{n}", layers=None, seed=n) for n in (1, 2, 3)]
    runs += [make_run("last-1", layers="last"), make_run("embeddings-1", layers="embeddings")]
    runs = [dataclasses.replace(r, folder=tmp_path / r.name) for r in runs]
    for number, made in enumerate(runs[1:4], 1):
        place = {"device_name": "Other"} if number == 3 else {}
        timed = dataclasses.replace(speed, batched=[number / 10], **place)
        write_json(made.folder / FILE, timed)
    (comparison,) = compare(runs, cost=True)
    seconds = [row.cost.batched_seconds for row in comparison.rows]
    assert seconds == [None, 3.0, 1.5]  # embeddings, last, fine-tuning
    assert "batched" not in {front.currency for front in comparison.fronts}  # of two machines
    (note,) = comparison.cost_notes
    assert "Other" in note
