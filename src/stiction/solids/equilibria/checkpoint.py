"""The state of a march as arrays and back, to the last bit."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import Form, check_arrays, check_count, refused, unpacking
from stiction.core.determinism import Loss
from stiction.numerics.checks import MOST_WORK
from stiction.solids.contact.model import ClosestPoints, History
from stiction.solids.contact.sweeps import OUT
from stiction.solids.equilibria.history import Energies, Extremes, Recorder, Row, Stray
from stiction.solids.equilibria.problem import State, Trial
from stiction.solids.equilibria.stability import Ways

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from stiction.numerics.linear_solvers import Factors, Workspace
    from stiction.solids.equilibria.load_steps import March

__all__ = ["Remembering", "pack", "pack_losses", "pack_record", "unpack", "unpack_losses"]

Arrays = dict[str, npt.NDArray[Any]]


class Remembering:
    """A workspace that remembers which matrix its solver analysed.

    Parameters
    ----------
    space : of the solver
    report : called before every factorisation, so that a long step is seen to go on
    """

    def __init__(self, space: Workspace, report: Callable[[], None]) -> None:
        self.space, self.report = space, report
        self.analysed = np.zeros(0)

    @property
    def backward(self) -> float:
        """The largest error of a solution; see `Workspace`."""
        return self.space.backward

    @property
    def factorisations(self) -> int:
        """How many factorisations were done."""
        return self.space.factorisations

    def factorise(self, matrix: csr_matrix) -> Factors:
        """Return the factors of a matrix; see `Workspace.factorise`."""
        self.report()
        before = self.space.analyses
        made = self.space.factorise(matrix)
        if self.space.analyses != before:
            self.analysed = np.array(matrix.data)
        return made

    def inertia(self, matrix: csr_matrix) -> tuple[int, int] | None:
        """Return how many eigenvalues are positive and negative; see `Workspace.inertia`."""
        return self.space.inertia(matrix)

    def close(self) -> None:
        """Free what is kept."""
        self.space.close()


def pack(march: March) -> Arrays:
    """Return everything that a march needs to go on."""
    state, trial = march.state, march.trial
    assert trial is not None
    march.note()
    made: Arrays = {
        "time": np.array(state.time),
        "u": state.u,
        "residual": trial.residual,
        "internal": trial.internal,
        "counts": np.array(
            [march.iterations, march.cuts, march.steps, march.factorised, march.unfound]
        ),
        "analysed": march.space.analysed,
        "step": np.array([march.dt, float(march.smooth)]),
        "stage": np.array(march.problem.stage),
        "ways": np.array(march.watch.last or (-1, 0), dtype=np.int64),
        "places": np.array(march.watch.places),
        "joined": np.array(march.joins, dtype=np.int64).reshape(-1, 3),
        **_energies("energy", [march.energy]),
        **pack_record(march.record),
    }
    if march.problem.base is not None:
        made["stage_base"] = march.problem.base
        angles = march.problem.angles
        made["stage_angles"] = np.array([angles.get(i, 0.0) for i in march.problem.rigid_node])
    if march.before is not None:
        made["before_time"] = np.array(march.before[0])
        made["before_u"] = march.before[1]
    for i, (history, found, out) in enumerate(
        zip(state.histories, state.founds, trial.outs, strict=True)
    ):
        made[f"out{i}"] = out
        for name, value in zip(History._fields, history, strict=True):
            made[f"history{i}_{name}"] = value
        for name, value in zip(ClosestPoints._fields, found, strict=True):
            made[f"found{i}_{name}"] = value
    for i, (rows, columns) in enumerate(march.problem.coupled):
        made[f"coupled{i}_rows"], made[f"coupled{i}_columns"] = rows, columns
    return made


def _energies(name: str, energies: list[Energies]) -> Arrays:
    plain = [
        (e.stored, e.adhesive, e.work, e.algorithmic, e.reciprocity, e.kinetic, e.viscous)
        for e in energies
    ]
    heat = [e.heat for e in energies]
    return {
        f"{name}_plain": np.array(plain, dtype=np.float64).reshape(len(energies), 7),
        f"{name}_heat": np.array(heat, dtype=np.float64).reshape(len(energies), -1),
        f"{name}_works": np.array([e.works for e in energies]).reshape(len(energies), -1),
    }


def _energies_back(name: str, kept: Arrays) -> list[Energies]:
    found = []
    arrays = (kept[f"{name}_{part}"] for part in ("plain", "heat", "works"))
    for plain, heat, done in zip(*arrays, strict=True):
        stored, adhesive, work, algorithmic, reciprocity, *rest = (float(v) for v in plain)
        given = tuple(float(h) for h in heat)
        works = tuple(float(w) for w in done)
        ended = (given, algorithmic, reciprocity, works)
        found.append(Energies(stored, adhesive, work, *ended, *rest))
    return found


def pack_losses(losses: list[Loss]) -> npt.NDArray[np.str_]:
    """Return losses as an array of text."""
    return np.array(json.dumps([(v.time, v.kind, dict(v.where), v.choice) for v in losses]))


def unpack_losses(kept: npt.NDArray[np.str_]) -> list[Loss]:
    """Return losses from an array of text."""
    return [Loss(*loss) for loss in json.loads(str(kept))]


def _rows(name: str, rows: list[Row], curves: list[str]) -> Arrays:
    return {
        f"{name}_time": np.array([row.time for row in rows]),
        f"{name}_iterations": np.array([row.iterations for row in rows]),
        f"{name}_curves": np.array([[row.curves.get(n, np.nan) for n in curves] for row in rows]),
        **_energies(f"{name}_energy", [row.energy for row in rows]),
    }


def _rows_back(name: str, kept: Arrays, curves: list[str]) -> list[Row]:
    energies = _energies_back(f"{name}_energy", kept)
    rows = []
    for i, t in enumerate(kept[f"{name}_time"]):
        values = kept[f"{name}_curves"][i]
        found = {n: float(v) for n, v in zip(curves, values, strict=True)}
        rows.append(Row(float(t), found, {}, energies[i], int(kept[f"{name}_iterations"][i])))
    return rows


def pack_record(record: Recorder) -> Arrays:
    """Return what was recorded so far."""
    # `in` would compare arrays
    kept = any(row is record.last for row in record.rows)
    rows = record.rows if kept else [*record.rows, record.last]
    rows = [row for row in rows if row is not None]
    names = list(dict.fromkeys(name for row in [*rows, *record.path] for name in row.curves))
    points = list(rows[0].points)
    seen = record.extremes
    made: Arrays = {
        **_rows("row", rows, names),
        **_rows("steps", record.path, names),
        "row_kept": np.array(len(record.rows)),
        "row_names": np.array(json.dumps([names, points])),
        "extremes": np.array(
            [
                *seen.pressure,
                *seen.gap,
                *seen.tension,
                *seen.jacobian,
                seen.residual,
                seen.unbalanced,
                seen.force,
                seen.backward,
            ]
        ),
        "pulled": seen.pulled,
        "missed": np.array(record.missed, dtype=np.float64).reshape(-1, 2),
        "bent": np.array(record.bent),
        "strays": np.array([*record.strays.values()], dtype=np.float64).reshape(-1, 4),
        "losses": pack_losses(record.losses),
        "picture_time": np.array([t for t, _ in record.pictures]),
        "picture_u": np.array([u for _, u in record.pictures]),
    }
    for name in points:
        made[f"row_point_{name}"] = np.array([row.points[name] for row in rows])
    for i, pairs in record.balances.items():
        made[f"balance{i}"] = np.array(pairs)
    return made


def _check(kept: Arrays, march: March) -> None:
    """Refuse a checkpoint whose arrays are not those of `pack`."""
    problem, points = march.problem, (march.problem.size, march.problem.dim)
    forms = {name: Form(points) for name in ("u", "residual", "internal")}
    forms["time"] = Form()
    forms["counts"], forms["step"] = Form((5,), "i8", least=0, most=MOST_WORK), Form((2,))
    forms["joined"] = Form((len(march.joins), 3), "i8", needed=False)
    forms["ways"], forms["places"] = Form((2,), "i8", least=-1), Form((), "i8", least=0)
    most = max(len(problem.assembled.stages) - 1, 0)
    forms["stage"] = Form((), "i8", least=0, most=most)
    forms["stage_base"] = Form(points, needed=False)
    forms["stage_angles"] = Form((len(problem.rigid_node),), needed=False)
    forms["analysed"] = Form(("entries",))
    forms |= _energy_forms("energy", 1)
    forms["before_time"], forms["before_u"] = Form(needed=False), Form(points, needed=False)
    for i, one in enumerate(problem.passes):
        # a point that found no partner has an infinite gap, and no origin
        forms[f"out{i}"] = Form((one.count, OUT), inf=True, nan=True)
        forms[f"history{i}_origin"] = Form((one.count, one.dim - 1), inf=True, nan=True)
        for name in ("has_origin", "stuck"):
            forms[f"history{i}_{name}"] = Form((one.count,), "b1")
        forms[f"found{i}_element"] = Form((one.count,), "i8")
        forms[f"found{i}_xi"] = Form((one.count, one.dim - 1), inf=True, nan=True)
        forms[f"found{i}_normal"] = Form((one.count,), "b1")
        for name in ("rows", "columns"):
            shape: tuple[int | str, ...] = (f"coupled{i}", f"{name}{i}")
            forms[f"coupled{i}_{name}"] = Form(shape, "i8", least=0, most=problem.size - 1)
    forms |= _record_forms(kept, points)
    forms["strays"] = Form((len(problem.strays), 4), inf=True)
    forms["motion"], forms["motion_rates"] = (
        Form((5,), needed=False),
        Form((2, *points), needed=False),
    )
    forms["path"] = Form((8,), needed=False)
    forms["path_pending"] = Form((), "U", needed=False)
    forms["path_t"] = Form(("path",), needed=False)
    forms["path_u"] = Form(("path", *points), needed=False)
    sizes = check_arrays(kept, forms)
    check_count("row_time", sizes["rows"], 1, sizes["rows"] + 1)
    check_count("steps_time", sizes["steps"], 1, sizes["steps"] + 1)
    whole = sum(one.count for one in problem.passes)
    check_count("pulled", sizes["pulled"] if sizes["pulled"] != whole else 0, 0, 0)
    check_count("row_kept", int(kept["row_kept"]), 0, sizes["rows"])
    _check_rows(kept)
    pairs = (("before_time", "before_u"), ("stage_base", "stage_angles"))
    for group in (*pairs, ("path", "path_pending", "path_t", "path_u")):
        check_count(group[0], sum(name in kept for name in group) % len(group), 0, 0)


def _check_rows(kept: Arrays) -> None:
    """Refuse rows that say other things of a step than the steps do, or of points that are far."""
    steps = {float(t): i for i, t in enumerate(kept["steps_time"])}
    for i, t in enumerate(kept["row_time"]):
        at = steps.get(float(t))
        if at is None:
            continue
        one, two = kept["row_curves"][i], kept["steps_curves"][at]
        if not np.array_equal(one, two, equal_nan=True):
            raise refused("steps_curves", f"other numbers at time {t} than row_curves", "the same")
    if "row_point_gap" in kept:
        # a point that found no partner has an infinite gap, and nothing acts there
        far = np.isinf(kept["row_point_gap"])
        for name in ("row_point_normal_traction", "row_point_tangential_traction"):
            if name in kept and (kept[name][far] != 0.0).any():
                raise refused("row_point_gap", f"infinity where {name} is not 0", "gaps")


def _energy_forms(name: str, rows: int | str) -> dict[str, Form]:
    return {
        f"{name}_plain": Form((rows, 7)),
        f"{name}_heat": Form((rows, "heats")),
        f"{name}_works": Form((rows, "works")),
    }


def _record_forms(kept: Arrays, points: tuple[int, int]) -> dict[str, Form]:
    """Return what the arrays of `pack_record` must be; curves need not be known everywhere."""
    forms = {
        "row_time": Form(("rows",)),
        "row_iterations": Form(("rows",), "i8", least=0, most=MOST_WORK),
        "row_kept": Form((), "i8"),
        "row_curves": Form(("rows", "curves"), inf=True, nan=True),
        "row_names": Form((), "U"),
        "missed": Form(("missed", 2)),
        "bent": Form(("missed", "bodies")),
        "losses": Form((), "U"),
        "picture_time": Form(("pictures",)),
        "picture_u": Form(("pictures", *points)),
        **_energy_forms("row_energy", "rows"),
        "steps_time": Form(("steps",)),
        "steps_iterations": Form(("steps",), "i8", least=0, most=MOST_WORK),
        "steps_curves": Form(("steps", "curves"), inf=True, nan=True),
        **_energy_forms("steps_energy", "steps"),
        # without contact nothing has a pressure or a gap
        "extremes": Form((12,), inf=True),
        "pulled": Form(("pulled",), "b1"),
    }
    for name in kept:
        if name.startswith("row_point_"):
            # a point that found no partner has an infinite gap
            unknown = name.startswith("row_point_surface")
            forms[name] = Form(("rows", "points"), inf=name == "row_point_gap", nan=unknown)
        elif name.removeprefix("balance").isdecimal():
            forms[name] = Form(("missed", 2, points[1]), inf=True, nan=True)
    return forms


def unpack(kept: Arrays, march: March) -> None:
    """Put a march back to where it was.

    Raises
    ------
    StoreError : if the arrays are not those of such a march.
    """
    _check(kept, march)
    with unpacking():
        _unpack(kept, march)


def _unpack(kept: Arrays, march: March) -> None:
    problem = march.problem
    t = float(kept["time"])
    passes = range(len(problem.passes))
    histories = tuple(
        History(*(kept[f"history{i}_{name}"] for name in History._fields)) for i in passes
    )
    founds = tuple(
        ClosestPoints(*(kept[f"found{i}_{name}"] for name in ClosestPoints._fields)) for i in passes
    )
    if "stage_base" in kept:
        turned = (float(a) for a in kept["stage_angles"])
        angles = dict(zip(problem.rigid_node, turned, strict=True))
        problem.enter(int(kept["stage"]), kept["stage_base"], angles)
        march.pace()
    u = kept["u"]
    march.state = State(t, u, histories, problem.anew(founds, u))
    outs = tuple(kept[f"out{i}"] for i in passes)
    march.trial = Trial(u, kept["residual"], kept["internal"], outs, founds, 0)
    counts = (int(v) for v in kept["counts"])
    march.iterations, march.cuts, march.steps, march.factorised, march.unfound = counts
    march.dt, march.smooth = float(kept["step"][0]), bool(kept["step"][1])
    ways = kept["ways"]
    march.watch.last = Ways(int(ways[0]), bool(ways[1])) if ways[0] >= 0 else None
    march.watch.places = int(kept["places"])
    march.energy = _energies_back("energy", kept)[0]
    march.before = None
    if "before_time" in kept:
        march.before = (float(kept["before_time"]), kept["before_u"])
    problem.couple([(kept[f"coupled{i}_rows"], kept[f"coupled{i}_columns"]) for i in passes])
    _record_back(kept, march.record)


def _record_back(kept: Arrays, record: Recorder) -> None:
    names, points = json.loads(str(kept["row_names"]))
    rows = [
        row._replace(points={name: kept[f"row_point_{name}"][i] for name in points})
        for i, row in enumerate(_rows_back("row", kept, names))
    ]
    record.last = rows[-1]
    record.rows = rows[: int(kept["row_kept"])]
    record.path = _rows_back("steps", kept, names)
    numbers = [float(v) for v in kept["extremes"]]
    pressure, gap, tension, jacobian = ((numbers[i], numbers[i + 1]) for i in range(0, 8, 2))
    record.extremes = Extremes(pressure, gap, tension, jacobian, kept["pulled"], *numbers[8:])
    record.missed = [(int(count), float(t)) for count, t in kept["missed"]]
    record.bent = list(kept["bent"])
    for i, (t, far, a, b) in enumerate(kept["strays"]):
        record.strays[i] = Stray(float(t), float(far), int(a), int(b))
    record.losses = unpack_losses(kept["losses"])
    pictures = zip(kept["picture_time"], kept["picture_u"], strict=True)
    record.pictures = [(float(t), u) for t, u in pictures]
    for name in kept:
        if name.startswith("balance"):
            pairs = [(pair[0], pair[1]) for pair in kept[name]]
            record.balances[int(name.removeprefix("balance"))] = pairs
