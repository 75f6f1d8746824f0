"""The front door of comparisons: runs, their names and a file give the same."""

import inspect
import re
from dataclasses import replace

import numpy as np
import pytest

import featbert
from featbert import compare, finetune, train
from featbert.analysis.document import to_json
from featbert.api import (
    CompareRequest,
    EvaluateRequest,
    FinetuneRequest,
    RunRequest,
    TrainRequest,
    load_corpus,
)
from featbert.config import defaults
from featbert.data.examples import example_split
from featbert.errors import InputError, MissingError
from featbert.runs.record import RECORD_NAME, write_json
from featbert.tasks.base import TASKS
from tests.analysis.records import usual_runs


@pytest.fixture
def runs(tmp_path):
    placed = []
    for run in usual_runs():
        folder = tmp_path / "runs" / run.name
        folder.mkdir(parents=True)
        write_json(folder / RECORD_NAME, run.record)
        placed.append(featbert.Run(folder, run.record))
    return placed


def test_runs_their_names_their_folder_and_a_file_give_one_comparison(runs, tmp_path) -> None:
    place = tmp_path / "runs"
    of_runs = compare(runs, cost=True)
    assert isinstance(of_runs, featbert.Comparisons)
    file = tmp_path / "comparison.json"
    file.write_text(to_json(of_runs), "utf-8")
    by_name = compare([run.name for run in runs], runs_dir=place, cost=True)
    mixed = compare([runs[0], *(run.name for run in runs[1:])], runs_dir=place, cost=True)
    assert by_name == mixed == compare(runs_dir=place, cost=True) == compare(file=file) == of_runs
    (comparison,) = compare(runs[0])
    assert [run.name for row in comparison.rows for run in row.runs] == [runs[0].name]


def test_what_contradicts_or_is_missing_is_refused(runs, tmp_path) -> None:
    with pytest.raises(InputError, match="experiment"):
        compare(runs, experiment="trial")
    with pytest.raises(InputError, match="against"):
        compare(file=tmp_path / "comparison.json", against="last")
    for value in ([1], []):
        with pytest.raises(InputError, match="runs"):
            compare(value)
    with pytest.raises(MissingError, match="empty"):
        compare(runs_dir=tmp_path / "empty")
    with pytest.raises(MissingError, match=r"entities.*wikigold"):
        compare(runs, task="chess")
    with pytest.raises(InputError, match=r"confsion.*'confusion'"):
        compare(runs, figures=["confsion"])
    with pytest.raises(TypeError, match="runs twice"):
        compare(runs, runs=runs)
    with pytest.raises(TypeError, match="CompareRequest"):
        compare(CompareRequest(), stats=True)
    with pytest.raises(InputError, match="folder is missing"):
        featbert.export("run")


def test_a_loaded_corpus_is_of_the_task_and_read_already(tiny_bert, tmp_path) -> None:
    corpus = load_corpus("sample", limit=np.int64(4))
    assert load_corpus(corpus, limit=4) == corpus
    for field in ({"limit": 2}, {"dev_share": 0.5}, {"tag_column": 2}):
        with pytest.raises(InputError, match=f"^{next(iter(field))} .*load_corpus"):
            load_corpus(corpus, **field)
    made = replace(corpus, source="", splits={"train": corpus["train"]})
    with pytest.raises(InputError, match="Split") as error:
        finetune(made, tiny_bert, runs_dir=tmp_path)
    assert "dev_share" not in str(error.value)
    with pytest.raises(InputError, match=r"^dev_share") as error:
        finetune(made, tiny_bert, dev_share=0.5, runs_dir=tmp_path)
    assert "load_corpus" not in str(error.value)
    with pytest.raises(InputError, match="task='entities'"):
        load_corpus(corpus, task="classification")
    with pytest.raises(InputError, match="task='labels'"):
        load_corpus(load_corpus("sample", task="labels"))


def test_a_store_of_a_corpus_made_in_python_is_of_its_task(tiny_bert, tmp_path) -> None:
    splits = {name: example_split(name, ["a fox", "no fox"], "ab") for name in ("train", "dev")}
    corpus = featbert.Corpus("mine", splits, targets="classes")
    store = featbert.extract(corpus, tiny_bert, cache_dir=tmp_path)
    with pytest.raises(InputError, match=r"mine .*task='classification'"):
        train(store, runs_dir=tmp_path)


def test_functions_name_their_fields_without_words_of_the_command_line() -> None:
    functions = [f for f in vars(featbert.api).values() if hasattr(f, "__wrapped__")]
    functions = [f for f in functions if inspect.getmodule(f.__wrapped__) is featbert.api]
    assert len(functions) > 10
    for function in functions:
        _, _, described = function.__doc__.partition("Args:")
        first, *_ = inspect.signature(function).parameters
        assert f"    {first}: " in described
        assert not re.search(r"--[a-z]", described)
        assert "Annotated" not in str(inspect.signature(function))


@pytest.mark.parametrize(("function", "tuning"), [(train, "none"), (finetune, "full")])
def test_help_shows_the_defaults_that_are_used(function, tuning) -> None:
    parameters = inspect.signature(function).parameters
    for task in TASKS:
        for name, value in defaults(tuning, task).model_dump().items():
            if name in parameters:
                default = parameters[name].default
                (described,) = re.findall(rf"^    {name}: (.*)$", function.__doc__, re.MULTILINE)
                if default is not ...:
                    assert default == value
                elif value is not None:  # a setting without a value has no default to show
                    assert str(value) in described


def test_paths_may_stand_for_names_of_runs_corpora_and_encoders(runs, tmp_path) -> None:
    place = tmp_path / "runs"
    by_path = compare([run.folder for run in runs], runs_dir=place)
    assert by_path == compare([str(run.folder) for run in runs], runs_dir=str(place))
    request = EvaluateRequest(
        runs=[place], data=[place, "sample"], model=place, runs_dir=str(place)
    )
    assert (request.runs, request.data) == ([str(place)], [str(place), "sample"])
    assert (request.model, request.runs_dir) == (str(place), place)
    assert FinetuneRequest(head_from=runs[0].folder).head_from == str(runs[0].folder)


def test_arrays_are_lists_and_seeds_replace_those_of_a_file(runs) -> None:
    assert compare(runs, show=np.array(["precision"])) == compare(runs, show=["precision"])
    for seeds in ("2-4", [2, 3, 4]):
        assert RunRequest(file="quickstart", seeds=seeds).experiment.configurations[0].seeds == [
            2,
            3,
            4,
        ]
    assert RunRequest(file="quickstart", seeds=7).experiment.configurations[0].seeds == [7]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("seeds", value) for value in ([], -1, [-1], (1, -1), 1.5, range(-1, 3))),
        *(("layers", value) for value in ([], (), 1.5, None, [1.5])),
        ("features", 5),
    ],
    ids=repr,
)
@pytest.mark.parametrize("caller", [featbert.train, TrainRequest])
def test_a_message_names_the_key_and_no_type_of_pydantic(caller, key, value) -> None:
    with pytest.raises(InputError, match=f"^{key}") as error:
        caller(**{key: value})
    assert "[str" not in str(error.value)
    assert "function" not in str(error.value)


@pytest.mark.parametrize("layers", [(1, 2), ["last", 1], ("last", "1")])
def test_layers_may_be_numbers_and_names(layers) -> None:
    assert TrainRequest(layers=layers).layers == layers
