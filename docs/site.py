"""The files of the documentation site, a hook of MkDocs: pages and pictures where the repository has them."""

import json
from pathlib import Path

import featbert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
SHOWN = ("*.md", "LICENSE", "CITATION.cff", "docs/**/*.md", "docs/*.ipynb", "docs/example/*.*")
SHOWN += ("benchmarks/*.md", "experiments/*.md", "experiments/results/figures/*.png")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Every file that pages show, by its path from the root; a notebook is a page, too."""
    theme = [file for file in files if file.generated_by or Path(config.docs_dir) not in Path(file.abs_src_path or "/").parents]
    found = sorted({path for pattern in SHOWN for path in ROOT.glob(pattern)})
    made = []
    for path in found:
        name = str(path.relative_to(ROOT))
        made.append(File.generated(config, name, abs_src_path=str(path)))
    return Files([*theme, *made])


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page of the Python API with the documentation of each name."""
    if page.file.src_uri != "docs/reference/python.md":
        return markdown
    names = (f"::: {home}.{name}" for name, home in featbert._HOMES.items())
    return "\n\n".join([markdown, *names])
