"""Tables that pages of docs/theory include, written into results/pages.

    python benchmarks/page_tables.py

Those of the sheared cap come from the recorded runs of `solids_cap.py`, combined by `cap_meshes.py`;
the fits of Pacejka's formula are made anew, within seconds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

import stiction as st
from stiction.laws.tyre import Pacejka, SimplifiedTyre, StretchedString

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
            numbers = " | ".join(f"{getattr(fit, c):.3f}" for c in "BCDE")
            if worst > 0.3:
                # E is at its bound: the parameters mean nothing
                numbers = " | ".join([""] * 4)
            lines.append(f"| {name} | ${symbol}$ | {numbers} | {worst:.1%} | {mean:.1%} |")
    return "\n".join(lines).replace("%", " %")


TABLES = {"loss-of-area": loss_of_area, "mechanisms": mechanisms, "pacejka": pacejka}


def main() -> None:
    """Write every table."""
    for name, table in TABLES.items():
        (HERE / "pages" / f"{name}.md").write_text(table() + "\n", encoding="utf-8")
        print(f"results/pages/{name}.md, by stiction {st.__version__}")


if __name__ == "__main__":
    main()
