"""Blocks of a study: pairs of strings that `Characteristics` solves in one call.

A block is a list of systems, its members, that differ in a few numbers and are solved together.
Results and audit equal those of single runs; `core.block` defines blocks. A study calls
`Characteristics.blocks`, which returns `blocks_of`. The contact paths s1(t), s2(t) of the members
are stacked in arrays (`PathArrays`), integrated with the step of the method and, for the check
`converged`, with twice the step, and then evaluated for energies and fields.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.block import Block, Energies, Solve, ledger_of
from stiction.core.ledger import COLUMNS
from stiction.core.run import Request
from stiction.errors import ModelError
from stiction.numerics.jit import mode
from stiction.rods.strings.characteristics import (
    AGREE,
    Path,
    alike_mobilities,
    gauss_points,
    parameters_of,
    strings_of,
    twin_of,
)
from stiction.rods.strings.model import RollingStrings
from stiction.rods.strings.outcome import LEDGER_LIMIT, grid
from stiction.rods.strings.state import Contact, Cubic, Moment, numbers_of

if TYPE_CHECKING:
    from stiction.rods.methods import Characteristics
    from stiction.rods.strings.blocks.member_kernels import Fields, PathArrays

__all__ = ["blocks_of"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
FieldPath = tuple[str | int, ...]

# fields of `RollingStrings` that do not change the initial waves
_OF_CONTACT = ("F", "G1", "G2", "rolling_resistance")
_FIELDS = ("u", "v", "u_t", "v_t")
_STATS = ("steps", "corners_met", "steps_of_history")
# bytes of the arrays of one call
_BUDGET = 64 << 20
# limit of steps tried over max_steps; a single run, of several calls, may try a few more
_MOST_TRIES = 3.5


def blocks_of(
    system: RollingStrings,
    method: Characteristics,
    request: Request,
    paths: Sequence[FieldPath],
    names: Sequence[str],
) -> Solve | None:
    """Return a function that solves many pairs of strings that differ at `paths`.

    It takes one list of values per path. None is returned if the system, a path or a name is not
    supported.

    Results equal those of `solve_strings` bitwise.

    Parameters
    ----------
    paths : varied fields: numbers of the strings, or of their shapes
    names : requested results, such as "final.s1"

    Verified by: tests/unit/rods/strings/blocks/test_members.py::test_the_same_as_single_runs
    """
    usual = type(system) is RollingStrings and request.checkpoint is None and mode() == "compiled"
    if not usual or not all(_is_number(system, path) for path in paths):
        return None
    known = {f"final.{name}" for name in ("s1", "s2", *_FIELDS)}
    known |= {f"energy.{name}" for name in COLUMNS}
    known |= {f"stats.{name}" for name in ("events", *_STATS)}
    known |= {
        f"audit.{name}" for name in ("contact_subsonic", "contact_velocity_unique", "ledger_closes")
    }
    known |= {"audit.contact_inside"} if system.ends == "fixed" else set()
    known |= {"audit.converged", "agrees_until"} if method.check else set()
    if not all(name in known or name.startswith("events.") for name in names):
        return None
    return _BlockSolver(system, method, request, paths, names).solve


def _is_number(system: RollingStrings, path: FieldPath) -> bool:
    """Return whether the field at this path is a number that may differ between members."""
    owner: Any = system
    for step in path:
        if not (isinstance(step, str) and dataclasses.is_dataclass(owner)) or step == "nodes":
            return False
        owner = getattr(owner, step, None)
    return isinstance(owner, int | float) and not isinstance(owner, bool)


class _BlockSolver:
    """Solves pairs of strings that differ in a few numbers."""

    def __init__(
        self,
        system: RollingStrings,
        method: Characteristics,
        request: Request,
        paths: Sequence[FieldPath],
        names: Sequence[str],
    ) -> None:
        self.system, self.method, self.request, self.paths = system, method, request, paths
        self.fields = any(name.removeprefix("final.") in _FIELDS for name in names)
        self.methods = [method]
        if method.check:
            self.methods.append(twin_of(method))
        # initial waves that are the same for all members are computed once
        self.same_waves = all(path[0] in _OF_CONTACT for path in paths)
        self.first: dict[int, Path] = {}

    def solve(self, columns: Sequence[Array]) -> Block:
        """Return the results of all members; a column contains the values at one path."""
        count = len(columns[0])
        members = [self._member([c[k].item() for c in columns]) for k in range(count)]
        good = [k for k, one in enumerate(members) if one is not None]
        made = _empty(count)
        with np.errstate(all="ignore"):
            begin, width = 0, 1
            while begin < len(good):
                positions = good[begin : begin + width]
                group = [one for one in (members[k] for k in positions) if one is not None]
                part, size = self._part(group)
                _store(made, np.array(positions), part)
                begin, width = begin + width, max(1, _BUDGET // size)
        return made

    def _member(self, values: Sequence[Any]) -> RollingStrings | None:
        """Return the strings with these values; None if they are invalid."""
        made: Any = self.system
        try:
            for path, value in zip(self.paths, values, strict=True):
                made = _with_value(made, path, value)
            self.method.check_step(made)
        except ModelError:
            return None
        return None if made.drag > 0.0 else made

    def _part(self, group: Sequence[RollingStrings]) -> tuple[Block, int]:
        """Solve some members; return their results, and the bytes per member."""
        from stiction.rods.strings.blocks.member_kernels import evaluate_strings

        m, times = len(group), self.request.save.size
        batches = [self._integrated(group, k) for k in range(len(self.methods))]
        seen = self._fields(group, times)
        identical = np.array([one.identical for one in group], dtype=np.int64)
        evaluate_strings(batches[0], *gauss_points(), identical, seen)
        size = sum(a.nbytes for batch in batches for a in batch) // m
        return self._block(group, batches, seen), size

    def _integrated(self, group: Sequence[RollingStrings], k: int) -> PathArrays:
        """Integrate all paths, with the step of the method (k = 0) or twice that (k = 1)."""
        from stiction.rods.strings import characteristics_kernels as kernels
        from stiction.rods.strings.blocks.member_kernels import integrate_strings

        method = self.methods[k]
        paths = [self._path(one, k) for one in group]
        made = _stacked(paths)
        if self.same_waves:
            for b, one in enumerate(group):
                size = made.parameters[b].size
                made.strings[b], made.parameters[b] = strings_of(one), parameters_of(one, method)[0]
                made.parameters[b].size = size
        targets = paths[0].targets
        integrate_strings(targets, method.max_steps, made)
        while (made.progress["flag"] == kernels.FULL).any():
            made = _with_twice_the_room(made)
            integrate_strings(targets, method.max_steps, made)
        return made

    def _path(self, one: RollingStrings, k: int) -> Path:
        """Return the initial arrays of a member for method k, shared if all waves are equal."""
        if not self.same_waves:
            return Path(one, self.methods[k], self.request)
        if k not in self.first:
            self.first[k] = Path(one, self.methods[k], self.request)
        return self.first[k]

    def _fields(self, group: Sequence[RollingStrings], times: int) -> Fields:
        """Return arrays for energies and fields of a group of strings."""
        from stiction.rods.strings.blocks.member_kernels import Fields

        shape = len(group), 2, self.system.nodes if self.fields else 0
        x, start = np.zeros(shape), np.zeros(shape[:2])
        for b, one in enumerate(group if self.fields else ()):
            for i, shape_of, at in ((0, one.u0, one.s1), (1, one.v0, one.s2)):
                x[b, i] = grid(one, i)
                if shape_of is not None:
                    value = shape_of.value(np.array([at]), one.lengths[i], one.ends)
                    start[b, i] = float(value[0])
        energy, product = np.zeros((2, len(group), times, 2))
        both, place, rate = np.zeros((len(group), times)), np.zeros(shape), np.zeros(shape)
        return Fields(energy, product, both, int(self.fields), x, start, place, rate)

    def _block(
        self, group: Sequence[RollingStrings], batches: Sequence[PathArrays], seen: Fields
    ) -> Block:
        """Return audit verdicts and named results of the members."""
        from stiction.rods.strings import characteristics_kernels as kernels

        path, start = batches[0], self.request.t_start
        samples, now = path.samples, path.progress
        total = seen.energy.sum(axis=2)
        # kinetic and elastic energy, no work and no viscous heat; K - U is half the integral of R L
        sums = np.zeros((*total.shape, 4))
        sums[:, :, 0] = 0.5 * total + 0.25 * seen.product.sum(axis=2)
        sums[:, :, 1] = total - sums[:, :, 0]
        energy = ledger_of(sums, samples["heat"][:, :, None].copy())
        values, holds = self._checks(path)
        values["ledger_closes"] = energy.imbalance_rel
        holds &= energy.imbalance_rel <= LEDGER_LIMIT
        for batch, method in zip(batches, self.methods, strict=True):
            most, progress = method.max_steps, batch.progress
            holds &= (progress["flag"] == kernels.REACHED) & (progress["steps"] < most)
            holds &= progress["tries"] <= _MOST_TRIES * most
            holds &= np.isfinite(numbers_of(batch.contact)).all(axis=1)
        if self.method.check:
            values["converged"] = _disagreement(group, path, batches[1])
            holds &= values["converged"] <= AGREE
        reached = samples["time"][:, -1] + start
        results = self._results(path, energy, seen)
        results |= {f"audit.{name}": value for name, value in values.items()}
        results["agrees_until"] = reached
        nothing = np.zeros(len(group), np.int64)
        results["stats.events"] = nothing
        results["stats.steps"] = now["steps"].copy()
        results["stats.corners_met"] = now["met"].copy()
        results["stats.steps_of_history"] = path.waves["count"].max(axis=1)
        return Block(holds, reached, nothing, energy.imbalance_rel, results)

    def _checks(self, path: PathArrays) -> tuple[dict[str, Floats], Flags]:
        """Return the values of the audit checks on the contact, and whether they hold."""
        now, ratio = path.progress, np.abs(path.strings["rate"]) / path.strings["speed"]
        last = ratio.max(axis=1) * np.abs(path.contact["velocity"])
        fast, alone = np.maximum(now["fastest"], last), now["alone"].copy()
        values = {"contact_subsonic": fast, "contact_velocity_unique": alone}
        if self.system.ends == "fixed":
            values["contact_inside"] = now["room"].copy()
        return values, np.asarray(alike_mobilities(path.strings) | (alone < 1.0))

    def _results(self, path: PathArrays, energy: Energies, seen: Fields) -> dict[str, Array]:
        """Return the named results at the end time."""
        last = path.samples[:, -1]
        results: dict[str, Array] = {"final.s1": last["s1"], "final.s2": last["s2"]}
        if self.fields:
            results |= {"final.u": seen.place[:, 0], "final.v": seen.place[:, 1]}
            results |= {"final.u_t": seen.rate[:, 0], "final.v_t": seen.rate[:, 1]}
        return results | energy.at_end()


def _with_value(owner: Any, path: FieldPath, value: Any) -> Any:
    """Return a copy of `owner` with another value at a path."""
    name = str(path[0])
    new = value if len(path) == 1 else _with_value(getattr(owner, name), path[1:], value)
    return dataclasses.replace(owner, **{name: new})


def _stacked(paths: Sequence[Path]) -> PathArrays:
    """Stack the arrays of paths that have not been integrated."""
    from stiction.rods.strings import characteristics_kernels as kernels
    from stiction.rods.strings.blocks.member_kernels import PathArrays

    m, room = len(paths), max(path.pair.cubics.shape[1] for path in paths)
    cubics, queue = Cubic.table((m, 4, room)), np.zeros((m, *paths[0].queue.shape), np.int64)
    numbers = numbers_of(cubics)
    for b, path in enumerate(paths):
        knots, tail = path.knots, int(path.pair.waves["tail"].max())
        numbers[b, :, :knots] = numbers_of(path.pair.cubics)[:, :knots]
        queue[b, :, :tail] = path.queue[:, :tail]

    def of(name: str) -> Any:
        arrays = [operator.attrgetter(name)(path) for path in paths]
        # the output keeps the struct type; np.stack alone gives elements without attributes
        return np.stack(arrays, out=np.empty((m, *arrays[0].shape), arrays[0].dtype))

    made = PathArrays(
        parameters=of("parameters")[:, 0],
        strings=of("pair.strings"),
        contact=of("contact")[:, 0],
        progress=of("progress")[:, 0],
        cubics=cubics,
        waves=of("pair.waves"),
        queue=queue,
        moments=Moment.table((m, 5)),
        incoming=np.zeros((m, 5, 4)),
        samples=Contact.table((m, paths[0].targets.size)),
    )
    # FULL: all are still to be integrated
    made.progress["flag"] = kernels.FULL
    return made


def _with_twice_the_room(batches: PathArrays) -> PathArrays:
    """Return the arrays with room for twice as many cubics."""
    members, _, room = batches.cubics.shape
    cubics = Cubic.table((members, 4, 2 * room - 1))
    numbers_of(cubics)[:, :, :room] = numbers_of(batches.cubics)
    return batches._replace(cubics=cubics)


def _disagreement(group: Sequence[RollingStrings], path: PathArrays, twin: PathArrays) -> Floats:
    """Return (b,) values of the check `converged`: differences from paths with twice the step."""
    lengths = np.array([one.lengths for one in group])
    one, two = path.samples, twin.samples
    differences = [
        np.abs(one[s] - two[s]) / lengths[:, None, i] for i, s in enumerate(("s1", "s2"))
    ]
    last, other = one["time"][:, -1], two["time"][:, -1]
    end = np.abs(last - other) / np.maximum(np.maximum(last, other), 1e-300)
    return np.asarray(np.maximum(np.maximum(*differences).max(axis=1), end))


def _empty(m: int) -> Block:
    """Return a block of m members without results."""
    return Block(
        np.zeros(m, bool), np.full(m, np.nan), np.zeros(m, np.int64), np.full(m, np.nan), {}
    )


def _store(whole: Block, positions: Array, part: Block) -> None:
    """Store the results of some members at their positions in the block."""
    pairs = [(whole.valid, part.valid), (whole.reached, part.reached)]
    pairs += [(whole.events, part.events), (whole.imbalance, part.imbalance)]
    results: Any = whole.results
    for name, values in part.results.items():
        if name not in results:
            results[name] = np.full((len(whole.valid), *values.shape[1:]), np.nan)
        pairs.append((results[name], values))
    for mine, theirs in pairs:
        mine[positions] = theirs
