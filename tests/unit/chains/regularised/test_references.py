"""Motions of thirty digits, from benchmarks/trust_creep.py: no code of the package is in them."""

import numpy as np
import pytest

import stiction as st
from stiction.chains import Radau
from stiction.laws import BoucWen, Dahl, LuGre

# law, then x [m], v [m/s], deflection [m] at 0.2 s and the times of the two reversals [s]
FOUND = {
    "Dahl": (
        Dahl(2000.0, 0.3),
        [-0.001398903719417452411678283, -0.01932737320822276773477043, -1.4999999999999998361e-4],
        [0.06965337701336396023576, 0.13793076095996183521],
    ),
    "BoucWen": (
        BoucWen(2000.0, 1.0, 3e7, 1e7, 2),
        [-0.0009927649192670904570290706, -0.008387918034494280058054214, -1.581138830084189666e-4],
        [0.06969187587584332287625, 0.1376487459186983939261],
    ),
    "LuGre": (
        LuGre(2000.0, 30.0, 0.04, 0.15, 0.1, 0.001),
        [-0.005145650935835897132524219, -0.1923713801355578198083251, -5e-5],
        [0.07090877693907863346427, 0.1426230084811181397109],
    ),
}


@pytest.mark.parametrize("rtol", [1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12])
@pytest.mark.parametrize("name", FOUND)
def test_thirty_digits(name, rtol):
    law, state, turns = FOUND[name]
    chain = st.Chain(mass=[1.0], stiffness=2000.0, law=law, x0=0.01)
    run = st.solve(chain, Radau(rtol), (0.0, 0.2), save=2)
    found = [run.final[key][0] for key in ("x", "v", "deflection")]
    assert np.abs(np.array(found) - state) / [0.01, 0.4, 1e-4] == pytest.approx(0.0, abs=1e-9)
    assert run.event_log.time == pytest.approx(turns, abs=1e-10)


@pytest.mark.parametrize("draw", [9, 12])
def test_loose_tolerances_see_the_stribeck_curve(draw):
    """Where slip turns round between two looks at a step: other laws, masses, belts and starts."""
    rng = np.random.default_rng(4)
    for _ in range(draw + 1):
        n = int(rng.integers(1, 4))
        scale, power = 10.0 ** rng.uniform(-4, -2, n), float(rng.choice([1, 2]))
        law = LuGre(2000.0, 30.0, 0.04, float(rng.uniform(0.12, 0.3)), 0.1, scale, power)
        start, belt = float(rng.choice([0.0, 5.0])), float(rng.choice([0.0, 0.05]))
        mass, x0 = rng.uniform(0.5, 2.0, n), 0.01 * rng.uniform(0.5, 1.5, n)
        chain = st.Chain(mass=mass, stiffness=2000.0, law=law, x0=x0, belt_speed=belt)
    span = (start, start + 0.15)
    ends = [st.solve(chain, Radau(rtol), span, save=2).final for rtol in (1e-12, 1e-8)]
    for name, size in (("x", 0.01), ("v", 0.4)):
        assert np.abs(ends[0][name] - ends[1][name]).max() < 1e-9 * size
