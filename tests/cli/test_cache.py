"""featbert cache: stores and adapted encoders, what reads them, and their removal."""

import json

from tests.workspace import Workspace, error_of, ok


def test_stores_and_what_reads_them_are_listed_and_removed(workspace: Workspace):
    ok(workspace.extract("--layers", "last", "--quiet"))
    ok(workspace.train("--layers", "last", "--epochs", 1, "--quiet"))
    ok(workspace.extract("--layers", "0", "--context", "document", "--shards", 2, "--quiet"))
    adapted = workspace.cache / "models" / "adapted"
    adapt = ("adapt", "--data", workspace.corpus, "--model", workspace.model, "--epochs", 1)
    ok(workspace.call(*adapt, "--out", adapted, "-q"))
    where = ("--cache-dir", workspace.cache)

    def listed() -> dict[str, dict]:
        it = workspace.call("cache", "ls", *where, "--runs-dir", workspace.runs, "--format", "json")
        return {one["name"]: one for one in json.loads(ok(it).stdout)}

    found = listed()
    kinds = {name: one.get("kinds") for name, one in found.items()}
    assert all(kinds[name][0] == "words" for name in kinds if name.endswith(".h5"))
    (run,) = workspace.runs.iterdir()
    readers = {name: one["runs"] for name, one in found.items()}
    assert sorted(readers.values()) == [[], [], [run.name]]
    on_disk = sum(p.stat().st_size for p in workspace.cache.rglob("*") if p.is_file())
    assert sum(one["bytes"] for one in found.values()) == on_disk
    (read,) = (name for name, runs in readers.items() if runs)
    assert "1" in ok(workspace.call("cache", "ls", *where)).stdout
    assert read in error_of(workspace.call("cache", "rm", f"{read}x", *where))
    stores = [name for name in found if name.endswith(".h5")]
    several = error_of(workspace.call("cache", "rm", "tiny", *where))
    assert all(name in several for name in stores)
    assert "models/adapted" not in several
    for name in ("ls/adapt", *(found.keys() - {"models/adapted", read})):
        assert "removed 1 item" in ok(workspace.call("cache", "rm", name, "--yes", *where)).stdout
    assert [p.name for p in workspace.cache.rglob("*") if p.is_file()] == [read]
    (workspace.cache / read).write_text("no store", "utf-8")
    assert listed()[read]["made"] == "damaged"
