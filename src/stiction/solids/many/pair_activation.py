"""Pairs of a contact among many that are found on the way: what a run knows of them from then on.

Where boxes of two bodies meet in a step, the step is taken again, from the last accepted state and
with the pair. Nothing of the run is lost by that: until then the two were too far apart to feel
each other, so that there was nothing to remember.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import Form, check_arrays, refused
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.model import ContactPass, Found, History
from stiction.solids.contact.partners import Boundary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stiction.solids.equilibria.history import Energies, Recorder, Sample
    from stiction.solids.equilibria.problem import Problem, State, Trial
    from stiction.solids.model import Assembled

__all__ = ["carried_over", "joined", "kept_pairs", "met", "told_before"]

Floats = npt.NDArray[np.float64]
Joined = tuple[int, int, int]


def met(problem: Problem, before: Floats, after: Floats) -> list[Joined]:
    """Return which contact among many, and which two of its boundaries, meet on a way.

    Parameters
    ----------
    before, after : (nodes, d) unknowns at both ends of a step [m]
    """
    if not problem.unpaired:
        return []
    ends = problem.positions(before), problem.positions(after)
    return [(g, i, j) for g, strays in enumerate(problem.unpaired) for i, j in strays.join(*ends)]


def joined(assembled: Assembled, pairs: Sequence[Joined]) -> Assembled:
    """Return the parts of a solid with more pairs, whose contacts come after all others.

    Boundaries that meet in a contact of their own are left to that.
    """
    watched, contacts = list(assembled.watched), list(assembled.pairs)
    own = {_key(c.boundary, c.partner) for c in contacts if isinstance(c.partner, Boundary)}
    for g, i, j in pairs:
        near = watched[g]
        sides = near.boundaries[i], near.boundaries[j]
        if _key(*sides) not in own:
            made = dataclasses.replace(near.like, boundary=sides[0], partner=sides[1])
            contacts.append(made)
        watched[g] = near._replace(pairs=near.pairs | {(i, j)})
    return dataclasses.replace(assembled, contacts=contacts, watched=tuple(watched))


def _key(one: Boundary, other: Boundary) -> frozenset[tuple[int, str]]:
    return frozenset(((one.body, one.name), (other.body, other.name)))


def carried_over(
    problem: Problem, state: State, trial: Trial, energy: Energies
) -> tuple[State, Trial, Energies]:
    """Return the last accepted state, and what was told of it, with the passes that are new.

    What a law with a tail stores in a pair when it joins is work that is done then.
    """
    known = len(state.closest_points)
    x, residual = problem.positions(state.u), np.zeros_like(trial.residual)
    attraction = problem.assembled.attraction.at(state.time)
    founds: list[Found] = []
    histories: list[History] = []
    outs: list[Floats] = []
    stored = 0.0
    for p in problem.passes[known:]:
        found, free = p.project(x, None), np.full(p.count, -1)
        out = p.evaluate(
            x,
            found,
            p.fresh(),
            free,
            rubs=False,
            attraction=attraction,
            residual=residual,
            values=None,
        )
        founds.append(found)
        histories.append(p.committed(out, p.fresh()))
        outs.append(out)
        stored += p.share * float(out[:, k.POTENTIAL].sum())
    if not problem.unknowns.is_identity:
        residual = problem.unknowns.forces(residual)
    more = len(problem.assembled.pairs) - len(energy.heat)
    return (
        state._replace(
            closest_points=(*state.closest_points, *founds),
            histories=(*state.histories, *histories),
        ),
        trial._replace(
            residual=trial.residual + residual,
            point_values=(*trial.point_values, *outs),
            closest_points=(*trial.closest_points, *founds),
        ),
        energy._replace(
            adhesive=energy.adhesive + stored,
            work=energy.work + stored,
            heat=(*energy.heat, *[0.0] * more),
        ),
    )


def told_before(record: Recorder, known: int) -> None:
    """Let rows tell of passes that are new: before they joined nothing acted there.

    Gaps are infinite then. Places are those that another pass over the same boundary told, NaN
    where there is none.

    Parameters
    ----------
    known : how many passes there were
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
    kept = [filled(row) for row in record.samples]
    if last is not None:
        same = [i for i, row in enumerate(record.samples) if row is last]
        record.last = kept[same[0]] if same else filled(last)
    record.samples = kept
    none = np.zeros(problem.dim)
    for i in set(problem.contact_of_pass[known:]):
        # until now neither felt the other
        record.contact_forces[i] = [(none, none) for _ in record.path]
    seen = record.extremes
    if seen.in_tension.size:
        more = np.zeros(sum(p.count for p in new), dtype=bool)
        seen.in_tension = np.concatenate([seen.in_tension, more])


def _before(problem: Problem, new: ContactPass, known: int, name: str, values: Floats) -> Floats:
    """Return what a row tells of a pass that was none yet."""
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


def kept_pairs(kept: Mapping[str, npt.NDArray[np.int64]], assembled: Assembled) -> list[Joined]:
    """Return the pairs that had joined when a checkpoint was made.

    Raises
    ------
    StoreError : if these are no boundaries of its contacts among many.
    """
    if "joined" not in kept:
        return []
    found = kept["joined"]
    check_arrays({"joined": found}, {"joined": Form(("pairs", 3), "i8", least=0)})
    pairs = [(int(g), int(i), int(j)) for g, i, j in found]
    watched = assembled.watched
    known = [len(near.boundaries) for near in watched]
    for n, (g, i, j) in enumerate(pairs):
        there = g < len(known) and i < j < known[g]
        if not there or (i, j) in watched[g].pairs or (g, i, j) in pairs[:n]:
            raise refused("joined", f"({g}, {i}, {j})", "two boundaries of a contact among many")
    return pairs
