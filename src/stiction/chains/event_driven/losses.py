"""Losses of determinism at grazing events, and the audit of saved states.

A slip rate grazes zero, or a stick force grazes the static bound, if it comes within its rounding
error of the threshold and turns back. Under friction with a jump stick and slip are then both
admissible. `saved` has the arrays of `event_driven.state.Saved` by name: states x, v, modes (-1, 0,
1) and friction forces (m, n) at m save times. The caller is `event_driven.run`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.chains.audit import slip_line, stick_line, stick_ratios
from stiction.chains.model import Chain
from stiction.core.audit import Check
from stiction.core.determinism import Loss

__all__ = ["grazing_losses", "response", "state_checks"]

Floats = npt.NDArray[np.float64]

_ONSET = "the force on the mass reached the static bound and then decreased"
_SLIP = "the slip rate of the mass reached zero while friction could hold the mass"
# by whether the mass slipped before, and afterwards
_CONTINUATIONS = {
    (True, True): "continued to slip",
    (True, False): "started to stick",
    (False, True): "started to slip",
    (False, False): "continued to stick",
}


def grazing_losses(chain: Chain, grazings: npt.NDArray[Any]) -> list[Loss]:
    """Return the losses of determinism among the grazings of a run, in order of time.

    With a jump in friction every grazing has two admissible continuations. Friction that weakens
    at the rate L = -mu'(0) has one, but neighbouring motions diverge like exp(L N t / m). A grazing
    that stays within its error for longer than m / (L N) is reported: from there on errors grow by
    more than e. Other grazings are harmless.

    Parameters
    ----------
    grazings : elements of `Events.grazing`

    Source: Bossolini, Broens, Kristiansen, arXiv 1703.08437: slip onset as a canard.
    Verified by: tests/unit/chains/event_driven/test_grazing.py::test_weakening_as_sharp_as_a_jump
    """
    if grazings.size == 0:
        return []
    from stiction.chains.event_driven.state import OF_SLIP

    # L of each mass, and for each grazing the growth rate L N / m of a perturbation
    fall = -chain.friction.slope(np.zeros(chain.n_mass))
    losses = []
    for grazing in grazings:
        i = int(grazing["mass"])
        sharp = fall[i] * chain.normal_forces[i] / chain.masses[i]
        if not chain.law.has_jump and not sharp * grazing["length"] > 1.0:
            continue
        slid = grazing["kind"] == OF_SLIP
        went = grazing["slips"] == 1 if chain.law.has_jump else slid
        continuation = _CONTINUATIONS[bool(slid), bool(went)]
        losses.append(
            Loss(
                float(grazing["time"]),
                "grazing_slip" if slid else "grazing_onset",
                {"contact": i + 1},
                f"the mass {continuation}; {_SLIP if slid else _ONSET}",
            )
        )
    return losses


def response(chain: Chain) -> Floats:
    """Return (n,) response times [s]: 1 / (sqrt(k/m) + c/m) of the links at each mass."""
    k, c, m = chain.link_stiffness, chain.link_damping, chain.masses
    rate = np.sqrt((k[:-1] + k[1:] + chain.plate_springs) / m) + (c[:-1] + c[1:]) / m
    return np.asarray(1.0 / np.maximum(rate, np.finfo(float).tiny))


def _rounding(chain: Chain, saved: dict[str, npt.NDArray[Any]]) -> Floats:
    """Return (n,) rounding errors [N] of the forces on each mass, from their largest terms.

    `saved` has the fields of `event_driven.state.Saved`.
    """
    k, edge = chain.link_stiffness, np.zeros(1)
    far = np.concatenate([edge, np.abs(saved["x"]).max(axis=0), edge])
    force = k[:-1] * (far[:-2] + far[1:-1]) + k[1:] * (far[1:-1] + far[2:])
    force += chain.plate_springs * (far[1:-1] + np.abs(chain.plate_speed * saved["time"]).max())
    force += np.abs(chain.load_weights) * np.abs(chain.load.at(saved["time"])).max()
    return np.asarray(np.maximum(1e-12 * force, np.finfo(float).tiny))


def state_checks(chain: Chain, saved: dict[str, npt.NDArray[Any]]) -> list[Check]:
    """Return audit lines computed from the saved states alone.

    Stuck masses stay within their static bound, and friction opposes slip.
    """
    friction, mode, bound = saved["friction"], saved["mode"], chain.stick_bound
    ratio = stick_ratios(friction, mode, bound)
    if not stick_line(ratio.max()).holds:
        # a bound that is small beside the spring forces is exact only up to their rounding
        ratio = stick_ratios(friction, mode, np.maximum(bound, _rounding(chain, saved)))
    worst = np.unravel_index(np.argmax(ratio), ratio.shape)
    slip = saved["v"] - chain.belt_speed
    slip_check = slip_line(slip, mode)
    if not slip_check.holds:
        # the limit is the speed that rounding of the forces causes
        speed = _rounding(chain, saved) / chain.masses * response(chain)
        slip_check = slip_line(slip, mode, float(np.max(speed)))
    bound_line = stick_line(ratio[worst], float(saved["time"][worst[0]]))
    return [bound_line.of_run(), slip_check.of_run()]
