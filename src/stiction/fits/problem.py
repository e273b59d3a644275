"""Nonlinear least squares of a friction law on measured curves: residuals and their Jacobian.

A residual is the predicted minus the measured force, divided by the noise if that is known; in rows
that stick it is zero if the measured force is within the bound of friction. The search uses
transformed parameters (`parameters.Coordinates`). `Problem` maps them to a law and a rig, predicts
the force of each curve, and forms the residuals. Residuals jump where the number of stick-slip
events changes. The Jacobian is therefore computed by finite differences between points with the
same number of events. `fitting` makes a `Problem`; `search` and `intervals` call its methods
`residuals` (rows,) and `jacobian` (rows, n). `simulated.RunProblem` is the subclass for scenarios.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check
from stiction.core.fields import rules_of
from stiction.errors import ModelError, nearest
from stiction.fits.curves.curve import Curve
from stiction.fits.parameters import LEAST, OF_CURVES, Coordinates, Law, law_name, parameters_of
from stiction.fits.predicting.models import Predictor
from stiction.fits.rigs import ImposedSlip, Rig

__all__ = ["Problem", "Profiled", "noise_is_known"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
# index and value of the parameter that a profile likelihood fixes
Profiled = tuple[int, float] | None

# values of fields without a default that are not fitted, if a law is given by its class
_DEFAULTS: Mapping[str, Mapping[str, float]] = {"BoucWen": {"a": 1.0}}
# lower bound of coefficients over the largest measured ratio of force and normal force. Chosen
_LEAST_FRACTION = 1e-3
# residual, divided by the range of the data, for parameters without a valid law or solution: far
# above any residual of a solution, and its square is representable
_FAILED_RESIDUAL = 1e6


def noise_is_known(curves: Sequence[Curve]) -> bool:
    """Return whether the noise of all curves is given; raise an error if only some have it."""
    given = [curve.noise is not None for curve in curves]
    if any(given) and not all(given):
        got, why = "noise of some curves", "the noise determines the weights of the curves."
        needs, try_ = "the noise of all curves or of none", "give the noise of every curve."
        raise ModelError("Curve.noise", got, needs, why, try_)
    return all(given)


class Problem:
    """A friction law whose parameters are fitted to curves.

    Parameters
    ----------
    law : the class of a law, or a law whose values are the starting point, and stay fixed for
        fields that are not fitted
    rig : the test rig by which the curves were measured
    curves : the measured curves
    free : fields of the law that are fitted; None for all fields that can be fitted
    known : {field: value} of fields that are not fitted, if `law` is a class

    Attributes
    ----------
    parameters, coordinates : the n fitted parameters, and their coordinates
    predictors : for each curve the prediction of its force
    data, scales, masks : for each curve (rows,) measured force [N], noise or 1, and used rows
    known_noise : whether the noise is given
    evaluations : number of predictions of all curves so far
    """

    # step of finite differences divided by the typical size of the coordinate
    relative_step: float = 2e-5
    # starting points whose misfit is computed, and local searches from the best of them
    n_candidates, n_searches = 64, 5
    # generations of differential evolution, which is used if searches disagree
    generations = 150
    # draws of as many further candidates, from which searches start until two agree
    further_draws = 0
    # relative change of the misfit at which a search ends; relative difference of the misfits of
    # two searches that count as the same minimum
    tolerance, agreement = 1e-11, 1e-6

    def __init__(
        self,
        law: Law | type[Law],
        rig: Rig,
        curves: Sequence[Curve],
        free: Sequence[str] | None,
        known: Mapping[str, float],
    ) -> None:
        self.law, self.rig, self.curves, self.free = law, rig, tuple(curves), free
        self.known = known
        self.cls: type[Law] = law if isinstance(law, type) else type(law)
        self.name = law_name(law)
        self.parameters = parameters_of(law, rig, len(self.curves), free)
        self._rig = {f.name: getattr(rig, f.name) for f in dataclasses.fields(cast(Any, rig))}
        self.of_law = [q.field for q in self.parameters if q.owner == "law"]
        self._fixed = self._unfitted_fields()
        self.predictors = [Predictor(curve, rig, self.cls) for curve in self.curves]
        self.data = [np.asarray(curve.force, dtype=np.float64) for curve in self.curves]
        least = min(LEAST, _LEAST_FRACTION * self._ratio_size())
        self.coordinates = Coordinates(self.parameters, self._fixed, least)
        self.known_noise = noise_is_known(self.curves)
        self.scales = [
            np.asarray(c.noise) if c.noise is not None else np.ones(c.rows) for c in self.curves
        ]
        self.masks = [p.used.copy() for p in self.predictors]
        self.evaluations = 0
        if self.rows <= len(self.parameters):
            got, needs = f"{self.rows} rows that are used", f"more than {len(self.parameters)}"
            why = "fewer rows do not determine the parameters and the noise."
            raise ModelError("fit", got, needs, why, "fit fewer parameters, or measure more rows.")

    def _unfitted_fields(self) -> dict[str, float]:
        """Set the fields of the law that are not fitted; return those that are numbers."""
        cls: Any = self.cls
        fields = [f for f in dataclasses.fields(cls) if f.name not in self.of_law]
        if not isinstance(self.law, type):
            if self.known:
                got = f"{', '.join(self.known)} and a law object"
                needs = f"the class {self.name}, or no `known`"
                why = "a law object has values of all fields that are not fitted."
                raise ModelError(
                    "fit.known", got, needs, why, "give these values to the law object."
                )
            values = {f.name: getattr(self.law, f.name) for f in fields}
        else:
            usual = {**_DEFAULTS.get(self.name, {}), **self.known}
            self._check_known([f.name for f in fields])
            missing = [
                f.name
                for f in fields
                if f.default is dataclasses.MISSING
                and f.default_factory is dataclasses.MISSING
                and f.name not in usual
            ]
            if missing:
                got, why = (
                    f"the class {self.name} alone",
                    "a field that is not fitted needs a value.",
                )
                needs = f"numbers for {', '.join(missing)}"
                try_ = "give a law object with these values instead of its class."
                raise ModelError("fit.law", got, needs, why, try_)
            values = {f.name: usual.get(f.name, f.default) for f in fields}
        self._unfitted = {k: v for k, v in values.items() if v is not dataclasses.MISSING}
        return {k: float(v) for k, v in self._unfitted.items() if isinstance(v, int | float)}

    def _check_known(self, fields: Sequence[str]) -> None:
        """Raise an error for values of fields that the law does not have, or that are fitted."""
        for name in self.known:
            if name not in fields:
                needs = "one of " + ", ".join(fields)
                why = f"a value can be given for the fields of {self.name} that are not fitted."
                raise ModelError("fit.known", repr(name), needs, why, nearest(name, fields))
            if np.ndim(self.known[name]) > 0:
                why, try_ = "a test has one contact.", "give one number."
                raise ModelError(
                    f"fit.known {name}", repr(self.known[name]), "one value", why, try_
                )
            if name in (rules := rules_of(self.cls)) and self.known[name] is not None:
                rules[name].clean(f"{self.name}.{name}", self.known[name], None, float)

    @property
    def rows(self) -> int:
        """Number of rows that are used."""
        return int(sum(mask.sum() for mask in self.masks))

    def restricted_to(self, masks: Sequence[Bools]) -> Problem:
        """Return the same problem without the rows that `masks` excludes."""
        made = copy.copy(self)
        made.masks = [old & new for old, new in zip(self.masks, masks, strict=True)]
        return made

    def with_data(self, data: Sequence[Floats]) -> Problem:
        """Return the same problem with other measured forces."""
        made = copy.copy(self)
        made.data = [np.asarray(d) for d in data]
        return made

    # ---- law and rig from the values of the parameters

    def law_at(self, values: Floats) -> Law:
        """Return the law with these values."""
        mine = {q.field: float(v) for q, v in zip(self.parameters, values, strict=True)}
        fields = {name: mine[name] for name in self.of_law}
        cls: Any = self.cls
        law: Law = cls(**{**self._unfitted, **fields})
        return law

    def rig_at(self, values: Floats) -> Rig:
        """Return the rig with these values; offset and drift are those of the first curve."""
        fields: dict[str, float] = {}
        for q, v in zip(self.parameters, values, strict=True):
            if q.owner != "law":
                fields.setdefault(q.field, float(v))
        rig: Rig = dataclasses.replace(cast(Any, self.rig), **fields)
        return rig

    # ---- misfit

    def checks(self, values: Floats) -> list[Check]:
        """Return further checks for the audit of a fit with these values."""
        return []

    def forces(self, values: Floats) -> tuple[list[Floats], int]:
        """Return the predicted forces of all curves, with offset and drift, and the event count.

        values : (n,) of the parameters. A force (rows,) [N] is that of the law plus offset + drift
        (t - t_start); in stick it is the measured force, limited to the bound of friction
        """
        fields, rig = dict(self._unfitted), dict(self._rig)
        for q, v in zip(self.parameters, values.tolist(), strict=True):
            (fields if q.owner == "law" else rig)[q.field] = v
        forces, events = [], 0
        self.evaluations += 1
        for k, predict in enumerate(self.predictors):
            predicted = predict(fields, rig)
            base = self._base(k, values, predict.since)
            force = predicted.force + base
            if predicted.bound is not None:
                # in stick, any force up to the bound satisfies the law, and the residual is zero
                stuck = np.isfinite(predicted.bound)
                measured, bound = self.data[k], predicted.bound
                inside = np.clip(measured - base, -bound, bound)
                force = np.where(stuck, base + inside, force)
                # exactly zero, by which `slipping_rows` finds these rows
                force = np.where(stuck & (np.abs(measured - base) <= bound), measured, force)
            forces.append(force)
            events += predicted.events
        return forces, events

    def _base(self, k: int, values: Floats, since: Floats) -> Floats:
        """Return (rows,) offset + drift `since` of curve k [N]; `since` is t - t_start [s]."""
        own = {field: self._rig[field] for field in OF_CURVES}
        for q, v in zip(self.parameters, values, strict=True):
            if q.owner == str(k):
                own[q.field] = float(v)
        return np.asarray(own["offset"] + own["drift"] * since)

    def residuals(self, y: Floats, profiled: Profiled = None) -> Floats:
        """Return predicted minus measured forces, divided by the noise if that is known."""
        return self._residuals(y, profiled)[0]

    def _residuals(self, y: Floats, profiled: Profiled) -> tuple[Floats, int]:
        """Return (rows,) residuals and number of events; large residuals without a solution."""
        values = self.coordinates.physical(y, profiled)
        try:
            forces, events = self.forces(values)
        except (ValueError, OverflowError, ZeroDivisionError):
            # no law has these values, or a user's law takes the logarithm of a negative number;
            # the residual is larger than any other
            return np.full(self.rows, _FAILED_RESIDUAL * self.size), 0
        parts = [
            ((f - d) / s)[mask]
            for f, d, s, mask in zip(forces, self.data, self.scales, self.masks, strict=True)
        ]
        r = np.concatenate(parts)
        if not np.isfinite(r).all():
            return np.full(self.rows, _FAILED_RESIDUAL * self.size), 0
        return r, events

    @property
    def size(self) -> float:
        """Largest range of the data of a curve, in units of the residuals."""
        return float(max(np.ptp(d) / s.min() for d, s in zip(self.data, self.scales, strict=True)))

    @property
    def exact(self) -> float:
        """Sum of squared residuals below which the data are fitted exactly, to seven digits."""
        return self.rows * (1e-7 * self.size) ** 2

    @property
    def has_events(self) -> bool:
        """Whether the times of stick and slip depend on the parameters: not for imposed slip."""
        return self.generations > 0 and not isinstance(self.rig, ImposedSlip)

    def autocorrelation(self, r: Floats) -> float:
        """Return the lag-one autocorrelation of residuals `r`, over all curves."""
        total, lagged, begin = 0.0, 0.0, 0
        for mask in self.masks:
            part = r[begin : begin + int(mask.sum())]
            begin += part.size
            lagged += float(part[1:] @ part[:-1])
            total += float(part @ part)
        return lagged / total if total > 0.0 else 0.0

    def typical_sizes(self, y: Floats) -> Floats:
        """Return the typical size of each coordinate, which scales differences and steps.

        It is 1 for a logarithm, otherwise the modulus of the coordinate. The fractions of the data
        that replace a small modulus were chosen: they affect the path of a search, not its end.
        """
        values = self.coordinates.physical(y)
        size = np.abs(y)
        for i, q in enumerate(self.parameters):
            if q.logarithmic:
                size[i] = 1.0
            elif q.owner != "law" and q.signed:
                size[i] = max(size[i], 0.02 * self._force_size(), abs(values[i]))
                if q.field == "drift":
                    duration = max(float(np.ptp(c.clock)) for c in self.curves)
                    size[i] = max(abs(y[i]), 0.02 * self._force_size() / duration)
            elif q.of_own_law and q.start:
                size[i] = max(size[i], 0.1 * abs(q.start))
            else:
                size[i] = max(size[i], self._smallest_size(q.field))
        return size

    def _smallest_size(self, field: str) -> float:
        """Return the typical size of a coordinate whose value may be zero."""
        if field in ("viscous", "sigma1", "sigma2"):
            fast = max(float(np.nanmax(np.abs(c.speeds()))) for c in self.curves)
            return 0.02 * self._ratio_size() / max(fast, 1e-300)
        return 0.1 if field == "gamma" else 0.02 * self._ratio_size()

    def _force_size(self) -> float:
        """Return the largest range of the forces of a curve [N]."""
        return float(max(np.ptp(d) for d in self.data))

    def _ratio_size(self) -> float:
        """Return the largest ratio of force and normal force [1]."""
        pairs = zip(self.data, self.predictors, strict=True)
        return float(max(np.max(np.abs(d / p.normal)) for d, p in pairs))

    @property
    def jacobian_note(self) -> str:
        """How the Jacobian of a simulated test was computed; empty for other tests."""
        return ""

    def prepare(self, y: Floats, profiled: Profiled = None) -> None:
        """Prepare the evaluation of residuals and Jacobian at `y`; a subclass may cache a run."""

    def jacobian(self, y: Floats, profiled: Profiled = None) -> Floats:
        """Return d residuals / d coordinates, by differences with equal numbers of events."""
        base, events = self._residuals(y, profiled)
        low, high = self.coordinates.bounds(profiled)
        size = self.typical_sizes(y)
        made = np.zeros((base.size, y.size))
        for i in range(y.size):
            if profiled is not None and profiled[0] == i:
                continue
            h = self.relative_step * size[i]
            made[:, i] = self._difference(y, profiled, i, h, (low[i], high[i]), base, events)
        return made

    def _difference(
        self,
        y: Floats,
        profiled: Profiled,
        i: int,
        h: float,
        bounds: tuple[float, float],
        base: Floats,
        events: int,
    ) -> Floats:
        """Return the (rows,) derivatives of the residuals by coordinate i, by differences over h.

        bounds : of the coordinate
        base, events : residuals and number of events at y

        The residuals jump where the number of events changes. If only one side has the number of
        events of `base`, the difference uses that side alone. Central differences, and the
        three-point formula at a bound, have order 2.
        """

        def at(step: float) -> tuple[Floats, int]:
            """Return residuals and number of events with coordinate i moved by `step`."""
            moved = y.copy()
            moved[i] += step
            return self._residuals(moved, profiled)

        up = y[i] + h <= bounds[1]
        down = y[i] - h >= bounds[0]
        if up and down:
            (above, n_above), (below, n_below) = at(h), at(-h)
            if n_above == n_below or (n_above != events and n_below != events):
                return np.asarray((above - below) / (2.0 * h))
            if n_above == events:
                return np.asarray((above - base) / h)
            return np.asarray((base - below) / h)
        side = h if up else -h
        (one, _), (two, _) = at(side), at(2.0 * side)
        return np.asarray((4.0 * one - 3.0 * base - two) / (2.0 * side))
