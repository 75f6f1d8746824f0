"""Files of a test, written and read."""

import json

from featbert.data.corpus import Corpus
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions


def json_lines(rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def read(folder, content="", ending="tsv", targets="classes", *, parts=None, **options) -> Corpus:
    """The corpus of a train part with this content, or of other `parts`."""
    for name, text in ({"train": content} if parts is None else parts).items():
        (folder / f"{name}.{ending}").write_text(text, "utf-8", newline="")
    return load_corpus(folder, ReadingOptions(**options), targets=targets)
