"""The report as text: whole, self-contained, and nothing in it but what this project wrote runs."""

import base64
import dataclasses
import hashlib
import json
import re
from collections import Counter
from html.parser import HTMLParser

import pytest

from featbert.report.figures.registry import FIGURES
from featbert.report.html.page import html_report
from featbert.report.tables import tables
from tests.analysis.records import compare, make_record, make_seeds, usual_runs
from tests.report.html.judged import make_run as judged_run
from tests.report.html.judged import usual

VOID = {"meta", "br", "img", "input", "link", "hr"}


class Read(HTMLParser):
    """Elements with their attributes, their text, and whether every one is closed."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert tag in VOID or self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.text.setdefault(self.open[-1] if self.open else "", []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.fixture(scope="module")
def comparisons(tmp_path_factory):
    name = "<script>window.hacked=4</script>"
    runs = usual(tmp_path_factory.mktemp("runs"), signature={"corpus": name, "source": name})
    compared = compare(runs, everything=True)
    return dataclasses.replace(compared, notes=("<b>a note</b>",))


@pytest.fixture(scope="module")
def page(comparisons) -> str:
    return html_report(comparisons)


@pytest.fixture(scope="module")
def read(page) -> Read:
    return Read(page)


def test_every_element_is_closed_and_every_name_is_there_once(page, read) -> None:
    assert read.open == []
    names = Counter(attrs["id"] for _, attrs in read.elements if attrs.get("id"))
    assert [name for name, n in names.items() if n > 1] == []
    inside = [a["href"] for a in read.all("a")]
    assert inside
    assert all(href[0] == "#" and href[1:] in names for href in inside)
    used = {a.get("href") or a.get("xlink:href") for a in read.all("use")}
    used |= {f"#{n}" for n in re.findall(r"url\(#([^)]+)\)", page)}
    assert used
    assert {name[1:] for name in used} <= names.keys()


def test_only_the_page_s_own_script_may_run(page, read) -> None:
    (policy,) = [m["content"] for m in read.all("meta") if m.get("http-equiv")]
    own = [s for s in read.all("script") if s.get("type") != "application/json"]
    assert len(own) == 1
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_words_and_names_of_the_corpus_are_text(read) -> None:
    # Two scripts of the page itself; those in words and in the corpus's name are text.
    assert len(read.all("script")) == 2
    assert not read.all("img")
    assert "<script>window.hacked=4</script>" in "".join(read.text["h2"])
    data = json.loads(next(t for t in read.text["script"] if t.startswith("{")))
    words = {w for text in data["texts"] for s in text["sentences"] for w in s[1]}
    assert {"<script>window.hacked=1</script>", "&amp;", "]]>", "<!--", "می\u200cخواهم"} <= words
    assert {"\\u202eabc", "a\\u2028b", "\\x1b[31m"} <= words
    assert "<b>a note</b>" in "".join(read.text["li"])


def test_the_page_has_every_cell_of_the_tables(read, comparisons) -> None:
    shown = set(" ".join(read.text["th"] + read.text["td"] + read.text["strong"]).split())
    for table in tables(comparisons):
        for row in table.rows():
            for cell in row:
                assert shown >= set(cell.text.split()), cell.text
    text = "".join(read.text["td"] + read.text["code"])
    for run in (run for row in comparisons[0].rows for run in row.runs):
        assert run.name in text
        assert run.facts["signature.splits.dev.tags"] in text


def test_without_sentences_no_word_of_the_corpus_is_on_the_page(
    page, comparisons, monkeypatch
) -> None:
    monkeypatch.setattr("featbert.report.html.page.comparison_figures", lambda *_: ())
    words = {word for text in comparisons[0].texts for _, w, *_ in text.sentences for word in w}
    assert len([word for word in words if word.startswith("word") and word in page]) > 40
    bare = html_report(comparisons.without_sentences())
    assert not [word for word in words if word.startswith("word") and word in bare]
    assert "window.hacked=1" not in bare


def test_figures_have_names_and_each_kind_a_caption(read) -> None:
    figures = [attrs for name, attrs in read.elements if name == "svg"]
    assert len(figures) >= 8  # cost, mix, and by split seeds, types and lengths
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in figures)
    captions = [text for text in read.text["figcaption"] if text.strip()]
    assert len({*captions}) == len(captions)
    assert {*captions} >= {FIGURES.load(name).caption for name in ("seeds", "pareto", "mix")}


def test_several_comparisons_and_those_without_predictions_have_a_page() -> None:
    runs = [*usual_runs(), *make_seeds("other", [0.5], signature={"context": "document"})]
    read = Read(html_report(compare(runs, everything=True)))
    assert [a["id"] for a in read.all("article")] == ["comparison-1", "comparison-2"]
    names = Counter(attrs["id"] for _, attrs in read.elements if attrs.get("id"))
    assert max(names.values()) == 1
    assert not [a for a in read.all("section") if a.get("class") == "browser"]
    assert "dev.conll" in "".join(read.text["p"])


def test_the_browser_begins_with_the_best_features_and_their_own_baseline(tmp_path) -> None:
    runs = []
    for share, best in ((0.25, 0.5), (1.0, 0.1)):
        shared = {"trained_on": ["train"]}
        for name, layers, wrong in (("tuned", None, 0.3), ("concat", "concat_last4", best)):
            settings = make_record(layers=layers).settings | {"train_share": share}
            name = f"{name}-{share}"
            changes = shared | {"settings": settings, "layers": layers}
            runs.append(judged_run(tmp_path, name, 1, wrong, **changes))
    for text in compare(runs, everything=True)[0].texts:
        chosen = [text.rows[place].name for place in (text.a, text.b)]
        assert chosen == ["concat_last4 (train_share=1)", "fine-tuning (train_share=1)"]
