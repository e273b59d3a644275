"""Writing of HDF5 files on a disk that may be full, without a crash of the process.

After a failed write the HDF5 library can neither finish nor close its file, and the process crashes
when it ends. HDF5 therefore writes through a file object that records the first error and
afterwards pretends that writes succeed. The recorded error is raised when HDF5 has closed the file.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stiction.core.interrupts import uninterrupted

__all__ = ["Sink", "hdf5_file"]

# HDF5 reads blocks up to this size again: its tables, never the arrays [bytes]
_SMALL = 2**16


@contextlib.contextmanager
def hdf5_file(path: Path) -> Iterator[Sink]:
    """Yield a file object for HDF5 that writes to `path`.

    Parameters
    ----------
    path : the file

    Raises
    ------
    OSError : if the file cannot be written; never inside HDF5.

    Verified by: tests/unit/io/test_images.py::test_a_full_disk_is_an_error
    """
    with uninterrupted(), Sink(path) as sink:
        try:
            yield sink
        except Exception as error:
            if sink.error is None:
                raise
            raise sink.error from error
    if sink.error is not None:
        raise sink.error


class Sink(io.RawIOBase):
    """A file on disk on which every write seems to succeed; `error` is the first failure.

    Parameters
    ----------
    path : the file
    """

    def __init__(self, path: Path) -> None:
        self.error: OSError | None = None
        self._file = path.open("w+b", buffering=0)
        self._at = 0
        self._late: list[tuple[int, bytes]] = []

    def write(self, data: Any) -> int:
        """Write all of `data`; after a failure store small blocks in memory."""
        with memoryview(data) as view, view.cast("B") as block:
            if self.error is None:
                try:
                    self._file.seek(self._at)
                    done = 0
                    while done < len(block):
                        # a disk that fills up writes a part first
                        done += self._file.write(block[done:]) or 0
                except OSError as error:
                    self.error = error
            if self.error is not None and len(block) <= _SMALL:
                self._late.append((self._at, bytes(block)))
            self._at += len(block)
            return len(block)

    def readinto(self, buffer: Any) -> int:
        """Read written bytes; bytes that were never written are zero."""
        with memoryview(buffer) as view, view.cast("B") as block:
            size = len(block)
            self._file.seek(self._at)
            content = self._file.read(size) or b""
            block[:] = content + bytes(size - len(content))
            for begin, data in self._late:
                first, last = max(begin, self._at), min(begin + len(data), self._at + size)
                if first < last:
                    block[first - self._at : last - self._at] = data[first - begin : last - begin]
            self._at += size
            return size

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a byte."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at}
        self._at = offset + (base[whence] if whence in base else self._file.seek(0, io.SEEK_END))
        return self._at

    def tell(self) -> int:
        """Return the byte at which the next call writes or reads."""
        return self._at

    def truncate(self, size: int | None = None) -> int:
        """Set the size of the file."""
        size = self._at if size is None else size
        if self.error is None:
            try:
                self._file.truncate(size)
            except OSError as error:
                self.error = error
        return size

    def seekable(self) -> bool:
        """Return True: the position can be set."""
        return True

    def readable(self) -> bool:
        """Return True: written bytes can be read."""
        return True

    def writable(self) -> bool:
        """Return True: bytes can be written."""
        return True

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            try:
                self._file.close()
            except OSError as error:
                self.error = self.error or error
        super().close()
