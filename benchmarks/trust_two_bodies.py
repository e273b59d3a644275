"""Hertz between two deformable bodies: width and pressure against the closed form of plane strain.

Two cylinders without friction, halves of which are modelled, on meshes that do not fit, by virtual
work. The closed form knows half spaces and no gap between them, so that runs are extrapolated: in
the size of the bodies (its square) and in the stiffness of the law (its square). The half width is
that of the second moment of the pressure, a^2 / 4, and the peak is fitted to the inner part.
"""

from __future__ import annotations

import itertools
import time

import numpy as np
from tally import Tally

import stiction as st
from stiction import solids as so

NU, FINE = 0.3, 16
# radius of the gap over the half width: strains are a thousandth
RADIUS = 500.0


def places(size, fine, inner, grow):
    """Return places between cells: equal up to `inner`, then growing to `size`."""
    x = list(np.linspace(0.0, inner, fine + 1))
    while x[-1] < size:
        x.append(x[-1] + grow * (x[-1] - x[-2]))
    x = np.array(x)
    out = x > inner
    x[out] = inner + (x[out] - inner) * (size - inner) / (x[-1] - inner)
    return x


def cylinder(radius, size, fine, lift, upper, unit):
    """Return the mesh of half a body with a parabola for its face."""
    x = places(size, fine, 1.6, 1.25)
    y = places(size, max(2 * fine // 3, 4), 1.0, 1.3)

    def mapping(s, t):
        px = np.interp(s, np.linspace(0.0, 1.0, x.size), x)
        d = np.interp(t if upper else 1.0 - t, np.linspace(0.0, 1.0, y.size), y)
        face = (1.0 - d / size) * px**2 / (2.0 * radius)
        return unit * px, unit * (lift + d + face if upper else -d - face)

    return so.block(mapping, (x.size - 1, y.size - 1))


def pressed(moduli=1.0, radii=1.0, size=16.0, stiff=100.0, exchange=False, unit=1.0, young=1.0):
    """Return the run, the force and the closed form's half width and peak, and both as found.

    Parameters
    ----------
    moduli, radii : of the upper body over those of the lower one
    size : of the bodies over the half width
    stiff : stiffness of the law times half width over E*
    exchange : let the lower body own the boundary
    unit, young : scales of lengths and moduli
    """
    e = (young, moduli * young)
    both = 1.0 / ((1.0 - NU**2) * (1.0 / e[0] + 1.0 / e[1]))
    low = RADIUS * (1.0 + 1.0 / radii)
    peak = both / (2.0 * RADIUS)
    made = st.LennardJones.from_strength(10.0 * peak, 1e-3 * peak * unit, adhesive=False)
    slope = abs(float(np.asarray(made.stiffness(0.99999 * made.gap_eq))))
    work = 1e-3 * peak * unit * slope / (stiff * both / unit)
    law = st.LennardJones.from_strength(10.0 * peak, work, adhesive=False)
    meshes = (
        cylinder(radii * low, size, FINE, law.gap_eq / unit, True, unit),
        cylinder(low, size, FINE + FINE // 4, 0.0, False, unit),
    )
    force = 0.25 * np.pi * both * unit / RADIUS
    way = sum(
        force * (1.0 - NU**2) / (np.pi * one) * (2.0 * np.log(2.0 * size) - NU / (1.0 - NU))
        for one in e
    )
    sides = [so.Boundary(0, "bottom"), so.Boundary(1, "top")][:: -1 if exchange else 1]
    solid = so.Solid(
        [
            so.Body(mesh, so.Q1N2(), so.LinearElastic(one, NU))
            for mesh, one in zip(meshes, e[::-1], strict=True)
        ],
        [so.Contact(*sides, law, st.laws.Frictionless(), passes="mortar")],
        [
            so.Driven(so.Boundary(0, "top"), 1, so.Program((0, 1), (0.0, -way))),
            so.Fixed(so.Boundary(0, "left"), (0,)),
            so.Fixed(so.Boundary(1, "left"), (0,)),
            so.Fixed(so.Boundary(1, "bottom"), (1,)),
        ],
        dimensionless=True,
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=2), (0.0, 1.0))
    x, p = run.data["surface_x"].values[-1], run.data["normal_traction"].values[-1]
    load = 2.0 * abs(run.data["force_y"].values[-1])
    half = 2.0 * np.sqrt(load * RADIUS * unit / (np.pi * both))
    top = np.sqrt(load * both / (np.pi * RADIUS * unit))
    # cells are equal where anything presses
    found = 2.0 * np.sqrt(np.sum(p * x**2) / np.sum(p))
    inside = np.abs(x) < 0.6 * found
    shape = np.sqrt(1.0 - (x[inside] / found) ** 2)
    high = np.sum(p[inside] * shape) / np.sum(shape**2)
    return run, (half, top), (found, high)


def errors(**settings):
    """Return the errors of half width and peak."""
    _, wanted, found = pressed(**settings)
    return np.array(found) / np.array(wanted) - 1.0


def extrapolated(**settings):
    """Return the errors for a law without give and bodies without end, and those of the run."""
    here = errors(**settings)
    softer, smaller = errors(stiff=50.0, **settings), errors(size=8.0, **settings)
    return here + (here - softer) / 3.0 + (here - smaller) / 3.0, here


def campaign(
    moduli: tuple[float, ...] = (1.0, 4.0), radii: tuple[float, ...] = (1.0, 5.0)
) -> tuple[str, int]:
    """Compare ratios of moduli and radii, then variations; 0.2 % is allowed."""
    tally = Tally()
    for e, r in itertools.product(moduli, radii):
        began = time.process_time()
        far, here = extrapolated(moduli=e, radii=r)
        line = f"moduli 1:{e:g} radii 1:{r:g}  half width {100 * far[0]:+.3f} %, "
        line += f"peak {100 * far[1]:+.3f} %; one run {100 * here[0]:+.3f}, {100 * here[1]:+.3f}"
        print(f"{line}; {time.process_time() - began:.0f} s", flush=True)
        tally.most("off", np.abs(far).max())
        tally.must(np.abs(far).max() < 2e-3, "off", line)
    base = errors(moduli=4.0, radii=5.0)
    for name, more in (
        ("nanometres and gigapascals", {"unit": 1e-9, "young": 1e9}),
        ("the other body owns the boundary", {"exchange": True}),
    ):
        tally.most(
            f"change with {name}", np.abs(errors(moduli=4.0, radii=5.0, **more) - base).max()
        )
    return tally.result()
