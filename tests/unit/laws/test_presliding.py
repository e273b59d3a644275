"""Laws without stick at constant speed, where they have closed forms, and what they refuse."""

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.laws import BoucWen, Dahl, ElastoPlastic, LuGre


def driven(law, speed, t_end, rows=41):
    """Return times and deflections of a contact that slips at constant speed: it is heavy."""
    chain = st.Chain(mass=[1e15], stiffness=1e-9, law=law, v0=speed, normal_force=1.0)
    run = st.solve(chain, st.chains.Radau(rtol=1e-12), (0.0, t_end), save=rows)
    assert run.audit.ok
    return run.time, run.data["deflection"].values[:, 0], run


@pytest.mark.parametrize("speed", [0.01, -3.0])
@pytest.mark.parametrize("start", [0.0, 1.2e-5])
def test_dahl_against_its_closed_form(speed, start):
    sigma, mu, s = 1e4, 0.3, np.sign(speed)
    t, z, _ = driven(Dahl(sigma, mu, 1, start), speed, 1.5e-4 / abs(speed))
    slip = sigma * abs(speed) * t / mu
    full = s * mu / sigma
    assert z == pytest.approx(full + (start - full) * np.exp(-slip), abs=1e-8 * mu / sigma)
    # power 2: 1 - sigma z s / mu falls as 1 / (1 + its start times the slip)
    t, z, _ = driven(Dahl(sigma, mu, 2, start), speed, 1.5e-4 / abs(speed))
    left = 1.0 - sigma * start * s / mu
    assert z == pytest.approx(full * (1.0 - left / (1.0 + left * slip)), abs=1e-8 * mu / sigma)


@pytest.mark.parametrize("speed", [2e-4, -0.05])
@pytest.mark.parametrize("power", [1, 2])
def test_lugre_at_constant_speed(speed, power):
    law = LuGre(1e4, 31.6, 0.04, 0.15, 0.1, 1e-3, power)
    g = 0.1 + 0.05 * np.exp(-((abs(speed) / 1e-3) ** power))
    t, z, run = driven(law, speed, 5e-5 / abs(speed))
    decay = np.exp(-1e4 * abs(speed) * t / g)
    exact = np.sign(speed) * g / 1e4 * (1.0 - decay)
    assert z == pytest.approx(exact, abs=1e-8 * 1.5e-5)
    friction = run.data["friction"].values[:, 0]
    rate = speed * decay
    assert friction == pytest.approx(-(1e4 * exact + 31.6 * rate + 0.04 * speed), rel=1e-8)


@pytest.mark.parametrize("speed", [0.01, -2.0])
def test_bouc_wen_against_its_closed_form(speed):
    s = np.sign(speed)
    slip_end = 2e-4
    t, z, _ = driven(BoucWen(1e4, 0.9, 2e4, 1e4, 1), speed, slip_end / abs(speed))
    slip = abs(speed) * t
    assert z == pytest.approx(s * 0.9 / 3e4 * (1.0 - np.exp(-3e4 * slip)), abs=1e-8 * 3e-5)
    t, z, _ = driven(BoucWen(1e4, 0.9, 2e9, 1e9, 2), speed, slip_end / abs(speed))
    most = np.sqrt(0.9 / 3e9)
    assert z == pytest.approx(s * most * np.tanh(0.9 * abs(speed) * t / most), abs=1e-8 * most)


def test_elastic_contacts_do_not_creep():
    """A load that vibrates below the elastic share: LuGre's contact moves, Dupont's does not."""
    load = st.chains.SumOf([st.Constant(0.5), st.chains.Sine(0.15, 30.0)])
    numbers = (1e4, 31.6, 0.04, 0.15, 0.1, 1e-3)
    crept = []
    for law in (LuGre(*numbers), ElastoPlastic(*numbers, elastic_share=0.9)):
        chain = st.Chain(mass=[1.0], stiffness=1e-6, law=law, load=load)
        run = st.solve(chain, st.chains.Radau(rtol=1e-8), (0.0, 0.6), save=3)
        crept.append(abs(run.quantities["creep"].value[0]))
    assert crept[0] > 1e-8
    assert crept[1] < 1e-16


def test_passive_bristles_give_nothing_back():
    """Bristles of 1e5 random states heat where the bound says so, and need not beyond it."""
    rng = np.random.default_rng(1)
    for sigma2, passive in ((20.0, True), (0.0, False)):
        law = LuGre(1e4, 31.6, sigma2, 0.15, 0.1, 1e-3)
        assert (law.passive_below() <= 0.0) == passive
        w, z = rng.normal(size=100_000) * 0.1, rng.uniform(-1.5e-5, 1.5e-5, (1, 100_000))
        p = [row.item() for row in law.parameters(1)]
        answer = law.response(w, z, np.sign(w)[None], p)
        heat = answer.coefficient * w - answer.storing
        assert (heat.min() >= 0.0) == passive


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Dahl(0.0, 0.3), "sigma0"),
        (lambda: Dahl(1e4, 0.3, 1.5), "branch point"),
        (lambda: Dahl(1e4, 0.3, 1, 1.0), "slips already"),
        (lambda: LuGre(1e4, 1.0, 0.0, 0.1, 0.2, 1e-3), "mu_static >= mu_kinetic"),
        (lambda: LuGre(1e4, -1.0, 0.0, 0.2, 0.1, 1e-3), "sigma1"),
        (lambda: LuGre(1e4, 1.0, 0.0, 0.2, 0.1, 1e-3, 3), "power"),
        (lambda: ElastoPlastic(1e4, 1.0, 0.0, 0.2, 0.1, 1e-3, 2, 1.0), "below 1"),
        (lambda: BoucWen(1e4, 1.0, 1.0, 2.0), "gives back more energy"),
        (lambda: BoucWen(1e4, 1.0, 1.0, -1.0), "finite limit"),
        (lambda: BoucWen(1e4, 1.0, 1.0, 0.0, 2.5), "branch point"),
    ],
)
def test_wrong_numbers_are_refused(make, words):
    with pytest.raises(ModelError, match=words):
        make()
