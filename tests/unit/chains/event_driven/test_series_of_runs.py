"""Runs one after the other with the same buffers: the same as single runs, to the last bit."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.chains.event_driven.series_of_runs import runs_of
from stiction.results.run import Request

METHOD = st.EventDriven()


def random_chain(rng):
    n = int(rng.integers(1, 7))
    load = st.Ramp(rate=1.0) if rng.random() < 0.5 else st.chains.Sine(3.0, 2.0)
    return st.Chain(
        mass=rng.uniform(0.5, 2.0, n),
        stiffness=float(rng.uniform(5.0, 40.0)),
        damping=float(rng.choice([0.0, 0.5])),
        load=load,
        law=st.Coulomb(0.2),
        v0=rng.choice([0.0, 0.3]),
    )


def told(run):
    lines = [dataclasses.astuple(check) for check in run.audit]
    values = {name: quantity.value for name, quantity in run.quantities.items()}
    log = run.event_log
    return lines, values, log.time.tolist(), log.contact.tolist(), dict(run.stats), run.stats


@pytest.mark.parametrize("seed", range(20))
def test_same_as_single_runs(seed):
    rng = np.random.default_rng(seed)
    chain = random_chain(rng)
    again = runs_of(chain, METHOD, Request(0.0, 6.0, np.array([0.0, 6.0])), ("law.mu",))
    for mu in rng.uniform(0.0, 0.4, 4):
        alone = dataclasses.replace(chain, law=st.Coulomb(float(mu)))
        single = st.solve(alone, METHOD, (0.0, 6.0), save=2, throw=False)
        run = again([mu])
        assert told(run) == told(single)
        for name in ("x", "v"):
            assert np.array_equal(run.final[name], single.final[name])
        for name, column in single.energy.columns().items():
            assert np.array_equal(run.energy.columns()[name], column)


def test_what_is_not_covered_is_made_anew():
    chain = st.Chain(mass=[1.0], stiffness=20.0, law=st.Coulomb(0.2))
    request = Request(0.0, 1.0, np.array([0.0, 1.0]))
    assert runs_of(chain, METHOD, request, ("law.mu", "mass")) is None
    weak = dataclasses.replace(chain, law=st.StaticKinetic(mu_static=0.3, mu_kinetic=0.2))
    assert runs_of(weak, METHOD, request, ("law.mu",)) is None
    with pytest.raises(st.ModelError, match="mu"):
        runs_of(chain, METHOD, request, ("law.mu",))([-0.1])
