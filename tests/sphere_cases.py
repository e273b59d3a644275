"""A rigid sphere on a quarter of a block in space: pressed as Hertz has it, and drawn off."""

import math

import numpy as np

import stiction as st
from stiction.laws import LennardJones, amontons
from stiction.solids import (
    Q1N2,
    Boundary,
    Contact,
    Dome,
    Driven,
    Fixed,
    NeoHookean,
    Program,
    Readings,
    Rigid,
    RigidSphere,
    Solid,
    SweptBody,
    rectangle,
)
from stiction.solids.equilibria.problem import Problem

POISSON = 0.3
MODULUS = 1.0 / (1.0 - POISSON**2)


def places(fine, stop, size, growth):
    """Return places from 0 to `size`, in steps of `fine` up to `stop` and growing ones after."""
    made = list(np.linspace(0.0, stop, max(2, round(stop / fine)) + 1))
    step = fine
    while made[-1] < size:
        step *= growth
        made.append(made[-1] + step)
    saved = np.array(made)
    beyond = saved > stop
    saved[beyond] = stop + (saved[beyond] - stop) * (size - stop) / (saved[-1] - stop)
    saved[-1] = size
    return saved


def on_a_block(law, program, fine, fine_to, size, growth, layers):
    """Return a rigid sphere of radius 1 over a quarter of a block of modulus 1.

    Parameters
    ----------
    law, program : between the two, and of the height of the sphere
    fine, fine_to, growth : size of cells near the contact, how far they reach, growth beyond
    layers : fine ones below the surface
    size : of the block
    """
    wide = places(fine, fine_to, size, growth)
    high = places(fine, layers * fine, size, growth)
    shares = np.append(0.0, 1.0 - high[-2::-1] / size)
    cells = (wide.size - 1, high.size - 1)
    mesh = rectangle(size, size, cells, (0.0, -size), wide / size, shares)
    element = Q1N2(reduced=True, contact_points=3)
    ball = RigidSphere((0.0, 1.0 + law.gap_eq, 0.0), 1.0)
    return Solid(
        [SweptBody(mesh, wide, element, NeoHookean(1.0, POISSON))],
        [Contact(Boundary(0, "top"), ball, law)],
        [
            Fixed(Boundary(0, "bottom"), (0, 1, 2)),
            Fixed(Boundary(0, "left"), (0,)),
            Fixed(Boundary(0, "back"), (2,)),
            Driven(Rigid(0), 1, program),
        ],
        readings=Readings(displacement=3, support=True),
        dimensionless=True,
    )


def hertz(cells, *, radius=0.025, law_over_approach=0.1, size=12.0, steps=8):
    """Return what a sphere does that is pressed as deep as Hertz says for a radius.

    Radius and force are compared with each other: both know less of the block's size than the
    approach does. The radius is that of the pressure; the place up to which the gap is within reach
    of the law lies farther out, by the length of the law over the approach to the power 2/3. Cells
    become finer everywhere at once: their growth away from the contact, and the fine layers.

    Parameters
    ----------
    cells : on the radius of contact
    radius, size : of contact, over the sphere's; and of the block, over that of contact
    law_over_approach : length of the normal law over the approach of Hertz
    """
    strength, length = 0.03, law_over_approach * radius**2
    law = LennardJones.from_strength(strength, strength * length, adhesive=False)
    down = Program((0.0, 1.0), (0.0, -(radius**2)))
    solid = on_a_block(
        law, down, radius / cells, 1.5 * radius, size * radius, 1.0 + 2.4 / cells, 0.75 * cells
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=steps), t_span=(0.0, 1.0))
    area = 4.0 * float(run.data["nominal_area"].values[-1])
    known = run.data["normal_traction"].values[-1]
    share = known * Problem(solid.assembled()).passes[0].own.areas.ravel()
    square = sum(run.data[f"surface_{axis}"].values[-1] ** 2 for axis in "xz")
    # of Hertz' pressure the mean square distance is two fifths of that of the edge
    found = math.sqrt(2.5 * float((share * square).sum() / share.sum()))
    force = 4.0 * abs(float(run.data["force_y"].values[-1]))
    return {
        "cells_on_radius": cells,
        "law_over_approach": law_over_approach,
        "block_over_radius": size,
        "unknowns": run.stats["unknowns"],
        "radius": found / radius,
        "radius_where_near": math.sqrt(area / math.pi) / radius,
        "force": force / (4.0 / 3.0 * MODULUS * radius**3),
        "force_error": force / (4.0 / 3.0 * MODULUS * found**3) - 1.0,
        "peak_pressure_error": float(known.max()) / (1.5 * force / (math.pi * found**2)) - 1.0,
        "audit_failed": [c.check for c in run.audit.failed],
        "iterations": run.stats["newton_iterations"],
    }


# between which places of the sphere its pull is largest, over the range of the attraction
AROUND = {0.5: (0.2, 0.7), 1.0: (0.4, 1.1), 2.0: (1.2, 1.9)}
WIDE = {0.5: 3.0, 1.0: 2.0, 2.0: 1.6}


def pull_off(tabor, cells, *, radius=0.05, size=12.0, steps=15):
    """Return the largest pull on a sphere that leaves the block.

    Parameters
    ----------
    tabor : Tabor number, 0.5, 1 or 2
    cells, radius : on the radius of contact at the pull-off of JKR, and that over the sphere's
    steps : across the largest pull; a third as many lead there
    """
    work = radius**3 * 8.0 * MODULUS / (9.0 * math.pi)
    reach = (work / MODULUS) ** (2.0 / 3.0) / tabor
    unit = LennardJones.from_strength(1.0, work)
    law = LennardJones.from_strength(unit.gap_eq / reach, work)
    # the steep side of the curve, which the paper's default takes straight
    law = LennardJones(law.hamaker, law.r0, gap_reg=0.75 * law.gap_eq)
    low, high = AROUND[tabor]
    # from a height at which both answers of strong attraction are found by one step
    up = Program((0.0, 0.25, 1.0), (reach, low * reach, high * reach))
    size, layers = size * radius, max(2.0, 0.5 * cells)
    growth = 1.0 + 2.0 / max(cells, 4)
    solid = on_a_block(law, up, radius / cells, WIDE[tabor] * radius, size, growth, layers)
    run = st.solve(
        solid, st.solids.Quasistatic(steps=4 * steps // 3), t_span=(0.0, 1.0), throw=False
    )
    pull = 4.0 * np.abs(run.data["force_y"].values)
    at = run.data["displacement"].values
    i = int(np.argmax(pull))
    inside = 0 < i < pull.size - 1
    largest = float(pull[i])
    if inside:
        a, b, c = np.polyfit(at[i - 1 : i + 2] - at[i], pull[i - 1 : i + 2], 2)
        largest = float(c - b * b / (4.0 * a))
    return {
        "tabor": tabor,
        "cells_on_radius": cells,
        "unknowns": run.stats["unknowns"],
        "pull_off": largest / (math.pi * work),
        "inside": inside,
        "status": run.status.name,
        "audit_failed": [c.check for c in run.audit.failed],
        "iterations": run.stats["newton_iterations"],
    }


def two_spheres(cells, law_over_approach, size, friction, past, penalty, radius):
    """Return half of two equal spheres of radius 2, pressed and then sheared; see `mindlin`."""
    strength, length = 0.015, law_over_approach * radius**2
    law = LennardJones.from_strength(strength, strength * length, adhesive=False)
    fine, growth, large = radius / cells, 1.0 + 2.4 / cells, size * radius
    wide = places(fine, 1.5 * radius, large, growth)
    high = places(fine, 0.75 * radius, large, growth)
    shares = np.append(0.0, 1.0 - high[-2::-1] / high[-1])
    both = np.concatenate([-wide[::-1], wide[1:]])
    along = (both - both[0]) / (both[-1] - both[0])
    count, tip = (both.size - 1, high.size - 1), law.gap_eq
    lower = rectangle(2.0 * large, large, count, (-large, -large), along, shares)
    upper = rectangle(2.0 * large, large, count, (-large, tip), along, 1.0 - shares[::-1])
    element, soft = Q1N2(contact_points=3), NeoHookean(1.0, 0.0)
    bodies = [
        SweptBody(lower, wide, element, soft, Dome((0.0, 0.0, 0.0), 2.0, -large)),
        SweptBody(upper, wide, element, soft, Dome((0.0, tip, 0.0), 2.0, tip + large)),
    ]
    sides, law_of_slip = (Boundary(0, "top"), Boundary(1, "bottom")), amontons(friction)
    stiff = penalty * Contact(*sides, law, law_of_slip).tangential_stiffness
    # E* is a half, and the shear modulus too
    slides = 3.0 * friction * (2.0 / 3.0 * radius**3) / (16.0 * radius) * 8.0
    top = Boundary(1, "top")
    return Solid(
        bodies,
        [Contact(*sides, law, law_of_slip, stiff, friction_from=0.5)],
        [
            Fixed(Boundary(0, "bottom"), (0, 1, 2)),
            *(Fixed(Boundary(body, "back"), (2,)) for body in (0, 1)),
            Driven(top, 1, Program((0.0, 0.5), (0.0, -(radius**2)))),
            Driven(top, 0, Program((0.5, 1.0), (0.0, past * slides))),
            Fixed(top, (2,)),
        ],
        readings=Readings(displacement=4, start=0.5, support=True),
        dimensionless=True,
    )


def mindlin(
    cells,
    *,
    law_over_approach=0.3,
    size=12.0,
    friction=0.3,
    steps=5,
    past=1.15,
    penalty=0.1,
    radius=0.025,
    solver=None,
    progress=None,
):
    """Return what two equal spheres do that are pressed and sheared, without a Poisson's ratio.

    Then nothing moves across the shear, and what Cattaneo and Mindlin take for granted holds.
    Radius and force are those of the pressure, as in `hertz`. The radius of stick is that of the
    shear: of Mindlin's traction the mean square distance, over Coulomb's bound, is that of Hertz'
    pressure times 1 - (c / a)^5. Points that stick are counted beside it.

    Parameters
    ----------
    cells, law_over_approach, size, radius : as in `hertz`
    friction : coefficient
    steps : of the load while sheared
    past : how far the supports go, over the way to full sliding of two half spaces
    penalty : tangential springs, in units of the default
    solver, progress : as in `Quasistatic` and `solve`; None takes what they take
    """
    solid = two_spheres(cells, law_over_approach, size, friction, past, penalty, radius)
    method = st.solids.Quasistatic(steps=2 * steps, solver=solver)
    run = st.solve(solid, method, t_span=(0.0, 1.0), progress=progress)
    data = run.data.isel(time=run.data["time"].values > 0.5 + 1e-9)
    press, shear = (2.0 * np.abs(data[f"force_{axis}"].values) for axis in "yx")
    part = shear / (friction * press)
    known = run.data["body_of_point"].values == 1
    areas = Problem(solid.assembled()).passes[0].own.areas.ravel()
    share = run.data["normal_traction"].values[-1][known] * areas
    away = np.stack([data[f"surface_{axis}"].values[:, known] for axis in "xz"])
    away[0] -= float((share * away[0, -1]).sum() / share.sum())
    square = (away * away).sum(axis=0)
    found = math.sqrt(2.5 * float((share * square[-1]).sum() / share.sum()))
    rubbed = np.abs(data["tangential_traction"].values[:, known]) * areas
    spread = 2.0 * (rubbed * square).sum(axis=1) / (0.4 * friction * press * found**2)
    stuck = np.clip(1.0 - spread, 0.0, 1.0) ** 0.2
    rest = np.cbrt(np.clip(1.0 - part, 0.0, None))
    slips = friction * press * 3.0 / (16.0 * found) * 8.0 * (1.0 - rest**2)
    counted = np.sqrt(2.0 * data["sticking_area"].values / math.pi) / found
    return {
        "cells_on_radius": cells,
        "law_over_approach": law_over_approach,
        "block_over_radius": size,
        "unknowns": run.stats["unknowns"],
        "radius": found / radius,
        "force_error": float(press[-1]) / (2.0 / 3.0 * found**3) - 1.0,
        "part": part.tolist(),
        "stuck": stuck.tolist(),
        "stuck_of_mindlin": rest.tolist(),
        "stuck_by_points": counted.tolist(),
        "displacement_over_mindlin": (data["displacement"].values / slips).tolist(),
        "press_changes": float(np.ptp(press) / press[0]),
        "audit_failed": [c.check for c in run.audit.failed],
        "iterations": run.stats["newton_iterations"],
    }
