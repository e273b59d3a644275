"""The run: all results of one solve in one immutable object.

Methods create a `Run` by `Run.of`, `stiction.solve` returns it, and `stiction.io.store` saves and
loads it. `Request` has the arguments of a method besides the system. Arrays are plain NumPy. The
packages pandas, xarray and matplotlib are imported when `events`, `data`, `ledger` or `plot` are
first used.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from stiction.catalogue import CATALOGUE
from stiction.core.audit import Audit, Check
from stiction.core.determinism import Determinism, Loss
from stiction.core.events import NUMBERED, EventLog
from stiction.core.ledger import COLUMNS, Ledger
from stiction.errors import ModelError, Status, advice_in, nearest
from stiction.numerics.shown import brief, table_html

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from stiction.plot.figures import Figures

__all__ = [
    "RESERVED",
    "Checkpoint",
    "Measure",
    "Output",
    "Quantity",
    "Request",
    "Run",
    "Variable",
    "silent",
]


# names in tables and files that no variable of a system may have
_COLUMNS_OF_EVENTS = ("from", "to", "kind")
RESERVED = frozenset(
    ("time", "asked", "ledger_time", "friction_heat_each", *_COLUMNS_OF_EVENTS, *NUMBERED, *COLUMNS)
)


class Checkpoint(Protocol):
    """Storage for the state of a long run, from which it can be resumed."""

    def due(self) -> bool:
        """Return whether enough wall time has passed since the last save."""

    def save(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Save `state` and replace the last one atomically."""

    def load(self) -> dict[str, npt.NDArray[Any]] | None:
        """Return the last state, or None for a new run."""


class Output(Protocol):
    """Draws a run and writes it to a folder."""

    def figures(self, run: Run) -> Figures:
        """Return an object whose methods are the figures of the run."""

    def save(self, run: Run, path: Path, overwrite: bool) -> Path:
        """Write the run to a new folder and return it."""


def silent(fraction: float, note: str) -> None:
    """Report nothing."""


@dataclass(frozen=True, eq=False)
class Request:
    """Arguments of a method besides the system: time span, saved times, progress, checkpoint.

    Parameters
    ----------
    t_start, t_end : start and end [s, or the time unit of the system]
    save : (t,) increasing times at which the state is saved [s]; first t_start, last t_end
    progress : called repeatedly with the fraction done and a short note
    checkpoint : storage for the state of a long run; None for none
    every_step : save the state at every step of the method as well
    """

    t_start: float
    t_end: float
    save: npt.NDArray[np.float64]
    progress: Callable[[float, str], None] = silent
    checkpoint: Checkpoint | None = None
    every_step: bool = False

    def number_of_steps(self, name: str, step: float, most: int) -> tuple[int, float]:
        """Return the number of equal steps and their length; the last one ends at t_end.

        Parameters
        ----------
        name : name of the method, for messages
        step : largest length of a step [s]
        most : largest number of steps

        Raises
        ------
        ModelError : on a step longer than the time span, and on more than `most` steps.

        Verified by: tests/unit/chains/theta/test_methods.py::test_a_whole_number_of_steps_stays_one
        """
        span = self.t_end - self.t_start
        # rounding of both ends, which are numbers such as 1e6 + 0.3
        rounding = 4.0 * np.finfo(float).eps * max(abs(self.t_start), abs(self.t_end))
        if step > span * (1.0 + 1e-9) + rounding:
            raise ModelError(
                f"{name}.step",
                f"{step:g} s for a span of {span:g} s",
                "a step no longer than the time span",
                "a longer step would be shortened to the time span without notice.",
                f"{span / 1000.0:g}, and then half of that to see how much the result changes.",
            )
        # steps are at most as long as requested
        count = max(1.0, float(np.ceil((span * (1.0 - 1e-12) - rounding) / step)))
        if count > most:
            raise ModelError(
                f"{name}.step",
                f"{step} s for a span of {span} s, which makes {count:.3g} steps",
                f"at most max_steps = {most} steps",
                "the work of a run is bounded.",
                "a longer step, a shorter time span, or a larger max_steps.",
            )
        return int(count), span / count


@dataclass(frozen=True, eq=False)
class Variable:
    """A named array of a run: values, names of its axes, unit and meaning.

    Axes are called `time`, `mass`, `contact`, `node`, ... A variable without the axis `time` is
    constant during the run, such as the masses.
    """

    values: npt.NDArray[Any]
    dims: tuple[str, ...]
    unit: str
    meaning: str


@dataclass(frozen=True, eq=False)
class Quantity:
    """A named result: a number, a list (None for missing entries), or a word.

    Parameters
    ----------
    value, unit, meaning : value, unit and meaning of the result
    absent : text of the summary if the value is None; with "" the summary has no line
    label : label in the summary; "" for the name of the result
    """

    value: Any
    unit: str
    meaning: str = ""
    absent: str = ""
    label: str = ""


class Quantities(Mapping[str, Quantity]):
    """The named results of a run: a mapping that is displayed as a table.

    Parameters
    ----------
    named : results by name
    """

    def __init__(self, named: Mapping[str, Quantity]) -> None:
        self._named = dict(named)

    def __getitem__(self, name: str) -> Quantity:
        """Return a result; KeyError names the nearest one."""
        try:
            return self._named[name]
        except KeyError as error:
            raise KeyError(f"{name!r}: {nearest(name, self._named)}") from error

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    def __repr__(self) -> str:
        """Return names and values, one a line."""
        lines = (
            f"  {name} = {brief(q.value)} {'' if q.unit == '1' else q.unit}".rstrip()
            for name, q in self.items()
        )
        return "\n".join([f"<{len(self)} quantities>", *lines])

    def _repr_html_(self) -> str:
        """Return the results as a table."""
        rows = [(name, q.value, q.unit, q.meaning) for name, q in self.items()]
        return table_html(("quantity", "value", "unit", "meaning"), rows)


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """The result of one solve, live or loaded.

    Parameters
    ----------
    system, method : the solved system and its method; None for a loaded run whose scenario cannot
        be read
    system_name, method_name : their class names
    status, reason : how the run ended, and the reason in one line
    t_end : the time reached [s]
    time : (t,) saved times [s]
    variables : saved arrays by name
    final : the state at `t_end` by name: arrays or numbers
    event_log, energy, determinism, audit : see `EventLog`, `Ledger`, `Determinism` and `Audit`
    quantities : named results
    stats : counts of work (steps, iterations, events)
    provenance : versions, machine, date, cost
    citations : keys for `cite`
    asked : (s,) requested times [s], from the start to the requested end; None if unknown
    time_unit : unit of every time above, "1" for a dimensionless system
    energy_unit : unit of every energy: "J", "J/m" in a plane, "1" for a dimensionless system
    size : size of the system, such as "3 masses"
    unverified : why the loaded files are not verified; "" for a run that was just solved, and for
        files with valid digests (checksums)
    output : object that draws the run and writes it to a folder; None if a method was called
        directly
    scenario : text of the scenario of a loaded run whose system could not be read; it is saved
        unchanged

    Examples
    --------
    >>> import stiction as st
    >>> chain = st.Chain(mass=[1.0], stiffness=1.0, load=st.Ramp(1.0), law=st.Coulomb(0.25))
    >>> run = st.solve(chain, t_span=(0.0, 1.0))
    >>> isinstance(run, st.Run), run.status.value
    (True, 'solved')
    """

    system: Any
    method: Any
    system_name: str
    method_name: str
    status: Status
    reason: str
    t_end: float
    time: npt.NDArray[np.float64]
    variables: Mapping[str, Variable]
    final: Mapping[str, Any]
    event_log: EventLog
    energy: Ledger
    determinism: Determinism
    audit: Audit
    quantities: Mapping[str, Quantity]
    stats: Mapping[str, int | float]
    provenance: Mapping[str, object] = field(default_factory=dict)
    citations: Sequence[str] = ()
    asked: npt.NDArray[np.float64] | None = None
    time_unit: str = "s"
    energy_unit: str = "J"
    size: str = ""
    unverified: str = ""
    output: Output | None = None
    scenario: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "quantities", Quantities(self.quantities))

    @classmethod
    def of(
        cls,
        system: object,
        method: object,
        *,
        time: npt.NDArray[np.float64],
        event_log: EventLog,
        checks: Iterable[Check],
        losses: Iterable[Loss] = (),
        margin: float = math.inf,
        unseen: str = "",
        loss_units: Mapping[str, str] = MappingProxyType({}),
        stats: Mapping[str, int | float],
        **others: Any,
    ) -> Run:
        """Return the run with the results of a method.

        Parameters
        ----------
        time : (t,) saved times; the last one is the time reached
        checks, losses : lines of the audit and of determinism
        margin, unseen : smallest distance to a loss of determinism divided by the error, and losses
            that the method does not detect; see `Determinism`
        loss_units : units of the entries of `Loss.where`
        others : further fields of `Run`

        Verified by: tests/unit/test_methods.py::test_a_run_holds_the_method_of_its_system
        """
        return cls(
            system=system,
            method=method,
            system_name=type(system).__name__,
            method_name=type(method).__name__,
            t_end=float(time[-1]),
            time=time,
            event_log=event_log,
            determinism=Determinism(
                tuple(dataclasses.replace(loss, units=loss_units) for loss in losses),
                margin,
                unseen,
            ),
            audit=Audit(tuple(checks)),
            stats=stats,
            **others,
        )

    def completed(
        self,
        provenance: Mapping[str, object],
        asked: npt.NDArray[np.float64] | None,
        output: Output | None,
    ) -> Run:
        """Return this run with its provenance, the requested times, and its output."""
        run: Run = object.__new__(type(self))
        # `dataclasses.replace` would take a large part of short runs of 0.2 ms
        run.__dict__.update(self.__dict__, provenance=provenance, asked=asked, output=output)
        return run

    @functools.cached_property
    def events(self) -> pd.DataFrame:
        """The events as a pandas table."""
        return self.event_log.table(self.time_unit)

    @functools.cached_property
    def ledger(self) -> xr.Dataset:
        """The energy ledger as an xarray Dataset, with `.imbalance`."""
        return self.energy.table(self.time_unit, self.energy_unit)

    @functools.cached_property
    def data(self) -> xr.Dataset:
        """The saved arrays as an xarray Dataset with units in attrs."""
        import xarray as xr

        arrays = {
            name: (v.dims, v.values, {"units": v.unit, "long_name": v.meaning})
            for name, v in self.variables.items()
        }
        sizes: dict[str, int] = {}
        for v in self.variables.values():
            sizes.update(zip(v.dims, v.values.shape, strict=True))
        coords: dict[str, Any] = {"time": ("time", self.time, {"units": self.time_unit})}
        for dim, size in sizes.items():
            if dim in NUMBERED:
                coords[dim] = np.arange(1, size + 1)
        return xr.Dataset(arrays, coords=coords, attrs={"system": self.system_name})

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError for an unknown name; the message lists the saved arrays."""
            message = f"a run has no attribute {name!r}"
            if not name.startswith("_"):
                known = ", ".join(self.variables)
                message += (
                    f"; saved arrays are in run.data[NAME] ({known}), their times in run.time"
                )
            raise AttributeError(message, name=name, obj=self)

    @property
    def advice(self) -> str:
        """Meaning of the status for this kind of system, and a remedy."""
        homes = (kind.names.get(self.system_name, "") for kind in CATALOGUE.values())
        subpackages = {home.split(".")[1] for home in homes if home}
        return advice_in(subpackages.pop() if len(subpackages) == 1 else "", self.status)

    @property
    def plot(self) -> Figures:
        """Figures of this run: `run.plot.energy()` and others; its `NAMES` lists them."""
        return self._output("plot").figures(self)

    def animate(self, path: str | Path | None = None, **looks: Any) -> Any:
        """Return a player of this run for a notebook, or write an animation and return its path.

        Parameters
        ----------
        path : ends in .html (a page that needs no network), .gif, or .mp4 (needs ffmpeg); None
            for a player, which a notebook shows
        looks : options of `run.plot.animate`, such as `seconds`
        """
        if path is None:
            return self.plot.player(**looks)
        return self.plot.animate(path, **looks)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the run to a new folder `path` and return it.

        Raises
        ------
        ModelError : if the run has values that no file can hold.
        StoreError : if the folder exists (unless `overwrite`) or cannot be written.
        """
        return self._output("save").save(self, Path(path), overwrite)

    def _output(self, asked: str) -> Output:
        """Return the object that draws and saves the run; ModelError if there is none."""
        if self.output is None:
            got, needs = "a run that a method returned directly", "a run of `stiction.solve`"
            why = "only a run that `stiction.solve` returned can be drawn and saved."
            try_ = "call stiction.solve(system, method, t_span)."
            raise ModelError(f"Run.{asked}", got, needs, why, try_)
        return self.output

    def cite(self) -> str:
        """Return BibTeX entries of the papers of this run."""
        from stiction.core.citations import bibtex

        return bibtex(self.citations)

    def __repr__(self) -> str:
        """Return one line: system, method, status and audit."""
        unit = "" if self.time_unit == "1" else f" {self.time_unit}"
        failed, unknown = len(self.audit.failed), len(self.audit.not_checked)
        parts = [
            f"{self.system_name} by {self.method_name}",
            f"{self.status.value} at t = {self.t_end:.6g}{unit}",
            f"{count} event" if (count := len(self.event_log)) == 1 else f"{count} events",
            f"ledger {self.energy.imbalance_rel:.1e}" if self.energy.defined else "no energy",
            self.determinism.status,
            f"audit: {failed} failed" if failed else "audit held",
            *([f"{unknown} not checked"] if unknown else []),
            *(["UNVERIFIED"] if self.unverified else []),
        ]
        return f"<Run: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        """Return the one-screen summary for notebooks, with foldable events and results."""
        from stiction.core.summary import shown_html

        return shown_html(self)

    def __str__(self) -> str:
        """Return the one-screen summary."""
        from stiction.core.summary import screen

        return screen(self)


Measure = Callable[[Run], Quantity]
"""A function that computes a further quantity of a run; it may solve further runs."""
