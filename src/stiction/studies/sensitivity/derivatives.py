"""First derivatives of the results of a run with respect to parameters and its initial state.

The derivatives follow from the variational equation and saltation matrices (`core.tangents`), not
from differences of runs. The system supplies them; this module selects quantities and directions,
and adds names, units and one-sided derivatives. `sobol_indices` computes variance-based indices.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.tangents import Gradients, NotDifferentiable, Tangents
from stiction.errors import ModelError, nearest
from stiction.numerics.checks import numbers
from stiction.studies.sensitivity.one_sided import both_sides

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Sensitivities", "sensitivities"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivities:
    """Derivatives of quantities with respect to directions, with names and units.

    Parameters
    ----------
    of, to : names of the k quantities and of the m directions
    values : (k,) values of the quantities
    by : (k, m) derivatives; NaN if a derivative does not exist
    above, below : (k, m) one-sided derivatives towards larger and towards smaller values of a
        direction; equal to `by` if the derivative exists, NaN if no one-sided derivative exists
    units_of, units_to : units of quantities and directions; "" for dimensionless ones
    events : labels of the events of the run in their order
    failures : times at which the run has no derivative, with reasons
    """

    of: tuple[str, ...]
    to: tuple[str, ...]
    values: Floats
    by: Floats
    above: Floats
    below: Floats
    units_of: tuple[str, ...]
    units_to: tuple[str, ...]
    events: tuple[str, ...]
    failures: tuple[NotDifferentiable, ...]

    def __getitem__(self, names: tuple[str, str]) -> float:
        """Return one derivative: `result["x[2]", "law.mu"]`."""
        quantity, direction = names
        row, column = _index(quantity, self.of), _index(direction, self.to)
        return float(self.by[row, column])

    def unit(self, quantity: str, direction: str) -> str:
        """Return the unit of one derivative."""
        above = self.units_of[_index(quantity, self.of)]
        below = self.units_to[_index(direction, self.to)]
        if below in ("", "1"):
            return above or "1"
        simple = "/" not in below and " " not in below
        return f"{above or '1'}/{below}" if simple else f"{above or '1'}/({below})"

    @property
    def table(self) -> pd.DataFrame:
        """The quantities with their units and derivatives, one row for each quantity."""
        import pandas as pd

        columns: dict[str, Any] = {"value": self.values, "unit": self.units_of}
        columns |= dict(zip(self.to, self.by.T, strict=True))
        return pd.DataFrame(columns, index=pd.Index(self.of, name="quantity"))

    def __repr__(self) -> str:
        """Return the table, and the times after which derivatives do not exist, as text."""
        head = ["quantity", "value", *(f"by {name}" for name in self.to)]
        rows = [
            [f"{name} [{unit}]" if unit else name, f"{value:.9g}", *(f"{x:.9g}" for x in row)]
            for name, unit, value, row in zip(
                self.of, self.units_of, self.values, self.by, strict=True
            )
        ]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = [
            "  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
            for row in [head, *rows]
        ]
        lines += [
            f"no derivative after t = {f.time:.9g}: {f.kind}, {f.reason}" for f in self.failures
        ]
        for k, j in np.argwhere(np.isnan(self.by) & ~(np.isnan(self.above) & np.isnan(self.below))):
            sides = f"{self.above[k, j]:.9g} towards larger, {self.below[k, j]:.9g} towards smaller"
            lines.append(f"{self.of[k]} by {self.to[j]}: {sides} values")
        return "\n".join(lines)


def sensitivities(
    system: Any,
    method: Any = None,
    t_span: tuple[float, float] = (0.0, 1.0),
    *,
    of: Sequence[str] = (),
    to: Sequence[str],
    adjoint: bool = False,
) -> Sensitivities:
    """Return the derivatives of the results at the end of a run.

    Between events the derivatives obey the variational equation; at events they are multiplied by
    the saltation matrix. Parameters that shift the times of events are admissible. If a run has no
    derivative (grazing, degenerate thresholds, ...), the result holds NaN, and `failures` gives
    time and reason; `above` and `below` have the one-sided derivatives that exist.

    Parameters
    ----------
    system : a system that supplies derivatives, for example a `Chain`
    method : a method of the system that integrates derivatives; None for its default
    t_span : start and end [s, or the time unit of the system]
    of : names of quantities: components of the final state such as `x[2]`, times of events such as
        `event_time[0]`, or others such as `friction_force[0]`. A name without an index stands for
        all its entries. Empty for all quantities, or with `adjoint` for the final state
    to : names of directions: `x0` for all components of the initial state, `x0[i]` for one, and
        parameters, such as `law.mu`, `stiffness[2]` or `load.rate`
    adjoint : whether the adjoint equation is integrated backward from each quantity, instead of the
        variational equation forward for each direction. It is faster for many directions and few
        quantities, which must be components of the state and times of events

    Raises
    ------
    ModelError : if the system supplies no derivatives, or a name is unknown.
    SolveError : if the run ends early.

    Source: di Bernardo, Budd, Champneys, Kowalczyk 2008, section 2.5.
    Verified by: tests/unit/studies/test_sensitivities.py::test_one_sliding_block

    Examples
    --------
    >>> import stiction as st
    >>> block = st.Chain(mass=[2.0], stiffness=[8.0], law=st.Coulomb(0.1), x0=1.0, gravity=10.0)
    >>> s = st.sensitivities(block, t_span=(0.0, 4.0), of=["x", "v"], to=["law.mu"])
    >>> round(s["x[0]", "law.mu"], 9)  # it turns once and sticks at x0 - 4 mu m g / k
    -10.0
    """
    derivatives = _derivatives_of(system, adjoint)
    of, to = _names("of", of), _names("to", to)
    if not to:
        needs, why = "at least one direction", "`to` names the directions of the derivatives."
        raise ModelError("sensitivities.to", "none", needs, why, 'for example to=["law.mu"].')
    why, try_ = "a run goes forward in time.", "for example (0.0, 8.0)."
    first, last = numbers("sensitivities.t_span", t_span, size=2, per="end", why=why, try_=try_)
    if not first < last:
        raise ModelError("sensitivities.t_span", repr(t_span), "an end after the start", why, try_)
    if adjoint:
        found: Tangents = _backward(system, derivatives, method, t_span, of, to)
        of = of or system.start_names
    else:
        found = derivatives(method, t_span, to)
    names, values, by, units = _quantities(system.start_names, found)
    rows = _rows(of, names)
    if adjoint:
        above = below = by[rows]
    else:
        above, below = both_sides(system, method, t_span, found, by[rows], rows)
    return Sensitivities(
        of=tuple(names[r] for r in rows),
        to=found.directions,
        values=values[rows],
        by=by[rows],
        above=above,
        below=below,
        units_of=tuple(units[r] for r in rows),
        units_to=tuple(found.units.get(name, "") for name in found.directions),
        events=found.order,
        failures=found.failures,
    )


def _derivatives_of(system: Any, adjoint: bool) -> Any:
    """Return the method of a system that gives derivatives; raise ModelError if it has none."""
    derivatives = getattr(system, "gradients" if adjoint else "tangents", None)
    if derivatives is None:
        kind = "adjoint" if adjoint else "variational"
        raise ModelError(
            "sensitivities.system",
            type(system).__name__,
            f"a system that supplies its {kind} equation, such as a Chain",
            "the derivatives are computed from this equation.",
            "compare runs with neighbouring values instead.",
        )
    return derivatives


def _names(field: str, names: object) -> tuple[str, ...]:
    """Return names as a tuple; raise ModelError unless they are a list of texts."""
    where, needs, got = f"sensitivities.{field}", "a list of names", repr(names)
    try_ = 'for example of=["x[0]"].' if field == "of" else 'for example to=["law.mu"].'
    if isinstance(names, str) or not isinstance(names, Iterable):
        why = "several names are possible, and a text would be read as a list of letters."
        raise ModelError(where, got, needs, why, try_)
    found = tuple(names)
    for name in found:
        if not isinstance(name, str):
            raise ModelError(
                where, repr(name), needs, "quantities and directions have names.", try_
            )
    return found


def _backward(
    system: Any,
    gradients: Any,
    method: Any,
    t_span: tuple[float, float],
    of: Sequence[str],
    to: Sequence[str],
) -> Tangents:
    """Return the run with the derivatives of the requested quantities; NaN for the others."""
    start = list(system.start_names)
    names = []
    for name in of or start:
        entries = [x for x in start if x.startswith(f"{name}[")]
        names += entries or [name]
    found: Gradients = gradients(method, t_span, tuple(names), to)
    run, m = found.run, len(found.directions)
    rows = dict(zip(found.of, found.by, strict=True))
    none = np.full(m, np.nan)
    events = tuple(
        dataclasses.replace(event, time_by=rows.get(f"event_time[{j}]", none))
        for j, event in enumerate(run.events)
    )
    return dataclasses.replace(
        run,
        directions=found.directions,
        final_by=np.array([rows.get(name, none) for name in start]).reshape(-1, m),
        events=events,
        quantities=(),
        units=found.units,
    )


def _quantities(
    start_names: Sequence[str], found: Tangents
) -> tuple[list[str], Floats, Floats, list[str]]:
    """Return names, values, derivatives and units of all quantities at the end of a run."""
    m, events, rest = len(found.directions), found.events, found.quantities
    names = [*start_names, *(f"event_time[{j}]" for j in range(len(events)))]
    names += [q.name for q in rest]
    values = [*found.final, *(e.time for e in events), *(q.value for q in rest)]
    parts = [found.final_by, [e.time_by for e in events], [q.by for q in rest]]
    by = np.concatenate([np.reshape(np.asarray(part, dtype=np.float64), (-1, m)) for part in parts])
    units = [found.units.get(name, "") for name in start_names]
    units += [found.units.get("time", "")] * len(events) + [q.unit for q in rest]
    return names, np.array(values), by, units


def _rows(of: Sequence[str], names: list[str]) -> list[int]:
    """Return the indices in `names` of the requested quantities; all without a request.

    A name without an index, such as `x`, stands for all its entries `x[0]`, `x[1]`, ...
    """
    if not of:
        return list(range(len(names)))
    rows: list[int] = []
    for name in of:
        entries = [j for j, x in enumerate(names) if x.startswith(f"{name}[")]
        if name in names:
            entries = [names.index(name)]
        if not entries and name != "event_time":
            raise _unknown(name, names)
        rows += entries
    return rows


def _index(name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise _unknown(name, names)
    return names.index(name)


def _unknown(name: str, names: Sequence[str]) -> ModelError:
    """Return the error for a name that is no quantity or direction of the run."""
    return ModelError(
        "sensitivities",
        repr(name),
        "one of " + ", ".join(names[:20]) + (" ..." if len(names) > 20 else ""),
        "a run has these quantities and directions.",
        nearest(name, names),
    )
