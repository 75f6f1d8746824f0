"""Runs and extractions on a cluster of this machine, whose nodes are killed: the results of one."""

import contextlib
import errno
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from glob import glob
from pathlib import Path
from typing import Any

import psutil
import pytest

from featbert.api import extract
from featbert.data.load import load_corpus
from featbert.encoders.encoding import EncodingOptions
from featbert.encoders.source import find_encoder
from featbert.engine import Each
from featbert.errors import FeatbertError, MissingError
from featbert.experiments import ray_engine
from featbert.experiments.plan import ExperimentPlan
from featbert.experiments.schedule import carry_out
from featbert.features.plan import plan_extraction
from featbert.features.shards import extract_shards
from featbert.features.store import FeatureStore
from featbert.io import lock_beside
from featbert.progress import heard_by, logged_by
from featbert.runs.record import read_experiment_record
from featbert.runs.run import find_runs
from tests.experiments.experiment_files import SMALL, Lab
from tests.failing import full_disk
from tests.faults.test_killed import files, held
from tests.features.stores import datasets
from tests.features.support import FP32
from tests.listening import Ear
from tests.workspace import Workspace, error_of, ok, write_corpus

KEYS = FP32 | {
    "threads": 1,
    "seeds": [1, 2],
    "features": {"layers": ["last"], "epochs": 8, "lstm_size": 8},
}
SEARCH = FP32 | {"features": SMALL, "search": {"trials": 3, "features": {"dropout": [0.1, 0.3]}}}


class Nodes:
    """A head and more nodes, of one core each, on addresses of the loopback."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 200}
        self.small = {"object_store_memory": 80 << 20}
        head = {"num_cpus": 1, "include_log_monitor": False, "no_monitor": True}
        head |= {"node_ip_address": "127.0.0.2", "_system_config": quick, **self.small}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.added = 0

    def add(self, **more: int) -> Any:
        self.added += 1
        place = f"127.0.0.{2 + self.added}"
        return self.cluster.add_node(node_ip_address=place, **{"num_cpus": 1} | self.small | more)

    def workers(self, node: Any) -> dict[int, psutil.Process]:
        raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
        return {process.pid: process for process in raylet.children()}

    @contextlib.contextmanager
    def killed(self, node: Any, begun: Callable[[], Iterable[Path]]) -> Iterator[None]:
        """The node is killed in the block, as soon as it writes a path that is `begun`."""
        ended, killed = threading.Event(), []

        def is_writing() -> bool:
            with contextlib.suppress(OSError, LookupError):
                locks = (lock_beside(path).read_text("utf-8") for path in begun())
                return any(int(lock.split()[1]) in self.workers(node) for lock in locks)
            return False

        def kill() -> None:
            while not ended.is_set() and not is_writing():
                time.sleep(0.01)
            if not ended.is_set():
                killed.append(node)
                for process in self.workers(node).values():
                    process.kill()
                self.cluster.remove_node(node, allow_graceful=False)

        thread = threading.Thread(target=kill)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
        assert killed


def without_room(each: Each) -> Each:
    """As `each`, on nodes whose disk is full when a run's weights are written."""

    def full(function: Callable[..., Any], *arguments: Any) -> Any:
        with full_disk("weights.safetensors"):
            return function(*arguments)

    return wrapped(each, full)


def telling_gpus(joined: Any, folder: Path) -> Any:
    """As `joined`. Calls leave a file that tells their GPU, and how many calls have room."""

    @contextlib.contextmanager
    def told(*place: Any, **how: Any) -> Iterator[Any]:
        with joined(*place, **how) as (each, room):

            def telling(function: Callable[..., Any], *arguments: Any) -> Any:
                (folder / f"GPU {os.environ['CUDA_VISIBLE_DEVICES']} of {room} runs").touch()
                return function(*arguments)

            yield wrapped(each, telling), room

    return told


def wrapped(each: Each, call: Callable[..., Any]) -> Each:
    """As `each`, whose workers carry out `call` of the function and its arguments."""
    return lambda function, calls: each(call, {n: (function, *a) for n, a in calls.items()})


def lost(*_: object, **__: object) -> None:
    from ray.exceptions import RayError

    raise RayError("Version mismatch: the cluster was started with:\n Ray: 2.9.0\n Python: 3.9.6\n")


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    made = Nodes()
    try:
        yield made
    finally:
        made.cluster.shutdown()


def test_a_cluster_that_loses_nodes_reaches_the_results_of_one_machine(
    nodes, tmp_path, tiny_bert, monkeypatch
):
    monkeypatch.setattr("featbert.features.plan.BLOCK_WORDS", 10)
    space = Workspace(tmp_path, write_corpus(tmp_path / "tiny", repeat=30), tiny_bert)
    corpus, source = load_corpus(str(space.corpus)), find_encoder(str(space.model))
    whole = extract(corpus, source, cache_dir=tmp_path / "whole", **FP32)
    plan = plan_extraction(corpus, source, EncodingOptions(**FP32), cache_dir=space.cache)
    first = nodes.add()

    def extracting() -> list[Path]:
        journals = map(Path, glob(f"{space.cache}/*.shards/*.journal"))
        return [path.with_suffix("") for path in journals if path.stat().st_size > 500]

    def training() -> list[Path]:
        return [Path(path).parent for path in glob(f"{space.runs}/*/checkpoint.pt")]

    said: list[str] = []
    ear, lab = Ear(), Lab(space)
    folders = (space.cache, space.runs)
    with (
        logged_by(lambda _, text: said.append(text), logging.INFO),
        heard_by(ear),
        ray_engine.joined(nodes.cluster.address, folders) as (each, room),
    ):
        assert room == 2
        with nodes.killed(first, extracting):
            store = extract_shards(plan, 4, each)
        assert sum("another one has taken it up" in line for line in said) == 1
        assert any("resuming" in line for line in said)
        second = nodes.add()
        lab.where["runs_dir"] = tmp_path / "searched"
        (searched,) = lab.carry_out(each=each, jobs=3, **SEARCH).searches
        shell = {"long": f"until test -e {tmp_path}/end; do sleep 0.1; done", "short": "true"}
        ending = each(subprocess.check_call, {n: (["sh", "-c", c],) for n, c in shell.items()})
        assert next(ending) == ("short", 0)
        (tmp_path / "end").touch()
        assert next(ending) == ("long", 0)
        lab.where["runs_dir"] = space.runs
        with nodes.killed(second, training):
            outcome = lab.carry_out(each=each, jobs=room, **KEYS)
        # In a process of its own, without the cluster: this one has run other tests.
        for keys, name in ((SEARCH, "searched here"), (KEYS, "undisturbed")):
            plan = ExperimentPlan(lab.experiment(**keys), space.cache, tmp_path / name)
            assert dict(each(lambda p: bool(carry_out(p)), {name: (plan,)})) == {name: True}
        calls = {"good": (str(space.corpus),), "bad": (str(tmp_path / "nowhere"),)}
        done = dict(each(load_corpus, calls))
        lab.where["runs_dir"] = tmp_path / "full"
        full = lab.carry_out(each=without_room(each), jobs=room, **KEYS)
        resumed = lab.carry_out(each=each, jobs=room, **KEYS)
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()  # as Ctrl-C does
        with pytest.raises(KeyboardInterrupt):
            next(each(time.sleep, {"long": (600,)}))
        until = time.monotonic() + 60
        while ray_engine.ray.available_resources().get("CPU", 0) < 1:  # until its task is ended
            assert time.monotonic() < until
            time.sleep(0.1)
        with monkeypatch.context() as patched:
            patched.setattr(ray_engine.ray, "wait", lost)
            with pytest.raises(FeatbertError, match=r"2\.9\.0.* 3\.9\.6"):
                next(each(os.getenv, {"home": ("HOME",)}))
    assert [os.strerror(errno.ENOSPC) in why for why in full.failures.values()] == [True, True]
    assert not any("\n" in why for why in full.failures.values())
    assert [run.record.scores for run in resumed.runs] == [r.record.scores for r in outcome.runs]
    assert datasets(store.path) == datasets(whole.path)
    assert outcome.failures == {}
    assert sum("another one has taken it up" in line for line in said) == 2
    assert {f"training last, seed {n}" for n in (1, 2)} <= {*ear.stages}
    assert {*ear.stages} <= {*ear.ended}
    assert done["good"] == corpus
    assert isinstance(done["bad"], MissingError)

    (here,) = read_experiment_record(tmp_path / "searched here", "trial").searches
    assert [(t.runs, t.dev) for t in searched.tried] == [(t.runs, t.dev) for t in here.tried]
    found, expected = files(space.runs), files(tmp_path / "undisturbed")
    assert found.keys() == expected.keys()
    for name, path in found.items():
        assert held(path) == held(expected[name]), name

    # What the cluster does not have is refused in one line, and costs nothing that is there.
    file = space.experiment("[finetune]\nepochs = 1\n")
    on = ("--on", "ray", "--address", nodes.cluster.address)
    assert "4 GPUs" in error_of(space.carry_out(file, *on, "--gpus-per-run", 4, "--quiet"))
    own = os.open(tmp_path, os.O_RDONLY)  # a folder that no other process sees
    elsewhere = ("--cache-dir", space.cache, "--runs-dir", f"/proc/self/fd/{own}/more")
    message = error_of(space.call("run", file, *on, *elsewhere, "--quiet"))
    assert "127.0.0." in message
    assert f"fd/{own}/more" in message
    assert files(space.runs) == found
    assert not [*space.cache.glob(".*")]

    # The commands, on the cluster that RAY_ADDRESS names, and on a Ray that is started here.
    nodes.add(num_cpus=2, num_gpus=1)
    with monkeypatch.context() as patched:
        patched.setenv("RAY_ADDRESS", nodes.cluster.address)
        patched.setattr(ray_engine, "joined", telling_gpus(ray_engine.joined, tmp_path))
        ok(space.carry_out(file, "--on", "ray", "--gpus-per-run", 0.5))
    assert (tmp_path / "GPU 0 of 2 runs").exists()
    assert [run.record.tuning for run in find_runs(space.runs)].count("full") == 1
    ok(space.extract("--pooling", "last", "--on", "ray"))
    stores = [FeatureStore(path) for path in space.cache.glob("*.h5")]
    assert {s.manifest.pooling: len(s.shards) for s in stores}["last"] > 1  # as many as cores


def test_a_wrong_address_and_a_missing_extra(workspace, monkeypatch):
    file = workspace.experiment("[finetune]\n")
    for address in ("127.0.0.1:1", "head", "no.such.host.invalid:6379"):
        on = ("--on", "ray", "--address", address)
        assert address in error_of(workspace.carry_out(file, *on, "--quiet"))
    assert "--on ray" in error_of(workspace.carry_out(file, "--gpus-per-run", 1))
    monkeypatch.delitem(sys.modules, "featbert.experiments.ray_engine")
    monkeypatch.delattr("featbert.experiments.ray_engine")
    monkeypatch.setitem(sys.modules, "ray", None)
    assert "featbert[ray]" in error_of(workspace.extract("--on", "ray"))
    assert not workspace.cache.exists()
    assert not workspace.runs.exists()
