"""A measured curve in any text format is read to the numbers that were written, or refused."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some

from stiction.errors import ModelError
from stiction.fits import read_curve

NAMES = ("time [s]", "displacement [\u00b5m]", "force [N]")
TYPOGRAPHIC = ("\u00a0", "\u202f", "\u2019")
FOLDER = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@dataclass(frozen=True)
class Format:
    """How a program writes a table."""

    between: str = ";"
    decimal: str = ","
    thousands: str = ""
    # behind the decimal mark, in each column
    digits: tuple[int, ...] = (3, 3, 3)
    # of cells: none, those that hold the mark between cells, or all
    quotes: str = "needed"
    trimmed: bool = False
    minus: str = "-"
    pad: str = ""
    end: str = "\n"
    encoding: str = "utf-8"
    comment: bool = False

    def number(self, whole, digits):
        """Return the text of whole / 10^digits."""
        text = f"{abs(whole):0{digits + 1}d}"
        text, behind = text[: len(text) - digits], text[len(text) - digits :]
        if self.trimmed:
            behind = behind.rstrip("0")
        if self.thousands:
            text = f"{int(text):,}".replace(",", self.thousands)
        return self.minus * (whole < 0) + text + (self.decimal + behind if behind else "")

    def cell(self, text):
        """Return the text of a cell, in quotes where the format has them."""
        wanted = self.quotes == "all" or (self.quotes == "needed" and self.between in text)
        return f'"{text}"' if wanted else self.pad + text

    def table(self, rows):
        """Return the cells of a table."""
        return [[self.number(*pair) for pair in zip(row, self.digits, strict=True)] for row in rows]

    def write(self, path, cells, names=NAMES):
        """Write cells under a header."""
        lines = [self.between.join(map(self.cell, row)) for row in [names, *cells]]
        if self.comment:
            lines = ["# measured, on Monday; twice", "", *lines]
        path.write_bytes(self.end.join([*lines, ""]).encode(self.encoding))
        return path

    def truth(self, rows):
        """Return the columns in SI units."""
        exact = [
            [float(f"{whole}e-{digits}") for whole, digits in zip(row, self.digits, strict=True)]
            for row in rows
        ]
        return np.transpose(exact) * np.array([1.0, 1e-6, 1.0])[:, np.newaxis]

    @property
    def valid(self):
        """Whether no mark of a number is taken for the mark between cells."""
        marks = self.decimal + self.thousands
        return self.between != "," or self.quotes != "none" or "," not in marks

    @property
    def readable(self):
        """Whether a file of commas shows that points stand between its thousands."""
        return not (self.between == "," and self.thousands == "." and not any(self.digits))


@some.composite
def formats(draw):
    decimal = draw(some.sampled_from(".,"))
    other = "." if decimal == "," else ","
    encoding = draw(some.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    typographic = [mark for mark in TYPOGRAPHIC if mark != "\u202f" or encoding != "cp1252"]
    return Format(
        draw(some.sampled_from([";", "\t", ","])),
        decimal,
        draw(some.sampled_from(["", other, " ", "'", *typographic])),
        draw(some.tuples(*[some.integers(0, 5)] * 3)),
        draw(some.sampled_from(["none", "needed", "all"])),
        draw(some.booleans()),
        draw(some.sampled_from("-" if encoding == "cp1252" else "-\u2212")),
        draw(some.sampled_from(["", " "])),
        draw(some.sampled_from(["\n", "\r\n", "\r"])),
        encoding,
        draw(some.booleans()),
    )


@some.composite
def tables(draw):
    """Rows of whole numbers, the first rising and the last different in all rows."""
    size = draw(some.sampled_from([20, 2_000, 200_000, 2 * 10**7, 2 * 10**10]))
    whole, n = some.integers(-size, size), draw(some.integers(8, 14))
    steps = draw(some.lists(some.integers(1, size), min_size=n, max_size=n))
    forces = draw(some.lists(whole, min_size=n, max_size=n, unique=True))
    slips = draw(some.lists(whole, min_size=n, max_size=n))
    return [*zip(itertools.accumulate(steps), slips, forces, strict=True)]


def read(path, **options):
    """Return the columns of a file, or None where it is refused."""
    try:
        curve = read_curve(path, **options)
    except ModelError:
        return None
    assert curve.cleaned == ()
    return np.array([curve.time, curve.displacement, curve.force])


THOUSANDS = [(k, 1000 * k, 1000 * (k + 3)) for k in range(1, 11)]


@FOLDER
@given(how=formats(), rows=tables())
@example(Format(digits=(0, 0, 3)), THOUSANDS)
@example(Format(digits=(0, 0, 0), thousands="."), THOUSANDS)
@example(Format(digits=(0, 0, 0), decimal=".", thousands=","), THOUSANDS)
@example(Format(between=",", quotes="none", digits=(0, 3, 3)), THOUSANDS)
@example(Format(between=",", digits=(0, 0, 1), thousands="."), THOUSANDS)
def test_files_are_read_right_or_refused(tmp_path, how, rows):
    path = how.write(tmp_path / "a.csv", how.table(rows))
    found, reported = read(path), read(path, decimal=how.decimal)
    if how.valid:
        np.testing.assert_array_equal(reported, how.truth(rows))
    if found is not None and how.readable:
        np.testing.assert_array_equal(found, how.truth(rows))
    if reported is not None and how.readable:
        np.testing.assert_array_equal(reported, how.truth(rows))


@FOLDER
@given(how=formats(), rows=tables())
def test_numbers_that_show_their_mark_are_read_unasked(tmp_path, how, rows):
    # every column holds a half, of which nobody could make a number with a mark between thousands
    how = replace(how, digits=(2, 2, 2), quotes="all" if how.quotes == "none" else how.quotes)
    rows = [*rows, (rows[-1][0] + 1, 50, max(row[2] for row in rows) + 1)]
    cells = how.table(rows)
    path = how.write(tmp_path / "a.csv", cells)
    if not how.trimmed:
        np.testing.assert_array_equal(read(path), how.truth(rows))


@FOLDER
@given(
    how=formats(),
    rows=tables(),
    row=some.integers(0, 7),
    place=some.integers(0, 3),
    all_=some.booleans(),
)
def test_a_cell_too_many_is_refused(tmp_path, how, rows, row, place, all_):
    cells = how.table(rows)
    for k, one in enumerate(cells):
        if all_ or k == row:
            one.insert(place, "7")
    path = how.write(tmp_path / "a.csv", cells)
    assert read(path) is None
    assert read(path, decimal=how.decimal) is None


@FOLDER
@given(how=formats(), rows=tables(), row=some.integers(0, 7), place=some.integers(0, 2))
def test_a_cell_too_few_is_refused(tmp_path, how, rows, row, place):
    how = replace(how, quotes="all")
    cells = how.table(rows)
    del cells[row][place]
    path = how.write(tmp_path / "a.csv", cells)
    assert read(path, decimal=how.decimal) is None


@pytest.mark.parametrize(
    "name", ["force [N]", "FORCE [N]", " Force  [N] ", "force [mN]", "F/kN", "f"]
)
@pytest.mark.parametrize("first", [False, True])
def test_two_columns_of_one_quantity_are_refused(tmp_path, name, first):
    how = Format(digits=(2, 2, 2))
    cells = [[*row, "1"] for row in how.table(THOUSANDS)]
    names = [*NAMES[:2], *([name, NAMES[2]] if first else [NAMES[2], name])]
    path = how.write(tmp_path / "a.csv", cells, names)
    with pytest.raises(ModelError, match="both columns may be the force"):
        read_curve(path)
