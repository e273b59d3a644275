"""Files of frictional contact problems: text of Siconos, and HDF5 of the library FCLIB.

A text file has, in this order: the number of components of a contact (2 in the plane; 3 in space,
or in the plane with rolling friction; 5 in space with rolling friction), the number of contacts,
the matrices, the vectors, mu, with rolling friction its coefficients, and perhaps a flag. A problem
in local form has one matrix, W; one in global form has M and H. The storage of a matrix is dense
(0), in blocks (1) or sparse (2). In both formats the normal component of a contact is the first
one. `problem` calls `read` and `write`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from stiction.errors import ModelError

__all__ = ["Content", "read", "write"]

Floats = npt.NDArray[np.float64]
Sparse = sp.csc_array[Any]

_DENSE, _BLOCKS, _SPARSE = 0, 1, 2
_HDF5 = b"\x89HDF\r\n\x1a\n"


class Content(NamedTuple):
    """Contents of a file.

    Attributes
    ----------
    size : number of components of one contact
    matrices, vectors : (W,) and (q,) in local form, (M, H) and (f, w) in global form
    mu, rolling : (n,) coefficients of each contact; `rolling` is empty without rolling friction
    """

    size: int
    matrices: tuple[Floats | Sparse, ...]
    vectors: tuple[Floats, ...]
    mu: Floats
    rolling: Floats


def refusal(path: Path, got: str, needs: str) -> ModelError:
    """Return the error for a file that cannot be used."""
    why = "the file is incomplete, or neither a text file of Siconos nor HDF5 of FCLIB."
    tries = "write the file again with the program that made it, and check that it is complete."
    return ModelError(f"friction_problem({path.name!r})", got, needs, why, tries)


def read(path: str | os.PathLike[str]) -> Content:
    """Return the problem in a file; its first bytes determine the format.

    Raises
    ------
    ModelError : if the file cannot be read, is incomplete, or has no frictional contact problem.

    Verified by: tests/unit/numerics/friction_problem/test_formats.py::test_round_trips
    """
    place = Path(path)
    try:
        with place.open("rb") as file:
            begin = file.read(len(_HDF5))
    except OSError as error:
        got, why = error.strerror or str(error), "the problem is read from this file."
        needs = "a readable file of Siconos or FCLIB"
        raise ModelError(str(path), got, needs, why, "check the path.") from error
    try:
        content = _read_fclib(place) if begin == _HDF5 else _read_text(place)
    except ModelError:
        raise
    except (AttributeError, IndexError, KeyError, OSError, TypeError, ValueError) as error:
        # of NumPy, SciPy and h5py, for parts that are absent, of another type or out of range
        raise refusal(place, f"a part that is absent or wrong: {error}", "all parts") from error
    columns, n = content.matrices[-1].shape[1], content.mu.size
    if not content.rolling.size and columns != content.size * n:
        got = f"{n} coefficients of friction, dimension {content.size} and {columns} columns"
        raise refusal(place, got, "as many columns as components of all contacts")
    return content


def write(path: str | os.PathLike[str], content: Content) -> None:
    """Write a problem as HDF5 if the name ends in .hdf5 or .h5, else as text.

    Verified by: tests/unit/numerics/friction_problem/test_formats.py::test_round_trips
    """
    place = Path(path)
    (_write_fclib if place.suffix in (".hdf5", ".h5") else _write_text)(place, content)


# ---- text


class _Words:
    """The words of a text file, read one after the other; `what` names a part in messages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        text = path.read_text(encoding="utf-8", errors="replace")
        # Siconos ends each number with a space or a line
        self.complete = text[-1:].isspace()
        # the header of a sparse matrix names a version and years
        self.words = re.sub(r"CSparse Version.*", "", text).split()
        self.at = 0

    @property
    def left(self) -> int:
        """Number of words that are not read yet."""
        return len(self.words) - self.at

    def take(self, count: int, what: str) -> list[str]:
        """Return the next words."""
        words = self.words[self.at : self.at + max(count, 0)]
        if len(words) != count:
            got = f"{len(words)} words for {what}, where the file ends"
            raise refusal(self.path, got, f"{count} words")
        self.at += count
        return words

    def numbers(self, count: int, what: str) -> Floats:
        """Return the next words as floats."""
        try:
            return np.array(self.take(count, what), dtype=np.float64)
        except ValueError as error:
            raise refusal(self.path, f"a word that is no number in {what}", "numbers") from error

    def whole(self, count: int, what: str) -> npt.NDArray[np.int64]:
        """Return the next words as integers >= 0."""
        values = self.numbers(count, what)
        if not np.all((values >= 0) & (values == np.floor(values)) & (values < 1e9)):
            got = f"{values[:3].tolist()} for {what}"
            raise refusal(self.path, got, "whole numbers >= 0")
        return values.astype(np.int64)

    def matrix(self, name: str) -> Floats | Sparse:
        """Return the next matrix, in any of the three storages."""
        kind, rows, columns = self.whole(3, f"the storage and size of {name}").tolist()
        if kind == _DENSE:
            # the format repeats the size
            again = self.whole(2, f"the size of {name}").tolist()
            if again != [rows, columns]:
                raise refusal(
                    self.path,
                    f"{name} with the second size {again}",
                    f"the size {[rows, columns]} that the file gives first",
                )
            # Siconos writes its array as it lies, by columns, and ends lines after each `columns`
            return self.numbers(rows * columns, name).reshape(columns, rows).T
        if kind == _BLOCKS:
            return self._blocks(name, rows, columns)
        if kind == _SPARSE:
            return self._sparse(name, rows, columns)
        raise refusal(self.path, f"storage {kind} of {name}", "0 (dense), 1 (blocks) or 2 (sparse)")

    def _blocks(self, name: str, rows: int, columns: int) -> Sparse:
        """Return a matrix that is stored in dense blocks."""
        # Siconos' names: nbblocks, blocknumber0 and 1; blocksize0 and 1, which are cumulative;
        # filled1 and 2; index1_data, where rows start; index2_data, the columns
        what = f"the blocks of {name}"
        count, n_rows, n_columns = self.whole(3, what).tolist()
        row_end, column_end = self.whole(n_rows, what), self.whole(n_columns, what)
        filled, same = self.whole(2, what).tolist()
        start, column = self.whole(filled, what), self.whole(same, what)
        ends = (row_end[-1:].tolist(), column_end[-1:].tolist())
        if ends != ([rows], [columns]) or same != count or np.any(column >= n_columns):
            raise refusal(self.path, f"{what} up to {ends}", f"blocks up to {rows} x {columns}")
        made = np.zeros((rows, columns))
        row_start, column_start = (
            row_end - np.diff(row_end, prepend=0),
            column_end - np.diff(column_end, prepend=0),
        )
        for block_row in range(min(filled - 1, n_rows)):
            for b in range(start[block_row], start[block_row + 1]):
                self.whole(1, what)
                k = column[b]
                height = int(row_end[block_row] - row_start[block_row])
                width = int(column_end[k] - column_start[k])
                entries = self.numbers(height * width, what).reshape(width, height).T
                made[
                    row_start[block_row] : row_end[block_row], column_start[k] : column_end[k]
                ] += entries
        return sp.csc_array(made)

    def _sparse(self, name: str, rows: int, columns: int) -> Sparse:
        """Return a matrix that is stored as CSparse prints it: triplets, or columns."""
        what = f"the entries of {name}"
        self.whole(1, what)
        triplets = self.words[self.at : self.at + 1] == ["triplet:"]
        head = self.take(6 if triplets else 7, what)
        # as CSparse prints it: "triplet: 3-by-2, nzmax: 6 nnz: 4", then lines "0 1 : 2.5"; or, with
        # the entries by columns, "3-by-2, nzmax: 6 nnz: 4, 1-norm: 2", and for each column
        # "col 0 : locations 0 to 2" with lines "1 : 2.5"
        if not triplets:
            head = ["", *head]
        count = int(head[5].rstrip(","))
        if triplets:
            words = np.array(self.take(4 * count, what)).reshape(count, 4)
            row, col, value = words[:, 0], words[:, 1], words[:, 3]
            entries = (value.astype(float), (row.astype(int), col.astype(int)))
            return sp.csc_array(entries, shape=(rows, columns))
        row_of, value_of, column_of = [], [], []
        for j in range(columns):
            first, last = (int(w) for w in np.array(self.take(7, what))[[4, 6]])
            words = np.array(self.take(3 * (last - first + 1), what)).reshape(-1, 3)
            row_of += words[:, 0].astype(int).tolist()
            value_of += words[:, 2].astype(float).tolist()
            column_of += [j] * len(words)
        if len(row_of) != count:
            raise refusal(self.path, f"{len(row_of)} entries of {name}", f"{count}")
        return sp.csc_array((value_of, (row_of, column_of)), shape=(rows, columns))


def _read_text(path: Path) -> Content:
    """Return the contents of a text file of Siconos, in the order of the module docstring."""
    words = _Words(path)
    size, n = words.whole(2, "the dimension and the number of contacts").tolist()
    if size not in (2, 3, 5):
        raise refusal(path, f"dimension {size}", "2 (plane), 3 (space) or 5 (rolling)")
    matrices = [words.matrix("the first matrix")]
    # a second matrix begins with its storage, the rows of the first matrix and its own columns; it
    # is followed by more words than a problem in local form has: q, mu, rolling and a flag
    rows = matrices[0].shape[0]
    follows = words.words[words.at : words.at + 3]
    wanted = [str(rows), str(size * n)]
    long = words.left > rows + 2 * n + 1
    if long and follows[0] in ("0", "1", "2") and follows[1:] == wanted:
        matrices.append(words.matrix("H"))
    lengths = [rows] if len(matrices) == 1 else [rows, size * n]
    vectors = tuple(words.numbers(length, "a vector") for length in lengths)
    mu = words.numbers(n, "mu")
    # Siconos may end a file with a flag 0 or 1; with one contact such a word is always the flag
    ends = words.left > 0 and words.words[-1] in ("0", "1")
    # dimension 3 is space, or the plane with rolling friction
    full = words.left == n + 1 or (words.left == n and (n > 1 or not ends))
    rolls = size == 5 or (size == 3 and full)
    flag = int(ends and words.left == (n if rolls else 0) + 1)
    rolling = words.numbers(n if rolls else 0, "the coefficients of rolling friction")
    if words.left > flag:
        got = f"{words.left} words after the coefficients, the first one {words.words[words.at]!r}"
        raise refusal(path, got, "no more words, or n coefficients of rolling friction")
    if not words.left and not words.complete:
        got = f"a last number {words.words[-1]!r} without a space or line end after it"
        raise refusal(path, got, "complete numbers")
    return Content(size, tuple(matrices), vectors, mu, rolling)


def _write_text(path: Path, content: Content) -> None:
    """Write a text file of Siconos, with matrices in blocks."""
    lines = [str(content.size), str(content.mu.size)]
    for matrix in content.matrices:
        # W in one block for each pair of contacts, as Siconos needs it; M and H as one block each
        shape = (content.size, content.size) if len(content.matrices) == 1 else matrix.shape
        lines += _block_lines(sp.bsr_array(matrix, blocksize=shape)) if matrix.shape[1] else [
            f"{_DENSE}", f"{matrix.shape[0]}", "0", f"{matrix.shape[0]}\t0"
        ]  # fmt: skip
    groups = (*content.vectors, content.mu, content.rolling)
    lines += [_line(vector) for vector in groups if vector.size]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _block_lines(matrix: sp.bsr_array[Any]) -> list[str]:
    """Return the lines of a matrix in blocks, as `_Words._blocks` reads them."""
    matrix.sum_duplicates()
    (rows, columns), (height, width) = matrix.shape, matrix.blocksize
    count, start = len(matrix.data), matrix.indptr
    n_rows, n_columns = rows // height, columns // width
    ends = (np.arange(1, n_rows + 1) * height, np.arange(1, n_columns + 1) * width)
    lists = (*ends, np.array([n_rows + 1, count]), start, matrix.indices)
    head = [_BLOCKS, rows, columns, count, n_rows, n_columns]
    lines = [str(number) for number in head]
    for k, numbers in enumerate(lists):
        # the third entry has the lengths of the two lists after it, one in a line
        lines += [str(one) for one in numbers] if k == 2 else ["\t".join(map(str, numbers))]
    for k, block in enumerate(matrix.data):
        lines += [str(k), *(f"{entry:.17e}" for entry in block.T.ravel())]
    return lines


def _line(values: Floats) -> str:
    """Return numbers as a line of text with 18 digits."""
    return " ".join(f"{value:.17e}" for value in values)


# ---- HDF5


def _read_fclib(path: Path) -> Content:
    """Return the contents of an HDF5 file of FCLIB, without bilateral constraints."""
    import h5py

    with h5py.File(path) as file:
        names = [name for name in file if name.startswith("fclib_")]
        if len(names) != 1:
            raise refusal(path, f"groups {list(file)}", "one named fclib_local or fclib_global")
        group = file[names[0]]
        local = "local" in names[0]
        # of the global form G^T v + b = 0, of the local form V^T r + R lambda + s = 0
        constraints = [key for key in ("G", "V", "R") if key in group]
        if constraints:
            got = f"bilateral constraints {' and '.join(constraints)}"
            why = "bilateral constraints are not implemented."
            tries = "write W of the problem without the constrained motions."
            raise ModelError(f"friction_problem({path.name!r})", got, "only contacts", why, tries)
        matrices = tuple(_matrix_of(group[key]) for key in ("W" if local else "MH"))
        stored = group["vectors"]
        vectors = tuple(stored[key][()].astype(float) for key in ("q" if local else "fw"))
        mu = np.asarray(stored["mu"][()], dtype=np.float64)
        rolling = stored["mu_r"][()].astype(float) if "mu_r" in stored else np.zeros(0)
        size = int(np.ravel(group["spacedim"][()])[0])
    return Content(size, matrices, vectors, mu, rolling)


def _matrix_of(group: Any) -> Sparse:
    """Return a matrix of FCLIB: nz >= 0 triplets, -1 compressed columns, -2 compressed rows."""
    rows, columns, kind = (int(np.ravel(group[key][()])[0]) for key in ("m", "n", "nz"))
    p, i, x = group["p"][()], group["i"][()], group["x"][()].astype(float)
    if kind >= 0:
        return sp.csc_array((x[:kind], (i[:kind], p[:kind])), shape=(rows, columns))
    form = sp.csc_array if kind == -1 else sp.csr_array
    made = form((x[: p[-1]], i[: p[-1]], p), shape=(rows, columns))
    # SciPy does not look at indices by itself
    made.check_format(full_check=True)
    return sp.csc_array(made)


def _write_fclib(path: Path, content: Content) -> None:
    """Write an HDF5 file of FCLIB, with matrices by compressed columns."""
    import h5py

    local = len(content.matrices) == 1
    with h5py.File(path, "w") as file:
        group = file.create_group("fclib_local" if local else "fclib_global")
        group["spacedim"] = np.array([content.size], dtype=np.int32)
        for key, matrix in zip("W" if local else "MH", content.matrices, strict=True):
            csc = sp.csc_array(matrix)
            part = group.create_group(key)
            counts = {"m": csc.shape[0], "n": csc.shape[1], "nz": -1, "nzmax": csc.nnz}
            for name, value in counts.items():
                part[name] = np.array([value], dtype=np.int32)
            part["p"], part["i"] = csc.indptr.astype(np.int32), csc.indices.astype(np.int32)
            part["x"] = csc.data
        stored = group.create_group("vectors")
        for key, vector in zip("q" if local else "fw", content.vectors, strict=True):
            stored[key] = vector
        stored["mu"] = content.mu
        if content.rolling.size:
            stored["mu_r"] = content.rolling
        info = group.create_group("info")
        info["title"] = "frictional contact problem"
