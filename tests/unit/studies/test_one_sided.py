"""One-sided derivatives at coinciding events, on surfaces and at grazings, against differences."""

import numpy as np
import pytest

import stiction as st
from stiction.core.tangents import NotDifferentiable, QuantityTangent, Tangents
from stiction.studies.sensitivity.one_sided import one_sided_derivatives


def differences(system, span, of, name, side, step=1e-4):
    """Return one-sided derivatives of the end by extrapolated differences of runs."""

    def end(shift):
        moved = system.with_parameter(name, system.parameter(name) + shift)
        return st.sensitivities(moved, None, span, of=of, to=[name]).values

    first, points = end(0.0), np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    slopes = np.array([(end(side * p * step) - first) / (side * p * step) for p in points])
    weights = [np.prod([q / (q - p) for q in points if q != p]) for p in points]
    return np.array(weights) @ slopes


def compared(system, span, of, to):
    """Assert that all one-sided derivatives are those of differences; return them."""
    found = st.sensitivities(system, None, span, of=of, to=to)
    assert found.failures
    assert np.isnan(found.by).any()
    for j, name in enumerate(found.to):
        for side, given in ((1.0, found.above), (-1.0, found.below)):
            expected = differences(system, span, of, name, side)
            np.testing.assert_allclose(given[:, j], expected, atol=1e-6 * np.abs(expected).max())
    return found


def pair(second):
    """Two masses between walls; a ramp reaches both bounds at t = 10 where second = 0.7."""
    return st.Chain(
        mass=[1.0, 1.0],
        stiffness=4.0,
        law=st.Coulomb(0.5),
        load=st.Ramp(0.2),
        load_vector=[1.0, 0.7],
        supports="both",
        normal_force=[4.0, second * 4.0],
    )


class MadeUp:
    """A model whose runs have a given value and derivative at a parameter r; it admits r < most."""

    def __init__(self, row, most=np.inf, r=0.0, scales=(1.0, 1e6)):
        self.row, self.most, self.r, self.start_scales = row, most, r, np.array(scales)

    def parameter(self, name):
        return self.r

    def with_parameter(self, name, r):
        if r >= self.most:
            raise st.ModelError("MadeUp.r", r, f"less than {self.most}", "it is.", "give less.")
        return MadeUp(self.row, self.most, r, self.start_scales)

    def tangents(self, method=None, span=None, names=("r",), failures=()):
        value, slope = self.row(self.r)
        # beside displacements, velocities a million times larger
        final, by = np.array([value, 1e6]), np.array([[slope], [1e6]])
        quantity = QuantityTangent("force", "N", value, np.array([slope]))
        large = QuantityTangent("energy", "J", 1e6, np.array([1e6]))
        return Tangents(("r",), 0.0, 1.0, final, by, final, (), failures, (quantity, large))

    def above(self):
        found = self.tangents(failures=(NotDifferentiable(0.5, "grazing", ""),))
        return one_sided_derivatives(self, None, (0.0, 1.0), found, "r", 1.0)


def test_small_rows_are_judged_by_their_own_size():
    """Beside rows of other units, whose derivatives are a million times larger."""
    smooth = MadeUp(lambda r: (1e-6 * (1.0 + r), 1e-6)).above()
    np.testing.assert_allclose(smooth, [1e-6, 1e6, 1e-6, 1e6], rtol=1e-9)
    # a derivative that diverges as 1 / sqrt(r), and a value that jumps
    for row in (
        lambda r: (2e-6 * np.sqrt(r), 1e-6 / np.sqrt(r) if r else np.nan),
        lambda r: (2e-6 if r > 0.0 else 1e-6, 0.0),
    ):
        np.testing.assert_array_equal(MadeUp(row).above(), [np.nan, 1e6, np.nan, 1e6])


@pytest.mark.parametrize(("r", "most"), [(0.9995, 1.0), (0.0, 1e-9), (1.0, 1.0)])
def test_distances_are_within_what_the_model_admits(r, most):
    found = MadeUp(lambda r: (1e-6 * r, 1e-6), most, r).above()
    if r == most:
        assert found is None
    else:
        np.testing.assert_allclose(found, [1e-6, 1e6, 1e-6, 1e6], rtol=1e-9)


def test_two_masses_that_slip_together():
    found = compared(pair(0.7), (0.0, 11.5), ["x", "v"], ["normal_force[0]", "normal_force[1]"])
    assert [one.kind for one in found.failures][:1] == ["degenerate thresholds"]
    # the order of slip differs by side, its first effect does not: slip starts slowly
    np.testing.assert_allclose(found.above, found.below, rtol=1e-8)
    assert "towards larger" in repr(found)


def test_a_block_that_stops_at_its_bound():
    block = st.Chain(mass=[2.0], stiffness=[8.0], law=st.Coulomb(0.1), gravity=10.0, x0=1.25)
    found = compared(block, (0.0, 4.5), ["x", "friction_force"], ["x0[0]", "law.mu"])
    assert found.failures[0].kind == "degenerate thresholds"
    # to one side it sticks, to the other it slips once more
    assert found.below[0, 0] == pytest.approx(1.0, rel=1e-9)
    assert found.above[0, 0] < 0.0


def test_a_block_that_starts_to_slip():
    block = st.Chain(mass=[2.0], stiffness=[8.0], law=st.Coulomb(0.1), gravity=10.0, x0=1.0)
    found = compared(block, (0.0, 1.0), ["x", "v"], ["v0[0]"])
    assert found.failures[0].kind == "start on the surface"
    # with the slip it changes the velocity, against it too: the block turns at once
    assert np.isfinite(found.above).all()


def test_two_surfaces_reached_at_once():
    flow = st.PiecewiseSmooth(
        h=[lambda x: x[0], lambda x: x[1]],
        f=lambda x, s: [
            -s[0] - 0.1 * s[1] + 0.2,
            -s[1] + 0.3 * s[0] + 0.1,
            2.0 * s[0] + s[1] - x[2],
        ],
        x0=[0.9, 0.6, 0.0],
    )
    found = compared(flow, (0.0, 1.4), ["x3"], ["x0[0]", "x0[1]"])
    assert found.failures[0].kind == "codimension-2 intersection"


HARTOG = st.PiecewiseSmooth(
    h=lambda x: x[1],
    f_plus=lambda t, x, p: [x[1], -x[0] + np.cos(p.r * t) - p.f],
    f_minus=lambda t, x, p: [x[1], -x[0] + np.cos(p.r * t) + p.f],
    x0=[0.0, 0.0],
    parameters={"r": 0.7, "f": 0.3},
)


def test_a_flow_that_starts_on_its_surface():
    found = compared(HARTOG, (0.0, 2.0), ["x1", "x2"], ["x0[1]"])
    assert found.failures[0].kind == "start on a surface"


def grazing(f_plus):
    """Return x'' = -x from x = -1 at rest, with another field beyond x = 1."""
    return st.PiecewiseSmooth(
        h=lambda x, p: x[0] - p.level,
        f_plus=f_plus,
        f_minus=lambda x: [x[1], -x[0]],
        x0=[-1.0, 0.0],
        parameters={"level": 1.0},
    )


def test_there_is_none_where_the_solution_is_not_unique():
    # beyond the surface it gains the root of the depth: the derivative has no limit
    flow = grazing(lambda x: [x[1], -x[0] - 1.0])
    found = st.sensitivities(flow, None, (0.0, 4.0), of=["x1", "x2"], to=["p.level"])
    assert found.failures[0].kind == "fold"
    assert np.isnan(found.above).all()
    assert np.isnan(found.below).all()


def test_a_grazing_that_slides_is_finite_on_both_sides():
    flow = grazing(lambda x: [x[1] - 0.5, -x[0] - 1.0])
    found = st.sensitivities(flow, None, (0.0, 4.0), of=["x1", "x2"], to=["p.level"])
    assert found.failures[0].kind == "grazing"
    np.testing.assert_allclose(found.above[:, 0], 0.0, atol=1e-12)

    def end(level):
        run = flow.with_parameter("p.level", level).tangents(None, (0.0, 4.0), ())
        return run.final

    # it slides for a time that vanishes as the root of the depth: differences in powers of it
    depths = 1e-5 * np.array([1.0, 4.0, 9.0, 16.0, 25.0, 36.0])
    slopes = np.array([(end(1.0) - end(1.0 - depth)) / depth for depth in depths])
    roots = np.sqrt(depths)
    weights = [np.prod([q / (q - p) for q in roots if q != p]) for p in roots]
    np.testing.assert_allclose(found.below[:, 0], np.array(weights) @ slopes, rtol=1e-5)


def test_there_is_none_where_a_direction_separates_nothing():
    found = st.sensitivities(pair(0.7), None, (0.0, 11.5), of=["x"], to=["law.mu"])
    assert np.isnan(found.by).all()
    assert np.isnan(found.above).all()
    assert np.isnan(found.below).all()


def test_there_is_none_beside_a_two_fold():
    flow = st.switching.NormalForm(J1=-1.5, J2=-2.0)
    found = st.sensitivities(flow, None, (0.0, 4.0), of=["x"], to=["x0[0]"])
    assert found.failures[0].kind == "two-fold"
    assert np.isnan(found.above).all()


@pytest.mark.parametrize("name", ["x0[0]", "v0[0]", "law.mu"])
def test_both_sides_are_the_derivative_where_it_exists(name):
    block = st.Chain(mass=[2.0], stiffness=[8.0], law=st.Coulomb(0.1), gravity=10.0, x0=1.0, v0=0.3)
    found = st.sensitivities(block, None, (0.0, 4.0), to=[name])
    np.testing.assert_array_equal(found.above, found.by)
    np.testing.assert_array_equal(found.below, found.by)
