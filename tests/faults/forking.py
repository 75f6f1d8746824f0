"""A process that has imported what commands need, and forks one for each command it is told.

    python -m tests.faults.forking

Each line of stdin is a JSON object: words (of the command line), cwd, stdout and stderr (files),
env (what is added to it), prepare (code that the new process carries out before it is the command)
and patience (seconds after which it tells on stderr where it is). The answer is two lines: the
process id, and when the process has ended its exit code, or the signal that ended it as a negative
number, and its highest memory in kilobytes.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

IMPORTS = (
    *("torch", "torch._dynamo", "transformers.models.bert.modeling_bert"),
    *("transformers.models.auto.modeling_auto", "transformers.models.auto.tokenization_auto"),
    *("seqeval.scheme", "seqeval.metrics.sequence_labeling"),
    *("featbert.cli.main", "featbert.cli.compare", "featbert.cli.showing"),
    *("featbert.analysis.significance", "featbert.analysis.resampling"),
    *("featbert.runs.execution", "featbert.runs.carrying_out"),
    *("featbert.features.extraction", "featbert.encoders.encoder"),
    "featbert.report.rendering",
)


def main() -> None:
    """Serves until stdin ends; in a forked process, is the command."""
    for name in IMPORTS:
        importlib.import_module(name)
    # As in the tests' own process: the same numbers on every machine.
    device = importlib.import_module("featbert.encoders.device")
    device.has_native_bf16 = lambda where: False  # type: ignore[attr-defined]
    # A thread would not be forked, and the locks that it holds would be.
    tasks = Path("/proc/self/task")
    assert not tasks.exists() or len(list(tasks.iterdir())) == 1, "one thread expected"
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        order = json.loads(line)
        process = os.fork()
        if not process:
            _become(order)
            return
        _answer(process)
        _, status, used = os.wait4(process, 0)
        _answer(os.waitstatus_to_exitcode(status), used.ru_maxrss)


def _answer(*numbers: int) -> None:
    sys.stdout.write(" ".join(map(str, numbers)) + "\n")
    sys.stdout.flush()


def _become(order: dict[str, Any]) -> None:
    from featbert.cli.main import main as command

    os.chdir(order["cwd"])
    for number, name in ((0, os.devnull), (1, order["stdout"]), (2, order["stderr"])):
        opened = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY)
        os.dup2(opened, number)
        os.close(opened)
    faulthandler.dump_traceback_later(order["patience"])
    os.environ.update(order["env"])
    exec(order["prepare"], {})
    sys.argv = ["featbert", *order["words"]]
    command()  # raises SystemExit, as it does in a process of its own


if __name__ == "__main__":
    main()
