"""The reference describes what commands write; tables of fields are made from the code."""

import re

import h5py

from tests.docs.pages import DOCS
from tests.workspace import Workspace


def section(page: str, heading: str) -> str:
    """The text under a heading, to the next one of its rank."""
    marks = heading.split(" ")[0]
    text = (DOCS / "reference" / page).read_text("utf-8")
    pattern = rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{len(marks)}}} |\Z)"
    found = re.search(pattern, text, re.M | re.S)
    assert found, heading
    return found[1]


def names(part: str) -> set[str]:
    """The first cells of all tables in a part of a page."""
    return set(re.findall(r"^\| `([^`]+)`", part, re.M))


def test_a_store_has_the_datasets_and_attributes_of_its_page(finished: Workspace) -> None:
    (path,) = finished.cache.glob("*.h5")
    with h5py.File(path) as file:
        found: set[str] = set()
        file.visititems(
            lambda name, item: found.add(name) if isinstance(item, h5py.Dataset) else None
        )
        assert set(file.attrs) == names(section("store-format.md", "## Attributes of the file"))
    general = {re.sub(r"^\w+", "/<split>", re.sub(r"(layers|cls)/\d+", r"\1/00", n)) for n in found}
    assert general == names(section("store-format.md", "## Datasets"))


def test_a_run_folder_has_the_files_of_its_page(finished: Workspace) -> None:
    folder = next(path for path in sorted(finished.runs.glob("*weighted_all*")))
    listed = section("run-records.md", "# Run records").partition("## ")[0]
    assert {file.name for file in folder.iterdir()} <= set(re.findall(r"`([\w.]+)`", listed))
