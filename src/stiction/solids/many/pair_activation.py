"""Pair activation: contacts among many bodies that start during a run.

If the boxes of two bodies come within reach in a step, the step is repeated from the last accepted
state, with the pair. Earlier results stay valid: the two bodies were too far apart for tractions,
so that the new pair has no friction history.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import Form, check_arrays, refused
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.model import ClosestPoints, ContactPass, History
from stiction.solids.contact.partners import Boundary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stiction.solids.equilibria.history import Energies, Recorder, Row
    from stiction.solids.equilibria.problem import Problem, State, Trial
    from stiction.solids.model import Assembled

__all__ = [
    "activated_pairs",
    "extend_records",
    "saved_pairs",
    "with_activated_pairs",
    "with_new_passes",
]

Floats = npt.NDArray[np.float64]
ActivatedPair = tuple[int, int, int]


def activated_pairs(problem: Problem, before: Floats, after: Floats) -> list[ActivatedPair]:
    """Return the pairs that a step activates: number of the contact, and of two boundaries.

    Parameters
    ----------
    before, after : (nodes, d) unknowns at both ends of a step [m]
    """
    if not problem.strays:
        return []
    ends = problem.places(before), problem.places(after)
    return [
        (g, i, j)
        for g, strays in enumerate(problem.strays)
        for i, j in strays.activated_pairs(*ends)
    ]


def with_activated_pairs(assembled: Assembled, pairs: Sequence[ActivatedPair]) -> Assembled:
    """Return the parts of a solid with more pairs, whose contacts come after all others.

    Pairs of boundaries that a named contact contains add no contact.
    """
    watched, contacts = list(assembled.watched), list(assembled.pairs)
    own = {_key(c.boundary, c.partner) for c in contacts if isinstance(c.partner, Boundary)}
    for g, i, j in pairs:
        near = watched[g]
        sides = near.boundaries[i], near.boundaries[j]
        if _key(*sides) not in own:
            contact = dataclasses.replace(near.template, boundary=sides[0], partner=sides[1])
            contacts.append(contact)
        watched[g] = near._replace(pairs=near.pairs | {(i, j)})
    return dataclasses.replace(assembled, contacts=contacts, watched=tuple(watched))


def _key(one: Boundary, other: Boundary) -> frozenset[tuple[int, str]]:
    return frozenset(((one.body, one.name), (other.body, other.name)))


def with_new_passes(
    problem: Problem, state: State, trial: Trial, energy: Energies
) -> tuple[State, Trial, Energies]:
    """Return the last accepted state, its trial and its energies, with the new passes.

    The energy that a law with a tail stores in a pair at activation counts as work.
    """
    known = len(state.founds)
    x, residual = problem.places(state.u), np.zeros_like(trial.residual)
    attraction = problem.assembled.attraction.at(state.time)
    founds: list[ClosestPoints] = []
    histories: list[History] = []
    outs: list[Floats] = []
    stored = 0.0
    for p in problem.passes[known:]:
        closest, free = p.project(x, None), np.full(p.count, -1)
        out = p.evaluate(
            x,
            closest,
            p.empty_history(),
            free,
            with_friction=False,
            attraction=attraction,
            residual=residual,
            values=None,
        )
        founds.append(closest)
        histories.append(p.committed(out, p.empty_history()))
        outs.append(out)
        stored += p.energy_fraction * float(out[:, k.POTENTIAL].sum())
    if not problem.unknowns.plain:
        residual = problem.unknowns.forces(residual)
    more = len(problem.assembled.pairs) - len(energy.heat)
    return (
        state._replace(founds=(*state.founds, *founds), histories=(*state.histories, *histories)),
        trial._replace(
            residual=trial.residual + residual,
            outs=(*trial.outs, *outs),
            founds=(*trial.founds, *founds),
        ),
        energy._replace(
            adhesive=energy.adhesive + stored,
            work=energy.work + stored,
            heat=(*energy.heat, *[0.0] * more),
        ),
    )


def extend_records(record: Recorder, known: int) -> None:
    """Extend earlier records by new passes, which had no tractions before their activation.

    Earlier gaps are infinite. Places are those of another pass over the same boundary, NaN without
    one.

    Parameters
    ----------
    known : how many passes there were
    """
    problem = record.problem
    new = problem.passes[known:]
    contacts = len(problem.assembled.pairs)

    def filled(row: Row) -> Row:
        heat = (*row.energy.heat, *[0.0] * (contacts - len(row.energy.heat)))
        energy = row.energy._replace(heat=heat)
        points = {
            name: np.concatenate([values, *(_before(problem, p, known, name, values) for p in new)])
            for name, values in row.points.items()
        }
        return row._replace(points=points, energy=energy)

    last = record.last
    record.path = [filled(row) for row in record.path]
    rows = [filled(row) for row in record.rows]
    if last is not None:
        same = [i for i, row in enumerate(record.rows) if row is last]
        record.last = rows[same[0]] if same else filled(last)
    record.rows = rows
    none = np.zeros(problem.dim)
    for i in set(problem.contact_of_pass[known:]):
        # no forces before the activation
        record.balances[i] = [(none, none) for _ in record.path]
    extremes = record.extremes
    if extremes.pulled.size:
        more = np.zeros(sum(p.count for p in new), dtype=bool)
        extremes.pulled = np.concatenate([extremes.pulled, more])


def _before(problem: Problem, new: ContactPass, known: int, name: str, values: Floats) -> Floats:
    """Return the record of a new pass in a step before its activation."""
    if name == "gap":
        return np.full(new.count, np.inf)
    if not name.startswith("surface"):
        return np.zeros(new.count)
    first = 0
    for p in problem.passes[:known]:
        if p.own.nodes is new.own.nodes or np.array_equal(p.own.nodes, new.own.nodes):
            return np.asarray(values[first : first + p.count])
        first += p.count
    return np.full(new.count, np.nan)


def saved_pairs(
    saved: Mapping[str, npt.NDArray[np.int64]], assembled: Assembled
) -> list[ActivatedPair]:
    """Return the pairs that were active in a checkpoint.

    Raises
    ------
    StoreError : if they are no boundaries of the contacts among many.
    """
    if "joined" not in saved:
        return []
    numbers = saved["joined"]
    check_arrays({"joined": numbers}, {"joined": Form(("pairs", 3), "i8", least=0)})
    pairs = [(int(g), int(i), int(j)) for g, i, j in numbers]
    watched = assembled.watched
    known = [len(near.boundaries) for near in watched]
    for n, (g, i, j) in enumerate(pairs):
        exists = g < len(known) and i < j < known[g]
        if not exists or (i, j) in watched[g].pairs or (g, i, j) in pairs[:n]:
            raise refused("joined", f"({g}, {i}, {j})", "two boundaries of a contact among many")
    return pairs
