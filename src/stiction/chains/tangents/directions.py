"""Derivatives of the coefficients of a chain's equations with respect to a parameter (a direction).

A run depends on a parameter through the coefficients that its kernels read: masses, stiffnesses,
bounds, loads. Nearly all of them are linear in the parameter, so that finite differences of sixth
order are exact to rounding. Only these coefficients are differenced; the derivatives of the motion
follow from the variational equation (`series_kernels`). `run`, `steps` and `adjoint` call
`expanded` for the names of all directions and `laid_out` for the arrays of derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.tangents.parameters import parameter, with_parameter
from stiction.chains.tangents.series_kernels import FORWARD
from stiction.chains.tangents.state import POINTS, SHAPE, Directions
from stiction.errors import ModelError
from stiction.laws.compiled import CompiledLaw
from stiction.numerics.compiling.user_functions import fingerprint

if TYPE_CHECKING:
    from stiction.chains.model import Chain

__all__ = ["expanded", "laid_out"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# central and one-sided differences of sixth order
_STENCILS = (
    (np.arange(-3, 4), np.array([-1 / 60, 3 / 20, -3 / 4, 0.0, 3 / 4, -3 / 20, 1 / 60])),
    (np.arange(POINTS), FORWARD),
    (-np.arange(POINTS), -FORWARD),
)
# steps of the difference as fractions of `_size`; the first that the model allows is used
_STEPS = 2.0**-7 * 2.0 ** (-5.0 * np.arange(4))
# for the series of a law, each point of which costs a series: central difference, exact to 2e-10
# at this step
_SHAPE_STENCIL = (np.array([-1, 1]), np.array([-0.5, 0.5]))
_SHAPE_STEP = 2.0**-15
# times between two breakpoints at which functions of loads are compared
_TIMES = 64
# fields of `Directions` that the flags `mechanics` and `load` cover
_MECHANICS = (
    *("mass", "link_k", "link_c", "load_vector", "plate_k", "plate_speed"),
    *("normal", "mu_static", "mu_kinetic", "belt"),
)
_LOAD = (
    *("segment_time", "segment_offset", "segment_rate"),
    *("sine_amplitude", "sine_frequency", "sine_phase"),
)


def expanded(chain: Chain, to: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """Return the names of all m directions, and (m,) 1 for those of the start as a whole, else 0.

    `x0` stands for the 2 n components of the start. If they are varied as a whole, a mass in stick
    remains in stick and ignores the variation of its velocity, so that a shooting method may start
    in stick.
    """
    n, names = chain.n_mass, list[str]()
    whole = list[int]()
    for name in to:
        whole += [0] * (len(names) - len(whole))
        if name == "x0":
            names += [f"x0[{i}]" for i in range(n)] + [f"v0[{i}]" for i in range(n)]
            whole += [1] * (2 * n)
        elif name == "v0":
            names += [f"v0[{i}]" for i in range(n)]
        else:
            if _start_component(chain, name) is None:
                parameter(chain, name)
            names.append(name)
    whole += [0] * (len(names) - len(whole))
    return tuple(names), np.array(whole, np.int64)


def _start_component(chain: Chain, name: str) -> int | None:
    """Return the index of a direction in the state (x, v); None for a parameter."""
    field, _, rest = name.partition("[")
    if field not in ("x0", "v0") or not rest.endswith("]") or not rest[:-1].isdecimal():
        return None
    index = int(rest[:-1])
    if index >= chain.n_mass:
        return None
    return index + (chain.n_mass if field == "v0" else 0)


def laid_out(
    chain: Chain,
    names: Sequence[str],
    whole: Ints,
    law: CompiledLaw,
    t_span: tuple[float, float],
) -> tuple[Directions, Floats, list[CompiledLaw]]:
    """Return m directions, the (2 n, m) derivatives of the start, and compiled laws.

    The directions hold addresses of these laws, so that the caller must keep them alive.

    Raises
    ------
    ModelError : if a direction changes a user's function of the load within `t_span`.
    """
    n, m = chain.n_mass, len(names)
    now = _numbers(chain)
    by: dict[str, Any] = {name: np.zeros((m, *np.shape(value))) for name, value in now.items()}
    start, flags = np.zeros((2 * n, m)), np.zeros((3, m), np.int64)
    rows, weights = np.full((m, POINTS), law.start, np.int64), np.zeros((m, POINTS))
    laws: list[CompiledLaw] = []
    for q, name in enumerate(names):
        # a component of the start changes no coefficient
        place = _start_component(chain, name)
        if place is not None:
            start[place, q] = 1.0
            continue
        # differences of all coefficients, cached by the chain
        known = chain.number_derivatives
        if name not in known:
            known[name] = _number_derivatives(chain, name, now)
        own, start[:, q], chains, weight = known[name]
        if name.startswith("load."):
            _check_functions(chain, chains, name, t_span)
        for key, value in own.items():
            by[key][q] = value
        flags[0, q] = any(np.any(by[key][q]) for key in _MECHANICS)
        flags[1, q] = any(np.any(by[key][q]) for key in _LOAD)
        # a law that depends on the slip speed is differenced by kernels: rows and weights of points
        if name.startswith("law.") and not chain.law.constant:
            flags[2, q] = SHAPE if _changes_shape(chain, chains, law) else 1
            if flags[2, q] == SHAPE and law.share != 0:
                chains, weight = _shape_neighbours(chain, name, chains, weight)
            weights[q, : weight.size] = weight
            for j, other in enumerate(chains):
                if other is not None:
                    laws.append(CompiledLaw(other.friction, ("mu", "share", "slope")))
                    rows[q, j] = laws[-1].start
    directions = Directions(
        whole=whole,
        mechanics=flags[0],
        load=flags[1],
        law=flags[2],
        **by,
        law_row=rows,
        law_weight=weights,
        slope_address=law.slope,
        slip_step=np.array(chain.friction.v_scale * _SHAPE_STEP),
    )
    return directions, start, laws


def _number_derivatives(
    chain: Chain, name: str, now: dict[str, Any]
) -> tuple[dict[str, Any], Floats, list[Chain | None], Floats]:
    """Return derivatives of all coefficients and of the start, and the difference they come from.

    The difference is given by chains with other values of the parameter, and their weights; the
    derivatives are a dictionary by the names of `Problem`, and (2 n,) of the start.
    """
    chains, weight = _neighbours(chain, name)
    by: dict[str, Any] = {key: np.zeros(np.shape(value)) for key, value in now.items()}
    first = np.concatenate([chain.x_start, chain.v_start])
    start = np.zeros(first.size)
    for w, other in zip(weight, chains, strict=True):
        if other is None:
            continue
        point = _numbers(other)
        for key, value in now.items():
            # a number that does not change has the derivative 0 exactly
            by[key] = by[key] + w * (_matching(point[key], np.shape(value), name) - value)
        start += w * (np.concatenate([other.x_start, other.v_start]) - first)
    return by, start, chains, weight


def _check_functions(
    chain: Chain, chains: Sequence[Chain | None], name: str, t_span: tuple[float, float]
) -> None:
    """Refuse a parameter that changes a user's function of the load: it is not differenced."""
    functions = [one.load.segments().function for one in [chain, *chains] if one is not None]
    prints = [None if f is None else fingerprint(f) for f in functions]
    if all(f is functions[0] for f in functions) or (prints[0] and len(set(prints)) == 1):
        return
    values = np.zeros(1)
    if not any(prints):
        # no function can be compared, so that their values are, between breakpoints, at times that
        # no period of a load divides
        times = chain.load.segments().time
        ends = np.unique([*t_span, *times[(times > t_span[0]) & (times < t_span[1])]])
        shares = (np.arange(_TIMES) * np.sqrt(2.0)) % 1.0
        at = (ends[:-1, None] + np.diff(ends)[:, None] * shares).ravel().tolist()
        values = np.array([[0.0 if f is None else float(f(t)) for t in at] for f in functions])
    if any(prints) or not np.array_equal(values, np.broadcast_to(values[0], values.shape), True):
        raise ModelError(
            "Chain.tangents",
            repr(name),
            "a parameter of the linear parts and sines of a load, not of its `function`",
            "derivatives by a parameter of a user's function of time are not implemented.",
            "compare two runs, or write the load with Ramp, Sine and PiecewiseLinear.",
        )


def _changes_shape(chain: Chain, chains: Sequence[Chain | None], law: CompiledLaw) -> bool:
    """Return whether the parameter changes more of a law than its two coefficients.

    The weakening function (mu - mu_k) / (mu_s - mu_k) is compared at three slip speeds.
    """
    if law.share == 0:
        return True
    shares = []
    for one in [chain, *(c for c in chains if c is not None)]:
        table = one.friction
        drop = table.mu_static - table.mu_kinetic
        speeds = np.multiply.outer(chain.friction.v_scale, [0.1, 0.7, 3.0])
        share = table.mu(speeds) - table.mu_kinetic[:, None]
        shares.append(share / np.where(drop > 0.0, drop, 1.0)[:, None])
    return bool(np.ptp(shares, axis=0).max() > 1e-11)


def _neighbours(chain: Chain, name: str) -> tuple[list[Chain | None], Floats]:
    """Return chains with other values of a parameter, and the weights of a difference of them."""
    value = parameter(chain, name)
    size = _size(chain, name, value)
    error: ModelError | None = None
    # shorter and one-sided differences where the model refuses a value
    for fraction in _STEPS:
        step = fraction * size
        for points, weight in _STENCILS:
            try:
                chains = [
                    None if w == 0.0 else with_parameter(chain, name, value + j * step)
                    for j, w in zip(points.tolist(), weight, strict=True)
                ]
            except ModelError as refused:
                error = refused
                continue
            return chains, weight / step
    raise ModelError(
        "Chain.tangents",
        f"{name} = {value:.6g}",
        "a parameter that can rise or fall alone",
        "a derivative needs models with neighbouring values, which another parameter excludes.",
        "move the parameter that bounds this one.",
    ) from error


def _size(chain: Chain, name: str, value: float) -> float:
    """Return the power of two near the size of a parameter, of which a step is a fraction.

    A breakpoint moves relative to its neighbours, whatever the origin of time.
    """
    size = abs(value)
    if name.startswith("load.") and name.rpartition(".")[2].partition("[")[0] == "time":
        times = chain.load.segments().time
        away = np.abs(times[np.isfinite(times)] - value)
        near = float(np.min(away, where=away > 0.0, initial=math.inf))
        # a shorter step would be lost in rounding
        size = max(near, 2.0**-26 * size)
    return 2.0 ** round(math.log2(size)) if 0.0 < size < math.inf else 1.0


def _shape_neighbours(
    chain: Chain, name: str, chains: list[Chain | None], weight: Floats
) -> tuple[list[Chain | None], Floats]:
    """Return two neighbours for a difference of the series of a law, if the model allows both."""
    value = parameter(chain, name)
    step = _SHAPE_STEP * _size(chain, name, value)
    points, weights = _SHAPE_STENCIL
    try:
        return [with_parameter(chain, name, value + j * step) for j in points.tolist()], (
            weights / step
        )
    except ModelError:
        # at a bound of the model
        return chains, weight


def _numbers(chain: Chain) -> dict[str, Any]:
    """Return the numbers of a chain that kernels read, by the names of `Problem`."""
    table, segments = chain.friction, chain.load.segments()
    return {
        "mass": chain.masses,
        "link_k": chain.link_stiffness,
        "link_c": chain.link_damping,
        "load_vector": chain.load_weights,
        "plate_k": chain.plate_springs,
        "plate_speed": chain.plate_speed,
        "normal": chain.normal_forces,
        "mu_static": table.mu_static,
        "mu_kinetic": table.mu_kinetic,
        "belt": chain.belt_speed,
        "segment_time": segments.time,
        "segment_offset": segments.offset,
        "segment_rate": segments.rate,
        "sine_amplitude": segments.amplitude,
        "sine_frequency": segments.angular_frequency,
        "sine_phase": segments.phase,
    }


def _matching(value: Any, shape: tuple[int, ...], name: str) -> Any:
    """Return `value`, a coefficient of a neighbouring chain; raise if its shape differs."""
    if np.shape(value) != shape:
        raise ModelError(
            "Chain.tangents",
            repr(name),
            "a parameter that does not change the number of breakpoints of the load",
            "two loads have a common breakpoint, which splits in two when one of them moves.",
            "move one of the two breakpoints a little.",
        )
    return value
