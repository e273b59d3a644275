"""Runs of chains without stick: what must not matter, and what other methods say."""

from types import SimpleNamespace

import numpy as np
import pytest
from memories import Memory

import stiction as st
from stiction.chains import Radau
from stiction.chains.regularised import step_kernels
from stiction.chains.regularised.equations import Equations
from stiction.chains.regularised.state import WIDTH
from stiction.core.run import Request
from stiction.laws import BoucWen, Dahl, ElastoPlastic, LuGre, RateAndStateFriction

LAWS = [
    Dahl(3e3, 0.3),
    LuGre(3e3, 31.6, 0.04, 0.15, 0.1, 1e-2),
    ElastoPlastic(3e3, 31.6, 0.04, 0.15, 0.1, 1e-2),
    BoucWen(3e3, 1.0, 2e7, 1e7, 2),
    RateAndStateFriction(st.laws.AgeingLaw(0.01, 0.015, 1e-3, 0.3, 1e-3)),
]
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)


def chain_of(law, **changes):
    given = {
        "mass": [1.0, 1.5],
        "stiffness": [40.0, 30.0],
        "damping": 0.1,
        "law": law,
        "belt_speed": 0.1,
        "v0": [0.1, 0.12],
        "plate_stiffness": [0.0, 5.0],
        "plate_speed": -0.02,
        "load": st.chains.Sine(1.0, 2.0),
    }
    return st.Chain(**(given | changes))


@pytest.mark.usefixtures("plain_kernels")
def test_steps_are_at_most_the_longest(monkeypatch):
    """The last step before a breakpoint too, which takes up a tenth; rounding of time is none."""
    lengths = []
    whole = step_kernels._collocated

    def record(w, t, h, last):
        lengths.append(h)
        whole(w, t, h, last)

    monkeypatch.setattr(step_kernels, "_collocated", record)
    for longest, end, last in ((0.1, 0.3 + 0.305, 0.5 * 0.105), (0.1, 0.6, 0.1)):
        lengths.clear()
        chain = chain_of(Dahl(3.0, 0.3), load=st.chains.PiecewiseLinear([0, 0.3, 1], [0, 0, 1]))
        st.solve(chain, Radau(1e-3, longest), (0.0, end), save=2)
        assert max(lengths) <= longest * (1.0 + 1e-9)
        assert lengths[-1] == pytest.approx(last)


@pytest.mark.parametrize(
    ("speeds", "part"),
    [
        ([0.5, 1.19, 1.2001], 1.0),  # leaves the range: 1.1 times at the first probe already
        ([2.0, 1.001, 0.999], 1.0),  # enters it
        ([0.5, 1.0, 1.3], 1.0 + 0.1 / 0.3),
        ([2.0, 1.3, 0.8], 1.0 + 0.2 / 0.5),
        ([0.5, 1.3, 1.3], 0.6 / 0.8),
    ],
)
def test_a_step_ends_where_a_speed_crosses_the_weakening_range(speeds, part):
    """Never before the probe from which the speed is interpolated."""
    samples = np.zeros((step_kernels.PROBES.size, WIDTH))
    samples[:, 1] = speeds[-1]
    samples[: len(speeds), 1] = speeds
    work = SimpleNamespace(
        samples=samples,
        contacts=np.zeros(1),
        model=SimpleNamespace(masses=[SimpleNamespace(narrow=1.0)]),
    )
    found = step_kernels._weakening_range.py_func(work)
    assert found == pytest.approx(part * step_kernels.PROBES[1], abs=1e-14)


@each_law
def test_derivative_of_the_motion(law):
    motion = Equations(chain_of(law), law, Request(0.0, 1.0, np.array([0.0, 1.0])))
    rng = np.random.default_rng(7)
    y = motion.start()
    y[[0, WIDTH]] += rng.normal(size=2) * 1e-2
    y[[1, 1 + WIDTH]] += rng.normal(size=2) * 0.05
    motion.read(y)
    left, right = motion.derivative(y)
    assert not left[:, :WIDTH].any()
    assert not right[:, 2 * WIDTH :].any()
    exact = np.concatenate([left[:, WIDTH:], right[:, : 2 * WIDTH]])
    for j in range(y.size):
        h = 1e-7 * max(abs(y[j]), 1e-5)
        up, down = y.copy(), y.copy()
        up[j], down[j] = y[j] + h, y[j] - h
        by = (motion.rates(0.0, up) - motion.rates(0.0, down)) / (2 * h)
        assert by == pytest.approx(
            exact[:, j], rel=1e-5, abs=1e-5 * np.abs(exact).max(axis=1).max()
        )


@each_law
def test_energy_closes_for_any_samples(law):
    chain = chain_of(law)
    few = st.solve(chain, Radau(rtol=1e-9), (0.0, 0.15), save=3)
    many = st.solve(chain, Radau(rtol=1e-9), (0.0, 0.15), save=61)
    for run in (few, many):
        assert run.status.ok
        assert run.energy.imbalance_rel < 1e-9
        assert run.audit.ok
        assert not run.determinism.losses
    assert np.array_equal(few.final["x"], many.final["x"])
    assert few.audit == many.audit or [c.check for c in few.audit] == [c.check for c in many.audit]
    assert np.array_equal(few.event_log.time, many.event_log.time)


@each_law
def test_a_chain_of_loose_masses_is_as_each_alone(law):
    both = chain_of(law, stiffness=1e-12, damping=0.0)
    one = chain_of(law, mass=[1.5], stiffness=1e-12, damping=0.0, v0=0.12, plate_stiffness=5.0)
    runs = [st.solve(c, Radau(rtol=1e-9), (0.0, 0.1), save=3) for c in (both, one)]
    assert runs[0].final["x"][1] == pytest.approx(runs[1].final["x"][0], rel=1e-7)
    assert runs[0].final["v"][1] == pytest.approx(runs[1].final["v"][0], abs=1e-7)


@each_law
def test_going_on_gives_the_same_bits(law):
    chain, method, span = chain_of(law), Radau(rtol=1e-7), (0.0, 0.4)
    whole = st.solve(chain, method, span, save=11)
    memory = Memory(turn=2, last=1)
    st.solve(chain, method, span, save=11, checkpoint=memory, throw=False)
    assert len(memory.pages) > 0
    again = st.solve(chain, method, span, save=11, checkpoint=Memory(memory.state, turn=-1))
    for name, value in whole.data.items():
        assert np.array_equal(value.values, again.data[name].values), name
    assert np.array_equal(whole.event_log.time, again.event_log.time)
    assert np.array_equal(whole.energy.imbalance, again.energy.imbalance)


def test_event_driven_uses_radau():
    chain = chain_of(LAWS[0])
    one = st.solve(chain, st.EventDriven(rtol=1e-9), (0.0, 0.1), save=3)
    two = st.solve(chain, Radau(rtol=1e-9), (0.0, 0.1), save=3)
    assert np.array_equal(one.final["x"], two.final["x"])


def test_units_do_not_matter():
    """In millimetres and milliseconds every step is the same."""
    law = LuGre(3e3, 31.6, 0.04, 0.15, 0.1, 1e-2)
    other = LuGre(3.0, 31.6e-0, 0.04, 0.15, 0.1, 1e-2)
    plain = {"belt_speed": 0.1, "v0": [0.1, 0.12], "load": st.Constant(0.0), "plate_speed": 0.0}
    here = st.solve(chain_of(law, **plain), Radau(rtol=1e-9), (0.0, 0.2), save=3)
    # lengths in mm and times in ms: speeds keep their numbers, and so do sigma1 and v_scale
    scaled = chain_of(
        other,
        **plain,
        stiffness=np.array([40.0, 30.0]) * 1e-6,
        damping=0.1e-3,
        plate_stiffness=[0.0, 5.0e-6],
        gravity=9.81e-3,
    )
    there = st.solve(scaled, Radau(rtol=1e-9), (0.0, 200.0), save=3)
    assert there.final["x"] == pytest.approx(1e3 * here.final["x"], rel=1e-9)
    assert there.stats["steps"] == here.stats["steps"]
