"""Fits of the fields of a scenario: least squares of a simulated force on measured curves.

Each evaluation of the residuals is one run of the scenario, and runs are cached by the values of
the fields. The force of the run is interpolated at the times or displacements of the curve. If the
system supplies derivatives of its run (`core.tangents`), the Jacobian follows from them; otherwise
it is computed by differences of runs. Values (n,) are those of the fields, then offsets and drifts
of curves. `stiction.fits.fit_scenario` is the public function.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check, Kind
from stiction.core.run import Run
from stiction.core.summary import doubts
from stiction.core.tangents import Tangents
from stiction.errors import ModelError, ScenarioError, SolveError, nearest
from stiction.fits.curves.curve import Curve
from stiction.fits.fitting import checked, fitted
from stiction.fits.intervals import Intervals
from stiction.fits.outcome import Fit
from stiction.fits.parameters import OF_CURVES, Coordinates, Parameter
from stiction.fits.problem import Problem, Profiled, noise_is_known
from stiction.fits.rigs import PLACE, Free, Simulated
from stiction.io.scenario import Scenario
from stiction.studies.fields import Place, changed, current, place_of, unit_of

__all__ = ["RunProblem", "fit_scenario"]

Floats = npt.NDArray[np.float64]

# number of cached runs, because searches return to the same values
_CACHED = 256
# if this many runs had no derivatives, and none had them, only differences are used
_ATTEMPTS = 3


def fit_scenario(
    curves: Curve | Sequence[Curve],
    rig: Simulated,
    free: Sequence[str] | Mapping[str, Free],
    *,
    intervals: Intervals | None = None,
    seed: int = 1,
) -> Fit:
    """Return the least-squares fit of fields of a scenario to measured curves.

    Fields of any system and law can be fitted, for example of solids in adhesive contact with the
    laws `DI` or `EA`. A fit takes about a hundred runs. Begin with a coarse scenario.

    Parameters
    ----------
    curves : one test, or several of the same scenario
    rig : the scenario, and the saved quantities that are compared
    free : paths of the fields, as in studies: "law.mu", "model.s_cut", "mass[2]"; or a mapping of
        paths to `Free` with bounds and starting values. By default the search starts at the value
        in the scenario
    intervals : method of the confidence intervals: `Profile()`, the default, or `Bootstrap()`
    seed : seed of the random starting points

    Raises
    ------
    ScenarioError : on unknown paths.
    ModelError : on quantities that the run does not save.

    Verified by: tests/unit/fits/test_simulated.py::test_a_chain_gives_its_numbers_back
    """
    return fitted(RunProblem(checked(curves), rig, free), intervals, seed)


class RunProblem(Problem):
    """The least-squares problem for the fields of a scenario.

    Parameters
    ----------
    curves : the measured curves
    rig : the scenario, and the saved quantities that are compared
    free : paths of the fields, or a mapping of paths to `Free`
    """

    # larger than in `Problem`, because runs have errors of the size of their tolerance
    relative_step = 2e-3
    n_candidates, n_searches = 8, 3
    # no differential evolution, because each member would need a run; where motions differ by a
    # period, a third of the searches may reach the best minimum, so that 24 nearly always suffice
    generations, further_draws = 0, 2
    # smaller than the effect of the noise of one row in a hundred
    tolerance, agreement = 1e-6, 0.01
    # tolerance if the run has derivatives: only rounding then limits the search
    exact_tolerance = 1e-11

    def __init__(
        self, curves: Sequence[Curve], rig: Simulated, free: Sequence[str] | Mapping[str, Free]
    ) -> None:
        assert isinstance(rig.scenario, Scenario)
        if isinstance(free, str) or not len(free):
            needs, why = "paths of fields of the scenario", "`free` names the fields to be fitted."
            raise ModelError("fit.free", repr(free), needs, why, 'give ["law.mu"].')
        self.scenario = rig.scenario
        self.rig: Simulated = rig
        self.curves, self.known_noise = tuple(curves), noise_is_known(curves)
        self.name = type(self.scenario.system).__name__
        self.places = [place_of(self.scenario, path) for path in free]
        bounds = free if isinstance(free, Mapping) else {path: Free() for path in free}
        self.parameters = [
            *(_parameter(self.scenario, p, bounds[p.path]) for p in self.places),
            *self._curve_parameters(),
        ]
        self.coordinates = Coordinates(self.parameters, {})
        self.data = [np.asarray(curve.force, dtype=np.float64) for curve in self.curves]
        self.scales = [
            np.broadcast_to(np.asarray(1.0 if c.noise is None else c.noise), c.rows)
            for c in self.curves
        ]
        self.masks = [np.ones(c.rows, dtype=bool) for c in self.curves]
        self.evaluations = 0
        self._seen: dict[bytes, tuple[list[Floats], int]] = {}
        self._slopes: dict[bytes, list[Floats] | None] = {}
        self._directions = [_direction(p) for p in self.places]
        # numbers of runs with and without derivatives, and the reason of the last failure
        self._counts, self._reason = np.zeros(2, np.int64), ""
        self._abscissas = [_abscissa(c, rig.along) for c in self.curves]
        self._check_rows()
        start = np.array([q.start for q in self.parameters[: len(self.places)]])
        if self._slopes_of_run(start) is not None:
            self.tolerance = self.exact_tolerance
        self.parameters = self._started(self._forces_of_run(start)[0])
        self.coordinates = Coordinates(self.parameters, {})

    def _curve_parameters(self) -> list[Parameter]:
        """Return the fitted offsets and drifts, one for each curve."""
        made = []
        for field, unit in (("offset", "N"), ("drift", "N/s")):
            given = getattr(self.rig, field)
            for k in range(len(self.curves)) if isinstance(given, Free) else ():
                name = f"rig.{field}[{k + 1}]" if len(self.curves) > 1 else f"rig.{field}"
                made.append(Parameter(name, unit, str(k), given.low, given.high, given.start))
        return made

    def _started(self, forces: Sequence[Floats]) -> list[Parameter]:
        """Return the parameters, with offsets and drifts that fit the forces of the first run."""
        made = []
        for q in self.parameters:
            if q.start is None:
                curve, k = self.curves[int(q.owner)], int(q.owner)
                since = curve.clock - curve.clock[0]
                other = "offset" if q.field == "drift" else "drift"
                given = getattr(self.rig, other)
                columns = np.stack([np.ones(curve.rows), since])
                own = int(q.field == "drift")
                rest = self.data[k] - forces[k]
                if isinstance(given, Free) and given.start is None:
                    found = np.linalg.lstsq(columns.T, rest, rcond=None)[0][own]
                else:
                    value = given.start if isinstance(given, Free) else given
                    rest = rest - value * columns[1 - own]
                    found = columns[own] @ rest / max(columns[own] @ columns[own], 1e-300)
                q = replace(q, start=float(np.clip(found, q.low, q.high)))
            made.append(q)
        return made

    def _check_rows(self) -> None:
        """Raise an error unless there are more rows than parameters."""
        if self.rows <= len(self.parameters):
            got, needs = f"{self.rows} rows", f"more than {len(self.parameters)}"
            why = "fewer rows do not determine the parameters and the noise."
            raise ModelError("fit", got, needs, why, "fit fewer fields, or measure more rows.")

    # ---- scenario and law from the values of the parameters

    def scenario_at(self, values: Floats) -> Scenario:
        """Return the scenario with these values."""
        mine = [float(v) for v in values[: len(self.places)]]
        return changed(self.scenario, self.places, mine)

    def law_at(self, values: Floats) -> Any:
        """Return the law of friction with these values; the system if it has no law."""
        system = self.scenario_at(values).system
        return getattr(system, "law", getattr(system, "model", system))

    def rig_at(self, values: Floats) -> Simulated:
        """Return the rig with these values; offset and drift are those of the first curve."""
        fields: dict[str, Any] = {"scenario": self.scenario_at(values)}
        for q, v in zip(self.parameters, values, strict=True):
            if q.owner != "law":
                fields.setdefault(q.field, float(v))
        return replace(self.rig, **fields)

    # ---- misfit

    def checks(self, values: Floats) -> list[Check]:
        """Return the check that the run with the fitted values is valid."""
        run = self.scenario_at(values).solve(save=self.rig.rows, throw=False)
        warnings = doubts(run)
        note = "; ".join(warnings) or "the audit of the run held, and its solution was unique"
        return [
            Check(
                "run_can_be_trusted",
                not warnings,
                float(len(warnings)),
                0.0,
                note=note,
                kind=Kind.CONDITION,
            )
        ]

    def forces(self, values: Floats) -> tuple[list[Floats], int]:
        """Return the predicted forces (rows,) of all curves, and the number of events of the run.

        values : (n,). A force [N] is that of the run plus offset + drift (t - t_start)
        """
        simulated, events = self._forces_of_run(values[: len(self.places)])
        forces = []
        for k, force in enumerate(simulated):
            own = {field: getattr(self.rig, field) for field in OF_CURVES}
            for q, v in zip(self.parameters, values, strict=True):
                if q.owner == str(k):
                    own[q.field] = float(v)
            clock = self.curves[k].clock
            forces.append(force + own["offset"] + own["drift"] * (clock - clock[0]))
        return forces, events

    def _forces_of_run(self, values: Floats) -> tuple[list[Floats], int]:
        """Return `_run` of the values of the fields, from the cache if possible."""
        key = np.ascontiguousarray(values).tobytes()
        if key not in self._seen:
            if len(self._seen) >= _CACHED:
                del self._seen[next(iter(self._seen))]
            self._seen[key] = self._run(values)
        return self._seen[key]

    # ---- derivatives

    @property
    def jacobian_note(self) -> str:
        """How the Jacobian was computed."""
        exact, failed = self._counts.tolist()
        if not failed:
            return "exact, by derivatives of the run"
        where = "" if not exact else f" at {failed} of {exact + failed} points"
        return f"by differences of runs{where}: {self._reason}"

    def prepare(self, y: Floats, profiled: Profiled = None) -> None:
        """Compute the run with its derivatives, which gives both residuals and Jacobian."""
        self._slopes_of_run(self.coordinates.physical(y, profiled)[: len(self.places)])

    def jacobian(self, y: Floats, profiled: Profiled = None) -> Floats:
        """Return d residuals / d coordinates; by differences if the run has no derivatives.

        Verified by: tests/unit/fits/test_simulated.py::test_jacobian_against_differences
        """
        values, many = self.coordinates.physical(y, profiled), len(self.places)
        slopes = self._slopes_of_run(values[:many])
        if slopes is None:
            return super().jacobian(y, profiled)
        parts = []
        for k, (curve, slope) in enumerate(zip(self.curves, slopes, strict=True)):
            by = np.zeros((curve.rows, values.size))
            by[:, :many] = slope
            for column, q in enumerate(self.parameters):
                if q.owner == str(k):
                    drifts = q.field == "drift"
                    by[:, column] = curve.clock - curve.clock[0] if drifts else 1.0
            parts.append((by / self.scales[k][:, None])[self.masks[k]])
        return np.concatenate(parts) @ self.coordinates.derivatives(y, profiled)

    def _slopes_of_run(self, values: Floats) -> list[Floats] | None:
        """Return for every curve (rows, fields) the derivatives of the force; None without them."""
        key = np.ascontiguousarray(values).tobytes()
        exact, failed = self._counts.tolist()
        if not exact and failed >= _ATTEMPTS:
            return None
        if key not in self._slopes:
            if len(self._slopes) >= _CACHED:
                del self._slopes[next(iter(self._slopes))]
            try:
                scenario = self.scenario_at(values)
            except ModelError:
                # the system does not admit these values
                return None
            try:
                self._slopes[key] = self._run_with_slopes(scenario, values)
            except (ModelError, SolveError) as error:
                self._slopes[key], self._reason = None, str(error).partition("\n")[0]
            self._counts[int(self._slopes[key] is None)] += 1
        return self._slopes[key]

    def _run_with_slopes(self, scenario: Scenario, values: Floats) -> list[Floats]:
        """Return the derivatives of the forces, and cache the forces of the same run."""
        names = [name for name in self._directions if name]
        quantities = [self.rig.force] + ([] if self.rig.along == "time" else [self.rig.along])
        if len(names) < len(self.places):
            raise _no_slopes("a field that is not a parameter of the system")
        system: Any = scenario.system
        if not hasattr(system, "tangents"):
            raise _no_slopes(f"{type(system).__name__}, which has no derivatives")
        columns = list(system.start_names)
        for name in quantities:
            if name not in columns:
                raise _no_slopes(f"{name}, which is not a component of the state")
        start, end = scenario.t_start, scenario.t_end
        save = np.linspace(start, end, self.rig.rows)
        found: Tangents = system.tangents(scenario.method, (start, end), names, save)
        self.evaluations += 1
        if found.failures or not np.isfinite(found.states_by).all():
            one = found.failures[0] if found.failures else None
            raise _no_slopes(
                f"{one.kind} at t = {one.time:.6g}" if one else "an infinite derivative"
            )
        (force, force_by), (x, x_by) = (
            (found.states[:, columns.index(name)], found.states_by[:, columns.index(name)])
            if name != "time"
            else (found.times, np.zeros((found.times.size, len(names))))
            for name in (self.rig.force, self.rig.along)
        )
        rows = _rising(x, self.rig.along)
        x, x_by, force, force_by = x[rows], x_by[rows], force[rows], force_by[rows]
        self._seen[np.ascontiguousarray(values).tobytes()] = (
            self._at_rows(x, force),
            len(found.events),
        )
        return [_slopes_at(at, x, x_by, force, force_by) for at in self._abscissas]

    # ---- one run

    def _run(self, values: Floats) -> tuple[list[Floats], int]:
        """Return the forces (rows,) of the run at the rows of every curve, and its event count.

        values : (fields,) of the fields of the scenario
        """
        scenario = self.scenario_at(values)
        self.evaluations += 1
        try:
            run = scenario.solve(save=self.rig.rows)
        except SolveError as error:
            why = "the run with these values failed: " + str(error).partition("\n")[0]
            needs, try_ = "values for which the run is solved", "give bounds by Free(low, high)."
            raise ModelError(
                "scenario", "values for which the run fails", needs, why, try_
            ) from error
        force = _saved_values(run, self.rig.force)
        x = run.time if self.rig.along == "time" else _saved_values(run, self.rig.along)
        rows = _rising(np.asarray(x, dtype=np.float64), self.rig.along)
        return self._at_rows(np.asarray(x, dtype=np.float64)[rows], force[rows]), len(run.event_log)

    def _at_rows(self, x: Floats, force: Floats) -> list[Floats]:
        """Return for every curve the force (rows,) of a run [N], interpolated linearly.

        x, force : (t,) samples of the run, x increasing: times or values of the quantity `along`
        """
        forces = []
        for at in self._abscissas:
            room = 1e-9 * (x[-1] - x[0])
            if at[0] < x[0] - room or at.max() > x[-1] + room or at.min() < x[0] - room:
                got = f"data from {at.min():.6g} to {at.max():.6g}"
                needs = f"values within {x[0]:.6g} to {x[-1]:.6g}, the range of the run"
                why, try_ = (
                    "the run computes no force outside this range.",
                    "extend the motion of the scenario.",
                )
                raise ModelError("Simulated.along", got, needs, why, try_)
            forces.append(np.interp(at, x, force))
        return forces

    def _smallest_size(self, field: str) -> float:
        """Return the typical size of a coordinate that may be zero, from its bounds or start."""
        q = next(q for q in self.parameters if q.field == field)
        # without an upper bound the start is positive, see `_parameter`
        return 0.1 * (q.high - q.low if math.isfinite(q.high - q.low) else q.start or 1.0)


def _parameter(scenario: Scenario, place: Place, free: Free) -> Parameter:
    """Return the fitted parameter for a field of the scenario."""
    value = current(scenario, place)
    if free.start is not None:
        value = free.start
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        needs, why = "a field that holds one number", "the value is the start of the search."
        try_ = "give the number in the scenario, or a Free(start=...)."
        raise ScenarioError(f"fit.free {place.path}", repr(value), needs, why, try_)
    low = 0.0 if value > 0.0 and free.low == -math.inf else free.low
    if value <= 0.0 and not math.isfinite(free.high - low):
        needs, why = "bounds", "zero or a negative start gives the search no scale."
        try_ = "give Free(low=..., high=...)."
        raise ScenarioError(f"fit.free {place.path}", f"{value:g}", needs, why, try_)
    unit = unit_of(scenario, place)
    return Parameter(place.path, unit, "law", low, free.high, float(value), of_scenario=True)


def _abscissa(curve: Curve, along: str) -> Floats:
    """Return (rows,) times [s] or displacements [m] at which the run is compared with a curve."""
    if along == "time":
        if curve.time is None:
            why = "data and run are compared at equal times."
            try_ = "give Simulated(along=...) the name of a saved displacement."
            raise ModelError("Curve.time", "none", "times [s]", why, try_)
        return np.asarray(curve.time, dtype=np.float64)
    if curve.displacement is None:
        why = f"data and run are compared at equal values of {along}."
        needs, try_ = "displacements [m]", 'measure the displacements, or give along="time".'
        raise ModelError("Curve.displacement", "none", needs, why, try_)
    return np.asarray(curve.displacement, dtype=np.float64)


def _saved_values(run: Run, name: str) -> Floats:
    """Return (t,) a saved quantity of the run, one number for each saved time."""
    match = PLACE.fullmatch(name)
    assert match is not None
    known = {n: v for n, v in run.variables.items() if v.dims[:1] == ("time",) and len(v.dims) <= 2}
    if match[1] not in known:
        needs, why = "one of " + ", ".join(known), "a run of this scenario saves these quantities."
        raise ModelError("Simulated", repr(name), needs, why, nearest(match[1], known))
    values = np.asarray(known[match[1]].values, dtype=np.float64)
    if values.ndim == 1 and match[2] is None:
        return values
    if values.ndim == 1 or match[2] is None or int(match[2]) >= values.shape[1]:
        needs = (
            match[1] if values.ndim == 1 else f"{match[1]}[0] to {match[1]}[{values.shape[1] - 1}]"
        )
        why = "the curve has one force in each row."
        raise ModelError("Simulated", repr(name), needs, why, f"give {needs.split()[0]}.")
    return values[:, int(match[2])]


def _direction(place: Place) -> str:
    """Return the name of a field as a direction of derivatives; "" if there is none."""
    root, *steps = place.steps
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    # `x0` without an index is the whole initial state, not one direction
    return "" if root != "system" or text in (".x0", ".v0") else text.removeprefix(".")


def _no_slopes(got: str) -> ModelError:
    """Return the error for a run without derivatives, whose text `jacobian_note` shows."""
    why, try_ = "the Jacobian needs derivatives of the run.", "use differences of runs instead."
    return ModelError("derivatives", got, "a run with derivatives", why, try_)


def _slopes_at(at: Floats, x: Floats, x_by: Floats, force: Floats, force_by: Floats) -> Floats:
    """Return (rows, fields) derivatives of the interpolated force at fixed abscissas `at`.

    For force(x(t; p), p) at fixed x it is dF/dp - (dF/dx) dx/dp, interpolated between samples.

    Parameters
    ----------
    x, force : (t,) samples of the run
    x_by, force_by : (t, fields) their derivatives by the fields
    """
    k = np.clip(np.searchsorted(x, at, side="right") - 1, 0, x.size - 2)
    fraction = np.clip((at - x[k]) / (x[k + 1] - x[k]), 0.0, 1.0)[:, None]
    steepness = ((force[k + 1] - force[k]) / (x[k + 1] - x[k]))[:, None]
    moved = force_by[k] - steepness * x_by[k], force_by[k + 1] - steepness * x_by[k + 1]
    return np.asarray((1.0 - fraction) * moved[0] + fraction * moved[1])


def _rising(x: Floats, along: str) -> npt.NDArray[np.int64]:
    """Return the indices of samples in order of increasing `x`; raise an error if `x` reverses."""
    steps = np.diff(x)
    if (steps <= 0.0).all() and (steps < 0.0).any():
        # of equal values the first sample, as for a quantity that rises
        return np.flatnonzero(np.r_[True, steps < 0.0])[::-1]
    if (steps < 0.0).any():
        why = "data and run are compared at equal values, and each value needs one force."
        needs, try_ = "a monotonic quantity", 'compare by along="time".'
        raise ModelError("Simulated.along", f"{along}, which reverses", needs, why, try_)
    return np.flatnonzero(np.r_[True, steps > 0.0])
