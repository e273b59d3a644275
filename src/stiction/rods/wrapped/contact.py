r"""Contact of the nodes of a rod with rigid bodies: gaps, slip, forces, and their derivatives.

At a node the material point of contact is one radius a of the rod from it, against the normal n of
the body. In a frame that moves with the body its slip over a step is

    s = r - r_0 + phi x (-a n),

phi the mean rotation vector of the frames beside the node since the start of the step. A contact
force lambda_n n + B lambda_t, B (3, 2) a tangential basis, acts there. So it acts on the node, and
its moment -a n x B lambda_t on the frames. The basis moves with the normal without turning about
it, dB = -n (dn . B).

Signorini's and Coulomb's laws are equations of projections (c > 0 is any stiffness):

    lambda_n = max(0, lambda_n - c g),   lambda_t = P(lambda_t - c B^T s),

P the projection on the disk of radius mu max(0, lambda_n - c g). One iteration of the semismooth
Newton method solves g = 0 where a contact is closed, s = 0 where it sticks, and the derivative of
lambda_t = mu lambda_n d / |d|, d = lambda_t - c B^T s, where it slips.

Source: Alart and Curnier 1991; Hueeber, Stadler and Wohlmuth 2008 (active sets).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "OPEN",
    "SLIP",
    "STICK",
    "Blocks",
    "Contacts",
    "Kinematics",
    "Laws",
    "blocks",
    "cross_matrix",
    "force_and_moment",
    "laws",
    "tangential_basis",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

OPEN, STICK, SLIP = 0, 1, 2

# relative distance from the bound within which a traction is at it
_AT_BOUND = 1e-6


@dataclass(frozen=True, eq=False)
class Contacts:
    """Pairs of a node and a body.

    Parameters
    ----------
    node : (k,) slots of the nodes
    frame : (k, 2) slots of the frames beside them
    weight : (k, 2) of these frames in the rotation of the section [1]
    radius : of the rod [m]
    """

    node: Ints
    frame: Ints
    weight: Floats
    radius: float


class Kinematics(NamedTuple):
    """Gap and slip of k contacts.

    gap : (k,) [m]
    normal, curvature : (k, 3), (k, 3, 3), see `obstacles.Surface`
    basis : (k, 3, 2) tangential
    slip : (k, 2) over the step [m]
    across : (k,) normal component of s [m]
    turn : (k, 3) rotation vector phi [1]
    rate : (k, 2, 3, 3) derivative of phi by the rotation of each frame
    """

    gap: Floats
    normal: Floats
    curvature: Floats
    basis: Floats
    slip: Floats
    across: Floats
    turn: Floats
    rate: Floats


class Blocks(NamedTuple):
    """Derivatives of k contacts; rows of forces are node and frames, those of laws three.

    force_by_node : (k, 3, 3) of the force by the position of the node
    moment_by_node : (k, 3, 3) of the moment
    direction : (k, 3, 3) of the force by lambda
    moment_direction : (k, 3, 3) of the moment by lambda
    slip_by_node : (k, 2, 3)
    slip_by_frame : (k, 2, 2, 3) for each of both frames
    """

    force_by_node: Floats
    moment_by_node: Floats
    direction: Floats
    moment_direction: Floats
    slip_by_node: Floats
    slip_by_frame: Floats


def cross_matrix(v: Floats) -> Floats:
    """Return (..., 3, 3) matrices of the cross product with `v` (..., 3) from the left."""
    x, y, z = np.moveaxis(v, -1, 0)
    zero = np.zeros_like(x)
    rows = np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]])
    return np.asarray(np.moveaxis(rows, (0, 1), (-2, -1)))


def tangential_basis(normal: Floats, before: Floats | None = None) -> Floats:
    """Return (k, 3, 2) right-handed tangential bases, nearest to those `before`."""
    if before is None:
        before = np.eye(3)[np.argmin(np.abs(normal), axis=1)][:, :, None]
    first = before[:, :, 0]
    first = first - (first * normal).sum(axis=1, keepdims=True) * normal
    first = first / np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack([first, np.cross(normal, first)], axis=2)


def force_and_moment(contacts: Contacts, at: Kinematics, traction: Floats) -> tuple[Floats, Floats]:
    """Return (k, 3) forces on the nodes [N], and moments on the sections there [N m]."""
    tangential = np.einsum("kai,ki->ka", at.basis, traction[:, 1:])
    moment = -contacts.radius * np.cross(at.normal, tangential)
    return traction[:, :1] * at.normal + tangential, moment


def blocks(contacts: Contacts, at: Kinematics, traction: Floats) -> Blocks:
    """Return the derivatives of forces, moments and slip.

    Verified by: tests/unit/rods/wrapped/test_wrapped_contact.py::test_derivatives
    """
    a, n, curve = contacts.radius, at.normal, at.curvature
    tangential = np.einsum("kai,ki->ka", at.basis, traction[:, 1:])
    # d(B lambda_t) = -n (B lambda_t . dn)
    tilt = np.einsum("ka,kb,kbc->kac", n, tangential, curve)
    direction = np.concatenate([n[:, :, None], at.basis], axis=2)
    normal_cross = cross_matrix(n)
    moment_direction = -a * normal_cross @ direction
    s_by_node = np.eye(3) - a * cross_matrix(at.turn) @ curve
    transposed = np.swapaxes(at.basis, 1, 2)
    slip_by_node = transposed @ s_by_node - at.across[:, None, None] * (transposed @ curve)
    s_by_frame = a * contacts.weight[:, :, None, None] * (normal_cross[:, None] @ at.rate)
    return Blocks(
        force_by_node=traction[:, 0, None, None] * curve - tilt,
        moment_by_node=a * cross_matrix(tangential) @ curve,
        direction=direction,
        moment_direction=moment_direction,
        slip_by_node=slip_by_node,
        slip_by_frame=transposed[:, None] @ s_by_frame,
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
    stiffness: float,
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
    stiffness : c of the projections [N/m]
    closed : (k,) contacts whose gap is to be zero, whatever the sign of lambda_n
    slides : whether contacts slip whose trial traction is at the bound, instead of sticking
    viscosity : resistance of contacts that slip, added to friction [N/m]
    """
    c, normal, tangential = stiffness, traction[:, 0], traction[:, 1:]
    pressed = normal - c * at.gap
    trial = tangential - c * at.slip
    size, bound = np.linalg.norm(trial, axis=1), mu * np.maximum(pressed, 0.0)
    least = (1.0 - _AT_BOUND if slides else 1.0) * bound
    sticks = closed & (size <= least) & (mu > 0.0)
    slips = closed & ~sticks
    mode = np.where(sticks, STICK, np.where(slips, SLIP, OPEN))
    unit = trial / np.where(size > 0.0, size, 1.0)[:, None]
    projected = np.where(sticks[:, None], trial, bound[:, None] * unit)
    projected[slips] -= viscosity * at.slip[slips]
    projected[~closed] = 0.0
    inner = np.column_stack([np.where(closed, c * at.gap, normal), tangential - projected])
    one_sided = np.abs(normal - np.maximum(pressed, 0.0)).max(initial=0.0)
    error = max(float(one_sided), float(np.abs(inner[:, 1:]).max(initial=0.0)))
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
    by_slip[slips, 1:] = c * turning[slips]
    residual[slips, 1:] += viscosity * at.slip[slips]
    by_slip[slips, 1:] += viscosity * np.eye(2)
    return Laws(mode, residual, by_gap, by_slip, by_traction, inner, error)
