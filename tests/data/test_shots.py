"""Examples of each class: how they are drawn, and runs on them."""

from collections import Counter

import pytest

from featbert import extract
from featbert.config import defaults
from featbert.data.load import load_corpus
from featbert.data.share import learned_part
from featbert.errors import InputError
from featbert.runs.run import TrainingTexts
from tests.workspace import finetune, train


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shots")
    labels = ["good"] * 9 + ["bad"] * 5 + [""] * 6
    for name in ("train", "dev", "test"):
        rows = [f"the fox{' x' * n} is {label or 'new'}\t{label}" for n, label in enumerate(labels)]
        (folder / f"{name}.tsv").write_text("text\tlabel\n" + "\n".join(rows) + "\n", "utf-8")
    return load_corpus(folder, targets="classes")


def test_as_many_of_each_class_and_more_contain_fewer(corpus):
    numbers = {}
    for shots in (1, 3, 5):
        part, chosen = learned_part(corpus["train"], 1.0, shots=shots, seed=1)
        assert Counter(s.tags[0] for s in part) == {"good": shots, "bad": shots}
        assert [corpus["train"].sentences[n] for n in chosen] == [*part]
        numbers[shots] = {*chosen.tolist()}
    assert numbers[1] < numbers[3] < numbers[5]
    others = {tuple(learned_part(corpus["train"], 1.0, shots=3, seed=s)[1]) for s in range(5)}
    assert len(others) > 1
    with pytest.raises(InputError, match="5 of class bad"):
        learned_part(corpus["train"], 1.0, shots=6, seed=1)


def test_a_run_learns_from_them_and_finished_runs_keep_their_names(corpus, small_bert, tmp_path):
    settings = defaults("full", "classification").but(epochs=1)
    assert "shots" not in settings.used()
    frozen = {"task": "classification", "device": "cpu", "precision": "fp32"}
    where = {"runs_dir": tmp_path, **frozen}
    run = finetune(corpus, str(small_bert), seed=2, settings=settings.but(shots=4), **where)
    assert run.record.settings["shots"] == 4
    assert run.record.train_sentences == 8
    part, _ = learned_part(corpus["train"], 1.0, shots=4, seed=2)
    assert run.record.train_words == part.n_words
    features = extract(corpus, str(small_bert), cache_dir=tmp_path, progress=False, **frozen)
    stored = train(features, "last", seed=2, body="logistic", shots=4, runs_dir=tmp_path, **frozen)
    assert stored.record.train_words == part.n_words
    words = {word for s in part for word in s.words}
    assert TrainingTexts().taught(run) <= words | {tuple(s.words) for s in part}
    for name, wrong in {
        "bad": {"shots": 6},
        "train_on": {"shots": 2, "train_on": "train+dev"},
    }.items():
        with pytest.raises(InputError, match=name):
            finetune(corpus, str(small_bert), settings=settings.but(**wrong), **where)


def test_words_have_none(workspace):
    refused = workspace.finetune("--shots", 2)
    assert refused.exit_code == 1
    assert "--shots" in refused.stderr
