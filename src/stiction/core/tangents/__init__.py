"""First derivatives of a run with respect to its initial state and parameters.

Between events the derivative matrix Y = dx/d(x0, p) obeys the variational equation
dY/dt = (df/dx) Y + df/dp. At an event h(x) = 0 that the trajectory crosses transversally, Y is
multiplied by the saltation matrix. Without a reset of the state it is

    S = I + (f+ - f-) grad h^T / (grad h . f-),

with the vector fields f- before and f+ after the event. This module defines the results and the
interface `Differentiable`; the systems compute the derivatives. Sensitivities, shooting and Floquet
multipliers in `stiction.studies` use the results for any system.

Source: di Bernardo, Budd, Champneys, Kowalczyk 2008, section 2.5; Leine and Nijmeijer 2004,
chapter 7 (saltation matrices of stick and slip).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError

__all__ = [
    "Differentiable",
    "EventTangent",
    "Gradients",
    "NotDifferentiable",
    "QuantityTangent",
    "Tangents",
    "times_of",
]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class EventTangent:
    """A located event and the derivatives of its time.

    Parameters
    ----------
    time : [s, or the system's unit of time]
    label : kind of the event, and its contact or switching surface; the labels of a run in their
        sequence are its order of events
    state : (n,) the state just after the event
    time_by : (m,) derivatives of the time of the event with respect to the directions
    """

    time: float
    label: str
    state: Floats
    time_by: Floats


@dataclass(frozen=True)
class NotDifferentiable:
    """A time at which a run has no derivative.

    Parameters
    ----------
    time : [s, or the system's unit of time]
    kind : grazing, degenerate thresholds (several masses reach their static bounds at once),
        two-fold, fold, or the name of another event
    reason : sentence with the margin and the tolerance that it fails
    """

    time: float
    kind: str
    reason: str


@dataclass(frozen=True)
class QuantityTangent:
    """A scalar at the end of a run that is not part of the state, such as a contact force.

    Parameters
    ----------
    name, unit : such as `friction_force[0]` and N
    value : its value at the end
    by : (m,) its derivatives with respect to the directions
    """

    name: str
    unit: str
    value: float
    by: Floats


@dataclass(frozen=True)
class Tangents:
    """The final state of a run and its derivatives with respect to m directions.

    A direction is a component of the initial state or a parameter.

    Parameters
    ----------
    directions : (m,) names of the directions, such as `x0[2]` or `law.mu`
    start, end : times of the run
    final : (n,) state at `end`
    final_by : (n, m) derivatives of that state at fixed `end`; the derivative of a sticking
        velocity is zero
    rate : (n,) time derivative of the state just before `end`
    events : located events in order
    failures : times at which derivatives do not exist; after the first such time the arrays hold
        NaN in the affected directions
    quantities : other scalars at the end, with their derivatives
    units : {name: unit} of the components of the initial state, of the directions and of `time`;
        "" for a dimensionless one
    times : (k,) saved times, with both ends of the run; empty if no times were requested
    states, states_by : (k, n) states at these times, and (k, n, m) their derivatives
    """

    directions: tuple[str, ...]
    start: float
    end: float
    final: Floats
    final_by: Floats
    rate: Floats
    events: tuple[EventTangent, ...]
    failures: tuple[NotDifferentiable, ...] = ()
    quantities: tuple[QuantityTangent, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    times: Floats = field(default_factory=lambda: np.empty(0))
    states: Floats = field(default_factory=lambda: np.empty((0, 0)))
    states_by: Floats = field(default_factory=lambda: np.empty((0, 0, 0)))

    @property
    def order(self) -> tuple[str, ...]:
        """The labels of the events in their order."""
        return tuple(event.label for event in self.events)


@dataclass(frozen=True)
class Gradients:
    """Derivatives of k quantities with respect to m directions, by the adjoint equation.

    Parameters
    ----------
    of : (k,) names of the quantities: a component of the final state has the name of that component
        of the initial state; `event_time[j]` is the time of event j
    by : (k, m) derivatives
    run : the run, without derivatives (m = 0)
    directions, units : as in `Tangents`
    """

    of: tuple[str, ...]
    by: Floats
    run: Tangents
    directions: tuple[str, ...]
    units: Mapping[str, str]


class Differentiable(Protocol):
    """A system that supplies its variational equation and saltation matrices."""

    @property
    def start_names(self) -> tuple[str, ...]:
        """Names of the n components of the initial state, without time."""

    @property
    def start_scales(self) -> Floats:
        """Sizes (n,) of these components, up to a common factor, in their units."""

    def at_state(self, state: Floats) -> Differentiable:
        """Return the same system that starts at `state` (n,)."""

    def with_parameter(self, name: str, value: float) -> Differentiable:
        """Return the same system with another value of a parameter, such as `law.mu`."""

    def parameter(self, name: str) -> float:
        """Return the value of a parameter; for an unknown name ModelError gives the nearest one."""

    def tangents(
        self,
        method: Any,
        t_span: tuple[float, float],
        to: Sequence[str],
        save: Sequence[float] | Floats = (),
    ) -> Tangents:
        """Return the final state of a run and its derivatives.

        Parameters
        ----------
        method : method of the system; None for its default
        t_span : start and end of the run
        to : directions: `x0` for all components of the initial state, `x0[i]` for one, or names of
            parameters
        save : times at which states and their derivatives are saved too
        """


def times_of(save: Sequence[float] | Floats, start: float, end: float) -> Floats:
    """Return the saved times in order, with both ends of the run; empty if `save` is empty."""
    given = np.asarray(save, dtype=np.float64).ravel()
    if not given.size:
        return given
    if not (np.isfinite(given).all() and given.min() >= start and given.max() <= end):
        got, needs = f"times from {given.min():.9g} to {given.max():.9g}", "times within the run"
        why = f"the run goes from {start:.9g} to {end:.9g}."
        raise ModelError("tangents.save", got, needs, why, "leave out the times outside the run.")
    return np.unique(np.concatenate([[start, end], given]))
