"""What an audit says does not depend on the times that are saved, nor on a kill between them.

A run that saves its ends alone is compared with one that saves every step: value, limit and
verdict of each check are the same, unless its note says that it reads saved states.
"""

import pytest
from memories import Memory

import stiction as st
from stiction.rods import (
    BumpStrands,
    Characteristics,
    CircularSection,
    ContactSearch,
    CosseratRod,
    CylinderPartner,
    Free,
    LineForce,
    PlaneLeapfrog,
    PlanePartner,
    RigidMotion,
    RodOnPlane,
    RollingContact,
    RollingMidpoint,
    RollingStrings,
    SineVelocity,
    Straight,
    Turned,
)

RADIUS = 0.02
SECTION = CircularSection(RADIUS, 1e6, density=1000.0)


def crossed(**more):
    """Return two crossed rods that are thrown hard."""
    thrown = {"half_wave": (0.0, 2.0, 4.0), "whole_wave": (0.0, 3.0, 0.0), "spin": 10.0}
    return st.CrossedRods(elements=20, **{**thrown, **more})


def falling():
    """Return a rod that falls on a plane, which a search finds."""
    line = Straight((-0.2, 0.0, RADIUS + 1e-3), (0.2, 0.0, RADIUS + 4e-3))
    down = [RigidMotion((0.1, 0.0, -0.3))]
    body = CosseratRod(SECTION, line, elements=8, left=Free(), right=Free(), motion=down)
    search = ContactSearch(friction=st.Coulomb(0.3), self_contact=False, max_contacts=32)
    return st.Rods([body], search=search, gravity=(0.0, 0.0, -9.81), partners=[PlanePartner()])


def dragged():
    """Return a rod that a cylinder drags along beside an end that slides."""
    slides = Turned((1.0, 0.0, 0.0), (0.0, 1.0), (0.0, 0.0), slides=True)
    line = Straight((0.0, 0.0, 2.0 * RADIUS), (1.0, 0.0, 2.0 * RADIUS))
    ends = {"right": slides, "loads": [LineForce((0.0, 0.0, -20.0))]}
    held = CosseratRod(SECTION, line, elements=10, **ends)
    belt = CylinderPartner((0.9, -0.5, 0.0), (0.9, 0.5, 0.0), RADIUS, velocity=(0.5, 0.0, 0.0))
    touch = RollingContact(0.9, 0.5, first=1, second=2, friction=st.Coulomb(0.5))
    return st.Rods([held], [touch], partners=[belt])


def on_plane():
    """Return a rod that slides on a plane; impacts would cut its steps."""
    line = Straight((0.0, -0.25, RADIUS), (0.0, 0.25, RADIUS))
    thrown = [RigidMotion((0.5, 0.0, 0.0)), SineVelocity(2, (0.2, 0.0, 0.0))]
    free = CosseratRod(SECTION, line, elements=8, left=Free(), right=Free(), motion=thrown)
    return RodOnPlane(free, friction=st.Coulomb(0.3), gravity=(0.0, 0.0, -9.81))


def chain(**more):
    """Return three masses that are shaken, stick and slip."""
    given = {"law": st.StaticKinetic(0.3, 0.2), "load": st.chains.Sine(9.0, 1.0)}
    return st.Chain(mass=1.0, n=3, stiffness=20.0, **{**given, **more})


# mu vanishes at 6 m/s, where it begins to push
PUSHED = {"law": st.UserFriction(lambda v: 0.3 - 0.05 * v, lambda v: -0.05), "v0": 6.1}
STRINGS = {"s1": 1.2, "s2": 1.7, "G1": 0.6, "G2": 0.6}

CASES = {
    "rods": (crossed(), st.RollingLeapfrog(), 0.005),
    "rods-slip": (crossed(friction=st.Coulomb(0.2)), st.RollingLeapfrog(), 0.005),
    "rods-midpoint": (crossed(), RollingMidpoint(4e-4), 0.008),
    "rods-search": (falling(), st.RollingLeapfrog(), 0.01),
    "rods-slides": (dragged(), st.RollingLeapfrog(), 0.002),
    "rod-on-plane": (on_plane(), PlaneLeapfrog(), 0.01),
    "strings": (RollingStrings(**STRINGS), Characteristics(0.05), 6.0),
    "strands": (RollingStrings(**STRINGS), BumpStrands(0.05), 6.0),
    "chain": (chain(), st.EventDriven(), 2.0),
    "chain-pushes": (chain(**PUSHED), st.EventDriven(), 0.5),
    "theta": (chain(), st.ThetaStepper(1e-2), 2.0),
    "theta-pushes": (chain(**PUSHED), st.ThetaStepper(1e-2), 0.5),
    "smoothed": (chain(), st.chains.RegularizedTheta(1e-3, 0.0, 1e-2), 0.3),
    "creep": (chain(law=st.laws.LuGre(30.0, 3.0, 0.04, 0.15, 0.1, 0.1)), st.chains.Radau(), 0.3),
    "quasistatic": (chain(load=st.Ramp(2.0), law=st.Coulomb(0.3)), st.Quasistatic(), 4.0),
    "flow": (st.BeltOscillator(mu0=1.0, alpha=0.1, belt_speed=0.5), st.EventDriven(), 5.0),
    "fault": (st.faults.SpringSlider(), st.faults.Cycles(), 1e9),
}

# of these kernels take so many steps at once that a short run leaves no checkpoint
LONGER = {
    "chain-pushes": (chain(**PUSHED), st.EventDriven(max_step=1e-4), 0.5),
    "theta": (chain(), st.ThetaStepper(1e-4), 20.0),
    "theta-pushes": (chain(**PUSHED), st.ThetaStepper(1e-5), 0.5),
    "smoothed": (chain(), st.chains.RegularizedTheta(1e-4, 0.0, 1e-2), 3.0),
}


def solved(name, save, checkpoint=None):
    """Return the run of a case, of a longer one where it is to be interrupted."""
    longer = LONGER if checkpoint is not None else {}
    system, method, t_end = longer.get(name, CASES[name])
    given = {} if checkpoint is None else {"checkpoint": checkpoint}
    return st.solve(system, method, (0.0, t_end), save=save, throw=False, **given)


def lines(run):
    """Return what a run says of each check, but for those whose notes name saved states."""
    reported = [check for check in run.audit if "saved" not in check.note]
    return [(c.check, c.ok, c.value, c.limit, c.time) for c in reported]


@pytest.mark.parametrize("name", CASES)
def test_saved_times_do_not_matter(name):
    few = solved(name, 2)
    rows = int(few.stats["steps"]) + 1 if "rod" in name or name == "strands" else 101
    many = solved(name, rows)
    reported, dense = lines(few), lines(many)
    assert [line[:2] for line in reported] == [line[:2] for line in dense]
    for (check, ok, *one), (_, _, *other) in zip(reported, dense, strict=True):
        for a, b, what in zip(one, other, ("value", "limit", "time"), strict=True):
            # a part of the largest energy that is saved; a time at which nothing failed may be any
            if (check, what) == ("friction_dissipates", "limit") or (what == "time" and ok):
                continue
            assert (a is None) == (b is None), (check, what)
            if a is not None:
                assert a == pytest.approx(b, rel=1e-6, abs=1e-9), (check, what)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("creep", "flow")])
def test_a_run_that_goes_on_says_the_same(name):
    counted = Memory()
    whole = solved(name, 21, counted)
    again = solved(name, 21, Memory(counted.pages[len(counted.pages) // 2]))
    reported = [(c.check, c.ok, c.value, c.limit, c.time, c.note) for c in whole.audit]
    assert [(c.check, c.ok, c.value, c.limit, c.time, c.note) for c in again.audit] == reported
