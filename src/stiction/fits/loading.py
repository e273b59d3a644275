"""`stiction.load`: loads a saved run or a saved fit from its folder.

A saved fit has its law and a scenario, so that the fitted law can be simulated. `folder` wrote it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stiction.core.files import UNREADABLE
from stiction.errors import StoreError
from stiction.fits.outcome import Estimate, estimate_of
from stiction.io.contents import FIT
from stiction.io.scenario import Scenario, read_scenario
from stiction.io.staging import whereabouts
from stiction.io.store import load as load_run
from stiction.io.verify import Verdict, examine, refusal

if TYPE_CHECKING:
    from stiction.core.run import Run

__all__ = ["SavedFit", "load"]


@dataclass(frozen=True, eq=False)
class SavedFit:
    """A saved fit: its law, estimates and warnings, without the curves.

    Parameters
    ----------
    folder : path of the saved run or fit
    status : "fitted" or "untrusted"
    estimates : the parameters, without their profiles
    warnings : undetermined parameters, estimates at a bound, strongly correlated parameters
    summary : the content of fit.json
    unverified : why the loaded files are not verified, "" if they are

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import stiction as st
    >>> speed = np.linspace(-0.1, 0.1, 20)
    >>> curve = st.fits.Curve(force=0.3 * np.sign(speed), velocity=speed, noise=0.01)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = st.fit(curve, st.Coulomb).save(place + "/fit", figures=False)
    ...     fit = st.load(folder)
    ...     isinstance(fit, st.fits.SavedFit), round(float(fit.law.mu), 6)
    (True, 0.3)
    """

    folder: Path
    status: str
    estimates: Sequence[Estimate]
    warnings: Sequence[str]
    summary: Mapping[str, Any] = field(repr=False)
    unverified: str = ""

    def __getitem__(self, name: str) -> Estimate:
        """Return the estimate of one parameter; KeyError names the nearest one."""
        return estimate_of(self.estimates, name)

    def __repr__(self) -> str:
        """Return the one-screen summary of the fit."""
        return str(self.summary["screen"])

    @functools.cached_property
    def law(self) -> Any:
        """The law with the fitted values."""
        system: Any = self.scenario().system
        return getattr(system, "law", getattr(system, "model", system))

    def scenario(self) -> Scenario:
        """Return a scenario: a slider with this law that is driven as in the test."""
        return read_scenario(self.folder / "scenario.toml")


def load(path: str | Path, *, unverified: bool = False) -> Run | Any:
    """Return the `Run` or the `SavedFit` that was saved in the folder `path`.

    The digests of the files are checked before a file is read. `system` and `method` of a run are
    built from `scenario.toml`; they are None if that file names an object that only Python can
    hold.

    Parameters
    ----------
    path : the folder
    unverified : whether files that were changed after they were saved are read, as far as possible;
        the field `unverified` of a run or fit names these files

    Raises
    ------
    StoreError : if the folder has no saved run or fit, or a file is missing, damaged or was
        changed.

    Verified by: tests/unit/fits/test_outcome.py::test_a_saved_fit_is_loaded
    """
    folder = whereabouts(Path(path))
    if not (folder / FIT).is_file():
        return load_run(path, unverified=unverified)
    verdict = examine(folder, FIT)
    if verdict.summary is None or (verdict.suspect and not unverified):
        raise refusal(verdict)
    try:
        return _fit_of(verdict)
    except UNREADABLE as error:
        got = f"a file that cannot be read ({type(error).__name__}: {error})"
        needs, why = "a saved fit as it was written", "the file is truncated or changed."
        try_ = "restore the file from a backup, or fit again."
        raise StoreError(str(folder / FIT), got, needs, why, try_) from error


def _fit_of(verdict: Verdict) -> SavedFit:
    """Return the fit of a folder whose summary could be read."""
    assert verdict.summary is not None
    summary = verdict.summary
    numbers = ("value", "error", "low", "high")
    estimates = [
        Estimate(
            name=name,
            unit=one["unit"],
            # files of earlier versions have the key `told`
            message=one["message"] if "message" in one else one["told"],
            places=np.empty((0, 2)),
            # JSON has no infinities and no NaN
            **{k: float("nan" if one[k] is None else one[k]) for k in numbers},
        )
        for name, one in summary["parameters"].items()
    ]
    return SavedFit(
        folder=verdict.folder,
        status=summary["status"],
        estimates=tuple(estimates),
        warnings=tuple(summary["warnings"]),
        summary=summary,
        unverified=verdict.doubt,
    )
