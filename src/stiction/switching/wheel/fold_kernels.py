"""The numbers K_ab that classify two-folds of the wheel, and kappa and k2 of a two-fold: kernels.

K_ab is the second derivative of h along the fields of sides a and b. It follows from the Jacobian
of the field at constant force and moment, and from the Hessian of h, whose only nonzero element is
h_rw = -cos gamma. `folds` calls these kernels.

Here L_a = grad h . f^a with the field f^a of side a, h is the lateral velocity, mu the friction
force and kappa the ratio of moment and force at h = 0. `p[0]` has the parameters of the wheel
(`parameters.Parameters`).

Source: Szalai, Jeffrey 2014, (9)-(11); formulas sheet, sections 3 to 5.
"""

from __future__ import annotations

import math

import numpy as np

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel
from stiction.switching.wheel.kernels import wheel_forced
from stiction.switching.wheel.parameters import Wheel

__all__ = ["COLUMNS", "curvatures", "place_two_folds"]

# columns of `place_two_folds`, per point
COLUMNS = ("v", "g", "kappa", "k2", "kpp", "kpm", "kmp", "kmm")


@kernel(allocates=True)
def curvatures(x: Vector, sign: float, p: Wheel, out: Vector) -> None:
    """Fill out[4] with K++, K+-, K-+, K-- in scaled time, K_ab = d(L_a) . f^b on h = 0.

    K_ab = f^a . H f^b + h_x . J^a f^b with the Hessian H of h and the Jacobian J^a of the
    field at the constant force mu a and moment sign(g) kappa mu a. Force and moment depend on h / g
    only, which is stationary along both fields at a two-fold.

    Parameters
    ----------
    x : (3,) a two-fold
    sign : sign of g there

    Source: formulas sheet, sections 3 and 5.
    Verified by: tests/exact/test_wheel_references.py::test_two_fold_reference
    """
    wheel = p[0]
    r, v, w = x[0], x[1], x[2]
    d, m, c2, cos = wheel.d, wheel.m, wheel.c2, wheel.cos
    slip = w - wheel.omega0
    inertia = wheel.beta * wheel.beta + r * r
    pull = wheel.k2 * (wheel.r0 - r) - c2 * v + m * r * w * w
    # derivatives of p1 and of (c1 + 2 m r v) omega; gradient of h
    pull_r, pull_w = m * w * w - wheel.k2, 2.0 * m * r * w
    drag_r, drag_v, drag_w = 2.0 * m * v * w, 2.0 * m * r * w, wheel.c1 + 2.0 * m * r * v
    grad_r, grad_v, grad_w = -slip * cos, -wheel.sin, d * wheel.sin - r * cos
    both = np.empty((2, 3))
    scaled = p.copy()
    scaled[0].physical_time = 0.0
    # fields (1)-(3) on both sides, at F = +-mu and M = sgn(g) kappa F
    for a in range(2):
        force = wheel.mu if a == 0 else -wheel.mu
        wheel_forced(x, force, sign * wheel.kappa * force, scaled, both[a])
    for a in range(2):
        force = wheel.mu if a == 0 else -wheel.mu
        lever = inertia + d * d
        # rows of the Jacobian: derivatives of (2) and (3) at constant F and M
        vr = 2.0 * r * pull + lever * pull_r - d * drag_r + force * (d * cos + 2.0 * r * wheel.sin)
        vv = -lever * c2 - d * drag_v
        vw = lever * pull_w - d * drag_w
        wr = d * pull_r - drag_r + force * cos
        wv = -d * c2 - drag_v
        ww = d * pull_w - drag_w
        for b in range(2):
            fr, fv, fw = both[b, 0], both[b, 1], both[b, 2]
            # f^a . H f^b; then h_x . J^a f^b, by rows
            bend = -cos * (both[a, 0] * fw + both[a, 2] * fr)
            bend += grad_r * (2.0 * m * r * v * fr + m * inertia * fv)
            bend += grad_v * (vr * fr + vv * fv + vw * fw)
            bend += grad_w * (wr * fr + wv * fv + ww * fw)
            out[2 * a + b] = bend


@kernel(allocates=True)
def place_two_folds(r: Vector, omega: Vector, p: Wheel, out: Matrix) -> None:
    """Fill out[i] with `COLUMNS` of the two-fold placed at r[i], omega[i].

    v* follows from h = 0 by (9), kappa and k2 from the corrected (10) and (11).

    Parameters
    ----------
    p : parameters of the wheel; its kappa and k2 are not read

    Source: Szalai, Jeffrey 2014, (9)-(11); formulas sheet, section 4.
    Verified by: tests/exact/test_wheel_references.py::test_two_fold_reference
    """
    wheel = p[0]
    d, m, c1, c2 = wheel.d, wheel.m, wheel.c1, wheel.c2
    w0, sin, cos = wheel.omega0, wheel.sin, wheel.cos
    beta2 = wheel.beta * wheel.beta
    mine, x = p.copy(), np.empty(3)
    for i in range(r.size):
        at, w = r[i], omega[i]
        # (9), and g from (5) there
        v = (w - w0) * (d - at * cos / sin)
        g = at * (w - w0) / sin
        sign = math.copysign(1.0, g)
        inertia = beta2 + at * at
        p2 = d * at * cos + inertia * sin
        damped = w - w0 if wheel.c1_between_disks != 0.0 else w
        # (11): B = 0 is linear in k2
        turn = at * at * (v * (w + w0) - d * w * w) + beta2 * v * (w0 - w)
        top = sin * inertia * (m * at * w * w - c2 * v)
        top -= cos * (c1 * at * damped + c2 * d * at * v + m * turn)
        # (10) with the sign of g, which the paper lacks
        kappa = -sign * (at * at + beta2 * sin * sin) / (at * cos)
        k2 = top / ((at - wheel.r0) * p2)
        mine[0].kappa, mine[0].k2 = kappa, k2
        x[0], x[1], x[2] = at, v, w
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = v, g, kappa, k2
        curvatures(x, sign, mine, out[i, 4:])
