"""Rows by what an entity is like, from predictions and, for `seen`, the training text."""

from __future__ import annotations

import dataclasses
import json

import pytest
from featbert.tasks.breakdown import FACETS, breakdowns

from featbert.analysis.breakdowns import with_breakdowns
from featbert.analysis.compare import compare
from featbert.analysis.rows import Statistic
from featbert.data.load import load_corpus
from featbert.data.share import drawn_part
from featbert.errors import InputError
from featbert.report.rendering import render
from featbert.runs.run import Run
from tests.analysis.test_significance import both


def parted(runs: list[Run], *facets: str):
    (comparison,) = compare(runs)
    return with_breakdowns(comparison, facets)


def test_rows_have_their_seeds_scores_in_each_bucket(tmp_path) -> None:
    runs = both(tmp_path)
    (found,) = parted(runs, "length").breakdowns
    assert (found.facet, found.split, found.gold) == ("length", "dev", {"1": 24, "2": 8})
    assert list(found.rows) == ["concat_last4", "fine-tuning"]

    def f1(run: Run) -> float:
        kept = run.predictions("dev")
        found = breakdowns(["length"], kept.words, kept.gold, kept.predicted)
        return found["length"]["2"].f1

    assert found.rows["concat_last4"]["2"] == Statistic.of([f1(run) for run in runs[3:]])
    assert found.rows["fine-tuning"]["2"] == Statistic.of([f1(run) for run in runs[:3]])


def test_each_facet_once_in_the_order_asked(tmp_path) -> None:
    found = parted(both(tmp_path), "sentence", "type", "sentence").breakdowns
    assert [one.facet for one in found] == ["sentence", "type"]
    with pytest.raises(InputError, match=r"found 'typ' .did you mean 'type'"):
        parted(both(tmp_path / "other"), "typ")


def test_predictions_are_read_once_for_all_facets(tmp_path, monkeypatch) -> None:
    runs = both(tmp_path)
    read = []
    plain = Run.predictions
    monkeypatch.setattr(
        Run, "predictions", lambda run, split: read.append(run.name) or plain(run, split)
    )
    found = parted(runs, *FACETS)
    assert [one.facet for one in found.breakdowns] == ["type", "length", "sentence"]
    assert any("no scores by seen" in note for note in found.notes)
    assert sorted(read) == sorted(run.name for run in runs)


def test_a_training_text_that_cannot_be_read_is_tried_once(tmp_path, monkeypatch) -> None:
    runs = trained_on(both(tmp_path), "sample")
    tried = []

    def load_corpus(source, **options):
        tried.append(source)
        raise InputError("no such text")

    monkeypatch.setattr("featbert.data.load.load_corpus", load_corpus)
    found = parted(runs, "seen", "type")
    assert [one.facet for one in found.breakdowns] == ["type"]
    (note,) = (note for note in found.notes if "no scores by seen" in note)
    assert note.endswith("expected in sample: no such text")
    assert tried == ["sample"]


def trained_on(runs: list[Run], source: str, *, text: str | None = None) -> list[Run]:
    """The runs with a training text that lies in `source`."""
    corpus = load_corpus(source)
    fingerprint = text or corpus["train"].text_fingerprint
    changed = []
    for run in runs:
        signature = run.record.signature
        train = dataclasses.replace(signature.splits["train"], text=fingerprint)
        splits = signature.splits | {"train": train}
        signature = dataclasses.replace(signature, source=source, splits=splits)
        changed.append(Run(run.folder, dataclasses.replace(run.record, signature=signature)))
    return changed


def test_seen_is_read_from_the_training_text(tmp_path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    # The predictions' words are all "w": entities of one word are seen, of two are not.
    (data / "train.conll").write_text("w B-ORG\nx O\n", "utf-8")
    runs = trained_on(both(tmp_path / "runs"), str(data))
    (found,) = parted(runs, "seen").breakdowns
    assert found.gold == {"seen": 24, "unseen": 8}


def test_seen_is_of_what_each_run_learned_from(tmp_path) -> None:
    """Of ten documents one has the only entity; half of them have it for some seeds alone."""
    data = tmp_path / "data"
    data.mkdir()
    rows = ["w B-ORG", *(f"x{i} O" for i in range(9))]
    text = "".join(f"-DOCSTART- O\n\n{row}\n\n" for row in rows)
    (data / "train.conll").write_text(text, "utf-8")
    train = load_corpus(str(data))["train"]
    seeds = range(1, 7)
    lucky = [s for s in seeds if drawn_part(train, 0.5, seed=s).sentences[0].words == ("w",)]
    assert 0 < len(lucky) < len(seeds)

    def gold(seeds, **changes) -> list[dict]:
        runs = trained_on(both(tmp_path / f"{len(gold_seen)}", seeds=seeds, **changes), str(data))
        gold_seen.append(0)
        return [dict(found.gold) for found in parted(runs, "seen").breakdowns]

    gold_seen: list[int] = []
    half = {"settings": {"train_share": 0.5}}
    unlucky = [s for s in seeds if s not in lucky]
    assert gold(lucky, **half) == [{"seen": 24, "unseen": 8}]
    assert gold(unlucky, **half) == [{"unseen": 32}]
    # Where only some seeds have a bucket it is left out; counts are the mean over seeds.
    assert gold(seeds, **half) == [{"unseen": round((8 * len(lucky) + 32 * len(unlucky)) / 6)}]
    assert gold(unlucky) == [{"seen": 24, "unseen": 8}]


def test_seen_parts_rows_that_learned_from_other_amounts(tmp_path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "train.conll").write_text("w B-ORG\n\nx O\n\ny O\n", "utf-8")
    runs = [
        run
        for share in (0.99, 1.0)
        for run in both(tmp_path / str(share), settings={"train_share": share})
    ]
    found = parted(trained_on(runs, str(data)), "seen", "length").breakdowns
    assert [(one.facet, len(one.rows)) for one in found] == [
        ("seen", 2),
        ("seen", 2),
        ("length", 4),
    ]
    assert found[0].meaning.endswith("an entity of the same words (trained on 99% of it)")
    assert found[1].meaning.endswith("an entity of the same words")


def test_a_training_text_that_is_gone_or_another_is_told(tmp_path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "train.conll").write_text("w B-ORG\nx O\n", "utf-8")
    other = trained_on(both(tmp_path / "a"), str(data), text="f" * 64)
    told = "\n".join(parted(other, "seen", "type").notes)
    assert "no scores by seen on dev: the training text of" in told
    assert "holds other words now" in told
    gone = trained_on(both(tmp_path / "b"), str(data))
    (data / "train.conll").unlink()
    found = parted(gone, "seen", "type")
    assert [one.facet for one in found.breakdowns] == ["type"]
    assert any("no scores by seen on dev" in note for note in found.notes)


@pytest.mark.parametrize("format", ["text", "markdown", "latex", "csv", "json"])
def test_every_format_shows_them(tmp_path, format) -> None:
    comparison = parted(both(tmp_path), "type")
    text = render([comparison], format)
    (found,) = comparison.breakdowns
    mean = found.rows["concat_last4"]["ORG"].mean
    if format == "json":
        (told,) = json.loads(text)["breakdowns"]
        assert told["rows"]["concat_last4"]["ORG"]["mean"] == mean
    else:
        assert f"{100 * mean:.2f}" in text
    if format in ("text", "markdown"):
        assert "dev F1 by entity type" in text
        assert "LOC 16, ORG 8, PER 8" in text
