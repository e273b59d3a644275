"""Locks: one holder, warn by name; those of dead processes are taken over, by one."""

import os
import platform
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from stiction.io import locks
from stiction.io.locks import Busy, acquire, in_use

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes by POSIX signals")


@pytest.fixture
def path(tmp_path):
    return tmp_path / ".run.lock"


@pytest.fixture(params=["kernel", "presence"])
def way(request, monkeypatch):
    """Both ways of locking: by the kernel, and where a file system has no locks."""
    if request.param == "presence":

        def missing(descriptor):
            raise OSError(95, "Operation not supported")

        monkeypatch.setattr(locks, "_kernel_lock", missing)
    return request.param


HOLDER = f"process {os.getpid()} on {platform.node()}, since 2"


def test_a_lock_is_held_once(path, way):
    lock = acquire(path)
    with pytest.raises(Busy) as caught:
        acquire(path)
    assert str(caught.value).startswith(HOLDER)
    assert caught.value.sure is (way == "kernel")
    lock.release()
    assert not path.exists()
    acquire(path).release()
    assert not path.exists()


def test_the_file_of_a_dead_process_is_taken_over(path):
    path.write_text("process 1 on nowhere, since 1999-12-31 23:59:59, and more\n" * 9)
    lock = acquire(path)
    assert path.read_text().startswith(HOLDER)
    assert path.read_text().count("\n") == 1
    lock.release()
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("way", ["presence"], indirect=True)
def test_without_locks_the_file_is_believed(path, way):
    words = "process 1 on elsewhere, since 1999-12-31 23:59:59"
    path.write_text(words)
    with pytest.raises(Busy) as caught:
        acquire(path)
    assert (caught.value.holder, caught.value.sure) == (words, False)
    assert path.read_text() == words


@pytest.mark.parametrize("leftover", [True, False])
def test_of_many_one_takes_a_lock(path, way, leftover):
    for _ in range(20):
        if leftover and way == "kernel":
            path.write_bytes(b"")

        def attempt(_):
            try:
                return acquire(path)
            except Busy:
                return None

        with ThreadPoolExecutor(8) as pool:
            won = [lock for lock in pool.map(attempt, range(8)) if lock is not None]
        assert len(won) == 1
        won[0].release()
        assert list(path.parent.iterdir()) == []


def test_a_forked_child_neither_holds_nor_releases(path):
    lock = acquire(path)
    pid = os.fork()
    if pid == 0:
        lock.release()
        os._exit(0 if path.exists() and lock._descriptor is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert lock.held
    lock.release()
    assert not path.exists()


def test_a_lock_whose_folder_was_removed_is_lost(path):
    lock = acquire(path)
    path.unlink()
    assert not lock.held
    other = acquire(path)
    lock.release()
    # what another process made since then is not ours to remove
    assert other.held
    other.release()


def test_nonsense_in_the_file_is_nobody(path, monkeypatch):
    monkeypatch.setattr(locks, "_READ_FOR_S", 0.05)
    holder = acquire(path)
    for nonsense in (b"\xff" * 9, b"process many", b"x" * 10_000):
        path.write_bytes(nonsense)
        with pytest.raises(Busy, match=r"^another process$"):
            acquire(path)
    holder.release()


def test_what_nobody_holds_is_not_in_use(path):
    assert not in_use(path)
    path.write_text("of a process that was killed")
    assert not in_use(path)
    lock = acquire(path)
    assert in_use(path)
    lock.release()
    assert not in_use(path)


def test_a_file_that_was_replaced_is_no_lock(path, monkeypatch):
    """Its owner ends, and another takes the lock, between opening and locking the file."""
    real, others = locks._kernel_lock, []

    def delayed(descriptor):
        if not others:
            others.append(None)
            path.unlink()
            others[0] = acquire(path)
        real(descriptor)

    monkeypatch.setattr(locks, "_kernel_lock", delayed)
    with pytest.raises(Busy, match=HOLDER):
        acquire(path)
    assert others[0].held
    others[0].release()
    assert not path.exists()


def test_a_file_that_is_gone_again_is_made_anew(path, monkeypatch):
    real, opened = os.open, []
    path.write_text("")

    def late(file, flags, *mode):
        # it is there when it is to be made, and gone when it is opened
        opened.append(file)
        if len(opened) == 2:
            path.unlink()
        return real(file, flags, *mode)

    monkeypatch.setattr(os, "open", late)
    lock = acquire(path)
    assert len(opened) == 3
    assert lock.held
    lock.release()
