"""Makes corpora of sentences from the texts that come with VADER (Hutto and Gilbert 2014).

pip download --no-deps --no-binary :all: vaderSentiment==3.3.2
python experiments/defaults-sentences/vader.py vaderSentiment-3.3.2.tar.gz corpora

`corpora/reviews` has sentences of Amazon reviews with the sign of their mean rating, without those
between -0.5 and 0.5. `corpora/tweets` has tweets with their mean rating. Each has about 600
training, 400 dev and 600 test texts. All sentences of a review are in one part.
"""

import io
import random
import sys
import tarfile
from pathlib import Path

SIZES = {"train": 600, "dev": 400, "test": 600}
INSIDE = "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz"


def content(archive: bytes, path: str) -> bytes:
    """A file in a tar archive."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        file = files.extractfile(path)
        assert file is not None
        return file.read()


def main(package: str, folder: str) -> None:
    """Writes both corpora."""
    inner = content(Path(package).read_bytes(), INSIDE)
    for corpus, name in {"reviews": "amazonReviewSnippets", "tweets": "tweets"}.items():
        documents: dict[str, list[str]] = {}
        rated = content(inner, f"hutto_ICWSM_2014/{name}_GroundTruth.txt")
        for line in rated.decode("utf-8", "replace").splitlines():
            number, rating, text = line.split("\t", 2)
            sentence = " ".join(text.replace('"', "'").split())
            target = rating
            if corpus == "reviews":
                target = "positive" if float(rating) > 0 else "negative"
            if sentence and (corpus == "tweets" or abs(float(rating)) >= 0.5):
                document = documents.setdefault(number.partition("_")[0], [])
                document.append(f"{sentence}\t{target}\n")
        order = sorted(documents)
        random.Random(1).shuffle(order)
        (Path(folder) / corpus).mkdir(parents=True, exist_ok=True)
        for part, size in SIZES.items():
            lines = ["sentence\tlabel\n"]
            while len(lines) <= size:
                lines += documents[order.pop()]
            (Path(folder) / corpus / f"{part}.tsv").write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
