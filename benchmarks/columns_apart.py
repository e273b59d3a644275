"""Why columns buckle beside Euler's load: ends, shear with axial strain, and mesh, one by one.

The perfect columns of `trust_buckling.py` are pressed again, and their load over Euler's is taken
apart:

- finite strain: a plate of the same material that is compressed between smooth walls has an exact
  load of buckling (incremental equations through the thickness, solved by a matrix exponential);
  shear and the shortening before are in it;
- mesh: finite elements between smooth ends against that load, with the same mesh and a finer one;
- ends: clamps that hold the thickness as well, against smooth ones.

    python benchmarks/columns_apart.py 200

Source: Biot 1965, ch. 4, for the incremental equations.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import trust_buckling
from scipy.linalg import expm
from scipy.optimize import brentq

import stiction as st
from stiction.solids import (
    Q2,
    Body,
    Boundary,
    Driven,
    Fixed,
    Linear,
    Nearest,
    NeoHookean,
    Program,
    StopThere,
    Term,
    rectangle,
)
from stiction.solids.model import Readings


def plate(wave: float, young: float, nu: float, thick: float) -> float:
    """Return the strain at which a plate between smooth walls buckles with a wave number."""
    mu, lam = young / 2.0 / (1.0 + nu), young * nu / (1.0 + nu) / (1.0 - 2.0 * nu)

    def lateral(a: float) -> float:
        return brentq(lambda b: mu * (b - 1.0 / b) + lam * np.log(a * b) / b, 0.8, 1.5, xtol=1e-15)

    def det(strain: float) -> float:
        a = 1.0 - strain
        b = lateral(a)
        m = mu - lam * np.log(a * b)
        a11, a22 = mu + (lam + m) / a**2, mu + (lam + m) / b**2
        a12, c = lam / (a * b), m / (a * b)
        k = wave
        # U, U', V, V' through the thickness
        way = np.array(
            [
                [0.0, 1.0, 0.0, 0.0],
                [a11 * k * k / mu, 0.0, 0.0, (a12 + c) * k / mu],
                [0.0, 0.0, 0.0, 1.0],
                [0.0, -(a12 + c) * k / a22, mu * k * k / a22, 0.0],
            ]
        )
        free = np.array([[0.0, mu, -c * k, 0.0], [a12 * k, 0.0, 0.0, a22]])
        start = np.linalg.svd(free)[2][2:].T
        return float(np.linalg.det(free @ expm(way * thick) @ start))

    euler = (wave * thick) ** 2 / 12.0
    trial = np.linspace(0.6, 1.4, 41) * euler
    values = [det(e) for e in trial]
    # the determinant turns its sign where the plate buckles
    turn = next(i for i in range(40) if values[i] * values[i + 1] < 0.0)
    return float(brentq(det, trial[turn], trial[turn + 1], xtol=1e-16, rtol=1e-12))


def place(held: str, slender: float, nu: float, cells: tuple[int, int], smooth: bool) -> float:
    """Return the strain at which finite elements buckle."""
    end = 1.25 * trust_buckling.TAKES[held] * np.pi**2 / 12.0 / slender**2
    near, far = Boundary(0, "left"), Boundary(0, "right")
    conditions = [Driven(far, 0, Program((0, 1), (0, -end * slender)))]
    if smooth:
        conditions.append(Fixed(near, (0,)))
        conditions.append(Fixed(Nearest(0, (0.0, 0.5)), (1,)))
        if held == "clamped":
            conditions.append(Linear([Term(far, 1, 1.0)]))
    else:
        conditions.append(Fixed(near))
        if held == "clamped":
            conditions.append(Fixed(far, (1,)))
    body = Body(rectangle(slender, 1.0, cells), Q2(), NeoHookean(1.0, nu))
    solid = st.Solid([body], [], conditions, readings=Readings(displacement=0, support=True))
    run = st.solve(solid, st.solids.Quasistatic(steps=5, on_bifurcation=StopThere()))
    return float(run.determinism.losses[0].where["program_time"]) * end


def drawn(rng: np.random.Generator) -> Iterator[tuple[str, float, float, tuple[int, int]] | None]:
    """Return the perfect columns among those that `trust_buckling` draws, each in its order."""
    while True:
        solid, _, euler, perfect = trust_buckling.column(rng)
        body = solid.bodies[0]
        size = np.sort(np.ptp(body.mesh.points, axis=0))
        slender = float(size[1] / size[0])
        held = "clamped" if euler * slender**2 * 12.0 / np.pi**2 > 2.0 else "guided"
        cells = tuple(sorted(body.mesh.boundary(n).shape[0] for n in ("bottom", "left")))[::-1]
        nu = body.material.poisson
        rng.choice([20, 400], p=[0.8, 0.2])
        rng.random()
        yield (held, slender, nu, cells) if perfect else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", type=int, nargs="?", default=40)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    columns = drawn(np.random.default_rng(given.seed))
    rows = []
    print("held     L/h    nu    mesh   euler   load/Euler-1  plate/Euler-1  mesh   finer  ends")
    for _ in range(given.cases):
        one = next(columns)
        if one is None:
            continue
        held, slender, nu, cells = one
        wave = (2.0 if held == "clamped" else 1.0) * np.pi / slender
        euler = wave**2 / 12.0
        exact = plate(wave, 1.0, nu, 1.0)
        bonded = place(held, slender, nu, cells, smooth=False)
        same = place(held, slender, nu, cells, smooth=True)
        finer = place(held, slender, nu, (2 * cells[0], 2 * cells[1]), smooth=True)
        row = (
            np.array([bonded / euler, exact / euler, same / exact, finer / exact, bonded / same])
            - 1.0
        )
        rows.append([euler, nu, slender, *row])
        if abs(row[0]) > max(1e-3, euler):
            numbers = " ".join(f"{1e4 * v:8.2f}" for v in row)
            print(f"{held:8} {slender:5.1f} {nu:5.3f} {cells} {euler:.2e} {numbers} (1e-4)")
    a = np.abs(np.array(rows))
    off = a[:, 3] > np.maximum(1e-3, a[:, 0])
    print(
        f"{len(rows)} perfect columns, {int(off.sum())} farther from Euler's than .1 % and strain"
    )
    for name, i in (("mesh", 5), ("finer mesh", 6), ("ends", 7)):
        largest, median = 1e4 * a[:, i].max(), 1e4 * np.median(a[:, i])
        print(f"{name}: largest {largest:.2f}e-4, median {median:.2f}e-4")
    bound = np.abs(a[:, 4] / a[:, 0]).max()
    print(f"plate between smooth walls: at most {bound:.2f} of Euler's strain below Euler's load")


if __name__ == "__main__":
    main()
