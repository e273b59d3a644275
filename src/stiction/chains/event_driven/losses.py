"""Which touches are losses of determinism, and what saved states say of the solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.chains.audit import slip_line, stick_line, stick_shares
from stiction.chains.model import Chain
from stiction.core.audit import Check
from stiction.core.determinism import Loss

__all__ = ["response", "state_checks", "touch_losses"]

Floats = npt.NDArray[np.float64]

_ONSET = "its drive reached the static bound and turned back"
_SLIP = "its slip rate touched zero where friction could hold it"


def touch_losses(chain: Chain, touches: npt.NDArray[Any]) -> list[Loss]:
    """Return the losses among touches of a run, in their order.

    With a jump in friction every touch leaves two futures. Friction that falls by L over the speed
    leaves one, but motions part like exp(L N t / m): a touch undecided for longer than m / (L N) is
    decided by rounding, as with a jump. Any other touch leads nowhere.

    Parameters
    ----------
    touches : rows of `Events.touch`

    Source: Bossolini, Broens, Kristiansen, arXiv 1703.08437: slip onset as a canard.
    Verified by: tests/unit/chains/event_driven/test_grazing.py::test_weakening_as_sharp_as_a_jump
    """
    if touches.size == 0:
        return []
    from stiction.chains.event_driven.state import OF_SLIP

    fall = -chain.friction.slope(np.zeros(chain.n_mass))
    losses = []
    for touch in touches:
        i = int(touch["mass"])
        sharp = fall[i] * chain.normal_forces[i] / chain.masses[i]
        if not chain.law.has_jump and not sharp * touch["length"] > 1.0:
            continue
        slid = touch["kind"] == OF_SLIP
        went = touch["slips"] == 1 if chain.law.has_jump else slid
        taken = "slipped on" if slid and went else "slipped" if went else "stuck"
        if not slid and not went:
            taken = "kept sticking"
        losses.append(
            Loss(
                float(touch["time"]),
                "grazing_slip" if slid else "grazing_onset",
                {"contact": i + 1},
                f"the mass {taken}; {_SLIP if slid else _ONSET}",
            )
        )
    return losses


def response(chain: Chain) -> Floats:
    """Return (n,) times [s] in which a force moves each mass as far as its springs let it."""
    k, c, m = chain.link_stiffness, chain.link_damping, chain.masses
    rate = np.sqrt((k[:-1] + k[1:] + chain.plate_springs) / m) + (c[:-1] + c[1:]) / m
    return np.asarray(1.0 / np.maximum(rate, np.finfo(float).tiny))


def _rounding(chain: Chain, kept: dict[str, npt.NDArray[Any]]) -> Floats:
    """Return (n,) forces [N] that rounding leaves of the largest ones on each mass."""
    k, edge = chain.link_stiffness, np.zeros(1)
    far = np.concatenate([edge, np.abs(kept["x"]).max(axis=0), edge])
    force = k[:-1] * (far[:-2] + far[1:-1]) + k[1:] * (far[1:-1] + far[2:])
    force += chain.plate_springs * (far[1:-1] + np.abs(chain.plate_speed * kept["time"][-1]))
    force += np.abs(chain.load_shares) * np.abs(chain.load.at(kept["time"])).max()
    return np.asarray(np.maximum(1e-12 * force, np.finfo(float).tiny))


def state_checks(chain: Chain, kept: dict[str, npt.NDArray[Any]]) -> list[Check]:
    """Return what can be verified of the saved states without trusting the solver."""
    friction, mode, bound = kept["friction"], kept["mode"], chain.stick_bound
    share = stick_shares(friction, mode, bound)
    if not stick_line(share.max()).holds:
        # what holds nothing, or little beside its springs, is at rest to rounding
        share = stick_shares(friction, mode, np.maximum(bound, _rounding(chain, kept)))
    worst = np.unravel_index(np.argmax(share), share.shape)
    slip = kept["v"] - chain.belt_speed
    moves = slip_line(slip, mode)
    if not moves.holds:
        # where nothing moves but rounding, the speed that its forces make
        speed = _rounding(chain, kept) / chain.masses * response(chain)
        moves = slip_line(slip, mode, float(np.max(speed)))
    held = stick_line(share[worst], float(kept["time"][worst[0]]))
    return [held.of_run(), moves.of_run()]
