"""Error classes, the status of a run, and the template of error messages.

Every message has four parts: the value that was given, the values that are needed, the reason, and
a remedy.
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
    """Base class of all errors that this package raises deliberately.

    Parameters
    ----------
    where : the wrong argument, such as "Chain.mass"; without `needs`, the whole message
    got, needs : the given value, and the admissible values
    why, try_ : sentences that give the reason and a remedy
    """

    def __init__(
        self, where: str, got: object = "", needs: str = "", why: str = "", try_: str = ""
    ) -> None:
        super().__init__(explain(where, got, needs, why, try_) if needs else where)


class ModelError(StictionError, ValueError):
    """A parameter of a system, law, load or method has an inadmissible value."""


class PlainFunctionWarning(UserWarning):
    """A user's function cannot be compiled by Numba and runs in the Python interpreter."""


class ExtensionWarning(UserWarning):
    """A class that another package adds by an entry point cannot be used and is ignored."""


class ScenarioError(ModelError):
    """A scenario file does not describe a runnable problem."""


class StoreError(StictionError, OSError):
    """A saved run cannot be written or read."""

    def __str__(self) -> str:
        """Return the message alone; OSError would print a tuple."""
        return str(self.args[0]) if self.args else ""


class SolveError(StictionError, RuntimeError):
    """A solve ended before its end time, or its result is untrusted.

    Parameters
    ----------
    message : what was got, what is needed, why, and what to try
    run : all results, up to where the solve ended
    path : the equilibria that a function which follows them has found
    """

    def __init__(self, message: str, run: Run | None = None, path: object = None) -> None:
        super().__init__(message)
        self.run = run
        self.path = path


class Status(enum.Enum):
    """How a run ended. `summary.json` holds the value; `advice` gives a remedy."""

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
        """Whether the run is complete and no check of its audit makes it untrusted."""
        return self in (Status.SOLVED, Status.STOPPED)

    @property
    def complete(self) -> bool:
        """Whether the run reached its end time or the end that its policy chose, trusted or not."""
        return self.ok or self is Status.UNTRUSTED

    @property
    def advice(self) -> str:
        """One line: the meaning of this status and a remedy."""
        return _ADVICE[self]


_ADVICE = {
    Status.SOLVED: "the end time was reached",
    Status.STOPPED: "the solution is not unique after this time, and the policy ends the run; a "
    "policy such as Leave, Sample or Enumerate selects one solution",
    Status.WORK_LIMIT: "the allowed number of steps or events ran out before the end time; "
    "try a shorter time span, a larger limit, or a method with a fixed step",
    Status.UNCONVERGED: "a nonlinear solve did not converge; try a smaller step",
    Status.NO_CONTINUATION: "the model has no solution after this time, for the reason given; end "
    "the run before this time, or solve a quasistatic problem with inertia or damping instead",
    Status.NOT_FINITE: "the state is no longer finite (overflow or NaN); end the run before this "
    "time, give loads and laws that are finite there, or take a smaller step",
    Status.ACCUMULATION: "infinitely many events accumulate at one time (Zeno behaviour); "
    "end the run before this time, or start a new run after it in a mode of your choice",
    Status.INTERRUPTED: "the run was interrupted; continue it from its checkpoint with --resume",
    Status.UNTRUSTED: "a solver did not converge, or a value is beyond 100 times its limit; try "
    "smaller steps, or follow the advice in the failed lines of the audit",
}

# the method of piecewise-smooth flows chooses its steps itself, so the advice differs
_OF_FLOWS = {
    Status.WORK_LIMIT: "the allowed number of steps or events ran out before the end time; try a "
    "shorter time span, a larger limit or a larger rtol, and stiff=True for a stiff model",
    Status.NOT_FINITE: "the state or the vector field is no longer finite (overflow or NaN); end "
    "the run before this time, or evaluate your functions at the last state",
}


def advice_in(subpackage: str, status: Status) -> str:
    """Return the advice on a status for the systems of a subpackage, such as "chains"."""
    return _OF_FLOWS.get(status, status.advice) if subpackage == "switching" else status.advice


# longest text of the given value in a message [characters]
_LONGEST = 400


def explain(where: str, got: object, needs: str, why: str, try_: str) -> str:
    """Return the message of an error: given value, needed values, reason, remedy."""
    text = str(got)
    if len(text) > _LONGEST:
        # the beginning of a long text identifies the object
        text = " ".join(text[: _LONGEST - 20].split()) + " ..."
    return f"{where}: got {text}; needs {needs}.\nWhy: {why}\nTry: {try_}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a phrase that names the known word closest to `name`, or that lists all words."""
    words = sorted(known)
    match = difflib.get_close_matches(name, words, n=1, cutoff=0.5)
    if not match:
        folded = {word.lower(): word for word in words}
        found = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.5)
        match = [folded[word] for word in found]
    if match:
        return f"did you mean {match[0]!r}?"
    return "known: " + ", ".join(words) + "."
