"""Bodies of kernels of series for runs without a compiler: the same sums over all masses at once.

Every number is made by the same operations in the same order as in the kernels, so that both
give the same bits.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.state import Problem, Scratch
from stiction.laws.law_kernels import share_term, shares_at
from stiction.numerics.arrays import Vector

__all__ = [
    "column_sums",
    "energies",
    "evaluate",
    "expand",
    "friction_power",
    "link_power",
    "load_power",
    "paths",
    "whole",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Place = slice | Ints
# the coefficients of a polynomial that stands for a fitted mu(v)
FIT = 7


@functools.cache
def whole(first: int, after: int) -> Floats:
    """Return the numbers from `first` to before `after`."""
    return np.arange(first, after, dtype=np.float64)


def _place(active: Ints, count: int) -> Place:
    """Return where the active masses stand in a row, as a slice if they are neighbours."""
    if count > 0 and active[count - 1] - active[0] + 1 == count:
        return slice(int(active[0]), int(active[0]) + count)
    return active[:count].copy()


def _shifted(place: Place, by: int) -> Place:
    if isinstance(place, slice):
        return slice(place.start + by, place.stop + by)
    return place + by


def expand(
    p: Problem, t: float, active: Ints, count: int, mode: Ints, lead: Ints, s: Scratch
) -> None:
    """Fill the series of the active masses; see `series_kernels.expand`."""
    if count == 0:
        return
    at = _place(active, count)
    c, before, after = _shifted(at, 1), at, _shifted(at, 2)
    omega, x, links = p.rate, s.x, _shifted(at, 1)
    k_left, k_right, c_left, c_right = p.link_k[at], p.link_k[links], p.link_c[at], p.link_c[links]
    share, plate_k, mass, low = p.share[at], p.plate_k[at], p.mass[at], p.mu_kinetic[at]
    sign, drop = mode[at], p.mu_static[at] - low
    moves, weight = sign != 0, sign * p.normal[at]
    any_moves, zeros = bool(moves.any()), np.where(moves, lead[at], 0)
    most = int(zeros.max())
    place, rate = x[0], x[1]
    for k in range(p.order - 1):
        spin = omega * (k + 1)
        scale = 1.0 / (omega * omega * (k + 1) * (k + 2))
        plate = p.plate_speed * t if k == 0 else p.plate_speed / omega if k == 1 else 0.0
        middle, swing = place[c], rate[c]
        left = k_left * (middle - place[before])
        right = k_right * (place[after] - middle)
        left += c_left * spin * (swing - rate[before])
        right += c_right * spin * (rate[after] - swing)
        force = right - left + share * s.load[k] + plate_k * (plate - middle)
        s.drive[k, at] = force
        place, rate = rate, x[k + 2]
        if not any_moves:
            continue
        if p.share_address != 0:
            term: Floats | float = (low if k == 0 else 0.0) + drop * _share(
                p, k, active[:count], mode, s
            )
        elif p.fitted:
            term = s.mu[at, k] if k < FIT else 0.0
        else:
            term = low if k == 0 else 0.0
        force -= weight * term
        if k + 1 < most:
            force[k + 1 < zeros] = 0.0
        rate[c] = np.where(moves, force / mass * scale, rate[c])


def _share(p: Problem, k: int, active: Ints, mode: Ints, s: Scratch) -> Floats:
    """Return coefficient k of the law's share of the active masses, 0 for those that stick."""
    moving = active[mode[active] != 0]
    together = shares_at(p.share_address) if k > 0 else None
    sign = mode[moving]
    if together is not None:
        w = sign * (p.rate * s.x[1, moving + 1] - p.belt)
        speeds, known = s.x[1 : k + 2, moving + 1], s.mu[moving, :k].T
        s.mu[moving, k] = together(k, w, sign * p.rate, speeds, known, moving)
    else:
        for i in moving.tolist():
            one = mode[i]
            w = one * (p.rate * s.x[1, i + 1] - p.belt)
            row = p.law_start + i * p.law_step
            s.mu[i, k] = share_term(p.share_address, k, w, one * p.rate, s.x, s.mu, i, row)
    found = np.zeros(active.size)
    found[mode[active] != 0] = s.mu[moving, k]
    return found


def evaluate(
    p: Problem, tau: float, active: Ints, count: int, mode: Ints, s: Scratch, x: Floats, v: Floats
) -> None:
    """Write the state at tau to x and v by (n + 2,)."""
    if count > 0:
        at = _place(active, count)
        c = _shifted(at, 1)
        x[c], v[c] = paths(p, tau, s.x[:, c], mode[at])


def paths(p: Problem, tau: float | Floats, series: Floats, mode: Ints) -> tuple[Floats, Floats]:
    """Return places and velocities at tau, a number or (m, 1), for columns of coefficients."""
    steep = whole(0, p.order + 1)[:, None] * series
    place = speed = np.zeros(np.broadcast_shapes(np.shape(tau), series.shape[1:]))
    for k in range(p.order, 0, -1):
        place = (place + series[k]) * tau
        speed = speed * tau + steep[k]
    return series[0] + place, np.where(mode != 0, p.rate * speed, p.belt)


def column_sums(table: Floats, size: int, tau: float | Floats) -> Floats:
    """Return polynomials with coefficients in rows of a table at tau, a number or (m, 1)."""
    value = np.zeros(np.broadcast_shapes(np.shape(tau), table.shape[1:]))
    for k in range(size - 1, -1, -1):
        value = value * tau + table[k]
    return value


def load_power(x: Floats, load: Floats, work: Floats, c: int, share: float, order: int) -> None:
    """Add the work of the load on a mass."""
    k = whole(1, order + 1)
    for j in range(order - 1):
        if load[j] != 0.0:
            work[j + 1 : j + order + 1] += share * load[j] * k * x[1 : order + 1, c] / (j + k)


def link_power(x: Floats, viscous: Floats, link: int, order: int, factor: float) -> None:
    """Add the heat of one damper."""
    if factor == 0.0:
        return
    k, stretch = whole(1, order + 1), x[: order + 1, link + 1] - x[: order + 1, link]
    for j in range(1, order + 1):
        one = factor * j * stretch[j]
        if one != 0.0:
            viscous[j : j + order] += one * k * stretch[1:] / (j + k - 1.0)


def friction_power(
    x: Floats,
    mu: Floats,
    heat: Floats,
    work: Floats,
    i: int,
    order: int,
    terms: int,
    weight: float,
    factor: float,
    first: float,
    belt: float,
) -> None:
    """Fill the friction heat of a moving mass and add what the belt does to it."""
    heat[:, i] = 0.0
    k, column = whole(1, order + 1), x[1 : order + 1, i + 1]
    for j in range(terms):
        one = weight * (factor * mu[i, j] + (first if j == 0 else 0.0))
        if one == 0.0:
            continue
        heat[j + 1 : j + order + 1, i] += one * k * column / (j + k)
        heat[j + 1, i] -= one * belt / (j + 1)
        work[j + 1] -= one * belt / (j + 1)


def energies(p: Problem, t: float | Floats, x: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Return kinetic and stored energy of states (..., n + 2) at times t or (..., 1)."""
    kinetic = 0.5 * p.mass * v[..., 1:-1] * v[..., 1:-1]
    plate = p.plate_speed * t - x[..., 1:-1]
    stretch = np.diff(x, axis=-1)
    stored = [0.5 * p.plate_k * plate * plate, 0.5 * p.link_k * stretch * stretch]
    return _in_turn(kinetic), _in_turn(np.concatenate(stored, axis=-1))


def _in_turn(values: Vector) -> Floats:
    """Return sums along the last axis, made from the first entry to the last."""
    return np.asarray(np.add.accumulate(values, axis=-1)[..., -1])
