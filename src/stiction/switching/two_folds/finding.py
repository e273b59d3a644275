"""Search for two-folds: points at which both fields are tangent to a discontinuity surface.

Sliding orbits can reach a two-fold in finite time and have no unique future there. Four numbers,
K_ab = d(L_a) . f^b with L_a = grad h . f^a, determine the kind of a two-fold and its sliding orbits
to first order; here h is the switching function, f^a the field of side a = + or -. The search is
Newton's method for h = L+ = L- = 0 (`newton`), from one guess or from many random ones; the result
is a `TwoFold` (`local_flow`).

Source: Szalai, Jeffrey 2014, section III.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, SolveError, explain
from stiction.numerics.checks import MOST_SEED, numbers, whole
from stiction.switching.model import SwitchingSystem, sides_at
from stiction.switching.two_folds.local_flow import LocalForm, TwoFold
from stiction.switching.two_folds.newton import Probe, Search, search

__all__ = ["LocalForm", "TwoFold", "all_two_folds", "two_fold"]

Floats = npt.NDArray[np.float64]

# fields count as not smooth if the relative error of a K_ab is above this. Chosen: at a kink no
# digit is correct
_ROUGH = 1e-4
# rates and K_ab below this fraction of their scales count as zero. Chosen, above their errors
_FLAT = 1e-9
# margin of the box, over the scale of the states. Chosen, above the error of a search that ends at
# `newton._SOLVED`; two-folds within ten times this distance count as one
_MARGIN = 1e-6


def two_fold(
    system: SwitchingSystem, guess: Sequence[float] | Floats, *, surface: int = 0
) -> TwoFold:
    """Return the two-fold to which Newton's method converges from `guess`.

    With n > 3 states two-folds form a set of dimension n - 3. Newton steps have least norm, so that
    the result is near the guess.

    Parameters
    ----------
    system : a flow with at least three states
    guess : (n,) a state near the two-fold
    surface : index of the switching function, from 0

    Raises
    ------
    ModelError : if system, guess or surface are not valid.
    SolveError : if Newton's method does not converge to a two-fold, but for example to a fold.

    Source: Szalai, Jeffrey 2014, section III.
    Verified by: tests/unit/switching/two_folds/test_finding.py::test_wheel_reference
    """
    where = "two_fold"
    checked_system(where, system, surface)
    why, try_ = "the search starts at this state.", "give one number per state."
    n = system.compiled.n
    x = numbers(f"{where}.guess", guess, size=None, per="state", why=why, try_=try_)
    if x.size != n:
        got = f"{x.size} values"
        raise ModelError(f"{where}.guess", got, f"{n} values, one per state", why, try_)
    probe = Probe(system, surface, sides_at(system, x))
    if not np.isfinite(probe.values(x[None, :])).all():
        got, needs = "a guess where a field is not finite", "a guess where both fields are finite"
        why = "Newton's method needs the values of both fields."
        raise ModelError(f"{where}.guess", got, needs, why, "take another guess.")
    result = search(probe, x)
    if not result.solved:
        raise SolveError(_no_two_fold(result))
    return described(probe, result)


def all_two_folds(
    system: SwitchingSystem,
    lower: Sequence[float] | Floats,
    upper: Sequence[float] | Floats,
    *,
    n: int = 100,
    seed: int = 0,
    surface: int = 0,
) -> tuple[TwoFold, ...]:
    """Return the two-folds in a box, by Newton's method from random states.

    A two-fold with a small basin of attraction may be missed; more searches make this less likely.
    With more than three states the two-folds form a continuum, and the results are a sample of it.

    Parameters
    ----------
    lower, upper : (n_state,) corners of the box
    n : number of searches
    seed : seed of the random starts; the same seed gives the same result
    surface : index of the switching function, from 0

    Returns
    -------
    Two-folds without repetition, in ascending order of their first state.

    Source: multi-start Newton; formulas sheet, section 4: a wheel has up to four for a sign of g.
    Verified by: tests/unit/switching/two_folds/test_finding.py::test_all_two_folds_of_the_wheel

    Examples
    --------
    >>> import stiction as st
    >>> form = st.switching.NormalForm(-1.2, -1.5)
    >>> folds = st.switching.all_two_folds(form, [-1.0] * 3, [1.0] * 3, n=3)
    >>> len(folds), round(folds[0].J1, 9)
    (1, -1.2)
    """
    where = "all_two_folds"
    checked_system(where, system, surface)
    size = system.compiled.n
    why, try_ = (
        "lower and upper are the corners of the box to search.",
        "give one number per state.",
    )
    low = numbers(f"{where}.lower", lower, size=size, per="state", why=why, try_=try_)
    high = numbers(f"{where}.upper", upper, size=size, per="state", why=why, try_=try_)
    if not (low < high).all():
        got, needs = f"{low.tolist()} and {high.tolist()}", "lower < upper in every state"
        raise ModelError(where, got, needs, why, "exchange the two corners.")
    why, try_ = "each search starts at a random state.", "for example 100."
    n = whole(f"{where}.n", n, least=1, each=8.0 * size, why=why, try_=try_)
    why = "the same seed repeats the random starts."
    seed = whole(f"{where}.seed", seed, least=0, most=MOST_SEED, why=why, try_="give 0.")
    starts = np.random.default_rng(seed).uniform(low, high, size=(n, size))
    results: list[TwoFold] = []
    for start in starts:
        probe = Probe(system, surface, sides_at(system, start))
        result = search(probe, start)
        slack = _MARGIN * probe.scale
        if not result.solved or ((result.x < low - slack) | (result.x > high + slack)).any():
            continue
        if any((np.abs(result.x - known.x) <= slack * 10.0).all() for known in results):
            continue
        try:
            results.append(described(probe, result))
        except SolveError:
            # h = L+ = L- = 0, but the fields vanish or are not smooth: this is not a two-fold
            continue
    return tuple(sorted(results, key=lambda point: tuple(point.x)))


def described(probe: Probe, result: Search) -> TwoFold:
    """Return the two-fold at the end of a search; SolveError if the point is not a two-fold.

    Both fields must be nonzero and smooth, and the K_ab must not all be zero.
    """
    x = result.x
    plus, minus = probe.fields(x)
    k, doubt = probe.lie_derivatives(x)
    speeds = [float(np.linalg.norm(f / probe.scale)) for f in (plus, minus)]
    steep = float(np.linalg.norm(probe.system.gradient(x)[probe.surface] * probe.scale))
    size, at = float(np.abs(k).max()), f"at x = {x.tolist()}"
    why = "the numbers K_ab determine the local flow of such fields only."
    got = ""
    around = _speeds_around(probe, x) * float(np.linalg.norm(1.0 + np.abs(x / probe.scale)))
    if (np.array(speeds) <= _FLAT * around).any():
        got = f"fields that vanish {at}"
    elif size <= _FLAT * steep * max(speeds) ** 2:
        got = f"fields tangent to the surface all around {at}"
    elif not float(doubt.max()) <= _ROUGH * size:
        got = f"a kink or a singular point {at} (K_ab known to {float(doubt.max() / size):.2g})"
    if got:
        needs = "two smooth, nonzero fields whose orbits curve away from the surface"
        raise SolveError(explain("two_fold", got, needs, why, "take another guess."))
    return TwoFold(
        probe.system, probe.surface, probe.signs, x, plus, minus, k, doubt, result.residual
    )


def _speeds_around(probe: Probe, x: Floats) -> Floats:
    """Return (2,) the largest speeds of f+ and f- at states around x, over the scale."""
    steps = 0.015625 * np.vstack([np.eye(x.size), -np.eye(x.size)]) * probe.scale
    fields = np.array([probe.fields(x + step) for step in steps]) / probe.scale
    found: Floats = np.linalg.norm(fields, axis=2).max(axis=0)
    return np.where(np.isfinite(found), found, 0.0)


def checked_system(where: str, system: object, surface: object) -> None:
    """Refuse systems of fewer than three states, and surfaces that do not exist."""
    if not isinstance(system, SwitchingSystem):
        needs = "a switching system, such as PiecewiseSmooth(...)"
        why = "two-folds are points of discontinuity surfaces."
        raise ModelError(where, repr(system), needs, why, "give the system first.")
    c = system.compiled
    if c.n < 3:
        why = "h = L+ = L- = 0 are three equations, so that two states have no two-fold in general."
        got = f"a system of {c.n} states"
        raise ModelError(where, got, "at least 3 states", why, "look for folds instead.")
    why, try_ = "surfaces are counted from 0.", "give 0 for the first surface."
    index = whole(f"{where}.surface", surface, least=0, why=why, try_=try_)
    if index >= c.m:
        needs = f"a whole number below {c.m}"
        raise ModelError(f"{where}.surface", index, needs, why, try_)


def _no_two_fold(result: Search) -> str:
    """Return the message for a search that did not end at a two-fold."""
    h, up, down = (float(v) for v in np.abs(result.residual))
    end = f"h = {h:.2g}, L+ = {up:.2g}, L- = {down:.2g} of their sizes at {result.x.tolist()}"
    small = 1e-3 * max(h, up, down)
    got = f"no zero after {result.steps} steps ({end})"
    why = "the search ended at a minimum of the residual that is not zero, or left the domain."
    if h <= small and min(up, down) <= small:
        side, other = ("f+", "f-") if up <= down else ("f-", "f+")
        got = f"a fold of {side} alone ({end})"
        why = f"{side} is tangent to the surface at this point, but {other} is not."
    try_ = "take a nearer guess, or search a box by all_two_folds."
    return explain("two_fold", got, "a point with h = L+ = L- = 0", why, try_)
