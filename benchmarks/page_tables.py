"""Tables that pages of docs/theory include, written into results/pages.

    python benchmarks/page_tables.py

Those of the sheared cap come from the runs of `solids_cap.py` that `cap_meshes.py` combined.
Those of the tyre are computed anew, in half a minute. Most of its motions are sensitive, so their
exponents differ in the last digits between processors.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from stiction.exact.switching import Turntable, wheel_two_fold
from stiction.laws.tyre import Pacejka, SimplifiedTyre, StretchedString
from stiction.switching.wheel.dynamic_tyre import (
    DynamicTyreWheel,
    lyapunov_exponent,
    sensitivity,
)

HERE = Path(__file__).resolve().parent / "results"

# quantity of `cap_meshes.py`: its name on the page, format of values and limit, of the error bar
CAP = {
    "area_at_rest": ("area before shearing $A_0$ [$L_0^2$]", ".2f", ".1f", ".1f"),
    "area_sliding": ("area at full sliding", ".2f", ".1f", ".2f"),
    "loss": ("loss of area", ".2%", ".2%", ".2%"),
    "length_loss": ("loss of $a$", ".2%", ".2%", ".2%"),
    "width_loss": ("loss of $b$", ".2%", ".2%", ".2%"),
    "force_sliding": ("force at full sliding [$E L_0^2$]", ".2f", ".2f", ".3f"),
    "alpha": (r"$\alpha$", ".5f", ".5f", ".2g"),
    "xi": (r"$\xi$", ".6f", ".6f", ".2g"),
    "eta": (r"$\eta$", ".2f", ".2f", ".2f"),
    "eta_area": (r"$\eta$ of the area", ".2f", ".2f", ".2f"),
}
PARTS = {
    "lifted": ("lifting", ".2%", ".2%", ".2%"),
    "laid": ("new contact", ".2%", ".2%", ".2%"),
    "in_plane": ("in the plane", ".2%", ".2%", ".2%"),
}
FORCE, MESHES = 10.0, 4


def _text(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}".replace("%", " %")


def _cap(chosen: dict[str, tuple[str, str, str, str]]) -> tuple[list[str], list[dict]]:
    """Return the lines of a table of the sheared cap, and the runs of its meshes."""
    path = HERE / "solids_cap.jsonl"
    points = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    runs = [p for p in points if p["kind"] == "run" and p["normal_force"] == FORCE][-MESHES:]
    heads = [f"{' x '.join(map(str, r['cells']))}, {r['unknowns']:,}" for r in runs]
    heads[0] += " unknowns"
    lines = [f"| | {' | '.join(heads)} | order | limit | error bar |"]
    lines.append("| --- |" + " ---: |" * (MESHES + 3))
    found = {p["what"]: p for p in points if p["kind"] == "mesh" and p["normal_force"] == FORCE}
    for key, (name, form, limit, bar) in chosen.items():
        p = found[key]
        values = [_text(value, form) for value in p["values"][-MESHES:]]
        order = "none" if p["order"] is None else f"{p['order']:.1f}"
        ends = [order, _text(p["limit"], limit), _text(p["bar"], bar)]
        lines.append(f"| {name} | {' | '.join([*values, *ends])} |")
    return lines, runs


def loss_of_area() -> str:
    """Return the table of the area, the half axes and the exponents of the sheared cap."""
    return "\n".join(_cap(CAP)[0])


def mechanisms() -> str:
    """Return the table of the parts of the loss of area at the end of the program."""
    lines, runs = _cap(PARTS)
    every = [_text(1.0 - r["area"][-1] / r["area"][r["begin"]], ".2%") for r in runs]
    lines.append(f"| loss of area, by its outline | {' | '.join(every)} | | | |")
    return "\n".join(lines)


def pacejka() -> str:
    """Return the table of the best magic formula for the force and the moment of tyres."""
    one = {"stiffness": 1.0, "max_pressure": 1.0, "relaxation": 1.0, "half_length": 1.0}
    kappa = 0.2724
    even = StretchedString(**one, kinetic_ratio=1.0)
    drop = StretchedString(**one, kinetic_ratio=2.0 / 3.0)
    string = SimplifiedTyre(kappa).string
    named = {
        r"$k=\delta=\sigma=a=1$, $\rho=1$": even,
        r"$k=\delta=\sigma=a=1$, $\rho=2/3$": drop,
        rf"simplified law's string, $\kappa = {kappa}$": string,
    }
    lines = ["| law | curve | $B$ | $C$ | $D$ | $E$ | largest error | rms error |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    angle = np.linspace(0.0, 1.4, 201)[1:]
    for symbol in ("F", "M"):
        for name, law in named.items():
            curve: Callable = law.force if symbol == "F" else law.moment
            fit, exact = Pacejka.fit_to(curve), curve(angle)
            error = (fit(angle) - exact) / np.abs(exact).max()
            worst, mean = np.abs(error).max(), math.sqrt(float(np.mean(error**2)))
            numbers = " | ".join(f"{getattr(fit, c):#.4g}" for c in "BCDE")
            if worst > 0.3:
                # E is at its bound: the parameters mean nothing
                numbers = " | ".join([""] * 4)
            lines.append(f"| {name} | ${symbol}$ | {numbers} | {worst:.1%} | {mean:.1%} |")
    return "\n".join(lines).replace("%", " %")


# ---- the tyre with memory

TABLE = Turntable(
    d=1.0, m=1.0, c1=0.001, c2=0.001, beta=0.05, r0=0.1, omega0=-1.0, mu=1.0, gamma=-0.75 * math.pi
)
FOLD = wheel_two_fold(TABLE, 0.1859, -1.037)
KAPPA = float(FOLD.kappa)
OWN_ANGLE = SimplifiedTyre(KAPPA).onset_angle
WHEEL = DynamicTyreWheel(
    **dataclasses.asdict(TABLE), kappa=KAPPA, k2=float(FOLD.k2), string_angle=OWN_ANGLE, nodes=24
)
AT_FOLD = float(FOLD.r), float(FOLD.v), float(FOLD.omega)
# half length of the patch [m] and angle of the onset of slip
SIZES = ((3.0 * KAPPA, OWN_ANGLE), (1e-3, 0.1), (1e-4, 0.1), (1e-5, 0.03), (1e-6, 0.01))

# size, elements, variant, its fields; time and window [s]
LONG_RUNS = (
    (0, 24, "", {}, 40.0, 0.2),
    (1, 24, "", {}, 40.0, 0.1),
    (2, 24, "", {}, 40.0, 0.1),
    (2, 24, "", {}, 40.0, 0.05),
    (2, 96, "96 elements", {}, 40.0, 0.05),
    (3, 24, "", {}, 40.0, 0.05),
    (3, 24, "", {}, 40.0, 0.02),
    (3, 96, "96 elements", {}, 40.0, 0.02),
    (4, 24, "", {}, 8.0, 0.005),
    (3, 24, r"$\rho = 1$", {"kinetic_ratio": 1.0}, 40.0, 0.02),
    (3, 24, "not mapped", {"string_angle": None}, 40.0, 0.02),
    (3, 24, r"$\sigma = 10^{-5}$ m", {"relaxation": 1e-5}, 40.0, 0.02),
)


def _tyre(size: int, nodes: int, **others: float | None) -> DynamicTyreWheel:
    half_length, onset = SIZES[size]
    return dataclasses.replace(
        WHEEL, half_length=half_length, onset_angle=onset, nodes=nodes, **others
    )


def _size(size: int) -> tuple[str, str]:
    half_length, onset = SIZES[size]
    power = f"$10^{{{math.log10(half_length):.0f}}}$" if size else f"{half_length:.3f}"
    return power, f"{onset:.3f}" if size == 0 else f"{onset:g}"


def _near_the_line(r: float, h: float, g: float) -> tuple[float, float, float]:
    """Return r, v, omega of a state with slip velocities h and g [m/s]."""
    cos, sin = math.cos(TABLE.gamma), math.sin(TABLE.gamma)
    turn = (g * sin - h * cos) / r
    return r, TABLE.d * turn - h * sin - g * cos, TABLE.omega0 + turn


def _rate(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}" if abs(value) < 6.0 else f"{value:.0f}"


def sensitivities(rows: int = 2 * len(SIZES)) -> str:
    """Return the table of exponents and growth over half a second, by stiffness of the tyre."""
    names = ("start", "`half_length` [m]", "`onset_angle`", "exponent [1/s]")
    growth = "largest growth of $10^{-6}$, $10^{-8}$, $10^{-10}$"
    lines = [f"| {' | '.join(names)} | {growth} |", "|---|---|---|---|---|"]
    starts = {"two-fold": AT_FOLD, "line": _near_the_line(0.17, 0.004, 0.003)}
    for name, size in [(name, size) for name in starts for size in range(len(SIZES))][:rows]:
        times = np.linspace(0.0, 0.5, 501)
        found = [sensitivity(_tyre(size, n), starts[name], times) for n in (24, 48, 96)]
        rates = ", ".join(_rate(one.exponent[-1]) for one in found)
        grown = ", ".join(f"{g:.1f}" if g < 10.0 else f"{g:.0e}" for g in found[1].growth)
        grown = grown.replace("e+0", "e")
        lines.append(f"| {name} | {' | '.join(_size(size))} | {rates} | {grown} |")
    return "\n".join(lines)


def long_runs(rows: int = len(LONG_RUNS)) -> str:
    """Return the table of mean growth rates in the quarters of long motions."""
    names = ("`half_length` [m], `onset_angle`", "variant", "time, window [s]")
    ends = ("mean rate in each quarter [1/s]", "$r$ in the last quarter")
    lines = [f"| {' | '.join((*names, *ends))} |", "|---|---|---|---|---|"]
    for size, nodes, variant, fields, time, window in LONG_RUNS[:rows]:
        tyre, windows = _tyre(size, nodes, **fields), round(time / window)
        rates, states = lyapunov_exponent(tyre, AT_FOLD, window=window, windows=windows)
        mean = ", ".join(_rate(float(part.mean())) for part in np.array_split(rates, 4))
        last = np.array_split(states[:, 0], 4)[-1]
        place = " to ".join(sorted({f"{last.min():.3f}", f"{last.max():.3f}"}))
        cells = (", ".join(_size(size)), variant, f"{time:g}, {window:g}", mean, place)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


TABLES = {
    "loss-of-area": loss_of_area,
    "mechanisms": mechanisms,
    "pacejka": pacejka,
    "tyre-sensitivity": sensitivities,
    "tyre-long-runs": long_runs,
}


def main() -> None:
    """Write every table."""
    for name, table in TABLES.items():
        (HERE / "pages" / f"{name}.md").write_text(table() + "\n", encoding="utf-8")
        print(f"results/pages/{name}.md")


if __name__ == "__main__":
    main()
