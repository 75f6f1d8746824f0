"""Ray as the engine: calls are tasks on several machines, or on several GPUs of one.

If a worker or node dies, another worker takes up its task: runs resume from their checkpoint and
extractions from their journal. Files go through folders that all nodes see.
"""

import contextlib
import logging
import math
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from featbert.encoders.device import find_device
from featbert.engine import Each
from featbert.errors import BusyError, FeatbertError, InputError, spelling
from featbert.io import explaining, temporary
from featbert.progress import Message, Relay, forwarded, notice
from featbert.text import counted, shortened

# Settings that Ray reads when it is imported or started.
for _name, _value in {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # a warning otherwise
    "RAY_DEDUP_LOGS_SKIP_REGEX": "(?s).",  # pages about lost nodes, on stdout
    "RAY_task_oom_retries": "3",  # by default without end
}.items():
    os.environ.setdefault(_name, _value)

import ray  # noqa: E402
from ray.exceptions import RayError, RayTaskError  # noqa: E402
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: E402

# Times that a task is taken up again after its worker died.
RETRIES = 3
# Seconds between two looks at the tasks, between two looks at the nodes, and to wait for an answer.
LOOK_EVERY, COUNT_EVERY, PATIENCE = 0.5, 10.0, 120.0


@contextlib.contextmanager
def joined(
    address: str | None,
    folders: Sequence[Path],
    *,
    cpus: int = 1,
    gpus: float | None = None,
    jobs: int | None = None,
) -> Iterator[tuple[Each, int]]:
    """An engine on the Ray at `address`, or on a Ray that is started on this machine.

    A call runs in the current folder of its node.

    Args:
        folders: are made, and must be seen by all nodes.
        cpus, gpus: cores and GPUs of a call. Default: one GPU if this machine has any.
        jobs: calls at a time, at most.

    Yields:
        The engine, and how many calls it has room for at a time.

    Raises:
        InputError: no Ray answers, no node has that many cores and GPUs, or a node does not see one
            of the folders.
    """
    if gpus is None:
        gpus = float(find_device().kind == "cuda")
    place = address or "local"
    if place not in ("auto", "local"):
        _check_listens(place)
        os.environ.setdefault("RAY_gcs_server_port_wait_time_s", "1")  # else it tries for minutes
    try:
        ray.init(place, include_dashboard=False, log_to_driver=False, logging_level=logging.FATAL)
    except (ConnectionError, RuntimeError, ValueError, RayError) as error:
        raise InputError(
            f"Ray at {place} cannot be used: {_line(error)}; where it asks for a token, set "
            f"RAY_AUTH_MODE=token, or give {spelling('address', 'auto')} on one of its nodes"
        ) from None
    try:
        room = _room(cpus, gpus)
        with _tokens(folders) as tokens:
            _check_seen(tokens)
            node = _on(ray.get_runtime_context().get_node_id())
            mailbox = ray.remote(_Mailbox).options(num_cpus=0, scheduling_strategy=node)
            tasks = _Tasks(cpus, gpus, jobs, Path.cwd(), tokens, mailbox.remote())
            yield tasks.each, jobs or room
    finally:
        ray.shutdown()


class _Mailbox:
    """An actor on the driver's node, which keeps (name, worker, message) of running calls."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str, Message]] = []

    def put(self, *message: Any) -> None:
        self.messages.append(message)

    def take(self) -> list[tuple[str, str, Message]]:
        messages, self.messages = self.messages, []
        return messages


@dataclass(frozen=True)
class _Tasks:
    cpus: int
    gpus: float
    jobs: int | None
    folder: Path
    tokens: Sequence[Path]
    mailbox: Any

    def each(
        self, function: Callable[..., Any], calls: Mapping[str, tuple[Any, ...]]
    ) -> Iterator[tuple[str, Any]]:
        """See `engine.Each`. Tasks that still run when the iterator is closed are cancelled."""
        # Not `options`: it would not use a worker that had a GPU again.
        options = {"num_cpus": self.cpus, "num_gpus": self.gpus, "max_retries": RETRIES}
        task: Any = ray.remote(**options)(_carry_out)  # type: ignore[call-overload]
        waiting, names = [*calls.items()][::-1], dict[Any, str]()
        relays, workers = dict[str, Relay](), dict[str, list[str]]()
        looked = time.monotonic()
        try:
            while waiting or names:
                while waiting and len(names) < (self.jobs or len(calls)):
                    name, arguments = waiting.pop()
                    names[task.remote(self, name, function, arguments)] = name
                    relays[name], workers[name] = Relay(), []
                ended, messages = self._news([*names])
                for name, worker, message in messages:
                    if name not in relays:
                        continue
                    if worker not in workers[name]:
                        if workers[name]:
                            relays[name].close()
                            notice(f"{name}: its worker died, another one has taken it up")
                        workers[name].append(worker)
                    if worker == workers[name][-1]:  # a lost worker may still send
                        relays[name](message)
                for handle in ended:
                    name = names.pop(handle)
                    relays.pop(name).close()
                    yield name, _result(handle)
                if not ended and time.monotonic() - looked > COUNT_EVERY:
                    looked = time.monotonic()
                    if not any(_slots(node, self.cpus, self.gpus) for node in _nodes()):
                        notice("no node is left that has room for a run; waiting for one")
        finally:
            for handle in names:
                ray.cancel(handle, force=True)
            for relay in relays.values():
                relay.close()

    def _news(self, tasks: list[Any]) -> tuple[list[Any], list[tuple[str, str, Message]]]:
        """The tasks that have ended, and new messages. FeatbertError if Ray has died."""
        try:
            ended, _ = ray.wait(tasks, timeout=LOOK_EVERY)
            return ended, ray.get(self.mailbox.take.remote())
        except RayError as error:
            raise FeatbertError(
                f"Ray has ended: {_line(error)}; finished work is kept, run the same command again"
            ) from None


def _carry_out(
    tasks: _Tasks, name: str, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> Any:
    """A task, in a worker."""
    import torch

    _check_shared(socket.gethostname(), _unseen(tasks.folder, tasks.tokens))
    os.chdir(tasks.folder)
    torch.set_num_threads(tasks.cpus)
    worker, give_up = uuid.uuid4().hex, time.monotonic() + PATIENCE
    last_sent = list[Any]()

    def send(message: Message) -> None:  # a task that waits would let another one begin here
        last_sent[:] = [tasks.mailbox.put.remote(name, worker, message)]

    try:
        with forwarded(send):
            while True:
                try:
                    return function(*arguments)
                except BusyError:  # a dead worker's lock may last a little longer
                    if time.monotonic() > give_up:
                        raise
                    time.sleep(LOOK_EVERY)
    finally:
        ray.get(last_sent)


def _result(task: Any) -> Any:
    """The result of a task, or the exception that ended it."""
    try:
        return ray.get(task)
    except RayTaskError as error:
        return error.cause
    except RayError as error:
        times = f"{RETRIES + 1} times"
        return FeatbertError(f"its worker died {times}, the last time with: {_line(error)}")


def _line(error: Exception) -> str:
    """The first line of an error. If it announces a list, such as of versions, all lines."""
    lines = [*filter(None, map(str.strip, str(error).splitlines()))] or [type(error).__name__]
    return shortened(", ".join(lines), 400) if lines[0].endswith(":") else lines[0]


def _check_listens(address: str) -> None:
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, ValueError, OverflowError) as error:
        raise InputError(
            f"no Ray answers at {address} ({error}); give HOST:PORT of its head with "
            f"{spelling('address')}, or omit it and unset RAY_ADDRESS to start one here"
        ) from None


def _nodes() -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]


def _slots(node: Mapping[str, Any], cpus: int, gpus: float) -> int:
    """Calls that a node has room for at a time."""
    resources = node["Resources"]
    of_gpus = resources.get("GPU", 0) / gpus if gpus else math.inf
    return int(min(resources.get("CPU", 0) / cpus, of_gpus))


def _room(cpus: int, gpus: float) -> int:
    """Calls that all nodes together have room for at a time. InputError if there is no room."""
    if gpus > 1 and gpus % 1:
        raise InputError(f"{gpus:g} is no share and no number of GPUs", setting="gpus_per_run")
    nodes = _nodes()
    room = sum(_slots(node, cpus, gpus) for node in nodes)
    if not room:
        sizes = {tuple(node["Resources"].get(k, 0) for k in ("CPU", "GPU")) for node in nodes}
        listed = ", ".join(
            f"{counted(int(c), 'core')} and {counted(int(g), 'GPU')}" for c, g in sorted(sizes)
        )
        raise InputError(
            f"no node has {counted(cpus, 'core')} and {gpus:g} GPUs for a run, only {listed}; "
            f"lower {spelling('cpus_per_run')} or {spelling('gpus_per_run')}"
        )
    return room


@contextlib.contextmanager
def _tokens(folders: Sequence[Path]) -> Iterator[list[Path]]:
    """Files in these folders, by which other machines check that they see the same folders."""
    with contextlib.ExitStack() as stack:
        tokens = []
        for folder in map(Path.absolute, dict.fromkeys(folders)):
            with explaining(folder):
                folder.mkdir(parents=True, exist_ok=True)
                tokens.append(stack.enter_context(temporary(folder / "seen")))
        yield tokens


def _check_seen(tokens: Sequence[Path]) -> None:
    """Raises InputError for a node that does not see the tokens."""
    checks = {}
    for node in _nodes():
        task = ray.remote(_unseen).options(num_cpus=0, scheduling_strategy=_on(node["NodeID"]))
        name = f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
        checks[name] = task.remote(Path.cwd(), tokens)
    for name, check in checks.items():
        try:
            unseen = ray.get(check, timeout=PATIENCE)
        except RayError as error:
            raise InputError(f"node {name} does not answer: {_line(error)}") from None
        _check_shared(name, unseen)


def _unseen(folder: Path, tokens: Sequence[Path]) -> list[Path]:
    return [path.parent for path in (folder / ".", *tokens) if not path.exists()]


def _check_shared(node: str, unseen: Sequence[Path]) -> None:
    for folder in unseen:
        raise InputError(
            f"node {node} does not see {folder}; start the command in a folder that all nodes "
            f"share, and give {spelling('cache_dir')} and {spelling('runs_dir')} that are shared"
        )


def _on(node: str) -> NodeAffinitySchedulingStrategy:
    return NodeAffinitySchedulingStrategy(node, soft=False)
