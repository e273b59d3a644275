"""Derivatives of the state in one mode of a flow: field, event functions and their gradients.

`ModeFlow` sets a mode, evaluates the field and the derivatives of event functions there, and
integrates the variational equation (`kernels`). `run` uses it for the derivatives of a run through
all its events, `segments` for arcs of periodic orbits. With n states, q parameters and m directions
(components of the initial state, or parameters) the state V of this equation is (n, m). A mode is
given by the (surfaces,) signs `sides`, 0 in sliding; event functions are numbered as in
`flow.rates.event_values`.

Source: Hairer, Norsett, Wanner 1993, section I.14.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, nearest
from stiction.switching.flow.records import Flow
from stiction.switching.flow.state import GRAD, LATER, TRIAL, Y
from stiction.switching.flow.surfaces import begin_mode
from stiction.switching.flow.trajectory import Tolerance
from stiction.switching.model import Compiled, SwitchingSystem
from stiction.switching.tangents.kernels import (
    MOST_TERMS,
    NODES,
    Stencil,
    Variation,
    derivatives,
    evaluate,
    variational,
)
from stiction.switching.tangents.parameters import stencil_of

if TYPE_CHECKING:
    from stiction.switching.methods import EventDriven

__all__ = ["ModeFlow"]

Floats = npt.NDArray[np.float64]

# least tolerance of the states, because differences do not resolve a smaller one; the tolerance of
# derivatives is ten times that of the states
_FINEST = 1e-12
# relative difference of gradients at two states from which a surface is curved. Chosen
_CURVED = 1e-9
# in place of an event function, `evaluate` and `derivatives` take this for the field
_FIELD = -1
# largest number of intervals of the variational equation between two events
_MOST_INTERVALS = 100_000
_STENCILS: weakref.WeakKeyDictionary[Compiled, dict[tuple[str, ...], Stencil]] = (
    weakref.WeakKeyDictionary()
)


class ModeFlow:
    """The flow in one mode, with the derivatives of the state in given directions.

    Parameters
    ----------
    system : the flow
    method : gives the tolerances
    to : directions: names of parameters, `x0[i]`, or `x0` for all components of the initial state
    clock : whether the clock is one of these components

    Attributes
    ----------
    n, q : number of states with the clock, and of parameters among the directions
    free : number of components of the initial state
    names : of the directions
    tol : relative tolerance of the states
    states : (n, directions) derivatives of the state
    """

    def __init__(
        self,
        system: SwitchingSystem,
        method: EventDriven,
        to: Sequence[str],
        *,
        clock: bool = False,
    ) -> None:
        self.system = system
        self.n = system.compiled.n
        self.free = len(system.start_names)
        tolerance = Tolerance(method.rtol, method.atol)
        self.tol = max(method.rtol, _FINEST)
        self.flow = Flow(
            system.compiled, tolerance.array(), np.empty(0), n_events=2, energies=False
        )
        self.flow.progress.t_end = np.inf
        self.names, seeds, parameters = self._directions(tuple(to), self.n if clock else self.free)
        self.stencil = _stencil(system, parameters, self.flow.p)
        n, m, q = self.n, len(self.names), len(parameters)
        self.q = q
        index = {name: i for i, name in enumerate(parameters)}
        self.variation = Variation(
            states=np.zeros((n, m)),
            nodes=interpolation(),
            samples=np.zeros((NODES, n, n + q)),
            powers=np.zeros((NODES, n, n + q)),
            terms=np.zeros((MOST_TERMS + 1, n, m)),
            bounds=np.zeros((2, MOST_TERMS + 1)),
            work=np.zeros((3, n)),
            lengths=np.zeros(n + q),
            pairs=np.ones(n + q, dtype=np.int64),
            noise=np.zeros(n + q),
            floor=np.zeros(q),
            level=np.zeros(n + q, dtype=np.int64),
            parameter=np.array([index.get(name, -1) for name in self.names], dtype=np.int64),
        )
        self.states = np.asarray(self.variation.states)
        for d, c in enumerate(seeds):
            if c >= 0:
                self.states[c, d] = 1.0

    def _directions(
        self, to: tuple[str, ...], components: int
    ) -> tuple[tuple[str, ...], list[int], tuple[str, ...]]:
        """Return names of directions, their components of the start or -1, and the parameters."""
        every = [f"x0[{i}]" for i in range(components)]
        names = [one for name in to for one in (every if name == "x0" else [name])]
        seeds = [every.index(name) if name in every else -1 for name in names]
        for name, seed in zip(names, seeds, strict=True):
            if seed < 0 and name.startswith("x0["):
                raise ModelError(
                    "tangents.to",
                    repr(name),
                    "one of " + ", ".join(every),
                    "the initial state has these components.",
                    nearest(name, every),
                )
        parameters = [name for name, seed in zip(names, seeds, strict=True) if seed < 0]
        return tuple(names), seeds, tuple(dict.fromkeys(parameters))

    # ---- the mode

    def _set_mode(self, x: Floats, t: float, sides: Floats) -> None:
        """Set the mode with these signs at the state x (n,) and time t."""
        flow, n = self.flow, self.n
        for row in (Y, TRIAL):
            flow.vectors[row, :n], flow.vectors[row, n] = x, t
        flow.sides[:] = sides
        # it uses row TRIAL
        begin_mode(flow.work)
        flow.vectors[TRIAL, :n], flow.vectors[TRIAL, n] = x, t

    def _field(self, x: Floats, t: float) -> Floats:
        """Return x' in the present mode."""
        rows, n = self.flow.vectors, self.n
        rows[TRIAL, :n], rows[TRIAL, n] = x, t
        evaluate(self.flow.work, _FIELD, TRIAL)
        return np.array(rows[LATER, :n])

    def _value(self, what: int, full: Floats, t: float) -> float:
        """Return an event function in the present mode."""
        rows, n = self.flow.vectors, self.n
        rows[TRIAL, :n], rows[TRIAL, n] = full, t
        evaluate(self.flow.work, what, TRIAL)
        return float(rows[LATER, 0])

    def _gradient(self, event: int, x: Floats, t: float) -> Floats:
        """Return (n + q,) derivatives of event function `event` in states and parameters."""
        rows, n = self.flow.vectors, self.n
        rows[TRIAL, :n], rows[TRIAL, n] = x, t
        out = np.zeros((1, n + self.q))
        derivatives(self.flow.work, self.stencil, event, self.variation, out, n + self.q, False)
        return np.array(out[0])

    def _gradient_of_h(self, i: int, x: Floats, t: float) -> Floats:
        """Return (n + q,) derivatives of the switching function of surface i."""
        # event function i is h_i for the sign 1; for the sign 0 it is that of the multiplier
        sides = self.flow.sides.copy()
        self.flow.sides[:] = np.where(np.arange(sides.size) == i, 1.0, sides)
        found = self._gradient(i, x, t)
        self.flow.sides[:] = sides
        return found

    def _along(self, gradient: Floats) -> Floats:
        """Return (directions,) the derivatives of an event function in the directions."""
        index, n = np.asarray(self.variation.parameter), self.n
        found: Floats = gradient[:n] @ self.states
        found[index >= 0] += gradient[n + index[index >= 0]]
        return found

    def _check_planes(self, states: Sequence[Floats]) -> None:
        """Test at given states whether surfaces that seemed to be planes are planes."""
        flow, m, n = self.flow, self.system.compiled.m, self.n
        # 2: surfaces that agreed with planes so far; 0: curved ones
        if flow.progress.plane != 2:
            return
        plane = flow.vectors[GRAD, : m * n].reshape(m, n)
        off = max(float(np.abs(self.system.gradient(x) - plane).max()) for x in states)
        if off > _CURVED * float(np.abs(plane).max()):
            flow.progress.plane = 0

    def _integrated(self, steps: Floats, start: float, end: float) -> bool:
        """Integrate the variational equation over recorded steps; return whether it succeeded."""
        begins = steps[:, self.n]
        # from the step that contains the start, which may be a saved time, to that with the end
        first = max(int(np.searchsorted(begins, start, side="right")) - 1, 0)
        last = int(np.searchsorted(begins, end))
        arrays = self.flow.work, self.stencil, self.variation, steps
        tol = 10.0 * self.tol
        return variational(*arrays, first, last, start, end, tol, _MOST_INTERVALS) >= 0


@functools.cache
def interpolation() -> Floats:
    """Return (2 + NODES, NODES): nodes, and transforms of values at them, as `Variation.nodes`.

    Row 0 has the Gauss nodes on [0, 1], row 1 the weights of the highest Legendre coefficient, and
    the other rows the inverse Vandermonde matrix, which gives the coefficients of powers.
    """
    places, weights = np.polynomial.legendre.leggauss(NODES)
    degree = NODES - 1
    top = np.polynomial.legendre.legval(places, np.eye(NODES)[degree])
    powers = np.linalg.inv(np.vander(0.5 + 0.5 * places, NODES, increasing=True))
    return np.vstack([0.5 + 0.5 * places, (degree + 0.5) * weights * top, powers])


def _stencil(system: SwitchingSystem, names: tuple[str, ...], numbers: Floats) -> Stencil:
    """Return the numbers of the kernels and their derivatives by the parameters `names`.

    They are cached for each compiled system and `names`.
    """
    known = _STENCILS.setdefault(system.compiled, {})
    if names not in known:
        known[names] = stencil_of(system, names, numbers)
    return known[names]._replace(numbers=numbers)
