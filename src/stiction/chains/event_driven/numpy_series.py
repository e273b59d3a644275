"""Taylor coefficients of the motion of a chain in one step, by NumPy over all masses at once.

This is `series_kernels.expand` for runs without a compiler. The equation of motion gives the
coefficients x_k of the displacements in tau = omega (t - t0),

    m omega^2 (k + 1)(k + 2) x_{k+2} = R_k - sigma N mu_k,

with R_k of all forces but friction, mu_k coefficient k of the friction coefficient, and sigma the
direction of slip. Operations and their order are the same as there, so both results agree to the
last bit. Without a compiler the scenario `burridge-knopoff` takes 5.0 s with this module, and 6.5 s
with a loop over masses in Python (docs/decisions/03).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.state import Problem, Scratch
from stiction.laws.law_kernels import share_term, shares_at

__all__ = ["expand"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Place = slice | Ints
# number of coefficients of the polynomial that is fitted to mu(v) on a step
FIT = 7


def _place(active: Ints, count: int) -> Place:
    """Return the indices of the active masses, as a slice if these are consecutive."""
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
    """Fill s.x, s.drive and s.mu for the active masses; arguments as in `series_kernels.expand`.

    With a weakening function e(w) of the law, s.mu has the coefficients of e(w), else those of mu.
    `lead` is the number of leading coefficients of the slip rate that are zero: they are set to
    zero exactly.
    """
    if count == 0:
        return
    at = _place(active, count)
    c, before, after = _shifted(at, 1), at, _shifted(at, 2)
    omega, x, links = p.rate, s.x, _shifted(at, 1)
    k_left, k_right, c_left, c_right = p.link_k[at], p.link_k[links], p.link_c[at], p.link_c[links]
    load_vector, plate_k, mass = p.load_vector[at], p.plate_k[at], p.mass[at]
    mu_kinetic = p.mu_kinetic[at]
    sign, mu_drop = mode[at], p.mu_static[at] - mu_kinetic
    moves, weight = sign != 0, sign * p.normal[at]
    any_moves, zeros = bool(moves.any()), np.where(moves, lead[at], 0)
    most = int(zeros.max())
    # coefficients k and k + 1 of the displacements
    lower, upper = x[0], x[1]
    for k in range(p.order - 1):
        spin = omega * (k + 1)
        scale = 1.0 / (omega * omega * (k + 1) * (k + 2))
        plate = p.plate_speed * t if k == 0 else p.plate_speed / omega if k == 1 else 0.0
        middle, swing = lower[c], upper[c]
        left = k_left * (middle - lower[before])
        right = k_right * (lower[after] - middle)
        left += c_left * spin * (swing - upper[before])
        right += c_right * spin * (upper[after] - swing)
        force = right - left + load_vector * s.load[k] + plate_k * (plate - middle)
        s.drive[k, at] = force
        lower, upper = upper, x[k + 2]
        if not any_moves:
            continue
        if p.share_address != 0:
            weakening = _weakening_terms(p, k, active[:count], mode, s)
            term: Floats | float = (mu_kinetic if k == 0 else 0.0) + mu_drop * weakening
        elif p.fitted:
            term = s.mu[at, k] if k < FIT else 0.0
        else:
            term = mu_kinetic if k == 0 else 0.0
        force -= weight * term
        if k + 1 < most:
            force[k + 1 < zeros] = 0.0
        upper[c] = np.where(moves, force / mass * scale, upper[c])


def _weakening_terms(p: Problem, k: int, active: Ints, mode: Ints, s: Scratch) -> Floats:
    """Return coefficient k of e(w) in mu = mu_kin + (mu_s - mu_kin) e(w) of active masses.

    It is 0 in stick. mu_kin is the kinetic coefficient, e(w) the weakening function.
    """
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
    terms = np.zeros(active.size)
    terms[mode[active] != 0] = s.mu[moving, k]
    return terms
