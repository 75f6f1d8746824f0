"""The rules that ARCHITECTURE.md states: one import order, one home for each heavy library."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import ROOT, fresh_command, loaded

PACKAGE = ROOT / "featbert"
ORDER = (
    "data",
    "features",
    "tagging",
    "evaluation",
    "training",
    "comparison",
    "report",
    "experiments",
    "cli",
)
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE)


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield node.module or ""


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_run_one_way(path: Path) -> None:
    place = ORDER.index(path.relative_to(PACKAGE).parts[0])
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "featbert" and len(parts) > 1 and parts[1] in ORDER:
            assert ORDER.index(parts[1]) <= place, f"{path} imports {name}"


@pytest.mark.parametrize(
    ("library", "home"),
    [
        ("h5py", "features/store"),
        ("seqeval", "evaluation/scorer.py"),
        ("matplotlib", "report/figures"),
    ],
)
def test_a_library_has_one_home(library: str, home: str) -> None:
    users = [p for p in MODULES if any(n.split(".")[0] == library for n in imports(p))]
    assert users
    assert all(str(p.relative_to(PACKAGE)).startswith(home) for p in users)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_stay_short(path: Path) -> None:
    assert path.read_text("utf-8").count("\n") <= 350


@pytest.mark.parametrize("code", ["import featbert", "import featbert.cli", "featbert.compare"])
def test_what_is_light_stays_light(code: str) -> None:
    assert loaded(f"import featbert\n{code}") == ()


def test_help_and_compare_do_not_import_torch(tmp_path: Path) -> None:
    for words in (["--help"], ["compare", "--runs-dir", str(tmp_path)]):
        assert fresh_command(*words, cwd=tmp_path).light
