"""Pair activation: new contact pairs among many bodies during a run.

If the bounding boxes of two bodies come within reach in a step, the step is repeated from the last
accepted state with this pair. Earlier results stay valid, because the two bodies were too far apart
for tractions; the new pair has no friction history. `equilibria.load_steps.LoadStepper` calls
`activated_pairs` after each solved step; if there are any, it calls `with_activated_pairs`,
`with_new_passes` and `extend_records` in this order and repeats the step. A pair is a triple
(g, i, j): number of the `ContactAmong`, and numbers of two of its boundaries.
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

    from stiction.solids.equilibria.history import Energies, Recorder, Sample
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
    """Return the pairs that a step activates.

    Parameters
    ----------
    before, after : (nodes, d) unknowns at both ends of a step [m]

    Returns
    -------
    Numbers (g, i, j): of the `ContactAmong`, and of its two boundaries.
    """
    if not problem.unpaired:
        return []
    ends = problem.positions(before), problem.positions(after)
    return [
        (g, i, j)
        for g, unpaired in enumerate(problem.unpaired)
        for i, j in unpaired.activated_pairs(*ends)
    ]


def with_activated_pairs(assembled: Assembled, pairs: Sequence[ActivatedPair]) -> Assembled:
    """Return the solid with the contacts of further pairs, numbered after all others.

    A pair that has a named contact gets no second one.
    """
    pair_searches, contacts = list(assembled.pair_searches), list(assembled.pairs)
    own = {_key(c.boundary, c.partner) for c in contacts if isinstance(c.partner, Boundary)}
    for g, i, j in pairs:
        search = pair_searches[g]
        sides = search.boundaries[i], search.boundaries[j]
        if _key(*sides) not in own:
            contact = dataclasses.replace(search.template, boundary=sides[0], partner=sides[1])
            contacts.append(contact)
        pair_searches[g] = search._replace(pairs=search.pairs | {(i, j)})
    return dataclasses.replace(assembled, contacts=contacts, pair_searches=tuple(pair_searches))


def _key(one: Boundary, other: Boundary) -> frozenset[tuple[int, str]]:
    """Return a pair of boundaries without their order."""
    return frozenset(((one.body, one.name), (other.body, other.name)))


def with_new_passes(
    problem: Problem, state: State, trial: Trial, energy: Energies
) -> tuple[State, Trial, Energies]:
    """Return the last accepted state, its trial and its energies, extended by the new passes.

    A normal law with an infinite range has stored energy in a pair at its activation. This energy
    counts as external work.
    """
    known = len(state.closest_points)
    x, residual = problem.positions(state.u), np.zeros_like(trial.residual)
    attraction = problem.assembled.attraction.at(state.time)
    projections: list[ClosestPoints] = []
    histories: list[History] = []
    point_values: list[Floats] = []
    stored = 0.0
    # closest points, history and record of each new pass, with its normal forces alone
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
        projections.append(closest)
        histories.append(p.committed(out))
        point_values.append(out)
        stored += p.energy_fraction * float(out[:, k.POTENTIAL].sum())
    if not problem.unknowns.is_identity:
        residual = problem.unknowns.forces(residual)
    more = len(problem.assembled.pairs) - len(energy.heat)
    return (
        state._replace(
            closest_points=(*state.closest_points, *projections),
            histories=(*state.histories, *histories),
        ),
        trial._replace(
            residual=trial.residual + residual,
            point_values=(*trial.point_values, *point_values),
            closest_points=(*trial.closest_points, *projections),
        ),
        energy._replace(
            adhesive=energy.adhesive + stored,
            work=energy.work + stored,
            heat=(*energy.heat, *[0.0] * more),
        ),
    )


def extend_records(record: Recorder, known: int) -> None:
    """Extend earlier records by new passes, which had no tractions before their activation.

    Earlier gaps are infinite. Earlier positions are copied from another pass over the same
    boundary; they are NaN if there is none.

    Parameters
    ----------
    record : extended in place
    known : number of passes before the activation
    """
    problem = record.problem
    new = problem.passes[known:]
    contacts = len(problem.assembled.pairs)

    def filled(row: Sample) -> Sample:
        heat = (*row.energy.heat, *[0.0] * (contacts - len(row.energy.heat)))
        energy = row.energy._replace(heat=heat)
        points = {
            name: np.concatenate([values, *(_before(problem, p, known, name, values) for p in new)])
            for name, values in row.points.items()
        }
        return row._replace(points=points, energy=energy)

    last = record.last
    record.path = [filled(row) for row in record.path]
    samples = [filled(row) for row in record.samples]
    if last is not None:
        same = [i for i, row in enumerate(record.samples) if row is last]
        record.last = samples[same[0]] if same else filled(last)
    record.samples = samples
    none = np.zeros(problem.dim)
    for i in set(problem.contact_of_pass[known:]):
        # no forces before the activation
        record.contact_forces[i] = [(none, none) for _ in record.path]
    extremes = record.extremes
    if extremes.in_tension.size:
        more = np.zeros(sum(p.count for p in new), dtype=bool)
        extremes.in_tension = np.concatenate([extremes.in_tension, more])


def _before(problem: Problem, new: ContactPass, known: int, name: str, values: Floats) -> Floats:
    """Return (p,) the variable `name` of a new pass in a step before its activation."""
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
    StoreError : if a pair is not of two boundaries of a `ContactAmong`, or is there twice.
    """
    if "joined" not in saved:
        return []
    numbers = saved["joined"]
    check_arrays({"joined": numbers}, {"joined": Form(("pairs", 3), "i8", least=0)})
    pairs = [(int(g), int(i), int(j)) for g, i, j in numbers]
    pair_searches = assembled.pair_searches
    known = [len(search.boundaries) for search in pair_searches]
    for n, (g, i, j) in enumerate(pairs):
        exists = g < len(known) and i < j < known[g]
        if not exists or (i, j) in pair_searches[g].pairs or (g, i, j) in pairs[:n]:
            raise refused("joined", f"({g}, {i}, {j})", "two boundaries of a contact among many")
    return pairs
