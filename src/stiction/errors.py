"""Error classes, the status of a run, and the template every message follows.

A message says four things: what was got, what is needed, why, and what to try.
"""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stiction.core.run import Run

__all__ = [
    "ExtensionWarning",
    "ModelError",
    "PlainFunctionWarning",
    "ScenarioError",
    "SolveError",
    "Status",
    "StictionError",
    "StoreError",
    "advice_in",
    "explain",
    "nearest",
]


class StictionError(Exception):
    """Base class of every error this package raises on purpose.

    Parameters
    ----------
    where : the wrong argument, such as "Chain.mass"; or, alone, the whole message
    got, needs : the given value, and the values that are admitted
    why, try_ : sentences that say why it is needed, and what to try
    """

    def __init__(
        self, where: str, got: object = "", needs: str = "", why: str = "", try_: str = ""
    ) -> None:
        super().__init__(explain(where, got, needs, why, try_) if needs else where)


class ModelError(StictionError, ValueError):
    """A system, law, load or method was described with values that make no sense."""


class PlainFunctionWarning(UserWarning):
    """A user's function cannot be compiled, and runs as slowly as Python does."""


class ExtensionWarning(UserWarning):
    """What another package adds by its entry points cannot be used, and is left out."""


class ScenarioError(ModelError):
    """A scenario file does not describe a runnable problem."""


class StoreError(StictionError, OSError):
    """A saved run cannot be written or read."""

    def __str__(self) -> str:
        """Return the message alone; OSError would print a tuple."""
        return str(self.args[0]) if self.args else ""


class SolveError(StictionError, RuntimeError):
    """A solve ended before its time or cannot be trusted; `run` holds everything computed."""

    def __init__(self, message: str, run: Run | None = None) -> None:
        super().__init__(message)
        self.run = run


class Status(enum.Enum):
    """How a run ended. The value is what `summary.json` holds; `advice` says what to do."""

    SOLVED = "solved"
    STOPPED = "stopped"
    WORK_LIMIT = "work_limit"
    UNCONVERGED = "unconverged"
    NO_CONTINUATION = "no_continuation"
    NOT_FINITE = "not_finite"
    ACCUMULATION = "accumulation"
    INTERRUPTED = "interrupted"
    UNTRUSTED = "untrusted"

    @property
    def ok(self) -> bool:
        """Whether the run is complete, and its numbers may be trusted as far as its audit says."""
        return self in (Status.SOLVED, Status.STOPPED)

    @property
    def complete(self) -> bool:
        """Whether the run reached its end time, or the end its policy chose, trusted or not."""
        return self.ok or self is Status.UNTRUSTED

    @property
    def advice(self) -> str:
        """One line: what this status means and what to try."""
        return _ADVICE[self]


_ADVICE = {
    Status.SOLVED: "the end time was reached",
    Status.STOPPED: "the future is not unique there, and the policy says stop; choose one "
    "with a policy such as Leave, Sample or Enumerate",
    Status.WORK_LIMIT: "the allowed number of steps or events ran out before the end time; "
    "try a shorter time span, a larger limit, or a method with a fixed step",
    Status.UNCONVERGED: "a nonlinear solve did not converge; try a smaller step",
    Status.NO_CONTINUATION: "the model has no solution past this time, for the reason "
    "given; end the run before it; in a quasistatic problem inertia or damping would carry it on",
    Status.NOT_FINITE: "the state left the range of finite numbers; end the run before it, give "
    "loads and laws that are finite there, or take a smaller step",
    Status.ACCUMULATION: "infinitely many events pile up at one moment; "
    "end the run before it, or start again behind it with a mode of your choice",
    Status.INTERRUPTED: "the run was interrupted; continue it from its checkpoint with --resume",
    Status.UNTRUSTED: "a solver did not converge, or a value is beyond 100 times its limit; try "
    "smaller steps, or what the failed lines of the audit advise",
}

# what fits the one method of flows, which chooses its steps
_OF_FLOWS = {
    Status.WORK_LIMIT: "the allowed number of steps or events ran out before the end time; try a "
    "shorter time span, a larger limit or a larger rtol, and stiff=True for a stiff model",
    Status.NOT_FINITE: "the state left the range of finite numbers, or the field has no finite "
    "value there; end the run before it, or look at the functions at the last state",
}


def advice_in(room: str, status: Status) -> str:
    """Return what to do about a status in one of the rooms of the package, such as "chains"."""
    return _OF_FLOWS.get(status, status.advice) if room == "switching" else status.advice


# characters of what was got that an error shows
_LONGEST = 400


def explain(where: str, got: object, needs: str, why: str, try_: str) -> str:
    """Return the message of an error: what was got, what is needed, why, what to try."""
    text = str(got)
    if len(text) > _LONGEST:
        # a large object is known by its begin
        text = " ".join(text[: _LONGEST - 20].split()) + " ..."
    return f"{where}: got {text}; needs {needs}.\nWhy: {why}\nTry: {try_}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a phrase that names the known word closest to `name`, or lists a few."""
    words = sorted(known)
    match = difflib.get_close_matches(name, words, n=1, cutoff=0.5)
    if not match:
        folded = {word.lower(): word for word in words}
        found = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.5)
        match = [folded[word] for word in found]
    if match:
        return f"did you mean {match[0]!r}?"
    return "known: " + ", ".join(words) + "."
