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
    rows = {n: [from_bio(s.tags, scheme) for s in split] for n, split in corpus.splits.items()}
    names = sorted({tag for split in rows.values() for row in split for tag in row})
    number = datasets.Value("int32")
    types = datasets.Features(
        {
            "words": datasets.List(datasets.Value("string")),
            "pos_tags": datasets.List(number),
            "labels": datasets.List(datasets.ClassLabel(names=names)),
            "doc_id": number,
        }
    )
    folder.mkdir()
    for name, split in corpus.splits.items():
        made(
            {
                "words": [s.words for s in split],
                "pos_tags": [[0] * len(s) for s in split],
                "labels": [[names.index(tag) for tag in row] for row in rows[name]],
                "doc_id": [7 + 2 * s.document for s in split],
            },
            types,
        ).to_parquet(folder / f"{'validation' if name == 'dev' else name}.parquet")
    return folder
