"""An uncased encoder is said to be uncased, and is not truecased."""

from __future__ import annotations

import pytest

from tests.tiny_encoders import write_encoder
from tests.workspace import Workspace, error_of


@pytest.fixture
def uncased(workspace: Workspace) -> Workspace:
    model = write_encoder(workspace.folder / "uncased", cased=False, layers=4)
    return Workspace(workspace.folder, workspace.corpus, model)


def test_it_is_said_wherever_words_are_read(uncased: Workspace, workspace: Workspace) -> None:
    assert "is uncased" in uncased.extract().stdout
    assert "is uncased" in uncased.train("--layers", "last").stderr
    assert "is uncased" in uncased.finetune().stderr
    cased = Workspace(workspace.folder / "other", workspace.corpus, workspace.model)
    said = cased.extract().output + cased.train("--layers", "last").output + cased.finetune().output
    assert "uncased" not in said


@pytest.mark.parametrize("command", ["extract", "finetune"])
def test_truecasing_is_refused(uncased: Workspace, command: str) -> None:
    words = ["--truecase"] if command == "finetune" else ["--casing", "truecased"]
    assert "uncased" in error_of(getattr(uncased, command)(*words))
    assert not uncased.cache.exists()
    assert not uncased.runs.exists()


def test_a_cased_one_is_truecased(workspace: Workspace) -> None:
    assert workspace.extract("--casing", "truecased").exit_code == 0
    assert workspace.train("--layers", "last").exit_code == 0
    assert workspace.finetune("--truecase", "--tag-scheme", "iob1").exit_code == 0
    assert "truecased" in workspace.compare("--format", "json").stdout
