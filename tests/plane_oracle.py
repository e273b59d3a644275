"""A Cosserat rod that rolls on the plane z = 0, by dense matrices and a Runge-Kutta pair.

Written from the formulas sheet of the rods paper, section 3: rotation matrices, reactions from the
accelerations, no time stepping of its own. It shares nothing with the package.
"""

import numpy as np
from rod_oracle import hat, turning
from scipy.integrate import solve_ivp

UP = np.array([0.0, 0.0, 1.0])


class RollingRod:
    """A straight free rod along y that touches with all its nodes and rolls with each.

    Parameters
    ----------
    n, h, a : elements, their length, radius
    S, B : stiffness of stretch and shear, of bending and twist, (3,) each
    line, inertia : mass per length, inertia per length (3,)
    """

    def __init__(self, n, h, a, S, B, line, inertia, gravity=9.81):
        self.n, self.h, self.a, self.S, self.B, self.gravity = n, h, a, S, B, gravity
        self.m = line * h * np.where(np.isin(np.arange(n + 1), (0, n)), 0.5, 1.0)
        self.J = inertia * h
        share = np.zeros((n + 1, n))
        share[0, 0] = share[n, n - 1] = 1.0
        for k in range(1, n):
            share[k, k - 1 : k + 1] = 0.5
        # slip of all nodes from velocities of nodes and angular velocities in space
        turn = np.kron(share, a * hat(UP))
        self.slip = np.hstack([np.eye(3 * n + 3), turn])

    def unpack(self, y):
        n = self.n
        r, v = y[: 3 * n + 3].reshape(-1, 3), y[3 * n + 3 : 6 * n + 6].reshape(-1, 3)
        rest = y[6 * n + 6 :]
        return r, v, rest[: 9 * n].reshape(n, 3, 3), rest[9 * n :].reshape(n, 3)

    def mobility(self, R):
        """Return the inverse of the mass matrix in space."""
        n = self.n
        W = np.zeros((6 * n + 3, 6 * n + 3))
        W[: 3 * n + 3, : 3 * n + 3] = np.kron(np.diag(1.0 / self.m), np.eye(3))
        for e in range(n):
            at = 3 * n + 3 + 3 * e
            W[at : at + 3, at : at + 3] = R[e] @ np.diag(1.0 / self.J) @ R[e].T
        return W

    def forces(self, r, R):
        """Return forces on nodes and torques on elements, both in space."""
        d = np.diff(r, axis=0)
        gamma = np.einsum("eji,ej->ei", R, d) / self.h
        n = np.einsum("eij,ej->ei", R, self.S * (gamma - UP))
        force = -self.m[:, None] * self.gravity * UP
        force[:-1] += n
        force[1:] -= n
        torque = np.cross(d, n)
        theta = turning(np.swapaxes(R[:-1], 1, 2) @ R[1:])
        moment = theta * self.B / self.h
        size = np.linalg.norm(theta, axis=1)
        half = 0.5 * np.maximum(size, 1e-4)
        c = np.where(size > 1e-3, (1.0 - half / np.tan(half)) / (4.0 * half**2), 1.0 / 12.0)
        once = np.cross(theta, moment)
        twice = c[:, None] * np.cross(theta, once)
        torque[1:] -= np.einsum("eij,ej->ei", R[1:], moment - 0.5 * once + twice)
        torque[:-1] += np.einsum("eij,ej->ei", R[:-1], moment + 0.5 * once + twice)
        return force, torque

    def rate(self, _t, y):
        r, v, R, w = self.unpack(y)
        force, torque = self.forces(r, R)
        spin = np.einsum("eij,ej->ei", R, np.cross(w, self.J * w))
        W = self.mobility(R)
        free = W @ np.concatenate([force.ravel(), (torque - spin).ravel()])
        P = np.linalg.solve(self.slip @ W @ self.slip.T, -self.slip @ free)
        total = free + W @ self.slip.T @ P
        turns = total[3 * self.n + 3 :].reshape(-1, 3)
        body = np.einsum("eji,ej->ei", R, turns)
        rates = (v.ravel(), total[: 3 * self.n + 3], (R @ hat(w)).ravel(), body.ravel())
        return np.concatenate(rates)

    def run(self, r, R, v, w, t):
        """Return positions at t from r, R, v and w in space, first made to roll."""
        W = self.mobility(R)
        u = np.concatenate([v.ravel(), w.ravel()])
        u -= W @ self.slip.T @ np.linalg.solve(self.slip @ W @ self.slip.T, self.slip @ u)
        v, w = u[: 3 * self.n + 3], u[3 * self.n + 3 :].reshape(-1, 3)
        body = np.einsum("eji,ej->ei", R, w)
        start = np.concatenate([r.ravel(), v, R.ravel(), body.ravel()])
        found = solve_ivp(self.rate, (0.0, t), start, method="DOP853", rtol=1e-11, atol=1e-12)
        return self.unpack(found.y[:, -1])[0]
