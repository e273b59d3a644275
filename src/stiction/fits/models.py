"""What a law says of a curve on a rig: the force at every row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.fits import law_kernels as lk
from stiction.fits.curve import Curve
from stiction.fits.parameters import Law, law_name
from stiction.fits.pull_kernels import pull, saw
from stiction.fits.rigs import ImposedSlip, Rig, SpringDrive
from stiction.fits.slide_kernels import slide
from stiction.laws.friction import Friction
from stiction.laws.rate_and_state import RateAndState
from stiction.numerics.jit import quiet

__all__ = ["Predicted", "Predictor", "without_clock"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# laws of slip alone, for which no time is needed
_NO_CLOCK = ("Coulomb", "StaticKinetic", "Dahl", "BoucWen")
_PRESLIDING = {"Dahl": lk.DAHL, "LuGre": lk.LUGRE, "BoucWen": lk.BOUC_WEN}
_ON_SPRINGS = (
    "Coulomb", "StaticKinetic", "ExponentialWeakening", "Stribeck", "Dahl", "LuGre", "BoucWen",
    "AgeingLaw", "SlipLaw",
)  # fmt: skip


def without_clock(name: str) -> bool:
    """Return whether a law of this name needs no times."""
    return name in _NO_CLOCK


@dataclass(frozen=True)
class Predicted:
    """The force at the rows of one curve, less offset and drift.

    Parameters
    ----------
    force : (n,) [N]
    bound : (n,) what stick carries at the most where a row is at rest [N]; infinite elsewhere
    events : how often it broke away or came to rest
    """

    force: Floats
    bound: Floats | None = None
    events: int = 0


class Predictor:
    """A curve on a rig, ready for many laws of one kind.

    Parameters
    ----------
    curve, rig : what was measured, and how
    name : of the class of the laws
    """

    def __init__(self, curve: Curve, rig: Rig, name: str) -> None:
        self.curve, self.rig, self.name = curve, rig, name
        self.dx = curve.steps()
        self.normal = np.asarray(curve.normal_force, dtype=np.float64)
        self.clock = curve.clock
        self.dt = np.r_[1.0, np.diff(self.clock)]
        self.since = self.clock - self.clock[0]
        self._check()
        if isinstance(rig, ImposedSlip):
            self.speed = self._speeds(curve)
            self.rests = np.abs(self.speed) <= rig.rest
        # rows that say something of the law
        self.used = np.ones(curve.rows, dtype=bool)
        if isinstance(rig, ImposedSlip):
            self.used = np.isfinite(self.speed)
            if name in ("AgeingLaw", "SlipLaw"):
                self.used &= self.speed != 0.0
            self.speed = np.where(np.isfinite(self.speed), self.speed, 0.0)

    def _speeds(self, curve: Curve) -> Floats:
        if self.name in ("Dahl", "BoucWen"):
            # the force is one of slip alone; a speed is never asked for
            return np.ones(curve.rows)
        return curve.speeds()

    def _check(self) -> None:
        curve, rig, name = self.curve, self.rig, self.name
        if curve.time is None and not without_clock(name):
            speeds = isinstance(rig, ImposedSlip) and curve.velocity is not None
            if not (speeds and name in ("Stribeck", "ExponentialWeakening")) and not (
                speeds and name not in (*_ON_SPRINGS, "AgeingCoulomb")
            ):
                why = f"{name} depends on speeds, or on times."
                raise ModelError(explain("Curve.time", "none", "times [s]", why, "measure them."))
        if isinstance(rig, SpringDrive):
            if name not in _ON_SPRINGS:
                needs, why = "one of " + ", ".join(_ON_SPRINGS), "these are followed on a spring."
                try_ = "fit it on data of imposed slip, by ImposedSlip()."
                raise ModelError(explain("fit.law", name, needs, why, try_))
            massless = not hasattr(rig.mass, "start") and rig.mass == 0.0
            if massless and name in ("Stribeck", "ExponentialWeakening", "LuGre"):
                why = f"on a spring without mass {name} jumps at speeds that nothing bounds."
                needs = "a mass [kg], or Free()"
                raise ModelError(explain("SpringDrive.mass", "0", needs, why, "weigh the slider."))
            if not massless and name in ("AgeingLaw", "SlipLaw"):
                why = "rate and state is followed without inertia, in balance with the spring."
                try_ = "leave the mass out; waves are told by impedance."
                raise ModelError(explain("SpringDrive.mass", "a mass", "0", why, try_))
            if curve.time is None and not massless:
                why = "a mass takes time."
                raise ModelError(explain("Curve.time", "none", "times [s]", why, "measure them."))

    def __call__(self, law: Law, rig: Rig) -> Predicted:
        """Return the force by a law, on a rig with numbers in all its fields."""
        with quiet():
            if isinstance(rig, SpringDrive):
                return self._pulled(law, rig)
            return self._slid(law)

    # ---- imposed slip

    def _slid(self, law: Law) -> Predicted:
        if isinstance(law, Friction) and not law.states:
            speed = self.speed
            mu = law.coefficient(speed) * np.sign(speed)
            bound = np.where(self.rests, law.static() * self.normal, np.inf)
            return Predicted(np.where(self.rests, 0.0, mu * self.normal), bound)
        code, p, z = self._row(law)
        out = np.empty(self.curve.rows)
        slide(code, p, z, self.dt, self.dx, self.speed, out)
        if code != lk.AGEING_COULOMB:
            return Predicted(out * self.normal)
        bound = np.where(self.rests, np.abs(out) * self.normal, np.inf)
        return Predicted(np.where(self.rests, 0.0, out * self.normal), bound)

    def _row(self, law: Law) -> tuple[int, Floats, float]:
        """Return code, parameters and the state at the first row."""
        p = np.zeros(8)
        if isinstance(law, RateAndState):
            given = (law.a, law.b, law.length, law.mu0, law.speed0, law.evolution, law.regularised)
            p[:7] = np.asarray(given, dtype=np.float64)
            moving = np.abs(self._first_speeds())
            return lk.RATE_STATE, p, float(np.log(p[2] / moving[moving > 0.0][0]))
        rows = [float(row[0]) for row in law.parameters(1)]
        p[: len(rows)] = rows
        start = float(law.state_start(1)[0, 0])
        return _PRESLIDING.get(type(law).__name__, lk.AGEING_COULOMB), p, start

    def _first_speeds(self) -> Floats:
        if isinstance(self.rig, ImposedSlip):
            return self.speed
        return np.asarray(self.dx[1:] / self.dt[1:])

    # ---- a spring

    def _pulled(self, law: Law, rig: SpringDrive) -> Predicted:
        k, m, force = _plain(rig.stiffness), _plain(rig.mass), _plain(rig.force_start)
        out = np.empty(self.curve.rows)
        if type(law).__name__ in ("Coulomb", "StaticKinetic") and m == 0.0:
            p = np.array([float(np.asarray(row[0])) for row in law.parameters(1)])  # type: ignore[union-attr]
            return Predicted(out, None, saw(np.r_[p, p][:2], k, force, self.dx, self.normal, out))
        y = np.array([force / k, 0.0, 0.0])
        if isinstance(law, Friction) and not law.states:
            code, p = lk.STRIBECK, _curve_row(law)
        else:
            code, p, z = self._row(law)
            y[2] = z
            if code == lk.RATE_STATE:
                y[1] = np.log(p[2]) - z
            elif force:
                y[2] = force / (self.normal[0] * p[0])
        r = np.array([k, m, 0.0, rig.impedance])
        work = np.empty(18)
        if not np.isfinite(y).all():
            out[:] = np.nan
            return Predicted(out)
        events, _ = pull(code, p, r, y, self.dt, self.dx, self.normal, work, out)
        return Predicted(out, None, int(events))


def _plain(value: object) -> float:
    return float(value)  # type: ignore[arg-type]


def _curve_row(law: Friction) -> Floats:
    """Return top and foot of the curve, its scale, power, viscous part, and the bound of stick."""
    name = law_name(law)
    p = [float(row[0]) for row in law.parameters(1)]
    if name == "Coulomb":
        return np.array([p[0], p[0], 1.0, 1.0, 0.0, p[0], 0.0, 0.0])
    if name == "StaticKinetic":
        return np.array([p[1], p[1], 1.0, 1.0, 0.0, p[0], 0.0, 0.0])
    if name == "ExponentialWeakening":
        return np.array([p[0], p[1], p[2], 1.0, 0.0, p[0], 0.0, 0.0])
    return np.array([*p[:5], p[0], 0.0, 0.0])
