"""What `featbert check` shows, line by line, and what `featbert inspect` says of sizes."""

import json
from collections.abc import Iterable

import pytest

from featbert.data.options import ReadingOptions
from featbert.errors import InputError
from featbert.tasks.suited import suited_task
from tests.workspace import error_of, ok

TRAIN = "-DOCSTART- O\n\nEU B-ORG\nsaid O\n\nJordan I-PER\nsaid O\n\n-DOCSTART- O\n\nRome B-LOC\n"
DEV = "EU B-ORG\nsaid O\n\nOslo B-LOC\nis O\nnice O\n"
TEST = "Oslo B-LOC\nis O\nnice O\n\nGreek B-MISC\n"


def rows_of(text: str) -> dict[str, list[str]]:
    """{row's name: cells}; cells stand at least two spaces apart."""
    lines = [line for line in text.split("\n") if "  " in line.strip()]
    return {
        parts[0]: parts[1:]
        for line in lines
        for parts in [[p.strip() for p in line.strip().split("  ") if p.strip()]]
    }


def test_all_that_was_read(tmp_path, workspace):
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name, text in (("train", TRAIN), ("dev", DEV), ("test", TEST)):
        (folder / f"{name}.conll").write_text(text, "utf-8")
    done = ok(workspace.call("check", folder))
    rows = rows_of(done.stdout)
    known = {"sentences": "3 2 2", "words": "5 5 4", "entities": "3 2 2", "LOC": "1 1 1"}
    known |= {"ORG": "1 1 0", "MISC": "0 0 1", "longest sentence, words": "2 3 3"}
    known |= {"tag scheme of the file": "BIO BIO BIO", "encoding": "utf-8 utf-8 utf-8"}
    known |= {"repaired tags": "1 0 0", "sentences also in test": "1"}
    known |= {"documents": "2 none marked none marked", "types missing from train": "none MISC"}
    assert {name: " ".join(rows[name]) for name in known} == known
    assert rows["sentences also in train"] == ["1 (50.0%)", "0 (0.0%)"]
    assert rows["distinct entities not in train"] == ["1 (50.0%)", "2 (100.0%)"]
    assert "first sentence as read: EU/B-ORG said/O" in done.stdout
    as_json = json.loads(workspace.call("check", folder, "--format", "json").stdout)
    assert (as_json["dev_in_test"], as_json["splits"]["train"]["repaired_tags"]) == (1, 1)


def test_a_text_of_another_task_is_read_for_it(workspace, tmp_path):
    """Unless a task was given, or it suits none."""
    folder = tmp_path / "reviews"
    folder.mkdir()
    for name in ("train", "dev", "test"):
        (folder / f"{name}.tsv").write_text("text\tlabel\n" + "it was fine\tgood\n" * 9, "utf-8")
    done = ok(workspace.call("check", folder))
    assert "classification" in done.stderr
    assert rows_of(done.stdout)["labelled"] == ["9", "9", "9"]
    assert rows_of(done.stdout)["columns read"] == ["text -> label"] * 3
    assert "run decide" not in done.stderr  # all texts are of one class
    for name in ("train", "dev", "test"):
        rows = (f"{name} {n} was\t{('bad', 'good')[n % 2]}\n" for n in range(9))
        (folder / f"{name}.tsv").write_text("text\tlabel\n" + "".join(rows), "utf-8")
    done = ok(workspace.call("check", folder, "--limit", 8))
    assert f"run decide --set data={folder} --set limit=8" in done.stderr
    assert "entities" in error_of(workspace.call("check", folder, "--task", "entities"))
    (folder / "dev.tsv").write_text("", "utf-8")
    assert str(folder) in error_of(workspace.call("check", folder))


def table(labels: Iterable[object], head: str = "text\tlabel\n") -> str:
    return head + "".join(f"it was {n}\t{label}\n" for n, label in enumerate(labels))


CONLLU = "1\tRome\t_\tNNP\t_\t_\t_\t_\t_\tNER=B-LOC\n1\tis\t_\tVBZ\t_\t_\t_\t_\t_\tNER=O\n"
KAGGLE = "id,keyword,location,text,target\n" + "".join(
    f"{n},,,it was {n},{n % 2}\n" for n in range(8)
)


@pytest.mark.parametrize(
    ("name", "text", "task", "is_told"),
    [
        # A part alone shows its task.
        ("test.tsv", table("01" * 4), "classification", False),
        ("test.tsv", table("12345678"), "regression", False),
        # Texts without a header are no words.
        ("train.tsv", table("01" * 4, ""), "classification", False),
        ("train.tsv", table(["1.5", "2.0"] * 4, ""), "regression", False),
        # Whole numbers that repeat in the whole text are classes.
        ("train.tsv", table([*range(150)] * 3), "classification", False),
        ("train.tsv", table([n / 10 for n in range(150)] * 3), "regression", False),
        ("train.tsv", table(range(450)), "regression", False),
        ("train.csv", KAGGLE, "classification", False),
        ("train.conll", "Word Entity\nRome B-LOC\nis O\n", "entities", False),
        # Entities next to parts of speech, whichever column labels are read from.
        ("train.conll", "word pos ner\nRome NNP B-LOC\nis VBZ O\n", "entities", True),
        ("train.conll", CONLLU, "entities", True),
        ("train.conll", "Rome B-LOC\nis O\n", "entities", False),
        ("train.conll", "Rome PROPN\nis AUX\n", "labels", False),
    ],
    ids=lambda value: value if value in ("test.tsv", "train.tsv", "train.conll") else "",
)
def test_the_task_that_a_text_suits(tmp_path, caplog, name, text, task, is_told):
    (path := tmp_path / name).write_text(text, "utf-8")
    assert suited_task(str(path), ReadingOptions()) == task
    assert ("'labels'" in caplog.text) == is_told


QUESTION = {
    "id": "1",
    "question": "Who?",
    "is_impossible": True,
    "answers": [{"text": "Ada", "answer_start": 0}],
}


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("train.csv", "text,score\nIt was fine.,45%\nIt was bad.,5%\n", "45%.*line 2 of "),
        (
            "train.json",
            json.dumps({"data": [{"paragraphs": [{"context": "Ada saw.", "qas": [QUESTION]}]}]}),
            "is_impossible.*question 1 of ",
        ),
        (
            "train.conllup",
            "# global.columns = ID FORM NER:TAG\n1\tRome\tB-LOC\n2\tis\tO\n",
            "entities.* ",
        ),
        (
            "train.tsv",
            "id\ttweet\ttask_a\ttask_b\n" + "1\tit was a day\tNOT\tNULL\n" * 8,
            "answers in ",
        ),
    ],
    ids=["scores", "questions", "columns", "texts"],
)
def test_a_text_that_fits_no_task_is_refused_for_its_value(tmp_path, name, text, fault):
    (path := tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(InputError, match=fault + str(path)):
        suited_task(str(path), ReadingOptions())


@pytest.mark.parametrize(
    ("words", "tags"),
    [("['Ada', 'is']", "['B-PER', 'O']"), ("['Ada' 'is']", "[1 0]"), ("['Ada']", "[1]")],
)
def test_lists_of_words_in_a_table_are_refused_at_their_line(tmp_path, words, tags):
    """Also if an option is given that some tasks do not have."""
    (path := tmp_path / "train.csv").write_text(f'tokens,ner_tags\n"{words}","{tags}"\n', "utf-8")
    for options in (ReadingOptions(), ReadingOptions(label_names="O,B-PER")):
        with pytest.raises(InputError, match=f"line 2 of {path}"):
            suited_task(str(path), options)


def test_texts_with_several_classes_are_read_with_all_of_them(workspace, tmp_path):
    answers = ["good|cheap", "good", "", "cheap"] * 3
    rows = [f"It was {n}.;{answer}\n" for n, answer in enumerate(answers)]
    (tmp_path / "train.csv").write_text("text;labels\n" + "".join(rows), "utf-8")
    done = ok(workspace.call("check", tmp_path))
    assert "--task multilabel" in done.stderr
    assert (rows_of(done.stdout)["cheap"], rows_of(done.stdout)["labelled"]) == (["6"], ["12"])
    # The trials of tasks say nothing.
    assert done.stderr.count("separated by ';'") == 1
    given = ok(workspace.call("check", tmp_path, "--task", "classification"))
    assert "--task multilabel" in given.stdout
    assert "good|cheap" in rows_of(given.stdout)


def test_a_class_with_a_line_end_stays_on_its_line(workspace, tmp_path):
    row = json.dumps({"text": "It was\nfine", "label": "a\nb\tc"})
    (tmp_path / "train.jsonl").write_text(f"{row}\n", "utf-8")
    shown = ok(workspace.call("check", tmp_path, "--task", "classification")).stdout
    assert rows_of(shown)[r"a\nb\tc"] == ["1"]
    assert r"It was\nfine -> a\nb\tc" in shown.splitlines()[-1]
