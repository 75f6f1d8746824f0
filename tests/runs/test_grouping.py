import pytest

from featbert.errors import InputError
from featbert.runs.grouping import check_comparable, check_vary, group_comparable
from featbert.runs.record import SplitIdentity
from tests.analysis.records import make_run, make_signature


def splits(**changes):
    return {**make_signature().splits, **changes}


OTHERS = {
    "dev.text": {"splits": splits(dev=SplitIdentity("x" * 64, "2" * 64, 150, 3201))},
    "dev.tags": {"splits": splits(dev=SplitIdentity("b" * 64, "x" * 64, 150, 3201))},
    "test.text": {"splits": splits(test=SplitIdentity("x" * 64, "3" * 64, 150, 3201))},
    "test.tags": {"splits": splits(test=SplitIdentity("c" * 64, "x" * 64, 150, 3201))},
    "encoder_weights": {"encoder_weights": "x" * 64, "model": "other"},
    "context": {"context": "document"},
    "scorer": {"scorer": "another"},
}
FREE = [
    {"splits": splits(train=SplitIdentity("x" * 64, "x" * 64, 9, 9))},
    {"corpus": "another name"},
    {"model": "/the/same/weights"},
    {"pooling": "mean", "store_dtype": "float32", "device": "cuda", "threads": 1},
    {"encoder_precision": "bf16", "training_precision": "bf16", "versions": {}},
]


def names(groups):
    return [[run.name for run in group] for group, _ in groups]


@pytest.mark.parametrize("part", OTHERS)
def test_each_part_of_the_key_parts_runs_and_is_named(part):
    runs = [make_run("a"), make_run("b", signature=OTHERS[part])]
    assert len(group_comparable(runs)) == 2
    with pytest.raises(InputError, match=part) as caught:
        check_comparable(runs)
    assert "(a)" in str(caught.value)
    assert "(b)" in str(caught.value)


def test_of_two_tasks_nothing_else_is_named():
    runs = [make_run("a"), make_run("b", task="labels", signature={"scorer": "another"})]
    for vary in ((), ("corpus", "scorer", "tags")):
        with pytest.raises(InputError, match="task") as caught:
            check_comparable(runs, vary=vary)
        assert "scorer" not in str(caught.value)


@pytest.mark.parametrize("signature", FREE)
def test_the_rest_of_the_signature_does_not(signature):
    runs = [make_run("a"), make_run("b", signature=signature, settings={"epochs": 1})]
    assert names(group_comparable(runs)) == [["a", "b"]]
    assert check_comparable(runs) == frozenset()


@pytest.mark.parametrize(
    ("vary", "part"),
    [
        *(("model", "encoder_weights"), ("context", "context"), ("scorer", "scorer")),
        *(("text", "test.text"), ("tags", "dev.tags")),
        *(("corpus", "dev.text"), ("corpus", "test.tags")),
    ],
)
def test_what_is_declared_is_free_and_nothing_else(vary, part):
    runs = [make_run("a", vary=[vary]), make_run("b", vary=[vary], signature=OTHERS[part])]
    assert names(group_comparable(runs)) == [["a", "b"]]
    assert part in check_comparable(runs)
    plain = [make_run("a"), make_run("b", signature=OTHERS[part])]
    assert part in check_comparable(plain, vary=[vary])
    mixed = [make_run("a"), make_run("b", vary=[vary]), make_run("c", vary=["epochs"])]
    assert names(group_comparable(mixed)) == [["a", "b", "c"]]  # nothing differs
    mixed.append(make_run("d", vary=[vary], signature=OTHERS[part]))
    assert sorted(names(group_comparable(mixed))) == [["a", "c"], ["b", "d"]]
    other = next(name for name in ("context", "encoder_weights") if name != part)
    runs = [make_run("a", vary=[vary]), make_run("b", vary=[vary], signature=OTHERS[other])]
    assert len(group_comparable(runs)) == 2
    with pytest.raises(InputError, match=other):
        check_comparable(runs)
    check_vary([vary, "learning_rate", "pooling", "layers"])
    with pytest.raises(InputError, match=rf"'{vary}t'.*'{vary}'"):
        check_vary([f"{vary}t"])


@pytest.mark.parametrize("without_test", ["a", "b"])
def test_a_corpus_without_test_shares_the_table_of_its_experiment(without_test):
    signatures = {"a": {}, "b": OTHERS["dev.text"]}
    scores = {name: {"test": None} if name == without_test else {} for name in signatures}
    runs = [make_run(n, vary=["corpus"], signature=signatures[n], **scores[n]) for n in signatures]
    assert names(group_comparable(runs)) == [["a", "b"]]


def test_an_experiment_that_was_run_twice_frees_what_either_time_freed():
    document = {"signature": OTHERS["context"], "experiment": "contexts", "vary": ["context"]}
    runs = [make_run("a", experiment="contexts"), make_run("b", **document), make_run("c")]
    groups = group_comparable(runs)
    assert sorted(names(groups)) == [["a", "b"], ["c"]]
    assert [freed for group, freed in groups if len(group) == 2] == [{"context"}]


def test_runs_without_test_are_a_group_of_their_own():
    runs = [make_run("a"), make_run("b", test=None), make_run("c", test=None)]
    assert sorted(names(group_comparable(runs))) == [["a"], ["b", "c"]]
    with pytest.raises(InputError, match=r"\(a\).*\(b, c\)"):
        check_comparable(runs)
    # The test text of a run that was not scored on test plays no part.
    other = make_run("d", test=None, signature=OTHERS["test.text"])
    assert check_comparable([runs[1], other]) == frozenset()
