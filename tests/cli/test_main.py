"""Exit codes, one-line errors, signals, pipes: how a command ends."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from featbert.cli.main import app
from featbert.errors import memory_lack, out_of_memory
from tests.processes import fresh_commands
from tests.tiny_encoders import write_encoder
from tests.workspace import error_of

COMMAND = [sys.executable, "-m", "featbert"]
# Seconds; long enough for a busy machine.
PATIENCE = 90

# Wrong usage and a word that the line must name.
MISUSED = {
    "extract --layes 3": "--layers",
    "runs show a b": "b",
    "extrct": "'extract'",
    "--versoin": "--version",
    "extract --precision fp": "'bf16'",
    "compare --format txt": "'markdown'",
    "predict": "RUN",
    "evaluate RUN": "--data",
    "compare --report": "--report",
}


@pytest.mark.parametrize("words", MISUSED)
def test_wrong_usage_is_one_line_and_exit_code_2(words):
    done = CliRunner().invoke(app, words.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert MISUSED[words] in done.stderr
    assert done.stderr.endswith(" --help\n")
    assert "Commands:" in CliRunner().invoke(app, []).output
    assert done.stderr.count("\n") == 1


# Names that are nearly right, and the right one.
NEAR = {
    "check {folder}/tinny": "tiny'",
    "extract --model {folder}/tiyn": "'{folder}/tiny'",
    "inspect {folder}/store.h4": "'{folder}/store.h5'",
    "train --layers LAST": "'last'",
    "runs --runs-dir {folder}/rnus": "'{folder}/runs'",
    "runs show last-2 --runs-dir {folder}/runs": "'last-1'",
}


@pytest.mark.parametrize("words", NEAR)
def test_a_wrong_name_gets_the_nearest_right_one(words, workspace, monkeypatch):
    folder = workspace.folder
    (folder / "store.h5").touch()
    (folder / "runs" / "last-1").mkdir(parents=True)
    monkeypatch.chdir(folder)
    given = [word.format(folder=folder) for word in words.split()]
    assert NEAR[words].format(folder=folder) in error_of(workspace.call(*given))


# Commands that are refused before torch is loaded, which takes seconds.
CASED = ("--casing", "truecased")
REFUSED = (
    ("train", "--layers", "concat_last5"),
    ("extract", "--model", "{model}", "--layers", "9"),
    ("train", "--seeds", "1,x"),
    ("extract", "--model", "{model}", "--data", "{folder}/nowhere"),
    ("extract", "--model", "{folder}/nowhere"),
    ("train", "--features", "{folder}/no.h5"),
    ("run", "{folder}/no.toml"),
    ("finetune", "--learning-rate", "-1"),
    ("extract", "--model", "{model}", "--data", "{plain}", "--context", "document"),
    ("run", "{plain}/documents.toml"),
    (*("finetune", "--model", "{uncased}", "--data", "{corpus}"), *CASED),
    ("finetune", "--model", "{damaged}", "--data", "{corpus}"),
    ("finetune", "--model", "{model}", "--data", "{corpus}", "--freeze-to", "9"),
)


def test_a_mistake_is_one_line_without_torch(workspace):
    folder = workspace.folder
    places = {kind: folder / kind for kind in ("plain", "uncased", "damaged")}
    write_encoder(places["uncased"], cased=False)
    shutil.copytree(workspace.model, places["damaged"])
    path = places["damaged"] / "tokenizer.json"
    path.write_text(path.read_text("utf-8")[:200], "utf-8")
    places["plain"].mkdir()
    for split in ("train", "dev", "test"):
        (places["plain"] / f"{split}.conll").write_text("Jordan B-PER\nsaid O\n", "utf-8")
    (places["plain"] / "documents.toml").write_text(
        f'data = "{places["plain"]}"\nmodel = "{workspace.model}"\ncontext = "document"\n'
        "[finetune]\n",
        "utf-8",
    )
    places |= {"model": workspace.model, "folder": folder, "corpus": workspace.corpus}
    commands = [[word.format(**places) for word in words] for words in REFUSED]
    for words, ended in zip(commands, fresh_commands(*commands, cwd=folder), strict=True):
        assert error_of(ended)
        assert (ended.stdout, ended.light) == ("", True), words
    assert not (folder / "cache").exists()
    assert not (folder / "experiments").exists()


def test_light_commands_do_not_load_torch(finished, tmp_path):
    (store,) = finished.cache.glob("*.h5")
    commands = (
        *(["--help"], ["train", "--help"], ["check", finished.corpus], ["inspect", store]),
        *(["compare", "--runs-dir", finished.runs], ["runs", "--runs-dir", finished.runs]),
    )
    for words, ended in zip(commands, fresh_commands(*commands, cwd=tmp_path), strict=True):
        assert (ended.exit_code, ended.light) == (0, True), words


def test_debug_shows_the_traceback(workspace):
    result = workspace.call("--debug", "train", "--layers", "nope")
    assert result.exit_code == 1
    assert not isinstance(result.exception, SystemExit)


def test_a_reader_that_stops_early_is_no_error(finished):
    command = [*COMMAND, "compare", "--runs-dir", str(finished.runs)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None
    running.stdout.close()  # as `| head` does
    running.stdout = None
    assert running.communicate(timeout=PATIENCE)[1] == b""


class OutOfMemoryError(RuntimeError):
    """As torch calls it."""


GPU = OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total ...")
CPU = RuntimeError(
    "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
    "you tried to allocate 151437312 bytes. Error code 12 (Cannot allocate memory)"
)


@pytest.mark.parametrize(("error", "size"), [(GPU, "2.00 GiB"), (CPU, "151 MB")])
def test_lack_of_memory_names_the_size_and_an_option(error, size, workspace, monkeypatch):
    def lacking(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("featbert.features.shards.extract_shards", lacking)
    assert out_of_memory(error)
    assert size in memory_lack(error)
    message = error_of(workspace.extract("--quiet"))
    assert size in message
    assert "--token-budget" in message


def test_sigterm_ends_a_command_as_ctrl_c_does(tmp_path):
    pipe = tmp_path / "corpus.conll"
    os.mkfifo(pipe)  # reading it waits until the test ends
    running = subprocess.Popen(
        [*COMMAND, "check", str(pipe)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    writing = os.open(pipe, os.O_WRONLY)  # returns when the command reads
    try:
        time.sleep(0.1)
        running.send_signal(signal.SIGTERM)
        stdout, stderr = running.communicate(timeout=PATIENCE)
    finally:
        os.close(writing)
        running.kill()
    assert (running.returncode, stdout, stderr.count("\n")) == (143, "", 1)
    assert stderr.startswith("terminated; ")
