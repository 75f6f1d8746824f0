"""Fixtures of the tests that read datasets: local folders, and no network."""

import pytest


@pytest.fixture(scope="session")
def offline(tmp_path_factory):
    """`datasets` without a network, and what it prepares in a folder of the tests' own."""
    import datasets

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("datasets"))
        patch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
        yield


@pytest.fixture
def saved(offline, tmp_path):
    """Writes splits, given as rows, as `save_to_disk` does; gives what --data takes."""
    import datasets

    from tests.data.support import made

    def save(name="news", types=None, **splits) -> str:
        found = datasets.DatasetDict({split: made(rows, types) for split, rows in splits.items()})
        found.save_to_disk(tmp_path / name)
        return f"hf:{tmp_path / name}"

    return save
