"""Times of response, forces of rounding and words of touches, for chains given by their numbers."""

from types import SimpleNamespace

import numpy as np
import pytest

import stiction as st
from stiction.chains.event_driven import losses
from stiction.chains.event_driven.state import OF_SLIP

pytestmark = pytest.mark.usefixtures("plain_kernels")


def chain(**change):
    given = {
        "n_mass": 2,
        "link_stiffness": np.array([4.0, 5.0, 1.0]),
        "link_damping": np.array([0.5, 1.5, 2.5]),
        "masses": np.array([1.0, 0.5]),
        "plate_springs": np.array([7.0, 2.0]),
        "plate_speed": 0.25,
        "load_weights": np.array([0.5, -1.0]),
        "load": SimpleNamespace(at=lambda t: -3.0 * np.asarray(t)),
        "normal_forces": np.array([10.0, 20.0]),
        "law": SimpleNamespace(has_jump=False),
        "friction": SimpleNamespace(slope=lambda v: np.array([-0.2, -0.4])),
    }
    return SimpleNamespace(**given | change)


def test_times_of_response():
    """1 / (sqrt(k / m) + c / m), with the springs and dampers on both sides."""
    wanted = [1.0 / (np.sqrt(16.0) + 2.0), 1.0 / (np.sqrt(8.0 / 0.5) + 4.0 / 0.5)]
    assert losses.response(chain()) == pytest.approx(wanted, rel=1e-14)
    free = chain(link_stiffness=np.zeros(3), link_damping=np.zeros(3), plate_springs=np.zeros(2))
    assert losses.response(free) == pytest.approx([1.0 / np.finfo(float).tiny] * 2)


@pytest.mark.parametrize("times", [[0.0, 8.0], [-8.0, 0.0]])
def test_forces_of_rounding(times):
    """A part in 10^12 of all forces on a mass, were springs pulled as far as they ever are."""
    saved = {"x": np.array([[0.0, -3.0], [2.0, 1.0]]), "time": np.array(times)}
    moved = 0.25 * 8.0
    first = 4.0 * 2.0 + 5.0 * 5.0 + 7.0 * (2.0 + moved) + 0.5 * 24.0
    second = 5.0 * 5.0 + 1.0 * 3.0 + 2.0 * (3.0 + moved) + 1.0 * 24.0
    found = losses._rounding(chain(), saved)
    assert found == pytest.approx([1e-12 * first, 1e-12 * second], rel=1e-13)


def touches(*rows):
    """Return rows of mass, kind, whether it slips on, length, time."""
    kinds = [("mass", int), ("kind", int), ("slips", int), ("length", float), ("time", float)]
    return np.array(list(rows), dtype=kinds)


OTHER = OF_SLIP + 1


@pytest.mark.parametrize(
    ("kind", "slips", "name", "words"),
    [
        (OF_SLIP, 1, "grazing_slip", "the mass continued to slip; the slip rate of the mass"),
        (OF_SLIP, 0, "grazing_slip", "the mass started to stick; the slip rate of the mass"),
        (OTHER, 1, "grazing_onset", "the mass started to slip; the force on the mass reached"),
        (OTHER, 0, "grazing_onset", "the mass continued to stick; the force on the mass reached"),
    ],
)
def test_grazings_under_a_jump_are_losses(kind, slips, name, words):
    jumps = chain(law=SimpleNamespace(has_jump=True))
    (loss,) = losses.grazing_losses(jumps, touches((1, kind, slips, 0.0, 2.5)))
    assert (loss.time, loss.kind, loss.where) == (2.5, name, {"contact": 2})
    assert loss.choice.startswith(words)


@pytest.mark.parametrize(
    ("mass", "length", "lost"),
    [
        # the fall of the coefficient times N / m: 0.2 10 / 1 and 0.4 20 / 0.5 per second
        (0, 0.51, True), (0, 0.49, False), (1, 0.0626, True), (1, 0.0624, False),
    ],
)  # fmt: skip
def test_long_grazings_under_weakening_are_losses(mass, length, lost):
    found = losses.grazing_losses(chain(), touches((mass, OF_SLIP, 0, length, 1.0)))
    assert len(found) == lost
    if lost:
        # without a jump friction says itself what happens
        assert found[0].choice.startswith("the mass continued to slip")
    assert losses.grazing_losses(chain(), touches()) == []


def saved_of(run):
    names = ("x", "v", "friction", "mode")
    return {"time": run.time, **{name: run.variables[name].values.copy() for name in names}}


def test_audit_of_saved_states():
    system = st.Chain(
        mass=[1.0, 2.0], stiffness=20.0, load=st.Ramp(rate=1.0), law=st.Coulomb(mu=0.25)
    )
    run = st.solve(system, t_span=(0.0, 4.0), save=50)
    saved = saved_of(run)
    stick, slip = losses.state_checks(system, saved)
    assert stick.ok
    assert slip.ok
    # a force beyond the bound, and a mass that moves while it sticks
    at = np.argwhere(saved["mode"] == 0)[3]
    saved["friction"][tuple(at)] = 1.5 * system.stick_bound[at[1]]
    stick, _ = losses.state_checks(system, saved)
    assert not stick.ok
    assert stick.value == pytest.approx(1.5)
    assert stick.time == saved["time"][at[0]]
    saved = saved_of(run)
    saved["v"][tuple(at)] = 1e-3
    assert not losses.state_checks(system, saved)[1].ok
