"""Files of HDF5 on disks that are full: an error from us, and HDF5 never knows."""

import contextlib
import errno
import io
import os
import signal

import h5py
import numpy as np
import pytest

from stiction.io import netcdf
from stiction.io.images import Sink, hdf5_file
from stiction.io.netcdf import write_netcdf

SIZES = [0, 1, 4000, 50_000, 200_000]


class Full(io.RawIOBase):
    """A file that takes so many bytes, the last ones in part."""

    def __init__(self, file, room):
        self.file, self.room = file, room

    def write(self, data):
        end = self.file.tell() + len(data)
        if end > self.room:
            left = self.room - self.file.tell()
            if left <= 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            data = data[:left]
        return self.file.write(data)

    def __getattr__(self, name):
        return getattr(self.file, name)

    def read(self, size):
        return self.file.read(size)

    def seek(self, *where):
        return self.file.seek(*where)

    def truncate(self, size):
        return self.file.truncate(size)

    def close(self):
        self.file.close()


def fill(image, rng, sizes=SIZES):
    with h5py.File(image, "w") as file:
        for k, size in enumerate(sizes):
            file[f"group{k}/x"] = rng.random(size)
            file[f"group{k}"].attrs["unit"] = "m" * k


def test_what_is_put_down_reads_back(tmp_path):
    with hdf5_file(tmp_path / "a.h5") as image:
        fill(image, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    with h5py.File(tmp_path / "a.h5") as file:
        for k, size in enumerate(SIZES):
            assert np.array_equal(file[f"group{k}/x"][()], rng.random(size))


def test_the_file_is_that_which_hdf5_builds_in_memory(run, tmp_path, monkeypatch):
    write_netcdf(run, tmp_path / "one.nc", {})
    memory = io.BytesIO()
    monkeypatch.setattr(netcdf, "hdf5_file", lambda path: contextlib.nullcontext(memory))
    write_netcdf(run, tmp_path / "two.nc", {})
    assert (tmp_path / "one.nc").read_bytes() == memory.getvalue()


def test_a_full_disk_is_an_error(tmp_path, monkeypatch):
    opened = type(tmp_path).open
    rooms = [0, 1, 100, *np.random.default_rng(1).integers(0, 2_000_000, 25).tolist()]
    for room in rooms:
        monkeypatch.setattr(
            type(tmp_path),
            "open",
            lambda path, *a, room=room, **k: Full(opened(path, *a, **k), room),
        )
        with pytest.raises(OSError, match="No space left"), hdf5_file(tmp_path / "a") as image:
            fill(image, np.random.default_rng(0))


def test_what_hdf5_makes_of_a_refusal_is_the_refusal(tmp_path, monkeypatch):
    opened = type(tmp_path).open
    monkeypatch.setattr(type(tmp_path), "open", lambda p, *a, **k: Full(opened(p, *a, **k), 1))

    def write():
        with hdf5_file(tmp_path / "a") as image:
            image.write(b"more")
            raise RuntimeError("address of object past end of allocation")

    with pytest.raises(OSError, match="No space left"):
        write()


def test_a_sink_gives_back_what_was_refused(tmp_path):
    sink = Sink(tmp_path / "a")
    sink._file = Full(sink._file, 10)
    assert sink.write(b"01234567") == 8
    assert sink.error is None
    assert sink.write(b"89abcdef") == 8
    assert sink.error.errno == errno.ENOSPC
    sink.seek(-4, io.SEEK_CUR)
    sink.write(b"WXYZ")
    sink.seek(4)
    found = bytearray(20)
    assert sink.readinto(found) == 20
    assert found == b"456789abWXYZ" + bytes(8)
    assert sink.tell() == 24
    sink.close()
    assert (tmp_path / "a").read_bytes() == b"0123456789"


def test_another_error_goes_through(tmp_path):
    with pytest.raises(ZeroDivisionError), hdf5_file(tmp_path / "a"):
        raise ZeroDivisionError


@pytest.fixture
def heard():
    """A SIGINT is heard even where the suite was started in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_until_the_file_is_closed(tmp_path, heard):
    def press():
        with hdf5_file(tmp_path / "a") as image:
            os.kill(os.getpid(), signal.SIGINT)
            fill(image, np.random.default_rng(0))

    with pytest.raises(KeyboardInterrupt):
        press()
    with h5py.File(tmp_path / "a") as file:
        assert file["group4/x"].shape == (200_000,)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
