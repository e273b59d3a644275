"""Step length of the leapfrog: given by the user, or a fraction of the stability limit.

The stability limit is 2/w with the largest angular frequency w of a rod (`rods.stability`).

Source: docs/decisions/14 (fractions); docs/theory/rods, "Time integration".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stiction.errors import ModelError
from stiction.rods.contact.model import ContactSearch, RollingContact
from stiction.rods.model import Rods
from stiction.rods.stability import step_limit

if TYPE_CHECKING:
    from stiction.rods.methods import RollingLeapfrog

__all__ = ["changes_modes", "step_length"]

# fractions of the stability limit: for bilateral rolling contacts, for contacts whose mode may
# change, and for impacts with restitution, which excite the fastest waves
FRACTION_ROLLING, FRACTION_CHANGING, FRACTION_BOUNCING = 0.025, 0.0125, 0.00625


def changes_modes(rods: Rods) -> bool:
    """Return whether any contact may slip or open, or an end of a rod slides."""
    may_open = any(contact.may_open for contact in rods.contacts)
    return rods.search is not None or may_open or any(rod.slides for rod in rods.rods)


def has_restitution(rods: Rods) -> bool:
    """Return whether an impact law has a coefficient of restitution above zero."""
    laws: list[RollingContact | ContactSearch] = [c for c in rods.contacts if c.may_open]
    if rods.search is not None:
        laws.append(rods.search)
    return any(law.restitution > 0.0 or law.tangential_restitution > 0.0 for law in laws)


def default_fraction(rods: Rods) -> float:
    """Return the default step over the stability limit [1].

    The scheme with step h conserves the energy minus h^2/8 a . M a with the accelerations a. So the
    energy of a wave of angular frequency w oscillates by (w h)^2/4 of its elastic energy.
    """
    if has_restitution(rods):
        return FRACTION_BOUNCING
    return FRACTION_CHANGING if changes_modes(rods) else FRACTION_ROLLING


def step_length(rods: Rods, method: RollingLeapfrog, span: float, limited: bool) -> float:
    """Return the longest step [s]; raise ModelError if it is not admissible.

    span : length of the run [s]
    limited : whether the step must be below the stability limit of all rods
    """
    limits = [step_limit(rod) for rod in rods.rods]
    least = int(np.argmin(limits))
    if method.step is None:
        fraction = default_fraction(rods) if method.fraction is None else method.fraction
        step = fraction * limits[least]
    elif limited and method.step > limits[least]:
        raise ModelError(
            "RollingLeapfrog.step",
            f"{method.step} s",
            f"at most {limits[least]:.6g} s, the stability limit of rod {least + 1}",
            "beyond this limit the fastest wave of the elements grows without bound.",
            f"give {0.5 * limits[least]:.3g}, or RollingMidpoint for a very slender rod.",
        )
    else:
        step = method.step
    # a fraction close to zero would divide by zero here
    steps = span / max(step, float(np.finfo(np.float64).tiny))
    if steps > method.max_steps and not limited:
        raise ModelError(
            "RollingMidpoint.step",
            f"{step} s",
            f"at least {span / method.max_steps:.3g} s for this time span",
            "the work of a run is bounded.",
            "end the run earlier, or take longer steps.",
        )
    if steps > method.max_steps:
        raise ModelError(
            "RollingLeapfrog.max_steps",
            method.max_steps,
            f"at least {np.ceil(steps):.15g} for this time span",
            "the work of a run is bounded.",
            "end the run earlier, take fewer elements, or raise max_steps.",
        )
    return step
