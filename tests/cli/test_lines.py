"""A line of progress: how much, how fast, how long still, and what goes where room is short."""

from __future__ import annotations

import pytest

from featbert.cli.lines import Line, clock, speeds


def line(*updates: tuple[float, float], unit: str = "words", total: int = 1000) -> Line:
    """A line that began at second 100 and heard (second, done)."""
    made = Line("extracting", unit, 100.0)
    for now, done in updates:
        made.update(done, total, now)
    return made


def test_rate_and_time_left_follow_from_two_updates() -> None:
    one = line((100, 0))
    assert (one.rate(101), one.left(101)) == (None, None)
    two = line((100, 0), (110, 200))
    assert two.rate(110) == 20
    assert two.left(110) == 40
    assert two.left(115) == 35  # time goes on between updates


def test_what_was_done_before_is_nobodys_speed() -> None:
    assert line((100, 900), (110, 910)).rate(110) == 1


def test_the_rate_is_that_of_the_last_half_minute() -> None:
    slow_then_fast = [(100 + s, s) for s in range(50)] + [(150 + s, 50 + 10 * s) for s in range(60)]
    assert line(*slow_then_fast).rate(209) == pytest.approx(10)
    whole = line(*slow_then_fast[:1])
    whole.window = float("inf")
    for now, done in slow_then_fast[1:]:
        whole.update(done, 1000, now)
    assert whole.rate(209) == pytest.approx(640 / 109)


def test_a_rate_falls_where_nothing_comes() -> None:
    stuck = line((100, 0), (110, 200))
    assert stuck.rate(120) == 20
    assert stuck.rate(200) == 2


def test_the_line_in_full_and_in_less_room() -> None:
    told = line((100, 0), (110, 250))
    told.note = "epoch 3"
    full = "extracting  ━━━━━━──────────────────  250/1,000 words  25 words/s  0:30 left  epoch 3"
    assert told.text(110) == full
    assert told.text(110, len(full)) == full
    assert told.text(110, len(full) - 1) == full.replace("━" * 6 + "─" * 18, "━" * 3 + "─" * 9)
    bare = "extracting  250/1,000 words  25 words/s  0:30 left"
    assert told.text(110, 60) == f"{bare}  epoch 3"
    assert told.text(110, len(bare)) == bare
    assert told.text(110, 40) == "extracting  250/1,000 words  0:30 left"
    assert told.text(110, 10) == "extractin…"
    assert told.text(110, bars=()) == f"{bare}  epoch 3"


def test_where_nobody_knows_how_much_there_is_the_time_is_told() -> None:
    loading = Line("loading torch", "", 100.0)
    assert loading.text(103) == "loading torch  0:03"


def test_units() -> None:
    assert line((100, 0), (110, 5e6), unit="bytes", total=400_000_000).text(110, bars=()) == (
        "extracting  5.0/400.0 MB  500.0 kB/s  13:10 left"
    )
    assert [speeds(r, "runs") for r in (0.05, 1.25, 4600)] == [
        "3.0 runs/min",
        "1.2 runs/s",
        "4,600 runs/s",
    ]
    assert [clock(s) for s in (0.4, 62.4, 3723)] == ["0:00", "1:02", "1:02:03"]


def test_many_updates_a_second_are_one_sample() -> None:
    busy = line(*((100 + n / 10_000, n) for n in range(10_000)), total=100_000)
    assert busy.done == 9999
    assert len(busy._seen) < 10
    assert busy.rate(101) == pytest.approx(10_000, rel=0.05)
