"""Exit codes, one-line errors, signals, pipes: how a command ends."""

import errno
import resource
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from featbert.errors import out_of_memory
from featbert.features import shards
from featbert.runs.run import find_runs
from tests.failing import failing
from tests.processes import Ended, fresh_commands
from tests.tiny_encoders import write_encoder
from tests.workspace import command, error_of

COMMAND = [sys.executable, "-m", "featbert"]
# Seconds; long enough for a busy machine.
PATIENCE = 90

# Wrong usage and a word that the line must name.
MISUSED = {
    "extract --layes 3": "--layers",
    "--versoin": "--version",
    "extract --precision half": "'fp16'",
    "embed --pooling most": "--pooling 'most'; use auto, cls",
    "evaluate RUN": "--data",
    "compare --report": "featbert compare --help",
    "train --lr 1e-3": "'--learning-rate'",
    "train corpora/mine": "--data corpora/mine",
    "run quickstart --limit 20": "--set limit=",
    "run quickstart --jop 2": "--jop;",
    "finetune --learning-rate -1": "--learning-rate is -1",
    "adapt --mask-share 0.8 --random-share 0.3": "--mask-share",
    "compare --format tex": "'latex'",
    "compare --on x": "'--evaluated-on'",
    "compare --figures x": "'--figures-dir'",
    "compare --no-text": "'--no-sentences'",
    "finetune --discriminative 2": "'--layer-decay'",
    "finetune --targets all": "'--target-modules'",
    "train --scheme iob1": "'--file-scheme'",
    "adapt --share 0.2": "'--predict-share'",
    "runs pack --output x": "'--out'",
    "runs pack --text": "'--predictions'",
    "version": "'--version'",
    "runs ls": "; featbert runs ",
}


@pytest.mark.parametrize("words", MISUSED)
def test_wrong_usage_is_one_line_and_exit_code_2(words):
    done = command(*words.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert MISUSED[words] in done.stderr
    assert done.stderr.endswith(" --help\n")
    assert done.stderr.count("\n") == 1


def test_without_a_command_the_help_is_shown():
    assert "Commands:" in command().output


ADAPT = "adapt --model {model} --data {plain}"
PREDICT = "predict {run} {folder}/notes.txt --runs-dir {runs}"
EVALUATE = "evaluate {run} --data {corpus} --runs-dir {runs}"
# Commands that are refused before torch is loaded, which takes seconds, and what the line names.
REFUSED = {
    # Names that are nearly right
    "check {folder}/tinny": "tiny'",
    "check sample:multilabel --task classification": "--task multilabel",
    "extract --model {folder}/tiyn": "'{folder}/tiny'",
    "train --layers LAST": "'last'",
    "runs --runs-dir {plain}": "{plain}",
    "runs show last-2 --runs-dir {folder}/runs": "'last-1'",
    "extract --model {model} --layers 3-9": "0 to 4",
    "train --seeds 1-2000": "1,000",
    "finetune --train-share 0.5 --train-on train+dev": "--train-share",
    "run quickstart --set finetune.rank=0": "with finetune.rank=0",
    "extract --model {model} --data {plain} --context document": "document",
    "run {plain}/documents.toml": "document",
    "finetune --model {uncased} --data {corpus} --casing truecased": "uncased",
    "finetune --model {damaged} --data {corpus}": "{damaged}",
    "finetune --model {model} --data {corpus} --freeze-to 9": "9",
    "finetune --model {model} --data {corpus} --tuning top:1 --freeze-to 1": "--freeze-to",
    "finetune --model {model} --data {corpus} --log-with tensorbord": "'tensorboard'",
    "compare --runs-dir {runs} --figure layers": "--figures-dir",
    "compare --runs-dir {runs} --wide --format csv": "--wide",
    "compare --runs-dir {runs} --figures-dir {folder}/new --figure layres": "'layers'",
    "compare --runs-dir {runs} --report {folder}/report.txt": "report.txt",
    "compare --runs-dir {runs} --no-sentences": "--report",
    "run quickstart --no-measure": "--dry-run",
    f"{ADAPT} --data {{folder}}/nowhere": "{folder}/nowhere",
    f"{ADAPT} --nsp on": "nsp",
    f"{ADAPT} --out {{folder}}/tiny/train.conll": "{folder}/tiny/train.conll",
    "predict {run} {folder}/nots.txt --runs-dir {runs}": "notes.txt'",
    f"{PREDICT} --out {{folder}}": "{folder}",
    f"{PREDICT} --out {{folder}}/notes.txt": "{folder}/notes.txt",
    f"{PREDICT} --encoding utf-99": "'utf-99'",
    f"{PREDICT} --pair 2": "notes.txt",
    f"{PREDICT} --pair 2 --input conll": "--pair",
    "train --features {folder}/no.h5 --context document": "--context",
    "check --answerable": "--answerable",
    "evaluate {run}x --data {corpus} --runs-dir {runs}": "{run}'",
    f"{EVALUATE} --data {{folder}}/nowhere": "{folder}/nowhere",
    f"{EVALUATE} --split tset": "'test'",
    f"{EVALUATE} --map PRE=O": "'PER'",
    f"{EVALUATE} --map PER": "FROM=TO",
    f"{EVALUATE} --file-scheme bixo": "'bixo'",
}


def test_a_mistake_is_one_line_without_torch_and_writes_nothing(workspace, finished):
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
    (folder / "store.h5").touch()
    (folder / "notes.txt").write_text("Rome\n", "utf-8")
    (folder / "runs" / "last-1").mkdir(parents=True)
    places |= {"model": workspace.model, "folder": folder, "corpus": workspace.corpus}
    places |= {"run": next(iter(find_runs(finished.runs))).name, "runs": finished.runs}
    before = sorted([*folder.rglob("*"), *finished.runs.rglob("*")])
    commands = [words.format(**places).split() for words in REFUSED]
    for words, ended in zip(REFUSED, fresh_commands(*commands, cwd=folder), strict=True):
        assert REFUSED[words].format(**places) in error_of(ended), words
        assert (ended.stdout, ended.light) == ("", True), words
    assert sorted([*folder.rglob("*"), *finished.runs.rglob("*")]) == before


def test_light_commands_do_not_load_torch(finished, tmp_path):
    (store,), runs = finished.cache.glob("*.h5"), ["--runs-dir", finished.runs]
    commands = [["--help"], ["train", "--help"], ["check", finished.corpus], ["inspect", store]]
    ended = fresh_commands(*commands, ["compare", *runs], ["runs", *runs], cwd=tmp_path)
    assert [(one.exit_code, one.light) for one in ended] == [(0, True)] * 6


@pytest.mark.parametrize("wrong", ["--layers", "--data"])  # the second one is an OSError, too
def test_debug_shows_the_traceback(workspace, wrong):
    result = workspace.call("--debug", "train", wrong, "nope")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Traceback")
    assert "nope" in result.stderr.splitlines()[-1]


def test_a_reader_that_stops_early_is_no_error(finished):
    command = [*COMMAND, "runs", "--runs-dir", str(finished.runs)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    running.stdout.close()  # as `| head` does
    running.stdout = None
    assert running.communicate(timeout=PATIENCE)[1] == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        *(("train -h >/dev/full", 1, 1), ("runs {} >/dev/full", 1, 1)),
        *(("runs {} 2>&-", 0, 0), ("runs {} >&- 2>&- <&-", 0, 0)),
        *(("runs {} >/dev/full 2>/dev/full", 1, 0), ("nope 2>/dev/full", 2, 0)),
        *(("nope >&-", 2, 1), ("--help <&-", 0, 0)),
    ],
)
def test_outputs_that_are_closed_or_full(finished, line, code, told):
    """At most a line, and a code that says whether the command did its work."""
    words = line.format(f"--runs-dir {shlex.quote(str(finished.runs))}")
    done = subprocess.run(
        ["sh", "-c", f"{shlex.join(COMMAND)} {words}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (code, told), done.stderr


class OutOfMemoryError(RuntimeError):
    """As torch calls it."""


GPU = OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total ...")
CPU = RuntimeError(
    "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
    "you tried to allocate 151437312 bytes. Error code 12 (Cannot allocate memory)"
)


@pytest.mark.parametrize(("error", "size"), [(GPU, "2.00 GiB"), (CPU, "151 MB")])
def test_lack_of_memory_names_the_size_and_an_option(error, size, workspace):
    with failing(shards, "extract_shards", error=error):
        message = error_of(workspace.extract("--quiet"))
    assert size in message
    assert "--token-budget" in message


def test_sigterm_ends_a_command_as_ctrl_c_does():
    command = [*COMMAND, "check", "/dev/stdin"]  # which waits for text until the test ends
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, **pipes) as running:
        try:
            running.stdin.write(b"Rome B-LOC\n" * 10_000)  # returns when the command reads
            running.stdin.flush()
            running.send_signal(signal.SIGTERM)
            stdout, stderr = running.stdout.read(), running.stderr.read()
        finally:
            running.kill()
    assert (running.wait(), stdout, stderr.count(b"\n")) == (143, b"", 1)
    assert stderr.startswith(b"terminated; ")


@pytest.mark.parametrize(("command", "megabytes"), [("compare", 650), ("finetune", 1000)])
def test_little_address_space_is_refused_before_libraries_are_loaded(workspace, command, megabytes):
    """OpenBLAS would wait for memory without end."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 10**6, megabytes * 10**6))

    data = ["--data", workspace.corpus, "--model", workspace.model]
    words = [*COMMAND, command, *(data if command == "finetune" else ())]
    given = {"cwd": workspace.folder, "capture_output": True, "text": True, "timeout": PATIENCE}
    done = subprocess.run(words, **given, preexec_fn=limited, check=False)
    assert f"{megabytes:,}" in error_of(Ended(done.returncode, done.stdout, done.stderr, True))


def test_a_lack_of_memory_in_whatever_words():
    words = ("std::bad_alloc", "can't start new thread", "could not create a primitive")
    lacks = [*map(RuntimeError, words), MemoryError(), OSError(errno.ENOMEM, "")]
    lacks.append(ImportError("libtorch.so: failed to map segment from shared object"))
    assert all(map(out_of_memory, lacks))
    assert not out_of_memory(RuntimeError("shapes differ"))
