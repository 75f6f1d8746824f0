"""Small datasets for the tests of reading them; needs the package `datasets`."""

import datasets

from featbert.data.tags import from_bio

NAMES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
ROWS = {
    "tokens": [["Jane", "Roe", "in", "Rome"], ["A\u00a0b", "\u2028", "x"]],
    "ner_tags": [[1, 2, 0, 3], [0, 0, 0]],
}


def features(**more):
    text = datasets.List(datasets.Value("string"))
    tags = datasets.List(datasets.ClassLabel(names=NAMES))
    return datasets.Features({"tokens": text, "ner_tags": tags} | more)


def made(rows, types=None):
    return datasets.Dataset.from_dict(rows, features=types or features())


def tags(corpus, split):
    return [" ".join(row) for row in corpus[split].tags]


def written(corpus, folder, scheme="BIO"):
    """A corpus as Parquet files, its tags as numbers in a scheme."""
    folder.mkdir()
    tags = {n: [from_bio(s.tags, scheme) for s in split] for n, split in corpus.splits.items()}
    names = sorted({tag for rows in tags.values() for row in rows for tag in row})
    numbers = datasets.List(datasets.ClassLabel(names=names))
    for name, split in corpus.splits.items():
        columns = {
            "words": [s.words for s in split],
            "pos_tags": [[0] * len(s) for s in split],
            "labels": tags[name],
            "doc_id": [7 + 2 * s.document for s in split],
        }
        rows = datasets.Dataset.from_dict(columns).cast_column("labels", numbers)
        rows.to_parquet(folder / f"{'validation' if name == 'dev' else name}.parquet")
    return folder
