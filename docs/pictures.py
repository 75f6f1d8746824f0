"""Draws the README's pictures: the example report and a comparison in a terminal, light and dark.

    python -m docs.pictures

It needs playwright, which `.[dev]` has, and Chromium.
"""

import io
import re
import shutil
from typing import Literal

from PIL import Image
from rich import _export_format, terminal_theme
from rich.console import Console
from rich.text import Text

from docs.generate import REPORT
from docs.kept import RESULTS, ROOT
from featbert import compare
from featbert.report.figures.style import styled, svg_text
from featbert.report.figures.tradeoff import against
from featbert.report.rendering import render
from featbert.runs.record import read_experiment_record, read_record
from featbert.runs.run import Run

RUNS = "experiments/quickstart/results.jsonl.xz"
# Experiments with a base encoder. The second one has a small one, too.
BASE, TABLE7, SIZES = "all-mpnet-base-v2", "table7-wikigold", "frozen-or-tuned-base"
WINDOW, COLUMNS = (1320, 1120), 100
# First screens of a laptop and of a telephone.
SCREENS = {"1200": (1200, 800), "390": (390, 844)}
FIGURE_WIDTH, PANEL_WIDTH = 10.2, 3.3  # inches
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
THEMES = {
    "light": terminal_theme.DEFAULT_TERMINAL_THEME,
    "dark": terminal_theme.SVG_EXPORT_THEME,
}
# As rich has it, without the fonts that it would fetch.
_SVG = re.sub(r"@font-face \{\{.*?\}\}\s*", "", _export_format.CONSOLE_SVG_FORMAT, flags=re.S)


def draw_report() -> None:
    """The top of the example report as PNG, two pixels to one of a usual screen."""
    from playwright.sync_api import sync_playwright

    windows = [(str(scheme), scheme, WINDOW) for scheme in SCHEMES]
    windows += [(name, SCHEMES[0], window) for name, window in SCREENS.items()]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, scheme, (width, height) in windows:
            page = browser.new_page(
                viewport={"width": width, "height": height},
                device_scale_factor=2,
                color_scheme=scheme,
            )
            page.goto((ROOT / REPORT).as_uri())
            with Image.open(io.BytesIO(page.screenshot())) as drawn:
                few = drawn.convert("RGB").quantize(96, dither=Image.Dither.NONE)
                few.save(ROOT / f"docs/example/report-{name}.png", optimize=True)
        browser.close()


def draw_terminal() -> None:
    """What `featbert compare` prints in a terminal, as SVG."""
    shown = render(compare(runs_dir=ROOT / RUNS), width=COLUMNS)
    for scheme, theme in THEMES.items():
        console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
        console.print(Text.from_ansi(f"$ featbert compare\n{shown}"))
        path = ROOT / f"docs/example/terminal-{scheme}.svg"
        console.save_svg(str(path), title="", theme=theme, code_format=_SVG, unique_id="terminal")


def draw_tradeoff() -> None:
    """Scores against operations with a base encoder, as transparent SVG."""
    comparisons = []
    for name in (TABLE7, SIZES):
        path = ROOT / "experiments" / name / RESULTS
        rows = read_experiment_record(path, name).rows
        runs = [Run(path / row, read_record(path / row)) for row in rows]
        of_base = [run for run in runs if run.record.signature.model == BASE]
        # Solvers read single layers.
        shown = [r for r in of_base if r.record.settings["body"] not in ("logistic", "ridge")]
        for task in dict.fromkeys(run.record.task for run in shown):
            comparisons += compare(shown, task=task, vary=["corpus"])
    with styled():
        drawn = against(comparisons, ["operations"], FIGURE_WIDTH, PANEL_WIDTH)
    assert drawn is not None
    for scheme in SCHEMES:
        dark = ' style="filter: invert(1) hue-rotate(180deg)"' * (scheme == "dark")
        path = ROOT / f"docs/example/tradeoff-{scheme}.svg"
        path.write_text(svg_text(drawn).replace("<svg", f"<svg{dark}", 1), "utf-8")


if __name__ == "__main__":
    draw_report()
    draw_terminal()
    draw_tradeoff()
