"""The front door of comparisons: runs, their names and a file give the same."""

import pytest

import featbert
from featbert import compare
from featbert.analysis.document import to_json
from featbert.api import TrainRequest
from featbert.errors import InputError, MissingError
from featbert.runs.record import RECORD_NAME, write_json
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
    with pytest.raises(TypeError, match="runs twice"):
        compare(runs, runs=runs)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("seeds", value) for value in ([], -1, [-1], (1, -1), 1.5, range(1, 3))),
        *(("layers", value) for value in ([], (), 1.5, None, [1.5])),
        ("features", 5),
    ],
    ids=repr,
)
def test_a_message_names_the_key_and_no_type_of_pydantic(key, value) -> None:
    with pytest.raises(InputError, match=f"^{key}") as error:
        featbert.train(**{key: value})
    assert "[str" not in str(error.value)
    assert "function" not in str(error.value)


@pytest.mark.parametrize("layers", [(1, 2), ["last", 1], ("last", "1")])
def test_layers_may_be_numbers_and_names(layers) -> None:
    assert TrainRequest(layers=layers).layers == layers
