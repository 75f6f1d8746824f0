"""Vectors of sentence-transformers and scikit-learn's logistic regression, both with defaults."""

import argparse
from typing import Any

import sentence_transformers
import sklearn
from sklearn.linear_model import LogisticRegression

from benchmarks.compared.files import Example, run


def logistic(splits: dict[str, list[Example]], options: argparse.Namespace) -> list[Any]:
    """Encodes train and test, fits, predicts."""
    encoder = sentence_transformers.SentenceTransformer(options.model, device="cpu")
    vectors = {
        name: encoder.encode([e["text"] for e in splits[name]], show_progress_bar=False)
        for name in ("train", "test")
    }
    classifier = LogisticRegression(max_iter=1000)
    classifier.fit(vectors["train"], [e["label"] for e in splits["train"]])
    return list(classifier.predict(vectors["test"]).tolist())


if __name__ == "__main__":
    versions = f"{sentence_transformers.__version__}, scikit-learn {sklearn.__version__}"
    run({"logistic": logistic}, versions)
