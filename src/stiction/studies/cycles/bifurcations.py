"""Bifurcations of periodic orbits: test functions of multipliers, and changes of the event order.

At a fold, a flip (period doubling) or a Neimark-Sacker bifurcation, a test function of the Floquet
multipliers mu_i changes its sign (without the trivial multiplier of an autonomous orbit):

    fold  prod_i (1 - mu_i),   flip  prod_i (1 + mu_i),   Neimark-Sacker  prod_(i<j) (1 - mu_i mu_j)

At a sliding bifurcation the order of events changes: between two events of one switching surface a
segment appears whose length grows from zero. The modes before, between and after these two events
determine the kind of the sliding bifurcation (`_kind`). `branch` locates the bifurcations.

Source: Kuznetsov 2004, section 10.2 (test functions); di Bernardo et al. 2008, chapter 8.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.studies.cycles.cycle import Cycle, states_at

__all__ = [
    "TESTS",
    "Bifurcation",
    "Merged",
    "change_of_order",
    "hopf_bifurcation",
    "merged_events",
    "same_order",
    "verified",
]

# number of states of an orbit from which its amplitude is computed
_SAMPLES = 16
# labels of events of a flow, such as "cross 1: + to -", and of a chain, such as "slip+ 2"
_LABEL = re.compile(r"(?:cross|slide|leave) (\d+): (\S+) to (\S+)")
_BEGUN = re.compile(r"(slip\+|slip-|stick) (\d+)")
_STICK = "slide"
_MODES = {"slip+": "+", "slip-": "-", "stick": _STICK}
# least imaginary part of a complex pair of multipliers; tolerances for a multiplier on the unit
# circle, and for the multiplier 1 at a fold
_COMPLEX, _ON_CIRCLE, _ON_FOLD = 1e-7, 1e-4, 1e-5


@dataclass(frozen=True, eq=False)
class Bifurcation:
    """A bifurcation on a branch of periodic orbits.

    Parameters
    ----------
    kind : `fold`, `flip`, `Neimark-Sacker`, `Hopf`; `Hopf-like` if the amplitude vanishes in
        proportion to the parameter; `crossing-sliding`, `grazing-sliding`, `switching-sliding`,
        `adding-sliding`; `grazing`, `codimension-2 intersection`, or `change of the order of
        events`; `jump` if the orbits on both sides differ by a finite amount, so that a step leads
        to another branch
    value : value of the parameter at the bifurcation
    cycle : the orbit at the bifurcation, or the nearest orbit with the order of events of one side
    before, after : orders of events on both sides along the branch
    parameter : name of the parameter
    equations : equations of an orbit at a sliding bifurcation and their solution, from which
        `continue_cycle` follows the bifurcation; None if they were not solved
    """

    kind: str
    value: float
    cycle: Cycle
    before: tuple[str, ...]
    after: tuple[str, ...]
    parameter: str = ""
    equations: tuple[Any, npt.NDArray[np.float64]] | None = None


def same_order(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two orders of events are equal up to a cyclic shift."""
    if len(one) != len(other):
        return False
    twice = [*one, *one]
    return not one or any(twice[k : k + len(one)] == list(other) for k in range(len(one)))


def _fold(cycle: Cycle) -> float:
    return float(np.prod(1.0 - cycle.multipliers).real)


def _flip(cycle: Cycle) -> float:
    return float(np.prod(1.0 + cycle.multipliers).real)


def _neimark_sacker(cycle: Cycle) -> float:
    pairs: list[npt.NDArray[np.complex128]] = [
        1.0 - a * b for a, b in itertools.combinations(cycle.multipliers, 2)
    ]
    return float(np.prod(pairs).real) if pairs else 1.0


# {kind of bifurcation: test function of an orbit that changes its sign there}
TESTS = {"fold": _fold, "flip": _flip, "Neimark-Sacker": _neimark_sacker}


def verified(kind: str, cycle: Cycle) -> bool:
    """Return whether an orbit at a zero of a test function has multipliers on the unit circle.

    The Neimark-Sacker test function vanishes also for two real multipliers whose product is 1,
    which is not a bifurcation.
    """
    values = cycle.multipliers
    if kind == "fold":
        return bool(np.abs(values - 1.0).min() < _ON_FOLD)
    if kind == "flip":
        return bool(np.abs(values + 1.0).min() < _ON_CIRCLE)
    critical = np.abs(np.abs(values) - 1.0) < _ON_CIRCLE
    return bool((critical & (np.abs(values.imag) > _COMPLEX)).any())


class Merged(NamedTuple):
    """Two consecutive events of a contact that merge or vanish at a sliding bifurcation.

    Attributes
    ----------
    kind : kind of the bifurcation
    contact : number of the contact or switching surface
    before, between, after : its modes before, between and after the events: `+`, `-`, `slide`
    label : label of the single event on the other side; None if both events vanish
    time, state : mean of the times and states of both events
    """

    kind: str
    contact: str
    before: str
    between: str
    after: str
    label: str | None
    time: float
    state: npt.NDArray[np.float64]


def merged_events(one: Cycle, other: Cycle) -> Merged | str:
    """Return the events that merge between two orbits next to a bifurcation, or only its kind.

    Candidates are the pairs of consecutive events whose removal turns the longer order of events
    into the shorter one; all pairs, if there is no such pair because several pairs merge at once.
    The pair with the smallest distance in time is selected.

    Source: di Bernardo et al. 2008, section 8.1.
    Verified by: tests/exact/test_cycle_branches.py::test_kinds_of_changes
    """
    more, fewer = (one, other) if len(one.events) >= len(other.events) else (other, one)
    size, unknown = len(more.events), "change of the order of events"
    if size < 2:
        return unknown
    times = np.array([event.time for event in more.events])
    gaps = np.diff(np.append(times, times[0] + more.period))
    alike = [k for k in range(size) if same_order(_without(more.order, k), fewer.order)]
    k = min(alike or range(size), key=lambda k: gaps[k])
    first, second = _change(more.order, k), _change(more.order, (k + 1) % size)
    if first is None or second is None:
        return unknown
    if first.contact != second.contact:
        return "codimension-2 intersection"
    kind = _kind(first, second)
    label = _merged_label(first, second, more.order[(k + 1) % size])
    time = float(times[k] + 0.5 * gaps[k])
    if time > more.start + more.period:
        time -= more.period
    pair = more.events[k], more.events[(k + 1) % size]
    state = 0.5 * (pair[0].state + pair[1].state)
    return Merged(kind, first.contact, first.before, first.after, second.after, label, time, state)


def change_of_order(one: Cycle, other: Cycle) -> str:
    """Return the kind of bifurcation between two orbits next to it on both sides."""
    merged = merged_events(one, other)
    return merged if isinstance(merged, str) else merged.kind


def _kind(first: _Change, second: _Change) -> str:
    """Return the kind of bifurcation at which two consecutive events of a contact merge.

    With the free modes a and b, and s for sliding, the modes before, between and after are

        a s a  grazing-sliding      a s b  crossing-sliding      s a s  adding-sliding
        a b s or s a b  switching-sliding                        a b a  grazing
    """
    if first.after == second.before == _STICK:
        return "grazing-sliding" if first.before == second.after else "crossing-sliding"
    if first.before == second.after == _STICK:
        return "adding-sliding"
    return "switching-sliding" if _STICK in (first.before, second.after) else "grazing"


def _without(order: Sequence[str], k: int) -> list[str]:
    """Return the order of events after the events k and k + 1 have merged."""
    first, second = _change(order, k), _change(order, (k + 1) % len(order))
    if first is None or second is None or first.contact != second.contact:
        return list(order)
    label = _merged_label(first, second, order[(k + 1) % len(order)])
    rest = [order[(k + 2 + j) % len(order)] for j in range(len(order) - 2)]
    return rest if label is None else [label, *rest]


def _merged_label(first: _Change, second: _Change, second_label: str) -> str | None:
    """Return the label of the event into which two events merge; None if the mode persists."""
    a, b = first.before, second.after
    if a == b:
        return None
    if _LABEL.fullmatch(second_label) is None:
        # the label of an event of a chain holds the new mode, which is that of the second event
        return second_label
    kind = "slide" if b == _STICK else "leave" if a == _STICK else "cross"
    return f"{kind} {first.contact}: {a} to {b}"


class _Change(NamedTuple):
    """An event as a change of the mode of a contact: `+` or `-` for slip, `slide` for stick."""

    contact: str
    before: str
    after: str


def _change(order: Sequence[str], k: int) -> _Change | None:
    """Return the change of mode at an event; None if its label does not give it.

    The label of an event of a flow holds both modes. The label of an event of a chain holds the new
    mode; the mode before is the new mode of the previous event of the same contact.
    """
    crossing = _LABEL.fullmatch(order[k])
    if crossing is not None:
        return _Change(*crossing.groups())
    begun = _BEGUN.fullmatch(order[k])
    if begun is None:
        return None
    for back in range(1, len(order)):
        last = _BEGUN.fullmatch(order[k - back])
        if last is not None and last[2] == begun[2]:
            return _Change(begun[2], _MODES[last[1]], _MODES[begun[1]])
    return None


def hopf_bifurcation(
    cycles: Sequence[Cycle],
    sizes: npt.NDArray[np.float64],
    parameter: str,
    pair: tuple[Cycle, Cycle],
) -> Bifurcation | None:
    """Return the Hopf bifurcation at which the amplitude of orbits vanishes.

    At a Hopf bifurcation the parameter is a smooth function of the square of the amplitude. If the
    flow is not smooth at the equilibrium, it may be a smooth function of the amplitude itself; the
    bifurcation is then "Hopf-like". A parabola through three orbits extrapolates the parameter to
    the amplitude zero, in that variable in which the orbits lie nearer to a line.

    Parameters
    ----------
    cycles : the orbits in the order of the branch; the last three are used
    sizes : (n,) sizes of the states
    pair : the last two orbits; the second one may lie beyond the bifurcation

    Returns
    -------
    None if the amplitude does not decrease.

    Source: Simpson 2018, Physics Letters A 382, 2439 (Hopf-like bifurcations).
    """
    cycles = cycles[-3:]
    amplitudes, fractions = [], np.arange(_SAMPLES) / _SAMPLES
    # samples begin at the same event, so that similar orbits have similar samples; orbits that
    # meet no surface begin where their phase condition lets them begin
    label = cycles[-1].order[:1]
    for cycle in cycles:
        alike = [event.time for event in cycle.events if event.label in label]
        first = alike[0] / cycle.period if alike else cycle.fractions[0]
        span = states_at(cycle, fractions + first) / sizes
        amplitudes.append(float(np.linalg.norm(span - span.mean(axis=0))))
    if len(amplitudes) < 2 or not amplitudes[-1] ** 2 < 0.9 * amplitudes[0] ** 2:
        return None
    values = np.array([one.system.parameter(parameter) for one in cycles])
    x = np.array(amplitudes) / amplitudes[0]
    power = min((2, 1), key=lambda power: _bend(x**power, values))
    value = float(np.polyfit(x**power, values, len(x) - 1)[-1])
    kind = "Hopf" if power == 2 else "Hopf-like"
    last, new = pair
    return Bifurcation(kind, value, last, last.order, new.order, parameter)


def _bend(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> float:
    """Return the largest change of the slope dy/dx over the largest slope; 0 for two points."""
    slopes = np.diff(y) / np.diff(x)
    largest = float(np.abs(slopes).max())
    return float(np.ptp(slopes)) / largest if largest > 0.0 else 0.0
