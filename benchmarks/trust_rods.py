"""Random drops of two to six rods: no overlap that the audit does not report, no run that hangs.

Rods of random radii, lengths and directions fall on a fixed rod or on each other, ends first too,
some onto a floor. Overlaps are measured by SciPy on samples of the splines, with no code of the
package; a sample point is at most a hundredth of a radius off.
"""

from __future__ import annotations

import collections
import time

import numpy as np
from scipy.interpolate import BSpline
from scipy.spatial import cKDTree
from tally import Tally

import stiction as st
from stiction.rods import (
    CircularSection,
    Clamped,
    ContactSearch,
    CosseratRod,
    Free,
    PlanePartner,
    RigidMotion,
    RollingLeapfrog,
    Straight,
)

ELEMENTS, FINE, LIMIT = 10, 24, 1e-3
SLOW = 60.0  # s; a run that takes longer counts as hanging


def curve(nodes, fine=FINE):
    """Return samples of the contact curve of nodes (n + 1, 3)."""
    n = len(nodes) - 1
    wide = np.array([2.0 * nodes[0] - nodes[1], *nodes, 2.0 * nodes[-1] - nodes[-2]])
    return BSpline(np.arange(-3.0, n + 4.0), wide, 3)(np.linspace(0.0, n, fine * n + 1))


def apart(one, two):
    """Return the least distance of two sampled curves, between samples by their chords."""
    far, at = cKDTree(two).query(one)
    i = int(np.argmin(far))
    best = far[i]
    for a in range(max(i - 1, 0), min(i + 1, len(one) - 1)):
        for b in range(max(at[i] - 1, 0), min(at[i] + 1, len(two) - 1)):
            best = min(best, chords(one[a], one[a + 1], two[b], two[b + 1]))
    return best


def chords(p, q, u, w):
    """Return the distance of two segments by a fine grid on both."""
    s = np.linspace(0.0, 1.0, 9)[:, None]
    one, two = (1 - s) * p + s * q, (1 - s) * u + s * w
    return np.linalg.norm(one[:, None] - two[None], axis=2).min()


def drop(rng):
    """Return a system of two to six rods that start apart, and whether there is a floor."""
    count, rods, placed = int(rng.integers(2, 7)), [], []
    while len(rods) < count:
        radius, length = rng.uniform(0.008, 0.025), rng.uniform(0.2, 0.4)
        way = rng.normal(size=3) * np.array([1.0, 1.0, rng.choice([0.0, 0.4, 2.0])])
        way *= 0.5 * length / np.linalg.norm(way)
        middle = np.array([*rng.uniform(-0.1, 0.1, 2), 0.05 + 0.06 * len(rods)])
        line = np.array([middle - way, middle + way])
        samples = curve(np.linspace(*line, ELEMENTS + 1))
        if samples[:, 2].min() < 1.01 * radius:
            continue
        if any(apart(samples, x) < 1.02 * (radius + a) for x, a in placed):
            continue
        held = not rods and rng.random() < 0.5
        end = Clamped if held else Free
        section = CircularSection(radius, 10.0 ** rng.uniform(5.5, 6.5), density=1000.0)
        motion = [] if held else [RigidMotion((*rng.normal(0.0, 0.3, 2), -rng.uniform(0.3, 2.0)))]
        ends = {"left": end(), "right": end()}
        rods.append(CosseratRod(section, Straight(*line), elements=ELEMENTS, motion=motion, **ends))
        placed.append((samples, radius))
    floor = [PlanePartner()] if rng.random() < 0.5 else []
    mu = st.Coulomb(float(rng.choice([0.0, 0.3, 1.0])))
    search = ContactSearch(friction=mu, restitution=float(rng.choice([0.0, 0.5])))
    return st.Rods(rods, search=search, gravity=(0.0, 0.0, -9.81), partners=floor), bool(floor)


def deepest(run, radii, floor):
    """Return the deepest overlap at the saved times over the smaller radius."""
    worst, number = 0.0, run.data.rod_of_node.values
    for x in run.data.position.values:
        curves = [curve(x[number == b]) for b in range(1, len(radii) + 1)]
        for i, one in enumerate(curves):
            if floor:
                worst = max(worst, 1.0 - one[:, 2].min() / radii[i])
            for j in range(i):
                deep = radii[i] + radii[j] - apart(one, curves[j])
                worst = max(worst, deep / min(radii[i], radii[j]))
    return worst


def campaign(cases: int = 300, seed: int = 0) -> tuple[str, int]:
    """Drop rods from the seeds that begin with `seed`; the audit must report each overlap."""
    tally, failed = Tally(), collections.defaultdict(list)
    for number in range(seed, seed + cases):
        system, floor = drop(np.random.default_rng(number))
        start = time.process_time()
        run = st.solve(system, RollingLeapfrog(), (0.0, 0.06), save=13, throw=False)
        tally.must(time.process_time() - start <= SLOW, f"beyond {SLOW:g} s", number)
        tally.add(run.status.name)
        for check in run.audit.failed:
            failed[check.check].append(number)
        deep = deepest(run, [rod.section.radius for rod in system.rods], floor)
        line = next(c for c in run.audit if c.check == "no_overlap")
        if deep > LIMIT:
            tally.add("overlaps with the floor" if "partner" in line.note else "overlaps of rods")
            tally.must(not line.ok, "not reported", number, deep, line.value)
    for name, seeds in failed.items():
        print(f"{name} failed in {len(seeds)}, first in seeds {seeds[:12]}")
    return tally.result()
