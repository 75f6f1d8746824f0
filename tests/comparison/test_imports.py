import featbert.comparison
import featbert.report
from tests.processes import loaded


def test_comparing_and_reporting_load_nothing_heavy():
    code = (
        "from tests.comparison.records import usual_runs; "
        "from featbert.comparison import compare; from featbert.report import render; "
        "[render(compare(usual_runs()), f) for f in ('text', 'json', 'csv', 'latex', 'markdown')]"
    )
    assert loaded(code) == ()


def test_every_public_name_is_there():
    for package in (featbert.comparison, featbert.report):
        for name in package.__all__:
            assert type(getattr(package, name)).__name__ != "module"
