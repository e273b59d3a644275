"""Locks: one holder, told by name; those of dead processes are taken over, by one."""

import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from stiction.io import locks
from stiction.io.locks import Busy, Owner, in_use, mark_in_use, take

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


def owner(**changes):
    me = locks._myself()
    return Owner(**{name: changes.get(name, getattr(me, name)) for name in Owner.__annotations__})


def gone():
    """Return the number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_lock_is_held_once(path, way):
    lock = take(path)
    with pytest.raises(Busy) as caught:
        take(path)
    assert caught.value.owner == lock.owner
    assert caught.value.sure
    assert f"process {os.getpid()} on {platform.node()}, since 2" in str(caught.value)
    lock.release()
    assert not path.exists()
    take(path).release()
    assert not path.exists()


def test_the_file_of_a_dead_process_is_taken_over(path, way):
    path.write_bytes(locks._text(owner(pid=gone())))
    lock = take(path)
    assert msgspec.json.decode(path.read_bytes(), type=Owner) == lock.owner
    lock.release()
    assert list(path.parent.iterdir()) == []


def test_a_number_that_was_given_again_is_no_owner(path, way):
    path.write_bytes(locks._text(owner(pid=os.getppid(), started="1")))
    take(path).release()
    assert not path.exists()


def test_without_locks_another_host_is_believed(path, monkeypatch):
    def missing(descriptor):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(locks, "_kernel_lock", missing)
    for theirs in (owner(host="elsewhere", pid=gone()), owner(boot="earlier", pid=gone())):
        path.write_bytes(locks._text(theirs))
        with pytest.raises(Busy) as caught:
            take(path)
        assert (caught.value.owner, caught.value.sure) == (theirs, False)
        assert path.exists()


def test_of_many_one_takes_a_stale_lock(path, way):
    for _ in range(20):
        path.write_bytes(locks._text(owner(pid=gone())) if way == "presence" else b"")

        def attempt(_):
            try:
                return take(path)
            except Busy:
                return None

        with ThreadPoolExecutor(8) as pool:
            won = [lock for lock in pool.map(attempt, range(8)) if lock is not None]
        assert len(won) == 1
        won[0].release()
        assert list(path.parent.iterdir()) == []


def test_who_comes_late_does_not_take_what_was_taken_over(path, monkeypatch):
    """One that saw the dead owner is delayed until another has taken its lock."""
    dead = owner(pid=gone())
    path.write_bytes(locks._text(dead))
    winner = owner(token="11111111")

    def missing(descriptor):
        raise OSError(38, "Function not implemented")

    answers = [dead, winner]
    monkeypatch.setattr(locks, "_kernel_lock", missing)
    monkeypatch.setattr(locks, "_read", lambda path, wait=0.0: answers.pop(0))
    with pytest.raises(Busy) as caught:
        take(path)
    assert caught.value.owner == winner
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_forked_child_neither_holds_nor_releases(path):
    lock = take(path)
    pid = os.fork()
    if pid == 0:
        lock.release()
        os._exit(0 if path.exists() and lock._descriptor is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert lock.held
    lock.release()
    assert not path.exists()


def test_a_lock_whose_folder_was_removed_is_lost(path):
    lock = take(path)
    path.unlink()
    assert not lock.held
    other = take(path)
    lock.release()
    # what another process made since then is not ours to remove
    assert other.held
    other.release()


def test_nonsense_in_the_file_is_nobody(path, monkeypatch):
    monkeypatch.setattr(locks, "_READ_FOR", 0.05)
    holder = take(path)
    path.write_bytes(b'{"pid": "many"}')
    with pytest.raises(Busy) as caught:
        take(path)
    assert caught.value.owner is None
    holder.release()


def test_what_is_written_to_is_no_leftover(tmp_path):
    path = tmp_path / "half"
    assert not in_use(path)
    with path.open("wb") as file:
        assert not in_use(path)
        mark_in_use(file.fileno())
        assert in_use(path)
    assert not in_use(path)


def test_a_file_that_was_replaced_is_no_lock(path, monkeypatch):
    """Its owner ends, and another takes the lock, between opening and locking the file."""
    real, others = locks._kernel_lock, []

    def delayed(descriptor):
        if not others:
            others.append(None)
            path.unlink()
            others[0] = take(path)
        real(descriptor)

    monkeypatch.setattr(locks, "_kernel_lock", delayed)
    with pytest.raises(Busy) as caught:
        take(path)
    assert caught.value.owner == others[0].owner
    assert others[0].held
    others[0].release()
    assert not path.exists()


def test_a_file_that_is_gone_again_is_made_anew(path, monkeypatch):
    real, opened = os.open, []

    def late(file, flags, *mode):
        # the first to open the file finds it there, and gone when it opens it again
        opened.append(file)
        if len(opened) == 2:
            path.unlink()
        return real(file, flags, *mode)

    monkeypatch.setattr(os, "open", late)
    lock = take(path)
    assert len(opened) == 4
    assert lock.held
    lock.release()
