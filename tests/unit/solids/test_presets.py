"""The examples of the literature in the smallest sizes that show what they are about."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import stiction as st
from stiction.errors import ModelError
from stiction.laws import DI, EA, Frictionless


def strip(**settings):
    """Return a short strip."""
    small = {"length": 30.0, "adhering": 20.0, "height": 4.0, "cells": (20, 2), "u_end": 8.0}
    return st.StripPeeling(**{**small, **settings})


def test_strip_peels():
    run = st.solve(strip(model=EA(0.01)), st.solids.Quasistatic(steps=12))
    force, contact = run.data["force_y"].values, run.data["contact_length"].values
    assert_allclose(contact[0], 20.0, rtol=1e-12)
    assert contact[-1] < 15.0
    assert (np.diff(contact) < 1e-9).all()
    assert force.argmax() > 0
    assert_allclose(run.data["displacement"].values, 8.0 * run.time, rtol=1e-12)
    assert_allclose(run.data["peeling_length"].values, 20.0 - contact, rtol=1e-12)
    assert run.energy.total_friction_heat[-1] > 0.0
    assert not [c.check for c in run.audit.failed if c.check != "process_zone_resolved"]


def test_the_strip_begins_at_rest():
    """It lies at the equilibrium gap, so that nothing pulls before it is moved."""
    run = st.solve(strip(model=Frictionless(), u_end=0.01), st.solids.Quasistatic(steps=1))
    law = strip().assembled().contacts[0].adhesion
    assert_allclose(run.data["gap"].values[0], law.gap_eq, rtol=1e-12)
    assert np.abs(run.data["normal_traction"].values[0]).max() < 1e-12
    assert run.data["force_y"].values[1] > 0.0


def test_a_strip_pulled_along():
    run = st.solve(
        strip(model=DI(0.01), horizontal=True, u_end=0.5), st.solids.Quasistatic(steps=4)
    )
    tau = 0.01 * 0.0617849
    # the whole contact area slides, at the threshold
    assert_allclose(run.data["force_x"].values[-1], 20.0 * tau, rtol=5e-3)
    assert_allclose(run.data["contact_length"].values[-1], 20.0, rtol=1e-3)


def test_cylinders_are_symmetric():
    """Without friction forces mirror about the middle of the way, where they sit aligned."""
    run = st.solve(
        st.solids.TwoCylinders(), st.solids.Quasistatic(steps=4), save=np.linspace(0.0, 1.0, 5)
    )
    x, y = run.data["force_x"].values, run.data["force_y"].values
    scale = np.abs(y).max()
    assert run.time.size == 5
    assert_allclose(x, -x[::-1], atol=1e-9 * scale)
    assert_allclose(y, y[::-1], atol=1e-9 * scale)
    # the lower one is pushed down, and away from the upper one on its way in
    assert y[2] < 0.0
    assert x[1] > 0.0


def test_cap_slides():
    system = st.CapSliding(normal_force=0.5, cells=(50, 4), u_end=1.0)
    run = st.solve(system, st.solids.Quasistatic(steps=20))
    after = run.time > 0.3
    force, normal = run.data["force_x"].values, run.data["force_y"].values
    assert_allclose(normal[after], -0.5, atol=1e-8)
    assert np.abs(force[run.time <= 0.3]).max() < 1e-8
    assert (np.diff(force[after]) > 0.0).all()
    contact = run.data["contact_length"].values[after]
    assert contact[-1] < contact[0]
    assert 0.0 < run.data["sticking_length"].values[-1] < contact[-1]


def test_numbers_given_beside_the_model():
    model = st.StripPeeling(model=EA(0.3, 0.2), mu=0.02).model
    assert (model.mu, model.s_cut) == (0.02, 0.2)
    assert st.CapSliding(s_cut=0.5).model.s_cut == 0.5


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: st.StripPeeling(model=0.3), "model"),
        (lambda: st.StripPeeling(size="huge"), "size"),
        (lambda: st.StripPeeling(u_end=0.0), "u_end"),
        (lambda: st.StripPeeling(adhering=300.0), "adhering"),
        (lambda: st.StripPeeling(adhering=1e-9), "adhering"),
        (lambda: st.StripPeeling(adhering=200.0 * (1.0 - 1e-9)), "adhering"),
        (lambda: st.StripPeeling(cells=(1, 2)), "cells"),
        (lambda: st.StripPeeling(cells=7), "cells"),
        (lambda: st.StripPeeling(penalty=-1.0), "penalty"),
        (lambda: st.StripPeeling(poisson=0.5), "poisson"),
        (lambda: st.StripPeeling(model=Frictionless(), mu=0.1), "mu"),
        (lambda: st.solids.TwoCylinders(overlap=1.0), "overlap"),
        (lambda: st.solids.TwoCylinders(max_tension=float("nan")), "max_tension"),
        (lambda: st.CapSliding(adhesive=False), "normal_force"),
        (lambda: st.CapSliding(adhesive=1), "adhesive"),
        (lambda: st.CapSliding(nu=0.5), "nu: got 0.5"),
        (lambda: st.CapSliding(material="rubber"), "material"),
    ],
)
def test_bad_numbers_are_refused(make, name):
    with pytest.raises(ModelError, match=name):
        make()


_SIZES = {
    st.StripPeeling: ("u_end", "max_tension", "work", "length", "height", "adhering"),
    st.solids.TwoCylinders: ("u_end", "overlap", "max_tension", "work"),
    st.CapSliding: ("u_end", "radius", "height", "half_width", "max_tension", "work"),
}


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), "long"])
@pytest.mark.parametrize(("kind", "name"), [(kind, n) for kind, ns in _SIZES.items() for n in ns])
def test_every_size_and_strength_is_positive(kind, name, value):
    with pytest.raises(ModelError, match=rf"^{kind.__name__}\.{name}: got "):
        kind(**{name: value})
