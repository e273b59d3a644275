"""Rods that cannot start are refused before anything moves; those that may buckle are not."""

import numpy as np
import pytest

import stiction as st
from stiction.rods import (
    CircularSection,
    CosseratRod,
    Free,
    PointForce,
    Rods,
    RollingLeapfrog,
    RollingMidpoint,
    SpherePartner,
    Straight,
)

HEAD = """
[system]
type = "Rods"
{more}
[[system.rods]]
type = "CosseratRod"
elements = 10
section = {{ type = "CircularSection", radius = 0.02, young = 1e6 }}
centreline = {{ type = "Straight", start = [0.0, 0.0, 0.0], end = [0.5, 0.0, 0.0] }}
{rest}
[method]
type = "RollingLeapfrog"
[solve]
t_end = 0.01
save = 3
"""
SEARCH = 'search = { type = "ContactSearch" }'


def second(start, end):
    return f"""
[[system.rods]]
type = "CosseratRod"
elements = 10
section = {{ type = "CircularSection", radius = 0.02, young = 1e6 }}
centreline = {{ type = "Straight", start = {start}, end = {end} }}
"""


CROSSES = second([0.25, -0.25, 0.02], [0.25, 0.25, 0.02])
STANDS_INSIDE = second([0.25, 0.0, 0.0], [0.25, 0.0, 0.5])
SPHERE = """
[[system.partners]]
type = "SpherePartner"
centre = [0.25, 0.0, 0.05]
radius = {radius}
"""
CYLINDER = """
[[system.partners]]
type = "CylinderPartner"
start = [0.25, -1.0, 0.1]
end = [0.25, 1.0, 0.1]
radius = 0.0
"""
CONTACT = """
[[system.contacts]]
type = "RollingContact"
s1 = 0.25
s2 = 0.25
"""


@pytest.mark.parametrize(
    ("more", "rest", "words"),
    [
        ("", CROSSES, "rod 1 inside rod 2"),
        (SEARCH, CROSSES, "interpenetrate by 0.02 m"),
        ("", CROSSES + CONTACT, "interpenetrate by 0.02 m"),
        ("", STANDS_INSIDE, "rod 1 inside rod 2"),
        (SEARCH, STANDS_INSIDE, "interpenetrate"),
        ("", SPHERE.format(radius=0.05), "rod 1 inside partner 1"),
        (SEARCH, SPHERE.format(radius=0.05), "rod 1 and partner 1"),
        ("", SPHERE.format(radius=0.0), "SpherePartner.radius"),
        ("", SPHERE.format(radius=-1.0), "SpherePartner.radius"),
        ("", CYLINDER, "CylinderPartner.radius"),
    ],
)
def test_what_cannot_start_is_refused_in_words(stiction, tmp_path, more, rest, words):
    path = tmp_path / "case.toml"
    path.write_text(HEAD.format(more=more, rest=rest), encoding="utf-8")
    answer = stiction("run", str(path), "--no-figures")
    assert answer.code == 2, answer
    said = answer.out + answer.err
    assert words in said
    assert "Why: " in said
    assert "Try: " in said
    assert "Traceback" not in said


def straight(**more):
    line = Straight([0.0, 0.0, 0.0], [0.5, 0.0, 0.0])
    return CosseratRod(CircularSection(0.02, 1e6), line, elements=10, **more)


def test_loads_beyond_buckling_are_allowed_without_damping():
    section = CircularSection(0.02, 1e6)
    euler = np.pi**2 * section.bending_stiffness / (4.0 * 0.5**2)
    column = straight(right=Free(), loads=[PointForce([-3.0 * euler, 0.0, 1e-3])])
    run = st.solve(Rods([column]), RollingLeapfrog(fraction=0.03), (0.0, 0.5), save=51)
    assert run.audit.ok
    # the force across it alone would bend it by 3e-4 m
    assert np.abs(run.data.position.values[:, -1, 2]).max() > 2e-3


def test_the_midpoint_rule_refuses_partners_kindly():
    system = Rods([straight()], partners=[SpherePartner([0.0, 0.0, 1.0], 0.5)])
    with pytest.raises(st.ModelError, match=r"rigid partners(.|\n)*solve with RollingLeapfrog"):
        st.solve(system, RollingMidpoint(1e-4), (0.0, 0.01), save=3)


def test_a_rod_in_equilibrium_has_no_imbalance():
    run = st.solve(Rods([straight()]), RollingLeapfrog(), (0.0, 0.01), save=3)
    assert run.audit.ok
