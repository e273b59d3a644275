"""Which touches are losses of determinism, and what the run says of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain
from stiction.results.determinism import Loss

__all__ = ["touch_losses"]

Floats = npt.NDArray[np.float64]

_ONSET = "its drive reached the static bound and turned back"
_SLIP = "its slip rate touched zero where friction could hold it"


def touch_losses(chain: Chain, touches: Floats) -> list[Loss]:
    """Return the losses among touches of a run, in their order.

    With a jump in friction every touch leaves two futures. Friction that falls by L over the speed
    leaves one, but motions part like exp(L N t / m): a touch undecided for longer than m / (L N) is
    decided by rounding, as with a jump. Any other touch leads nowhere.

    Parameters
    ----------
    touches : (m, N_COLUMN) rows of `Events.touch`

    Source: Bossolini, Broens, Kristiansen, arXiv 1703.08437: slip onset as a canard.
    Verified by: tests/unit/chains/event_driven/test_touches.py::test_weakening_as_sharp_as_a_jump
    """
    if touches.size == 0:
        return []
    from stiction.chains.event_driven import state as er

    fall = -chain.friction.slope(np.zeros(chain.n_mass))
    losses = []
    for row in touches:
        i = int(row[er.MASS])
        sharp = fall[i] * chain.normal_forces[i] / chain.masses[i]
        if not chain.law.has_jump and not sharp * row[er.LENGTH] > 1.0:
            continue
        slid = row[er.KIND] == er.OF_SLIP
        went = row[er.TAKEN] != 0.0 if chain.law.has_jump else slid
        taken = "slipped on" if slid and went else "slipped" if went else "stuck"
        if not slid and not went:
            taken = "kept sticking"
        losses.append(
            Loss(
                float(row[er.AT]),
                "grazing_slip" if slid else "grazing_onset",
                {"contact": i + 1},
                f"the mass {taken}; {_SLIP if slid else _ONSET}",
            )
        )
    return losses
