"""Bifurcations of periodic orbits: test functions of multipliers, and changes of the event order.

A fold, a flip and a Neimark-Sacker bifurcation show in the multipliers. A sliding bifurcation shows
in the order of events: between two events of one surface an interval appears whose length grows
from zero. Which one it is follows from these two events.

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

from stiction.studies.cycles.cycle import Cycle

__all__ = [
    "TESTS",
    "Bifurcation",
    "Merged",
    "change_of_order",
    "merged_events",
    "same_order",
    "verified",
]

_LABEL = re.compile(r"(?:cross|slide|leave) (\d+): (\S+) to (\S+)")
_BEGUN = re.compile(r"(slip\+|slip-|stick) (\d+)")
_STICK = "slide"
_MODES = {"slip+": "+", "slip-": "-", "stick": _STICK}
# a pair that crosses the unit circle is complex by more than this
_COMPLEX, _ON_CIRCLE, _ON_FOLD = 1e-7, 1e-4, 1e-5


@dataclass(frozen=True, eq=False)
class Bifurcation:
    """A bifurcation on a branch of periodic orbits.

    Parameters
    ----------
    kind : `fold`, `flip`, `Neimark-Sacker`, `Hopf`; `Hopf-like` where the amplitude vanishes in
        proportion to the parameter; `crossing-sliding`, `grazing-sliding`, `switching-sliding`,
        `adding-sliding`; `grazing`, `codimension-2 intersection`, or `change of the order of
        events`
    value : of the parameter
    cycle : the orbit there, or as near as the order of events on one side allows
    before, after : orders of events on both sides along the branch
    parameter : name of the parameter
    equations : those of an orbit at a sliding bifurcation and their solution, from which
        `continue_cycle` follows it; None where they were not solved
    """

    kind: str
    value: float
    cycle: Cycle
    before: tuple[str, ...]
    after: tuple[str, ...]
    parameter: str = ""
    equations: tuple[Any, npt.NDArray[np.float64]] | None = None


def same_order(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two orders of events are the same but for the event they begin with."""
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


# test functions of an orbit, by the kind of bifurcation at which they change their sign
TESTS = {"fold": _fold, "flip": _flip, "Neimark-Sacker": _neimark_sacker}


def verified(kind: str, cycle: Cycle) -> bool:
    """Return whether the multipliers of an orbit at a zero of a test function are critical.

    A pair of real multipliers whose product is 1 is no Neimark-Sacker bifurcation.
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
    kind : of the bifurcation
    contact : the contact or surface
    before, between, after : its modes: `+`, `-`, `slide`
    label : of the event that is left on the other side; None where none is left
    time, state : mean of both events
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
    """Return the events that merge between two orbits next to a bifurcation, or its kind alone.

    Of the pairs without which the richer order of events becomes the other one, the closest pair
    counts; of all pairs if there is none, as where several pairs merge at once.

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
    label = _merged_label(first, second)
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
    if first.after == second.before == _STICK:
        return "grazing-sliding" if first.before == second.after else "crossing-sliding"
    if first.before == second.after == _STICK:
        return "adding-sliding"
    return "switching-sliding" if _STICK in (first.before, second.after) else "grazing"


def _without(order: Sequence[str], k: int) -> list[str]:
    """Return an order of events whose events k and k + 1 have merged."""
    first, second = _change(order, k), _change(order, (k + 1) % len(order))
    if first is None or second is None or first.contact != second.contact:
        return list(order)
    label = _merged_label(first, second)
    rest = [order[(k + 2 + j) % len(order)] for j in range(len(order) - 2)]
    return rest if label is None else [label, *rest]


def _merged_label(first: _Change, second: _Change) -> str | None:
    a, b = first.before, second.after
    if a == b:
        return None
    kind = "slide" if b == _STICK else "leave" if a == _STICK else "cross"
    return f"{kind} {first.contact}: {a} to {b}"


class _Change(NamedTuple):
    """An event as a change of the mode of a contact: `+` or `-` for slip, `slide` for stick."""

    contact: str
    before: str
    after: str


def _change(order: Sequence[str], k: int) -> _Change | None:
    """Return what an event changes; None where its label does not say that.

    A label of a flow holds both modes. One of a chain holds the mode that begins; the one before is
    that of the last event of the same contact.
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
