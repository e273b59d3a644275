"""Contacts with closed forms, as solids: a rigid cylinder on a block that stands for a half plane.

Only the right half is modelled where both halves are alike. The unit of stress is E*, that of
length the half width of contact: the cylinder's radius is so large that strains stay small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import stiction as st
from stiction.exact import adhesion as exact
from stiction.solids.conditions import Driven, Fixed, Nearest, Program, Rigid
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import RigidCircle
from stiction.solids.materials import LinearElastic
from stiction.solids.model import Readings

RADIUS = 200.0
# places of size 1000 are known to 1e-13, and the law makes forces of them
TOLERANCE = 1e-8
POISSON = 0.3
# a block of depth H with its bottom held sinks less than a half plane: depth ln(2 H / a) - SHALLOW
SHALLOW = 0.478


def spaced(low, high, cell, end, growth=0.35):
    """Return values from 0 to 1 in cells of one size between low and high, growing outside.

    Parameters
    ----------
    low, high, cell, end : on one scale; `end` becomes 1
    growth : of the cell's size per distance from the fine part
    """
    x = np.linspace(0.0, end, 40001)
    density = 1.0 / (cell + growth * np.maximum(np.maximum(low - x, x - high), 0.0))
    count = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(x))])
    cells = int(np.ceil(count[-1]))
    values = np.interp(np.linspace(0.0, count[-1], cells + 1), count, x) / end
    values[0], values[-1] = 0.0, 1.0
    return values


def half_block(low, high, cell, deep, depth):
    """Return a square block below y = 0, fine on top between two places, and its x-values."""
    x = spaced(low, high, cell, depth)
    y = 1.0 - spaced(0.0, deep, cell, depth)[::-1]
    y[0], y[-1] = 0.0, 1.0
    return st.solids.rectangle(
        depth, depth, (x.size - 1, y.size - 1), (0.0, -depth), x, y
    ), x * depth


def approach(press, pull, half_width, depth):
    """Return how deep a cylinder sinks under Hertz's load less that of a flat punch."""
    sinks = np.log(2.0 * depth / half_width) - SHALLOW
    return 2.0 / np.pi * (press * (sinks + 0.5) - pull * sinks)


def held_half():
    """Return the conditions of a half block: mirror on the left, bottom held."""
    return [Fixed(st.solids.Boundary(0, "left"), (0,)), Fixed(st.solids.Boundary(0, "bottom"))]


def unilateral(stiffness):
    """Return springs under pressure, nothing in tension, over a length of almost zero."""
    r0 = 1e-7
    scale = stiffness * r0 / (2.0 * 15.0 ** (2.0 / 3.0))
    return st.LennardJones(2.0 * np.pi * r0**3 * scale, r0, adhesive=False)


def gauss_weights(x, count):
    """Return the weights of points on a top with corners x, which goes from right to left."""
    points = count // (x.size - 1)
    return (np.diff(x)[::-1, None] * np.polynomial.legendre.leggauss(points)[1] / 2.0).ravel()


# ---------------------------------------------------------------- Hertz


class Hertz(NamedTuple):
    """Half width and largest pressure over those of Hertz at the same load, less one."""

    width: float
    peak: float
    status: str
    unknowns: int


def hertz(stiffness, cell, depth, element=None, radius=1000.0):
    """Press a cylinder on a block until the half width is about 1.

    Parameters
    ----------
    stiffness : of the unilateral normal law, times half width over E*
    cell : size of the elements of the contact, over the half width
    depth : of the block, over the half width
    """
    law = unilateral(stiffness)
    mesh, x = half_block(0.0, 1.25, cell, 0.75, depth)
    load = np.pi / (4.0 * radius)
    sinks = approach(load, 0.0, 1.0, depth)
    body = LinearElastic(1.0 - POISSON**2, POISSON)
    solid = st.Solid(
        [st.solids.Body(mesh, st.solids.Q2N2() if element is None else element, body)],
        [
            Contact(
                st.solids.Boundary(0, "top"), RigidCircle((0.0, radius + law.gap_eq), radius), law
            )
        ],
        [Driven(Rigid(0), 1, Program((0.0, 1.0), (0.0, -sinks))), *held_half()],
        readings=Readings(displacement=0),
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=2, newton_tolerance=TOLERANCE), throw=False)
    last = run.data.isel(time=-1)
    pressure, place = last["normal_traction"].to_numpy(), last["surface_x"].to_numpy()
    weight = gauss_weights(x, pressure.size)
    force = 2.0 * float(pressure @ weight)
    expected = float(exact.hertz_half_width(force, radius, 1.0))
    # the second moment of an ellipse of half width a is a^2 / 4
    width = 2.0 * np.sqrt(2.0 * float((pressure * place**2) @ weight) / force)
    peak = pressure.max() * np.pi * expected / (2.0 * force)
    return Hertz(width / expected - 1.0, peak - 1.0, run.status.name, run.stats["unknowns"])


# ---------------------------------------------------------------- Johnson, Kendall, Roberts


class Jkr(NamedTuple):
    """Path of an adhering cylinder: load and half width of contact over those of JKR."""

    load: np.ndarray  # over that of JKR at pull-off
    half_width: np.ndarray  # over that of JKR at pull-off
    pull_off: float
    zero_load: float  # half width without load over that of JKR, nan if not met
    per_zone: float  # fewest elements per cohesive zone that were pulled by a fifth of T_max
    status: str
    unknowns: int


def jkr(tabor, per_zone, depth=40.0, zero_load=False, steps=12):
    """Pull an adhering cylinder off a block, or let it go to zero load.

    The path comes to the part that is looked at by turning the attraction on while the cylinder
    is lifted, so that JKR's edge of contact stays at one place: it crosses no elements that are
    longer than the cohesive zone.

    Parameters
    ----------
    tabor : (R W^2 / (E*^2 g_eq^3))^(1/3) [1]
    per_zone : elements per cohesive zone E* W / T_max^2
    depth : of the block, over JKR's half width at pull-off, the unit of length
    zero_load : follow the part of the path about zero load instead of that to pull-off
    steps : load steps on that part
    """
    work = np.pi / (2.0 * RADIUS**2)
    gap = (RADIUS * work**2) ** (1.0 / 3.0) / tabor
    tension = 16.0 * np.sqrt(5.0) / 9.0 * work / (gap * 15.0**0.5)
    law = st.LennardJones.from_strength(tension, work)
    zone = work / tension**2
    # half widths by JKR where the part begins and ends, and the least that is found
    begin, end, least = (
        (2.56, 2.46, 2.44 - 0.3 / tabor)
        if zero_load
        else (1.04 + 0.25 / tabor, 0.87 + 0.25 / tabor, 0.85 - 0.13 / tabor)
    )

    def sunk(a, attraction=1.0):
        press = np.pi * a**2 / (4.0 * RADIUS)
        pull = press - float(exact.jkr_load(a, RADIUS, 1.0, work))
        return approach(press, np.sqrt(attraction) * pull, a, depth)

    # while the attraction is less the zone is longer: it reaches farther out
    low, high = max(least - 8.0 * zone, 0.0), begin + 8.0 * zone
    mesh, _ = half_block(low, high, zone / per_zone, 0.5 * zone, depth)
    root = np.linspace(0.0, 1.0, 9)
    turned_on = 0.25 + 0.25 * root
    times = np.array([0.0, *turned_on, 0.5 + steps / 12.0])
    path = -np.array([0.0, *(sunk(begin, r**2) for r in root), sunk(end)])
    solid = st.Solid(
        [st.solids.Body(mesh, st.solids.Q2N2(), LinearElastic(1.0 - POISSON**2, POISSON))],
        [
            Contact(
                st.solids.Boundary(0, "top"), RigidCircle((0.0, RADIUS + law.gap_eq), RADIUS), law
            )
        ],
        [Driven(Rigid(0), 1, Program(times, path)), *held_half()],
        attraction=Program(turned_on, root**2),
        readings=Readings(displacement=0, start=0.5),
    )
    method = st.solids.Quasistatic(steps=round(12 * times[-1]), max_halvings=6)
    run = st.solve(solid, method, (0.0, times[-1]), throw=False)
    rows = run.data["time"].to_numpy() >= 0.5 - 1e-12
    a_c, p_c = exact.jkr_pull_off(RADIUS, 1.0, work)
    load = -2.0 * run.data["force_y"].to_numpy()[rows] / p_c
    width = run.data["nominal_contact"].to_numpy()[rows] / a_c
    lift = run.data["displacement"].to_numpy()[rows]
    coarse = next(c.value for c in run.audit.checks if c.check == "process_zone_resolved")
    return Jkr(
        load,
        width,
        _top(lift, load),
        _at_zero(load, width) / 16.0 ** (1.0 / 3.0),
        4.0 / coarse,
        run.status.name,
        run.stats["unknowns"],
    )


def _top(x, y):
    """Return the top of the parabola through the largest value and its neighbours, else nan."""
    i = int(np.argmax(y))
    if not 0 < i < y.size - 1:
        return float("nan")
    c = np.polyfit(x[i - 1 : i + 2] - x[i], y[i - 1 : i + 2], 2)
    return float(c[2] - c[1] ** 2 / (4.0 * c[0]))


def _at_zero(load, width):
    """Return the half width where the load changes its sign, else nan."""
    i = np.flatnonzero(load[:-1] * load[1:] <= 0.0)
    if not i.size:
        return float("nan")
    a, b = load[i[0]], load[i[0] + 1]
    return float(width[i[0]] - a * (width[i[0] + 1] - width[i[0]]) / (b - a))


# ---------------------------------------------------------------- Cattaneo and Mindlin


class Mindlin(NamedTuple):
    """A pressed cylinder that is sheared: what sticks, and the shear traction."""

    part: np.ndarray  # Q / (mu P)
    stuck: np.ndarray  # half width of stick over Hertz's half width, less sqrt(1 - part)
    misplaced: float  # shear traction where it should not be over Q, at the row nearest 0.5
    status: str
    unknowns: int


def mindlin(stiffness, cell, depth=20.0, poisson=0.499, friction=0.3, steps=8, radius=1000.0):
    """Press a cylinder on a nearly incompressible block, then shear it.

    Parameters
    ----------
    stiffness : of the law, across and along the boundary, times half width over E*
    cell : size of the elements of the contact, over the half width
    depth : of the block, over the half width
    poisson : of the block; Dundurs' constant beta is (1 - 2 nu) / (2 (1 - nu))
    """
    law = unilateral(stiffness)
    # two halves of a fine top, made alike
    half = spaced(0.0, 1.25, cell, depth)
    x = np.concatenate([-half[::-1], half[1:]])
    y = 1.0 - spaced(0.0, 0.75, cell, depth)[::-1]
    y[0], y[-1] = 0.0, 1.0
    cells, corner = (x.size - 1, y.size - 1), (-depth, -depth)
    mesh = st.solids.rectangle(2.0 * depth, depth, cells, corner, 0.5 * (1.0 + x), y)
    sinks = approach(np.pi / (4.0 * radius), 0.0, 1.0, depth)
    solid = st.Solid(
        [
            st.solids.Body(
                mesh, st.solids.Q2N2(reduced=True), LinearElastic(1.0 - poisson**2, poisson)
            )
        ],
        [
            Contact(
                st.solids.Boundary(0, "top"),
                RigidCircle((0.0, radius + law.gap_eq), radius),
                law,
                st.EA(friction, 0.0),
                penalty=stiffness,
                friction_from=0.25,
            )
        ],
        [
            Driven(Rigid(0), 1, Program((0.0, 0.25), (0.0, -sinks))),
            Driven(Rigid(0), 0, Program((0.25, 1.25), (0.0, 1.6 * friction * sinks))),
            Fixed(st.solids.Boundary(0, "bottom")),
        ],
        readings=Readings(displacement=1, start=0.25),
    )
    method = st.solids.Quasistatic(steps=round(1.25 * steps), newton_tolerance=TOLERANCE)
    run = st.solve(solid, method, (0.0, 1.25), throw=False)
    data = run.data.isel(time=run.data["time"].to_numpy() > 0.25 + 1e-9)
    press, shear = np.abs(data["force_y"].to_numpy()), np.abs(data["force_x"].to_numpy())
    width = exact.hertz_half_width(press, radius, 1.0)
    part = shear / (friction * press)
    stuck = 0.5 * data["sticking_length"].to_numpy() / width
    i = int(np.argmin(np.abs(part - 0.5)))
    row = data.isel(time=i)
    place, found = row["surface_x"].to_numpy(), np.abs(row["tangential_traction"].to_numpy())
    wanted = exact.cattaneo_mindlin_traction(
        place, float(press[i]), float(shear[i]), friction, float(width[i])
    )
    misplaced = float(np.abs(found - wanted) @ gauss_weights(x * depth, found.size) / shear[i])
    return Mindlin(
        part, stuck - np.sqrt(1.0 - part), misplaced, run.status.name, run.stats["unknowns"]
    )


# ---------------------------------------------------------------- Kendall


class Peel(NamedTuple):
    """A strip peeled at 90 degrees: its force over that of Kendall, along the path."""

    lift: np.ndarray  # of the end, over the bending length sqrt(E' h^3 / (12 W))
    force: np.ndarray  # over that of Kendall
    mean: float  # where contact is lost steadily
    spread: float  # largest difference to the mean there
    kendall: float  # Kendall's force over W
    status: str
    unknowns: int


def peel(work, cells, zone=4.0, poisson=0.2, steps=100):
    """Lift the end of a thin strip off a plane without friction, straight up.

    Without friction nothing holds the strip back along the plane, so that the force is
    vertical whatever the shape, and the strip leaves the plane at a right angle once its free
    part is long. Units are E and the strip's height; the strip is 14.4 bending lengths long
    and lifted by 9.6 of them.

    Parameters
    ----------
    work : W / (E h)
    cells : biquadratic elements along and across
    zone : cohesive zone E' W / T_max^2, over h
    """
    plane = 1.0 / (1.0 - poisson**2)
    bending = np.sqrt(plane / (12.0 * work))
    law = st.LennardJones.from_strength(np.sqrt(plane * work / zone), work)
    length = 14.4 * bending
    mesh = st.solids.rectangle(length, 1.0, cells, (0.0, law.gap_eq))
    end = Nearest(0, (length, law.gap_eq + 0.5))
    solid = st.Solid(
        [st.solids.Body(mesh, st.solids.Q2N2(), st.solids.NeoHookean(1.0, poisson))],
        [Contact(st.solids.Boundary(0, "bottom"), st.solids.RigidPlane(), law)],
        [Driven(end, 1, Program((0.0, 1.0), (0.0, 9.6 * bending))), Fixed(end, (0,))],
        readings=Readings(displacement=0, support=True, nominal=True),
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=steps), throw=False)
    kendall = exact.kendall_force(0.5 * np.pi, work, plane)
    lift = run.data["displacement"].to_numpy() / bending
    force = run.data["force_y"].to_numpy() / kendall
    late = force[lift > 5.0]
    mean = float(late.mean()) if late.size else float("nan")
    spread = float(np.abs(late - mean).max()) if late.size else float("nan")
    return Peel(lift, force, mean, spread, kendall / work, run.status.name, run.stats["unknowns"])
