"""Rods and strings without a compiler: the same events, and the numbers of compiled kernels.

Times are short: rods that touch and strings that roll let small differences grow.
"""

import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

import stiction as st
from stiction.numerics import jit
from stiction.rods import (
    BumpStrands,
    CircularSection,
    Clamped,
    ContactSearch,
    CosseratRod,
    CrossedRods,
    CylinderPartner,
    Driven,
    Free,
    LineForce,
    PlaneLeapfrog,
    PlanePartner,
    PointForce,
    PointMoment,
    RigidMotion,
    RodOnPlane,
    RollingContact,
    RollingLeapfrog,
    RollingMidpoint,
    RollingStrings,
    Sine,
    SpherePartner,
    Straight,
    equilibrium,
    follow_path,
)
from stiction.rods import driving_kernels as dk
from stiction.rods import rod_kernels as rk
from stiction.rods.contact import pairs
from stiction.rods.leapfrog import stepper_kernels as mk
from stiction.rods.midpoint import kernels as mid
from stiction.rods.strings import characteristics_kernels as wk
from stiction.rods.strings.state import Cubic, Pair, String, Wave

# of the largest entry
SAME = 1e-12
SCENARIOS = {
    "rods-braid": 0.004,
    "rods-crossed": 0.004,
    "rods-knot": 0.004,
    "rods-net": 0.005,
    "rods-on-rod": 0.01,
    "rods-plucked": 0.003,
    "rods-slip": 0.004,
    "rod-on-plane": 0.06,
    "string-breakdown": 5.0,
    "string-figure-2": 5.0,
    "string-offset": 5.0,
    "string-periodic": 5.0,
    "string-plucked": 1.0,
    "string-symmetric": 5.0,
}


def both(run):
    """Return what `run` gives plain and compiled."""
    found = []
    for mode in ("plain", "compiled"):
        with jit.running(mode):
            found.append(run())
    return found


def check_same(plain, compiled):
    """Check two runs against each other."""
    assert (plain.status, plain.reason) == (compiled.status, compiled.reason)
    assert plain.stats == compiled.stats
    for column in ("contact", "before", "after", "kind"):
        assert list(getattr(plain.event_log, column)) == list(getattr(compiled.event_log, column))
    check_numbers(plain.event_log.time, compiled.event_log.time, "time of events")
    assert plain.variables.keys() == compiled.variables.keys()
    for name, wanted in compiled.variables.items():
        check_numbers(plain.variables[name].values, wanted.values, name)
    for name in ("kinetic", "stored", "external_work", "friction_heat"):
        check_numbers(getattr(plain.energy, name), getattr(compiled.energy, name), name)


def check_numbers(found, wanted, name):
    """Check numbers, relative to the largest."""
    found, wanted = np.asarray(found, dtype=float), np.asarray(wanted, dtype=float)
    size = float(np.nanmax(np.abs(wanted), initial=0.0)) if wanted.size else 0.0
    assert_allclose(found, wanted, rtol=0.0, atol=SAME * size, equal_nan=True, err_msg=name)


def coarse(method):
    """Return the method with half the stability limit as step, if it has no step of its own."""
    if isinstance(method, RollingLeapfrog) and method.step is None:
        return RollingLeapfrog(fraction=0.5)
    return method


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios(name):
    scenario = st.read_scenario(name)
    method = coarse(scenario.method)
    if name.startswith("string"):
        # longer steps; a corner comes in every step or two where there are any
        method = dataclasses.replace(method, step=5e-3 if name == "string-plucked" else 2e-2)
    plain, compiled = both(
        lambda: st.solve(scenario.system, method, (0.0, SCENARIOS[name]), save=6, throw=False)
    )
    check_same(plain, compiled)


def test_ends_and_partners():
    """A rod falls with an end first on a clamped one, beside it a driven drum and a sphere."""
    section, ends = CircularSection(0.02, 1e6), {"left": Free(), "right": Free()}
    throw = [RigidMotion((0.0, 0.0, -1.0), (0.0, 2.0, 0.0))]
    rods = [
        CosseratRod(section, Straight((-0.2, 0, 0), (0.2, 0, 0)), elements=10, left=Clamped()),
        CosseratRod(
            section, Straight((0, 0, 0.042), (0, 0.1, 0.3)), elements=8, motion=throw, **ends
        ),
        CosseratRod(
            section,
            Straight((0.4, -0.1, 0.032), (0.4, 0.1, 0.06)),
            elements=8,
            motion=throw,
            **ends,
        ),
    ]
    partners = [
        CylinderPartner((0.3, 0, 0), (0.5, 0, 0), 0.01, angular_velocity=(5.0, 0, 0), rise=1e-3),
        SpherePartner((0.0, 0.2, -0.05), 0.03),
        PlanePartner((0.0, 0.0, -0.1)),
    ]
    search = ContactSearch(friction=st.Coulomb(0.3))
    system = st.Rods(rods, search=search, partners=partners)
    plain, compiled = both(
        lambda: st.solve(system, RollingLeapfrog(fraction=0.5), (0.0, 0.006), save=4)
    )
    check_same(plain, compiled)
    assert "close" in compiled.event_log.kind
    assert np.nanmax(compiled.data.at_end.values) > 0.0


def test_events_of_scenarios_are_met():
    """The times above are long enough for slip, impacts, corners and the end of a model."""
    kinds = set()
    for name in ("rods-slip", "rods-on-rod", "rods-net", "rod-on-plane"):
        scenario = st.read_scenario(name)
        run = st.solve(scenario.system, coarse(scenario.method), (0.0, SCENARIOS[name]), save=2)
        kinds |= set(run.event_log.kind)
    assert {"close", "open", "slip", "stick"} <= kinds


SECTION = CircularSection(0.02, 1e6, density=1000.0)


def rod(start, end, elements=10, **more):
    """Return a straight rod with free ends."""
    ends = {"left": Free(), "right": Free()}
    line = Straight(start, end)
    return CosseratRod(SECTION, line, elements=elements, **{**ends, **more})


def test_rods_with_everything_that_drives_and_damps_them():
    loads = [
        LineForce([0.0, 0.0, -1.0]),
        PointForce([1.0, 0.0, 0.0], at=0.5, times=[0.0, 0.01], factors=[0.0, 1.0]),
        PointMoment([0.0, 0.1, 0.0], at=0.5),
    ]
    clamp = Driven(velocity=(0.0, 1.0, 2.0), angular_velocity=(3.0, 4.0, 0.0), rise=0.005)
    one = rod(
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        20,
        left=clamp,
        loads=loads,
        drag=2.0,
        rotational_drag=0.01,
        internal_damping=1e-5,
    )
    two = rod([0.5, -0.5, 0.045], [0.5, 0.5, 0.045], 20, motion=[RigidMotion([0.0, 0.0, -3.0])])
    touch = RollingContact(
        0.5, 0.5, friction=st.Coulomb(mu=0.3), restitution=0.5, tangential_restitution=0.2
    )
    system = st.Rods(rods=(one, two), contacts=(touch,), gravity=(0.0, 0.0, -9.81))
    plain, compiled = both(
        lambda: st.solve(system, RollingLeapfrog(fraction=0.5), (0.0, 0.02), save=5)
    )
    check_same(plain, compiled)
    assert "bounce" in list(compiled.event_log.kind)


def test_rods_side_by_side_have_a_line_contact():
    one = rod([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], left=Clamped(), right=Clamped())
    two = rod([0.1, 0.0, 0.041], [0.9, 0.02, 0.041], motion=[RigidMotion([0.0, 0.0, -2.0])])
    system = st.Rods(rods=(one, two), search=ContactSearch(st.Coulomb(mu=0.3), max_contacts=40))
    plain, compiled = both(
        lambda: st.solve(system, RollingLeapfrog(fraction=0.5), (0.0, 0.002), save=3)
    )
    check_same(plain, compiled)
    assert "close" in list(compiled.event_log.kind)


@pytest.mark.parametrize("angle", [1.0, 0.5])
def test_midpoint(angle):
    system = CrossedRods(angle=angle, elements=20, drag=0.5)
    plain, compiled = both(lambda: st.solve(system, RollingMidpoint(1e-3), (0.0, 5e-3), save=3))
    check_same(plain, compiled)


@pytest.mark.parametrize("friction", [None, st.Coulomb(mu=0.1)])
def test_a_rod_on_a_plane(friction):
    thrown = rod(
        [0.0, -0.25, 0.02], [0.0, 0.25, 0.03], 6, motion=[RigidMotion([0.5, 0.0, -0.5], [5, 0, 0])]
    )
    system = RodOnPlane(thrown, friction=friction, restitution=0.4, gravity=(0.0, 0.0, -9.81))
    plain, compiled = both(lambda: st.solve(system, PlaneLeapfrog(), (0.0, 0.02), save=4))
    check_same(plain, compiled)
    assert "bounce" in compiled.event_log.kind


@pytest.mark.parametrize("ends", ["fixed", "periodic"])
def test_strands(ends):
    start = RollingStrings(ends=ends, u0=Sine(2, 0.5), G1=0.4, s1=2.0, s2=2.5, drag=0.1, nodes=21)
    method = BumpStrands(bump_width=0.1)
    plain, compiled = both(lambda: st.solve(start, method, (0.0, 1.0), save=4))
    check_same(plain, compiled)


def test_statics():
    column = CosseratRod(
        CircularSection(0.01, 1e7, density=1000.0),
        Straight([0.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
        elements=6,
        left=Clamped(),
        right=Free(),
        loads=[PointForce([0.05, 0.0, -0.3], at=1.0)],
    )
    plain, compiled = both(lambda: equilibrium(column, steps=2))
    for name in ("position", "frame", "energy"):
        check_numbers(getattr(plain, name), getattr(compiled, name), name)
    plain, compiled = both(lambda: follow_path(column, arc=0.1, max_points=4).tip)
    check_numbers(plain, compiled, "tip")


# ---- single kernels, where plain ones have a body of their own


def numbers(size, seed=0):
    """Return a random state and a table of materials, a joint of them without stiffness."""
    rng = np.random.default_rng(seed)
    q = np.array([1.0, 0.0, 0.0, 0.0])[:, None] + 0.05 * rng.normal(size=(4, size))
    q /= np.linalg.norm(q, axis=0)
    r = np.cumsum(np.abs(rng.normal(size=(3, size))), axis=1)
    mat = np.abs(rng.normal(size=(rk.MATERIAL_ROWS, size)))
    rod = rk.material_of(mat)
    rod.inverse_length[:] = 1.0 / rod.length
    for row in (rod.shear, rod.axial, rod.bend, rod.twist, rod.free, rod.turns):
        row[size // 2] = 0.0
    return r, q, rng.normal(size=(3, size)), rng.normal(size=(3, size)), mat, rng


def called(runs, *arguments):
    """Return what forms of a kernel return and leave in their arguments."""
    found = []
    with np.errstate(all="ignore"):
        for run in runs:
            own = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
            value = run(*own)
            found.append([value, *[a for a in own if isinstance(a, np.ndarray)]])
    return found


def check_kernel(kernel, *arguments, body=True):
    """Check that all forms do the same to the last bit, but for the sign of zero.

    Parameters
    ----------
    body : also run what is compiled as plain Python, which tests without a compiler see alone
    """
    runs = [kernel.plain, kernel, *([kernel.py_func] if body else [])]
    for plain, *others in zip(*called(runs, *arguments), strict=True):
        for other in others:
            if plain is None:
                assert other is None
            else:
                np.testing.assert_array_equal(plain, other)


def empty(rows, size):
    """Return rows of something."""
    return np.full((rows, size), 7.0)


@pytest.mark.parametrize("wide", [0.0, 1.5])
@pytest.mark.parametrize("size", [2, 3, 12])
def test_elastic_forces(size, wide):
    r, q, _, _, mat, rng = numbers(size)
    # joints beyond the reach of the series
    q += wide * rng.normal(size=q.shape)
    q /= np.linalg.norm(q, axis=0)
    scratch = [empty(3, size) for _ in range(4)]
    with jit.running("compiled"):
        check_kernel(rk.elastic, r, q, mat, *scratch)
        check_kernel(rk.stored_energy, r, q, mat)


@pytest.mark.parametrize("h", [0.1, 3.0])
def test_motion_without_forces(h):
    r, q, v, p, mat, rng = numbers(12)
    f, t, drag = (
        rng.normal(size=(3, 12)),
        rng.normal(size=(3, 12)),
        np.abs(rng.normal(size=(3, 12))),
    )
    f[:, 4], t[:, 4] = 0.0, 0.0
    check_kernel(rk.drift, r, q, v, p, h)
    check_kernel(rk.kick, v, p, f, t, mat, h)
    check_kernel(rk.damped_kick, q, v, p, f, t, mat, drag, h)
    check_kernel(rk.kinetic_energy, q, v, p, mat)
    check_kernel(rk.copy, r, empty(3, 12))
    check_kernel(mk.has_moved, r, r + h, 1.0)
    check_kernel(mk.has_moved, r, r + h, 9.0)
    check_kernel(dk.power, q, v, p, f, t)
    check_kernel(mid.turned, q, rng.normal(size=(12, 6)), h, empty(4, 12))
    check_kernel(mid.turned, q, np.zeros((12, 6)), h, empty(4, 12))


def test_what_drives_and_damps():
    r, q, v, p, mat, rng = numbers(12)
    retard = np.abs(rng.normal(size=12))
    retard[3] = 0.0
    f, t = rng.normal(size=(3, 12)), rng.normal(size=(3, 12))
    spare = (empty(3, 12), empty(3, 12))
    check_kernel(dk.internal_damping, r, q, v, p, mat, retard, *spare)
    check_kernel(dk.add_damping, r, q, v, p, 0.1, mat, retard, f, t, *spare, empty(10, 12))
    loads = dk.Load.table(3)
    loads["value"] = rng.normal(size=(3, 3))
    loads["slot"], loads["is_moment"] = (2, 2, 5), (0, 1, 0)
    loads["last"] = 0, 3, 3
    times, factors = np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 1.0])
    for now in (-1.0, 0.4, 1.5, 3.0):
        given = (f, t, rng.normal(size=(3, 12)), loads, times, factors, now)
        check_kernel(dk.add_loads, *given, *spare)


def test_what_is_not_a_number_stays_so_in_both():
    r, q, v, p, mat, _ = numbers(12)
    r[0, 3], v[1, 5], p[2, 7], p[0, 8] = np.nan, np.inf, np.nan, np.inf
    scratch = [empty(3, 12) for _ in range(4)]
    check_kernel(rk.elastic, r, q, mat, *scratch)
    check_kernel(rk.drift, r, q, v, p, 0.1)
    check_kernel(rk.kinetic_energy, q, v, p, mat)
    check_kernel(rk.kinetic_energy, q, 1e200 * v, p, mat)
    check_kernel(mk.has_moved, r, np.zeros((3, 12)), 1.0)


@pytest.mark.parametrize("size", [0, 3, 10**6, 10**12, 2**62])
def test_cells_and_buckets_wrap_alike(size):
    rng = np.random.default_rng(1)
    for level, x, y, z in rng.integers(-size, size + 1, size=(20, 4)).tolist():
        # only compiled integers wrap
        check_kernel(pairs.bucket_of, abs(level) % 48, x, y, z, (1 << 20) - 1, body=size < 4)
    for x in (0.3, -0.3, 1e18, -1e18, 1e30, np.nan, np.inf, -np.inf):
        check_kernel(pairs.cell_of, x, body=abs(x) < 1.0)


def test_many_cubics_at_once():
    rng = np.random.default_rng(2)
    for stuck in (False, True):
        x = np.cumsum(rng.uniform(0.5, 1.0, size=(20, 4)).ravel()).reshape(20, 4)
        if stuck:
            x[7] = x[7, 0]
        y, found = rng.normal(size=(20, 4)), []
        for run in (wk.extend_many.plain, wk.extend_many, wk.extend_many.py_func):
            pair = Pair(String.table(2), Wave.table(4), Cubic.table((4, 30)))
            pair.waves["count"] = 2
            run(1, x, y, pair)
            found.append(pair)
        plain, *others = found
        assert plain.waves["count"].tolist() == [2, 22, 2, 2]
        for other in others:
            np.testing.assert_array_equal(plain.waves, other.waves)
            for name in Cubic.fields_type.names:
                np.testing.assert_array_equal(plain.cubics[name], other.cubics[name])


def test_a_run_that_blows_up_ends_alike():
    system = CrossedRods(elements=20, half_wave=(0.0, 1e50, 1e50), spin=1e50)
    plain, compiled = both(
        lambda: st.solve(system, RollingLeapfrog(fraction=0.5), (0.0, 0.01), save=3, throw=False)
    )
    assert (plain.status, plain.reason) == (compiled.status, compiled.reason)
    assert plain.status is not st.Status.SOLVED


def test_no_compiler_is_needed():
    code = (
        "import sys, stiction as st\n"
        "s = st.read_scenario('rods-net')\n"
        "st.solve(s.system, s.method, (0.0, 2e-4), save=2)\n"
        "s = st.read_scenario('rod-on-plane')\n"
        "st.solve(s.system, s.method, (0.0, 2e-4), save=2)\n"
        "s = st.read_scenario('string-offset')\n"
        "st.solve(s.system, s.method, (0.0, 2e-2), save=2)\n"
        "print('numba' in sys.modules, 'llvmlite' in sys.modules)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "STICTION_KERNELS": "plain"},
    )
    assert run.stdout.split() == ["False", "False"]
