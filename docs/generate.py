"""Renews the tables in the documentation from kept records.

    python -m docs.generate

A generated table is between two comments of a page; the first one says how to make it:

    <!-- table: featbert compare --runs-dir docs/tutorial-runs; columns: approach, seeds, dev F1 -->
    <!-- end -->

A line that begins with `featbert` is carried out with `--format markdown`; its first table is
taken, or the one whose number is given (`; number: 2`), with all columns or those that are named.
Any other word names a function of `TABLES`. One test checks that this leaves no difference.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from featbert import find_runs

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "experiments/README.md", "benchmarks/README.md", "benchmarks/defaults.md")
_PLACE = re.compile(r"(<!-- table: ([^>]+?) -->\n).*?(<!-- end -->)", re.S)
Table = list[list[str]]  # rows of cells, the first row is the head


def renewed(text: str) -> str:
    """A page with its tables as they are now."""
    return _PLACE.sub(lambda m: f"{m[1]}{table(m[2])}\n{m[3]}", text)


def table(how: str) -> str:
    """The table that a comment asks for, as Markdown."""
    source, *choices = (part.strip() for part in how.split(";"))
    if source in TABLES:
        return TABLES[source]()
    chosen = dict(choice.split(": ", 1) for choice in choices)
    found = tables(command_output(shlex.split(source)[1:]))[int(chosen.get("number", 1)) - 1]
    columns = chosen.get("columns")
    return markdown(found if columns is None else with_columns(found, columns.split(", ")))


def command_output(words: Sequence[str]) -> str:
    """What a featbert command prints with `--format markdown`, run in the project's folder."""
    from featbert.cli.main import app

    printed = io.StringIO()
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        with contextlib.redirect_stdout(printed):
            app([*words, "--format", "markdown", "--quiet"], standalone_mode=False)
    finally:
        os.chdir(before)
    return printed.getvalue()


def tables(text: str) -> list[Table]:
    """The tables of a Markdown text."""
    return [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        for block in re.findall(r"(?:^\|.*(?:\n|$))+", text, re.M)
    ]


def with_columns(found: Table, columns: Sequence[str]) -> Table:
    """These columns alone, in this order; a number counts columns from 1."""
    head = found[0]
    places = [int(c) - 1 if c.isdecimal() else head.index(c) for c in columns]
    return [[row[place] for place in places] for row in found]


def markdown(rows: Table) -> str:
    """The table as Markdown, without a final newline."""
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def search_for_defaults() -> str:
    """Dev F1 in percent by learning rate and epochs, of the search behind the defaults."""
    found: dict[tuple[str, float, int], list[float]] = {}
    for run in find_runs(ROOT / "benchmarks" / "defaults"):
        record = run.record
        key = (record.tuning, record.settings["learning_rate"], record.settings["epochs"])
        found.setdefault(key, []).append(100 * (record.score("dev") or 0))
    rows = [["tuning", "learning rate", "epochs", "dev F1", "each seed"], ["---"] * 5]
    for (tuning, rate, epochs), each in sorted(found.items()):
        score = f"{statistics.mean(each):.2f} ± {statistics.stdev(each):.2f}"
        rows.append([tuning, f"{rate:g}", str(epochs), score, ", ".join(f"{f:.2f}" for f in each)])
    return markdown(rows)


TABLES: dict[str, Callable[[], str]] = {"the search for defaults": search_for_defaults}


def main() -> None:
    """Renews every page."""
    for name in PAGES:
        page = ROOT / name
        page.write_text(renewed(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
