"""Two crossed rods in rolling contact at any amplitude, by NumPy and classical Runge-Kutta steps.

Written from the formulas sheet, section 3, and slow; it shares nothing with the package.
"""

import numpy as np

UP = np.array([0.0, 0.0, 1.0])


def hat(v):
    """Return the matrices of v x, for vectors along the last axis."""
    z = np.zeros(v.shape[:-1])
    x, y, w = np.moveaxis(v, -1, 0)
    rows = [[z, -w, y], [w, z, -x], [-y, x, z]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def turn(v):
    """Return the rotations by the vectors v."""
    angle = np.linalg.norm(v, axis=-1)[..., None, None]
    skew = hat(v)
    small = np.sinc(angle / np.pi)
    return np.eye(3) + small * skew + 0.5 * np.sinc(0.5 * angle / np.pi) ** 2 * skew @ skew


def turning(R):
    """Return the vectors whose rotations are R, less than half a turn."""
    skew = 0.5 * (R - np.swapaxes(R, -1, -2))
    axis = np.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1)
    sine = np.linalg.norm(axis, axis=-1)[..., None]
    cosine = 0.5 * (np.trace(R, axis1=-2, axis2=-1)[..., None] - 1.0)
    angle = np.arctan2(sine, cosine)
    return axis * np.where(sine > 1e-12, angle / np.maximum(sine, 1e-300), 1.0)


def spline(u, order=0):
    """Return the cubic B-spline or its first or second derivative."""
    r, s = np.abs(u), np.sign(u)
    far = np.maximum(2.0 - r, 0.0)
    near = r < 1.0
    if order == 0:
        return np.where(near, 2.0 / 3.0 - r**2 + 0.5 * r**3, far**3 / 6.0)
    if order == 1:
        return s * np.where(near, -2.0 * r + 1.5 * r**2, -0.5 * far**2)
    return np.where(near, -2.0 + 3.0 * r, far)


class Oracle:
    """State: nodes r, frames R, velocities v, body rates w, places s."""

    def __init__(self, rods, velocity, spin):
        self.n, self.h = rods.elements, rods.length / rods.elements
        self.radius = rods.radius
        self.S, self.B, line, inertia = rods.section
        self.m, self.J = line * self.h, inertia * self.h
        x = np.arange(self.n + 1) * self.h
        t, along = rods.directions, 1.0 + rods.stretch
        places = zip(t, rods.contact, strict=True)
        self.r = np.stack([np.outer((x - s) * along, d) for d, s in places])
        self.r[1, :, 2] = 2.0 * rods.radius
        frames = [np.stack([np.cross(UP, d), UP, d], axis=1) for d in t]
        # right-handed: first axis = second x third
        for f in frames:
            f[:, 0] = np.cross(f[:, 1], f[:, 2])
        self.R = np.stack([np.broadcast_to(f, (self.n, 3, 3)) for f in frames]).copy()
        self.s = np.array(rods.contact)
        self.v = velocity.copy()
        self.w = np.einsum("beji,bej->bei", self.R, spin)
        self.hold(self.v, self.w)
        self.roll()

    @staticmethod
    def hold(v, w):
        v[:, [0, 1, -2, -1]] = 0.0
        w[:, [0, -1]] = 0.0

    def weights(self, s, order=0):
        """Return the splines on nodes and on elements, (2, .)."""
        k = s[:, None] / self.h
        scale = self.h**-order
        nodes = scale * spline(k - np.arange(self.n + 1.0), order)
        return nodes, scale * spline(k - np.arange(float(self.n)) - 0.5, order)

    def slip(self, r, R, v, w, s):
        a, b = self.weights(s)
        place = np.einsum("bk,bki->bi", a, r)
        rate = np.einsum("bk,bki->bi", a, v)
        spin = np.einsum("be,beij,bej->i", b, R, w)
        return rate[0] - rate[1] + 0.5 * np.cross(spin, place[1] - place[0])

    def response(self, r, R, s):
        """Return (G, moves): slip per force, and velocities per force."""
        a, b = self.weights(s)
        place = np.einsum("bk,bki->bi", a, r)
        arm = hat(place[1] - place[0])
        sign = np.array([1.0, -1.0])
        v = np.einsum("b,bk,ij->bkij", sign, a, np.eye(3)) / self.m
        w = 0.5 * np.einsum("be,beji,jk->beik", b, R, arm) / self.J[:, None]
        for j in range(3):
            self.hold(v[..., j], w[..., j])
        columns = [self.slip(r, R, v[..., j], w[..., j], s) for j in range(3)]
        return np.array(columns).T, v, w

    def roll(self):
        G, v, w = self.response(self.r, self.R, self.s)
        push = np.linalg.solve(G, self.slip(self.r, self.R, self.v, self.w, self.s))
        self.v, self.w = self.v - v @ push, self.w - w @ push

    def drift(self, r, v, w, R, s):
        """Return s' from tangency."""
        a = self.weights(s)[0]
        a1, a2 = self.weights(s, 1)[0], self.weights(s, 2)[0]
        place, t, bend = (np.einsum("bk,bki->bi", c, r) for c in (a, a1, a2))
        D = place[1] - place[0]
        rate, lean = (np.einsum("bk,bki->bi", c, v) for c in (a, a1))
        V = rate[1] - rate[0]
        A = np.array(
            [[-t[0] @ t[0] + D @ bend[0], t[0] @ t[1]], [-t[0] @ t[1], t[1] @ t[1] + D @ bend[1]]]
        )
        return -np.linalg.solve(A, [V @ t[0] + D @ lean[0], V @ t[1] + D @ lean[1]])

    def free(self, r, R, v, w):
        """Return accelerations without contact."""
        gamma = np.einsum("beji,bej->bei", R, np.diff(r, axis=1) / self.h)
        n = self.S * (gamma - UP)
        space = np.einsum("beij,bej->bei", R, n)
        f = np.zeros_like(r)
        f[:, :-1] += space
        f[:, 1:] -= space
        tau = self.h * np.cross(gamma, n) - np.cross(w, self.J * w)
        th = turning(np.swapaxes(R[:, :-1], -1, -2) @ R[:, 1:])
        m = (self.B * th / self.h)[..., None]
        half = 0.5 * np.linalg.norm(th, axis=-1)[..., None, None]
        c = np.where(
            half > 1e-3, (1.0 - half / np.tan(half + 1e-300)) / (4.0 * half**2 + 1e-300), 1.0 / 12.0
        )
        skew = hat(th)
        ahead = (np.eye(3) - 0.5 * skew + c * skew @ skew) @ m
        behind = (np.eye(3) + 0.5 * skew + c * skew @ skew) @ m
        tau[:, 1:] -= ahead[..., 0]
        tau[:, :-1] += behind[..., 0]
        dv, dw = f / self.m, tau / self.J
        self.hold(dv, dw)
        return dv, dw

    def rates(self, r, R, v, w, s):
        dv, dw = self.free(r, R, v, w)
        ds = self.drift(r, v, w, R, s)
        d = 1e-6
        ahead = self.slip(r + d * v, R @ turn(d * w), v, w, s + d * ds)
        behind = self.slip(r - d * v, R @ turn(-d * w), v, w, s - d * ds)
        G, by_v, by_w = self.response(r, R, s)
        force = -np.linalg.solve(G, self.slip(r, R, dv, dw, s) + (ahead - behind) / (2.0 * d))
        return dv + by_v @ force, dw + by_w @ force, ds, force

    def run(self, t, steps):
        """Move on by t; return places and force at the end."""
        h = t / steps
        for _ in range(steps):
            r, R, v, w, s = self.r, self.R, self.v, self.w, self.s
            k1 = self.rates(r, R, v, w, s)
            at = (r + 0.5 * h * v, R @ turn(0.5 * h * w), v + 0.5 * h * k1[0])
            at += (w + 0.5 * h * k1[1], s + 0.5 * h * k1[2])
            k2 = self.rates(*at)
            mid = (r + 0.5 * h * at[2], R @ turn(0.5 * h * at[3]), v + 0.5 * h * k2[0])
            mid += (w + 0.5 * h * k2[1], s + 0.5 * h * k2[2])
            k3 = self.rates(*mid)
            end = (r + h * mid[2], R @ turn(h * mid[3]), v + h * k3[0])
            end += (w + h * k3[1], s + h * k3[2])
            k4 = self.rates(*end)
            self.r = r + h / 6.0 * (v + 2.0 * at[2] + 2.0 * mid[2] + end[2])
            mean = (w + 2.0 * at[3] + 2.0 * mid[3] + end[3]) / 6.0
            self.R = R @ turn(h * mean)
            self.v, self.w, self.s = (
                y + h / 6.0 * (a + 2.0 * b + 2.0 * c + e)
                for y, a, b, c, e in zip((v, w, s), k1, k2, k3, k4, strict=False)
            )
        return self.s, self.rates(self.r, self.R, self.v, self.w, self.s)[3]
