import pytest

import featbert.evaluation
from tests.processes import loaded


def test_shapes_come_without_seqeval_and_scikit_learn():
    assert loaded("import featbert.evaluation as e; e.PRF; e.SCORER_NAME") == ()


def test_every_public_name_is_there():
    for name in featbert.evaluation.__all__:
        assert getattr(featbert.evaluation, name).__class__.__name__ != "module"
    with pytest.raises(AttributeError, match="no attribute 'word_level_report_of'"):
        getattr(featbert.evaluation, name + "_of")
