"""Locks of the system on files, also where a file system knows none."""

from __future__ import annotations

import errno
import fcntl

import pytest

from featbert.io import LockedError, is_locked, take_lock


def test_one_has_it_until_it_closes_the_file(tmp_path):
    path = tmp_path / "lock"
    assert not is_locked(path)
    with take_lock(path) as file:
        file.write("somebody")
        file.flush()
        assert is_locked(path)
        with pytest.raises(LockedError) as refused:
            take_lock(path)
        assert refused.value.text == "somebody"
    assert not is_locked(path)
    take_lock(path).close()
    assert path.read_text("utf-8") == "somebody"  # what was there is added to


def test_a_file_that_goes_away_meanwhile_is_made_anew(tmp_path, monkeypatch):
    """Its owner was done between our opening it and getting the lock."""
    path, plain = tmp_path / "lock", fcntl.flock
    taken = []

    def flock(file, how):
        if not taken:
            path.unlink()
        taken.append(how)
        plain(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with take_lock(path):
        assert len(taken) == 2
        assert path.exists()


@pytest.mark.parametrize(("number", "works"), [(errno.ENOLCK, True), (errno.EIO, False)])
def test_a_file_system_without_locks(tmp_path, monkeypatch, number, works):
    def flock(file, how):
        raise OSError(number, "no")

    monkeypatch.setattr(fcntl, "flock", flock)
    path = tmp_path / "lock"
    if works:
        take_lock(path).close()
    else:
        with pytest.raises(OSError, match="no"):
            take_lock(path)
    assert not is_locked(path)
    assert is_locked(path, unsure=True)
