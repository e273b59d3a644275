"""Replays of random chains: none may call an honest run wrong, each damage must be seen."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
from tally import Tally
from trust_theta import LAWS, draw

import stiction as st
from stiction.chains.event_driven import run as solver
from stiction.chains.outcome import ChainHistory
from stiction.chains.replay.compare import replay_check


def chain_of(rng: np.random.Generator) -> tuple[st.Chain, float]:
    """Return a random chain and a time span; units, walls, belts, plates and laws vary."""
    case = draw(rng, str(rng.choice(LAWS)))
    chain, second, force = case.chain, case.length / case.speed, case.chain.normal_forces.mean()
    if rng.random() < 0.1:
        a, b = float(rng.uniform(0.05, 0.6)), max(case.speed, 1e-2)
        law = st.UserFriction(
            lambda v: a * (0.5 + 0.5 / (1 + v / b)), lambda v: -0.5 * a / b / (1 + v / b) ** 2
        )
        chain = dataclasses.replace(chain, law=law)
    if rng.random() < 0.1:
        load = st.UserLoad(lambda t: 0.5 * force * float(np.sin(t / second) ** 3))
        chain = dataclasses.replace(chain, load=load)
    return chain, 2.0 * case.t_end


def damages(h: ChainHistory, rng: np.random.Generator) -> dict[str, ChainHistory]:
    """Return a history with one fault each."""
    e, out = h.events, {}
    if len(e.time) > 0:
        at = int(rng.integers(len(e.time)))
        time_, after = e.time.copy(), e.after.copy()
        gap = 1e-5 * (h.time[-1] - h.time[0])
        time_[at] += gap
        out["time"] = dataclasses.replace(h, events=dataclasses.replace(e, time=time_))
        after[at] = {1: -1, -1: 1, 0: 1}[int(after[at])]
        out["mode"] = dataclasses.replace(h, events=dataclasses.replace(e, after=after))
        keep = np.arange(len(e.time)) != at
        fields = {f.name: getattr(e, f.name)[keep] for f in dataclasses.fields(e)}
        out["skipped"] = dataclasses.replace(h, events=type(e)(**fields))
    trajectory = h.trajectory
    moves = np.flatnonzero(
        trajectory.mode[:-1].any(axis=1) & (np.diff(trajectory.time) > 1e-9 * h.time[-1])
    )
    if moves.size:
        k = int(moves[rng.integers(moves.size)])
        mode, x, v = trajectory.mode.copy(), trajectory.x.copy(), trajectory.v.copy()
        i = int(np.flatnonzero(mode[k])[0])
        mode[k, i] *= -1
        out["sign"] = dataclasses.replace(h, trajectory=dataclasses.replace(trajectory, mode=mode))
        x[k, i] += 1e-6 * np.abs(x).max()
        out["place"] = dataclasses.replace(h, trajectory=dataclasses.replace(trajectory, x=x))
        v[k, i] += 1e-6 * np.abs(v).max()
        out["speed"] = dataclasses.replace(h, trajectory=dataclasses.replace(trajectory, v=v))
    return out


def campaign(chains: int = 300, seed: int = 1) -> tuple[str, int]:
    """Replay honest runs and damaged ones."""
    rng, tally, spent, took = np.random.default_rng(seed), Tally(), 0.0, 0.0
    saved: list[ChainHistory] = []
    build = solver.build_run

    def keep(chain, method, request, history):
        saved.append(history)
        return build(chain, method, request, history)

    solver.build_run = keep
    for q in range(chains):
        chain, end = chain_of(rng)
        samples = int(rng.choice([2, 11, 1001]))
        method = st.EventDriven(max_steps=20_000)
        begin = time.perf_counter()
        run = st.solve(chain, method, (0.0, end), save=samples, throw=False)
        took += time.perf_counter() - begin
        history = saved.pop()
        tally.add("solved" if run.status.ok else "not solved")
        begin = time.perf_counter()
        found = replay_check(chain, history, history.trajectory, method.rtol)
        spent += time.perf_counter() - begin
        if found.ok is False:
            kinds = f"{type(chain.law).__name__}, {type(chain.load).__name__}"
            where = f"{found.value:.2e} at {found.time}: {found.note[:70]}"
            tally.fault("alarms", q, where, run.status.name, f"n = {chain.n_mass}, {kinds}")
            continue
        if found.ok:
            tally.most("honest value", found.value)
        for name, wrong in damages(history, rng).items():
            tally.add(f"damaged {name}")
            held = replay_check(chain, wrong, wrong.trajectory, method.rtol).ok
            tally.must(not held, f"held though damaged {name}", q)
    tally.most("seconds of solves", took)
    tally.most("seconds of replays", spent)
    return tally.result()
