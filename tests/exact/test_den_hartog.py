"""Den Hartog's oscillator under Coulomb friction: amplitudes of its periodic motion.

m = k = P0 = 1: x'' + x + f sgn(x') = cos(r t), the load in phase as it comes. The motion without
stops tends to a periodic one whose amplitude has a closed form (Den Hartog 1931):

    x_max^2 = (1 / (1 - r^2))^2 - (f U)^2,   U = sin(pi/r) / (r (1 + cos(pi/r)))
"""

import numpy as np
import pytest

import stiction as st

CASES = [
    (0.7, 0.3, 1.88569985041425),
    (0.9, 0.6, 3.66141638219527),
    (1.3, 0.4, 1.20090061235759),
    (2.0, 0.3, 0.297676184991529),
]


def closed_form(r, f):
    with np.errstate(all="ignore"):
        turned = np.sin(np.pi / r) / (r * (1.0 + np.cos(np.pi / r)))
    return np.sqrt((1.0 / (1.0 - r * r)) ** 2 - (f * turned) ** 2)


@pytest.mark.parametrize(("r", "f", "amplitude"), CASES)
def test_amplitude(r, f, amplitude):
    assert closed_form(r, f) == pytest.approx(amplitude, rel=1e-13)
    load = st.chains.Sine(1.0, r, np.pi / 2.0)
    chain = st.Chain(
        mass=[1.0], stiffness=1.0, law=st.Coulomb(f), normal_force=1.0, load=load, x0=0.3
    )
    run = st.solve(chain, st.chains.EventDriven(rtol=1e-13, replay=False), (0.0, 900.0 / r), save=2)
    turns = run.event_log.columns["x"][-6:]
    assert np.abs(turns) == pytest.approx(amplitude, rel=1e-11)
    assert run.audit.ok
