"""The Runge-Kutta method of a replay: its order, and the same answer from its kernel."""

import numpy as np
import pytest

from stiction import Chain, EventDriven, ExponentialWeakening, Ramp, UserFriction, UserLoad, solve
from stiction.chains import Sine
from stiction.chains.replay import smooth
from stiction.chains.replay.forces import Forces, Intervals
from stiction.numerics import jit

CHAIN = Chain(
    mass=[1.0, 2.0],
    stiffness=20.0,
    damping=0.3,
    load=UserLoad(lambda t: 3.0 * np.sin(t) ** 3),
    law=ExponentialWeakening(0.3, 0.1, 0.5),
)


def test_order_of_the_method():
    """Halved steps divide the error by 2^8; the coefficients cannot be mistyped."""
    mode = np.array([[1.0], [1.0]])
    start, v = np.array([[0.1], [-0.2]]), np.array([[2.0], [3.0]])
    given = Intervals(np.zeros(1), np.array([0.4]), start, v, mode, np.zeros(1, int))
    ends = [smooth.ends(Forces(CHAIN), given, np.array([float(p)])) for p in (2, 4, 8, 128)]
    right = np.concatenate(ends[-1])
    errors = [np.abs(np.concatenate(one) - right).max() for one in ends[:-1]]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 7.4).all()
    assert (orders < 9.6).all()


def test_rows_of_the_tableau_sum_to_its_times():
    far, near = (7 + 21**0.5) / 14, (7 - 21**0.5) / 14
    times = np.array([0, 0.5, 0.5, far, far, 0.5, near, near, 0.5, far, 1])
    np.testing.assert_allclose(smooth.TIMES, times, atol=1e-13)
    for power in range(8):
        total = smooth.WEIGHTS @ smooth.TIMES**power
        assert total == pytest.approx(1.0 / (power + 1), abs=1e-13)


def test_kernel_and_arrays_agree():
    """The same value of a replay with kernels and without, on the same states."""
    law = ExponentialWeakening([0.1, 0.3, 0.3], [0.1, 0.05, 0.2], [1.0, 0.1, 0.02])
    chain = Chain(mass=1.0, n=3, stiffness=20.0, load=Sine(8.0, 2.0), law=law, belt_speed=0.1)
    values = []
    for mode in ("compiled", "plain"):
        with jit.running(mode):
            run = solve(chain, EventDriven(), (0.0, 1.5), save=7)
        values += [check.value for check in run.audit if check.check == "replay_agrees"]
    assert len(values) == 2
    assert 0.0 < max(values) < 2e-9
    assert values[0] == pytest.approx(values[1], abs=2e-13)


def test_a_users_functions():
    law = UserFriction(lambda v: 0.1 + 0.2 / (1 + v), lambda v: -0.2 / (1 + v) ** 2)
    for chain in (CHAIN, Chain(mass=1.0, n=3, stiffness=20.0, load=Ramp(2.0), law=law)):
        run = solve(chain, EventDriven(), (0.0, 3.0), save=7)
        (found,) = [check for check in run.audit if check.check == "replay_agrees"]
        assert found.ok
        assert found.value < 5e-9
