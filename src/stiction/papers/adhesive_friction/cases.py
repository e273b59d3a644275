"""Solids with adhesive friction: the runs behind figures and verdicts, and their saved curves.

A `Case` is a system with its load steps; `extract` reduces its run to `Curves` over the prescribed
displacement, which are written as CSV, so that verdicts are recomputed without solving. `strip`,
`cylinders`, `cap` and `figures` find cases by their names.

Source: Mergel, Scheibert, Sauer 2021, sections 4.1, 4.2 and 5.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.laws import DI, EA, Frictionless
from stiction.laws.adhesive_friction import AdhesiveFriction
from stiction.solids.materials import LinearElastic
from stiction.solids.methods import Quasistatic
from stiction.solids.model import SolidSystem
from stiction.solids.presets.plane import CapSliding, StripPeeling, TwoCylinders
from stiction.solve import solve

__all__ = [
    "CACHED_RUNS",
    "Case",
    "Curves",
    "Study",
    "cases",
    "extract",
    "read_curves",
    "run_case",
    "write_curves",
]

Floats = npt.NDArray[np.float64]

# curves over the load steps: lengths in L0 (or R), forces per width in E L0, the fracture energy
# (work minus stored energy per peeled length) in E L0; `stiction.solids.outcome.run` defines them
_CURVES = (
    "displacement",
    "force_x",
    "force_y",
    "contact_length",
    "nominal_contact",
    "sticking_length",
    "peeling_length",
    "sliding_length",
    "fracture_energy",
    "normal_displacement",
)
# columns of the surface points; `slides` is 0 without friction, 1 in stick and 2 in slip
_PROFILE = ("surface_x", "surface_y", "gap", "normal_traction", "tangential_traction", "slides")
_ENDS = ("-profile", "-stress", "-base")
# cases whose deformed bodies are drawn (Figs. 6 and 9), so that their whole run stays in memory
CACHED_RUNS = ("strip-ea-0.01", "cylinders-ea-0", "cylinders-ea-0.9", "cylinders-di-0.9")
# tractions are saved where the gap is below this multiple of the smallest gap of all saved rows
_FAR = 20.0
# digits in files: more than any verdict needs
_FORMAT = "{:.7g}"


@dataclass(frozen=True)
class Case:
    """One run.

    Parameters
    ----------
    system : the system to solve
    steps : number of load steps, if none is repeated with a smaller one
    at : displacements at which tractions along the surface are saved
    probes : reference positions (x, y) at which the stress yy is recorded, by name
    """

    system: SolidSystem
    steps: int
    at: Sequence[float] = ()
    probes: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Curves:
    """The saved results of a run: curves over its samples, numbers, tractions, stresses.

    Parameters
    ----------
    columns : curves by name, all of one length
    numbers : quantities of the run; NaN where it has none
    profiles : tractions along the surface, by name of column
    stresses : stress yy over the displacement, by name of column
    base : stress yy along the base of the first body at the snapshot nearest to u = 0.5, by name
        of column
    note : why the run ended early; "" if it did not
    """

    columns: dict[str, Floats]
    numbers: dict[str, float]
    profiles: dict[str, Floats] = field(default_factory=dict)
    stresses: dict[str, Floats] = field(default_factory=dict)
    base: dict[str, Floats] = field(default_factory=dict)
    note: str = ""

    def __getitem__(self, name: str) -> Floats:
        return self.columns[name]

    def at(self, name: str, u: float) -> float:
        """Return a curve at a displacement, linearly between rows."""
        return float(np.interp(u, self["displacement"], self[name]))

    def profile(self, u: float) -> dict[str, Floats]:
        """Return the saved tractions nearest to a displacement."""
        saved = self.profiles["displacement"]
        nearest = saved == saved[np.argmin(np.abs(saved - u))]
        return {name: values[nearest] for name, values in self.profiles.items()}


# ---- the runs


def _law(word: str, mu: float, cut: float = 1.0) -> AdhesiveFriction:
    """Return the friction law EA or DI with a friction parameter; none at mu = 0."""
    if mu == 0.0:
        return Frictionless()
    return EA(mu, cut) if word == "ea" else DI(mu, cut)


# Fig. 8: friction parameters mu of the strip, and s_cut of EA for mu = 0.01
STRIP_MU = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
STRIP_CUTS = (0.5, 0.0, -0.001)
# Fig. 10: models and mu of the cylinders. The paper compares DI with mu = 3 with EA 0.5
_CYLINDERS = (("ea", 0.1), ("ea", 0.3), ("ea", 0.5), ("ea", 0.9), ("di", 0.5), ("di", 0.9))
# Figs. 13, 14 and S1: normal forces of the cap [E L0], chosen
NORMAL = (-0.32, -0.28, -0.2, -0.1, 0.0, 0.2, 0.5, 1.0, 1.5, 2.0)
NORMAL_QUICK = (-0.28, -0.2, 0.0, 0.5, 1.0, 2.0)
# normal forces without adhesion at which the initial contact is as long as in the adhesive cases
# with the normal forces -0.2, 0, 0.5, 1 and 2
NON_ADHESIVE = (0.4, 0.75, 1.3, 1.9, 3.0)


def cases(*, full: bool, cap_cells: tuple[int, int] | None = None) -> dict[str, Case]:
    """Return all runs by name, at the quick sizes or at the paper's.

    Parameters
    ----------
    full : the paper's sizes
    cap_cells : numbers of cells of the cap, instead of those of the chosen size
    """
    return {**_strips(full), **_cylinders(full), **_caps(full, cap_cells)}


def _strips(full: bool) -> dict[str, Case]:
    """Return the cases of the strip: both laws over mu, and EA with other cut-offs."""
    size, steps, end = ("paper", 140, 140.0) if full else ("quick", 80, 80.0)
    # the quick study leaves some cases out to take less time: mu = 0.002, DI with the largest mu,
    # and the second of the two cuts near zero
    mus = STRIP_MU if full else tuple(mu for mu in STRIP_MU if mu != 0.002)
    laws = {}
    for mu in mus:
        laws[f"strip-ea-{mu:g}"] = _law("ea", mu)
        if mu:
            laws[f"strip-di-{mu:g}"] = _law("di", mu)
    if not full:
        laws = {k: v for k, v in laws.items() if k not in ("strip-di-0.05", "strip-di-0.1")}
    for cut in STRIP_CUTS if full else STRIP_CUTS[:2]:
        laws[f"strip-ea-0.01-cut-{cut:g}"] = _law("ea", 0.01, cut)
    at = dict.fromkeys(("strip-ea-0.01", "strip-di-0.01"), (5.0, 10.0, 30.0, 60.0))
    return {
        name: Case(StripPeeling(model=law, size=size, u_end=end), steps, at.get(name, ()))
        for name, law in laws.items()
    }


def _cylinders(full: bool) -> dict[str, Case]:
    """Return the cases of the two cylinders: both laws over mu, and two with a longer path."""
    size, steps = ("paper", 200) if full else ("quick", 100)
    probes = {"trailing": (-1.0, 0.0), "leading": (1.0, 0.0)}
    systems = {"cylinders-ea-0": TwoCylinders(size=size)}
    for word, mu in (*_CYLINDERS, ("di", 3.0)):
        systems[f"cylinders-{word}-{mu:g}"] = TwoCylinders(model=_law(word, mu), size=size)
    systems["cylinders-ea-0.5-stretch"] = TwoCylinders(model=EA(0.5), size=size, stretch=True)
    made = {name: Case(system, steps, (), probes) for name, system in systems.items()}
    # at the end of the paper's range, u = 2, these are still in contact
    for word, mu in (("ea", 0.5), ("di", 3.0)):
        far = TwoCylinders(model=_law(word, mu), size=size, u_end=2.6)
        made[f"cylinders-{word}-{mu:g}-far"] = Case(far, round(1.3 * steps))
    return made


def _caps(full: bool, cells: tuple[int, int] | None) -> dict[str, Case]:
    """Return the cases of the cap over normal forces: adhesive, with nu = 0.4, dry, linear."""
    size, steps = ("paper", 100) if full else ("quick", 70)
    systems: dict[str, CapSliding] = {}
    normals = NORMAL if full else NORMAL_QUICK
    for force in normals:
        end = _reach(force)
        systems[f"cap-{force:g}"] = CapSliding(normal_force=force, size=size, u_end=end)
    # Fig. S1 compares both materials from a normal force of -0.2 on
    for force in normals[2:] if full else normals[1:-1]:
        end = 1.2 * _reach(force)
        systems[f"cap-nu-0.4-{force:g}"] = CapSliding(
            normal_force=force, nu=0.4, size=size, u_end=end
        )
    for force in NON_ADHESIVE:
        systems[f"cap-dry-{force:g}"] = CapSliding(
            normal_force=force, adhesive=False, size=size, u_end=3.2
        )
    control = LinearElastic(1.0, 0.49)
    systems["cap-linear-dry-1.9"] = CapSliding(
        normal_force=1.9, adhesive=False, material=control, size=size, u_end=3.2
    )
    if cells is not None:
        systems = {name: replace(system, cells=cells) for name, system in systems.items()}
    at = {"cap-0": (0.0, systems["cap-0"].u_end)}
    return {name: Case(system, steps, at.get(name, ())) for name, system in systems.items()}


def _reach(force: float) -> float:
    """Return a displacement by which the whole contact of the cap slides [L0].

    Chosen for normal forces from -0.32 to 2; `cap.Fit.slid` records whether it does.
    """
    return 1.6 + 0.9 * (force + 0.4)


# ---- reduction of a run


def extract(run: Run, case: Case) -> Curves:
    """Reduce a run to curves over the displacement, profiles, stresses and numbers."""
    values = {name: np.asarray(v.values) for name, v in run.variables.items()}
    columns = {n: values[n].astype(np.float64) for n in _CURVES if n in values}
    begin = _begin(case, run.time)
    if "normal_traction" in values:
        columns["tension"] = np.max(-values["normal_traction"], axis=1)
        columns["pressure"] = np.max(values["normal_traction"], axis=1)
    columns = {name: column[begin:] for name, column in columns.items()}
    numbers = {
        name: float(q.value) if isinstance(q.value, (int, float)) else float("nan")
        for name, q in run.quantities.items()
    }
    numbers["steps"] = float(run.stats["steps"])
    numbers["newton_iterations"] = float(run.stats["newton_iterations"])
    numbers["unknowns"] = float(run.stats["unknowns"])
    numbers["ledger"] = float(run.energy.imbalance_rel)
    return Curves(
        columns,
        numbers,
        _profiles(values, columns["displacement"], begin, case.at),
        *_stresses(values, run, case),
        "" if run.status.ok else run.reason,
    )


def _begin(case: Case, time: Floats) -> int:
    start = case.system.assembled().readings.start
    start = time[0] if start is None else start
    return min(int(np.searchsorted(time, start - 1e-12)), time.size - 1)


def _profiles(
    values: Mapping[str, npt.NDArray[np.float64]], u: Floats, begin: int, at: Sequence[float]
) -> dict[str, Floats]:
    """Return columns along the surface at the saved displacements nearest to `at`.

    `begin` is the sample in `values` at which the displacement u (t,) begins. Points with large
    gaps are left out.
    """
    if not at or "gap" not in values:
        return {}
    rows = sorted({int(np.argmin(np.abs(u - a))) for a in at})
    columns: dict[str, Floats] = {
        "displacement": np.concatenate([np.full(values["gap"].shape[1], u[row]) for row in rows]),
        "body": np.tile(np.asarray(values["body_of_point"], dtype=np.float64), len(rows)),
        "coordinate": np.tile(values["surface_coordinate"], len(rows)),
    }
    for name in _PROFILE:
        columns[name] = np.concatenate([values[name][begin + row] for row in rows]).astype(float)
    columns["stretch"] = np.concatenate([_stretch(values, begin + row) for row in rows])
    shown = columns["gap"] <= _FAR * abs(float(np.min(columns["gap"])))
    return {name: column[shown] for name, column in columns.items()}


def _stretch(values: Mapping[str, npt.NDArray[np.float64]], row: int) -> Floats:
    """Return the surface stretch at the points of a row, by differences within each surface."""
    along, body = values["surface_coordinate"], values["body_of_point"]
    stretch = np.empty(along.size)
    for mine in (body == number for number in np.unique(body)):
        x, y = (np.gradient(values[n][row][mine], along[mine]) for n in ("surface_x", "surface_y"))
        stretch[mine] = np.hypot(x, y)
    return stretch


def _stresses(
    values: Mapping[str, npt.NDArray[np.float64]], run: Run, case: Case
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Return the stress yy at drawn points of the first body: over u, and along its base."""
    if not case.probes or "stress_yy" not in values:
        return {}, {}
    first = np.asarray(values["body_of_drawn"]) == 1
    place = values["drawn_position"][0][first]
    stress = values["stress_yy"][:, first]
    u = np.interp(values["snapshot_time"], run.time, values["displacement"])
    stresses: dict[str, Floats] = {"displacement": u}
    for name, position in case.probes.items():
        stresses[name] = stress[:, int(np.argmin(np.linalg.norm(place - position, axis=1)))]
    along = np.flatnonzero(np.abs(place[:, 1]) < 1e-9)
    along = along[np.argsort(place[along, 0])]
    row = int(np.argmin(np.abs(u - 0.5)))
    return stresses, {"x": place[along, 0], "stress_yy": stress[row, along]}


# ---- files


def write_curves(curves: Curves, folder: Path, name: str, most: int = 150) -> None:
    """Write curves (decimated to about `most` rows), numbers, profiles and stresses as text."""
    every = _saved_rows(curves, most)
    head = [f"# {k} = {v:.9g}" for k, v in curves.numbers.items()]
    if curves.note:
        head.append(f"# note = {curves.note}")
    columns = {key: values[every] for key, values in curves.columns.items()}
    _write(folder / f"{name}.csv", columns, head)
    for word, table in _tables(curves):
        if table:
            _write(folder / f"{name}-{word}.csv", _thinned(table), [])


def _saved_rows(curves: Curves, most: int) -> npt.NDArray[np.int64]:
    """Return evenly spaced rows, and the two rows around the onset of full sliding."""
    rows = curves["displacement"].size
    even = np.round(np.linspace(0, rows - 1, min(rows, most))).astype(np.int64)
    stick = curves.columns.get("sticking_length", np.zeros(rows))
    slid = np.flatnonzero((stick[:-1] > 0.0) & (stick[1:] <= 0.0))
    return np.unique(np.concatenate([even, slid, slid + 1]))


def _tables(curves: Curves) -> list[tuple[str, dict[str, Floats]]]:
    """Return (name of the file, columns) of the tables besides the curves."""
    return [("profile", curves.profiles), ("stress", curves.stresses), ("base", curves.base)]


def _thinned(table: dict[str, Floats]) -> dict[str, Floats]:
    """Return a table of tractions with every third point where they are small."""
    if "normal_traction" not in table:
        return table
    size = np.abs(table["normal_traction"])
    selected = (size > 0.2 * size.max()) | (np.arange(size.size) % 3 == 0)
    return {name: column[selected] for name, column in table.items()}


def _write(path: Path, columns: Mapping[str, Floats], head: Sequence[str]) -> None:
    """Write columns as CSV after comment lines `head`."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{line}\n" for line in head)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow([_FORMAT.format(value) for value in row])


def read_curves(folder: Path, name: str) -> Curves:
    """Return what `write_curves` wrote."""
    numbers: dict[str, float] = {}
    note = ""
    for line in (folder / f"{name}.csv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("# "):
            break
        key, _, value = line[2:].partition(" = ")
        if key == "note":
            note = value
        else:
            numbers[key] = float(value)
    columns = _read(folder / f"{name}.csv")
    profiles, stresses, base = (_read(folder / f"{name}{end}.csv") for end in _ENDS)
    return Curves(columns, numbers, profiles, stresses, base, note)


def _read(path: Path) -> dict[str, Floats]:
    """Return the columns of a CSV file, none if it does not exist."""
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    numbers = np.array(rows[1:], dtype=np.float64).reshape(-1, len(rows[0]))
    return {name: numbers[:, i] for i, name in enumerate(rows[0])}


# ---- running


class Study:
    """Curves by name of case; each case is solved once, when its curves are first needed.

    Parameters
    ----------
    full : whether meshes have the paper's sizes instead of the quick ones
    folder : curves are read from here; with None they are computed and cached in memory
    solved : function that solves a case, given its name and the case
    """

    def __init__(
        self,
        *,
        full: bool,
        folder: Path | None = None,
        solved: Callable[[str, Case], Run] | None = None,
    ) -> None:
        self.full, self.folder = full, folder
        self.cases = cases(full=full)
        self._solved = solved if solved is not None else run_case
        self._curves: dict[str, Curves] = {}
        self._runs: dict[str, Run] = {}

    def __getitem__(self, name: str) -> Curves:
        if name not in self._curves:
            self._curves[name] = self._load_or_solve(name)
        return self._curves[name]

    def pair(self, one: str, other: str) -> tuple[Curves, Curves]:
        """Return the curves of two cases."""
        return self[one], self[other]

    def run(self, name: str) -> Run:
        """Return the run of a case whose deformed bodies are drawn."""
        if name not in self._runs:
            self._runs[name] = self._solved(name, self.cases[name])
        return self._runs[name]

    def has(self, name: str) -> bool:
        """Return whether a case belongs to this study; with a folder, whether it lies there."""
        if self.folder is not None:
            return (self.folder / f"{name}.csv").exists()
        return name in self.cases

    def names(self, start: str) -> list[str]:
        """Return the cases whose name begins with a word, in order."""
        return [name for name in self.cases if name.startswith(start) and self.has(name)]

    def _load_or_solve(self, name: str) -> Curves:
        """Return the curves of a case: from the folder, from a saved run, or solved now."""
        if self.folder is not None:
            return read_curves(self.folder, name)
        case = self.cases[name]
        if name in CACHED_RUNS:
            return extract(self.run(name), case)
        return extract(self._solved(name, case), case)


def run_case(name: str, case: Case) -> Run:
    """Return the run of a case; one that ends early still counts."""
    return solve(case.system, Quasistatic(steps=case.steps), (0.0, 1.0), throw=False)
