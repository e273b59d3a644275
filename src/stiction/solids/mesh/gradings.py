"""Mesh gradings: n + 1 increasing values from 0 to 1, the ends of n cells along a coordinate.

The shapes in `mesh.model` map them to a side of a body. `graded` is a geometric sequence; the other
gradings are finer at an end, in the middle or around given places. `toward` and `dense_between`
prescribe a density of cells rho(t) and place the values so that the integral of rho between two
neighbours is the same for all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.checks import number, numbers, whole

__all__ = [
    "dense_between",
    "graded",
    "refined",
    "rising",
    "toward",
    "toward_end",
    "toward_middle",
    "uniform",
]

Floats = npt.NDArray[np.float64]

# samples per cell of the density of cells, for its integration
_FINE = 20


def uniform(n: int) -> Floats:
    """Return n + 1 values from 0 to 1 in equal steps."""
    return np.linspace(0.0, 1.0, _count("uniform.n", n) + 1)


def graded(n: int, ratio: float) -> Floats:
    """Return n + 1 values from 0 to 1 in geometric steps; the last is `ratio` times the first.

    Verified by: tests/unit/solids/mesh/test_model.py::test_gradings
    """
    count = _count("graded.n", n)
    steps = _ratio("graded.ratio", ratio) ** (np.arange(count) / max(count - 1, 1))
    values = np.concatenate([[0.0], np.cumsum(steps) / steps.sum()])
    values[-1] = 1.0
    return values


def toward_end(n: int, ratio: float) -> Floats:
    """Return n + 1 values from 0 to 1 in steps that are `ratio` times finer at the end.

    Verified by: tests/unit/solids/mesh/test_model.py::test_gradings
    """
    return graded(n, 1.0 / _ratio("toward_end.ratio", ratio))


def toward_middle(n: int, ratio: float) -> Floats:
    """Return n + 1 values from 0 to 1 that are finer in the middle than at the ends.

    The density of cells in the middle is `ratio` times that at the ends; of few cells the lengths
    have a smaller ratio.

    Verified by: tests/unit/solids/mesh/test_model.py::test_gradings
    """
    count = _count("toward_middle.n", n)
    r = _ratio("toward_middle.ratio", ratio)
    distance = np.abs(2.0 * (np.arange(count) + 0.5) / count - 1.0)
    steps = r**distance
    values = np.concatenate([[0.0], np.cumsum(steps) / steps.sum()])
    return _mirrored(values)


def toward(n: int, places: float | Sequence[float], width: float, ratio: float) -> Floats:
    """Return n + 1 values from 0 to 1 that lie `ratio` times denser around some places.

    Parameters
    ----------
    n : cells
    places : where cells are fine, from 0 to 1
    width : of each fine zone, as a fraction of the whole
    ratio : of coarse to fine cell sizes

    Verified by: tests/unit/solids/mesh/test_model.py::test_gradings
    """
    count = _count("toward.n", n)
    why = "places and width set the zones of fine cells."
    given = [places] if isinstance(places, (int, float)) else places
    at = numbers("toward.places", given, per="zone", why=why, try_="give values from 0 to 1.")
    if at.min() < 0.0 or at.max() > 1.0:
        needs = "values from 0 to 1"
        raise ModelError("toward.places", at.tolist(), needs, why, "give 0.5.")
    zone_width = number("toward.width", width, rule="positive", why=why, try_="give 0.1.")
    r = _ratio("toward.ratio", ratio)
    t = np.linspace(0.0, 1.0, max(_FINE * count, 2000) + 1)
    bump = np.exp(-((2.0 * (t[:, None] - at) / zone_width) ** 2)).max(axis=1)
    values = _by_density(t, 1.0 + (r - 1.0) * bump, count)
    if np.allclose(np.sort(at), np.sort(1.0 - at), rtol=0.0, atol=1e-12):
        values = _mirrored(values)
    return values


def dense_between(n: int, low: float, high: float, ratio: float) -> Floats:
    """Return n + 1 values from 0 to 1, `ratio` times finer between low and high than far away.

    The change is smooth: cell lengths follow 1 / (1 + (ratio - 1) bump), with a bump
    (tanh((t - low) / w) - tanh((t - high) / w)) / 2 that is near 1 between low and high.

    Parameters
    ----------
    n : cells
    low, high : ends of the fine zone, from 0 to 1
    ratio : of coarse to fine cell sizes
    """
    count = _count("dense_between.n", n)
    t = np.linspace(0.0, 1.0, _FINE * count + 1)
    width = 0.15 * max(high - low, 1e-3) + 1e-3
    inside = 0.5 * (np.tanh((t - low) / width) - np.tanh((t - high) / width))
    values = _by_density(t, 1.0 + (_ratio("dense_between.ratio", ratio) - 1.0) * inside, count)
    if abs(low + high - 1.0) < 1e-12:
        values = _mirrored(values)
    return values


def rising(name: str, values: Floats | None, n: int) -> Floats:
    """Return a grading of n cells after checking that it rises from 0 to 1; None gives equal cells.

    `name` is that of the argument, for messages.
    """
    if values is None:
        return uniform(n)
    why = "the values are the ends of cells."
    needs, try_ = f"{n + 1} rising values from 0 to 1", "leave this value out for equal cells."
    v = numbers(name, values, per="line between cells", why=why, try_=try_)
    got = f"{v.size} values"
    if v.size == n + 1:
        flat = np.flatnonzero(~(np.diff(v) > 0.0))
        if flat.size == 0 and v[0] == 0.0 and v[-1] == 1.0:
            return v
        # all digits: an end that misses 1 by rounding is refused too
        got = f"{v.size} values from {float(v[0])!r} to {float(v[-1])!r}"
        if flat.size:
            got += f" that do not rise at position {flat[0] + 2}"
    raise ModelError(name, got, needs, why, try_)


def refined(values: Floats) -> Floats:
    """Return the values (2 n + 1,) of a grading (n + 1,) with the midpoints between them."""
    out = np.empty(2 * values.size - 1)
    out[::2] = values
    out[1::2] = 0.5 * (values[1:] + values[:-1])
    return out


def _by_density(t: Floats, density: Floats, n: int) -> Floats:
    """Return n + 1 values between which the density, given at t, has equal integrals."""
    total = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    values = np.interp(np.linspace(0.0, total[-1], n + 1), total, t)
    values[0], values[-1] = 0.0, 1.0
    return np.asarray(values)


def _mirrored(values: Floats) -> Floats:
    """Return values that are exactly symmetric, so that symmetric bodies get symmetric meshes."""
    values = np.asarray(0.5 * (values + 1.0 - values[::-1]))
    values[0], values[-1] = 0.0, 1.0
    return values


def _count(name: str, n: int) -> int:
    why = "a grading has at least one cell."
    return whole(name, n, least=1, each=1000.0, why=why, try_="give 10.")


def _ratio(name: str, value: float) -> float:
    why = "the ratio is the size of coarse cells over that of fine cells."
    return number(name, value, rule="positive", why=why, try_="give 5.")
