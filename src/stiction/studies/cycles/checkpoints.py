"""The state of a branch of orbits between two steps, from which `continue_cycle` resumes.

It is text in JSON, in which every number keeps its last bit: a resumed branch is equal to an
undisturbed one. The system, the method and the period of the force are those of the first orbit.

A branch has two halves (`Half`), one in each direction of the parameter from the first orbit.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import check_arrays, like, refused, unpacking
from stiction.core.method import method_for
from stiction.core.tangents import EventTangent
from stiction.numerics.continuation import Place
from stiction.studies.cycles.bifurcations import Bifurcation
from stiction.studies.cycles.cycle import Cycle, period_of_part
from stiction.studies.cycles.shooting import Shooting
from stiction.studies.cycles.sliding import Break, Critical, SlidingOrbit

__all__ = ["Half", "pack_branch", "restore_branch"]

Floats = npt.NDArray[np.float64]

_NAME = "branch"
# arrays of the equations that change along a branch
_EQUATIONS = ("fractions", "sizes", "anchor", "flow", "scale")
_OF_SLIDING = ("sides", "sizes", "weights", "scale")


class Half:
    """The state of a branch in one direction.

    Parameters
    ----------
    given : the orbit at which the branch begins; the first of `cycles` may have other nodes
    problem, place : the equations, and the last point with its tangent
    cycles, bifurcations : those found so far, from the first orbit on
    reason : why the branch ended; "" before its end
    length : length of the next step
    fresh : whether the nodes were moved since the last step
    moved : number of orbits when the nodes, or the masses that always stick, were last moved
        because of a failed orbit
    """

    given: Cycle
    problem: Shooting
    place: Place[Floats]
    cycles: list[Cycle]
    bifurcations: list[Bifurcation]
    reason: str
    length: float
    fresh: bool
    moved: int


def pack_branch(halves: Sequence[Half], asked: list[Any]) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a checkpoint.

    Parameters
    ----------
    asked : the arguments of the branch
    """
    parameter, first = asked[0], halves[0].given
    entries = [
        {
            "cycles": [_cycle_entry(one, parameter, first) for one in half.cycles],
            "bifurcations": [_bifurcation_entry(b, parameter, first) for b in half.bifurcations],
            "equations": {name: getattr(half.problem, name).tolist() for name in _EQUATIONS},
            "place": [half.place.u.tolist(), half.place.tangent.tolist()],
            "loop": [half.reason, half.length, half.fresh, half.moved],
        }
        for half in halves
    ]
    return {_NAME: np.array(_text([_asked(asked, first), entries]))}


def restore_branch(halves: Sequence[Half], asked: list[Any], saved: Mapping[str, Any]) -> None:
    """Continue both halves of a branch from the arrays of a checkpoint.

    Raises
    ------
    StoreError : if the checkpoint is damaged, or belongs to another branch.

    Verified by: tests/unit/studies/test_branch_checkpoints.py::test_a_resumed_branch_is_the_same
    """
    check_arrays(saved, {_NAME: dataclasses.replace(like(np.array("")), dtype="U")})
    first = halves[0].given
    with unpacking():
        before, entries = json.loads(str(saved[_NAME]))
        if before != json.loads(_text(_asked(asked, first))):
            raise refused(_NAME, "another branch", "the same orbit, parameter, span and steps")
        for half, entry in zip(halves, entries, strict=True):
            made = _cycle_of(first, asked[0])
            half.cycles = [made(one) for one in entry["cycles"]]
            half.bifurcations = [_bifurcation_of(one, made) for one in entry["bifurcations"]]
            arrays: dict[str, Any] = {n: np.array(entry["equations"][n]) for n in _EQUATIONS}
            half.problem = dataclasses.replace(half.problem, **arrays)
            half.place = Place(*map(np.array, entry["place"]))
            half.reason, half.length, half.fresh, half.moved = entry["loop"]


def _text(entries: list[Any]) -> str:
    # numbers of NumPy, which JSON does not know
    return json.dumps(entries, default=lambda one: one.item())


def _asked(asked: list[Any], first: Cycle) -> list[Any]:
    return [*asked, first.nodes.tolist(), first.fractions.tolist(), first.period]


def _cycle_entry(cycle: Cycle, parameter: str, first: Cycle) -> dict[str, Any]:
    """Return an orbit in the types of JSON."""
    events = [[e.time, e.label, e.state.tolist(), e.time_by.tolist()] for e in cycle.events]
    multipliers = [[value.real, value.imag] for value in cycle.multipliers.tolist()]
    # at the end of a branch of doubled period, the orbit of half the period is reported
    halved = cycle.force_period != first.force_period
    numbers = [cycle.start, cycle.period, cycle.trivial, cycle.residual, cycle.iterations]
    return {
        "value": float(cycle.system.parameter(parameter)),
        "halved": halved,
        "numbers": numbers,
        "arrays": [cycle.state.tolist(), cycle.nodes.tolist(), cycle.fractions.tolist()],
        "order": cycle.order,
        "events": events,
        "multipliers": multipliers,
    }


def _cycle_of(first: Cycle, parameter: str) -> Callable[[dict[str, Any]], Cycle]:
    """Return the function that restores orbits."""

    def made(entry: dict[str, Any]) -> Cycle:
        start, period, trivial, residual, iterations = entry["numbers"]
        state, nodes, fractions = (np.array(values) for values in entry["arrays"])
        force = first.force_period
        return dataclasses.replace(
            first,
            system=first.system.with_parameter(parameter, entry["value"]),
            start=start,
            state=state,
            period=period,
            order=tuple(entry["order"]),
            events=tuple(
                EventTangent(time, label, np.array(at), np.array(by))
                for time, label, at, by in entry["events"]
            ),
            multipliers=np.array([complex(*pair) for pair in entry["multipliers"]]),
            trivial=trivial,
            residual=residual,
            iterations=iterations,
            nodes=nodes,
            fractions=fractions,
            force_period=period_of_part(force, 2) if entry["halved"] else force,
        )

    return made


def _bifurcation_entry(one: Bifurcation, parameter: str, first: Cycle) -> dict[str, Any]:
    """Return a bifurcation in the types of JSON."""
    equations = None
    if one.equations is not None:
        orbit, u = one.equations
        arrays = {name: getattr(orbit, name).tolist() for name in _OF_SLIDING}
        at, sides, what, turning = orbit.critical
        critical = [at, sides.tolist(), what, turning]
        equations = [orbit.breaks, critical, arrays, u.tolist()]
    return {
        "texts": [one.kind, one.before, one.after, one.parameter],
        "value": one.value,
        "cycle": _cycle_entry(one.cycle, parameter, first),
        "equations": equations,
    }


def _bifurcation_of(entry: dict[str, Any], made: Callable[[dict[str, Any]], Cycle]) -> Bifurcation:
    """Return the bifurcation of an entry in JSON; `made` restores its orbit."""
    kind, before, after, parameter = entry["texts"]
    cycle, equations = made(entry["cycle"]), None
    if entry["equations"] is not None:
        breaks, (at, sides, what, turning), lists, u = entry["equations"]
        arrays: dict[str, Any] = {name: np.array(values) for name, values in lists.items()}
        orbit = SlidingOrbit(
            tuple(Break(*one) for one in breaks),
            system=cycle.system,
            method=method_for(cycle.system, cycle.method),
            period=cycle.force_period,
            parameters=(parameter,),
            critical=Critical(at, np.array(sides), what, turning),
            **arrays,
        )
        equations = orbit, np.array(u)
    value = entry["value"]
    return Bifurcation(kind, value, cycle, tuple(before), tuple(after), parameter, equations)
