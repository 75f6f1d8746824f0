"""The report in a real browser: it opens without errors, and its filters work.

Skipped where there is no Chromium or no playwright; nothing is installed here. CI has both, and
says so with FEATBERT_TEST_BROWSER=required: there a missing browser is a failure.
"""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from featbert.report.html.page import html_report
from tests.analysis.records import compare
from tests.report.html.judged import make_run, usual

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
REQUIRED = os.environ.get("FEATBERT_TEST_BROWSER") == "required"
if not REQUIRED:
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not REQUIRED, reason="Chromium is not installed"
)
QUIETLY = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")
# Tables with more columns than the window shows.
CUT_OFF = """[...document.querySelectorAll("section .wide:has(th)")]
    .filter((d) => d.offsetParent && d.scrollWidth > d.clientWidth + 1).map((d) => d.ariaLabel)"""
SCRIPT = "<script>window.hacked=1"


def expected(data: dict[str, Any], a: str, b: str, who: str, kind: str, query: str) -> int:
    """The sentences of the first text that should be shown, worked out from the page's data."""
    text = data["texts"][0]
    names = [row["name"] for row in text["rows"]]
    n = 0
    for _, words, gold, found in text["sentences"]:
        answers = [found[names.index(row)] for row in (a, b)]
        sides = [gold, *(gold if answer is None else answer for answer in answers)]
        kept = [[s for s in side if kind in ("all", s[2])] for side in sides]
        right = [kept[1] == kept[0], kept[2] == kept[0]]
        shown = {
            "A and B differ": kept[1] != kept[2],
            "A right, B wrong": right == [True, False],
            "both wrong": right == [False, False],
            "A or B wrong": not all(right),
        }[who]
        n += shown and query.lower() in " ".join(words).lower()
    return n


def test_the_page_works(tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    runs = usual(tmp_path / "runs")
    for layers in ("embeddings", "weighted_all"):
        runs.append(make_run(tmp_path / "runs", layers, 1, 0.5, layers=layers))
    written = html_report(compare(runs, everything=True))
    (path := tmp_path / "a report.html").write_text(written, "utf-8")
    data = json.loads(written.partition('"application/json">')[2].partition("</script")[0])
    heard: list[str] = []
    asked: list[str] = []
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=list(QUIETLY))
        page = chromium.new_page(viewport={"width": 360, "height": 740}, color_scheme="dark")
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)"
        page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
        page.evaluate(
            "document.querySelectorAll('th, li, dd, h2').forEach((e) => e.append('x'.repeat(99)))"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.reload()
        for a, b, who, kind, query in (
            ("concat_last4", "fine-tuning", "A and B differ", "all", ""),
            ("last", "fine-tuning", "A right, B wrong", "PER", ""),
            ("last", "concat_last4", "both wrong", "LOC", ""),
            ("last", "fine-tuning", "A or B wrong", "all", SCRIPT),
        ):
            chosen = {"a": a, "b": b, "who": who, "type": kind}
            for name, value in chosen.items():
                page.locator(f"[data-control={name}]").select_option(label=value)
            page.locator("[data-control=query]").fill(query)
            shown = int(page.locator("[data-part=count]").inner_text().split()[0])
            assert shown == expected(data, a, b, who, kind, query) > 0
        # The script in the corpus is shown and not run.
        assert SCRIPT in page.locator(".sentences").inner_text()
        assert page.locator(".sentences script").count() == 0
        assert page.evaluate("window.hacked") is None
        page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = false)")
        for width in (1280, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(CUT_OFF) == []
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))) <= 8
        page.emulate_media(media="print")
        assert not page.locator(".controls").is_visible()
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        chromium.close()
    assert heard == []
    assert {*asked} == {path.as_uri()}
