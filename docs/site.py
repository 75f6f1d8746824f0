"""The documentation site, as a hook of MkDocs: its files are where the repository has them."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import featbert

ROOT = Path(__file__).parents[1]
SHOWN = (
    *("*.md", "LICENSE", "CITATION.cff", "docs/**/*.md", "docs/*.ipynb", "docs/example/*.*"),
    *("benchmarks/*.md", "experiments/*.md", "experiments/*/README.md", "experiments/*/figures/*"),
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Pages, and what they show, by their path from the root, so that links work in both places."""
    theme = [file for file in files if file.src_dir != config.docs_dir]
    found = sorted({path for pattern in SHOWN for path in ROOT.glob(pattern)})
    names = [(str(path.relative_to(ROOT)), str(path)) for path in found]
    return Files(theme + [File.generated(config, n, abs_src_path=path) for n, path in names])


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page of the Python API with the documentation of each name."""
    if page.file.src_uri != "docs/reference/python.md":
        return markdown
    return "\n\n".join([markdown, *(f"::: {e.module}.{n}" for n, e in featbert.PUBLIC.items())])
