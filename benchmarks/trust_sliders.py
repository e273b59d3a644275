"""Ledger and Newton iterations of round sliders on waves, by virtual work.

A half disc is pressed on a crest of a wavy block and dragged along it, with adhesion and friction
that acts under tension. The closest-point projection jumps from crest to crest, and most cells
meet several elements of the partner. Twelve sliders vary radius, ratio of the meshes, pressure and
which body owns the integral; twelve more are drawn by a seed, with units, frames and orders of the
bodies. `drag` with two distances closes a cycle.

The campaign asks for 1e-7, which 21 of the 24 miss: at the default `work_tolerance` the work
integrals end at their bound of evaluations in most steps, and ledgers close to 5e-8 to 6e-6.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tally import Tally

import stiction as st
from stiction import solids as so

WAVES, HIGH, LEDGER = 3, 0.25, 1e-7


@dataclass(frozen=True)
class Slider:
    """One slider.

    Parameters
    ----------
    radius : of the disc, in wave lengths
    cells : elements a wave
    mesh : elements of the half disc along the top of its core, along its sides, across its ring
    press : depth over the wave length
    exchange : whether the waves own the integral
    swap : whether the waves are the first body
    angle, unit : of the frame [rad], wave length [m]
    drag : distances dragged, in wave lengths, one after another
    steps : load steps while pressing, and for each distance
    """

    radius: float = 0.3
    cells: int = 20
    mesh: tuple[int, int, int] = (6, 3, 3)
    press: float = 0.05
    exchange: bool = False
    swap: bool = False
    angle: float = 0.0
    unit: float = 1.0
    drag: tuple[float, ...] = (1.0,)
    steps: int = 8


TWELVE = (
    Slider(0.2),
    Slider(0.3),
    Slider(0.45),
    Slider(0.4),
    Slider(0.3, cells=14),
    Slider(0.35, cells=26, press=0.08),
    Slider(0.3, exchange=True),
    Slider(0.4, cells=14, exchange=True),
    Slider(0.3, cells=30, mesh=(12, 7, 3)),
    Slider(0.4, cells=8, mesh=(4, 3, 2), steps=4),
    Slider(0.4, cells=8, mesh=(4, 3, 2), steps=4, exchange=True),
    Slider(0.4, exchange=True),
)


def drawn(seed: int, many: int = 12) -> tuple[Slider, ...]:
    """Return random sliders: ratios of meshes, frames, units and orders."""
    random = np.random.default_rng(seed)
    return tuple(
        Slider(
            random.uniform(0.2, 0.45),
            int(random.integers(8, 27)),
            (int(random.integers(3, 9)), int(random.integers(2, 5)), 2),
            random.uniform(0.03, 0.08),
            bool(random.integers(2)),
            bool(random.integers(2)),
            random.uniform(-np.pi, np.pi),
            10.0 ** random.uniform(-6.0, 3.0),
        )
        for _ in range(many)
    )


def solid_of(slider: Slider) -> so.Solid:
    """Return both bodies, their contact and the path of the slider."""
    unit = slider.unit
    law = st.LennardJones.from_strength(0.05, 2e-3 * unit)
    turn = np.array(
        [
            [np.cos(slider.angle), np.sin(slider.angle)],
            [-np.sin(slider.angle), np.cos(slider.angle)],
        ]
    )
    low = so.block(
        lambda s, t: (
            WAVES * (s - 0.5),
            (t - 1.0) * 1.0 + t * HIGH * (np.cos(2.0 * np.pi * WAVES * (s - 0.5)) - 1.0),
        ),
        (WAVES * slider.cells, 3),
    )
    top, side, across = slider.mesh
    disc = so.rotated(so.half_disc(slider.radius, (top, side), across))
    disc = disc.moved((0.0, slider.radius + law.gap_eq / unit))
    meshes = [replace(mesh, points=unit * mesh.points @ turn) for mesh in (disc, low)]
    bodies = [so.Body(mesh, so.Q1N2(), so.NeoHookean(1.0, 0.3)) for mesh in meshes]
    first, second = (1, 0) if slider.swap else (0, 1)
    sides = [so.Boundary(first, "arc"), so.Boundary(second, "top")]
    if slider.exchange:
        sides = sides[::-1]
    contact = so.Contact(*sides, law, st.EA(0.3), passes="mortar")
    places = np.concatenate([[[0.0, 0.0]], [[0.0, -slider.press]] * (1 + len(slider.drag))])
    places[2:, 0] = np.cumsum(slider.drag)
    places = unit * places @ turn
    times = np.arange(len(places), dtype=float)
    base = so.Boundary(first, "base")
    held = [so.Driven(base, i, so.Program(times, places[:, i])) for i in (0, 1)]
    held.append(so.Fixed(so.Boundary(second, "bottom")))
    return so.Solid(bodies[:: -1 if slider.swap else 1], [contact], held, dimensionless=True)


def measured(slider: Slider, **settings: Any) -> dict[str, Any]:
    """Return ledger, counts and energies of a run."""
    legs = 1 + len(slider.drag)
    method = so.Quasistatic(steps=slider.steps * legs, **settings)
    began = time.process_time()
    run = st.solve(solid_of(slider), method, (0.0, float(legs)), throw=False)
    columns = run.energy.columns()
    scale = run.energy.scale
    return {
        "status": run.status.name,
        "ledger": run.energy.imbalance_rel,
        "iterations": run.stats["newton_iterations"],
        "cuts": run.stats["step_cuts"],
        "losses": len(run.determinism.losses),
        "failed": sorted(check.check for check in run.audit.failed),
        "heat": float(columns["friction_heat"][-1]) / slider.unit**2,
        "stored": float(columns["stored"][-1]) / slider.unit**2,
        "unbalanced": float(abs(run.data.unbalanced_work.values).max()) / scale,
        "seconds": time.process_time() - began,
    }


def campaign(seed: int = 0, many: int = 12) -> tuple[str, int]:
    """Run the twelve sliders and those of a seed; the ledger must close to 1e-5."""
    tally = Tally()
    for slider in (*TWELVE[:many], *drawn(seed, many)):
        reported = measured(slider)
        print(json.dumps(reported), flush=True)
        tally.add("Newton iterations", reported["iterations"])
        tally.add("cuts", reported["cuts"])
        tally.most("ledger", reported["ledger"])
        tally.must(reported["status"] == "SOLVED", "not solved", slider)
        tally.must(reported["ledger"] <= LEDGER, "open", slider, reported["ledger"])
    return tally.result()


if __name__ == "__main__":
    print(campaign()[0])
