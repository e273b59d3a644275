"""A small run written by hand, so that these tests need no solver."""

import dataclasses
import json

import numpy as np
import pytest

from stiction.chains import Chain, Ramp
from stiction.chains.methods import EventDriven
from stiction.core.audit import Audit, Check
from stiction.core.determinism import Determinism, Loss
from stiction.core.events import EventLog
from stiction.core.ledger import Ledger
from stiction.core.run import Quantity, Run, Variable
from stiction.errors import Status
from stiction.io.output import OUTPUT
from stiction.laws import Coulomb


def write_run(n=3, n_time=5, **changes):
    """Return a run of `n` masses whose numbers fill every digit."""
    time = np.linspace(0.0, 8.0, n_time)
    x = np.sqrt(np.arange(1.0, n_time * n + 1.0)).reshape(n_time, n)
    heat = np.cumsum(x, axis=0) / 3.0
    kinetic = np.linspace(0.0, 1.0 / 3.0, n_time)
    run = Run(
        output=OUTPUT,
        system=Chain(mass=np.ones(n) / 3.0, stiffness=20.0, load=Ramp(1.0), law=Coulomb(0.25)),
        method=EventDriven(),
        system_name="Chain",
        method_name="EventDriven",
        status=Status.SOLVED,
        reason="",
        t_end=8.0,
        time=time,
        variables={
            "x": Variable(x, ("time", "mass"), "m", "displacement"),
            "mode": Variable(np.sign(x).astype(np.int8), ("time", "mass"), "1", "mode"),
            "load": Variable(time / 7.0, ("time",), "N", "load f(t)"),
            "link_stiffness": Variable(np.full(n + 1, 20.0), ("link",), "N/m", "stiffness"),
        },
        final={"x": x[-1], "v": np.zeros(n)},
        event_log=EventLog(
            time=np.array([0.1, 0.1 + 0.2, 8.0 / 3.0]),
            contact=np.array([3, 1, 0]),
            before=("stick", "slip+", "stick"),
            after=("slip+", "slip-", "stick"),
            kind=("slip", "reverse", "stop"),
            columns={"x": np.array([0.0, 1.0 / 3.0, np.nan]), "v": np.array([0.0, -0.0, np.nan])},
            units={"x": "m", "v": "m/s"},
        ),
        energy=Ledger(
            time=time,
            kinetic=kinetic,
            stored=2.0 * kinetic,
            external_work=3.0 * kinetic + heat.sum(axis=1) - heat[0].sum(),
            friction_heat=heat - heat[0],
            step_imbalance_rel=1e-16,
        ),
        determinism=Determinism((Loss(1.5, "grazing_onset", {"contact": 2}, "stuck on"),)),
        audit=Audit(
            (
                Check("ledger_closes", True, 1e-16, 1e-9, None, "largest imbalance"),
                Check("made_up", False, np.float64(2.0) / 3.0, 0.5, 1.25, "what it means"),
            )
        ),
        quantities={
            "onset_time": Quantity(
                [0.1 + i for i in range(n - 1)] + [None], "s", "first slip", "never slipped"
            ),
            "stop_time": Quantity(8.0 / 3.0, "s", "time from which all masses stick for good"),
            "word": Quantity("lower corner", "", "a name"),
        },
        stats={"steps": 17, "solves_per_step": 1.0625},
        provenance={"stiction": "0.1.0", "wall_s": 0.25},
        citations=("chains",),
        asked=time,
        size=f"{n} masses",
    )
    return dataclasses.replace(run, **changes)


@pytest.fixture
def make_run():
    return write_run


@pytest.fixture
def run():
    return write_run()


def _without_digests(folder):
    """Make a saved run like one of an earlier version."""
    summary = json.loads((folder / "summary.json").read_text())
    del summary["files"], summary["digest"]
    (folder / "summary.json").write_text(json.dumps(summary))


@pytest.fixture
def without_digests():
    return _without_digests
