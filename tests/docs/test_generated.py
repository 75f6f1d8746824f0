"""Tables of the documentation are those of the kept records; figures and pages are there."""

import json
import re

import pytest

import featbert
from docs.generate import PAGES, REPORT, REPORT_RUNS, renewed
from docs.kept import RESULTS, ROOT, kept_runs
from docs.sizes import SHAPES, cost, record
from featbert.runs.record import SUFFIX, read_experiment_record
from featbert.runs.results import listed_in, read_text
from tests.docs.pages import DOCS, blocks
from tests.workspace import command


@pytest.mark.parametrize("page", PAGES)
def test_generating_leaves_no_difference(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert "<!-- table: " in text
    assert renewed(text) == text


def test_the_tutorial_shows_the_sample_as_it_is() -> None:
    (shown,) = (b.text for b in blocks(DOCS / "tutorial.md") if b.language == "text")
    printed = command("check", "sample").output
    real = [line.split() for line in printed.splitlines()]
    assert [line for line in shown.splitlines() if line.split() not in real] == []


def test_the_version_is_one() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {featbert.__version__}\n" in citation
    assert f"\n## [{featbert.__version__}] - " in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_example_report_shows_every_kept_run() -> None:
    shown = (ROOT / REPORT).read_text("utf-8")
    names = [run.name for file in REPORT_RUNS for run in kept_runs(ROOT / file)]
    assert names
    assert [name for name in names if name not in shown] == []
    assert "<svg" in shown


def test_every_shipped_experiment_has_results_or_is_named_as_pending() -> None:
    page = (ROOT / "experiments" / "README.md").read_text("utf-8")
    shipped = {path.parent.name for path in ROOT.glob("experiments/*/experiment.toml")}
    (pending,) = re.findall(r"^Not run in full yet: (.+?)\.$", page, re.M) or [""]
    done = {path.parent.name for path in ROOT.glob(f"experiments/*/{RESULTS}")}
    assert done == shipped - set(re.findall(r"`(.+?)`", pending))
    assert shipped == set(re.findall(r"\]\(([\w-]+)/README\.md\)", page))


def test_kept_experiments_are_complete_and_of_no_machine() -> None:
    for file in ROOT.glob(f"*/**/{RESULTS}"):
        runs = kept_runs(file)
        assert (len(runs) > 0, runs.problems) == (True, {}), file
        for path in listed_in(file, f"*{SUFFIX}"):
            record = read_experiment_record(file, path.name.removesuffix(SUFFIX))
            assert (record.missing, record.failures) == ([], {}), path
        text = "".join(read_text(run.folder / "record.json") for run in runs)
        assert not re.search(r'"/(home|tmp|work|root)/', text), file


def test_the_notebook_has_the_output_of_every_cell() -> None:
    cells = json.loads((DOCS / "tutorial.ipynb").read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)]
    assert [len(cell["outputs"]) for cell in code] == [1] * len(code)
    kinds = [kind for cell in code for output in cell["outputs"] for kind in output["data"]]
    assert (kinds.count("text/html"), kinds.count("image/png")) == (5, 1)
    assert max(len(json.dumps(cell)) for cell in code) < 60_000


def test_sizes_agree_with_what_the_benchmark_counted() -> None:
    about, measured = (record("extract-narrow")[key] for key in ("about", "measured"))
    run = measured["featbert fp32"]
    counted = run["flops_per_second"] / run["words_per_second"]  # of its words, as they are
    assert cost(SHAPES[0]).forward == pytest.approx(counted, rel=0.02)
    assert (about["model"], SHAPES[0].layers) == ("all-MiniLM-L6-v2", 6)
