"""A finished run on other data: its own numbers again, other names for types, kept once."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from featbert.api import load
from featbert.data.corpus import Corpus, Sentence, Split
from featbert.data.load import load_corpus
from featbert.data.truecase import Truecaser
from featbert.errors import InputError
from featbert.features.store import FeatureStore
from featbert.inference import evaluate as module_evaluate
from featbert.inference.evaluate import (
    EvaluationRecord,
    choose_splits,
    evaluate,
    evaluation_path,
    parse_mapping,
    plan_evaluation,
    read_evaluation,
)
from featbert.runs.folder import evaluation_files
from featbert.runs.record import SplitIdentity
from featbert.runs.run import Run, check_usable
from featbert.tasks.entities import TASK
from tests.analysis.records import rewrite
from tests.runs.finished_runs import corpus_of, write_corpus


def evaluations(run: Run) -> list[EvaluationRecord]:
    return [read_evaluation(run, path) for path in evaluation_files(run.folder)]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Corpus:
    """Other data: persons are called otherwise, there is no MISC, and something is new."""
    folder = write_corpus(tmp_path / "corpora" / "nl", rename=("PER", "person"))
    for path in folder.iterdir():
        text = path.read_text("utf-8")
        path.write_text(text.replace("MISC", "event").replace("Chelsea", "Ajax"), "utf-8")
    return load_corpus(folder)


@pytest.mark.parametrize("tuning", ["none", "full"])
def test_on_its_own_test_split_a_run_has_its_own_numbers(tmp_path, of_documents, tuning):
    run = of_documents[tuning]
    run = Run(shutil.copytree(run.folder, tmp_path / run.name), run.record)
    corpus, cache = run.record.signature.source, tmp_path / "another cache"
    record = evaluate(run, load_corpus(corpus), cache_dir=cache, device="cpu")
    assert record.scores == run.record.scores["test"]
    assert record.identity == run.record.signature.splits["test"]
    (path,) = (run.folder / "evaluations").glob("*.conll")
    assert path.read_bytes() == (run.folder / "test.conll").read_bytes()
    assert (record.unseen_types, record.absent_types) == ([], [])
    assert (record.extraction_seconds is None) == (tuning == "full")
    stores = [FeatureStore(p) for p in cache.rglob("*.h5")]
    if tuning == "none":
        (store,) = stores
        assert store.layers == (1, 2)  # what the run reads, and nothing else
        assert store.splits == ("test",)
        # `featbert train` chooses from the cache itself
        assert store.path.parent == cache / "evaluations"
    else:
        assert not stores


def test_a_truecasing_run_counts_in_its_own_training_text(run, tmp_path):
    """On its own test split, and where the data's own training text would say otherwise."""
    cache = tmp_path / "cache"
    own = corpus_of(run)
    assert evaluate(run, own, cache_dir=cache, device="cpu").scores == run.record.scores["test"]
    folder = write_corpus(tmp_path / "odd")
    for name, change in {"train": ("Hamilton", "hamiltoN"), "test": ("CALL", "LAMB")}.items():
        path = folder / f"{name}.conll"
        path.write_text(path.read_text("utf-8").replace(*change), "utf-8")
    odd = load_corpus(folder)
    read = Truecaser.from_sentences(own["train"]).sentences(odd["test"].sentences)
    assert read != Truecaser.from_sentences(odd["train"]).sentences(odd["test"].sentences)
    loaded = load(run, device="cpu")
    assert loaded.word_casing(odd["test"].sentences) == read
    evaluate(run, odd, cache_dir=cache, device="cpu")
    if run.record.tuning == "none":
        texts = {FeatureStore(p).manifest.splits["test"].text for p in cache.rglob("odd*.h5")}
        assert texts == {Split("test", read).text_fingerprint}
    path = next((run.folder / "evaluations").glob("odd*.conll"))
    kept = TASK.read_predictions(path)
    assert [tuple(words) for words in kept.words] == [s.words for s in odd["test"]]
    assert kept.predicted == loaded.answers(loaded.inputs(odd["test"].sentences), odd["test"])


def test_what_is_recorded_of_other_data(run, elsewhere, tmp_path):
    record = evaluate(run, elsewhere, cache_dir=tmp_path / "cache", device="cpu")
    assert (record.run, record.corpus, record.language) == (run.name, "corpora-nl", "nl")
    assert (record.split, record.source) == ("test", str(tmp_path / "corpora" / "nl"))
    assert record.identity.text == elsewhere["test"].text_fingerprint
    assert record.identity.tags == elsewhere["test"].tag_fingerprint
    assert record.entity_types == ["LOC", "ORG", "event", "person"]
    assert record.unseen_types == ["event", "person"]
    assert record.absent_types == ["MISC", "PER"]
    assert (record.mapping, record.scorer) == ({}, run.record.signature.scorer)
    assert (record.device, record.versions) == ("cpu", run.record.signature.versions)
    assert record.scores.words == elsewhere["test"].n_words
    assert evaluations(run) == [record]
    (path,) = evaluation_files(run.folder)
    there = module_evaluate.elsewhere(run, [(record, path)])
    assert len(there.predictions("test").gold) == record.scores.examples
    with there.predictions_path("test").open("a", encoding="utf-8") as file:
        file.write("Rome O O\n")
    with pytest.raises(InputError, match="scored on"):
        there.predictions("test")


def test_a_mapping_holds_for_both_sides(run, elsewhere, tmp_path):
    cache = tmp_path / "cache"
    plain = evaluate(run, elsewhere, cache_dir=cache, device="cpu")
    mapping = {"person": "PER", "MISC": "event", "LOC": "O"}
    record = evaluate(run, elsewhere, mapping=mapping, cache_dir=cache, device="cpu")
    assert record.mapping == mapping
    assert record.entity_types == ["ORG", "PER", "event"]
    assert (record.unseen_types, record.absent_types) == ([], [])
    assert record.identity == plain.identity  # of the data, before any mapping
    # The oracle: the tags of the unmapped evaluation, mapped and scored here.
    path = next(
        p for p in (run.folder / "evaluations").glob("*.conll") if "person" in p.read_text()
    )
    before = TASK.read_predictions(path)
    gold = [TASK.rename(row, mapping) for row in before.gold]
    predicted = [TASK.rename(row, mapping) for row in before.predicted]
    assert record.scores == TASK.score(gold, predicted)
    assert "LOC" in plain.scores.by_class
    assert "LOC" not in record.scores.by_class
    assert len(evaluations(run)) == 2


def test_the_same_again_is_found(run, elsewhere, tmp_path):
    mapping = {"person": "PER"}
    how = {"cache_dir": tmp_path / "cache", "device": "cpu"}
    first = evaluate(run, elsewhere, "dev", mapping=mapping, **how)
    (path,) = (run.folder / "evaluations").glob("*.json")
    before = path.stat().st_mtime_ns
    same = mapping | {"LOC": "LOC"}  # says nothing
    assert evaluate(run, elsewhere, "dev", mapping=same, **how) == first
    assert path.stat().st_mtime_ns == before
    again = evaluate(run, elsewhere, "dev", mapping=mapping, overwrite=True, **how)
    assert path.stat().st_mtime_ns > before
    assert again.scores == first.scores
    assert again.extraction_seconds is None  # the store is there
    assert len(evaluations(run)) == 1
    path.with_suffix(".conll").unlink()
    assert plan_evaluation(check_usable(run), elsewhere, "dev", mapping).finished is None
    evaluate(run, elsewhere, "dev", mapping=mapping, **how)
    rewrite(path, lambda data: data.update(run="another"))
    with pytest.raises(InputError, match="another"):
        evaluate(run, elsewhere, "dev", mapping=mapping, **how)
    rewrite(path, lambda data: data.update(run=run.name, scorer="an older one"))
    evaluate(run, elsewhere, "dev", mapping=mapping, **how)
    assert read_evaluation(run, path).scorer == run.record.signature.scorer
    path.write_text(path.read_text("utf-8")[:50], "utf-8")
    with pytest.raises(InputError, match=path.name):
        evaluate(run, elsewhere, "dev", mapping=mapping, **how)


def test_data_that_cannot_be_scored(tmp_path, of_documents):
    usable = check_usable(of_documents["full"])
    folder = usable.record.signature.source
    with pytest.raises(InputError, match=r"test\.conll"):
        plan_evaluation(usable, load_corpus(folder, targets=None), "test")
    bare = shutil.copytree(folder, tmp_path / "bare")
    path = bare / "test.conll"
    path.write_text(path.read_text("utf-8").replace("-DOCSTART- O\n\n", ""), "utf-8")
    with pytest.raises(InputError, match=r"test\.conll"):
        plan_evaluation(usable, load_corpus(bare), "test")


@pytest.mark.parametrize(
    ("task", "mapping"),
    [("classification", {"LOC": "O"}), ("spans", {"answerable": "x"}), ("regression", {"a": "b"})],
)
def test_mappings_that_change_no_answer_are_refused(of_documents, task, mapping):
    run = check_usable(of_documents["full"])
    corpus = Corpus("x", {"test": Split("test", (Sentence(("a",), ("LOC",), 0),))})
    targets = dataclasses.replace(run.record.targets, classes=("LOC", "PER"))
    record = dataclasses.replace(run.record, task=task, targets=targets)
    with pytest.raises(InputError):
        plan_evaluation(dataclasses.replace(run, record=record), corpus, "test", mapping)


def test_o_is_a_label_like_others(of_documents, tmp_path):
    run = of_documents["full"]
    folder = shutil.copytree(run.folder, tmp_path / run.name)
    labels = Run(folder, dataclasses.replace(run.record, task="labels"))
    corpus = load_corpus(run.record.signature.source, targets="labels")
    record = evaluate(labels, corpus, cache_dir=tmp_path / "cache", device="cpu")
    assert "O" in record.entity_types
    assert record.unseen_types == []


def test_splits_mappings_and_paths_of_what_was_asked(tmp_path):
    def corpus(*names: str) -> Corpus:
        splits = {name: Split(name, (Sentence(("a",), ("O",)),)) for name in names}
        return Corpus("x", splits, source="somewhere")

    def path_of(corpus="nl", split="test", mapping=(), **identity):
        changed = dataclasses.replace(SplitIdentity("t" * 64, "g" * 64, 10, 100), **identity)
        return evaluation_path(tmp_path, corpus, split, changed, dict(mapping))

    assert choose_splits(corpus("train", "dev", "test")) == ["test"]
    assert choose_splits(corpus("train", "dev")) == ["dev"]
    assert choose_splits(corpus("train", "dev"), ["dev", "train", "dev"]) == ["dev", "train"]
    for names, chosen in ((("train", "dev"), ["test"]), (("train",), ()), (("dev",), ["dve"])):
        with pytest.raises(InputError, match=r"somewhere|'dev'"):
            choose_splits(corpus(*names), chosen)
    texts = ["MISC=O", " person = PER", "MISC=O", "a=b=c"]
    assert parse_mapping(texts) == {"MISC": "O", "person": "PER", "a": "b=c"}
    for wrong in (["MISC"], ["=O"], ["MISC="], ["O=PER"], ["A=B", "A=C"]):
        with pytest.raises(InputError):
            parse_mapping(wrong)
    mapped = ({"MISC": "O"}, {"MISC": "ORG"}, {"MISC": "O", "GPE": "LOC"})
    paths = [path_of(), path_of(text="x"), path_of(tags="x"), path_of(split="dev"), path_of("de")]
    paths += [path_of(mapping=one) for one in mapped]
    assert len(set(paths)) == len(paths)
    # Sizes follow from the text, and a mapping has no order.
    assert path_of(sentences=11, words=12) == paths[0]
    assert path_of(mapping={"GPE": "LOC", "MISC": "O"}) == paths[-1]
