"""HiddenStates in scikit-learn: its own checks, pipelines, searches, and the cache of texts."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks as checks

import featbert
from featbert.encoders.encoder import Encoder
from featbert.sklearn import CACHE, HiddenStates
from tests.features.support import FP32

TEXTS = [f"{word} fox number {n}" for n, word in enumerate(("good", "bad") * 6)]
CLASSES = [0, 1] * 6


@pytest.fixture(autouse=True)
def empty_cache():
    CACHE.clear()
    yield
    CACHE.clear()


@pytest.fixture
def windows(monkeypatch):
    """Windows that the encoder computed, batch by batch."""
    counts: list[int] = []
    states = Encoder.hidden_states

    def counted(self, batch, layers=None):
        counts.append(len(batch.ids))
        return states(self, batch, layers)

    monkeypatch.setattr(Encoder, "hidden_states", counted)
    return counts


def states(tiny_bert, **parameters) -> HiddenStates:
    return HiddenStates(str(tiny_bert), **FP32, **parameters)


def test_it_passes_the_checks_of_scikit_learn_that_need_no_numbers(tiny_bert):
    """`check_estimator` makes no texts, and skips most checks for an estimator that reads them."""
    estimator = states(tiny_bert)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        checks.check_estimator(estimator)
    for check in (
        checks.check_estimator_cloneable,
        checks.check_estimator_tags_renamed,
        checks.check_valid_tag_types,
        checks.check_estimator_repr,
        checks.check_no_attributes_set_in_init,
        checks.check_estimators_overwrite_params,
        checks.check_dont_overwrite_parameters,
        checks.check_estimators_fit_returns_self,
        checks.check_readonly_memmap_input,
        checks.check_do_not_raise_errors_in_init_or_set_params,
        checks.check_mixin_order,
        checks.check_parameters_default_constructible,
        checks.check_get_params_invariance,
        checks.check_set_params,
    ):
        check("HiddenStates", estimator)


def test_vectors_are_those_of_embed_in_any_container(tiny_bert):
    pandas = pytest.importorskip("pandas")
    expected = featbert.embed(TEXTS, tiny_bert, "concat:1,3", pooling="cls", **FP32)
    transformer = states(tiny_bert, layer="concat:1,3", pooling="cls")
    column = np.array(TEXTS, dtype=object)
    for texts in (TEXTS, column, column[:, None], np.array(TEXTS), pandas.Series(TEXTS)):
        vectors = transformer.fit_transform(texts)
        np.testing.assert_allclose(vectors, expected, atol=1e-6)
        assert vectors.dtype == np.float32
    pairs = pandas.DataFrame({"a": TEXTS, "b": TEXTS[::-1]})
    expected = featbert.embed([*zip(TEXTS, TEXTS[::-1], strict=True)], tiny_bert, **FP32)
    np.testing.assert_allclose(states(tiny_bert).transform(pairs), expected, atol=1e-6)


def test_a_search_over_layers_encodes_each_text_once(tiny_bert, windows):
    pipeline = make_pipeline(states(tiny_bert), LogisticRegression())
    layers = {"hiddenstates__layer": [0, 1, 2, 3, 4, "concat:1-4"]}
    search = GridSearchCV(pipeline, layers, cv=3, error_score="raise").fit(TEXTS, CLASSES)
    assert sum(windows) == len(TEXTS)
    assert search.predict(TEXTS).shape == (len(TEXTS),)
    assert sum(windows) == len(TEXTS)
    search.predict([*TEXTS, "a new fox", "a new fox"])
    assert sum(windows) == len(TEXTS) + 1


def test_what_changes_states_is_part_of_the_key(tiny_bert, small_bert, windows):
    for model, options in (
        (tiny_bert, {}),
        (tiny_bert, {"pooling": "max"}),
        (tiny_bert, {"prompt": "query: "}),
        (small_bert, {}),
    ):
        parameters = FP32 | {"layer": 1} | options
        expected = featbert.embed(TEXTS, model, **parameters)
        windows.clear()
        vectors = HiddenStates(str(model), **parameters).transform(TEXTS)
        assert sum(windows) == len(TEXTS)
        np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_the_cache_is_bounded_and_numbers_stay_the_same(tiny_bert, windows, monkeypatch):
    expected = states(tiny_bert).transform(TEXTS)
    text_bytes = CACHE.size // len(TEXTS)
    CACHE.clear()
    monkeypatch.setattr(CACHE, "limit", 5 * text_bytes)
    np.testing.assert_allclose(states(tiny_bert).transform(TEXTS), expected, atol=1e-6)
    assert CACHE.size == 5 * text_bytes
    windows.clear()
    states(tiny_bert).transform(TEXTS[-5:])
    assert not windows


def test_names_of_features_and_output_as_a_frame(tiny_bert):
    pytest.importorskip("pandas")
    transformer = states(tiny_bert, layer="concat:1-2").set_output(transform="pandas")
    names = transformer.get_feature_names_out().tolist()
    assert names == [f"hiddenstates{n}" for n in range(32)]
    assert transformer.fit_transform(TEXTS).columns.tolist() == names


def test_a_fitted_pipeline_is_pickled_without_the_encoder(tiny_bert):
    transformer = states(tiny_bert).fit(TEXTS)
    transformer.transform(TEXTS)
    assert len(pickle.dumps(transformer)) < 2000


def test_bad_input_is_a_value_error_with_its_place(tiny_bert):
    for texts, parameters in ((TEXTS, {"layer": 9}), (TEXTS, {"pooling": "word_mean"}), ([], {})):
        with pytest.raises(ValueError):  # noqa: PT011
            states(tiny_bert, **parameters).fit(texts).transform(texts)
    frame = pytest.importorskip("pandas").DataFrame
    for names in (("text", "label"), ("a", "label"), ("label", "a"), ("text", "mood")):
        columns = {name: ["good"] for name in names}
        for table in (frame(columns), columns):
            with pytest.raises(ValueError, match=f"{names[0]}, {names[1]} .*table"):
                states(tiny_bert).fit_transform(table)
    with pytest.raises(ValueError, match="text 4"):  # repeated ones count
        states(tiny_bert).fit_transform(["good", "good", "good", None])
