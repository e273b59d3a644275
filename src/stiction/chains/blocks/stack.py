"""Arrays of many chains that differ in a few parameters, with a leading axis of members.

A member is one of the chains. `stack_of` evaluates the derived arrays of `Chain` (masses, stick
bounds, loads) for all members at once; `blocks.event_driven` and `blocks.theta` solve them. A path
is the address of a field that differs: ("stiffness",) or ("mass", 2) in a chain, ("law", "mu") in
its law, ("load", "rate") in its load.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.chains.loads import Load, LoadSegments
from stiction.chains.model import Chain
from stiction.errors import ModelError
from stiction.laws.coulomb import Coulomb
from stiction.laws.friction import Friction

__all__ = ["Path", "Stack", "fits", "stack_of"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Path = tuple[str | int, ...]

# fields of a chain that may differ between members, and the rule for their numbers
_RULES = {
    "mass": "positive",
    "stiffness": "positive",
    "damping": "nonnegative",
    "gravity": "nonnegative",
    "x0": "finite",
    "v0": "finite",
    "normal_force": "nonnegative",
    "plate_stiffness": "nonnegative",
    "belt_speed": "finite",
    "plate_speed": "finite",
}
_SINGLE = ("gravity", "belt_speed", "plate_speed")
_OF_LOAD = ("time", "offset", "rate", "amplitude", "angular_frequency", "phase")


@dataclass(frozen=True, eq=False)
class Stack:
    """m chains of n masses; units and signs as in `Chain`.

    Parameters
    ----------
    chain : the common chain
    valid : (m,) whether the values of a member are valid; numbers of others are meaningless
    masses, load_weights, plate_springs, normal_forces, x_start, v_start : (m, n)
    mu_static, mu_kinetic : (m, n) coefficients of friction [1]
    link_stiffness, link_damping : (m, n + 1)
    belt_speed, plate_speed : (m,)
    load : its arrays have a leading axis of members
    """

    chain: Chain
    valid: Flags
    masses: Floats
    link_stiffness: Floats
    link_damping: Floats
    load_weights: Floats
    plate_springs: Floats
    normal_forces: Floats
    x_start: Floats
    v_start: Floats
    mu_static: Floats
    mu_kinetic: Floats
    belt_speed: Floats
    plate_speed: Floats
    load: LoadSegments

    @property
    def members(self) -> int:
        """Number of chains."""
        return len(self.masses)

    @property
    def stick_bound(self) -> Floats:
        """(m, n) static bound of the friction force of each contact [N]."""
        return self.mu_static * self.normal_forces

    def part(self, rows: slice) -> Stack:
        """Return a part of the chains."""
        fields = [f.name for f in dataclasses.fields(self) if f.name not in ("chain", "load")]
        load = {name: getattr(self.load, name)[rows] for name in _OF_LOAD}
        some = {name: getattr(self, name)[rows] for name in fields}
        return dataclasses.replace(self, load=dataclasses.replace(self.load, **load), **some)

    def load_at(self, t: Floats) -> Floats:
        """Return the load [N] of each member at its own times `t` (m, ...).

        See `LoadSegments.at`.

        Verified by: tests/unit/chains/blocks/test_stack.py::test_the_same_as_chains
        """
        p, rows = self.load, np.arange(self.members).reshape(-1, *(1,) * (t.ndim - 1))
        with np.errstate(invalid="ignore"):
            later = p.time[:, None, :] <= t.reshape(self.members, -1, 1)
            j = np.maximum(later.sum(axis=2).reshape(t.shape) - 1, 0)
            f = p.offset[rows, j] + p.rate[rows, j] * (t - p.time[rows, j])
            for q in range(p.amplitude.shape[1]):
                a, w, phase = (c[rows, q] for c in (p.amplitude, p.angular_frequency, p.phase))
                f = f + a * np.sin(w * t + phase)
        return np.asarray(f)

    def bounds_after(self, t: Floats) -> tuple[Floats, Floats]:
        """Return (m,) numbers [N] that the loads never leave from times `t` (m,) on.

        As `Load.bounds_after`, to the last bit.
        """
        p, none = self.load, np.zeros((self.members, 0))
        times = np.concatenate([np.maximum(p.time, t[:, None]), t[:, None]], axis=1)
        load = dataclasses.replace(p, amplitude=none, angular_frequency=none, phase=none)
        values = dataclasses.replace(self, load=load).load_at(times)
        ends = p.offset[:, :-1] + p.rate[:, :-1] * (p.time[:, 1:] - p.time[:, :-1])
        # the last column of `values` belongs to t
        ends = np.where(p.time[:, 1:] > t[:, None], ends, values[:, -1:])
        values = np.concatenate([values, ends], axis=1)
        swing, last = np.abs(p.amplitude).sum(axis=1), p.rate[:, -1]
        low = np.where(last < 0.0, -np.inf, values.min(axis=1) - swing)
        high = np.where(last > 0.0, np.inf, values.max(axis=1) + swing)
        return low, high

    def drive(self, t: Floats, x: Floats, v: Floats) -> Floats:
        """Return the force [N] on each mass without friction, as `Chain.drive` does.

        Parameters
        ----------
        t : (m,) times [s]
        x, v : (m, n)
        """
        ends = np.zeros((self.members, 1))
        elongation = np.diff(np.concatenate([ends, x, ends], axis=1), axis=1)
        rate = np.diff(np.concatenate([ends, v, ends], axis=1), axis=1)
        tension = self.link_stiffness * elongation + self.link_damping * rate
        plate = self.plate_springs * ((self.plate_speed * t)[:, None] - x)
        push = self.load_weights * self.load_at(t)[:, None]
        return np.asarray(np.diff(tension, axis=1) + push + plate)

    def sticks_for_good(self, t: Floats, x: Floats) -> Flags:
        """Return (m,) whether no later load can move a chain that sticks in x (m, n) at t (m,).

        As `Chain.sticks_for_good`, to the last bit.

        Verified by: tests/unit/chains/blocks/test_stack.py::test_the_same_as_chains
        """
        velocity = np.repeat(self.belt_speed[:, None], x.shape[1], axis=1)
        edge = np.zeros((self.members, 1))
        moving = (self.belt_speed != 0.0) | (self.plate_speed != 0.0)
        elongation = np.diff(np.concatenate([edge, velocity, edge], axis=1), axis=1)
        pull = np.diff(self.link_stiffness * elongation, axis=1)
        pull += self.plate_springs * (self.plate_speed[:, None] - velocity)
        stays_stuck = ~(moving & pull.any(axis=1))
        loaded = self.load_weights != 0.0
        bound, extremes = self.stick_bound, self.bounds_after(t)
        endless = np.isinf(extremes[0]) | np.isinf(extremes[1])
        stays_stuck &= ~(endless & loaded.any(axis=1) & np.isfinite(bound).all(axis=1))
        drive, now = self.drive(t, x, velocity), self.load_at(t)
        for extreme in extremes:
            change = (extreme - now)[:, None]
            with np.errstate(invalid="ignore"):
                push = np.where(loaded, drive + self.load_weights * change, drive)
                stays_stuck &= ~(np.abs(push) > bound * (1.0 + 1e-12)).any(axis=1)
        return np.asarray(stays_stuck)

    def critical_force(self) -> Floats:
        """Return `Chain.critical_force` of every member (m, n); NaN if unknown."""
        alike = (
            self.chain.supports == "left"
            and not self.load_weights[:, :-1].any()
            and bool((self.load_weights[:, -1] == 1.0).all())
        )
        found = np.full_like(self.masses, np.nan)
        if not alike:
            return found
        known = ~self.plate_springs.any(axis=1) & (self.belt_speed == 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            carried = np.cumsum(self.stick_bound[:, ::-1], axis=1)[:, ::-1]
            stored = self.link_stiffness[:, :-1] * np.diff(self.x_start, axis=1, prepend=0.0)
            force = np.maximum.accumulate((carried + stored)[:, ::-1], axis=1)[:, ::-1]
        known &= np.isfinite(force).all(axis=1)
        found[known] = force[known]
        return found


def fits(chain: Chain, paths: Sequence[Path]) -> bool:
    """Return whether chains that differ in these fields can form a stack.

    Parameters
    ----------
    paths : addresses of fields: ("stiffness",), ("mass", 2), ("law", "mu"), ("load", "rate")
    """
    return type(chain) is Chain and all(_fits(chain, path) for path in paths)


def _fits(chain: Chain, path: Path) -> bool:
    """Return whether a path leads to a number of the chain, of its law or of its load."""
    name = path[0]
    if name in ("law", "load"):
        fields = [f.name for f in dataclasses.fields(getattr(chain, name))]
        inner = path[1] if len(path) == 2 else ""
        return inner in fields and isinstance(
            getattr(getattr(chain, name), str(inner)), float | int
        )
    if name not in _RULES or getattr(chain, str(name)) is None:
        return False
    single = np.ndim(getattr(chain, str(name))) == 0
    return len(path) == (1 if single else 2)


def stack_of(chain: Chain, paths: Sequence[Path], columns: Sequence[Array]) -> Stack | None:
    """Return the chains with other values at `paths`; None if their loads differ in structure.

    Parameters
    ----------
    paths : as `fits` takes them
    columns : (m,) values for each path, numbers

    Verified by: tests/unit/chains/blocks/test_stack.py::test_the_same_as_chains
    """
    m = len(columns[0])
    valid = np.ones(m, bool)
    # the arrays of the common chain, repeated for all members
    full = {
        name: np.repeat(np.asarray(values, dtype=np.float64)[None], m, axis=0)
        for name, values in (
            ("mass", chain.masses),
            ("stiffness", chain.link_stiffness),
            ("damping", chain.link_damping),
            ("x0", chain.x_start),
            ("v0", chain.v_start),
            ("normal_force", chain.normal_forces),
            ("plate_stiffness", chain.plate_springs),
            *((name, getattr(chain, name)) for name in _SINGLE),
        )
    }
    # the values of the members replace them; links without a wall are no springs
    links = slice(0 if chain.supports in ("left", "both") else 1, None)
    inside: dict[str, dict[str, Array]] = {"law": {}, "load": {}}
    for path, column in zip(paths, columns, strict=True):
        name = str(path[0])
        if name in inside:
            inside[name][str(path[1])] = column
            continue
        values = np.asarray(column, dtype=np.float64)
        valid &= _passes(_RULES[name], values)
        if name in _SINGLE:
            full[name][:] = values
        elif name in ("stiffness", "damping"):
            part = full[name][:, links][:, : chain.n_spring]
            part[:, slice(None) if len(path) == 1 else int(path[1])] = (
                values[:, None] if (len(path) == 1) else values
            )
        elif len(path) == 1:
            full[name][:] = values[:, None]
        else:
            full[name][:, int(path[1])] = values
    # N_i = m_i g unless normal forces are given
    if chain.normal_force is None:
        full["normal_force"] = full["mass"] * full["gravity"][:, None]
    friction = _friction(chain, inside["law"], m, valid)
    load = _loads(chain.load, inside["load"], m, valid)
    if load is None:
        return None
    made = Stack(
        chain=chain,
        valid=valid,
        masses=full["mass"],
        link_stiffness=full["stiffness"],
        link_damping=full["damping"],
        load_weights=np.repeat(chain.load_weights[None], m, axis=0),
        plate_springs=full["plate_stiffness"],
        normal_forces=full["normal_force"],
        x_start=full["x0"],
        v_start=full["v0"],
        mu_static=friction[0],
        mu_kinetic=friction[1],
        belt_speed=full["belt_speed"],
        plate_speed=full["plate_speed"],
        load=load,
    )
    valid &= _finite(made)
    return made


def _passes(rule: str, values: Floats) -> Flags:
    good = np.isfinite(values)
    if rule == "finite":
        return good
    return np.asarray(good & ((values > 0.0) if rule == "positive" else (values >= 0.0)))


def _finite(made: Stack) -> Flags:
    """Return (m,) whether derived numbers are finite, as in `Chain._check_sizes`."""
    with np.errstate(all="ignore"):
        k, c, m = made.link_stiffness, made.link_damping, made.masses
        derived = (
            made.normal_forces,
            made.stick_bound,
            (k[:, :-1] + k[:, 1:] + made.plate_springs) / m,
            (c[:, :-1] + c[:, 1:]) / m,
            m * made.v_start**2,
            (k[:, :-1] + k[:, 1:]) * made.x_start**2,
        )
        return np.asarray(np.isfinite(np.concatenate(derived, axis=1)).all(axis=1))


def _friction(
    chain: Chain, fields: dict[str, Array], m: int, valid: Flags
) -> tuple[Floats, Floats]:
    """Return (m, n) static and kinetic coefficients; mark members with an invalid law."""
    n, table = chain.n_mass, chain.friction
    if not fields:
        both = table.mu_static, table.mu_kinetic
        return np.repeat(both[0][None], m, axis=0), np.repeat(both[1][None], m, axis=0)
    if type(chain.law) is Coulomb:
        mu = np.asarray(fields["mu"], dtype=np.float64)
        valid &= _passes("nonnegative", mu)
        full = np.repeat(mu[:, None], n, axis=1)
        return full, full.copy()
    static, kinetic = np.zeros((m, n)), np.zeros((m, n))
    for k in range(m):
        law = _replaced(chain.law, fields, k)
        if isinstance(law, Friction):
            each = law.table(n)
            static[k], kinetic[k] = each.mu_static, each.mu_kinetic
        else:
            valid[k] = False
    return static, kinetic


def _loads(load: Load, fields: dict[str, Array], m: int, valid: Flags) -> LoadSegments | None:
    """Return segments and sines of m loads, (m, segments) and (m, sines); None if counts differ.

    fields : (m,) values of fields of the load; members without a valid load are marked in `valid`
    """
    first = load.segments()
    made: dict[str, Any] = {}
    for name in _OF_LOAD:
        made[name] = np.repeat(getattr(first, name)[None], m, axis=0)
    for k in range(m if fields else 0):
        other = _replaced(load, fields, k)
        if other is None:
            valid[k] = False
            continue
        segments: LoadSegments = other.segments()
        for name, rows in made.items():
            values = getattr(segments, name)
            if values.size != rows.shape[1]:
                return None
            rows[k] = values
    return LoadSegments(**made)


def _replaced(owner: Any, fields: dict[str, Array], k: int) -> Any:
    """Return a law or a load with the values of member k; None if they are invalid."""
    try:
        return dataclasses.replace(owner, **{name: c[k].item() for name, c in fields.items()})
    except ModelError:
        return None
