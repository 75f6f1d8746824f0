"""Writes the parts of a corpus that the experiments use, from its public files.

    python experiments/corpora/parts.py polarity rt-polarity.pos rt-polarity.neg
    python experiments/corpora/parts.py hellaswag hellaswag_val.jsonl
    python experiments/corpora/parts.py squad2-half dev-v2.0.json
    python experiments/corpora/parts.py ud-ewt en_ewt-ud-train.conllu

`parts.npz` has a key for each item of each part, in its order: the first four bytes of SHA-256 of
the ASCII characters of the item's text. Keys do not depend on encodings, spaces and line ends.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

KEYS = Path(__file__).with_name("parts.npz")
Items = Iterator[tuple[str, str]]  # the text that a key is made of, and what is written


def key(text: str) -> int:
    visible = re.sub("[^!-~]", "", text)
    return int.from_bytes(hashlib.sha256(visible.encode()).digest()[:4], "big")


def polarity(positive: Path, negative: Path) -> Items:
    """The snippets, which are in Latin-1, one per line."""
    for path, label in ((positive, "positive"), (negative, "negative")):
        for line in path.read_text("latin-1").split("\n"):
            text = line.replace("\x85", " ").strip()
            yield text, f"{text}\t{label}\n"


def hellaswag(path: Path) -> Items:
    """Examples without the marks of WikiHow's layout: [header], [title], [step], [substeps]."""

    def plain(text: str) -> str:
        text = re.sub(r"\[(header|step|substeps)\]", "", text.replace(" [title]", ". "))
        return text.replace("  ", " ").strip()

    for line in path.read_text("utf-8").splitlines():
        example = json.loads(line)
        context = plain(f"{example['activity_label']}: {example['ctx']}")
        endings = [plain(ending) for ending in example["endings"]]
        row = {"context": context, "endings": endings, "label": int(example["label"])}
        letters = re.sub("[^a-zA-Z0-9]", "", context + "".join(sorted(endings)))
        yield letters, json.dumps(row, ensure_ascii=False) + "\n"


def squad2_half(path: Path) -> Items:
    """Articles."""
    for article in json.loads(path.read_text("utf-8"))["data"]:
        yield article["title"], json.dumps(article, ensure_ascii=False)


def ud_ewt(path: Path) -> Items:
    """Documents of the training part. Dev and test are complete."""
    for document in re.split(r"^(?=# newdoc id)", path.read_text("utf-8"), flags=re.M)[1:]:
        yield document.partition("\n")[0], document


# The items, the file of a part, and what is before, between and after the items in it.
CORPORA = {
    "polarity": (polarity, "{}.tsv", "sentence\tlabel\n", "", ""),
    "hellaswag": (hellaswag, "{}.jsonl", "", "", ""),
    "squad2-half": (squad2_half, "{}.json", '{"version": "v2.0", "data": [', ", ", "]}\n"),
    "ud-ewt": (ud_ewt, "{}.conllu", "", "", ""),
}


def write(name: str, paths: list[Path], folder: Path) -> None:
    """Writes the parts of the corpus into `folder`; SystemExit if an item is not in the files."""
    items, file, before, between, after = CORPORA[name]
    written = {key(text): line for text, line in items(*paths)}
    folder.mkdir(parents=True, exist_ok=True)
    with np.load(KEYS) as parts:
        for part in (part for part in ("train", "dev", "test") if f"{name}.{part}" in parts):
            keys = parts[f"{name}.{part}"].tolist()
            absent = len([number for number in keys if number not in written])
            if absent:
                files = ", ".join(map(str, paths))
                sys.exit(f"{name}: {absent} of {len(keys)} items of {part} are not in {files}")
            text = before + between.join(written[number] for number in keys) + after
            (folder / file.format(part)).write_text(text, "utf-8", newline="\n")


if __name__ == "__main__":
    name, *paths = sys.argv[1:]
    write(name, [Path(path) for path in paths], Path("corpora") / name)
