"""An experiment file with its folders, shared by the tests of experiments."""

import pytest

from tests.experiments.experiment_files import Lab
from tests.workspace import Workspace


@pytest.fixture
def lab(workspace: Workspace) -> Lab:
    return Lab(workspace)
