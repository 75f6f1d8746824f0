"""A comparison in a file is drawn as from its runs, by a process that reads none and tests nothing.

The pages of kept experiments are compared without figures, which take most of the time; that of a
small experiment is compared with them.
"""

import json
import re
from pathlib import Path

import pytest

from docs.kept import RESULTS
from featbert.analysis.comparison import Comparisons
from featbert.analysis.document import to_json
from featbert.api import compare
from featbert.errors import MissingError
from featbert.report.html import page
from featbert.report.rendering import render
from featbert.runs.record import RECORD_NAME, ExperimentRecord, write_json
from tests.analysis.evaluation_records import evaluate
from tests.analysis.test_budget import searched
from tests.processes import ROOT, python
from tests.report.html.judged import make_run, usual
from tests.workspace import command, error_of, ok

KEPT = sorted((ROOT / "experiments").glob(f"*/{RESULTS}"))
# What only runs and tests need.
UNUSED = ("featbert.runs", "featbert.inference", "scipy", "torch")
DRAW = """
import json, sys
from pathlib import Path
from featbert.analysis.document import read_comparisons
from featbert.report.html import page
from featbert.report.rendering import render
page.comparison_figures = page.crossing_figures = lambda *_: ()
for path in map(Path, sys.argv[1:]):
    comparisons = read_comparisons(path)
    path.with_suffix(".html").write_text(page.html_report(comparisons), "utf-8")
    path.with_suffix(".txt").write_text(render(comparisons, "text"), "utf-8")
"""
COMMANDS = """
import json, sys
from featbert.cli.main import app
for words in json.loads(sys.argv[1]):
    try:
        app(words)
    except SystemExit as ended:
        assert not ended.code
"""
TELL = "print(*(name for name in sys.modules), file=sys.stderr)"


def fresh(code: str, *words: object) -> tuple[str, set[str]]:
    """What code prints in a process of its own, and the modules that it loads."""
    done = python(f"{code}\n{TELL}", *words)
    return done.stdout, set(done.stderr.split("\n")[-2].split())


def unused(modules: set[str]) -> list[str]:
    return sorted(name for name in modules if name.startswith(UNUSED))


def of_experiment(path: Path) -> Comparisons:
    """The comparisons of a results file, as its experiment shows them."""
    try:
        return compare(runs_dir=path, experiment=path.parent.name, everything=True)
    except MissingError:  # runs of several
        return compare(runs_dir=path, everything=True)


def test_kept_experiments_are_drawn_from_a_file_as_from_their_runs(tmp_path, monkeypatch) -> None:
    """One test for all, so that each is compared once and one process draws the files."""
    for name in ("comparison_figures", "crossing_figures"):
        monkeypatch.setattr(page, name, lambda *_: ())
    expected = {}
    for path in KEPT:
        comparisons = of_experiment(path)
        name = path.parent.name
        (tmp_path / f"{name}.json").write_text(to_json(comparisons), "utf-8")
        expected[name] = page.html_report(comparisons), render(comparisons, "text")
    _, modules = fresh(DRAW, *tmp_path.glob("*.json"))
    assert not unused(modules)
    for name, texts in expected.items():
        files = (tmp_path / f"{name}{end}" for end in (".html", ".txt"))
        assert tuple(file.read_text("utf-8") for file in files) == texts, name


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """Runs of one experiment with something to show in every table."""
    folder = tmp_path_factory.mktemp("small")
    runs = usual(folder, n=30)
    runs += [make_run(folder, f"l{n}", 1, 0.5, layers=f"layer:{n}", layer_indices=[n], n=30)
             for n in (1, 2, 3)]  # fmt: skip
    scores = [0.3, 0.5, 0.4, 0.5, 0.1, 0.2, 0.3, 0.45]
    search = [searched(folder, scores, 1e13, layers=layers)[1] for layers in ("last", None)]
    for one, name in zip(search, ("last-1", "tuned-1"), strict=True):
        one.rows[:] = [name]
    for run in runs:
        write_json(run.folder / RECORD_NAME, run.record)
    evaluate(runs[0], "de", 0.4)
    names, published = [run.name for run in runs], ["devlin2019-table7", "pires2019-table1"]
    record = ExperimentRecord("trial", "", [], names, ["lost"], published, [], True, {}, search, {})
    write_json(folder / "trial.experiment.json", record)
    return folder


def test_every_format_and_the_page_are_drawn_byte_for_byte(small, tmp_path) -> None:
    parts = ["--stats", "--cost", "--budget", "--scorers", "--by", "length", "--by", "type"]
    runs = ["compare", "--quiet", "--runs-dir", str(small), "--experiment", "trial", *parts]
    file = ["compare", "--quiet", "--from", str(tmp_path / "a.json")]
    pages = [["--report", str(tmp_path / f"{name}.html")] for name in ("runs", "file")]
    formats = [["--format", name] for name in ("text", "markdown", "latex", "csv", "json")]
    first, _ = fresh(COMMANDS, json.dumps([[*runs, *more] for more in (pages[0], *formats)]))
    (tmp_path / "a.json").write_text(first.splitlines()[-1], "utf-8")
    again, modules = fresh(COMMANDS, json.dumps([[*file, *more] for more in (pages[1], *formats)]))
    assert again == first
    assert not unused(modules)
    one, other = ((tmp_path / f"{name}.html").read_bytes() for name in ("runs", "file"))
    assert one == other
    heads = {*re.findall(r'<section id="(\w+)-1"', one.decode())}
    assert heads >= {"scores", "trust", "cost", "layers", "where", "scorers", "published"}
    assert b"word1" in one  # sentences of the corpus
    bare = ok(command(*file, "--format", "json", "--no-sentences")).stdout
    assert "word1" not in bare


def test_options_of_runs_and_other_files_are_refused(small, tmp_path) -> None:
    path = tmp_path / "a.json"
    path.write_text(to_json(compare(runs_dir=small)), "utf-8")
    shown = ["compare", "--from", path]
    assert "--against" in error_of(command(*shown, "--against", "last"))
    assert "lenght" in error_of(command(*shown, "--by", "lenght"))
    path.write_text("{}", "utf-8")
    assert str(path) in error_of(command(*shown))
