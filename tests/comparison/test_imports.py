import subprocess
import sys
from pathlib import Path

import featbert.comparison
import featbert.report


def test_comparing_and_reporting_load_nothing_heavy():
    heavy = ["torch", "transformers", "seqeval", "sklearn", "scipy", "h5py", "pydantic"]
    code = (
        "import sys; from tests.comparison.records import usual_runs; "
        "from featbert.comparison import compare; from featbert.report import render; "
        "[render(compare(usual_runs()), f) for f in ('text', 'json', 'csv', 'latex', 'markdown')]; "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout == "[]\n"


def test_every_public_name_is_there():
    for package in (featbert.comparison, featbert.report):
        for name in package.__all__:
            assert type(getattr(package, name)).__name__ != "module"
