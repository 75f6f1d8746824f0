"""Records and predictions that were changed: each change is refused in one line or is harmless."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from featbert.cli import app
from featbert.errors import FeatbertError
from featbert.runs.run import PredictionsError, find_runs
from tests.faults.killing import soak_kills
from tests.workspace import Workspace

# Of records and of predictions each; more where more kills are asked for, too.
MUTATIONS = max(200, soak_kills(0) * 50)


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 3, -7, 10**6, 10**30, 10**400, 0.5, -0.25, 1e308, 5e-324),
    *(float("nan"), float("inf"), float("-inf"), "", "x", "1", "\0", "\ud800", "../../etc/passwd"),
    *([], {}, [1], [None], {"x": 1}, {"": {}}, deep(50), deep(900)),
)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path below the top of a JSON value."""
    if not isinstance(value, dict | list):
        return []
    inner = list(value.items() if isinstance(value, dict) else enumerate(value))
    return [p for key, v in inner for p in ((*at, key), *places(v, (*at, key)))]


def other_value(data: bytes, draw: random.Random) -> bytes:
    """One value replaced by another."""
    record = json.loads(data)
    *above, last = draw.choice(places(record))
    target = record
    for step in above:
        target = target[step]
    target[last] = draw.choice(VALUES)
    return json.dumps(record).encode()


def missing_value(data: bytes, draw: random.Random) -> bytes:
    """One key or element gone."""
    record = json.loads(data)
    *above, last = draw.choice(places(record))
    target = record
    for step in above:
        target = target[step]
    del target[last]
    return json.dumps(record).encode()


def near_number(data: bytes, draw: random.Random) -> bytes:
    """One number a little larger: plausible, and wrong."""
    record = json.loads(data)

    def at(place: tuple[Any, ...]) -> Any:
        target = record
        for step in place:
            target = target[step]
        return target

    numbers = [p for p in places(record) if type(at(p)) in (int, float)]
    *above, last = draw.choice(numbers)
    at(tuple(above))[last] *= 1.01
    at(tuple(above))[last] += 1e-6
    return json.dumps(record).encode()


def flipped_bit(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def zeroed_block(data: bytes, draw: random.Random) -> bytes:
    start = draw.randrange(len(data))
    length = min(draw.choice([1, 16, 512]), len(data) - start)
    return data[:start] + bytes(length) + data[start + length :]


def truncated(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))]


def doubled(data: bytes, draw: random.Random) -> bytes:
    return data + data


def lost_line(data: bytes, draw: random.Random) -> bytes:
    lines = data.split(b"\n")
    del lines[draw.randrange(len(lines))]
    return b"\n".join(lines)


def other_tag(data: bytes, draw: random.Random) -> bytes:
    """One tag turned into another, as many words as before."""
    old, new = draw.sample([b" O\n", b" B-PER\n", b" I-LOC\n", b" O O\n", b" B-ORG"], 2)
    found = [i for i in range(len(data)) if data.startswith(old, i)]
    if not found:
        return data + b"\n"
    at = draw.choice(found)
    return data[:at] + new + data[at + len(old) :]


Change = Callable[[bytes, random.Random], bytes]
RECORD: tuple[Change, ...] = (
    *(other_value, other_value, other_value, missing_value, near_number, near_number),
    *(flipped_bit, flipped_bit, zeroed_block, truncated, doubled, lost_line),
)
PREDICTIONS: tuple[Change, ...] = (
    *(flipped_bit, zeroed_block, truncated, doubled, lost_line, other_tag, other_tag),
)


@pytest.fixture
def runs(finished: Workspace, tmp_path: Path) -> Path:
    """Finished runs of both approaches, to be changed."""
    return shutil.copytree(finished.runs, tmp_path / "runs")


def told(runs: Path, *words: object) -> tuple[int, str, str]:
    """How a command ends; never with a traceback, and at most in one line of error."""
    result = CliRunner().invoke(app, [*map(str, words), "--runs-dir", str(runs)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == (result.exit_code == 1), result.stderr
    assert "unexpected" not in result.stderr, result.stderr
    return result.exit_code, result.stdout, result.stderr


def compared(runs: Path) -> str:
    """All numbers of the runs, as programs read them."""
    code, out, err = told(runs, "compare", "--format", "json")
    assert code == 0, err
    return out


def answer_of(read: Callable[[], Any]) -> Any:
    """What was read, or why it was refused."""
    try:
        return read()
    except FeatbertError as error:
        return str(error)


def one_line(error: str) -> bool:
    return "\n" not in error and len(error) < 1000


def test_changed_records_are_refused_or_say_the_same(
    runs: Path, record_property: Callable[..., None]
) -> None:
    draw = random.Random(11)
    expected = compared(runs)
    folders = sorted(p for p in runs.iterdir() if p.is_dir())
    seen: Counter[str] = Counter()
    for _ in range(MUTATIONS):
        path = draw.choice(folders) / "record.json"
        whole = path.read_bytes()
        change = draw.choice(RECORD)
        path.write_bytes(change(whole, draw))
        found = find_runs(runs)
        if found.problems:
            (problem,) = found.problems
            assert problem.folder == path.parent
            assert one_line(problem.reason), problem.reason
            assert str(path) in problem.reason
            seen["refused"] += 1
        else:
            assert compared(runs) == expected, change
            seen["harmless"] += 1
        path.write_bytes(whole)
    for one in folders:
        whole = (one / "record.json").read_bytes()
        other = draw.choice([folder for folder in folders if folder != one])
        (one / "record.json").write_bytes((other / "record.json").read_bytes())
        assert [p.folder for p in find_runs(runs).problems] == [one]
        seen["refused"] += 1
        (one / "record.json").write_bytes(whole)
    record_property("records", dict(seen))
    assert compared(runs) == expected
    assert seen["refused"] > 0.9 * MUTATIONS


def test_changed_records_without_a_checksum_never_end_in_a_traceback(runs: Path) -> None:
    """As if each record were older than checksums: what is wrong in itself must be noticed."""
    draw = random.Random(12)
    folders = sorted(p for p in runs.iterdir() if p.is_dir())
    commands = (("compare",), ("compare", "--format", "json"), ("compare", "--format", "csv"))
    for _ in range(MUTATIONS // 4):
        path = draw.choice(folders) / "record.json"
        whole = path.read_bytes()
        older = json.loads(whole)
        del older["checksum"]
        change = draw.choice([other_value, missing_value])
        path.write_bytes(change(json.dumps(older).encode(), draw))
        told(runs, *draw.choice([*commands, ("runs", "show", path.parent.name), ("runs",)]))
        path.write_bytes(whole)


def test_changed_predictions_are_refused_or_say_the_same(
    runs: Path, record_property: Callable[..., None]
) -> None:
    draw = random.Random(13)
    found = list(find_runs(runs))
    seen: Counter[str] = Counter()
    for _ in range(MUTATIONS):
        run, split = draw.choice(found), draw.choice(["dev", "test"])
        path = run.folder / f"{split}.conll"
        whole, expected = path.read_bytes(), run.predictions(split)
        path.write_bytes(draw.choice(PREDICTIONS)(whole, draw))
        answer = answer_of(lambda run=run, split=split: run.predictions(split))
        if isinstance(answer, str):
            assert one_line(answer), answer
            assert str(path) in answer
            seen["refused"] += 1
        else:
            assert answer == expected
            seen["harmless"] += 1
        path.write_bytes(whole)
    for run in found:
        path = run.folder / "dev.conll"
        whole = path.read_bytes()
        for other in found:
            swapped = (other.folder / "dev.conll").read_bytes()
            if swapped != whole:
                path.write_bytes(swapped)
                with pytest.raises(PredictionsError, match="another run's"):
                    run.predictions("dev")
                seen["refused"] += 1
        path.write_bytes(whole)
    record_property("predictions", dict(seen))
    assert seen["refused"] > 0.9 * MUTATIONS


def test_compare_says_which_predictions_it_could_not_test(runs: Path) -> None:
    run = next(run for run in find_runs(runs) if run.record.approach == "features")
    path = run.folder / "dev.conll"
    path.write_bytes(path.read_bytes()[:-40])
    code, out, err = told(runs, "compare", "--stats")
    assert code == 0, err
    assert "on dev is not tested" in out + err
    assert "on test is not tested" not in out + err


def test_a_kept_test_that_was_changed_is_done_again(runs: Path) -> None:
    _, expected, _ = told(runs, "compare", "--stats", "--format", "json")
    kept = sorted((runs / ".statistics").glob("*.json"))
    assert kept
    draw = random.Random(14)
    for number, path in enumerate(kept):
        whole = path.read_bytes()
        data = json.loads(whole)
        changes = [
            json.dumps(data | {"p_value": 0.5 * data["p_value"] + 1e-4}).encode(),
            json.dumps({k: v for k, v in data.items() if k != "checksum"}).encode(),
            *(flipped_bit(whole, draw), truncated(whole, draw), b"[" * 5000, b"[]", b"3"),
        ]
        path.write_bytes(changes[number % len(changes)])
    assert told(runs, "compare", "--stats", "--format", "json")[1] == expected


def test_changed_experiment_records_are_refused(runs: Path) -> None:
    from featbert.runs.experiment_record import (
        ExperimentRecord,
        read_experiment_record,
        write_experiment,
    )

    names = [run.name for run in find_runs(runs)]
    record = ExperimentRecord("trial", "", [], names, [], [], [], False, {}, [], {})
    path = write_experiment(runs, record)
    whole, draw = path.read_bytes(), random.Random(15)
    for _ in range(60):
        path.write_bytes(draw.choice(RECORD)(whole, draw))
        answer = answer_of(lambda: read_experiment_record(runs, "trial"))
        if isinstance(answer, str):
            assert one_line(answer), answer
            assert "trial.experiment.json" in answer
        else:
            assert answer == record
