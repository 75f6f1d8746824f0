"""The pages of the documentation as the tests see them: fenced blocks, headings and links."""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
EVERY_PAGE = [ROOT / "README.md", *PAGES, DOCS / "tutorial.ipynb"]
LINKING = [*EVERY_PAGE[:-1], *ROOT.glob("experiments/**/*.md"), *ROOT.glob("benchmarks/*.md")]

_BLOCK = re.compile(r"^```([\w-]*)\n(.*?)^```$", re.M | re.S)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
# Languages of blocks with commands; the README's blocks of commands name none.
SHELL = ("sh", "console", "")
# Lines of shell blocks that say what to do around featbert; the tests leave them alone.
OUTSIDE = ("cd", "make", "pip", "git", ".", "python", "tensorboard")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language ("" for none) and its lines."""

    language: str
    text: str

    @property
    def commands(self) -> list[list[str]]:
        """The words of each line of a shell block, comments and line breaks undone."""
        lines = self.text.replace("\\\n", " ").split("\n")
        return [words for line in lines if (words := shlex.split(line, comments=True))]

    @property
    def file(self) -> str | None:
        """The name that a first line such as `# mine.toml` gives the block."""
        found = re.match(r"# (\S+\.\w+)\n", self.text)
        return found[1] if found else None


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, or a notebook's cells of code, in order."""
    text = page.read_text("utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        return [Block("python", "".join(c["source"])) for c in cells if c["cell_type"] == "code"]
    return [Block(*found) for found in _BLOCK.findall(text)]


def prose(page: Path) -> str:
    """The page without its fenced blocks and code spans."""
    return re.sub(r"`[^`\n]+`", "", _BLOCK.sub("", page.read_text("utf-8")))


def links(page: Path) -> list[str]:
    """Where the page's links go, those of figures too."""
    return _LINK.findall(prose(page)) + re.findall(r'src="([^"]+)"', prose(page))


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings have, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _BLOCK.sub("", page.read_text("utf-8")), re.M)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


def name(page: Path) -> str:
    """The page's path, for the names of tests."""
    return str(page.relative_to(ROOT))
