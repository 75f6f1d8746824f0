"""featbert predict: text in, tags out, on files and pipes."""

import dataclasses
import json
import os
from pathlib import Path

import pytest

from featbert.api import load
from featbert.data.conll import read_conll
from featbert.data.load import load_corpus
from featbert.data.options import ReadingOptions
from featbert.errors import InputError
from featbert.features.vectors import check_vectors_file
from featbert.inference.evaluate import plan_evaluations
from featbert.inference.files import Input
from featbert.inference.load import LoadedRun
from featbert.runs.run import Run, check_usable, find_runs
from tests.failing import failing
from tests.runs.rows import tuned
from tests.workspace import Workspace, command, error_of, ok


@pytest.fixture(params=["last", "finetune"])
def run(request: pytest.FixtureRequest, finished: Workspace) -> Run:
    found = {r.record.layers or "finetune": r for r in find_runs(finished.runs)}
    return found[request.param]


EVALUATED = ReadingOptions(alone="test")


@pytest.fixture(scope="module")
def texts_run(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Run:
    """A run on a column of texts that has no usual name, next to one that has."""
    folder = tmp_path_factory.mktemp("columns")
    for split in ("train", "dev", "test"):
        rows = [f"text {i},review {i},{'ab'[i % 2]}" for i in range(12)]
        path = folder / "data" / f"{split}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(["text,review,stars", *rows, ""]), "utf-8")
    reading = ReadingOptions(text="review", target="stars")
    corpus = load_corpus(folder / "data", reading, targets="classes")
    return tuned(str(tiny_bert), corpus, "classification", folder / "runs", epochs=1)


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


def texts_of(run: Run, path: Path, given: dict | None = None, **changes: object) -> list[str]:
    """The texts that a run with a changed record reads from a file."""
    changed = Run(run.folder, dataclasses.replace(run.record, **changes))
    source = Input(check_usable(changed), str(path), "auto", given or {}, "utf-8")
    loaded = load(run, device="cpu")
    return [json.loads(row)["text"] for row in source.rows(lambda: loaded, "jsonl", bar=False)]


@pytest.mark.parametrize(
    ("name", "content", "fits"),
    [
        ("x.jsonl", '{"text": "A \\"review\\": x"}', False),
        ("x.jsonl", '\n{"text": "a", "Review": "b"}', True),
        ("x.jsonl", '{"text": "a", "r\\u0065view": "b"}', True),
        ("x.json", '[\n {\n  "text": "a",\n  "review": "b"\n }\n]', True),
        ("x.json", '[\n {\n  "text": "a"\n }\n]', False),
        ("x.csv", '\ntext;"review"\na;b', True),
        ("x.csv", "text~review\na~b", True),
        ("x.csv", "text,review,stars\na,b,2", True),
        ("x.csv", "text,stars\na,2", False),
    ],
)
@pytest.mark.parametrize("delimiter", ["~", ";"])
def test_columns_of_training_are_read_if_a_file_has_them(
    texts_run, tmp_path, name, content, fits, delimiter
):
    path, reading = tmp_path / name, texts_run.record.reading | {"delimiter": delimiter}
    path.write_text(content.replace("~", delimiter), "utf-8")
    (text,) = texts_of(texts_run, path, reading=reading)
    assert (text == "b") == fits


def test_columns_of_training_are_read_from_objects_and_in_evaluations(texts_run, tmp_path):
    loaded, record = load(texts_run, device="cpu"), texts_run.record
    rows = loaded.predict([{"text": "x", "REVIEW": "y"}, {"text": "x", "REVIEW": "z"}])
    assert [row["text"] for row in rows] == ["y", "z"]
    assert loaded.predict({"text": "x", "other": "y"})["text"] == "x"
    assert loaded.predict("y")["text"] == "y"
    for value in ("a", {"text": "a"}):
        with pytest.raises(InputError, match=r"sentence.*keys"):
            loaded.predict([{"sentence": "x"}, value])
    folder, other = Path(record.signature.source), tmp_path / "other"
    other.mkdir()
    usual = (folder / "test.csv").read_text("utf-8").replace("review,stars", "summary,label")
    (other / "test.csv").write_text(usual, "utf-8")
    places = [str(folder), str(other), str(folder / "test.csv")]
    texts = []
    for place in places:
        (plan,) = plan_evaluations([check_usable(texts_run)], [place], [], {}, EVALUATED)
        texts.append({s.texts[0].partition(" ")[0] for s in plan.split})
    assert texts == [{"review"}, {"text"}, {"review"}]
    given = dataclasses.replace(EVALUATED, text="text")
    (plan,) = plan_evaluations([check_usable(texts_run)], places[:1], [], {}, given)
    assert {s.texts[0].partition(" ")[0] for s in plan.split} == {"text"}


def test_columns_that_training_found_are_read_again(texts_run, tmp_path):
    record = texts_run.record
    assert record.columns == {"text": "review", "target": "stars"}
    found = {n: v for n, v in record.reading.items() if n not in ("text", "target")}
    path = tmp_path / "test.csv"
    path.write_text("text,review,label,stars\na,b,9,1\nc,d,9,2\n", "utf-8")
    assert texts_of(texts_run, path, reading=found) == ["b", "d"]
    run = check_usable(Run(texts_run.folder, dataclasses.replace(record, reading=found)))
    (plan,) = plan_evaluations([run], [str(tmp_path)], [], {}, EVALUATED)
    assert [(s.texts, s.tags) for s in plan.split] == [(("b",), ("1",)), (("d",), ("2",))]


NUMBERED, UNNAMED = {"text": 1, "target": 2}, "good\tgood film\nbad\tbad film\n" * 3


@pytest.mark.parametrize(
    ("content", "reading", "given"),
    [
        ("id\ttext\n1\tgood film\n2\tbad film\n", NUMBERED, {}),
        ("good film\t1\nbad film\t2\n", NUMBERED, {}),
        (UNNAMED, {}, {}),
        (UNNAMED, {}, {"text": 2}),
    ],
    ids=["header", "no header", "found", "given"],
)
def test_numbers_of_columns_are_of_files_without_a_header(
    texts_run, tmp_path, content, reading, given
):
    """Columns without names are found, or are those given."""
    (path := tmp_path / "x.tsv").write_text(content, "utf-8")
    texts = texts_of(texts_run, path, given, reading=reading, columns={})
    assert texts == ["good film", "bad film"] * (3 if content == UNNAMED else 1)


def test_an_error_says_how_texts_without_a_named_column_are_read(texts_run, tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("a good film\na bad film\n", "utf-8")
    assert "--input text" in error_of(predict(texts_run, path, "--quiet"))
    with pytest.raises(InputError, match=r"foo; call it text$"):
        load(texts_run, device="cpu").predict({"foo": "a good film"})


def test_a_separator_is_named_once(texts_run, tmp_path, caplog):
    (path := tmp_path / "x.csv").write_text("id;text\n1;good film\n", "utf-8")
    with caplog.at_level("INFO"):
        assert texts_of(texts_run, path) == ["good film"]
    assert sum("';'" in message for message in caplog.messages) == 1


def test_a_text_of_line_ends_is_no_row_of_columns(texts_run, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"review": "good"}\n{"review": "\\n"}\n{"review": "bad"}\n', "utf-8")
    out = tmp_path / "out"
    assert "--format jsonl" in error_of(predict(texts_run, path, "--quiet", "--out", out))
    rows = ok(predict(texts_run, path, "--format", "jsonl")).stdout.splitlines()
    assert [json.loads(row)["answer"] is None for row in rows] == [False, True, False]


def test_texts_links_and_pipes_are_not_replaced(texts_run, tmp_path):
    text, real = tmp_path / "text.txt", tmp_path / "real.txt"
    for path in (text, real):
        path.write_text("Bob came.\n", "utf-8")
    link, pipe = tmp_path / "link.txt", tmp_path / "pipe"
    link.symlink_to(real)
    os.mkfifo(pipe)
    for out in (link, pipe, text):
        assert out.name in error_of(predict(texts_run, text, "--out", out))
    asked = ("--question", "Who?", "--passage", text)
    assert "--out" in error_of(predict(texts_run, *asked, "--out", text))
    assert (link.is_symlink(), pipe.is_fifo()) == (True, True)
    assert text.read_text("utf-8") == "Bob came.\n"
    vectors = tmp_path / "vectors.npy"
    vectors.symlink_to(real)
    with pytest.raises(InputError, match="link"):
        check_vectors_file(vectors)


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


@pytest.mark.parametrize(
    "lines", ["-DOCSTART- -X- O\n\nRome NNP B-LOC\nis VBZ O\n", "Rome\tX\nis\tY\n"]
)
def test_words_with_tags_are_read_as_sentences_only_if_it_is_said(run, tmp_path, lines):
    (path := tmp_path / "test.txt").write_text(lines, "utf-8")
    assert str(path) in error_of(predict(run, path, "-q", "--out", tmp_path / "out"))
    assert [p.name for p in tmp_path.iterdir()] == ["test.txt"]
    assert ok(predict(run, path, "--input", "conll")).stdout.count("\n\n") == 1 + ("X-" in lines)
    assert ok(predict(run, path, "--input", "text")).stdout.count("\n\n") > 1
    path.write_text("Rome is NATO\nIt is.\n", "utf-8")
    ok(predict(run, path))


@pytest.mark.parametrize("head", ["text,label", "id\ttext", "question;label"])
def test_a_line_with_names_of_columns_is_a_text_only_if_it_is_said(texts_run, head):
    text = f"{head}\na,b\n"
    assert "line 1" in error_of(predict(texts_run, "-q", input=text))
    done = ok(predict(texts_run, "-", "--input", "text", "--format", "jsonl", input=text))
    assert [json.loads(row)["text"] for row in done.stdout.splitlines()] == [head, "a,b"]


def test_an_ill_formed_line_and_an_interruption_leave_no_file(run, tmp_path):
    result = predict(run, "--out", tmp_path / "out", "--quiet", input=b"ok\ncaf\xe9\n")
    assert "line 2" in error_of(result)

    with failing(LoadedRun, "shares"):
        result = predict(run, "--out", tmp_path / "out", "-q", input="Rome\n")
    assert result.exit_code == 130
    assert not list(tmp_path.iterdir())
