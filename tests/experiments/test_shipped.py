"""Every experiment under `experiments/` plans as it is, and small forms run to their tables.

The files name encoders and corpora that a network gives; here a random BERT of as many layers and
a corpus of a few sentences stand for them, and nothing else changes when a file is planned.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from featbert.experiments.file import read_experiment
from featbert.tasks.base import Scores, get_task
from tests.corpora import write_questions
from tests.tiny_encoders import write_encoder
from tests.workspace import Workspace, ok, write_corpus

SHIPPED = sorted((Path(__file__).parents[2] / "experiments").glob("*/experiment.toml"))
QUICK = ("features.epochs=1", "features.lstm_size=4", "finetune.epochs=1", "seeds=[1]")
# Small forms: fewer values of what a file varies, never another way. Others vary what one of
# these or a page of the documentation varies, too.
SMALL = {
    "bert-table7": (
        *(key for key in QUICK if key != "finetune.epochs=1"),
        'features.layers=["last","weighted_all"]',
        "grid.finetune={epochs=[1,2]}",
    ),
    "fine-tuning-methods": (
        "seeds=[1]",
        "finetune.epochs=2",
        "grid.finetune={learning_rate=[1e-4,1e-3]}",
        'variant=[{},{adapt={epochs=1,max_length=32},finetune={layer_decay=1.6,unfreeze=4}}]',
    ),
    "squad": (
        "seeds=[1]",
        'variant=[{features={layers=["last"],lstm_size=4,epochs=1}},{finetune={epochs=1}}]',
    ),
    "zero-shot-transfer": (*QUICK, 'features.layers=["last"]', 'variant=[{corpora=["en","de"]}]'),
}  # fmt: skip


@pytest.mark.parametrize("task", ["labels", "classification", "regression", "spans", "choice"])
def test_the_quickstart_is_of_any_task(task: str) -> None:
    assert read_experiment("experiments/quickstart", [f"task={task}"]).configurations


@pytest.fixture(scope="module")
def twelve_layers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("model") / "tiny-bert-12", layers=12)


@pytest.fixture
def place(tmp_path: Path, twelve_layers: Path) -> Workspace:
    return Workspace(tmp_path, write_corpus(tmp_path / "tiny"), twelve_layers)


def changes(place: Workspace, file: Path) -> Iterator[str]:
    """What stands for the encoder and the corpora that a file names."""
    data = tomllib.loads(file.read_text("utf-8"))
    yield f"model={place.model}"
    if models := data.get("variants", {}).get("model"):
        yield f"variants.model={models!r}".replace(models[-1], str(place.model))
    of_variants = [variant.get("shots", 0) for variant in data.get("variant", [])]
    shots = {"shots": max([*data.get("shots", []), *of_variants, 0])}
    if "corpora" not in data:
        of_texts = "task" in data and get_task(data["task"]).of_texts
        folder = write_texts(place.folder / "texts", data | shots) if of_texts else place.corpus
        yield f"data={_of_corpus(folder, data)}"
    for name, corpus in data.get("corpora", {}).items():
        folder = place.folder / name
        if not isinstance(corpus, str) and get_task(corpus.get("task", "entities")).of_texts:
            write_texts(folder, corpus | shots)
        elif not folder.exists():
            # Other words in each language, so that none is another's text.
            write_corpus(folder)
            for path in folder.iterdir():
                path.write_text(path.read_text("utf-8").replace("Jordan", f"Jordan{name}"), "utf-8")
        if isinstance(corpus, str):
            yield f"corpora.{name}={folder}"
        else:
            yield f"corpora.{name}.data={_of_corpus(folder, corpus)}"


def _of_corpus(folder: Path, corpus: dict[str, Any]) -> Path:
    """The folder, or only its training file if the other parts are cut out of it."""
    return next(folder.glob("train.*")) if "folds" in corpus else folder


def write_texts(folder: Path, corpus: dict[str, Any]) -> Path:
    """Texts, pairs or choices; a score, of which pairs have three, is a class or a number, too.

    Or questions, half of them without an answer.
    """
    if corpus.get("task") == "spans":
        return write_questions(folder, more=folder.name)
    folder.mkdir(exist_ok=True)
    pairs = "sick" in corpus.get("data", "") or "stsb" in corpus.get("data", "")
    heads = (["sentence1", "sentence2"] if pairs else ["sentence"], corpus.get("target", "label"))
    if corpus.get("task") == "choice":
        pairs, heads = 2, (["context", "ending0", "ending1"], "label")
    for split in ("train", "dev", "test"):
        lines = ["\t".join([*heads[0], heads[1]])]
        for n in range(max(12, 3 * corpus["shots"])):
            texts = [f"{split} text {n % 3} of {folder.name} {k} {n}" for k in range(1 + pairs)]
            lines.append("\t".join([*texts, str(n % (3 if pairs == 1 else 2))]))
        (folder / f"{split}.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def run(place: Workspace, file: Path, *words: object, sets: tuple[str, ...] = ()):
    given = [word for change in (*changes(place, file), *sets) for word in ("--set", change)]
    where = ("--cache-dir", place.cache, "--runs-dir", place.runs)
    return place.call("run", file.parent.name, *given, *where, *words)


def test_every_file_is_listed(place):
    lines = ok(place.call("run", "--list")).stdout.splitlines()
    assert {path.parent.name for path in SHIPPED} <= {line.split()[0] for line in lines if line}


@pytest.mark.parametrize("file", SHIPPED, ids=lambda p: p.parent.name)
def test_it_plans_as_it_is(place, file):
    result = ok(run(place, file, "--dry-run", "--no-measure"))
    (n_runs,) = re.findall(r"^[\w-]+: ([\d,]+) runs, ", result.stdout, re.MULTILINE)
    assert int(n_runs.replace(",", "")) >= 4
    assert not place.cache.exists()
    assert not place.runs.exists()


@pytest.mark.parametrize("name", SMALL)
def test_a_small_form_runs(workspace, name, monkeypatch):
    monkeypatch.setattr(Scores, "exceeds_floor", True)  # random weights may learn nothing
    (file,) = (path for path in SHIPPED if path.parent.name == name)
    shown = json.loads(ok(run(workspace, file, "--format", "json", sets=SMALL[name])).stdout)
    published = tomllib.loads(file.read_text("utf-8"))["published"]
    tasks = [one["task_name"] for one in shown["comparisons"]]
    assert len(tasks) == len(set(tasks))  # one table for each task
    if name in ("bert-table7", "zero-shot-transfer"):
        # The table again, without the file: its rows, not all that a grid tried.
        again = json.loads(workspace.compare("--experiment", name, "--format", "json").stdout)
        assert again["comparisons"] == shown["comparisons"]
        assert repr(name) in workspace.compare("--experiment", name[1:]).stderr
    if name == "zero-shot-transfer":
        assert [m["tuning"] for m in shown["matrices"]] == ["none", "full"]
        return
    found = {t["table"]["id"] for one in shown["comparisons"] for t in one["published"]}
    found |= {table["id"] for table in shown["published"]}
    assert found == set(published), shown["notes"]
    if name == "fine-tuning-methods":
        assert sum("among 2 configurations" in note for note in shown["notes"]) == 2
