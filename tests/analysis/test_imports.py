from tests.processes import loaded


def test_comparing_and_reporting_load_nothing_heavy():
    code = (
        "from tests.analysis.records import usual_runs; "
        "from featbert.analysis.compare import compare; "
        "from featbert.report.rendering import render; "
        "[render(compare(usual_runs()), f) for f in ('text', 'json', 'csv', 'latex', 'markdown')]"
    )
    assert loaded(code) == ()
