"""Files are held by one process at a time, on POSIX and on Windows."""

import errno
import os
import sys
import types

import pytest

from stiction.numerics.compiling import file_lock, folders


class Windows(types.ModuleType):
    """What Windows does: bytes of a file are locked, whoever opened it."""

    LK_NBLCK = 2

    def __init__(self):
        super().__init__("msvcrt")
        self.locked = set()

    def locking(self, descriptor, mode, count):
        assert (mode, count) == (self.LK_NBLCK, 1)
        about = os.fstat(descriptor)
        place = (about.st_ino, os.lseek(descriptor, 0, os.SEEK_CUR))
        if place in self.locked:
            raise OSError(errno.EACCES, "Permission denied")
        self.locked.add(place)


@pytest.fixture(params=["posix", "windows"])
def system(request, monkeypatch):
    if request.param == "windows":
        monkeypatch.setitem(sys.modules, "msvcrt", Windows())
        monkeypatch.setattr(file_lock.sys, "platform", "win32")
    elif sys.platform == "win32":
        pytest.skip("this is Windows")
    return request.param


def test_both_systems_lock_files(system, tmp_path):
    path = tmp_path / "a.lock"
    path.write_text("who holds it")
    first, second = os.open(path, os.O_RDWR), os.open(path, os.O_RDWR)
    file_lock.kernel_lock(first)
    with pytest.raises(OSError, match=r"denied|unavailable") as error:
        file_lock.kernel_lock(second)
    assert error.value.errno in file_lock.TAKEN
    # what stands in the file can still be read
    assert path.read_text() == "who holds it"
    os.close(first)
    os.close(second)


def test_one_at_a_time(system, tmp_path):
    path = tmp_path / "inner" / "a.turn"
    taken = []
    with folders.alone(path):
        assert path.is_file()
        with folders.alone(path, patience=0.2):
            # it waited, and goes on nevertheless: work may be done twice
            taken.append(path.is_file())
    assert taken == [True]


def test_files_are_removed_where_open_ones_cannot_be(tmp_path, monkeypatch):
    """Windows refuses to remove an open file, which must neither fail nor leave it behind."""
    path, order = tmp_path / "a.turn", []
    real = type(path).unlink

    def unlink(self, missing_ok=False):
        order.append("unlink" if closing[0].closed else "unlink of an open file")
        real(self, missing_ok=missing_ok)

    monkeypatch.setattr(type(path), "unlink", unlink)
    file = path.open("w")
    closing = [file]
    # the path was made before: pathlib looks at os.name as well
    monkeypatch.setattr(folders, "os", types.SimpleNamespace(name="nt"))
    folders._release(file, path)
    assert order == ["unlink"]
    assert not path.exists()


def test_without_locks_work_goes_on(tmp_path, monkeypatch):
    def none(descriptor):
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(folders, "kernel_lock", none)
    with folders.alone(tmp_path / "a.turn"):
        pass
    assert list(tmp_path.iterdir()) in ([], [tmp_path / "a.turn"])
