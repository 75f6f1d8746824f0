"""A linear probe: how much of the tags a linear model reads off one layer's frozen vectors.

scikit-learn's multinomial logistic regression on single words: seconds instead of minutes.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def fit_probe(
    train_vectors: NDArray[Any], train_tags: Sequence[str], vectors: NDArray[Any]
) -> list[str]:
    """Tags of (M, D) vectors by logistic regression on (N, D) vectors with N tags."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200, C=0.1, random_state=0))
    with warnings.catch_warnings():  # a probe need not converge to the last digit
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(train_vectors.astype(np.float32), list(train_tags))
    return [str(tag) for tag in model.predict(vectors.astype(np.float32))]
