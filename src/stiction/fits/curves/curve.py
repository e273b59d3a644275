"""A measured curve: force over time, displacement or velocity in SI units, one row per sample.

The columns are checked. Slip speeds and slip increments are derived from them for the friction law.
`reading.read_curve` makes a `Curve` from a file; `predicting.models.Predictor` and
`problem.Problem` use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.checks import Numbers, Record, numbers

__all__ = ["Curve"]

Floats = npt.NDArray[np.float64]

# fewest rows of a curve
FEWEST = 8
# units of the columns
_COLUMNS = {"force": "N", "time": "s", "displacement": "m", "velocity": "m/s", "normal_force": "N"}


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Record):
    """One test: measured force against time, displacement or velocity.

    The displacement is that of the slider if the rig imposes the slip, and that of the driven end
    of the spring if a spring pulls the slider. The fit attributes all errors to the force. Errors
    of the displacement must therefore be small.

    Parameters
    ----------
    force : (n,) measured force [N], or coefficient of friction [1] if `normal_force` is 1
    time : (n,) times [s], increasing; None if the law depends on neither speed nor time
    displacement, velocity : (n,) displacement [m], velocity [m/s]; at least one of them
    normal_force : (n,) or one number [N], > 0
    noise : (n,) or one number, standard deviation of the force [N]; None to estimate one number
    title : name of the curve
    cleaned : changes that were made to the rows of the file, one line for each

    Raises
    ------
    ModelError : on missing columns, different lengths, NaN, times out of order, too few rows.

    Verified by: tests/unit/fits/test_curve.py::test_bad_columns_are_refused

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> speed = np.linspace(-0.1, 0.1, 20)
    >>> st.fits.Curve(force=0.3 * np.sign(speed), velocity=speed, title="sweep 1").force.size
    20
    """

    force: Numbers
    time: Numbers | None = None
    displacement: Numbers | None = None
    velocity: Numbers | None = None
    normal_force: Numbers = 1.0
    noise: Numbers | None = None
    title: str = ""
    cleaned: Sequence[str] = field(default=())

    def __post_init__(self) -> None:
        clean = numbers("Curve.force", self.force, unit="N", per="row", why=_WHY, try_=_TRY)
        object.__setattr__(self, "force", clean)
        n = clean.size
        if n < FEWEST:
            why = "fewer rows do not determine the parameters and the noise."
            needs = f"at least {FEWEST}"
            raise ModelError("Curve.force", f"{n} rows", needs, why, "measure more rows.")
        for name in ("time", "displacement", "velocity", "normal_force", "noise"):
            given = getattr(self, name)
            if given is None:
                continue
            rule = "positive" if name in ("normal_force", "noise") else "finite"
            unit, where = _COLUMNS.get(name, "N"), f"Curve.{name}"
            size = n if np.ndim(given) == 0 or np.size(given) != n else None
            if np.ndim(given) == 0 and rule == "finite":
                size = None
            checked = numbers(
                where, given, size=size, rule=rule, unit=unit, per="row", why=_WHY, try_=_TRY
            )
            object.__setattr__(self, name, checked)
        self._check_together()
        object.__setattr__(self, "cleaned", tuple(self.cleaned))

    def _check_together(self) -> None:
        """Raise an error if no motion is given, times do not increase, or the force is constant."""
        if self.displacement is None and self.velocity is None:
            needs, why = "at least one of them", "the friction force depends on the motion."
            raise ModelError("Curve", "neither displacement nor velocity", needs, why, _TRY)
        if self.time is not None:
            steps = np.diff(np.asarray(self.time))
            if not (steps > 0.0).all():
                bad = int(np.argmin(steps > 0.0)) + 2
                got, needs = f"a time that does not increase at row {bad}", "increasing times"
                why = "the state of a contact depends on the order of the rows."
                try_ = "sort the rows by time, and remove rows with repeated times."
                raise ModelError("Curve.time", got, needs, why, try_)
        force = np.asarray(self.force)
        if not np.ptp(force) > 0.0:
            got, needs = f"{force[0]:g} N in every row", "a force that varies"
            why = "a constant force suggests that the sensor was not connected."
            raise ModelError("Curve.force", got, needs, why, "check the raw data.")

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(np.size(self.force))

    @property
    def clock(self) -> Floats:
        """(n,) times [s]; row numbers from 0 if no times were measured."""
        return np.arange(float(self.rows)) if self.time is None else np.asarray(self.time)

    def speeds(self) -> Floats:
        """(n,) slip speeds at the rows [m/s]: measured, or else means of the speeds on both sides.

        The speed is NaN at a row where the speeds on both sides have opposite signs, or one of them
        is zero: there the law has no defined force.

        Verified by: tests/unit/fits/test_curve.py::test_speeds_of_a_displacement
        """
        if self.velocity is not None:
            return np.asarray(self.velocity)
        rate = np.diff(np.asarray(self.displacement)) / np.diff(self.clock)
        before, after = np.r_[rate[0], rate], np.r_[rate, rate[-1]]
        speed = 0.5 * (before + after)
        speed[before * after < 0.0] = np.nan
        # the speed is zero on one side only: motion begins or ends at this row
        speed[(before == 0.0) ^ (after == 0.0)] = np.nan
        return np.asarray(speed)

    def steps(self) -> Floats:
        """(n,) displacement since the previous row [m]; 0 at the first row.

        Measured velocities are integrated by the trapezoidal rule.
        """
        if self.displacement is not None:
            return np.asarray(np.r_[0.0, np.diff(np.asarray(self.displacement))])
        v, dt = np.asarray(self.velocity), np.diff(self.clock)
        return np.asarray(np.r_[0.0, 0.5 * (v[1:] + v[:-1]) * dt])


_WHY = "a fit compares these columns row by row."
_TRY = "give one finite number per row; read_curve cleans files."
