"""The length of a step: asked for, or a part of the stability limit."""

from __future__ import annotations

import numpy as np

from stiction.errors import ModelError, explain
from stiction.rods.leapfrog.method import RollingLeapfrog
from stiction.rods.model import Rods
from stiction.rods.stability import step_limit

__all__ = ["changes_modes", "chosen_step"]

# parts of the stability limit: where contacts roll whatever happens, and where they may change
PART_ROLLING, PART_CHANGING = 0.025, 0.0125


def changes_modes(rods: Rods) -> bool:
    """Return whether any contact may slip or open, or an end slides."""
    may_open = any(contact.may_open for contact in rods.contacts)
    return rods.search is not None or may_open or any(rod.slides for rod in rods.rods)


def chosen_step(rods: Rods, method: RollingLeapfrog, span: float, limited: bool) -> float:
    """Return the step [s]; raise ModelError above the stability limit of any rod, if `limited`."""
    limits = [step_limit(rod) for rod in rods.rods]
    least = int(np.argmin(limits))
    if method.step is None:
        part = PART_CHANGING if changes_modes(rods) else PART_ROLLING
        step = (part if method.part is None else method.part) * limits[least]
    elif limited and method.step > limits[least]:
        raise ModelError(
            explain(
                "RollingLeapfrog.step",
                f"{method.step} s",
                f"at most {limits[least]:.6g} s, the stability limit of rod {least + 1}",
                "beyond it the fastest wave of the elements grows without bound.",
                f"give {0.5 * limits[least]:.3g}, or RollingMidpoint for a very slender rod.",
            )
        )
    else:
        step = method.step
    # a part of next to nothing leaves no step at all
    steps = span / max(step, float(np.finfo(np.float64).tiny))
    if steps > method.max_steps:
        raise ModelError(
            explain(
                "RollingLeapfrog.max_steps",
                method.max_steps,
                f"at least {np.ceil(steps):.15g} for this time span",
                "the work of a run is bounded.",
                "end the run earlier, take fewer elements, or raise the bound.",
            )
        )
    return step
