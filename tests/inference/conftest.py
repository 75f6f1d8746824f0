"""Finished runs that several tests of using a run again share."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from featbert.runs.record import RECORD_NAME, write_json
from featbert.runs.run import Run
from tests.runs.finished_runs import learned_run, write_corpus


def learned(factory: pytest.TempPathFactory, model: Path, **how: str) -> dict[str, Run]:
    """A run of each tuning, to be read only."""
    folder = factory.mktemp("learned")
    corpus = write_corpus(folder / "mine")
    return {name: learned_run(name, folder, model, corpus, **how) for name in ("none", "full")}


@pytest.fixture(scope="session")
def both(tmp_path_factory: pytest.TempPathFactory, small_bert: Path) -> dict[str, Run]:
    return learned(tmp_path_factory, small_bert, casing="truecased")


@pytest.fixture(scope="session")
def of_documents(tmp_path_factory: pytest.TempPathFactory, small_bert: Path) -> dict[str, Run]:
    return learned(tmp_path_factory, small_bert, context="document")


@pytest.fixture(params=["none", "full"])
def run(request: pytest.FixtureRequest, both: dict[str, Run], tmp_path: Path) -> Run:
    """A copy of one of them with an encoder and a corpus of its own, to be written to."""
    whole = both[request.param]
    record = whole.record
    corpus = shutil.copytree(record.signature.source, tmp_path / "mine")
    model = shutil.copytree(record.model_source, tmp_path / "small-bert")
    folder = shutil.copytree(whole.folder, tmp_path / "runs" / whole.name)
    signature = dataclasses.replace(record.signature, source=str(corpus))
    record = dataclasses.replace(record, signature=signature, model_source=str(model))
    write_json(folder / RECORD_NAME, record)
    return Run(folder, record)
