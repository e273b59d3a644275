"""Files of HDF5 on disks that are full: an error from us, and HDF5 never knows."""

import errno
import io
import os
import signal

import h5py
import numpy as np
import pytest

from stiction.io import images
from stiction.io.images import Sink, put_down
from stiction.io.netcdf import write_netcdf
from stiction.io.store import load, save

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


@pytest.fixture
def large(monkeypatch):
    """Let every file be too large for memory."""
    monkeypatch.setattr(images, "MOST_IN_MEMORY", -1)


def fill(image, rng, sizes=SIZES):
    with h5py.File(image, "w") as file:
        for k, size in enumerate(sizes):
            file[f"group{k}/x"] = rng.random(size)
            file[f"group{k}"].attrs["unit"] = "m" * k


@pytest.mark.parametrize("way", ["memory", "large"])
def test_what_is_put_down_reads_back(tmp_path, way, request):
    if way == "large":
        request.getfixturevalue("large")
    with put_down(tmp_path / "a.h5", 0) as image:
        assert isinstance(image, io.BytesIO if way == "memory" else Sink)
        fill(image, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    with h5py.File(tmp_path / "a.h5") as file:
        for k, size in enumerate(SIZES):
            assert np.array_equal(file[f"group{k}/x"][()], rng.random(size))


def test_both_ways_write_the_same_run(run, tmp_path, monkeypatch):
    one = load(save(run, tmp_path / "one"))
    monkeypatch.setattr(images, "MOST_IN_MEMORY", -1)
    two = load(save(run, tmp_path / "two"))
    for name, variable in one.variables.items():
        assert variable.values.tobytes() == two.variables[name].values.tobytes()


@pytest.mark.parametrize("way", ["memory", "large"])
def test_a_full_disk_is_an_error(tmp_path, monkeypatch, way, request):
    if way == "large":
        request.getfixturevalue("large")
    opened = type(tmp_path).open
    rooms = [0, 1, 100, *np.random.default_rng(1).integers(0, 2_000_000, 25).tolist()]
    for room in rooms:
        monkeypatch.setattr(
            type(tmp_path),
            "open",
            lambda path, *a, room=room, **k: Full(opened(path, *a, **k), room),
        )
        with pytest.raises(OSError, match="No space left"), put_down(tmp_path / "a", 0) as image:
            fill(image, np.random.default_rng(0))


def test_what_hdf5_makes_of_a_refusal_is_the_refusal(tmp_path, monkeypatch, large):
    opened = type(tmp_path).open
    monkeypatch.setattr(type(tmp_path), "open", lambda p, *a, **k: Full(opened(p, *a, **k), 1))

    def write():
        with put_down(tmp_path / "a", 0) as image:
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


def test_another_error_goes_through(tmp_path, large):
    with pytest.raises(ZeroDivisionError), put_down(tmp_path / "a", 0):
        raise ZeroDivisionError


@pytest.fixture
def heard():
    """A SIGINT is heard even where the suite was started in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_until_the_file_is_closed(tmp_path, large, heard):
    def press():
        with put_down(tmp_path / "a", 0) as image:
            os.kill(os.getpid(), signal.SIGINT)
            fill(image, np.random.default_rng(0))

    with pytest.raises(KeyboardInterrupt):
        press()
    with h5py.File(tmp_path / "a") as file:
        assert file["group4/x"].shape == (200_000,)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_memory_holds_a_file_once(make_run, tmp_path, monkeypatch):
    """What is estimated decides where the file is built, so it must not be too small."""
    asked = []
    real = images.put_down
    monkeypatch.setattr(
        "stiction.io.netcdf.put_down", lambda p, size: asked.append(size) or real(p, size)
    )
    write_netcdf(make_run(50, 400), tmp_path / "a.nc", {})
    (size,) = asked
    written = (tmp_path / "a.nc").stat().st_size
    assert 0.75 * written < size <= written
