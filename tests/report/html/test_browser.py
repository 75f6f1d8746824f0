"""The report in a real browser: it opens without errors, its filters work, it can be read.

Skipped where there is no Chromium or no playwright; nothing is installed here. CI has both, and
says so with FEATBERT_TEST_BROWSER=required: there a missing browser is a failure.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from featbert.analysis.breakdowns import with_breakdowns
from featbert.analysis.compare import compare
from featbert.analysis.cost import with_costs
from featbert.analysis.significance import with_significance
from featbert.report.html.page import html_report
from featbert.report.html.writing import write_report
from tests.report.html.judged import make_run, usual

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
REQUIRED = os.environ.get("FEATBERT_TEST_BROWSER") == "required"
if not REQUIRED:
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not REQUIRED, reason="Chromium is not installed"
)
QUIETLY = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# WCAG 2.1, 1.4.3: contrast of text to what is behind it; large text (18.66px and bold, or 24px)
# may have less.
CONTRAST = """() => {
  const number = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = number(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  let seen = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || node.closest("svg, script, noscript")) continue;
    if (!node.getClientRects().length) continue;
    const style = getComputedStyle(node);
    const [one, other] = [light(number(style.color)), light(behind(node))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    seen += 1;
    if (ratio < (large ? 3 : 4.5)) poor.push([node.className, walk.currentNode.data, ratio]);
  }
  return [seen, poor];
}"""


@dataclass
class Opened:
    """A page with what it said and asked for since it was opened."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def choose(self, **values: str) -> int:
        """The number of sentences that the controls leave."""
        for name, value in values.items():
            control = self.page.locator(f"[data-control={name}]")
            if name == "query":
                control.fill(value)
            else:
                control.select_option(label=value)
        return int(self.page.locator("[data-part=count]").inner_text().split()[0].replace(",", ""))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    long = "concat:" + ",".join(map(str, range(40)))
    runs = [*usual(folder / "runs"), make_run(folder / "runs", "long", 1, 0.5, layers=long)]
    (comparison,) = compare(runs)
    comparison = with_costs(with_significance(comparison, resamples=50))
    page = html_report([with_breakdowns(comparison, ["type"])])
    return write_report(folder / "a report.html", page)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=list(QUIETLY))
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: Any, report: Path) -> Iterator[Any]:
    """Opens the report; at the end nothing may have been said or asked for but the file."""
    pages: list[Opened] = []

    def open_page(**options: Any) -> Opened:
        context = chromium.new_context(**options)
        one = Opened(context.new_page())
        one.page.on("console", lambda message: one.said.append(message.text))
        one.page.on("pageerror", lambda error: one.said.append(str(error)))
        one.page.on("request", lambda request: one.asked.append(request.url))
        one.page.goto(report.as_uri())
        pages.append(one)
        return one

    yield open_page
    for one in pages:
        assert one.said == []
        assert one.asked == [report.as_uri()]
        assert one.page.evaluate("window.hacked") is None
        one.page.context.close()


@pytest.fixture(scope="module")
def data(report: Path) -> dict[str, Any]:
    text = report.read_text("utf-8")
    return json.loads(
        text.partition('<script type="application/json">')[2].partition("</script")[0]
    )


def counted(
    data: dict[str, Any], text: str, a: str, b: str, who: str, kind: str, query: str
) -> int:
    """The sentences that should be shown, worked out from the page's data."""
    one = next(t for t in data["texts"] if t["name"] == text)
    names = [row["name"] for row in one["rows"]]
    n = 0
    for _, words, gold, found in one["sentences"]:
        sides = [gold] + [
            gold if found[names.index(row)] == 0 else found[names.index(row)] for row in (a, b)
        ]
        kept = [[s for s in side if kind == "all" or data["types"][s[2]] == kind] for side in sides]
        right = [kept[1] == kept[0], kept[2] == kept[0]]
        shown = {
            "A and B differ": kept[1] != kept[2],
            "A right, B wrong": right == [True, False],
            "B right, A wrong": right == [False, True],
            "both wrong": right == [False, False],
            "A or B wrong": not all(right),
        }[who]
        n += shown and query.lower() in " ".join(words).lower()
    return n


def test_filters_show_the_sentences_that_they_name(opened, data) -> None:
    one = opened()
    names = ["last", "concat_last4", "fine-tuning"]
    counts = set()
    for text, (a, b) in itertools.product(("dev", "test"), (names[1:], names[:2])):
        for who, kind in (
            ("A and B differ", "all"),
            ("A right, B wrong", "all"),
            ("B right, A wrong", "PER"),
            ("both wrong", "LOC"),
            ("A or B wrong", "ORG"),
        ):
            query = "script" if kind == "PER" else ""
            shown = one.choose(text=text, a=a, b=b, who=who, type=kind, query=query)
            assert shown == counted(data, text, a, b, who, kind, query), (text, a, b, who, kind)
            counts.add(shown)
    assert len(counts) > 5


def test_it_begins_with_the_best_features_against_fine_tuning(opened) -> None:
    page = opened().page
    chosen = [
        page.locator(f"[data-control={name}]").evaluate("s => s.selectedOptions[0].textContent")
        for name in ("text", "a", "b", "who", "type")
    ]
    assert chosen == ["dev", "concat_last4", "fine-tuning", "A and B differ", "all"]


def test_more_sentences_come_when_asked(opened) -> None:
    one = opened()
    total = one.choose(a="last", who="A or B wrong")
    shown = one.page.locator(".sentences > li")
    assert shown.count() == 20 < total
    more = one.page.get_by_role("button", name="Show more")
    while more.is_visible():
        more.click()
    assert shown.count() == total


def test_gold_and_each_answer_are_shown_with_their_entities(opened, data) -> None:
    one = opened()
    one.choose(a="last", b="fine-tuning", who="A right, B wrong")
    item = one.page.locator(".sentences > li").first
    number = int(item.locator(".number").inner_text().split()[1])
    _, words, gold, found = next(s for s in data["texts"][0]["sentences"] if s[0] == number)
    lines = item.locator(".line")
    assert lines.count() == 3
    tuned = [row["name"] for row in data["texts"][0]["rows"]].index("fine-tuning")
    for place, spans in ((0, gold), (1, gold), (2, found[tuned])):
        line = lines.nth(place)
        marks = line.locator("mark").all_inner_texts()
        assert [m.split() for m in marks] == [
            [*" ".join(words[a:b]).split(), data["types"][kind]] for a, b, kind in spans
        ]
        plain = line.locator(".words").evaluate(
            "n => { const c = n.cloneNode(true); "
            "c.querySelectorAll('.kind').forEach((k) => k.remove()); return c.textContent; }"
        )
        assert plain.split() == " ".join(words).split()
    assert "right" in lines.nth(1).inner_text()
    assert "wrong" in lines.nth(2).inner_text()


def test_a_script_in_the_corpus_is_shown_and_not_run(opened) -> None:
    one = opened()
    assert one.choose(a="last", who="A or B wrong", query="<script>window.hacked=1") > 0
    assert "<script>window.hacked=1</script>" in one.page.locator(".sentences").inner_text()
    assert one.page.locator(".sentences script, .sentences img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(opened, scheme) -> None:
    one = opened(color_scheme=scheme)
    one.page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
    seen, poor = one.page.evaluate(CONTRAST)
    assert seen > 300
    assert poor == []
    background = one.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 22, 26)"}[scheme]


def test_a_phone_scrolls_tables_and_not_the_page(opened) -> None:
    page = opened(viewport={"width": 360, "height": 740}).page
    page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_everything_is_reached_by_keyboard(opened) -> None:
    page = opened().page
    reached = set()
    for _ in range(200):
        page.keyboard.press("Tab")
        where = page.evaluate(
            "(() => { const e = document.activeElement; return e === document.body ? '' : "
            "[e.tagName, e.dataset.control || e.dataset.part || e.className].join(' '); })()"
        )
        if not where:
            break
        reached.add(where)
        if len(reached) == 1:
            assert where == "A skip"
    controls = {f"SELECT {name}" for name in ("text", "a", "b", "who", "type")}
    assert controls | {"INPUT query", "BUTTON more", "DIV wide", "SUMMARY "} <= reached


def test_paper_has_no_controls_and_dark_ink(opened) -> None:
    page = opened(color_scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator(".controls").is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.evaluate("getComputedStyle(document.querySelector('figure svg')).filter") == "none"
