"""The length of a step: asked for, or a part of the stability limit."""

from __future__ import annotations

import numpy as np

from stiction.errors import ModelError, explain
from stiction.rods.leapfrog.method import RollingLeapfrog
from stiction.rods.model import Rods
from stiction.rods.stability import step_limit

__all__ = ["chosen_step"]


def chosen_step(rods: Rods, method: RollingLeapfrog, span: float, limited: bool) -> float:
    """Return the step [s]; raise ModelError above the stability limit of any rod, if `limited`."""
    limits = [step_limit(rod) for rod in rods.rods]
    least = int(np.argmin(limits))
    if method.step is None:
        step = method.part * limits[least]
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
