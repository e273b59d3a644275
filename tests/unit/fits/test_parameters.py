from dataclasses import dataclass

import numpy as np
import pytest
from fit_cases import cases

import stiction as st
from stiction.errors import ModelError
from stiction.fits import Curve, Free, ImposedSlip, Simulated, SpringDrive
from stiction.fits.parameters import Coordinates, parameters_of
from stiction.fits.problem import Problem
from stiction.laws import BoucWen, LuGre, Stribeck
from stiction.laws.friction import Formulas


def problem(name, **options):
    case = cases(60)[name]
    given = {"free": None, "known": {}, **options}
    return Problem(type(case.law), case.rig, [case.drawn(0)], **given), case


@pytest.mark.parametrize("name", sorted(cases(60)))
def test_every_point_is_a_law(name):
    asked, case = problem(name)
    rng = np.random.default_rng(1)
    low, high = asked.coordinates.bounds()
    for _ in range(50):
        y = np.clip(rng.normal(0.0, 5.0, low.size), low, high)
        law = asked.law_at(asked.coordinates.physical(y))
        assert type(law) is type(case.law)


@pytest.mark.parametrize("name", sorted(cases(60)))
def test_coordinates_turn_back(name):
    asked, case = problem(name)
    values = np.array([case.truth[q.name] for q in asked.parameters])
    y = asked.coordinates.coordinates(values)
    np.testing.assert_allclose(asked.coordinates.physical(y), values, rtol=1e-13)
    for i in range(values.size):
        held = asked.coordinates.physical(y, (i, 1.1 * values[i]))
        assert held[i] == 1.1 * values[i]


def test_a_profiled_excess_bounds_its_partner():
    asked, _ = problem("Stribeck")
    i = [q.name for q in asked.parameters].index("mu_static")
    j = [q.name for q in asked.parameters].index("mu_kinetic")
    assert asked.coordinates.bounds((i, 0.2))[1][j] == 0.2


@pytest.mark.parametrize(
    ("law", "options", "words"),
    [
        (LuGre, {"free": ("sigma9",)}, "did you mean"),
        (LuGre, {"free": ()}, "at least one field"),
        (LuGre, {"free": ("sigma0",)}, "numbers for sigma1"),
        (LuGre, {"free": ("sigma0",), "known": {"sigma": 1.0}}, "did you mean"),
        (st.Coulomb(0.3), {"known": {"nonsense": 7.0}}, "nonsense and a law object"),
        (st.laws.ElastoPlastic, {}, "one of Coulomb"),
        (Stribeck([0.4, 0.3], 0.2, 0.1), {}, "several numbers"),
    ],
)
def test_odd_questions_are_refused(law, options, words):
    given = {"free": None, "known": {}, **options}
    with pytest.raises(ModelError, match=words):
        Problem(law, ImposedSlip(), [cases(60)["LuGre"].drawn(0)], **given)


@pytest.mark.parametrize(
    ("law", "rig", "words"),
    [
        (LuGre, SpringDrive(1e3), "the mass of the slider"),
        (st.laws.AgeingLaw, SpringDrive(1e3, 1.0), "without inertia"),
        (st.laws.AgeingCoulomb, SpringDrive(1e3), "integrated for a slider behind a spring"),
    ],
)
def test_rigs_that_cannot_be_are_refused(law, rig, words):
    with pytest.raises(ModelError, match=words):
        st.fit(cases(60)["LuGre"].drawn(0), law, rig)


def test_a_law_of_ones_own_is_fitted():
    # a class with numbers as fields, and no memory, needs no kernel
    case = cases(100)["ExponentialWeakening"]
    own = type("Own", (st.ExponentialWeakening,), {})
    found = st.fit(case.drawn(2), own(0.35, 0.3, 1e-3), ImposedSlip(Free(), Free()))
    assert type(found.law) is own
    assert found["mu_static"].value == pytest.approx(0.4, rel=0.03)  # reason: noise of 1 %
    # mu_static has no logarithm, because its coordinate is the difference from mu_kinetic
    assert found.problem.parameters[0].name == "mu_static"
    assert not found.problem.coordinates._log[0]


def logarithmic(v, z, p):
    if p[0] > 2.0:
        raise ValueError("math domain error")
    return p[0] + p[1] * np.log1p(v / p[2])


@dataclass(frozen=True, eq=False, repr=False)
class Coulomb(st.laws.Friction):
    """A law of the user with small and negative numbers, called like another one."""

    mu: float = 1
    c: float = -0.02
    v0: float = 1e-7
    power: int = 1

    @property
    def formulas(self):
        return Formulas(logarithmic, lambda v, z, p: p[1] / (p[2] + v))

    @classmethod
    def examples(cls):
        return [cls()]


def test_numbers_of_a_law_of_ones_own_have_any_size_and_sign():
    v = np.geomspace(1e-10, 1e-5, 40)
    true = Coulomb(0.6, -0.01, 1e-8)
    curve = Curve(force=true.coefficient(v), velocity=v, noise=1e-4)
    for law in (Coulomb, Coulomb(0.7, -0.03, 1e-9)):
        found = st.fit(curve, law, ImposedSlip(0.0, 0.0))
        assert [e.name for e in found.estimates] == ["mu", "c", "v0"]
        assert [e.value for e in found.estimates] == pytest.approx([0.6, -0.01, 1e-8], rel=1e-5)
    # a positive start keeps its sign, and zero is no start
    found = st.fit(curve, Coulomb(0.7, 0.03, 1e-8), ImposedSlip(0.0, 0.0), free=("mu", "c"))
    assert found.unknown == ("c",)
    assert "c tends to 0" in found.warnings[0]
    c = parameters_of(Coulomb(0.7, 0.0), ImposedSlip(0.0, 0.0), 1, None)[1]
    assert (c.name, c.low, c.start) == ("c", 0.0, None)


@pytest.mark.parametrize(
    "made",
    [
        *(lambda: Free(low=1.0, high=0.0), lambda: Free(2.0, high=1.0), lambda: Free(float("nan"))),
        *(lambda: Free(low="a"), lambda: Free(low=None), lambda: Free(high="5")),
        lambda: parameters_of(st.Coulomb, SpringDrive(Free(low=-10.0, high=-5.0)), 1, None),
        lambda: parameters_of(st.Coulomb, SpringDrive(1.0, Free(-1.0)), 1, None),
        lambda: Simulated(scenario=5, force="x[0]"),
    ],
)
def test_odd_bounds_are_refused(made):
    with pytest.raises(ModelError, match=r"Free\.|SpringDrive\.(stiffness|mass)|Simulated\."):
        made()


def test_loops_that_create_energy_are_no_points():
    asked, _ = problem("BoucWen")
    low, high = asked.coordinates.bounds()
    values = asked.coordinates.physical(np.array([1.0, 2.0, 1.0, 0.0, 0.0]))
    assert values[2] == values[1]
    assert isinstance(asked.law_at(values), BoucWen)
    assert -1.0 < low[2] < -0.99999
    assert high[2] == 1.0


def test_derivatives_of_values():
    """Of logarithms, of an excess and of a ratio, with a fixed value too."""
    for cls in (Stribeck, BoucWen):
        made = parameters_of(cls, ImposedSlip(), 1, None)
        coordinates = Coordinates(made, {})
        y = np.random.default_rng(4).uniform(-0.4, 0.4, len(made))
        for profiled in (None, (0, 0.3), (1, 0.2)):
            exact = coordinates.derivatives(y, profiled)
            for i in range(y.size):
                up, down = (
                    coordinates.physical(y + sign * 1e-5 * np.eye(y.size)[i], profiled)
                    for sign in (1, -1)
                )
                np.testing.assert_allclose(exact[:, i], (up - down) / 2e-5, atol=1e-9)
