"""Chains side by side: the same arrays, loads and verdicts as chains that are made one by one."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.chains.blocks.stack import fits, stack_of
from stiction.chains.loads import LoadSegments


class Saw(st.chains.Load):
    """Rises from 0 to 5 N in each of two seconds, and is zero at their ends."""

    def segments(self):
        none = np.empty(0)
        rate = np.array([5.0, 5.0, 0.0])
        return LoadSegments(np.arange(3.0), np.zeros(3), rate, none, none, none)


LOADS = (
    st.Ramp(rate=1.0, start=0.5),
    st.chains.Sine(3.0, 2.0),
    st.chains.PiecewiseLinear([0.0, 1.0, 3.0], [0.0, 4.0, -1.0]),
    st.chains.Constant(2.0),
    Saw(),
)
LAWS = (
    st.Coulomb(0.2),
    st.StaticKinetic(0.4, 0.3),
    st.laws.RandomCoulomb(0.3, 0.1, seed=4),
    st.Coulomb([0.1, 0.2, 0.3]),
)


def a_chain(rng, **other):
    given = {
        "mass": rng.uniform(0.5, 2.0, 3),
        "stiffness": rng.uniform(5.0, 40.0, 4),
        "damping": float(rng.choice([0.0, 0.5])),
        "supports": "both",
        "load": LOADS[rng.integers(len(LOADS))],
        "law": LAWS[rng.integers(len(LAWS))],
        "x0": rng.uniform(-0.1, 0.1, 3),
        "v0": 0.1,
        "plate_stiffness": float(rng.choice([0.0, 3.0])),
        "plate_speed": float(rng.choice([0.0, 0.2])),
        "belt_speed": float(rng.choice([0.0, 0.1])),
    }
    return st.Chain(**(given | other))


FIELDS = (
    ("mass", 1),
    ("stiffness", 2),
    ("damping",),
    ("gravity",),
    ("x0", 0),
    ("v0",),
    ("plate_stiffness",),
    ("plate_speed",),
    ("belt_speed",),
)


def put(chain, path, value):
    """Return the chain with one other number, made as a user would."""
    name = path[0]
    if name in ("law", "load"):
        inner = dataclasses.replace(getattr(chain, name), **{path[1]: value})
        return dataclasses.replace(chain, **{name: inner})
    if len(path) == 1:
        return dataclasses.replace(chain, **{name: value})
    entries = list(getattr(chain, name))
    entries[path[1]] = value
    return dataclasses.replace(chain, **{name: entries})


def check_members(chain, paths, columns):
    made = stack_of(chain, paths, columns)
    rng = np.random.default_rng(1)
    m, n = len(columns[0]), chain.n_mass
    t, x = rng.uniform(0.0, 4.0, m), 0.3 * rng.standard_normal((m, n))
    x[::3] *= 0.01
    rests, low, high = made.sticks_for_good(t, x), *made.bounds_after(t)
    critical = made.critical_force()
    seen = 0
    for k in range(m):
        one = chain
        for path, column in zip(paths, columns, strict=True):
            one = put(one, path, column[k].item())
        assert np.array_equal(made.masses[k], one.masses)
        assert np.array_equal(made.link_stiffness[k], one.link_stiffness)
        assert np.array_equal(made.link_damping[k], one.link_damping)
        assert np.array_equal(made.normal_forces[k], one.normal_forces)
        assert np.array_equal(made.stick_bound[k], one.stick_bound)
        assert np.array_equal(made.mu_kinetic[k], one.friction.mu_kinetic)
        assert np.array_equal(made.load_weights[k], one.load_weights)
        assert np.array_equal(made.x_start[k], one.x_start)
        assert np.array_equal(made.v_start[k], one.v_start)
        assert made.load_at(t)[k] == one.load.at(t[k])
        assert (low[k], high[k]) == one.load.bounds_after(t[k])
        assert np.array_equal(made.drive(t, x, x)[k], one.drive(t[k], x[k], x[k]))
        assert rests[k] == one.sticks_for_good(t[k], x[k])
        force = one.critical_force()
        assert np.array_equal(critical[k], force if force is not None else [np.nan] * n, True)
        seen += 1
    assert seen == m


@pytest.mark.parametrize("seed", range(30))
def test_the_same_as_chains(seed):
    rng = np.random.default_rng(seed)
    chain = a_chain(rng)
    paths = [FIELDS[k] for k in rng.permutation(len(FIELDS))[:3]]
    check_members(chain, paths, [rng.uniform(0.1, 1.0, 7) for _ in paths])


@pytest.mark.parametrize("supports", ["left", "right", "both", "none"])
def test_springs_between_any_supports(supports):
    chain = st.Chain(mass=[1.0, 2.0, 3.0], stiffness=20.0, supports=supports, law=st.Coulomb(0.2))
    values = np.array([3.0, 8.0])
    check_members(chain, [("stiffness",)], [values])
    springs = dataclasses.replace(chain, stiffness=[20.0] * chain.n_spring)
    check_members(springs, [("stiffness", chain.n_spring - 1)], [values])


def test_laws_and_loads_of_each_member():
    rng = np.random.default_rng(3)
    chain = a_chain(rng, law=st.laws.RandomCoulomb(0.3, 0.1, seed=4), load=st.Ramp(rate=1.0))
    check_members(chain, [("law", "seed"), ("load", "rate")], [np.arange(5), rng.uniform(-1, 1, 5)])
    weak = dataclasses.replace(chain, law=st.StaticKinetic(0.4, 0.3))
    check_members(weak, [("law", "mu_kinetic")], [rng.uniform(0.0, 0.4, 5)])


def test_values_that_make_no_chain_are_noted():
    chain = st.Chain(mass=[1.0, 2.0], stiffness=20.0, law=st.StaticKinetic(0.4, 0.3))
    bad = (
        (("law", "mu_kinetic"), [0.3, 0.5, -0.1]),
        (("mass", 0), [1.0, 0.0, np.nan]),
        (("gravity",), [9.8, -1.0, np.inf]),
        (("stiffness",), [9.8, -1.0, 1e308]),
    )
    for path, values in bad:
        assert stack_of(chain, [path], [np.array(values)]).valid.tolist() == [True, False, False]
    plain = dataclasses.replace(chain, law=st.Coulomb(0.2))
    found = stack_of(plain, [("law", "mu")], [np.array([0.1, -0.1, np.nan])])
    assert found.valid.tolist() == [True, False, False]


def test_what_cannot_stand_side_by_side():
    chain = st.Chain(mass=[1.0, 2.0], stiffness=20.0, law=st.Coulomb([0.1, 0.2]))
    for path in (("law", "mu"), ("mass",), ("stiffness", 0), ("n",), ("supports",), ("law",)):
        assert not fits(chain, [path]), path
    assert fits(chain, [("mass", 1), ("stiffness",), ("gravity",)])
