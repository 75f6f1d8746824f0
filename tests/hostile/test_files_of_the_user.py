"""Files that featbert did not write stay, and links are not followed, whatever is made anew."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from featbert.features.index import shards_folder
from featbert.io import check_ours, remove_folder, replace_folder
from featbert.runs.run import Run, find_runs
from tests.workspace import Workspace, error_of, ok

Put = Callable[[Path, Path], object]


def content(folder: Path) -> dict[str, object]:
    """What is in a folder by path: where a link leads, the bytes of a file."""
    found = {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}
    links = {path: os.readlink(path) for path in found if path.is_symlink()}
    return {str(path.relative_to(folder)): held for path, held in (found | links).items()}


def a_file(path: Path, target: Path) -> None:
    shutil.copyfile(target / "thesis.tex", path)


def a_folder(path: Path, target: Path) -> None:
    shutil.copytree(target, path)


def a_link_to_a_file(path: Path, target: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target / "thesis.tex")


@pytest.mark.parametrize(
    ("name", "put"),
    [
        *(("thesis.tex", a_file), (".git", a_folder), ("evaluations", Path.symlink_to)),
        *(("history.jsonl", a_link_to_a_file), ("evaluations/.git", a_folder)),
    ],
)
def test_in_a_run_that_is_replaced_removed_or_resumed(
    runs: Workspace, tuned_run: Run, precious: Path, name: str, put: Put
) -> None:
    folder, again = tuned_run.folder, ("--seeds", tuned_run.record.seed, "--quiet")
    (folder / name).parent.mkdir(exist_ok=True)
    put(folder / name, precious)
    before = content(runs.folder)
    assert name in error_of(runs.finetune(*again, "--overwrite"))
    remove = ("runs", "rm", tuned_run.name, "--yes", "--runs-dir", runs.runs)
    assert name in error_of(runs.call(*remove))
    ok(runs.finetune(*again))  # finished before
    assert content(runs.folder) == before
    (folder / "record.json").unlink()  # as if it were interrupted
    before = content(runs.folder)
    assert name in error_of(runs.finetune(*again))
    assert content(runs.folder) == before


@pytest.mark.parametrize("name", ["{}", ".{}", ".{}.before"])
def test_a_link_in_place_of_a_run(
    runs: Workspace, tuned_run: Run, precious: Path, name: str
) -> None:
    link = runs.runs / name.format(tuned_run.name)
    if link == tuned_run.folder:
        shutil.rmtree(link)
    link.symlink_to(precious)
    before = content(runs.folder)
    again = ("--seeds", tuned_run.record.seed, "--quiet")
    assert link.name in error_of(runs.finetune(*again, "--overwrite"))
    plain = runs.finetune(*again)
    assert plain.exit_code == (link == tuned_run.folder), plain.stderr
    assert content(runs.folder) == before


def test_an_interrupted_replacement_goes_with_its_run_or_a_plain_rerun(
    runs: Workspace, tuned_run: Run
) -> None:
    run, again = tuned_run, ("--seeds", tuned_run.record.seed, "--quiet")
    hidden = [runs.runs / f".{run.name}", runs.runs / f".{run.name}.before"]

    def interrupt() -> None:
        for folder in hidden:
            folder.mkdir()
            (folder / "config.json").write_text("{}", "utf-8")

    interrupt()
    ok(runs.finetune(*again))
    assert not any(folder.exists() for folder in hidden)
    assert Run(run.folder, run.record) in find_runs(runs.runs).runs
    interrupt()
    (hidden[0] / "thesis.tex").write_text("years of work", "utf-8")
    ok(runs.finetune(*again))
    assert content(hidden[0]).keys() == {"config.json", "thesis.tex"}
    (hidden[0] / "thesis.tex").unlink()
    ok(runs.call("runs", "rm", run.name, "--yes", "--runs-dir", runs.runs))
    assert not any(folder.exists() for folder in (run.folder, *hidden))


def test_in_adapted_encoders_and_the_cache(workspace: Workspace, precious: Path) -> None:
    out = workspace.cache / "models" / "adapted"
    words = ("adapt", "--data", workspace.corpus, "--model", workspace.model, "--epochs", 1, "-q")
    words += ("--out", out, "--overwrite")
    partial = out.with_name(".adapted.partial")
    partial.parent.mkdir(parents=True)
    partial.symlink_to(precious)
    assert partial.name in error_of(workspace.call(*words))
    partial.unlink()
    ok(workspace.call(*words))
    for place in (out, partial):
        place.mkdir(exist_ok=True)
        (place / "thesis.tex").write_text("years of work", "utf-8")
        before = content(workspace.folder)
        assert "thesis.tex" in error_of(workspace.call(*words))
        where = ("--yes", "--cache-dir", workspace.cache)
        if place == out:
            assert "thesis.tex" in error_of(workspace.call("cache", "rm", "models/adapted", *where))
        assert content(workspace.folder) == before
        (place / "thesis.tex").unlink()
    shards = ("--layers", "last", "--context", "document", "--quiet", "--shards")
    ok(workspace.extract(*shards, 2))
    (store,) = workspace.cache.glob("*.h5")
    folder = shards_folder(store)
    (folder / "thesis.tex").write_text("years of work", "utf-8")
    store.unlink()
    before = content(workspace.folder)
    assert "thesis.tex" in error_of(workspace.extract(*shards, 2))
    assert content(workspace.folder) == before
    shutil.rmtree(folder)
    folder.symlink_to(precious)
    assert folder.name in error_of(workspace.extract(*shards, 2))
    ok(workspace.extract(*shards, 1))  # which needs no folder
    assert folder.name in error_of(workspace.call("cache", "rm", store.name, *where))
    for end in (".partial", ".journal"):
        store.unlink(missing_ok=True)
        (link := store.with_name(store.name + end)).symlink_to(precious / "mine.h5")
        ok(workspace.extract(*shards, 1))
        assert not link.is_symlink()
    assert (precious / "mine.h5").read_text("utf-8") == "years of work"


def test_what_may_be_removed_is_known_to_the_last_file(tmp_path: Path) -> None:
    ours = ("record.json", "*.h5", "deep/*/x.json")

    def with_files(name: str, *others: str) -> Path:
        names = ("record.json", "a.h5", "deep/er/x.json", ".record.json.host-7.tmp", ".x.lock")
        for path in (tmp_path / name / file for file in (*names, *others)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        return tmp_path / name

    folder = with_files("made")
    check_ours(folder, ours)
    others = ("b.h5/c", "deep/x.json", "deep/er/y.json", "deep/er/er/x.json", "a.h5x", "x.tmp")
    for number, other in enumerate(others):
        mixed = with_files(f"mixed{number}", other)
        before = content(mixed)
        with pytest.raises(ValueError, match=mixed.name):
            remove_folder(mixed, ours)
        with pytest.raises(ValueError, match=mixed.name):
            replace_folder(mixed, tmp_path / "new", tmp_path / "before", ours)
        assert content(mixed) == before
    remove_folder(folder, ours)
    assert not folder.exists()
    remove_folder(folder, ours)  # nothing is there


@pytest.mark.parametrize("name", [".git", "encoder/mine.txt", "record.json"])
def test_in_an_export_that_is_replaced(
    runs: Workspace, tuned_run: Run, precious: Path, name: str
) -> None:
    out = runs.folder / "out"
    words = ("export", tuned_run.folder, out, "--format", "featbert", "--with-encoder")
    for link in (runs.folder / one for one in (".out.partial", ".out.before", "out")):
        link.symlink_to(precious)
        before = content(runs.folder)
        error_of(runs.call(*words, "--overwrite"))
        assert content(runs.folder) == before
        link.unlink()
    ok(runs.call(*words))
    ok(runs.call(*words, "--overwrite"))
    (a_folder if name == ".git" else a_file)(out / name, precious)
    before = content(runs.folder)
    assert name in error_of(runs.call(*words, "--overwrite"))
    assert content(runs.folder) == before
