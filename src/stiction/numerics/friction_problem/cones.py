"""Coulomb's cone of one contact: projection, its derivative, and De Saxce's velocity. Kernels.

A vector of one contact has the normal component first, then `n_tangent` tangential components, then
those of the rolling moment, if any. The cone of admissible forces is

    K = { r : |r_t| <= mu r_n, |r_m| <= rolling r_n },

and De Saxce's velocity is u + (mu |u_t| + rolling |u_m|) n. Force r and velocity u obey Signorini's
conditions and Coulomb's law if and only if r lies in K, De Saxce's velocity lies in the dual cone
of K, and the two are orthogonal.

Arrays r, u, x and `out` have one number for each component. mu is the coefficient of friction [1],
`rolling` that of rolling friction [m], 0 without it. Sweeps, Newton's method and the gradient
method call these functions for each contact.

Source: De Saxce, Feng 1998 (bipotential); Acary, Cadoux 2013.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel

__all__ = [
    "de_saxce",
    "de_saxce_derivative",
    "project",
    "project_in_plane",
    "projection_derivative",
]


@kernel
def _norm(x: Vector, start: int, stop: int) -> float:
    """Return the length of x[start:stop]."""
    total = 0.0
    for i in range(start, stop):
        total += x[i] * x[i]
    return math.sqrt(total)


@kernel
def _normal_part(normal: float, slip: float, turn: float, mu: float, rolling: float) -> float:
    """Return the normal component of the projection.

    It is the root s of s - normal - mu max(slip - mu s, 0) - rolling max(turn - rolling s, 0) = 0,
    or 0 if that root is negative. This is the derivative by s of half the squared distance from the
    vector to the nearest point of the cone with the normal component s.

    Parameters
    ----------
    normal : normal component of the projected vector
    slip, turn : norms of its tangential and of its rolling components
    """
    # in the polar cone the nearest point is the apex, the origin
    if normal + mu * slip + rolling * turn <= 0.0:
        return 0.0
    slides, turns = slip > mu * normal, turn > rolling * normal
    if not slides and not turns:
        return normal
    both = (normal + mu * slip + rolling * turn) / (1.0 + mu * mu + rolling * rolling)
    if slip >= mu * both and turn >= rolling * both:
        return both
    # else only the tangential or only the rolling components exceed their bound
    alone = (normal + mu * slip) / (1.0 + mu * mu)
    if slip >= mu * alone and turn <= rolling * alone:
        return alone
    # the root is the largest of those with given signs: at a bound, rounding may deny both tests
    return max(alone, (normal + rolling * turn) / (1.0 + rolling * rolling))


@kernel
def project(x: Vector, n_tangent: int, mu: float, rolling: float, out: Vector) -> None:
    """Write the nearest point of the cone to `out`, which may be `x`.

    Verified by: tests/unit/numerics/friction_problem/test_cones.py::test_projection_is_nearest
    """
    size = x.shape[0]
    slip, turn = _norm(x, 1, 1 + n_tangent), _norm(x, 1 + n_tangent, size)
    s = _normal_part(x[0], slip, turn, mu, rolling)
    # the bounds are mu s and rolling s; larger components are shortened to them
    by_slip = mu * s / slip if slip > mu * s else 1.0
    by_turn = rolling * s / turn if turn > rolling * s else 1.0
    out[0] = s
    for i in range(1, 1 + n_tangent):
        out[i] = by_slip * x[i]
    for i in range(1 + n_tangent, size):
        out[i] = by_turn * x[i]


@kernel
def project_in_plane(normal: float, tangential: float, mu: float) -> tuple[float, float]:
    """Return both components of the nearest point of a cone in the plane: `project` without loops.

    Verified by: tests/unit/numerics/friction_problem/test_cones.py::test_projection_in_the_plane
    """
    slip = abs(tangential)
    along = normal + mu * slip
    if along <= 0.0:
        return 0.0, 0.0
    if slip <= mu * normal:
        return normal, tangential
    s = along / (1.0 + mu * mu)
    return s, math.copysign(mu * s, tangential)


@kernel
def projection_derivative(
    x: Vector, n_tangent: int, mu: float, rolling: float, out: Matrix
) -> None:
    """Write an element of the generalised derivative of the projection at x.

    out : (size, size) matrix of derivatives: row i of component i by all components of x

    Verified by: tests/unit/numerics/friction_problem/test_cones.py::test_projection_derivative
    """
    size = x.shape[0]
    slip, turn = _norm(x, 1, 1 + n_tangent), _norm(x, 1 + n_tangent, size)
    s = _normal_part(x[0], slip, turn, mu, rolling)
    for i in range(size):
        for j in range(size):
            out[i, j] = 0.0
    # in the polar cone the projection is constant
    if not s > 0.0:
        return
    slides, turns = slip > mu * s, turn > rolling * s
    scale = 1.0
    if slides:
        scale += mu * mu
    if turns:
        scale += rolling * rolling
    # row 0 is the gradient of s
    out[0, 0] = 1.0 / scale
    for j in range(1, size):
        if j <= n_tangent and slides:
            out[0, j] = mu * x[j] / slip / scale
        elif j > n_tangent and turns:
            out[0, j] = rolling * x[j] / turn / scale
    for i in range(1, size):
        tangential = i <= n_tangent
        if not (slides if tangential else turns):
            out[i, i] = 1.0
            continue
        # on the surface of the cone P_t = bound s x_t / |x_t|: derivatives of s and of x_t / |x_t|
        length, bound = (slip, mu) if tangential else (turn, rolling)
        first, last = (1, 1 + n_tangent) if tangential else (1 + n_tangent, size)
        unit = x[i] / length
        for j in range(size):
            out[i, j] = bound * unit * out[0, j]
        out[i, i] += bound * s / length
        for j in range(first, last):
            out[i, j] -= bound * s / length * unit * x[j] / length


@kernel
def de_saxce(u: Vector, n_tangent: int, mu: float, rolling: float) -> float:
    """Return the normal component u_n + mu |u_t| + rolling |u_m| of De Saxce's velocity."""
    size = u.shape[0]
    return u[0] + mu * _norm(u, 1, 1 + n_tangent) + rolling * _norm(u, 1 + n_tangent, size)


@kernel
def de_saxce_derivative(u: Vector, n_tangent: int, mu: float, rolling: float, out: Vector) -> None:
    """Write the gradient of the normal component of De Saxce's velocity."""
    size = u.shape[0]
    slip, turn = _norm(u, 1, 1 + n_tangent), _norm(u, 1 + n_tangent, size)
    out[0] = 1.0
    for i in range(1, size):
        bound, length = (mu, slip) if i <= n_tangent else (rolling, turn)
        out[i] = bound * u[i] / length if length > 0.0 else 0.0
