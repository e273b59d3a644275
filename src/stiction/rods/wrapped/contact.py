r"""Contact of the nodes of rods with bodies and rods: slip, forces, and their derivatives.

At a node the material point of contact is one radius a of the rod from it, against the normal n of
the other side. Its slip over a step relative to the point that it touches is

    s = y - y_0 - phi x (arm) .

Against a body, y is the position of the node in a frame that moves with the body, phi the mean
rotation vector of the frames beside the node since the start of the step, and the arm a n. Against
a rod, y = r - X(u) is the separation of the node from the closest point of the other axis, y_0 that
of the same material points before, phi the sum of the rotation vectors of both sections, and the
arm (y + y_0)/4. So rods that turn together do not slip, to the third order in a step.

A contact force lambda_n n + B lambda_t, B (3, 2) a tangential basis, acts at the surface. So it
acts on the node, its reaction on the nodes of X(u), and its moment -a n x B lambda_t on the frames,
with the same sign on both sections. The basis moves with the normal without turning about it,
dB = -n (dn . B).

Signorini's and Coulomb's laws are equations of projections (c > 0 is any stiffness):

    lambda_n = max(0, lambda_n - c g),   lambda_t = P(lambda_t - b B^T s),

P the projection on the disk of radius mu max(0, lambda_n - c g), with another stiffness b > 0. One
iteration of the semismooth Newton method solves g = 0 where a contact is closed, s = 0 where it
sticks, and the derivative of lambda_t = mu lambda_n d / |d|, d = lambda_t - b B^T s, where it
slips.

`problem.WrappedProblem` calls these functions in each iteration; `pairs` gives the geometry.

Source: Alart and Curnier 1991; Hueeber, Stadler and Wohlmuth 2008 (active sets).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "OPEN",
    "SLIP",
    "STICK",
    "Blocks",
    "Kinematics",
    "Laws",
    "Pairs",
    "blocks",
    "cross_matrix",
    "force_and_moment",
    "kinematics",
    "laws",
    "only",
    "rotation_since",
    "tangential_basis",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

OPEN, STICK, SLIP = 0, 1, 2

# relative distance from the bound within which a traction is at it
_AT_BOUND = 1e-6


class Pairs(NamedTuple):
    """Geometry of k contacts with bodies or rods; each acts on p nodes and f frames.

    Derivatives by a node are by its position. The place u of contact along a rod moves with them.

    radius : a of the rod [m]
    nodes, frames : (k, p), (k, f) slots
    share, share_rate : (k, p) fraction of the contact force on each node, and its derivative by u
        [1]
    weight, weight_rate : (k, f) of each frame in phi, and derivative by u [1]
    place_by_node : (k, p, 3) derivative of u [1/m]
    before : (k, f, 4) frames at the start of the step
    gap : (k,) [m]
    normal, normal_by_node : (k, 3), (k, p, 3, 3)
    moved, moved_by_node : (k, 3), (k, p, 3, 3) y - y_0 [m]
    arm, arm_by_node : (k, 3), (k, p, 3, 3) [m]

    The last two axes of a derivative are the component, and that of the node's position.
    """

    radius: float
    nodes: Ints
    frames: Ints
    share: Floats
    share_rate: Floats
    weight: Floats
    weight_rate: Floats
    place_by_node: Floats
    before: Floats
    gap: Floats
    normal: Floats
    normal_by_node: Floats
    moved: Floats
    moved_by_node: Floats
    arm: Floats
    arm_by_node: Floats


class Kinematics(NamedTuple):
    """Gap and slip of k contacts.

    pairs : where they are
    basis : (k, 3, 2) tangential
    slip : (k, 2) over the step [m]
    across : (k,) normal component of s [m]
    phi : (k, f, 3) rotation vectors of the frames since the start of the step [1]
    rate : (k, f, 3, 3) derivative of phi by the rotation of its frame
    """

    pairs: Pairs
    basis: Floats
    slip: Floats
    across: Floats
    phi: Floats
    rate: Floats

    @property
    def gap(self) -> Floats:
        """(k,) gaps [m]."""
        return self.pairs.gap

    @property
    def normal(self) -> Floats:
        """(k, 3) unit normals, towards the nodes."""
        return self.pairs.normal


class Blocks(NamedTuple):
    """Derivatives of k contacts by p nodes, f frames and the tractions lambda.

    force_by_node : (k, p, p, 3, 3) of the force on each node by the position of each
    force : (k, p, 3, 3) of these forces by lambda
    moment_by_node : (k, f, p, 3, 3) of the moment on each frame
    moment : (k, f, 3, 3) of these moments by lambda
    slip_by_node : (k, p, 2, 3)
    slip_by_frame : (k, f, 2, 3)
    """

    force_by_node: Floats
    force: Floats
    moment_by_node: Floats
    moment: Floats
    slip_by_node: Floats
    slip_by_frame: Floats


def cross_matrix(v: Floats) -> Floats:
    """Return (..., 3, 3) matrices of the cross product with `v` (..., 3) from the left."""
    x, y, z = np.moveaxis(v, -1, 0)
    zero = np.zeros_like(x)
    rows = np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]])
    return np.asarray(np.moveaxis(rows, (0, 1), (-2, -1)))


def rotation_since(before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Return rotation vectors (..., 3) between quaternions (..., 4), and their rates (..., 3, 3).

    A rate is the derivative by a further small rotation: 1 - phi^/2 + c phi^^2.
    """
    w0, v0, w1, v1 = before[..., :1], -before[..., 1:], after[..., :1], after[..., 1:]
    w = w1 * w0 - (v1 * v0).sum(axis=-1, keepdims=True)
    v = w1 * v0 + w0 * v1 + np.cross(v1, v0)
    sign = np.where(w >= 0.0, 1.0, -1.0)
    size = np.linalg.norm(v, axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(size, sign * w)
    scale = np.where(size > 1e-8, sign * angle / np.where(size > 1e-8, size, 1.0), 2.0 * sign)
    phi = scale * v
    hat = cross_matrix(phi)
    half = 0.5 * angle
    small = half < 1e-3
    c = np.where(
        small,
        1.0 / 12.0,
        (1.0 - half / np.tan(np.where(small, 1.0, half))) / np.where(small, 1.0, angle) ** 2,
    )
    return phi, np.eye(3) - 0.5 * hat + c[..., None] * (hat @ hat)


def tangential_basis(normal: Floats, before: Floats | None = None) -> Floats:
    """Return (k, 3, 2) right-handed tangential bases, nearest to those `before`."""
    if before is None:
        before = np.eye(3)[np.argmin(np.abs(normal), axis=1)][:, :, None]
    first = before[:, :, 0]
    first = first - (first * normal).sum(axis=1, keepdims=True) * normal
    first = first / np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack([first, np.cross(normal, first)], axis=2)


def kinematics(pairs: Pairs, frames: Floats, basis: Floats) -> Kinematics:
    """Return gaps and slip, with frames (k, f, 4) at the end of the step, from the last basis."""
    basis = tangential_basis(pairs.normal, basis)
    phi, rate = rotation_since(pairs.before, frames)
    turn = (pairs.weight[:, :, None] * phi).sum(axis=1)
    s = pairs.moved - np.cross(turn, pairs.arm)
    slip = np.einsum("kai,ka->ki", basis, s)
    return Kinematics(pairs, basis, slip, (s * pairs.normal).sum(axis=1), phi, rate)


def only(at: Kinematics, chosen: npt.NDArray[np.bool_]) -> Kinematics:
    """Return the chosen contacts."""
    pairs = Pairs._make((at.pairs.radius, *(x[chosen] for x in at.pairs[1:])))
    return Kinematics._make((pairs, *(x[chosen] for x in at[1:])))


def force_and_moment(at: Kinematics, traction: Floats) -> tuple[Floats, Floats]:
    """Return (k, 3) forces on the nodes [N], and moments on the sections there [N m]."""
    tangential = np.einsum("kai,ki->ka", at.basis, traction[:, 1:])
    moment = -at.pairs.radius * np.cross(at.normal, tangential)
    return traction[:, :1] * at.normal + tangential, moment


def blocks(at: Kinematics, traction: Floats) -> Blocks:
    """Return the derivatives of forces, moments and slip.

    Verified by: tests/unit/rods/wrapped/test_wrapped_rods.py::test_derivatives
    """
    pairs, n = at.pairs, at.normal
    force, moment = force_and_moment(at, traction)
    tangential = force - traction[:, :1] * n
    tilt, by_place = pairs.normal_by_node, pairs.place_by_node
    # forces: d(lambda_n n + B lambda_t) = lambda_n dn - n (B lambda_t . dn)
    size = traction[:, 0, None, None] * np.eye(3) - n[:, :, None] * tangential[:, None, :]
    turned = size[:, None] @ tilt
    # weights of nodes and frames change with the place
    moves = force[:, None, :, None] * by_place[:, :, None, :]
    force_by_node = pairs.share[:, :, None, None, None] * turned[:, None]
    force_by_node += pairs.share_rate[:, :, None, None, None] * moves[:, None]
    # moments: d(-a n x B lambda_t) = a (B lambda_t) x dn, since n x dB lambda_t = 0
    turned = pairs.radius * cross_matrix(tangential)[:, None] @ tilt
    moves = moment[:, None, :, None] * by_place[:, :, None, :]
    moment_by_node = pairs.weight[:, :, None, None, None] * turned[:, None]
    moment_by_node += pairs.weight_rate[:, :, None, None, None] * moves[:, None]
    direction = np.concatenate([n[:, :, None], at.basis], axis=2)
    lever = -pairs.radius * cross_matrix(n) @ direction
    # slip: ds = dy - dphi x (arm) - phi x d(arm), and B^T s turns with the basis
    turn = (pairs.weight[:, :, None] * at.phi).sum(axis=1)
    turn_rate = (pairs.weight_rate[:, :, None] * at.phi).sum(axis=1)
    moves = np.cross(turn_rate, pairs.arm)[:, None, :, None] * by_place[:, :, None, :]
    s_by_node = pairs.moved_by_node - cross_matrix(turn)[:, None] @ pairs.arm_by_node - moves
    across = np.swapaxes(at.basis, 1, 2)[:, None]
    slip_by_node = across @ (s_by_node - at.across[:, None, None, None] * tilt)
    s_by_frame = pairs.weight[:, :, None, None] * (cross_matrix(pairs.arm)[:, None] @ at.rate)
    return Blocks(
        force_by_node=force_by_node,
        force=pairs.share[:, :, None, None] * direction[:, None],
        moment_by_node=moment_by_node,
        moment=pairs.weight[:, :, None, None] * lever[:, None],
        slip_by_node=slip_by_node,
        slip_by_frame=across @ s_by_frame,
    )


class Laws(NamedTuple):
    """The laws of k contacts, linearised: G du + S dsigma + L dlambda = -residual.

    mode : (k,) OPEN, STICK or SLIP
    residual : (k, 3) of the linearised equations [N]
    by_gap : (k, 3) G
    by_slip : (k, 3, 2) S
    by_traction : (k, 3, 3) L
    inner : (k, 3) residual of the projections with the given closed contacts [N]
    error : largest residual of the projections [N]
    """

    mode: Ints
    residual: Floats
    by_gap: Floats
    by_slip: Floats
    by_traction: Floats
    inner: Floats
    error: float


def laws(
    at: Kinematics,
    traction: Floats,
    mu: float,
    stiffness: tuple[float, float],
    closed: npt.NDArray[np.bool_],
    *,
    slides: bool = False,
    viscosity: float = 0.0,
) -> Laws:
    """Return modes of contacts, and their laws linearised.

    Parameters
    ----------
    traction : (k, 3) lambda_n and lambda_t [N]
    mu : coefficient of friction [1]
    stiffness : c and b of the projections [N/m]
    closed : (k,) contacts whose gap is to be zero, also if lambda_n is negative
    slides : whether contacts slip whose trial traction is at the bound, instead of sticking
    viscosity : resistance of contacts that slip, added to friction [N/m]
    """
    (c, b), normal, tangential = stiffness, traction[:, 0], traction[:, 1:]
    pressed = normal - c * at.gap
    trial = tangential - b * at.slip
    size, bound = np.linalg.norm(trial, axis=1), mu * np.maximum(pressed, 0.0)
    least = (1.0 - _AT_BOUND if slides else 1.0) * bound
    sticks = closed & (size <= least) & (mu > 0.0)
    slips = closed & ~sticks
    mode = np.where(sticks, STICK, np.where(slips, SLIP, OPEN))
    # residuals of the projections for the given closed contacts; in stick c scales the slip
    unit = trial / np.where(size > 0.0, size, 1.0)[:, None]
    projected = np.where(sticks[:, None], tangential - c * at.slip, bound[:, None] * unit)
    projected[slips] -= viscosity * at.slip[slips]
    projected[~closed] = 0.0
    inner = np.column_stack([np.where(closed, c * at.gap, normal), tangential - projected])
    one_sided = np.abs(normal - np.maximum(pressed, 0.0)).max(initial=0.0)
    error = max(float(one_sided), float(np.abs(inner[:, 1:]).max(initial=0.0)))
    # open contacts: lambda = 0. Closed ones: c g = 0, and c s = 0 or the derivative of slip
    residual, by_gap = traction.copy(), np.zeros_like(traction)
    by_slip, by_traction = np.zeros((len(size), 3, 2)), np.tile(np.eye(3), (len(size), 1, 1))
    residual[closed, 0] = c * at.gap[closed]
    by_gap[closed, 0] = c
    by_traction[closed, 0] = 0.0
    residual[sticks, 1:] = c * at.slip[sticks]
    by_slip[sticks, 1:] = c * np.eye(2)
    by_traction[sticks, 1:] = 0.0
    force = np.maximum(normal, 0.0)
    residual[slips, 1:] = (tangential - mu * force[:, None] * unit)[slips]
    by_traction[slips, 1:, 0] = -mu * unit[slips]
    # the derivative of the unit vector d / |d|, for a size no smaller than the bound
    turning = np.eye(2) - unit[:, :, None] * unit[:, None, :]
    turning *= (mu * force / np.maximum(size, np.maximum(bound, 1e-300)))[:, None, None]
    by_traction[slips, 1:, 1:] -= turning[slips]
    by_slip[slips, 1:] = b * turning[slips]
    residual[slips, 1:] += viscosity * at.slip[slips]
    by_slip[slips, 1:] += viscosity * np.eye(2)
    return Laws(mode, residual, by_gap, by_slip, by_traction, inner, error)
