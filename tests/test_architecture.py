"""The rules that ARCHITECTURE.md states: one import order, one home for each heavy library."""

import ast
import functools
import subprocess
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.processes import ROOT, loaded

PACKAGE = ROOT / "featbert"
ORDER = (
    *("data", "tasks", "encoders", "features", "models"),
    *("training", "adaptation", "runs", "inference", "experiments", "analysis", "report", "cli"),
)
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE)


@functools.cache
def imports(path: Path, *, types: bool = True) -> set[str]:
    """Modules that a file imports; those for type checkers, which load nothing, if asked for."""
    nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
    if not types:
        unloaded = {node for block in map(typing_block, nodes) for node in block}
        nodes = [node for node in nodes if node not in unloaded]
    of_modules = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    assert not any(node.level for node in of_modules), f"{path} imports relatively"
    aliases = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return {node.module or "" for node in of_modules} | {alias.name for alias in aliases}


def typing_block(node: ast.AST) -> list[ast.stmt]:
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        return node.body
    return []


def test_imports_run_one_way() -> None:
    for path in MODULES:
        place = ORDER.index(path.relative_to(PACKAGE).parts[0])
        for name in imports(path):
            parts = name.split(".")
            assert name != "featbert.api" or ORDER[place] == "cli", f"{path} imports the front door"
            if parts[0] == "featbert" and len(parts) > 1 and parts[1] in ORDER:
                assert ORDER.index(parts[1]) <= place, f"{path} imports {name}"


def test_no_modules_import_each_other():
    """Neither when they are loaded nor for their types; functions may import what uses them."""
    graph = {}
    for path in MODULES:
        tree = ast.parse(path.read_text("utf-8")).body
        nodes = [n for node in tree for n in (node, *typing_block(node))]
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        graph[name] = {n.module for n in nodes if isinstance(n, ast.ImportFrom)} - {None}
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize(
    ("library", "home"),
    [
        ("h5py", "features"),
        ("seqeval", "tasks/entities.py"),
        ("matplotlib", "report/figures"),
        ("jinja2", "report/html"),
        ("datasets", "data/hub.py"),
        ("optuna", "experiments/search.py"),
        ("peft", "encoders/tunings"),
        ("pandas", ("analysis", "report")),
        ("ray", "experiments/ray_engine.py"),
    ],
)
def test_a_library_has_one_home(library: str, home: str | tuple[str, ...]) -> None:
    users = [p for p in MODULES if library in {n.split(".")[0] for n in imports(p, types=False)}]
    assert users
    assert all(str(p.relative_to(PACKAGE)).startswith(home) for p in users)


def test_a_checkout_is_small() -> None:
    """Under 700 files and 15 MB."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listing.returncode:
        pytest.skip("this is no checkout")
    paths = [ROOT / name for name in listing.stdout.decode().split("\0") if name]
    sizes = [path.stat().st_size for path in paths if path.is_file()]
    assert len(sizes) < 700
    assert sum(sizes) < 15_000_000


def test_what_is_light_stays_light() -> None:
    assert loaded("import featbert\nimport featbert.cli.main\nfeatbert.compare") == ()
