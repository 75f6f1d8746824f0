"""Files of a test, written and read."""

import json

from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions


def json_lines(rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def tagged(split) -> list[str]:
    """Sentences as "Rome/B-LOC is/O"."""
    return [" ".join(map("/".join, zip(s.words, s.tags, strict=True))) for s in split]


def answers(split) -> list[str | None]:
    """The answer of each example, or None without one."""
    return [s.tags and s.tags[0] for s in split]


def read(folder, content="", ending="tsv", targets="classes", *, parts=None, **options) -> Corpus:
    """The corpus of a train part with this content, or of other `parts`."""
    for name, text in ({"train": content} if parts is None else parts).items():
        (folder / f"{name}.{ending}").write_text(text, "utf-8", newline="")
    return load_corpus(folder, ReadingOptions(**options), targets=targets)
