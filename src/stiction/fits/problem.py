"""The misfit of a law to curves: residuals, their derivatives, and the laws in between."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check
from stiction.errors import ModelError, nearest
from stiction.fits.curves.curve import Curve
from stiction.fits.parameters import OF_CURVES, Coordinates, Law, law_name, parameters_of
from stiction.fits.predicting.models import Predictor
from stiction.fits.rigs import ImposedSlip, Rig

__all__ = ["Held", "Problem", "noise_known"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
# a parameter by its place, held at a value
Held = tuple[int, float] | None

# fields of laws that a class alone does not say
_USUAL: Mapping[str, Mapping[str, float]] = {"BoucWen": {"a": 1.0}}
# what a set of parameters that cannot be followed counts
_LOST = 1e6


def noise_known(curves: Sequence[Curve]) -> bool:
    """Return whether the noise of all curves is given; refuse where it is that of some."""
    told = [curve.noise is not None for curve in curves]
    if any(told) and not all(told):
        got, why = "noise of some curves", "they are weighed against each other."
        raise ModelError("Curve.noise", got, "noise of all or none", why, "give all.")
    return all(told)


class Problem:
    """A law to be found on curves.

    Parameters
    ----------
    law : laws of its class are searched; numbers of an object are a start, those that are not
        fitted stay
    rig : how the curves were measured
    curves : what was measured
    free : fields of the law that are fitted; None for all it has
    known : of a class, numbers of fields that are not fitted
    """

    # differences by coordinates are taken over this, of the size of the coordinate
    apart: float = 2e-5
    # starts that are looked at, and how many of the best are followed to their end
    looked_at, followed = 64, 5
    # of evolution, where searches in a problem with events do not agree
    generations = 150
    # of the misfit: where a search ends, and by how much ends of searches at one place differ
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
        self._fixed = self._rest_of_law()
        self.coordinates = Coordinates(self.parameters, self._fixed)
        self.predictors = [Predictor(curve, rig, self.cls) for curve in self.curves]
        self.data = [np.asarray(curve.force, dtype=np.float64) for curve in self.curves]
        self.known_noise = noise_known(self.curves)
        self.scales = [
            np.asarray(c.noise) if c.noise is not None else np.ones(c.rows) for c in self.curves
        ]
        self.masks = [p.used.copy() for p in self.predictors]
        self.evaluations = 0
        if self.rows <= len(self.parameters):
            got, needs = f"{self.rows} rows that count", f"more than {len(self.parameters)}"
            why = "as many numbers cannot be found, and noise not told from them."
            raise ModelError("fit", got, needs, why, "fit fewer, or measure more.")

    def _rest_of_law(self) -> dict[str, float]:
        cls: Any = self.cls
        fields = [f for f in dataclasses.fields(cls) if f.name not in self.of_law]
        if not isinstance(self.law, type):
            values = {f.name: getattr(self.law, f.name) for f in fields}
        else:
            usual = {**_USUAL.get(self.name, {}), **self.known}
            self._check_known([f.name for f in fields])
            lacks = [
                f.name
                for f in fields
                if f.default is dataclasses.MISSING
                and f.default_factory is dataclasses.MISSING
                and f.name not in usual
            ]
            if lacks:
                got, why = f"the class {self.name} alone", "what is not fitted needs a number."
                needs = f"numbers for {', '.join(lacks)}"
                raise ModelError("fit.law", got, needs, why, "give a law, not its class.")
            values = {f.name: usual.get(f.name, f.default) for f in fields}
        self._kept = {k: v for k, v in values.items() if v is not dataclasses.MISSING}
        return {k: float(v) for k, v in self._kept.items() if isinstance(v, int | float)}

    def _check_known(self, fields: Sequence[str]) -> None:
        """Refuse numbers of fields that the law does not have, or that are fitted."""
        for name in self.known:
            if name not in fields:
                needs, why = "one of " + ", ".join(fields), f"these of {self.name} are not fitted."
                raise ModelError("fit.known", repr(name), needs, why, nearest(name, fields))

    @property
    def rows(self) -> int:
        """How many rows count."""
        return int(sum(mask.sum() for mask in self.masks))

    def only(self, masks: Sequence[Bools]) -> Problem:
        """Return the same problem where some rows do not count."""
        made = copy.copy(self)
        made.masks = [old & new for old, new in zip(self.masks, masks, strict=True)]
        return made

    def with_data(self, data: Sequence[Floats]) -> Problem:
        """Return the same problem with other forces."""
        made = copy.copy(self)
        made.data = [np.asarray(d) for d in data]
        return made

    # ---- from values to objects

    def law_at(self, values: Floats) -> Law:
        """Return the law with these values."""
        mine = {q.field: float(v) for q, v in zip(self.parameters, values, strict=True)}
        fields = {name: mine[name] for name in self.of_law}
        cls: Any = self.cls
        found: Law = cls(**{**self._kept, **fields})
        return found

    def rig_at(self, values: Floats) -> Rig:
        """Return the rig with these values; of offsets and drifts those of the first curve."""
        fields: dict[str, float] = {}
        for q, v in zip(self.parameters, values, strict=True):
            if q.owner != "law":
                fields.setdefault(q.field, float(v))
        found: Rig = dataclasses.replace(cast(Any, self.rig), **fields)
        return found

    # ---- misfit

    def checks(self, values: Floats) -> list[Check]:
        """Return what else must hold of a fit that found these values."""
        return []

    def forces(self, values: Floats) -> tuple[list[Floats], int]:
        """Return the forces of all curves as they would be measured, and how many events."""
        fields, rig = dict(self._kept), dict(self._rig)
        for q, v in zip(self.parameters, values.tolist(), strict=True):
            (fields if q.owner == "law" else rig)[q.field] = v
        found, events = [], 0
        self.evaluations += 1
        for k, predict in enumerate(self.predictors):
            told = predict(fields, rig)
            base = self._base(k, values, predict.since)
            force = told.force + base
            if told.bound is not None:
                # a row at rest is met by any force within the bound
                stuck = np.isfinite(told.bound)
                inside = np.clip(self.data[k] - base, -told.bound, told.bound)
                force = np.where(stuck, base + inside, force)
            found.append(force)
            events += told.events
        return found, events

    def _base(self, k: int, values: Floats, since: Floats) -> Floats:
        own = {field: self._rig[field] for field in OF_CURVES}
        for q, v in zip(self.parameters, values, strict=True):
            if q.owner == str(k):
                own[q.field] = float(v)
        return np.asarray(own["offset"] + own["drift"] * since)

    def residuals(self, y: Floats, held: Held = None) -> Floats:
        """Return how far the law is from the data, over the noise where it is known."""
        return self._residuals(y, held)[0]

    def _residuals(self, y: Floats, held: Held) -> tuple[Floats, int]:
        values = self.coordinates.physical(y, held)
        try:
            forces, events = self.forces(values)
        except (ModelError, OverflowError, ZeroDivisionError):
            # a corner that no law reaches
            return np.full(self.rows, _LOST * self._size), 0
        parts = [
            ((f - d) / s)[mask]
            for f, d, s, mask in zip(forces, self.data, self.scales, self.masks, strict=True)
        ]
        r = np.concatenate(parts)
        if not np.isfinite(r).all():
            return np.full(self.rows, _LOST * self._size), 0
        return r, events

    @property
    def _size(self) -> float:
        return float(max(np.ptp(d) / s.min() for d, s in zip(self.data, self.scales, strict=True)))

    @property
    def exact(self) -> float:
        """Return a sum of squared residuals of data without noise."""
        return self.rows * (1e-7 * self._size) ** 2

    @property
    def has_events(self) -> bool:
        """Whether stick and slip begin and end as the numbers of the law say, not as imposed."""
        return self.generations > 0 and not isinstance(self.rig, ImposedSlip)

    def alikeness(self, r: Floats) -> float:
        """Return the correlation of residuals with their neighbours in time."""
        total, alike, begin = 0.0, 0.0, 0
        for mask in self.masks:
            part = r[begin : begin + int(mask.sum())]
            begin += part.size
            alike += float(part[1:] @ part[:-1])
            total += float(part @ part)
        return alike / total if total > 0.0 else 0.0

    def spread(self, y: Floats) -> Floats:
        """Return the size of each coordinate, over which differences and steps are counted."""
        values = self.coordinates.physical(y)
        size = np.abs(y)
        for i, q in enumerate(self.parameters):
            if q.logarithmic:
                size[i] = 1.0
            elif q.owner != "law" and q.signed:
                size[i] = max(size[i], 0.02 * self._force_size(), abs(values[i]))
                if q.field == "drift":
                    lasts = max(float(np.ptp(c.clock)) for c in self.curves)
                    size[i] = max(abs(y[i]), 0.02 * self._force_size() / lasts)
            else:
                size[i] = max(size[i], self._least(q.field))
        return size

    def _least(self, field: str) -> float:
        """Return a size of a coordinate that may be zero."""
        if field in ("viscous", "sigma1", "sigma2"):
            fast = max(float(np.nanmax(np.abs(c.speeds()))) for c in self.curves)
            return 0.02 * self._ratio_size() / max(fast, 1e-300)
        return 0.1 if field == "gamma" else 0.02 * self._ratio_size()

    def _force_size(self) -> float:
        return float(max(np.ptp(d) for d in self.data))

    def _ratio_size(self) -> float:
        pairs = zip(self.data, self.predictors, strict=True)
        return float(max(np.max(np.abs(d / p.normal)) for d, p in pairs))

    def jacobian(self, y: Floats, held: Held = None) -> Floats:
        """Return d residuals / d coordinates, by differences between like orders of events."""
        base, events = self._residuals(y, held)
        low, high = self.coordinates.bounds(held)
        size = self.spread(y)
        made = np.zeros((base.size, y.size))
        for i in range(y.size):
            if held is not None and held[0] == i:
                continue
            h = self.apart * size[i]
            made[:, i] = self._slope(y, held, i, h, (low[i], high[i]), base, events)
        return made

    def _slope(
        self,
        y: Floats,
        held: Held,
        i: int,
        h: float,
        bounds: tuple[float, float],
        base: Floats,
        events: int,
    ) -> Floats:
        def at(step: float) -> tuple[Floats, int]:
            moved = y.copy()
            moved[i] += step
            return self._residuals(moved, held)

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
