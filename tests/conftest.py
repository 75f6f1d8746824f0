"""Fixtures shared by the tests: tiny encoders, no network."""

import functools
import gc
import importlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer.testing
from hypothesis import settings

from featbert.errors import FeatbertError
from tests.experiments.experiment_files import Lab
from tests.workspace import Workspace, ok, write_corpus

# Tiny models are fastest on one thread, and the tests themselves run side by side.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.pop("COLUMNS", None)  # xdist sets it; output to a pipe is as wide as it says

# Where the tests run in a shell's background, the commands that they start are not there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same inputs each time. No deadline: machines are shared.
settings.register_profile("suite", derandomize=True, database=None, deadline=None)
settings.load_profile("suite")

# Typer makes all commands from their functions' annotations; they are the same ones each time.
typer.testing._get_command = functools.cache(typer.testing._get_command)

# What commands import when they first need it.
LATE = (
    "matplotlib.backends.backend_svg",
    "seqeval.scheme",
    "sklearn.linear_model",
    "torch._dynamo",
    "transformers.models.bert.modeling_bert",
)
# Tests of a session from which on nearly all of that is imported sooner or later.
MANY = 200
# Tests after which what they left is frozen.
FROZEN_EVERY = 50
_finished = 0


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is imported by now stays: every training collects garbage, and would walk all of it.

    That is 0.3 s a training where modules of torch and transformers came later.
    """
    if len(session.items) >= MANY:
        for name in LATE:
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def pytest_runtest_logfinish(nodeid: str) -> None:
    """What tests have left by now stays too, such as their reports and what modules keep."""
    global _finished
    _finished += 1
    if _finished % FROZEN_EVERY == 0:
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def patched() -> Iterator[None]:
    """`--precision auto` means fp32 on every machine, no disk is waited for, errors are one line.

    `tests/test_precisions.py` tests bf16. No test cuts the power. Peaks of memory are measured
    without collecting garbage first, which is a third of a tiny training.
    """
    initialise = FeatbertError.__init__

    def checked(error: FeatbertError, *args: object, **settings: object) -> None:
        assert "\n" not in str(args[0])
        initialise(error, *args, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("featbert.encoders.device.has_fast_bf16", lambda kind: False)
        patch.setattr("os.fsync", lambda handle: None)
        patch.setattr("featbert.encoders.memory.gc", SimpleNamespace(collect=lambda: None))
        patch.setattr(FeatbertError, "__init__", checked)
        yield


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A 4-layer cased BERT of 16 dimensions and 40 positions with random weights."""
    from tests.tiny_encoders import write_encoder

    return write_encoder(tmp_path_factory.mktemp("encoders") / "tiny-bert", layers=4)


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a 3-layer random encoder of a family, written once a session."""
    from tests.tiny_encoders import write_encoder

    root = tmp_path_factory.mktemp("families")

    def folder(family: str) -> Path:
        path = root / family
        return path if path.is_dir() else write_encoder(path, family)

    return folder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of shared corpora; the test is skipped where it is absent."""
    folder = Path(
        os.environ.get("FEATBERT_TEST_DATA", Path(__file__).parents[2] / "shared" / "data")
    )
    if not folder.is_dir():
        pytest.skip("shared corpora are absent; FEATBERT_TEST_DATA names their folder")
    return folder


@pytest.fixture
def workspace(tmp_path: Path, tiny_bert: Path) -> Workspace:
    """An empty folder with a small corpus and the tiny encoder."""
    return Workspace(tmp_path, write_corpus(tmp_path / "tiny"), tiny_bert)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Workspace:
    """A workspace with a store, feature runs of two layer rows and two fine-tuned runs.

    Shared by tests that only read it.
    """
    folder = tmp_path_factory.mktemp("finished")
    space = Workspace(folder, write_corpus(folder / "tiny"), tiny_bert)
    ok(space.extract())
    ok(space.train("--layers", "last", "--layers", "weighted_all", "--seeds", "1,2"))
    ok(space.finetune("--seeds", "1,2"))
    return space


@pytest.fixture(scope="session")
def small_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cased BERT of two layers with random weights."""
    from tests.tiny_encoders import write_encoder

    return write_encoder(tmp_path_factory.mktemp("small") / "small-bert", layers=2)


@pytest.fixture
def lab(workspace: Workspace) -> Lab:
    return Lab(workspace)
