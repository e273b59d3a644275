"""Certificate of given forces: how far they are from a solution, independent of the solver.

The residual of forces r is the 2-norm over contacts c of the natural map::

    |r_c - P(r_c - rho (u_c + (mu |u_t| + rolling |u_m|) n))| / rho,    u = W r + q,

divided by |q|, or by the largest |W_cc r_c| if q = 0. P projects on Coulomb's cone (`cones`), and
rho is 1 / the largest entry on the diagonal of the contact's own block W_cc. With one rho for all
contacts, r_c - rho u_c would lose the velocities of the heavy bodies to rounding. The natural map
is zero at a solution only. It is a velocity, so that forces of any size, including r = 0, are
assessed by the remaining velocities. Since the residual decreases with growing rho, it is also
given for 1000 rho and rho / 1000.

The components of a contact are in the order normal, tangents, rolling, as in `cones`.

Source: De Saxce, Feng 1998 (the velocity u + (mu |u_t| + rolling |u_m|) n); Acary, Bremond, Huber
2018 (the natural map as a common measure of errors). The choice of rho: decision 38.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.numerics.friction_problem.blocks import Local
from stiction.numerics.friction_problem.newton import natural_map

__all__ = ["Certificate", "certify", "is_solved", "residual"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Certificate:
    """Errors of forces and velocities of a frictional contact problem.

    Attributes
    ----------
    residual : relative residual of the natural map [1]
    residual_large_rho, residual_small_rho : the same with 1000 rho and rho / 1000 [1]
    complementarity : largest |r . De Saxce's velocity| of a contact [W]
    cone : largest excess of a force over the bounds of its cone [N]
    approach : largest remaining velocity of approach at a contact [m/s]
    rank, size : rank of W, and number of its rows
    asymmetry : largest |W - W^T|, relative to the norm of W [1]
    least_eigenvalue : least eigenvalue of the symmetric part of W, relative to the largest [1]
    """

    residual: float
    residual_large_rho: float
    residual_small_rho: float
    complementarity: float
    cone: float
    approach: float
    rank: int
    size: int
    asymmetry: float
    least_eigenvalue: float

    def __str__(self) -> str:
        lines = (
            ("residual", f"{self.residual:.1e}"),
            (
                "with 1000 rho, rho / 1000",
                f"{self.residual_large_rho:.1e}, {self.residual_small_rho:.1e}",
            ),
            ("complementarity", f"{self.complementarity:.1e} W"),
            ("force outside its cone", f"{self.cone:.1e} N"),
            ("remaining approach", f"{self.approach:.1e} m/s"),
            ("rank of W", f"{self.rank} of {self.size}"),
            ("asymmetry of W", f"{self.asymmetry:.1e}"),
            ("least eigenvalue of W", f"{self.least_eigenvalue:.1e} of the largest"),
        )
        return "\n".join(f"{name:<28}{value}" for name, value in lines)


def residual(local: Local, r: Floats, factor: float = 1.0) -> float:
    """Return the residual of forces, with `factor` times the rho of the certificate.

    Verified by: tests/unit/numerics/friction_problem/test_certificate.py::test_extended_precision
    """
    u, natural = local.velocities(r), np.empty_like(r)
    own = np.abs(local.blocks[local.diagonal].diagonal(axis1=1, axis2=2)).max(axis=1, initial=0.0)
    # a contact with a block of zeros gets the scale of the others
    largest = float(own.max(initial=0.0))
    rho = factor / np.where(own > 0.0, own, largest if largest > 0.0 else 1.0)
    natural_map(r, u, local.mu, local.rolling, local.n_tangent, rho, natural)
    # the 2-norm over contacts, which is not less than the maximum
    length = math.sqrt(np.vdot(natural, natural))
    if length == 0.0:
        return 0.0
    scale = _scale(local, r)
    return length / scale if scale > 0.0 else math.inf


def _scale(local: Local, r: Floats) -> float:
    """Return the velocity by which residuals are divided: |q|, or the largest |W_cc r_c|."""
    scale = math.sqrt(np.vdot(local.q, local.q))
    if scale > 0.0:
        return scale
    moved = np.einsum("cij,cj->ci", local.blocks[local.diagonal], r)
    return float(np.linalg.norm(moved, axis=1).max(initial=0.0))


def is_solved(local: Local, r: Floats, tol: float) -> bool:
    """Return whether the residual and the relative velocity of approach are at most `tol`.

    For r = 0 the residual of a contact that approaches and slips is |u_n| / sqrt(1 + mu^2), the
    distance of -(u_n + mu |u_t|, u_t) from the polar cone. It decreases as 1 / mu, so that high
    friction needs the second condition.

    Verified by: tests/unit/numerics/friction_problem/test_certificate.py::test_high_friction
    """
    approach = float((-local.velocities(r)[:, 0]).max(initial=0.0))
    return residual(local, r) <= tol and approach <= tol * _scale(local, r)


def certify(
    local: Local, r: Floats, rank: int, asymmetry: float, least_eigenvalue: float
) -> Certificate:
    """Return the certificate of forces r (n, size) [N], with the given properties of W."""
    n = local.n_tangent
    u = local.velocities(r)
    # components: normal, n tangents, rolling
    slip, rolling = np.linalg.norm(u[:, 1 : 1 + n], axis=1), np.linalg.norm(u[:, 1 + n :], axis=1)
    power = np.einsum("ci,ci->c", r, u)
    power += r[:, 0] * (local.mu * slip + local.rolling * rolling)
    shear = np.linalg.norm(r[:, 1 : 1 + n], axis=1) - local.mu * r[:, 0]
    moment = np.linalg.norm(r[:, 1 + n :], axis=1) - local.rolling * r[:, 0]
    outside = (shear, moment, -r[:, 0])
    return Certificate(
        residual(local, r),
        residual(local, r, 1e3),
        residual(local, r, 1e-3),
        float(np.abs(power).max(initial=0.0)),
        max(float(part.max(initial=0.0)) for part in outside),
        max(0.0, float((-u[:, 0]).max(initial=0.0))),
        rank,
        local.q.size,
        asymmetry,
        least_eigenvalue,
    )
