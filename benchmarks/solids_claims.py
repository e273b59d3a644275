"""Does what the paper on adhesive friction says of its examples hold? Curves, numbers, verdicts.

The statements of sections 4.1, 4.2 and 5 (Mergel, Scheibert, Sauer 2021) are judged by the
rules of `stiction reproduce adhesive-friction`, at the paper's sizes where those were run and
at the quick ones elsewhere. Curves lie in results/solids as text, thinned out:

    python benchmarks/solids_claims.py run [NAME ...]           runs cases, the paper's sizes
    python benchmarks/solids_claims.py run --quick [NAME ...]   the same at the quick sizes
    python benchmarks/solids_claims.py vary [NAME ...]          parameter studies
    python benchmarks/solids_claims.py late [NAME ...]          the cap, friction with the shear
    python benchmarks/solids_claims.py verdicts                 the tables, from these curves

A NAME may end in *; without one all missing cases are run. The cap has the paper's 900 x 47
elements. docs/theory/solids-verdicts.md includes the tables, results/solids/verdicts.md.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import io
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from stiction.laws import DI, EA
from stiction.numerics.linear_solvers import Pardiso, fastest
from stiction.papers.adhesive_friction.cap import (
    Fit,
    cap_rows,
    figure_13,
    figure_14,
    figure_s1,
    fit,
    loads,
    xi_at,
)
from stiction.papers.adhesive_friction.cases import (
    Case,
    Curves,
    Study,
    cases,
    extract,
    read_curves,
    write_curves,
)
from stiction.papers.adhesive_friction.cylinders import cylinder_rows
from stiction.papers.adhesive_friction.strip import (
    T_MAX,
    first_above,
    gamma_at,
    nucleation,
    strip_rows,
)
from stiction.papers.items import Row
from stiction.solids.materials import LinearElastic
from stiction.solids.methods import Quasistatic
from stiction.solids.presets.plane import CapSliding, StripPeeling, TwoCylinders
from stiction.solve import solve

FOLDER = Path(__file__).resolve().parent / "results" / "solids"


def solver() -> object:
    """Return PARDISO with one thread where it is there."""
    found = fastest()
    return Pardiso(threads=1) if isinstance(found, Pardiso) else found


# ---- parameter studies, at the quick sizes


def _strip_variants() -> dict[str, StripPeeling]:
    base = StripPeeling(model=EA(0.02), u_end=60.0)
    given = {
        "base": base,
        "cells-160x4": replace(base, cells=(160, 4)),
        "length-175": replace(base, length=175.0),
        "length-250": replace(base, length=250.0),
        "height-7": replace(base, height=7.0),
        "height-14": replace(base, height=14.0),
        "cut-0.5": replace(base, model=EA(0.02, 0.5)),
        # the same threshold at gap_eq as the base, by the paper's (36)
        "cut-0.5-matched": replace(base, model=EA(0.02 / 0.8518577, 0.5)),
        "di": replace(base, model=DI(0.02)),
        "di-sharpness-20": replace(base, model=DI(0.02, sharpness=20.0)),
        "di-sharpness-320": replace(base, model=DI(0.02, sharpness=320.0)),
    }
    for factor in (0.1, 10.0):
        given[f"penalty-x{factor:g}"] = replace(base, penalty=factor * _penalty(base))
    # section 6 names it: pulled along the plane instead of away from it
    given["horizontal"] = replace(base, horizontal=True, model=EA(0.05), u_end=8.0)
    return {f"strip-{word}": system for word, system in given.items()}


def _penalty(system: StripPeeling | TwoCylinders | CapSliding) -> float:
    return float(system.assembled().contacts[0].tangential_stiffness)


def _cylinder_variants() -> dict[str, TwoCylinders]:
    base = TwoCylinders(model=EA(0.9))
    given = {"base": base}
    for factor in (0.1, 10.0):
        given[f"penalty-x{factor:g}"] = replace(base, penalty=factor * _penalty(base))
    for overlap in (0.2, 0.26):
        given[f"overlap-{overlap:g}"] = replace(base, overlap=overlap)
    return {f"cylinders-{word}": system for word, system in given.items()}


def _cap_variants() -> dict[str, CapSliding]:
    # friction from the shear on: a preload without history
    base = CapSliding(normal_force=0.0, u_end=2.6, friction_in_preload=False)
    low = replace(base, normal_force=-0.2, u_end=2.2)
    given = {
        "base": base,
        "cells-160x8": replace(base, cells=(160, 8)),
        "cells-320x16": replace(base, cells=(320, 16)),
        "cells-900x47": replace(base, size="paper"),
        "radius-36": replace(base, radius=36.0),
        "radius-45": replace(base, radius=45.0),
        "half-width-16": replace(base, half_width=16.0),
        "half-width-26": replace(base, half_width=26.0),
        "friction-in-preload": replace(base, friction_in_preload=True),
        "sharpness-20": replace(base, model=DI(1.0, sharpness=20.0)),
        "sharpness-320": replace(base, model=DI(1.0, sharpness=320.0)),
        "low": low,
        "low-radius-36": replace(low, radius=36.0),
        "low-half-width-26": replace(low, half_width=26.0),
        "low-friction-in-preload": replace(low, friction_in_preload=True),
    }
    for factor in (0.1, 10.0):
        given[f"penalty-x{factor:g}"] = replace(base, penalty=factor * _penalty(base))
    dry = CapSliding(normal_force=1.9, adhesive=False, u_end=3.2, friction_in_preload=False)
    given["dry"] = dry
    for nu in (0.4, 0.49, 0.499):
        linear = LinearElastic(1.0, nu)
        given[f"dry-linear-nu-{nu:g}"] = replace(dry, material=linear, nu=nu)
    tall = replace(dry, material=LinearElastic(1.0, 0.499), nu=0.499, radius=81.3, height=40.0)
    given["dry-linear-nu-0.499-tall"] = replace(tall, half_width=60.0, normal_force=0.95)
    given["dry-tall"] = replace(tall, half_width=60.0, normal_force=0.95, material=None)
    return {f"cap-{word}": system for word, system in given.items()}


def variants() -> dict[str, Case]:
    found: dict[str, Case] = {}
    corner = {"trailing": (-1.0, 0.0)}
    for name, system in _strip_variants().items():
        found[name] = Case(system, 60)
    for name, cylinders in _cylinder_variants().items():
        found[name] = Case(cylinders, 100, (), corner)
    for name, cap in _cap_variants().items():
        found[name] = Case(cap, 70)
    return found


def late() -> dict[str, Case]:
    """Return the caps without friction while they are pressed on or pulled."""
    found = {}
    for name, case in cases(full=True).items():
        if isinstance(case.system, CapSliding) and "linear" not in name:
            found[name] = replace(case, system=replace(case.system, friction_in_preload=False))
    return found


# ---- running


def run_all(given: dict[str, Case], folder: Path, names: list[str]) -> None:
    """Run the cases of these names that do not lie in the folder, in the order of the names."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [n for name in names or ["*"] for n in given if fnmatch.fnmatchcase(n, name)]
    for name in dict.fromkeys(wanted):
        if (folder / f"{name}.csv").exists():
            continue
        case = given[name]
        begin = time.perf_counter()
        # rounding of places times a stiff penalty is above the default tolerance
        tolerance = 1e-8 if name.endswith("penalty-x10") else 1e-9
        method = Quasistatic(steps=case.steps, solver=solver(), newton_tolerance=tolerance)
        run = solve(case.system, method, (0.0, 1.0), throw=False)
        write_curves(extract(run, case), folder, name)
        spent = time.perf_counter() - begin
        stats = ", ".join(f"{k} {v}" for k, v in run.stats.items())
        print(f"{name}: {run.status.name}, {spent:.0f} s, {stats} {run.reason}", flush=True)


# ---- reporting


class Both(Study):
    """Cases at the paper's sizes where they were run, else at the quick ones."""

    def __init__(self) -> None:
        super().__init__(full=True, folder=FOLDER / "paper")
        self.quick: set[str] = set()

    def has(self, name: str) -> bool:
        return any((FOLDER / size / f"{name}.csv").exists() for size in ("paper", "quick"))

    def pair(self, one: str, other: str) -> tuple[Curves, Curves]:
        """Return both at the paper's size if both were run there, else both at the quick one."""
        if self._at_paper(one) and self._at_paper(other):
            return self[one], self[other]
        return read_curves(FOLDER / "quick", one), read_curves(FOLDER / "quick", other)

    @staticmethod
    def _at_paper(name: str) -> bool:
        return (FOLDER / "paper" / f"{name}.csv").exists()

    def _find(self, name: str) -> Curves:
        if not self._at_paper(name):
            self.quick.add(name)
            return read_curves(FOLDER / "quick", name)
        found = read_curves(FOLDER / "paper", name)
        if not found.profiles and (FOLDER / "quick" / f"{name}.csv").exists():
            found = replace(found, profiles=read_curves(FOLDER / "quick", name).profiles)
        return found


def table(title: str, rows: list[Row]) -> None:
    print(f"\n## {title}\n")
    print("| statement | paper | ours | verdict |")
    print("|---|---|---|---|")
    for row in rows:
        what, paper, ours, _ = row.cells
        short = ours if isinstance(row.ours, str) else f"{row.ours:.4g}"
        said = paper if isinstance(row.paper, str) else f"{row.paper:.4g}"
        print(f"| {what} | {said} | {short} | {row.verdict} |")


def write_verdicts() -> None:
    """Print the tables, and write the file that the page of the theory includes."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        verdicts()
    print(text.getvalue())
    (FOLDER / "verdicts.md").write_text(text.getvalue().lstrip("\n"), encoding="utf-8")


def verdicts() -> None:
    study = Both()
    groups: dict[str, Callable[[Study], list[Row]]] = {
        "Section 4.1: peeling of a strip": strip_rows,
        "Section 4.2: two cylinders": cylinder_rows,
        "Section 5: sliding of a cap": cap_rows,
    }
    for title, rows in groups.items():
        table(title, rows(study))
    begins = Study(full=False, folder=FOLDER / "late")
    if begins.has("cap-0") and begins.has("cap-dry-3"):
        chosen = ("beta", "eta", "xi with", "contact length before", "vanish", "lower limit")
        rows = [*figure_13(begins), *figure_14(begins), *figure_s1(begins)]
        mine = [row for row in rows if any(word in row.what for word in chosen)]
        table("Section 5 with friction from the start of shearing", mine)
    _print_betas()
    if study.quick:
        print("\nAt the quick size, not the paper's: " + ", ".join(sorted(study.quick)))
    _print_variants()


# where caps lie whose friction begins with the shear, by the size of those with friction before
_LATE = {"late": "paper", "late-quick": "quick"}


def _print_betas() -> None:
    """Print beta and the enhancement for other choices of loads, and of friction."""
    print("\n## Beta by the loads of the fit, and the increase of xi by adhesion\n")
    heads = ("friction", "size", "F_n -0.28 to 2", "-0.28 to 0.5", "-0.2 to 1", "dry")
    print(f"| {' | '.join(heads)} | at 8.5, 15, 17 L0, in % |")
    print("|---|---|---|---|---|---|---|")
    known = {"paper": ("from the start", "paper"), "quick": ("from the start", "quick")}
    shear = {k: ("from the start of shearing", known[v][1]) for k, v in _LATE.items()}
    for folder, reported in {**known, **shear}.items():
        study = Study(full=False, folder=FOLDER / folder)
        saved = {f: Fit(c) for f, c in loads(study, "cap-").items()}
        dry = {f: Fit(c) for f, c in loads(study, "cap-dry-").items()}
        betas = [
            fit({f: v for f, v in saved.items() if low <= f <= high})[0]
            for low, high in ((-0.28, 2.0), (-0.28, 0.5), (-0.2, 1.0))
        ]
        more = [100.0 * (xi_at(saved, long) / xi_at(dry, long) - 1.0) for long in (8.5, 15.0, 17.0)]
        numbers = " | ".join(f"{beta:.2f}" for beta in (*betas, fit(dry)[0]))
        print(
            f"| {reported[0]} | {reported[1]} | {numbers} | {', '.join(f'{v:.0f}' for v in more)} |"
        )


def _strip_numbers(c: Curves) -> dict[str, float]:
    energy = gamma_at(c, 20.0, 40.0)
    return {
        "u at T_max": first_above(c["displacement"], c["tension"] / T_MAX, 0.99),
        "u at L_peel = 1": nucleation(c),
        "u of full sliding": c.numbers["full_sliding_at"],
        "largest F_x": float(np.abs(c["force_x"]).max()),
        "largest F_y": c.numbers["peak_force_y"],
        "u there": c.numbers["peak_force_y_at"],
        "energy / W, L_peel 20-40": float(energy.mean()) if energy.size else np.nan,
    }


def _cylinder_numbers(c: Curves) -> dict[str, float]:
    top = int(np.argmax(c["force_x"]))
    stress = c.stresses["trailing"]
    return {
        "largest F_x": float(c["force_x"][top]),
        "u there": float(c["displacement"][top]),
        "largest -F_y": float(-c["force_y"].min()),
        "largest corner stress": float(stress.max()),
        "u of it": float(c.stresses["displacement"][np.argmax(stress)]),
    }


def _cap_numbers(c: Curves) -> dict[str, float]:
    f = Fit(c)
    return {
        "L before": f.start,
        "L sliding": f.end,
        "loss in %": 100.0 * (1.0 - f.end / f.start),
        "F_t": f.force,
        "xi": f.xi,
        "eta": f.eta,
    }


def _print_variants() -> None:
    folder = FOLDER / "variants"
    larger = {
        "strip-": ("paper/strip-ea-0.02", "320 x 8 elements"),
        "cylinders-": ("paper/cylinders-ea-0.9", "the paper's size"),
        # the others begin friction with the shear, too
        "cap-": ("late/cap-0", "the paper's size"),
    }
    groups = {"strip-": _strip_numbers, "cylinders-": _cylinder_numbers, "cap-": _cap_numbers}
    for start, numbers in groups.items():
        rows = {
            name.removeprefix(start): numbers(read_curves(folder, name))
            for name in variants()
            if name.startswith(start) and (folder / f"{name}.csv").exists()
        }
        if not rows:
            continue
        path, word = larger[start]
        size, name = path.split("/")
        if (FOLDER / size / f"{name}.csv").exists():
            rows[word] = numbers(read_curves(FOLDER / size, name))
        words = list(next(iter(rows.values())))
        print(f"\n## Parameters of the {start[:-1]}, quick size\n")
        print(f"| case | {' | '.join(words)} |")
        print("|" + "---|" * (len(words) + 1))
        for name, values in rows.items():
            print(f"| {name} | {' | '.join(f'{v:.4g}' for v in values.values())} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "vary", "late", "verdicts"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="quick sizes")
    given = parser.parse_intermixed_args()
    if given.what == "verdicts":
        write_verdicts()
    elif given.what == "vary":
        run_all(variants(), FOLDER / "variants", given.names)
    elif given.what == "late":
        run_all(late(), FOLDER / "late", given.names)
    elif given.quick:
        run_all(cases(full=False), FOLDER / "quick", given.names)
    else:
        run_all(cases(full=True), FOLDER / "paper", given.names)


if __name__ == "__main__":
    main()
