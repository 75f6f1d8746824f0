"""This machine as the engine: each call in a process of its own (`engine.Each`).

A pool of `concurrent.futures` breaks, with all its calls, when one of its processes is killed.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from featbert.engine import in_turn
from featbert.errors import OPTIONS, BusyError, FeatbertError, PrunedError, reason
from featbert.progress import Relay, forwarded

# Seconds that a process has to end.
PATIENCE = 5.0
# How processes start: forked, if that is safe, from a process that computes nothing.
METHOD = "forkserver" if sys.platform.startswith("linux") else "spawn"


def in_processes(
    function: Callable[..., Any], calls: Mapping[str, tuple[Any, ...]], *, at_a_time: int
) -> Iterator[tuple[str, Any]]:
    """See `engine.Each`: `at_a_time` processes share the cores."""
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    waiting, running = [*calls.items()][::-1], dict[Any, tuple[BaseProcess, Relay]]()
    pipe: Any
    try:
        while waiting or running:
            while waiting and len(running) < at_a_time:
                name, arguments = waiting.pop()
                pipe, process = _start(name, max(1, cores // at_a_time), function, arguments)
                running[pipe] = process, Relay()
            for pipe in wait([*running]):
                process, relay = running[pipe]
                try:
                    kind, *values = message = pipe.recv()
                except (EOFError, OSError):  # the process closed its end of the pipe
                    kind, values = "result", []
                if kind != "result":
                    relay(message)
                    continue
                del running[pipe]
                relay.close()
                yield process.name, _result(process, values)
    finally:
        for process, relay in running.values():
            relay.close()
            process.kill()
            process.join()


def _start(name: str, threads: int, *call: Any) -> tuple[Connection, BaseProcess]:
    """A process that carries out a call, and the pipe that it sends messages through."""
    context: Any = multiprocessing.get_context(METHOD)
    if METHOD == "forkserver":  # a process that has loaded the libraries forks all others
        context.set_forkserver_preload(["featbert.experiments.schedule"])
    ours, theirs = context.Pipe(duplex=False)
    arguments = (theirs, threads, OPTIONS.get(), *call)
    process: BaseProcess = context.Process(None, _carry_out, name, arguments, daemon=True)
    # The process never sees Ctrl-C, since this process ends it. The resource tracker, which the
    # first process would start, unblocks the signal.
    resource_tracker.ensure_running()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    theirs.close()
    return ours, process


def _result(process: BaseProcess, values: Sequence[Any]) -> Any:
    """The result that an ending process has sent, or an error with the cause of its death."""
    process.join(PATIENCE)
    process.kill()
    process.join()
    if values:
        return values[0]
    code = process.exitcode or 0
    cause = f"exit code {code}" if code >= 0 else f"signal {-code} ({signal.Signals(-code).name})"
    memory = ", as when memory runs out" if code == -signal.SIGKILL else ""
    return FeatbertError(f"the process of the run died: {cause}{memory}")


def _carry_out(
    pipe: Connection, threads: int, options: Any, function: Callable[..., Any], arguments: Any
) -> None:
    """A call, in its process. `options` are the `OPTIONS` of the one that started it."""
    OPTIONS.set(options)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    torch.set_num_threads(threads)
    with forwarded(pipe.send):
        ((_, result),) = in_turn(function, {"": arguments})
    if isinstance(result, Exception) and not isinstance(result, BusyError | PrunedError):
        result = FeatbertError(reason(result))  # an error that can be sent
    pipe.send(("result", result))
    pipe.close()
    os._exit(0)  # Python's own end would walk through all of torch, for a second


def _end_with_parent() -> None:
    """Ends this process when the process that started it has ended, even by SIGKILL."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)
