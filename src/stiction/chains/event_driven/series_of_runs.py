"""Many runs of chains of one size: buffers, and what the chains share, are made once.

A run of three masses takes a tenth of a millisecond in its kernels, and several times as much to
be described, checked and given its arrays. Here the arrays stay, and a chain that differs from the
one before in its friction coefficient alone is not described again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stiction.chains.event_driven.run import Solver
from stiction.chains.model import Chain
from stiction.laws.coulomb import Coulomb
from stiction.methods import EventDriven
from stiction.results.run import Request, Run

__all__ = ["runs_of"]

_SHARED = (
    "masses",
    "x_start",
    "v_start",
    "plate_springs",
    "link_stiffness",
    "link_damping",
    "load_shares",
    "normal_forces",
)


def runs_of(
    chain: Chain, method: EventDriven, request: Request, paths: Sequence[str]
) -> Callable[[Sequence[Any]], Run] | None:
    """Return what solves `chain` with other values at `paths`; None where it must be made anew.

    The runs are those of `solve_event_driven`, to the last bit. Their arrays are written over by
    the next one.

    Parameters
    ----------
    paths : of fields of the chain; only the coefficient of Coulomb's law is changed in place

    Verified by: tests/unit/chains/event_driven/test_series_of_runs.py::test_same_as_single_runs
    """
    if tuple(paths) != ("law.mu",) or type(chain.law) is not Coulomb or type(chain) is not Chain:
        return None
    if np.ndim(chain.law.mu) or method.policy is not None:
        return None
    names = [f.name for f in dataclasses.fields(chain)]
    # arrays that the law does not change
    fields = {name: getattr(chain, name) for name in (*names, *_SHARED)}
    solver = Solver(method, chain, request)

    def run(values: Sequence[Any]) -> Run:
        # everything but the law was checked when the first chain was made
        other: Chain = object.__new__(Chain)
        other.__dict__.update(fields)
        other.__dict__["law"] = Coulomb(float(values[0]))
        solver.begin_again(other)
        return solver.run()

    return run
