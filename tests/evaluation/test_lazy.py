import subprocess
import sys
from pathlib import Path

import pytest

import featbert.evaluation


def test_shapes_come_without_seqeval_and_scikit_learn():
    code = (
        "import sys, featbert.evaluation as e; e.PRF; e.SCORER_NAME; "
        "print(sorted({'seqeval', 'sklearn', 'torch', 'transformers'} & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout == "[]\n"


def test_every_public_name_is_there():
    for name in featbert.evaluation.__all__:
        assert getattr(featbert.evaluation, name).__class__.__name__ != "module"
    with pytest.raises(AttributeError, match="no attribute 'word_level_report_of'"):
        getattr(featbert.evaluation, name + "_of")
