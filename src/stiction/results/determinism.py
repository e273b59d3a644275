"""Whether the future was unique; where it was not, and which choice was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Determinism", "Loss"]


@dataclass(frozen=True)
class Loss:
    """One moment at which the model allows more than one future.

    Parameters
    ----------
    time : [s, or the time unit of the run]
    kind : `quasistatic_branches`, `no_continuation`, `grazing_onset`, `two_fold`,
        `escaping_start`, `codim2_line`, `limit_point`, ...
    where : what is known of the place: contact, state, forces
    choice : what the run did there
    """

    time: float
    kind: str
    where: Mapping[str, object] = field(default_factory=dict)
    choice: str = ""


@dataclass(frozen=True)
class Determinism:
    """The losses of a run, in order of time; none means the future was unique."""

    losses: Sequence[Loss] = ()

    @property
    def status(self) -> str:
        """Return "deterministic" or "lost"."""
        return "lost" if self.losses else "deterministic"
