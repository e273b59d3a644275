"""Bifurcation of plates under plane strain, reported by every method, against an exact solution.

Euler's load holds for slender columns. A plate of length L and thickness H between frictionless
rollers has an exact one at any slenderness: about the homogeneous state of a compressible
neo-Hookean block the increments u = U(Y) sin kX, v = V(Y) cos kX, k = pi / L, obey

    A1111 u,11 + (A1122 + A1221) v,12 + A1212 u,22 = 0,
    A2121 v,11 + (A1122 + A1221) u,12 + A2222 v,22 = 0,

free of increments of traction on both faces (Biot 1965). The first compression at which bending
fulfils both is the load of bifurcation; it tends to pi^2 E / (12 (1 - nu^2)) (H / L)^2, Euler's
with the modulus of plates. The determinant shares no code with the package.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.linalg import expm
from scipy.optimize import brentq
from tally import Tally

import stiction as st
from stiction import solids as so
from stiction.laws import Frictionless, LennardJones
from stiction.solids.model import Readings

# stiff beside a plate: 6e4 of its modulus over its height
STIFF = LennardJones(np.pi * 1e-12, 1e-4)


def pressed(squeeze: float, poisson: float) -> tuple[float, float, float, float]:
    """Return mu, lambda and the stretches along and across of a block with E = 1."""
    mu = 0.5 / (1.0 + poisson)
    lam = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))
    f1 = 1.0 - squeeze
    f2 = brentq(lambda f: mu * (f - 1.0 / f) + lam * np.log(f1 * f) / f, 0.5, 2.0, xtol=1e-15)
    return mu, lam, f1, float(f2)


def force(squeeze: float, poisson: float) -> float:
    """Return the force that presses a block of height 1."""
    mu, lam, f1, f2 = pressed(squeeze, poisson)
    return float(-mu * (f1 - 1.0 / f1) - lam * np.log(f1 * f2) / f1)


def determinant(squeeze: float, poisson: float, slender: float) -> float:
    """Return the determinant of bending of a block of height 1 and E = 1 at a compression."""
    mu, lam, f1, f2 = pressed(squeeze, poisson)
    shear = mu - lam * np.log(f1 * f2)
    a11, a22 = mu + (lam + shear) / f1**2, mu + (lam + shear) / f2**2
    a12 = lam / (f1 * f2)
    cross = shear / (f1 * f2)
    k = np.pi / slender
    # state (U, V, U', V') of u = U sin kX, v = V cos kX
    rates = np.zeros((4, 4))
    rates[0, 2] = rates[1, 3] = 1.0
    rates[2, 0], rates[2, 3] = a11 * k**2 / mu, (a12 + cross) * k / mu
    rates[3, 1], rates[3, 2] = mu * k**2 / a22, -(a12 + cross) * k / a22
    half = expm(0.5 * rates)[:, [1, 2]]
    across = mu * half[2] - cross * k * half[1]
    normal = a22 * half[3] + a12 * k * half[0]
    return float(across[0] * normal[1] - across[1] * normal[0])


def exact(poisson: float, slender: float) -> float:
    """Return the compression at which a plate of this slenderness bends."""
    euler = np.pi**2 / 12.0 / slender**2
    squeezes = euler * np.linspace(0.5, 1.5, 21)
    values = [determinant(s, poisson, slender) for s in squeezes]
    first = int(np.flatnonzero(np.diff(np.sign(values)))[0])
    ends = squeezes[first], squeezes[first + 1]
    return float(brentq(determinant, *ends, args=(poisson, slender), xtol=1e-14))


def reported(method: object, poisson: float, slender: float, squeeze: float, touch: bool) -> float:
    """Return the force at which a run reports of the first bifurcation; NaN for none.

    Parameters
    ----------
    touch : whether a stiff frictionless plane carries the far end instead of rollers
    """
    body = so.Body(so.rectangle(slender, 1.0, (24, 2)), so.Q2(), so.NeoHookean(1.0, poisson))
    press = so.Driven(so.Boundary(0, "right"), 0, so.Program((0.0, 1.0), (0.0, -squeeze * slender)))
    held = [so.Fixed(so.Nearest(0, (0.0, 0.5)), (1,)), press]
    contacts = []
    if touch:
        wall = so.RigidPlane((-STIFF.gap_eq, 0.0), (1.0, 0.0))
        contacts = [so.Contact(so.Boundary(0, "left"), wall, STIFF, Frictionless())]
    else:
        held.append(so.Fixed(so.Boundary(0, "left"), (0,)))
    readings = Readings(displacement=1, support=True)
    run = st.solve(st.Solid([body], contacts, held, readings=readings), method, throw=False)
    places = [loss.where for loss in run.determinism.losses if loss.kind == "bifurcation"]
    if not places:
        return float("nan")
    times, forces = run.variables["displacement"].values, run.variables["force_x"].values
    moved = -float(places[0]["program_time"]) * squeeze * slender
    # the way to it alone: behind it a branch bears less
    first = int(np.argmax(times < moved)) if (times < moved).any() else times.size
    near = slice(max(0, first - 3), max(3, first))
    return abs(float(np.polyval(np.polyfit(times[near], forces[near], 2), moved)))


def campaign(steps: tuple[int, ...] = (20, 400)) -> tuple[str, int]:
    """Print a table; every method must find the load within 0.1 %."""
    tally = Tally()
    print("| H/L | nu | end | Euler | exact | " + " | ".join(NAMES) + " | steps |")
    for slender, poisson in ((10.0, 0.3), (20.0, 0.0), (40.0, 0.45)):
        euler, known = np.pi**2 / 12.0 / slender**2, exact(poisson, slender)
        wanted = force(known, poisson)
        for count, touch in itertools.product(steps, (False, True)):
            end, numbers = "plane" if touch else "rollers", ""
            for name, make in NAMES.items():
                off = reported(make(count), poisson, slender, 1.9 * known, touch) / wanted - 1.0
                numbers += f" {100.0 * off:+.4f} % |"
                tally.most("off", abs(off))
                tally.must(abs(off) < 1e-3, "load", name, slender, poisson, end, count, off)
            first = f"| 1/{slender:g} | {poisson} | {end} | {euler:.7f} | {known:.7f} |"
            print(f"{first}{numbers} {count} |", flush=True)
    return tally.result()


NAMES = {
    "load steps": lambda n: so.Quasistatic(steps=n),
    "branch": lambda n: so.Quasistatic(steps=n, on_bifurcation=so.FollowBranch()),
    "continuation": lambda n: st.Continuation(steps=n),
}
