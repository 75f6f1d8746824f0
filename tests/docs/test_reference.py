"""The reference describes what commands write: a store's datasets and a record's fields."""

from __future__ import annotations

import json
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
        manifest = set(json.loads(file.attrs["manifest"]))
    general = {re.sub(r"^\w+", "/<split>", re.sub(r"layers/\d+", "layers/00", n)) for n in found}
    assert general == names(section("store-format.md", "## Datasets"))
    assert manifest - {"format_version"} <= names(section("store-format.md", "## Manifest"))


def test_a_record_has_the_fields_of_its_page(finished: Workspace) -> None:
    path = next(path for path in sorted(finished.runs.glob("*weighted_all*/record.json")))
    record = json.loads(path.read_text("utf-8"))
    whole = section("run-records.md", "## record.json").partition("### ")[0]
    assert set(record) == names(whole)
    for name in ("signature", "cost", "mix"):
        assert set(record[name]) <= names(section("run-records.md", f"### {name}"))
    assert set(record["scores"]["dev"]) == names(section("run-records.md", "### scores"))
    assert set(record["history"][0]) <= names(section("run-records.md", "### history"))
    files = {file.name for file in path.parent.iterdir()}
    listed = section("run-records.md", "# Run records").partition("## ")[0]
    assert files <= set(re.findall(r"`([\w.]+)`", listed))
