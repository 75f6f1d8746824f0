"""Locks that end with their process, and files that appear whole or not at all."""

import contextlib
import errno
import fcntl
import os
import signal
import socket
from pathlib import Path

import pytest
from filelock import FileLock

from featbert.errors import BusyError, FeatbertError, InputError
from featbert.io import (
    explaining,
    is_owned,
    lock_beside,
    owning,
    regular_file,
    replacing,
    slug,
    write_text,
)
from tests.failing import failing
from tests.processes import holding


def test_a_lock_names_its_process_and_ends_with_it(tmp_path):
    folder = tmp_path / "runs" / "one"
    with holding(folder) as process:
        assert is_owned(folder)
        with pytest.raises(BusyError) as refused, owning(folder):
            pass
        assert f"process {process.pid} on {socket.gethostname()}" in str(refused.value)
        assert str(folder) in str(refused.value)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert lock_beside(folder).exists()
        assert not is_owned(folder)
        with owning(folder):
            assert f"process {os.getpid()} on" in lock_beside(folder).read_text("utf-8")
    assert list(folder.parent.iterdir()) == []
    with owning(tmp_path / "new" / "one"):
        assert is_owned(tmp_path / "new" / "one")
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").touch()
    with pytest.raises(FeatbertError, match="file"), owning(tmp_path / "file" / "one"):
        pass


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux's /proc")
def test_a_place_that_takes_no_files_is_not_in_use():
    with pytest.raises(FeatbertError, match="/proc") as refused, owning(Path("/proc/one"), 0.1):
        pass
    assert not isinstance(refused.value, BusyError)


def test_a_folder_that_another_process_removes_before_the_lock(tmp_path):
    gone, first = FileNotFoundError(errno.ENOENT, "gone"), iter([True])
    late = failing(FileLock, "acquire", lambda *_: next(first, False), error=gone)
    with late, owning(tmp_path / "runs" / "one"):
        assert lock_beside(tmp_path / "runs" / "one").is_file()


@pytest.mark.parametrize(("number", "works"), [(errno.ENOLCK, True), (errno.EIO, False)])
def test_a_file_system_without_locks(tmp_path, number, works):
    refusal = contextlib.nullcontext() if works else pytest.raises(FeatbertError)
    error = OSError(number, os.strerror(number))
    with failing(fcntl, "flock", error=error), refusal, owning(tmp_path / "one"):
        assert not is_owned(tmp_path / "two")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def interrupted() -> None:
        with replacing(path) as temporary:
            temporary.write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_stale_temporary_files_are_removed(tmp_path):
    host = slug(socket.gethostname())
    gone = tmp_path / f".file.{host}-4194305.tmp"  # no process has a number above 2 ** 22
    names = (f".file.{host}-{os.getppid()}.tmp", ".file.elsewhere-4194305.tmp", ".other.1.tmp")
    for left in (gone, *(tmp_path / name for name in names)):
        left.touch()
    (tmp_path / f".file.{host}-{os.getpid()}.tmp").symlink_to(".other.1.tmp")
    write_text(tmp_path / "file", "new")
    assert {p.name for p in tmp_path.iterdir()} == {"file", *names}
    assert not (tmp_path / "file").is_symlink()
    assert (tmp_path / ".other.1.tmp").read_text() == ""  # links are not followed


def test_what_the_system_refuses_names_the_file(tmp_path):
    with pytest.raises(FeatbertError, match="missing"), explaining(tmp_path / "missing"):
        (tmp_path / "missing" / "file").touch()
    with pytest.raises(FeatbertError, match="first"), explaining(tmp_path / "second"):
        raise FeatbertError("first")


def test_a_file_that_may_never_end_is_refused(tmp_path):
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(str(tmp_path / "socket"))
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "link").symlink_to("fifo")
    for name in ("socket", "fifo", "device", "link"):
        with pytest.raises(InputError, match=str(tmp_path / name)):
            regular_file(tmp_path / name)
    (tmp_path / "text").write_text("a", "utf-8")
    (tmp_path / "good").symlink_to("text")
    assert regular_file(tmp_path / "good").read_text("utf-8") == "a"
    with pytest.raises(FileNotFoundError):
        regular_file(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("name", "kept"),
    [("a" * 70, 60), ("б" * 70, 50), ("漢" * 70, 33), ("𐍈" * 70, 25), ("漢" * 20, 20)],
)
def test_a_part_of_a_name_has_a_limit_in_bytes(name, kept):
    assert slug(name) == name[0] * kept
    assert slug("c\udce9/é.x") == "c_é.x"


def test_the_refusal_behind_an_error_of_a_library_is_told(tmp_path):
    full = os.strerror(errno.ENOSPC)

    def of_torch() -> None:  # which closes its archive after the file refused to be written
        try:
            raise OSError(errno.ENOSPC, full)
        finally:
            raise RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 64 vs 0")

    def of_safetensors() -> None:
        raise RuntimeError("I/O error: No space left on device (os error 28)")

    for refuse in (of_torch, of_safetensors):
        with pytest.raises(FeatbertError, match=full) as told, explaining(tmp_path, RuntimeError):
            refuse()
        assert "inline_container" not in str(told.value)
    with pytest.raises(FeatbertError, match="no number"), explaining(tmp_path, RuntimeError):
        raise RuntimeError("no number")


def test_what_cannot_be_written_while_an_interruption_is_handled_is_told(tmp_path):
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        with pytest.raises(FeatbertError, match="one"), explaining(tmp_path / "one"):
            (tmp_path / "missing" / "one").write_text("")
