"""featbert predict: text in, tags out, on files and pipes."""

import json
from pathlib import Path

import pytest

from featbert.data.conll import read_conll
from featbert.data.load import load_corpus
from featbert.inference.files import columns_as_trained
from featbert.inference.load import LoadedRun
from featbert.runs.run import Run, find_runs
from tests.workspace import Workspace, command, error_of, ok


@pytest.fixture(params=["last", "finetune"])
def run(request: pytest.FixtureRequest, finished: Workspace) -> Run:
    found = {r.record.layers or "finetune": r for r in find_runs(finished.runs)}
    return found[request.param]


def predict(run: Run, *words: object, input: str | bytes | None = None) -> object:
    where = ("--runs-dir", run.folder.parent)
    return command("predict", run.name, *words, *where, input=input)


def test_the_runs_own_test_file(run, tmp_path):
    source = Path(run.record.signature.source) / "test.conll"
    out = tmp_path / "out.conll"
    result = ok(predict(run, source, "--out", out))
    assert result.stdout == ""
    found, kept = read_conll(out).sentences, run.predictions("test")
    assert [list(s.words) for s in found] == kept.words
    assert [list(s.tags or ()) for s in found] == kept.predicted
    assert [s.document for s in found] == [s.document for s in load_corpus(source)["test"]]
    assert [p.name for p in tmp_path.iterdir()] == ["out.conll"]


def test_standard_input_is_raw_text(run):
    text = "Jordan Smith's.\n\nHamilton"
    result = ok(predict(run, "--quiet", input=text))
    rows = result.stdout.split("\n")
    assert [row.split("\t")[0] for row in rows] == [
        *("Jordan", "Smith", "'s", ".", "", ""),
        *("Hamilton", "", ""),
    ]
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("kind", "line", "fits"),
    [
        ("jsonl", '{"text": "A review: of \\"review\\": x"}', False),
        ("jsonl", '{"id": 1, "Review": "x"}', True),
        ("csv", 'id;"review"', True),
        ("csv", "id;text;a review", False),
    ],
)
def test_columns_of_training_are_read_where_a_file_has_them(kind, line, fits):
    found = columns_as_trained({"text": "review", "delimiter": ";"}, line, kind)
    assert ("text" in found, "delimiter" in found) == (fits, kind == "csv")


def test_what_is_read_by_suffix_and_by_option_is_written_as_utf_8(run, tmp_path):
    path, out = tmp_path / "x.jsonl", tmp_path / "y.jsonl"
    path.write_text('{"tokens": ["EU", "New York"]}\n', "utf-8")
    ok(predict(run, path, "--format", "jsonl", "-o", out))
    assert json.loads(out.read_text("utf-8"))["tokens"] == ["EU", "New York"]
    columns = predict(run, "--input", "conll", "--token-column", "2", "-q", input="1 EU O\n")
    assert columns.stdout.startswith("EU\t")
    path = tmp_path / "x.txt"
    path.write_bytes("Café 👍".encode("utf-16"))
    result = predict(run, path, "--encoding", "utf-16", "--format", "jsonl", "-q")
    assert json.loads(result.stdout_bytes.decode("utf-8"))["tokens"] == ["Café", "👍"]


def test_an_ill_formed_line_and_an_interruption_leave_no_file(run, tmp_path, monkeypatch):
    result = predict(run, "--out", tmp_path / "out", "--quiet", input=b"ok\ncaf\xe9\n")
    assert "line 2" in error_of(result)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LoadedRun, "shares", interrupted)
    result = predict(run, "--out", tmp_path / "out", "-q", input="Rome\n")
    assert result.exit_code == 130
    assert not list(tmp_path.iterdir())
