"""Runs to draw, made by a few lines of NumPy so that no method has to exist.

Each step moves freely and lets friction take speed away, at most all of it: stick is exact
and the error is of first order, which is all a figure's test needs.
"""

import numpy as np
import pytest

from stiction.chains import Chain, Constant, Ramp
from stiction.chains.outcome import ChainHistory, RawEvents, build_run
from stiction.core.ledger import Ledger
from stiction.io.output import OUTPUT
from stiction.laws import Coulomb


def stepper(chain, t_end, steps, every):
    """Return a run of `chain`: `steps` equal steps, every `every`-th state saved."""
    h = t_end / steps
    bound = chain.stick_bound
    k, c = chain.link_stiffness, chain.link_damping
    share, load = chain.load_weights, np.asarray(chain.load.at(h * np.arange(steps + 1)))
    x, v = chain.x_start.copy(), chain.v_start.copy()
    mode = np.sign(v - chain.belt_speed).astype(np.int8)
    work, viscous, heat = 0.0, 0.0, np.zeros(chain.n_mass)
    saved, events = [], []
    for step in range(steps + 1):
        stretch, rate = np.diff(x, prepend=0.0, append=0.0), np.diff(v, prepend=0.0, append=0.0)
        drive = np.diff(k * stretch + c * rate) + share * load[step]
        free = v + h * drive / chain.masses - chain.belt_speed
        slip = np.sign(free) * np.maximum(np.abs(free) - h * bound / chain.masses, 0.0)
        friction = chain.masses * (slip - free) / h
        new = np.sign(slip).astype(np.int8)
        events += [
            (step * h, i, mode[i], new[i], x[i], v[i], friction[i], friction[i])
            for i in np.flatnonzero(new != mode)
        ]
        mode = new
        if step % every == 0:
            kinetic = 0.5 * np.sum(chain.masses * v * v)
            stored = 0.5 * np.sum(k * stretch**2)
            row = (step * h, x.copy(), v.copy(), mode, friction, kinetic, stored, work, viscous)
            saved.append((*row, heat.copy()))
        v_new = slip + chain.belt_speed
        viscous += h * np.sum(c * rate**2)
        work += h * load[step] * share @ v_new
        heat = heat + h * np.abs(friction * slip)
        x, v = x + h * v_new, v_new
    columns = [np.array(column) for column in zip(*saved, strict=True)]
    time, x, v, mode, friction, kinetic, stored, work, viscous, heat = columns
    energy = Ledger(time, kinetic, stored, work, heat, viscous_heat=viscous)
    raw = (
        [np.array(column) for column in zip(*events, strict=True)] if events else [np.empty(0)] * 8
    )
    raw[1] = raw[1].astype(np.int64)
    still = (mode == 0).all(axis=1)
    stop = None
    if still[-1]:
        stop = max(raw[0][raw[3] == 0], default=0.0)
    history = ChainHistory(
        time, x, v, mode.astype(np.int8), friction, RawEvents(*raw), stop, energy, {"steps": steps}
    )
    run = build_run(chain, object(), history)
    return run.completed({}, None, OUTPUT)


@pytest.fixture(scope="session")
def make_run():
    return stepper


@pytest.fixture(scope="session")
def baseline():
    chain = Chain([1.0, 1.0, 1.0], 20.0, load=Constant(10.0), law=Coulomb(0.05))
    return stepper(chain, 10.0, 10_000, 10)


@pytest.fixture(scope="session")
def ramp():
    chain = Chain([1.0, 1.0, 1.0], 20.0, load=Ramp(1.0), law=Coulomb(0.25))
    return stepper(chain, 8.0, 8_000, 8)


@pytest.fixture(scope="session")
def wave():
    law = Coulomb(0.3)
    chain = Chain(0.02, 5000.0, load=Constant(4.0), law=law, n=50, spacing=0.02)
    return stepper(chain, 0.2, 4_000, 4)


@pytest.fixture(scope="session")
def huge():
    """10 000 masses: a travelling bump of slip, made up."""
    n, time = 10_000, np.linspace(0.0, 1.0, 51)
    chain = Chain(1.0, 1e4, load=Constant(1.0), law=Coulomb(0.1), n=n)
    phase = np.linspace(1.0, 0.0, n)[None, :] - time[:, None]
    v = np.where((phase < 0.0) & (phase > -0.2), np.sin(phase * np.pi / 0.2) ** 2, 0.0)
    x = np.cumsum(v, axis=0) * time[1]
    mode = np.sign(v).astype(np.int8)
    zero = np.zeros(time.size)
    energy = Ledger(time, 0.5 * (v * v).sum(axis=1), zero, zero, 1e-3 * x)
    order = np.argsort(np.linspace(1.0, 0.0, n), kind="stable")
    at = np.linspace(0.0, 1.0, n)
    ones, none = np.ones(n, dtype=np.int64), np.zeros(n)
    raw = RawEvents(at, order, 0 * ones, ones, none, none, none, none)
    history = ChainHistory(time, x, v, mode, -0.5 * mode, raw, None, energy, {})
    return build_run(chain, object(), history).completed({}, None, OUTPUT)
