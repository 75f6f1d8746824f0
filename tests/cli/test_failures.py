"""Wrong words, names and values get the nearest right one; what fails or is stopped, one line."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from featbert.cli import app, failures
from featbert.errors import memory_lack, out_of_memory
from featbert.runs.file import ExperimentError, check_experiment
from tests.workspace import Workspace, error_of

MISUSED = {
    "extract --layes 3": (
        "an option of featbert extract expected, found '--layes' (did you mean '--layers'?)"
    ),
    "extract sample": (
        "an option of featbert extract expected, found 'sample' "
        "(a corpus is named by --data sample)"
    ),
    "runs show a b": "an option of featbert runs show expected, found 'b'",
    "extrct": "a command expected, found 'extrct' (did you mean 'extract'?)",
    "runs shwo": "a command expected, found 'shwo' (did you mean 'show'?)",
    "--versoin": "an option of featbert expected, found '--versoin' (did you mean '--version'?)",
    "extract --precision fp": (
        "auto, fp32, bf16 or fp16 expected for --precision, found 'fp' (did you mean 'fp32'?)"
    ),
    "train --schedule lin": (
        "linear or constant expected for --schedule, found 'lin' (did you mean 'linear'?)"
    ),
    "compare --format txt": (
        "text, markdown, latex, csv or json expected for --format, found 'txt' "
        "(did you mean 'text'?)"
    ),
    "train --epochs x": "a whole number expected for --epochs, found 'x'",
    "train --epochs 0": "a number of at least 1 expected for --epochs, found '0'",
    "train --learning-rate much": "a number expected for --learning-rate, found 'much'",
    "adapt --seed 99999999999999999999": (
        "a number of at most 999999999 expected for --seed, found '99999999999999999999'"
    ),
    "predict": "RUN expected, found none",
    "evaluate RUN": "--data expected, found none",
    "compare --report": "a value expected for --report, found none",
}


@pytest.mark.parametrize("words", MISUSED)
def test_wrong_usage_is_one_line_with_the_nearest_right_word(words: str) -> None:
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code == 2
    told, _, more = done.stderr.removeprefix("error: ").partition("; ")
    assert told == MISUSED[words]
    assert more.endswith("--help tells more\n")
    assert more.count("\n") == 1
    assert done.stdout == ""


def test_bare_featbert_shows_its_help() -> None:
    done = CliRunner().invoke(app, [])
    assert "Commands:" in done.output
    assert not done.output.startswith("error")


REFUSED = {
    "extract --layers al": "found 'al' (did you mean 'all'?); give all, numbers such as 0,9-12",
    "extract --layers 3-": "hidden states to store expected for --layers, found '3-'",
    "check --encoding idna": "encoding 'idna' is no encoding of files",
    "check --encoding utf-9": "encoding 'utf-9' is not known (did you mean 'utf-8'?)",
    "check {folder}/tinny": "has no 'tinny' (did you mean 'tiny'?)",
    "check smaple": "has no 'smaple' (did you mean 'sample'?)",
    "extract --model {folder}/tiyn": "does not exist (did you mean '{folder}/tiny'?)",
    "inspect {folder}/store.h4": "is no file (did you mean '{folder}/store.h5'?)",
    "inspect {folder}": "is a folder, not a .h5 file in it",
    "train --layers LAST": "found 'LAST' (did you mean 'last'?)",
    "train --cache-dir {folder}/tinny": "found none (did you mean '{folder}/tiny'?)",
    "runs --runs-dir {folder}/rnus": "does not exist (did you mean '{folder}/runs'?)",
    "predict RUN --runs-dir {folder}/rnus": "(did you mean '{folder}/runs'?)",
    "predict {folder}/runs": "is a folder of 1 run; name one of them, such as {folder}/runs/last-1",
    "predict {folder}/notes.txt last-1": "notes.txt' is a file, not the folder of one",
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_wrong_name_gets_the_nearest_right_one(
    words: str, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = workspace.folder
    (folder / "store.h5").touch()
    (folder / "notes.txt").touch()
    (folder / "runs" / "last-1").mkdir(parents=True)
    (folder / "runs" / "last-1" / "record.json").touch()
    monkeypatch.chdir(folder)
    given = [word.format(folder=folder) for word in words.split()]
    assert REFUSED[words].format(folder=folder) in error_of(workspace.call(*given))


def mistakes(**keys: object) -> str:
    with pytest.raises(ExperimentError) as caught:
        check_experiment({"finetune": {}} | keys, where="trial.toml")
    return str(caught.value).removeprefix("a mistake in trial.toml: ")


MISTAKEN = {
    "a name of letters or digits expected, found ''": {"name": ""},
    "seeds.0: a whole number expected, found 'x'": {"seeds": ["x"]},
    "seeds: different seeds from 0 to 999999999 expected, found [1, 1]": {"seeds": [1, 1]},
    "seeds: a list of at least 1 expected, found []": {"seeds": []},
    "context: 'sentence' or 'document' expected, found 'documnt' (did you mean 'document'?)": {
        "context": "documnt"
    },
    "finetune.unfreeze: a whole number or 'none' expected, found 'nome' (did you mean 'none'?)": {
        "finetune": {"unfreeze": "nome"}
    },
    "finetune: a table expected, found 3": {"finetune": 3},
    "transfer: true or false expected, found 'yes'": {"transfer": "yes"},
    "data: text in quotes expected, found 3": {"data": 3},
    "finetune.dropout: a number expected, found 'some'": {"finetune": {"dropout": "some"}},
    "adapt.seed: a number of at most 999999999 expected, found 10000000000": {
        "adapt": {"seed": 10**10}
    },
    "unknown key 'finetune.epoch' (did you mean 'epochs'?)": {"finetune": {"epoch": 3}},
}


@pytest.mark.parametrize("told", MISTAKEN)
def test_a_mistake_in_an_experiment_file(told: str) -> None:
    assert mistakes(**MISTAKEN[told]).removeprefix("name: ") == told


class OutOfMemoryError(RuntimeError):
    """As torch calls it."""


GPU = OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total ...")
CPU = RuntimeError(
    "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
    "you tried to allocate 151437312 bytes. Error code 12 (Cannot allocate memory)"
)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (GPU, "out of memory, 2.00 GiB more could not be had"),
        (CPU, "out of memory, 151 MB more could not be had"),
        (MemoryError(), "out of memory"),
        (RuntimeError("CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"), "out of memory"),
    ],
)
def test_lack_of_memory_is_told_with_what_takes_less(
    error: Exception, told: str, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("featbert.features.extraction.run_extraction", lacking)
    assert out_of_memory(error)
    assert memory_lack(error) == told
    message = error_of(workspace.extract("--quiet"))
    assert message == f"error: {told}; give a smaller --token-budget, or fewer --layers\n"


def test_other_errors_are_no_lack_of_memory() -> None:
    assert not out_of_memory(RuntimeError("shape mismatch"))
    assert not out_of_memory(ValueError("out of memory"))


@pytest.mark.parametrize("command", ["train", "finetune", "run", "extract", "evaluate"])
def test_what_an_interruption_leaves_is_told_by_command(command: str) -> None:
    told = failures.interrupted(command, overwrite=False)
    assert "the same command goes on" in told
    assert "\n" not in told


def test_overwriting_again_would_begin_again_so_that_is_not_advised() -> None:
    for command in ("train", "finetune", "evaluate"):
        told = failures.interrupted(command, overwrite=True)
        assert "the same command" not in told
        assert "name what is left" in told
    assert failures.interrupted("check", overwrite=False) == "the same command starts again"
