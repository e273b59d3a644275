"""A whole scenario as the rig: fields of it are found for which its run follows the curves."""

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
from stiction.errors import ModelError, ScenarioError, SolveError, nearest
from stiction.fits.curves.curve import Curve
from stiction.fits.fitting import checked, fitted
from stiction.fits.intervals import Intervals
from stiction.fits.outcome import Fit
from stiction.fits.parameters import OF_CURVES, Coordinates, Parameter
from stiction.fits.problem import Problem, noise_known
from stiction.fits.rigs import PLACE, Free, Simulated
from stiction.io.scenario import Scenario
from stiction.studies.fields import Place, changed, current, place_of, unit_of

__all__ = ["RunProblem", "fit_scenario"]

Floats = npt.NDArray[np.float64]

# runs whose forces are remembered, since searches come back to where they were
_REMEMBERED = 256


def fit_scenario(
    curves: Curve | Sequence[Curve],
    rig: Simulated,
    free: Sequence[str] | Mapping[str, Free],
    *,
    intervals: Intervals | None = None,
    seed: int = 1,
) -> Fit:
    """Return the fields of a scenario for which its run is nearest to measured curves.

    Any system and law can be fitted so, contacts of solids with `DI` or `EA` among them. Every
    set of values is a run, so that it takes some hundred runs: begin with a coarse scenario.

    Parameters
    ----------
    curves : one test, or several of the same scenario
    rig : the scenario, and what of its run is compared
    free : paths of the fields, as in studies: "law.mu", "model.s_cut", "mass[2]"; with bounds
        and starts if they are keys. A start is the scenario's own number where none is given
    intervals : `Profile()`, the default, or `Bootstrap()`
    seed : of the places where searches begin

    Raises
    ------
    ScenarioError : on paths that lead nowhere; ModelError on names that no run saves.

    Verified by: tests/unit/fits/test_simulated.py::test_a_chain_gives_its_numbers_back
    """
    return fitted(RunProblem(checked(curves), rig, free), intervals, seed)


class RunProblem(Problem):
    """Fields of a scenario to be found on curves.

    Parameters
    ----------
    curves : what was measured
    rig : the scenario, and what of its run is compared
    free : paths of the fields, with bounds where they are keys
    """

    # runs end within their tolerance: differences are taken over more than that
    apart = 2e-3
    looked_at, followed = 8, 3
    # each member would be a run
    generations = 0
    # less than noise makes of it at one row in a hundred
    tolerance, agreement = 1e-6, 0.01

    def __init__(
        self, curves: Sequence[Curve], rig: Simulated, free: Sequence[str] | Mapping[str, Free]
    ) -> None:
        assert isinstance(rig.scenario, Scenario)
        if isinstance(free, str) or not len(free):
            needs, why = "paths of fields of the scenario", "they are what is found."
            raise ModelError("fit.free", repr(free), needs, why, 'try ["law.mu"].')
        self.scenario = rig.scenario
        self.rig: Simulated = rig
        self.curves, self.known_noise = tuple(curves), noise_known(curves)
        self.name = type(self.scenario.system).__name__
        self.places = [place_of(self.scenario, path) for path in free]
        bounds = free if isinstance(free, Mapping) else {path: Free() for path in free}
        self.parameters = [
            *(_parameter(self.scenario, p, bounds[p.path]) for p in self.places),
            *self._of_curves(),
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
        self._abscissas = [_abscissa(c, rig.along) for c in self.curves]
        self._check_rows()
        self._forces_of_run(np.array([q.start for q in self.parameters[: len(self.places)]]))

    def _of_curves(self) -> list[Parameter]:
        made = []
        for field, unit in (("offset", "N"), ("drift", "N/s")):
            given = getattr(self.rig, field)
            for k in range(len(self.curves)) if isinstance(given, Free) else ():
                name = f"rig.{field}[{k + 1}]" if len(self.curves) > 1 else f"rig.{field}"
                start = 0.0 if given.start is None else given.start
                made.append(Parameter(name, unit, str(k), given.low, given.high, start))
        return made

    def _check_rows(self) -> None:
        if self.rows <= len(self.parameters):
            got, needs = f"{self.rows} rows", f"more than {len(self.parameters)}"
            why = "as many numbers cannot be found, and noise not told from them."
            raise ModelError("fit", got, needs, why, "fit fewer, or measure more.")

    # ---- from values to objects

    def scenario_at(self, values: Floats) -> Scenario:
        """Return the scenario with these values."""
        mine = [float(v) for v in values[: len(self.places)]]
        return changed(self.scenario, self.places, mine)

    def law_at(self, values: Floats) -> Any:
        """Return the law of friction with these values; the system where it holds none."""
        system = self.scenario_at(values).system
        return getattr(system, "law", getattr(system, "model", system))

    def rig_at(self, values: Floats) -> Simulated:
        """Return the rig with these values; of offsets and drifts those of the first curve."""
        fields: dict[str, Any] = {"scenario": self.scenario_at(values)}
        for q, v in zip(self.parameters, values, strict=True):
            if q.owner != "law":
                fields.setdefault(q.field, float(v))
        return replace(self.rig, **fields)

    # ---- misfit

    def checks(self, values: Floats) -> list[Check]:
        """Return whether the run that was found may be believed itself."""
        run = self.scenario_at(values).solve(save=self.rig.rows, throw=False)
        found = doubts(run)
        note = "; ".join(found) or "its audit held, and its future was unique"
        return [
            Check(
                "run_can_be_trusted",
                not found,
                float(len(found)),
                0.0,
                note=note,
                kind=Kind.CONDITION,
            )
        ]

    def forces(self, values: Floats) -> tuple[list[Floats], int]:
        """Return the forces of all curves as they would be measured, and how many events."""
        told, events = self._forces_of_run(values[: len(self.places)])
        found = []
        for k, force in enumerate(told):
            own = {field: getattr(self.rig, field) for field in OF_CURVES}
            for q, v in zip(self.parameters, values, strict=True):
                if q.owner == str(k):
                    own[q.field] = float(v)
            clock = self.curves[k].clock
            found.append(force + own["offset"] + own["drift"] * (clock - clock[0]))
        return found, events

    def _forces_of_run(self, values: Floats) -> tuple[list[Floats], int]:
        key = np.ascontiguousarray(values).tobytes()
        if key not in self._seen:
            if len(self._seen) >= _REMEMBERED:
                del self._seen[next(iter(self._seen))]
            self._seen[key] = self._run(values)
        return self._seen[key]

    def _run(self, values: Floats) -> tuple[list[Floats], int]:
        """Return the run's force at the rows of every curve, and how many events it had."""
        scenario = self.scenario_at(values)
        self.evaluations += 1
        try:
            run = scenario.solve(save=self.rig.rows)
        except SolveError as error:
            why = "its run failed: " + str(error).partition("\n")[0]
            raise ModelError("scenario", "these values", "a run", why, "") from error
        force = _saved(run, self.rig.force)
        x = run.time if self.rig.along == "time" else _saved(run, self.rig.along)
        x, force = _rising(np.asarray(x, dtype=np.float64), force, self.rig.along)
        found = []
        for at in self._abscissas:
            room = 1e-9 * (x[-1] - x[0])
            if at[0] < x[0] - room or at.max() > x[-1] + room or at.min() < x[0] - room:
                got = f"data from {at.min():.6g} to {at.max():.6g}"
                needs = f"within {x[0]:.6g} to {x[-1]:.6g}, where the run leads"
                why, try_ = "nothing is known of the force beyond.", "let the scenario go farther."
                raise ModelError("Simulated.along", got, needs, why, try_)
            found.append(np.interp(at, x, force))
        return found, len(run.event_log)

    def _least(self, field: str) -> float:
        """Return a size of a coordinate that may be zero: it has bounds."""
        (q,) = [q for q in self.parameters if q.field == field]
        return 0.1 * (q.high - q.low)


def _parameter(scenario: Scenario, place: Place, free: Free) -> Parameter:
    """Return a field of the scenario as something to be found."""
    value = current(scenario, place)
    if free.start is not None:
        value = free.start
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        needs, why = "a field that holds one number", "it is where the search begins."
        try_ = "give the number in the scenario, or a Free(start=...)."
        raise ScenarioError(f"fit.free {place.path}", repr(value), needs, why, try_)
    low = 0.0 if value > 0.0 and free.low == -math.inf else free.low
    if value <= 0.0 and not math.isfinite(free.high - low):
        needs, why = "bounds", "a search from there must know how far it may go."
        try_ = "give Free(low=..., high=...)."
        raise ScenarioError(f"fit.free {place.path}", f"{value:g}", needs, why, try_)
    unit = unit_of(scenario, place)
    return Parameter(place.path, unit, "law", low, free.high, float(value), of_scenario=True)


def _abscissa(curve: Curve, along: str) -> Floats:
    if along == "time":
        if curve.time is None:
            why = "the run is compared by times."
            raise ModelError("Curve.time", "none", "times [s]", why, "give along.")
        return np.asarray(curve.time, dtype=np.float64)
    if curve.displacement is None:
        why = f"the run is compared along {along}."
        raise ModelError("Curve.displacement", "none", "one", why, 'or along="time".')
    return np.asarray(curve.displacement, dtype=np.float64)


def _saved(run: Run, name: str) -> Floats:
    """Return one number a row of what a run saved."""
    match = PLACE.fullmatch(name)
    assert match is not None
    known = {n: v for n, v in run.variables.items() if v.dims[:1] == ("time",) and len(v.dims) <= 2}
    if match[1] not in known:
        needs, why = "one of " + ", ".join(known), "these a run of this scenario saves."
        raise ModelError("Simulated", repr(name), needs, why, nearest(match[1], known))
    values = np.asarray(known[match[1]].values, dtype=np.float64)
    if values.ndim == 1 and match[2] is None:
        return values
    if values.ndim == 1 or match[2] is None or int(match[2]) >= values.shape[1]:
        needs = (
            match[1] if values.ndim == 1 else f"{match[1]}[0] to {match[1]}[{values.shape[1] - 1}]"
        )
        why = "the curve has one force a row."
        raise ModelError("Simulated", repr(name), needs, why, f"try {needs.split()[0]}.")
    return values[:, int(match[2])]


def _rising(x: Floats, force: Floats, along: str) -> tuple[Floats, Floats]:
    """Return the rows with `x` rising; refuse a run that turns."""
    steps = np.diff(x)
    if (steps < 0.0).all() and steps.size:
        return x[::-1], force[::-1]
    if (steps < 0.0).any():
        why = "two forces would stand at one place."
        needs, try_ = "what rises from row to row", 'compare by along="time".'
        raise ModelError("Simulated.along", f"{along}, which turns", needs, why, try_)
    keep = np.r_[True, steps > 0.0]
    return x[keep], force[keep]
