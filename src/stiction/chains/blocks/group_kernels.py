"""Theta steps with unchanged modes for a group of chains, vectorised over the chains (SIMD).

A step in which no mode changes has the same operations for every chain, without a branch. They are
those of `theta.unchanged_kernels` in the same order, so that results agree bit by bit. The loop
over the chains of a group is innermost and has no dependence between its iterations, so the
compiler vectorises it without reordering a sum. A chain with a mode change is left to the kernels
of one chain.

A step solves A w + mu N Sgn(w) containing q for the slip rates w at t + theta h, on a surface at
rest, with A = M / (theta h) + C + theta h (K + K_plate) and q of all forces but friction
(`theta.step_kernels`). Each quantity is stored as a column: a vector of `WIDTH` values, one per
chain of the group; j counts the chains. Offsets of columns are constants, so that the compiler
knows that two columns do not overlap. The caller is `theta_kernels`.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from stiction.chains.theta.active_set_kernels import LARGEST
from stiction.chains.theta.state import Problem, Work
from stiction.chains.theta.step_kernels import added
from stiction.numerics.arrays import Struct, Table, Vector
from stiction.numerics.elementary import sin
from stiction.numerics.jit import kernel

__all__ = [
    "WIDTH",
    "ChainColumns",
    "Group",
    "MassColumns",
    "clear_member",
    "enter_member",
    "fetch_member",
    "group_of",
    "move_group",
    "pull_group",
    "solve_group",
]

Floats = npt.NDArray[np.float64]

# number of chains in a group: more would not fit into the first-level cache
WIDTH = 32
# bytes of a cache line
LINE = 64
Column = Annotated[Vector, WIDTH]
_C = TypeVar("_C", bound=Struct)


class MassColumns(Struct):
    """Quantities of mass i, or of the link on its left, of each chain.

    The fields are the rows of the array `f` of a single run, in the order of the structures
    `System`, `Masses`, `Motion` and `Trial` (`theta.state`), and last the mode.
    """

    excess: Column
    coupling: Column
    rhs: Column
    inverse: Column
    lower: Column
    solution: Column
    mass: Column
    stiffness: Column
    damping: Column
    load_vector: Column
    plate_stiffness: Column
    normal_force: Column
    mu_kinetic: Column
    inertia: Column
    pivot: Column
    stick_bound: Column
    x: Column
    x_low: Column
    slip_rate: Column
    friction_before: Column
    heat: Column
    heat_low: Column
    force: Column
    rate_change: Column
    friction: Column
    resistance: Column
    slope: Column
    hold: Column
    slack: Column
    x_before: Column
    slip_rate_before: Column
    heat_before: Column
    best: Column
    mode: Column


class ChainColumns(Struct):
    """Quantities of each chain: the first fields of `Progress`, the load, and sums of one step.

    segment_*, ends : start [s], value there [N] and rate [N/s] of the load segment, and its end [s]
    new_load, pull : load at the end of the step, and its weighted mean at theta [N]
    fits : 1 if no mode changes in the step, else 0
    size : sum of squared slip rates at theta [m^2/s^2]
    step_* : sums over the masses, as in `theta.step_kernels.Sums`, whose fields rate_stored,
        load_rate and removed are called spread, pushed and stopped here
    plate_stored, plate_spread : sums of k x^2 [J] and of k w^2 [J/s^2] of the plate springs
    """

    load: Column
    kinetic: Column
    stored: Column
    scale: Column
    work: Column
    work_low: Column
    viscous: Column
    viscous_low: Column
    algorithmic: Column
    algorithmic_low: Column
    heat: Column
    heat_low: Column
    kinetic_before: Column
    stored_before: Column
    work_before: Column
    viscous_before: Column
    algorithmic_before: Column
    worst: Column
    segment_time: Column
    segment_offset: Column
    segment_rate: Column
    ends: Column
    new_load: Column
    pull: Column
    fits: Column
    size: Column
    step_kinetic: Column
    step_stored: Column
    step_viscous: Column
    step_spread: Column
    step_inertia: Column
    step_heat: Column
    step_pushed: Column
    step_stopped: Column
    plate_stored: Column
    plate_spread: Column


# number of fields that a group copies from `Progress`
OF_PROGRESS = 18


class SineColumns(Struct):
    """A sine of the load of each chain, as `Sine`."""

    amplitude: Column
    frequency: Column
    phase: Column


class Group(NamedTuple):
    """Arrays of WIDTH chains.

    masses : (n + 2,) an element for each mass, and a fixed mass at both ends as a wall
    chains : (1,)
    sines : (sines,)
    of_masses, of_chains : views of the same numbers as arrays, (n + 2, fields, WIDTH) and
        (fields, WIDTH)
    """

    masses: Table[MassColumns]
    chains: Table[ChainColumns]
    sines: Table[SineColumns]
    of_masses: Floats
    of_chains: Floats


def group_of(n: int, sines: int) -> Group:
    """Return an empty group, for chains of n masses and a number of sines of the load."""
    masses, chains = _aligned(MassColumns, n + 2), _aligned(ChainColumns, 1)
    of_masses = masses.view(np.float64).reshape(n + 2, -1, WIDTH)
    of_chains = chains.view(np.float64).reshape(-1, WIDTH)
    return Group(masses, chains, SineColumns.table(sines), of_masses, of_chains)


def _aligned(columns: type[_C], rows: int) -> Table[_C]:
    """Return an array aligned to a cache line; unaligned vectors take 1.4 times as long."""
    size = columns.fields_type.itemsize * rows
    room = np.zeros(size + LINE, np.uint8)
    first = -room.ctypes.data % LINE
    return cast("Table[_C]", room[first : first + size].view(columns.fields_type))


# ---- one member


@kernel
def enter_member(group: Group, j: int, work: Work, progress: Floats) -> None:
    """Copy the state of a chain to member j; `progress` holds the fields of `Progress` in order."""
    segments, sines, f, m, now = work.segments, work.sines, work.f, work.m, work.progress[0]
    # column j of every mass
    for i in range(f.shape[1]):
        for row in range(f.shape[0]):
            group.of_masses[i + 1, row, j] = f[row, i]
        group.masses[i + 1].mode[j] = m[0, i]
    for k in range(OF_PROGRESS):
        group.of_chains[k, j] = progress[k]
    chain, segment, after = group.chains[0], segments[now.piece], now.piece + 1
    # load at theta before the first step; exact for a constant load, which is not evaluated again
    chain.pull[j] = chain.new_load[j] = now.load
    chain.segment_time[j], chain.segment_offset[j] = segment.time, segment.offset
    chain.segment_rate[j] = segment.rate
    chain.ends[j] = segments[after].time if after < len(segments) else np.inf
    for q in range(len(sines)):
        group.sines[q].amplitude[j], group.sines[q].phase[j] = sines[q].amplitude, sines[q].phase
        group.sines[q].frequency[j] = sines[q].frequency


@kernel
def fetch_member(group: Group, j: int, f: Floats, progress: Floats) -> None:
    """Copy the state of member j to the arrays of a chain."""
    for i in range(f.shape[1]):
        for row in range(f.shape[0]):
            f[row, i] = group.of_masses[i + 1, row, j]
    for k in range(OF_PROGRESS):
        progress[k] = group.of_chains[k, j]


@kernel
def clear_member(group: Group, j: int) -> None:
    """Make member j a chain of zeros, whose modes never change."""
    group.of_masses[:, :, j] = 0.0
    group.of_chains[:, j] = 0.0
    group.chains[0].ends[j] = np.inf


# ---- all members at once


@kernel(inline=True)
def pull_group(p: Problem, group: Group, t: float) -> None:
    """Write the load at time t, the end of a step, and its value at theta."""
    chain = group.chains[0]
    # linear part of the load; the sines follow
    for j in range(WIDTH):
        since = t - chain.segment_time[j]
        chain.new_load[j] = chain.segment_offset[j] + chain.segment_rate[j] * since
    for q in range(len(group.sines)):
        sine = group.sines[q]
        for j in range(WIDTH):
            chain.new_load[j] += sine.amplitude[j] * sin(sine.frequency[j] * t + sine.phase[j])
    for j in range(WIDTH):
        chain.pull[j] = p.theta * chain.new_load[j] + (1.0 - p.theta) * chain.load[j]


@kernel(inline=True)
def solve_group(p: Problem, group: Group, t: float) -> int:
    """Solve a step with unchanged modes; return the number of chains in which a mode changes.

    The unknowns are the slip rates at theta, which solve a tridiagonal system. The modes persist if
    the solution satisfies complementarity: |drive| within the static bound in stick, and slip in
    the direction of the mode otherwise. Column `fits` is 1 for these chains and 0 for the others.

    Source: `forward_substitution` of `theta.active_set_kernels` and `modes_persist` of
    `theta.unchanged_kernels`.
    """
    n, chain = p.n, group.chains[0]
    # forward substitution: forces of links, load, plate and inertia
    for i in range(1, n + 1):
        left, here, right = group.masses[i - 1], group.masses[i], group.masses[i + 1]
        for j in range(WIDTH):
            x = here.x[j]
            force = right.stiffness[j] * (right.x[j] - x) - here.stiffness[j] * (x - left.x[j])
            force += here.load_vector[j] * chain.pull[j]
            if p.plates:
                force += here.plate_stiffness[j] * (0.0 - x)
            force += here.inertia[j] * here.slip_rate[j]
            here.force[j] = force
            slips = force - here.mode[j] * here.resistance[j]
            here.solution[j] = slips + here.lower[j] * left.solution[j]
    for j in range(WIDTH):
        chain.size[j] = 0.0
    # backward substitution
    for i in range(n, 0, -1):
        here, right = group.masses[i], group.masses[i + 1]
        for j in range(WIDTH):
            behind = right.coupling[j] * right.solution[j]
            here.solution[j] = (here.solution[j] + behind) * here.inverse[j]
            chain.size[j] += here.solution[j] * here.solution[j]
    for j in range(WIDTH):
        # a chain is left to the kernels of one chain if its load segment ends in this step, or if
        # its slip rates overflow
        chain.fits[j] = 1.0 if (chain.ends[j] > t) & (chain.size[j] < LARGEST) else 0.0
    for i in range(1, n + 1):
        left, here, right = group.masses[i - 1], group.masses[i], group.masses[i + 1]
        for j in range(WIDTH):
            # complementarity, without a branch
            mode, stuck = here.mode[j], here.mode[j] == 0.0
            drive = here.force[j] + here.coupling[j] * left.solution[j]
            drive += right.coupling[j] * right.solution[j]
            here.friction[j] = -drive if stuck else -mode * here.resistance[j]
            fits = (stuck & (abs(drive) <= here.hold[j])) | (mode * here.solution[j] > 0.0)
            # as in `modes_persist`: the velocity at the end of the step has not passed zero
            if p.jump:
                end = here.solution[j] - (1.0 - p.theta) * here.slip_rate[j]
                fits = fits & (stuck | (mode * end > 0.0))
            chain.fits[j] = chain.fits[j] if fits else 0.0
    bad = 0
    for j in range(WIDTH):
        bad += 1 if chain.fits[j] == 0.0 else 0
    return bad


@kernel(inline=True)
def move_group(p: Problem, group: Group) -> None:
    """Update all masses by their slip rates, and add the energies of the step to the ledgers.

    Source: `theta.unchanged_kernels.slide` and `theta.step_kernels.close_ledger`.
    """
    n, chain = p.n, group.chains[0]
    for j in range(WIDTH):
        chain.step_kinetic[j] = chain.step_stored[j] = chain.step_viscous[j] = 0.0
        chain.step_spread[j] = chain.step_inertia[j] = chain.step_heat[j] = 0.0
        chain.step_pushed[j] = chain.step_stopped[j] = 0.0
        chain.plate_stored[j] = chain.plate_spread[j] = 0.0
    # link i joins masses i - 1 and i; the last one ends at the wall
    for i in range(1, n + 2):
        left, here = group.masses[i - 1], group.masses[i]
        if i <= n:
            slide(p, here, chain)
        for j in range(WIDTH):
            spin, elongation = here.solution[j] - left.solution[j], here.x[j] - left.x[j]
            chain.step_stored[j] += here.stiffness[j] * elongation * elongation
            chain.step_spread[j] += here.stiffness[j] * spin * spin
            chain.step_viscous[j] += here.damping[j] * spin * spin
    close_ledger(p, chain)


@kernel(inline=True)
def slide(p: Problem, here: MassColumns, chain: ChainColumns) -> None:
    """Update a mass of every chain, x += h w and u += (w - u) / theta, and add it to the sums."""
    h = p.h
    for j in range(WIDTH):
        w, mass, stuck = here.solution[j], here.mass[j], here.mode[j] == 0.0
        # velocity change: v_theta = u + theta du
        du = (w - here.slip_rate[j]) * p.rate
        u = here.slip_rate[j] + du
        # the velocity of a stuck mass is set to zero; the kinetic energy that this removes counts
        # as numerical dissipation
        ringing = u if stuck else 0.0
        u = 0.0 if stuck else u
        here.slip_rate[j] = u
        chain.step_inertia[j] += mass * du * du
        chain.step_stopped[j] += mass * ringing * ringing
        chain.step_kinetic[j] += mass * u * u
        chain.step_pushed[j] += here.load_vector[j] * w
        here.x[j], here.x_low[j] = added(here.x[j], here.x_low[j], h * w)
        gain = -h * here.friction[j] * w
        chain.step_heat[j] += gain
        here.heat[j], here.heat_low[j] = added(here.heat[j], here.heat_low[j], gain)
        if p.plates:
            x, stiff = here.x[j], here.plate_stiffness[j]
            chain.plate_stored[j] += stiff * x * x
            chain.plate_spread[j] += stiff * w * w


@kernel(inline=True)
def close_ledger(p: Problem, chain: ChainColumns) -> None:
    """Add the sums of the step to the ledger of every chain."""
    h = p.h
    for j in range(WIDTH):
        kinetic = 0.5 * chain.step_kinetic[j]
        stored = 0.5 * (chain.step_stored[j] + chain.plate_stored[j])
        spread = chain.step_spread[j] + chain.plate_spread[j]
        work, viscous = h * (chain.pull[j] * chain.step_pushed[j]), h * chain.step_viscous[j]
        # (theta - 1/2) (|dv|_M^2 + |dx|_K^2), and the kinetic energy removed from stuck masses
        dissipated = (p.theta - 0.5) * (chain.step_inertia[j] + h * h * spread)
        dissipated += 0.5 * chain.step_stopped[j]
        heat, change = chain.step_heat[j], kinetic - chain.kinetic[j] + (stored - chain.stored[j])
        # energy identity of the step, as in `theta.step_kernels.balance`
        off = abs(change - work + heat + viscous + dissipated)
        chain.kinetic[j], chain.stored[j], chain.load[j] = kinetic, stored, chain.new_load[j]
        # compensated sums, so that the imbalance of a step stays visible
        chain.work[j], chain.work_low[j] = added(chain.work[j], chain.work_low[j], work)
        chain.heat[j], chain.heat_low[j] = added(chain.heat[j], chain.heat_low[j], heat)
        old, low = chain.viscous[j], chain.viscous_low[j]
        chain.viscous[j], chain.viscous_low[j] = added(old, low, viscous)
        old, low = chain.algorithmic[j], chain.algorithmic_low[j]
        chain.algorithmic[j], chain.algorithmic_low[j] = added(old, low, dissipated)
        size = abs(chain.work[j])
        for other in (chain.heat[j], kinetic, stored, chain.viscous[j], chain.scale[j]):
            size = other if other > size else size
        chain.scale[j], ratio = size, off / size
        chain.worst[j] = ratio if off > chain.worst[j] * size else chain.worst[j]
