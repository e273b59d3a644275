"""The simplified tyre law as one function of numbers, for kernels that integrate a wheel."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math

from stiction.numerics.jit import kernel

__all__ = ["simplified"]


@kernel
def simplified(side: float, h: float, g: float, kappa: float, mu: float) -> tuple[float, float]:
    """Return force F and moment M of one side of the surface h = 0, continued past it.

        psi = psi0 + (1 - 2 psi0 / pi) atan2(side h, |g|),   cot psi0 = 6 kappa,
        F = mu side (4/3 - cot(psi) / (18 kappa)),   M = mu side sgn(g) cot(psi) / 6.

    For side = sgn(h) this is the law itself. A solver that looks for h = 0 also evaluates
    it a little beyond, where it stays smooth: atan2 is odd in h. On h = 0 a friction
    multiplier lam in [-1, 1] mixes both sides, (1 + lam) / 2 of +1 and (1 - lam) / 2 of -1.

    Parameters
    ----------
    side : +1.0 for h > 0, -1.0 for h < 0
    h, g : lateral and rolling velocity [m/s]; at g = 0 the sign bit of g decides sgn(g)
    kappa : moment at h = 0 over the force there, > 0 [m]
    mu : force at h = 0 [N]

    Source: formulas sheet of the wheel paper, section 2; its equations (6), (7) lack nothing
    but the continuation.
    Verified by: tests/unit/laws/test_tyre.py::test_kernel_is_the_law
    """
    psi0 = math.atan(1.0 / (6.0 * kappa))
    psi = psi0 + (1.0 - 2.0 * psi0 / math.pi) * math.atan2(side * h, abs(g))
    cot = 1.0 / math.tan(psi)
    force = mu * side * (4.0 / 3.0 - cot / (18.0 * kappa))
    return force, mu * side * math.copysign(cot / 6.0, g * cot)
