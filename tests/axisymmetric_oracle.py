"""A sphere that attracts a half space, self-consistently: Newton on rings of uniform pressure.

Small strain, axial symmetry and a boundary integral: nothing here is shared with finite elements.
Source: Greenwood, Proc. R. Soc. A 453, 1997, 1277; Johnson, Contact Mechanics, 1985, section 3.4.
"""

import numpy as np
from scipy.special import ellipe, ellipk

# of the range of attraction: how close surfaces may come, in one iteration and at all
NEAREST = 0.3


def under_a_disc(r, radius):
    """Return the displacement of the surface under unit pressure on a disc, for E* = 1."""
    r, radius = np.broadcast_arrays(r, radius)
    inside = r <= radius
    near, far = np.minimum(r, radius), np.maximum(np.maximum(r, radius), 1e-300)
    m = (near / far) ** 2
    rest = np.where(m < 1.0, (1.0 - m) * ellipk(np.minimum(m, 1.0 - 1e-16)), 0.0)
    return 4.0 / np.pi * far * np.where(inside, ellipe(m), ellipe(m) - rest)


class Sphere:
    """A rigid sphere of radius 1 near a half space of E* = 1 with a 9-3 law of traction.

    Parameters
    ----------
    tabor : Tabor number (W^2 / z0^3)^(1/3)
    work : W, work of adhesion
    rings : of the surface, up to `reach` times the radius of contact at the pull-off of JKR
    """

    def __init__(self, tabor, work, rings=150, reach=8.0):
        self.work, self.range = work, work ** (2.0 / 3.0) / tabor
        far = reach * (9.0 * np.pi * work / 8.0) ** (1.0 / 3.0)
        edges = far * np.linspace(0.0, 1.0, rings + 1) ** 1.3
        self.middle = 0.5 * (edges[1:] + edges[:-1])
        discs = under_a_disc(self.middle[:, None], edges[None, :])
        self.bends, self.areas = np.diff(discs, axis=1), np.pi * np.diff(edges**2)
        # beyond the rings, of the attraction alone on a surface that is flat
        height = 0.5 * far**2 + self.range
        self.beyond = np.pi * 8.0 * work / 3.0 * self.range**2 / (2.0 * height**2) * 2.0

    def pressure(self, gap, share=1.0):
        """Return the pressure at this gap and its slope, with a fraction of the attraction."""
        q, size = self.range / gap, 8.0 * self.work / (3.0 * self.range)
        return size * (q**9 - share * q**3), size * (3.0 * share * q**3 - 9.0 * q**9) / gap

    def settled(self, approach, bent, share=1.0):
        """Return the displacement of the surface from near `bent`, or None."""
        apart = 0.5 * self.middle**2 + self.range - approach

        def off(bent):
            pressure, slope = self.pressure(apart + bent, share)
            return bent - self.bends @ pressure, slope

        bent = np.maximum(bent, NEAREST * self.range - apart)
        for _ in range(500):
            left, slope = off(bent)
            if np.abs(left).max() < 1e-9 * self.range:
                return bent
            step = np.linalg.solve(np.eye(bent.size) - self.bends * slope, left)
            part = min(1.0, NEAREST * self.range / np.abs(step).max())
            for _ in range(12):
                tried = np.maximum(bent - part * step, NEAREST * self.range - apart)
                if np.linalg.norm(off(tried)[0]) < np.linalg.norm(left):
                    break
                part *= 0.5
            bent = tried
        return None

    def force(self, approach, bent):
        """Return the tension on the sphere."""
        pressure, _ = self.pressure(0.5 * self.middle**2 + self.range - approach + bent)
        return self.beyond - float(pressure @ self.areas)


def pull_off(tabor, work=1e-5, rings=150):
    """Return the largest tension over pi W R of a sphere that is drawn away from contact."""
    sphere = Sphere(tabor, work, rings)
    approach, step = 2.0 * sphere.range, 0.05 * sphere.range
    bent = np.maximum(approach - 0.5 * sphere.middle**2, 0.0)
    for share in np.linspace(0.0, 1.0, 5):
        bent = sphere.settled(approach, bent, share)
    path = [(approach, sphere.force(approach, bent))]
    while step > 1e-3 * sphere.range and approach > -12.0 * sphere.range:
        found = sphere.settled(approach - step, bent)
        if found is None or np.abs(found - bent).max() > 2.0 * sphere.range:
            step *= 0.5
            continue
        approach, bent = approach - step, found
        path.append((approach, sphere.force(approach, bent)))
        if path[-1][1] < 0.97 * max(force for _, force in path) and path[-1][1] < path[-2][1]:
            break
    at, tension = np.array(path).T
    i = int(np.argmax(tension))
    a, b, c = np.polyfit(at[i - 1 : i + 2] - at[i], tension[i - 1 : i + 2], 2)
    return (c - b * b / (4.0 * a)) / (np.pi * work)
