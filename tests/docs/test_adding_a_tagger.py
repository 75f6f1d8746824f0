"""The recipe for a new tagger, followed to the letter in a copy of the project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import DOCS, ROOT, blocks

PAGE = DOCS / "how-to" / "adding-a-tagger.md"
COPIED = ("featbert", "tests", "docs", "experiments", "README.md", "pyproject.toml", "benchmarks")


def apply(diff: str, root: Path) -> None:
    """Carries out a diff; its pieces are found by their lines, which stand in the file once."""
    header, _, rest = diff.partition("\n")
    path = root / header.removeprefix("--- ")
    text = path.read_text("utf-8")
    for piece in rest.split("@@\n"):
        lines = piece.splitlines()
        before = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "+")
        after = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "-")
        assert text.count(before) == 1, f"{text.count(before)} times in {path}:\n{before}"
        text = text.replace(before, after)
    path.write_text(text, "utf-8")


def test_the_recipe_gives_a_tagger_that_trains_is_loaded_and_passes_the_tests(tmp_path):
    unwanted = shutil.ignore_patterns("__pycache__", "results", "runs", "tutorial-runs", "records")
    for name in COPIED:
        place = ROOT / name
        copy = shutil.copy2 if place.is_file() else shutil.copytree
        copy(place, tmp_path / name, **({} if place.is_file() else {"ignore": unwanted}))
    for block in blocks(PAGE):
        if block.language == "diff":
            apply(block.text, tmp_path)
        elif block.language == "python" and block.file:
            (tmp_path / block.file).write_text(block.text, "utf-8")
    # There the page is one of those that are run: what it adds is there.
    files = ("docs/test_pages.py", "tagging/test_taggers.py", "training/test_settings.py")
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"),
            *(f"tests/{file}" for file in files),
            *("-k", "cnn or adding-a-tagger or setting"),
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for ran in ("adding-a-tagger.md] PASSED", "[cnn weighted:0-3] PASSED", "[tagger-crf] PASSED"):
        assert ran in ended.stdout
