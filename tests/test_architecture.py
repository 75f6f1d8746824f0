"""The rules that ARCHITECTURE.md states: one import order, one home for each heavy library."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from featbert.lazy import late
from tests.processes import ROOT, fresh_command, loaded

PACKAGE = ROOT / "featbert"
ORDER = (
    "data",
    "tasks",
    "encoders",
    "features",
    "models",
    "training",
    "runs",
    "analysis",
    "report",
    "cli",
)
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE)


@functools.cache
def imports(path: Path, *, types: bool = True) -> frozenset[str]:
    """Modules that a file imports; those for type checkers, which load nothing, if asked for."""
    return frozenset(_imports(path, types))


def _imports(path: Path, types: bool) -> Iterator[str]:
    tree = ast.parse(path.read_text("utf-8"))
    unloaded = set() if types else {n for block in map(typing_block, ast.walk(tree)) for n in block}
    for node in ast.walk(tree):
        if node in unloaded:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield node.module or ""


def typing_block(node: ast.AST) -> list[ast.stmt]:
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        return node.body
    return []


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
        ("h5py", "features"),
        ("seqeval", "tasks/entities.py"),
        ("matplotlib", "report/figures"),
        ("jinja2", "report/html"),
        ("datasets", "data/hub.py"),
        ("accelerate", "training/tracking.py"),
        ("pandas", "analysis/frame.py"),
    ],
)
def test_a_library_has_one_home(library: str, home: str) -> None:
    users = [p for p in MODULES if library in {n.split(".")[0] for n in imports(p, types=False)}]
    assert users
    assert all(str(p.relative_to(PACKAGE)).startswith(home) for p in users)


def test_what_is_loaded_late_is_there_and_stands_after_who_calls_it() -> None:
    """`late` goes against the order at run time, from the nouns of comparison/ to report/ alone."""
    calls = [
        (path, node.args)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "late"
    ]
    assert len(calls) > 3
    for path, (module, name) in calls:
        assert isinstance(module, ast.Constant)
        assert isinstance(name, ast.Constant)
        assert path.relative_to(PACKAGE).parts[0] in ("runs", "analysis")
        assert module.value.startswith("featbert.report.")
        assert callable(late(module.value, name.value))


@pytest.mark.parametrize(
    "code", ["import featbert", "import featbert.cli.main", "featbert.compare"]
)
def test_what_is_light_stays_light(code: str) -> None:
    assert loaded(f"import featbert\n{code}") == ()


def test_help_and_compare_do_not_import_torch(tmp_path: Path) -> None:
    for words in (["--help"], ["compare", "--runs-dir", str(tmp_path)]):
        assert fresh_command(*words, cwd=tmp_path).light
