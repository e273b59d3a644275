"""Checkpoints of load steps, arclength steps and time steps: the state as arrays, and back.

A run that continues from a checkpoint equals the uninterrupted run to the last bit. The names of
the arrays are part of the file format, and stay when an attribute is renamed:

- `u`, `residual`, `internal` (nodes, d): displacements [m], residual and internal forces [N/m]
- `history<i>_*`, `found<i>_*`, `out<i>`: origins of slip, closest points and records (p, OUT) of
  the p points of pass i; `coupled<i>_rows`, `_columns`: pairs of nodes in the tangent's pattern
- `counts`: Newton iterations, step halvings, steps, further factorisations, missed samples
- `analysed`: entries of the analysed matrix; none if its pattern is no longer that of the tangent
- `step`: next step length, and whether the predictor extrapolates; `before_time`, `before_u`: the
  state before the last one, from which it does
- `stage`, `stage_base`, `stage_angles`: stage of the conditions, and the state at its start
- `ways`: number of unstable modes or its parity, and 1 for the number; `places`: number of
  bifurcations located so far
- `joined` (k, 3): activated contact pairs; `strays` (k, 4): closest approach of other pairs
- `row_*`, `steps_*`: saved samples, and all accepted steps; `extremes`, `pulled`: `Extremes`
- `missed` (n, 2), `bent` (n, 1 + 2 bodies): points without a closest point, and parasitic energies
- `balance<i>` (n, 2, d): forces on both sides of contact i [N/m]
- `motion`, `motion_rates`: of `dynamics.stepper`; `path*`: of `arclength`
"""

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
from stiction.solids.equilibria.history import Energies, Extremes, NearestUnpaired, Recorder, Sample
from stiction.solids.equilibria.problem import State, Trial
from stiction.solids.equilibria.stability import UnstableModes

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from stiction.numerics.linear_solvers import Factors, Workspace
    from stiction.solids.equilibria.load_steps import LoadStepper

__all__ = ["RecordingWorkspace", "pack", "pack_losses", "pack_record", "unpack", "unpack_losses"]

Arrays = dict[str, npt.NDArray[Any]]


class RecordingWorkspace:
    """The workspace of a linear solver that also records the last analysed matrix.

    The analysis determines ordering and scaling, and so rounding; a continued run repeats it. It
    holds for matrices whose column indices are the same array.

    Parameters
    ----------
    workspace : of the solver
    report : called before every factorisation, to show progress within a long step
    """

    def __init__(self, workspace: Workspace, report: Callable[[], None]) -> None:
        self.workspace, self.report = workspace, report
        self._analysed, self._indices = np.zeros(0), np.zeros(0, np.int32)

    @property
    def backward(self) -> float:
        """The largest error of a solution; see `Workspace`."""
        return self.workspace.backward

    @property
    def factorisations(self) -> int:
        """Number of factorisations."""
        return self.workspace.factorisations

    def factorise(self, matrix: csr_matrix) -> Factors:
        """Return the factors of a matrix; see `Workspace.factorise`."""
        self.report()
        analyses = self.workspace.analyses
        factors = self.workspace.factorise(matrix)
        if self.workspace.analyses != analyses:
            self._analysed, self._indices = np.array(matrix.data), matrix.indices
        return factors

    def analysed(self, indices: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        """Return the entries of the analysed matrix; none if its column indices are not these.

        Verified by: tests/unit/solids/equilibria/test_going_on.py::test_steps_without_iterations
        """
        # SciPy wraps given arrays: the memory is compared
        valid = np.may_share_memory(self._indices, indices)
        return self._analysed if valid else self._analysed[:0]

    def inertia(self, matrix: csr_matrix) -> tuple[int, int] | None:
        """Return the numbers of positive and negative eigenvalues; see `Workspace.inertia`."""
        return self.workspace.inertia(matrix)

    def close(self) -> None:
        """Free the factors."""
        self.workspace.close()


def pack(stepper: LoadStepper) -> Arrays:
    """Return the state of a stepper as arrays of a checkpoint."""
    # the docstring of the module has the names and shapes of all arrays
    state, trial = stepper.state, stepper.trial
    assert trial is not None
    stepper.record_backward_error()
    arrays: Arrays = {
        "time": np.array(state.time),
        "u": state.u,
        "residual": trial.residual,
        "internal": trial.internal,
        "counts": np.array(
            [
                stepper.iterations,
                stepper.cuts,
                stepper.steps,
                stepper.other_factorisations,
                stepper.missed_samples,
            ]
        ),
        "analysed": stepper.workspace.analysed(stepper.problem.free_indices),
        "step": np.array([stepper.dt, float(stepper.extrapolate)]),
        "stage": np.array(stepper.problem.stage),
        "ways": np.array(stepper.monitor.last or (-1, 0), dtype=np.int64),
        "places": np.array(stepper.monitor.located),
        "joined": np.array(stepper.active_pairs, dtype=np.int64).reshape(-1, 3),
        **_pack_energies("energy", [stepper.energy]),
        **pack_record(stepper.record),
    }
    if stepper.problem.base is not None:
        arrays["stage_base"] = stepper.problem.base
        angles = stepper.problem.angles
        arrays["stage_angles"] = np.array([angles.get(i, 0.0) for i in stepper.problem.rigid_node])
    if stepper.previous is not None:
        arrays["before_time"] = np.array(stepper.previous[0])
        arrays["before_u"] = stepper.previous[1]
    for i, (history, points, out) in enumerate(
        zip(state.histories, state.closest_points, trial.point_values, strict=True)
    ):
        arrays[f"out{i}"] = out
        for name, value in zip(History._fields, history, strict=True):
            arrays[f"history{i}_{name}"] = value
        for name, value in zip(ClosestPoints._fields, points, strict=True):
            arrays[f"found{i}_{name}"] = value
    for i, (row_nodes, column_nodes) in enumerate(stepper.problem.coupled):
        arrays[f"coupled{i}_rows"], arrays[f"coupled{i}_columns"] = row_nodes, column_nodes
    return arrays


def _pack_energies(name: str, energies: list[Energies]) -> Arrays:
    """Return energies as arrays: scalars (n, 7), heat by contact, work by condition."""
    scalars = [
        (e.stored, e.adhesive, e.work, e.algorithmic, e.reciprocity, e.kinetic, e.viscous)
        for e in energies
    ]
    heat = [e.heat for e in energies]
    return {
        f"{name}_plain": np.array(scalars, dtype=np.float64).reshape(len(energies), 7),
        f"{name}_heat": np.array(heat, dtype=np.float64).reshape(len(energies), -1),
        f"{name}_works": np.array([e.condition_work for e in energies]).reshape(len(energies), -1),
    }


def _unpack_energies(name: str, saved: Arrays) -> list[Energies]:
    """Return energies from the arrays of `_pack_energies`."""
    energies = []
    arrays = (saved[f"{name}_{part}"] for part in ("plain", "heat", "works"))
    for scalars, heat, work in zip(*arrays, strict=True):
        stored, adhesive, total_work, algorithmic, reciprocity, *rest = (float(v) for v in scalars)
        by_contact = tuple(float(h) for h in heat)
        by_condition = tuple(float(w) for w in work)
        remainder = (by_contact, algorithmic, reciprocity, by_condition)
        energies.append(Energies(stored, adhesive, total_work, *remainder, *rest))
    return energies


def pack_losses(losses: list[Loss]) -> npt.NDArray[np.str_]:
    """Return losses as an array of text."""
    return np.array(json.dumps([(v.time, v.kind, dict(v.where), v.choice) for v in losses]))


def unpack_losses(saved: npt.NDArray[np.str_]) -> list[Loss]:
    """Return losses from an array of text."""
    return [Loss(*loss) for loss in json.loads(str(saved))]


def _pack_samples(name: str, samples: list[Sample], curves: list[str]) -> Arrays:
    """Return times, iterations, curves (samples, curves) and energies of samples as arrays."""
    return {
        f"{name}_time": np.array([s.time for s in samples]),
        f"{name}_iterations": np.array([s.iterations for s in samples]),
        f"{name}_curves": np.array([[s.curves.get(n, np.nan) for n in curves] for s in samples]),
        **_pack_energies(f"{name}_energy", [s.energy for s in samples]),
    }


def _unpack_samples(name: str, saved: Arrays, curves: list[str]) -> list[Sample]:
    """Return samples, without point values, from the arrays of `_pack_samples`."""
    energies = _unpack_energies(f"{name}_energy", saved)
    samples = []
    for i, t in enumerate(saved[f"{name}_time"]):
        values = saved[f"{name}_curves"][i]
        curves_of_sample = {n: float(v) for n, v in zip(curves, values, strict=True)}
        samples.append(
            Sample(float(t), curves_of_sample, {}, energies[i], int(saved[f"{name}_iterations"][i]))
        )
    return samples


def pack_record(record: Recorder) -> Arrays:
    """Return the record of a run so far as arrays."""
    # `in` would compare arrays
    saved = any(s is record.last for s in record.samples)
    samples = record.samples if saved else [*record.samples, record.last]
    samples = [s for s in samples if s is not None]
    names = list(dict.fromkeys(name for s in [*samples, *record.path] for name in s.curves))
    points = list(samples[0].points)
    seen = record.extremes
    arrays: Arrays = {
        **_pack_samples("row", samples, names),
        **_pack_samples("steps", record.path, names),
        "row_kept": np.array(len(record.samples)),
        "row_names": np.array(json.dumps([names, points])),
        "extremes": np.array(
            [
                *seen.pressure,
                *seen.gap,
                *seen.tension,
                *seen.jacobian,
                seen.residual,
                seen.unbalanced,
                seen.largest_force,
                seen.backward,
            ]
        ),
        "pulled": seen.in_tension,
        "missed": np.array(record.without_partner, dtype=np.float64).reshape(-1, 2),
        "bent": np.array(record.parasitic),
        "strays": np.array([*record.unpaired.values()], dtype=np.float64).reshape(-1, 4),
        "losses": pack_losses(record.losses),
        "picture_time": np.array([t for t, _ in record.pictures]),
        "picture_u": np.array([u for _, u in record.pictures]),
    }
    for name in points:
        arrays[f"row_point_{name}"] = np.array([s.points[name] for s in samples])
    for i, pairs in record.contact_forces.items():
        arrays[f"balance{i}"] = np.array(pairs)
    return arrays


def _check(saved: Arrays, stepper: LoadStepper) -> None:
    """Refuse a checkpoint whose arrays are not those of `pack`."""
    # a form is a shape, in which equal names stand for equal numbers, a type, and bounds
    problem, points = stepper.problem, (stepper.problem.size, stepper.problem.dim)
    forms = {name: Form(points) for name in ("u", "residual", "internal")}
    forms["time"] = Form()
    forms["counts"], forms["step"] = Form((5,), "i8", least=0, most=MOST_WORK), Form((2,))
    forms["joined"] = Form((len(stepper.active_pairs), 3), "i8", needed=False)
    forms["ways"], forms["places"] = Form((2,), "i8", least=-1), Form((), "i8", least=0)
    last_stage = max(len(problem.assembled.stages) - 1, 0)
    forms["stage"] = Form((), "i8", least=0, most=last_stage)
    forms["stage_base"] = Form(points, needed=False)
    forms["stage_angles"] = Form((len(problem.rigid_node),), needed=False)
    forms["analysed"] = Form(("entries",))
    forms |= _energy_forms("energy", 1)
    forms["before_time"], forms["before_u"] = Form(needed=False), Form(points, needed=False)
    for i, p in enumerate(problem.passes):
        # a point without a closest point has an infinite gap, and no origin of stick
        forms[f"out{i}"] = Form((p.count, OUT), inf=True, nan=True)
        forms[f"history{i}_origin"] = Form((p.count, p.dim - 1), inf=True, nan=True)
        for name in ("has_origin", "stuck"):
            forms[f"history{i}_{name}"] = Form((p.count,), "b1")
        forms[f"found{i}_element"] = Form((p.count,), "i8")
        forms[f"found{i}_xi"] = Form((p.count, p.dim - 1), inf=True, nan=True)
        forms[f"found{i}_normal"] = Form((p.count,), "b1")
        for name in ("rows", "columns"):
            shape: tuple[int | str, ...] = (f"coupled{i}", f"{name}{i}")
            forms[f"coupled{i}_{name}"] = Form(shape, "i8", least=0, most=problem.size - 1)
    forms |= _record_forms(saved, points)
    forms["strays"] = Form((len(problem.unpaired), 4), inf=True)
    forms["motion"], forms["motion_rates"] = (
        Form((5,), needed=False),
        Form((2, *points), needed=False),
    )
    forms["path"] = Form((9,), needed=False)
    forms["path_pending"] = Form((), "U", needed=False)
    forms["path_t"] = Form(("path",), needed=False)
    forms["path_u"] = Form(("path", *points), needed=False)
    sizes = check_arrays(saved, forms)
    check_count("row_time", sizes["rows"], 1, sizes["rows"] + 1)
    check_count("steps_time", sizes["steps"], 1, sizes["steps"] + 1)
    count = sum(p.count for p in problem.passes)
    check_count("pulled", sizes["pulled"] if sizes["pulled"] != count else 0, 0, 0)
    check_count("row_kept", int(saved["row_kept"]), 0, sizes["rows"])
    _check_samples(saved)
    pairs = (("before_time", "before_u"), ("stage_base", "stage_angles"))
    for group in (*pairs, ("path", "path_pending", "path_t", "path_u")):
        check_count(group[0], sum(name in saved for name in group) % len(group), 0, 0)


def _check_samples(saved: Arrays) -> None:
    """Refuse samples that contradict the accepted steps, or have tractions at infinite gaps."""
    steps = {float(t): i for i, t in enumerate(saved["steps_time"])}
    for i, t in enumerate(saved["row_time"]):
        at = steps.get(float(t))
        if at is None:
            continue
        sample, step = saved["row_curves"][i], saved["steps_curves"][at]
        if not np.array_equal(sample, step, equal_nan=True):
            got = f"numbers at time {t} that differ from row_curves"
            raise refused("steps_curves", got, "the same")
    if "row_point_gap" in saved:
        # a point without a closest point has an infinite gap and no traction
        no_partner = np.isinf(saved["row_point_gap"])
        for name in ("row_point_normal_traction", "row_point_tangential_traction"):
            if name in saved and (saved[name][no_partner] != 0.0).any():
                raise refused("row_point_gap", f"infinity where {name} is not 0", "gaps")


def _energy_forms(name: str, rows: int | str) -> dict[str, Form]:
    """Return the forms of the arrays of `_pack_energies`."""
    return {
        f"{name}_plain": Form((rows, 7)),
        f"{name}_heat": Form((rows, "heats")),
        f"{name}_works": Form((rows, "works")),
    }


def _record_forms(saved: Arrays, points: tuple[int, int]) -> dict[str, Form]:
    """Return the forms of the arrays of `pack_record`; curves may be NaN."""
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
        # without contact, extremes of pressure and gap are infinite
        "extremes": Form((12,), inf=True),
        "pulled": Form(("pulled",), "b1"),
    }
    for name in saved:
        if name.startswith("row_point_"):
            # a point without a closest point has an infinite gap
            may_be_nan = name.startswith("row_point_surface")
            forms[name] = Form(("rows", "points"), inf=name == "row_point_gap", nan=may_be_nan)
        elif name.removeprefix("balance").isdecimal():
            forms[name] = Form(("missed", 2, points[1]), inf=True, nan=True)
    return forms


def unpack(saved: Arrays, stepper: LoadStepper) -> None:
    """Restore a stepper from the arrays of a checkpoint.

    Raises
    ------
    StoreError : if the arrays have other shapes or types than those of this stepper.
    """
    _check(saved, stepper)
    with unpacking():
        _unpack(saved, stepper)


def _unpack(saved: Arrays, stepper: LoadStepper) -> None:
    """Restore state, trial, counts, step length, stability and record."""
    # contact first: the stage and the closest points determine the state
    problem = stepper.problem
    t = float(saved["time"])
    passes = range(len(problem.passes))
    histories = tuple(
        History(*(saved[f"history{i}_{name}"] for name in History._fields)) for i in passes
    )
    points = tuple(
        ClosestPoints(*(saved[f"found{i}_{name}"] for name in ClosestPoints._fields))
        for i in passes
    )
    if "stage_base" in saved:
        rotations = (float(a) for a in saved["stage_angles"])
        angles = dict(zip(problem.rigid_node, rotations, strict=True))
        problem.enter_stage(int(saved["stage"]), saved["stage_base"], angles)
        stepper.set_stage_steps()
    u = saved["u"]
    stepper.state = State(t, u, histories, problem.next_step_points(points, u))
    values = tuple(saved[f"out{i}"] for i in passes)
    stepper.trial = Trial(u, saved["residual"], saved["internal"], values, points, 0)
    counts = (int(v) for v in saved["counts"])
    (
        stepper.iterations,
        stepper.cuts,
        stepper.steps,
        stepper.other_factorisations,
        stepper.missed_samples,
    ) = counts
    stepper.dt, stepper.extrapolate = float(saved["step"][0]), bool(saved["step"][1])
    modes = saved["ways"]
    stepper.monitor.last = UnstableModes(int(modes[0]), bool(modes[1])) if modes[0] >= 0 else None
    stepper.monitor.located = int(saved["places"])
    stepper.energy = _unpack_energies("energy", saved)[0]
    stepper.previous = None
    if "before_time" in saved:
        stepper.previous = (float(saved["before_time"]), saved["before_u"])
    problem.couple([(saved[f"coupled{i}_rows"], saved[f"coupled{i}_columns"]) for i in passes])
    _unpack_record(saved, stepper.record)


def _unpack_record(saved: Arrays, record: Recorder) -> None:
    """Restore the record from the arrays of `pack_record`."""
    names, points = json.loads(str(saved["row_names"]))
    samples = [
        s._replace(points={name: saved[f"row_point_{name}"][i] for name in points})
        for i, s in enumerate(_unpack_samples("row", saved, names))
    ]
    record.last = samples[-1]
    record.samples = samples[: int(saved["row_kept"])]
    record.path = _unpack_samples("steps", saved, names)
    numbers = [float(v) for v in saved["extremes"]]
    pressure, gap, tension, jacobian = ((numbers[i], numbers[i + 1]) for i in range(0, 8, 2))
    record.extremes = Extremes(pressure, gap, tension, jacobian, saved["pulled"], *numbers[8:])
    record.without_partner = [(int(count), float(t)) for count, t in saved["missed"]]
    record.parasitic = list(saved["bent"])
    for i, (t, excess_gap, a, b) in enumerate(saved["strays"]):
        record.unpaired[i] = NearestUnpaired(float(t), float(excess_gap), int(a), int(b))
    record.losses = unpack_losses(saved["losses"])
    pictures = zip(saved["picture_time"], saved["picture_u"], strict=True)
    record.pictures = [(float(t), u) for t, u in pictures]
    for name in saved:
        if name.startswith("balance"):
            pairs = [(pair[0], pair[1]) for pair in saved[name]]
            record.contact_forces[int(name.removeprefix("balance"))] = pairs
