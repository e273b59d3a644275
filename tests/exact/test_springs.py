"""Helical springs by Kirchhoff's theory: stiffness, buckling; unequal and composite sections."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from scipy.special import jv

import stiction as st
from stiction.exact import rods as exact
from stiction.rods import (
    CircularSection,
    CosseratRod,
    Free,
    GivenSection,
    Helix,
    PointForce,
    PointMoment,
    Straight,
    Turned,
    equilibrium,
)
from stiction.rods.statics import StaticRod

RADIUS, PITCH, UP = 0.01, 0.004, np.array([0.0, 0.0, 1.0])
WIRE = CircularSection(0.0005, 2e11, 0.3)


def extrapolated(coarse, fine):
    """Remove the error of second order from results on n and 2 n elements."""
    return (4.0 * fine - coarse) / 3.0


def spring(turns, each, pitch=PITCH, **more):
    helix = Helix([0, 0, 0], UP, radius=RADIUS, pitch=pitch, turns=turns)
    elements = round(each * turns)
    return CosseratRod(WIRE, helix, elements=elements, natural_curvature=None, **more)


def by_wrench(turns, each, pitch, force, moment):
    """Return extension and rotation by a force along the axis and a moment about it."""
    ends, elements = [], each * turns
    # moments act on the last frame, half an element before the end: there the turns are complete
    helix = Helix([0, 0, 0], UP, RADIUS, pitch, turns * elements / (elements - 0.5))
    arm = helix.points(2)[-1] * [1.0, 1.0, 0.0]
    for sign in (0.5, -0.5):
        # the force acts on the end node, off the axis: a moment moves it to the axis
        pair = sign * (moment * UP - force * np.cross(arm, UP))
        loads = [PointForce(sign * force * UP), PointMoment(pair)]
        rod = CosseratRod(
            WIRE, helix, elements=elements, right=Free(), natural_curvature=None, loads=loads
        )
        ends.append(equilibrium(rod, steps=1))
    frames = [Rotation.from_quat(end.frame[-1][[1, 2, 3, 0]]) for end in ends]
    turn = (frames[0] * frames[1].inv()).as_rotvec()
    # of the point on the axis that moves with the end
    shift = ends[0].position[-1] - ends[1].position[-1] - np.cross(turn, arm)
    return np.array([shift[2], turn[2]])


@pytest.mark.parametrize(("turns", "pitch"), [(1, PITCH), (3, -4 * PITCH), (10, PITCH)])
def test_compliance_of_a_free_end(turns, pitch):
    """Axial compliance, rotation, and the coupling of both: 1 % at 32 elements a turn."""
    wire = {"axial": WIRE.axial_stiffness, "shear": WIRE.shear_stiffness}
    bending, twist = WIRE.bending_stiffness, WIRE.twist_stiffness
    wanted = exact.helix_compliance(RADIUS, pitch, turns, bending=bending, twist=twist, **wire)
    unit = 1e-3 * np.array([bending / RADIUS**2, bending / RADIUS]) / turns
    found = [
        np.column_stack([by_wrench(turns, n, pitch, *load) for load in np.diag(unit)]) / unit
        for n in (16, 32)
    ]
    errors = [np.abs(one / wanted - 1.0) for one in found]
    assert errors[1].max() < 0.01
    assert np.abs(np.log2(errors[0] / errors[1]) - 2.0).max() < 0.1
    assert extrapolated(*found) == pytest.approx(wanted, rel=1e-3)


def test_limit_of_the_formula():
    """At a small pitch the stiffness is G d^4 / (8 D^3 n); with EI = GJ nothing couples."""
    wire = {"bending": WIRE.bending_stiffness, "twist": WIRE.twist_stiffness}
    found = exact.helix_compliance(RADIUS, 1e-6 * RADIUS, 5.0, **wire)
    simple = 8.0 * (2.0 * RADIUS) ** 3 * 5.0 / (WIRE.shear_modulus * (2.0 * WIRE.radius) ** 4)
    assert found[0, 0] == pytest.approx(simple, rel=1e-9)
    even = exact.helix_compliance(RADIUS, PITCH, 5.0, bending=1.0, twist=1.0)
    assert abs(even[0, 1]) < 1e-12 * np.sqrt(even[0, 0] * even[1, 1])


def clamped_stiffness(turns):
    """Return (6, 6) forces and moments at the end node by its displacement and rotation.

    Integral over the wire of the compliance of its sections, each a lever arm away from the end.
    """
    t, weight = np.polynomial.legendre.leggauss(20)
    angle = np.add.outer(2.0 * np.pi * np.arange(turns), np.pi * (1.0 + t)).ravel()
    rise = PITCH / (2.0 * np.pi)
    length = np.pi * np.hypot(RADIUS, rise) * np.tile(weight, turns)
    end = np.array([RADIUS, 0.0, PITCH * turns])
    section = np.diag([*[1.0 / WIRE.shear_stiffness] * 2, 1.0 / WIRE.axial_stiffness])
    bends = np.diag([*[1.0 / WIRE.bending_stiffness] * 2, 1.0 / WIRE.twist_stiffness])
    total = np.zeros((6, 6))
    for a, part_length in zip(angle, length, strict=True):
        along = np.array([-RADIUS * np.sin(a), RADIUS * np.cos(a), rise])
        normal = np.array([np.cos(a), np.sin(a), 0.0])
        along /= np.linalg.norm(along)
        frame = np.column_stack([normal, np.cross(along, normal), along])
        arm = end - [RADIUS * np.cos(a), RADIUS * np.sin(a), rise * a]
        lever = np.cross(arm, np.eye(3)).T
        force, moment = np.hstack([np.eye(3), np.zeros((3, 3))]), np.hstack([lever, np.eye(3)])
        for part, stiff in ((force, section), (moment, bends)):
            total += part_length * part.T @ frame @ stiff @ frame.T @ part
    return np.linalg.inv(total)


@pytest.mark.parametrize("turns", [1, 10])
def test_pull_and_turn_a_guided_end(turns):
    """The force and the moment that an end feels where it is pulled, and where it is turned."""
    wanted = clamped_stiffness(turns)[np.ix_([2, 5], [2, 5])]
    pull, angle = 1e-4 * wanted[0, 0] * RADIUS, 1e-4
    found = []
    for each in (16, 32):
        slide, turn = (
            Turned(UP, [0.0, 1.0], [0.0, last], slides=last == 0.0) for last in (0.0, angle)
        )
        rod = spring(turns, each, right=slide, loads=[PointForce(pull * UP)])
        pulled, turned = (
            equilibrium(one, steps=1) for one in (rod, spring(turns, each, right=turn))
        )
        both = pulled.clamp_force.sum(axis=0)
        assert both == pytest.approx(-pull * UP, abs=1e-6 * pull)
        rise = pulled.position[-1, 2] - PITCH * turns
        found.append(
            np.array(
                [
                    [pull / rise, turned.clamp_force[1, 2] / angle],
                    [pulled.clamp_moment[1, 2] / rise, turned.clamp_moment[1, 2] / angle],
                ]
            )
        )
    assert np.abs(found[1] / wanted - 1.0).max() < 0.01
    assert extrapolated(*found) == pytest.approx(wanted, rel=1e-3)


def compressed(turns, height, part):
    """Return a helix of radius 1 compressed to `part` of its height, and its disturbances.

    Its ends do not rotate, and it remains a helix: as its length and its number of turns do not
    change, its radius grows. Bending stiffness 1, twist stiffness 1 / 1.3, no stretch or shear.

    Returns
    -------
    radius, pitch : of the compressed helix
    natural, present : (curvature, twist)
    transfer : (12, 12) matrix from start to end of a small disturbance in the frame of the wire:
        displacement eta, rotation phi, force and moment. With strain u, force n and moment m

            eta' = phi x v - u x eta,   phi' = B^-1 dm - u x phi,
            dn' = n x B^-1 dm - u x dn,   dm' = m x B^-1 dm - u x dm - v x dn .
    """
    length = np.hypot(2.0 * np.pi * turns, height)
    radius = np.sqrt(length**2 - (part * height) ** 2) / (2.0 * np.pi * turns)
    rate = 2.0 * np.pi * turns / length
    natural, present = (
        rate**2 * np.array([r, h / (2.0 * np.pi * turns)])
        for r, h in ((1.0, height), (radius, part * height))
    )
    bend, twist = (present - natural) * [1.0, 1.0 / 1.3]
    # directions: normal, binormal, along the wire; the axis of the helix is (0, cos, sin)
    axis = np.array([0.0, *present / rate])
    force = (twist * axis[1] - bend * axis[2]) / radius * axis
    u, m, n, v = (
        np.cross(x, np.eye(3)).T
        for x in ([0.0, *present], [0.0, bend, twist], force, [0.0, 0.0, 1.0])
    )
    soft, zero = np.diag([1.0, 1.0, 1.3]), np.zeros((3, 3))
    rates = np.block(
        [
            [-u, -v, zero, zero],
            [zero, -u, zero, soft],
            [zero, zero, -u, n @ soft],
            [zero, zero, -v, m @ soft - u],
        ]
    )
    return radius, part * height / turns, natural, present, expm(rates * length)


def haringx(height):
    """Return the compression, over the height, at which a close-coiled helix of radius 1 buckles.

    Between clamps, with G / E = 1 / 2.6. Source: Haringx, Philips Res. Rep. 3 (1948) 401.
    """
    ratio = 1.0 / 2.6
    square = (1.0 - ratio) / (0.5 + ratio) * (4.0 * np.pi / height) ** 2
    return (1.0 - np.sqrt(1.0 - square)) / (2.0 * (1.0 - ratio))


def least_reaction(turns, height, compression):
    """Return the least change of the end by a unit change of force and moment at the start."""
    *_, transfer = compressed(turns, height, 1.0 - compression)
    return np.linalg.svd(transfer[:6, 6:], compute_uv=False)[-1]


def softest(turns, height, compression, each):
    """Return the smallest eigenvalue of the rod in equilibrium as the compressed helix."""
    radius, pitch, natural, present, _ = compressed(turns, height, 1.0 - compression)
    rod = CosseratRod(
        GivenSection(1e5, 1e5, bending=1.0, twist=1.0 / 1.3),
        Helix([0, 0, 0], UP, radius, pitch, turns),
        elements=each * turns,
        natural_curvature=[0.0, 0.0, natural[1] - present[1]],
    )
    static = StaticRod(rod, 1e-9, 40)
    # the given frames do not twist: so the natural curvature turns with their curvature
    static.natural_angles += natural[0] / present[0] * static.given_angles
    static.set_natural_curvature(1.0)
    assert static.newton(1.0)
    return static.smallest_eigenvalue()


@pytest.mark.parametrize(("turns", "wanted", "apart"), [(3, 0.220462, 0.1), (10, 0.199268, 0.005)])
def test_buckling_between_clamps(turns, wanted, apart):
    """The tangent is singular where Kirchhoff's theory has a disturbance: 1 % at 32 elements.

    Haringx's formula, of a column that shears, is farther off for few turns.
    """
    height = 16.0
    least = [least_reaction(turns, height, part * wanted) for part in (0.25, 0.5, 0.75, 0.95, 1.0)]
    assert np.all(np.diff(least[1:]) < 0.0)
    assert least[-1] < 1e-4 * max(least)
    assert abs(haringx(height) / wanted - 1.0) < apart  # reason: his error falls with the turns
    found = []
    for each in (16, 32):
        x = wanted * np.array([0.95, 0.98])
        y = [softest(turns, height, one, each) for one in x]
        assert y[0] > y[1] > 0.0
        found.append(x[0] - y[0] * (x[1] - x[0]) / (y[1] - y[0]))
    assert found[1] == pytest.approx(wanted, rel=0.01)
    assert extrapolated(*found) == pytest.approx(wanted, rel=1e-3)


def test_one_turn_does_not_buckle_between_clamps():
    least = [least_reaction(1, 16.0, part) for part in np.linspace(0.02, 0.95, 20)]
    assert min(least) > 0.8 * max(least)
    assert min(softest(1, 16.0, part, 16) for part in (0.2, 0.5, 0.8)) > 0.0


def strip(elements, load):
    """Return a cantilever along x with first director y: EI1 about y, EI2 about z."""
    section = GivenSection(1e6, 1e6, bending=1e4, twist=0.7, second_bending=1.0)
    line, start = Straight([0, 0, 0], [1, 0, 0]), [0.0, 1.0, 0.0]
    return CosseratRod(
        section, line, elements=elements, right=Free(), first_director=start, loads=[load]
    )


@pytest.mark.parametrize(("about", "towards", "stiffness"), [(1, -2, 1e4), (2, 1, 1.0)])
def test_strip_bends_to_a_circle_about_each_axis(about, towards, stiffness):
    moment = 1.5 * np.pi * stiffness
    tips = [
        equilibrium(strip(n, PointMoment(moment * np.eye(3)[about]))).position for n in (40, 80)
    ]
    x, across = extrapolated(*(tip[-1, [0, abs(towards)]] for tip in tips))
    wanted = exact.bent_to_a_circle(1.0, stiffness, moment)
    assert [x, np.sign(towards) * across] == pytest.approx(wanted, abs=1e-5)


def test_strip_buckles_sideways():
    """Prandtl 1899: a force at the tip of a deep strip, J_{-1/4}(P l^2 / (2 sqrt(EI2 GJ))) = 0."""
    wanted = 2.0 * np.sqrt(0.7) * brentq(lambda x: jv(-0.25, x), 1.5, 2.5)
    found = []
    for elements in (20, 40):
        x = wanted * np.array([0.99, 1.01])
        y = [equilibrium(strip(elements, PointForce([0, 0, -p])), steps=1).softest for p in x]
        found.append(x[0] - y[0] * (x[1] - x[0]) / (y[1] - y[0]))
    assert y[0] > 0.0 > y[1]
    assert extrapolated(*found) == pytest.approx(wanted, rel=1e-3)


def layered(layers):
    """Return the section of concentric layers, as docs/howto/rods states it.

    layers : (outer radius [m], E [Pa], Poisson's ratio, density [kg/m^3]) from the axis outwards
    """
    radius, young, poisson, density = np.array(layers).T
    inner = np.append(0.0, radius[:-1])
    area, second = np.pi * (radius**2 - inner**2), np.pi / 4.0 * (radius**4 - inner**4)
    modulus = young / (2.0 * (1.0 + poisson))
    each = [27.0 / 28.0 * modulus * area, young * area, young * second, 2.0 * modulus * second]
    each += [density * area, density * second]
    return GivenSection(*(float(x.sum()) for x in each), outer_radius=radius[-1])


def test_layers_of_one_material_are_a_solid_circle():
    found = layered([(r, 2e6, 0.3, 1200.0) for r in (0.004, 0.007, 0.01)])
    solid = CircularSection(0.01, 2e6, 0.3, 1200.0)
    for name in ("shear", "axial", "bending", "second_bending", "twist"):
        name += "_stiffness"
        assert getattr(found, name) == pytest.approx(getattr(solid, name), rel=1e-13)
    for name in ("line_density", "line_inertia", "radius"):
        assert getattr(found, name) == pytest.approx(getattr(solid, name), rel=1e-13)


def test_core_and_sleeve():
    """A cantilever of two materials is pulled, bent and twisted: E A, E I and 2 G I are sums."""
    core, sleeve, length, load = (1e-3, 1.2e11, 0.34, 8960.0), (4e-3, 2e9, 0.34, 1400.0), 0.2, 1e-2
    section, line = layered([core, sleeve]), Straight([0, 0, 0], [length, 0, 0])
    # area and moment of area of the core; those of the whole are 16 and 256 times larger
    area, second = np.pi * 1e-6, np.pi * 0.25e-12
    axial, bending = area * (1.2e11 + 15.0 * 2e9), second * (1.2e11 + 255.0 * 2e9)
    twist = 2.0 * bending / (2.0 * 1.34)

    def bent(force, elements=20):
        free = {"right": Free(), "loads": [PointForce(force)]}
        return equilibrium(CosseratRod(section, line, elements=elements, **free)).position[-1]

    assert bent([load, 0, 0])[0] - length == pytest.approx(load * length / axial, rel=1e-6)
    sags = [-bent([0, 0, -load], n)[2] for n in (20, 40)]
    wanted = load * length**3 / (3.0 * bending) + load * length / section.shear
    assert extrapolated(*sags) == pytest.approx(wanted, rel=1e-5)
    turn = Turned([1, 0, 0], times=[0, 1], angles=[0, 0.1])
    rod = CosseratRod(section, line, elements=20, right=turn)
    found = equilibrium(rod).clamp_moment[1, 0]
    assert found == pytest.approx(0.1 * twist / length, rel=1e-9)


def test_flat_sections_have_no_surface():
    flat = GivenSection(1e6, 1e6, bending=1e4, twist=0.7, second_bending=1.0)
    rod = CosseratRod(flat, Straight([0, 0, 0], [1, 0, 0]), elements=10)
    search = st.rods.ContactSearch(st.Coulomb(0.3), self_contact=False)
    touching = st.Rods([rod], search=search, partners=[st.rods.PlanePartner([0.0, 0.0, -9.0])])
    with pytest.raises(st.ModelError, match=r"Rods.rods.section: (.|\n)*flat and elliptic section"):
        st.solve(touching, st.rods.Quasistatic(2), (0.0, 1e-3), save=2)
    other = CosseratRod(flat, Straight([0.5, -0.5, 0.02], [0.5, 0.5, 0.02]), elements=10)
    rolling = st.Rods([rod, other], [st.rods.RollingContact(0.5, 0.5)])
    for method in (st.RollingLeapfrog(), st.rods.RollingMidpoint(1e-3)):
        with pytest.raises(st.ModelError, match=r"section: (.|\n)*not a flat or elliptic one"):
            st.solve(rolling, method, (0.0, 1e-3), save=2)
    with pytest.raises(st.ModelError, match=r"RodOnPlane.rod.section: got no radius"):
        st.rods.RodOnPlane(rod)
    for tied in (st.rods.overhand_knot, st.rods.plectoneme):
        with pytest.raises(st.ModelError, match=r"section: got a GivenSection without a radius"):
            tied(flat)


def test_unequal_sections_do_not_move():
    rod = strip(10, PointForce([0, 0, -1.0]))
    search = st.rods.ContactSearch(st.Coulomb(0.3), self_contact=False)
    touching = st.Rods([rod], search=search, partners=[st.rods.PlanePartner([0.0, 0.0, -9.0])])
    for system, method in (
        (st.Rods([rod]), st.RollingLeapfrog()),
        (st.Rods([rod]), st.rods.RollingMidpoint(1e-3)),
        (touching, st.rods.ImplicitEuler(1e-3)),
    ):
        with pytest.raises(st.ModelError, match=r"10000 and 1 N m(.|\n)*use Quasistatic"):
            st.solve(system, method, (0.0, 1e-3), save=2)
    with pytest.raises(st.ModelError, match="second_bending"):
        GivenSection(1.0, 1.0, bending=1.0, twist=1.0, second_bending=-1.0)
