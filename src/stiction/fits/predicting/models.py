"""What a law says of a curve on a rig: the force at every row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.fits.curves.curve import Curve
from stiction.fits.parameters import Law
from stiction.fits.predicting import law_kernels as lk
from stiction.fits.predicting.pull_kernels import pull, saw
from stiction.fits.predicting.slide_kernels import slide
from stiction.fits.rigs import ImposedSlip, Rig, SpringDrive
from stiction.numerics.jit import quiet

__all__ = ["Predicted", "Predictor", "without_clock"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# laws of slip alone, for which no time is needed
_NO_CLOCK = ("Coulomb", "StaticKinetic", "Dahl", "BoucWen")
_CURVES = ("Coulomb", "StaticKinetic", "ExponentialWeakening", "Stribeck")
_RATES = (lk.RATE_STATE, ("a", "b", "length", "mu0", "speed0"), "")
_BENT = "deflection_start"
# of laws with a state: what kernels call them, their numbers in order, the state at the start
_ROWS: Mapping[str, tuple[int, tuple[str, ...], str]] = {
    "Dahl": (lk.DAHL, ("sigma0", "mu", "power"), _BENT),
    "LuGre": (
        lk.LUGRE,
        ("sigma0", "sigma1", "sigma2", "mu_static", "mu_kinetic", "v_scale", "power"),
        _BENT,
    ),
    "BoucWen": (lk.BOUC_WEN, ("sigma0", "a", "beta", "gamma", "power"), _BENT),
    "AgeingLaw": _RATES,
    "SlipLaw": _RATES,
    "AgeingCoulomb": (lk.AGEING_COULOMB, ("mu_fresh", "growth", "time", "length"), "age_start"),
}
_ON_SPRINGS = (*_CURVES, "Dahl", "LuGre", "BoucWen", "AgeingLaw", "SlipLaw")


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
    law : the class of the laws
    """

    def __init__(self, curve: Curve, rig: Rig, law: type[Law]) -> None:
        self.curve, self.rig, self.law, self.name = curve, rig, law, law.__name__
        self.dx = curve.steps()
        self.normal = np.asarray(curve.normal_force, dtype=np.float64)
        self.clock = curve.clock
        self.dt = np.r_[1.0, np.diff(self.clock)]
        self.since = self.clock - self.clock[0]
        self._check()
        if isinstance(rig, ImposedSlip):
            self.speed = self._speeds(curve)
            self.rests = np.abs(self.speed) <= rig.rest
        self._first = self._first_speed()
        # rows that say something of the law
        self.used = np.ones(curve.rows, dtype=bool)
        if isinstance(rig, ImposedSlip):
            self.used = np.isfinite(self.speed)
            if self.name in ("AgeingLaw", "SlipLaw"):
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
                raise ModelError("Curve.time", "none", "times [s]", why, "measure them.")
        if isinstance(rig, SpringDrive):
            if name not in _ON_SPRINGS:
                needs, why = "one of " + ", ".join(_ON_SPRINGS), "these are followed on a spring."
                try_ = "fit it on data of imposed slip, by ImposedSlip()."
                raise ModelError("fit.law", name, needs, why, try_)
            massless = not hasattr(rig.mass, "start") and rig.mass == 0.0
            if massless and name in ("Stribeck", "ExponentialWeakening", "LuGre"):
                why = f"on a spring without mass {name} jumps at speeds that nothing bounds."
                needs = "a mass [kg], or Free()"
                raise ModelError("SpringDrive.mass", "0", needs, why, "weigh the slider.")
            if not massless and name in ("AgeingLaw", "SlipLaw"):
                why = "rate and state is followed without inertia, in balance with the spring."
                try_ = "leave the mass out; waves are told by impedance."
                raise ModelError("SpringDrive.mass", "a mass", "0", why, try_)
            if curve.time is None and not massless:
                why = "a mass takes time."
                raise ModelError("Curve.time", "none", "times [s]", why, "measure them.")

    def __call__(self, fields: Mapping[str, float], rig: Mapping[str, float]) -> Predicted:
        """Return the force by the law and on the rig with these fields, all of them numbers."""
        with quiet():
            if isinstance(self.rig, SpringDrive):
                return self._pulled(fields, rig)
            return self._slid(fields)

    # ---- imposed slip

    def _slid(self, fields: Mapping[str, float]) -> Predicted:
        if self.name not in _ROWS:
            static, mu = self._bound_and_slip(fields)
            bound = np.where(self.rests, static * self.normal, np.inf)
            force = np.where(self.rests, 0.0, mu * np.sign(self.speed) * self.normal)
            return Predicted(force, bound)
        code, p, z = self._row(fields)
        out = np.empty(self.curve.rows)
        slide(code, p, z, self.dt, self.dx, self.speed, out)
        if code != lk.AGEING_COULOMB:
            return Predicted(out * self.normal)
        bound = np.where(self.rests, np.abs(out) * self.normal, np.inf)
        return Predicted(np.where(self.rests, 0.0, out * self.normal), bound)

    def _bound_and_slip(self, fields: Mapping[str, float]) -> tuple[float, Floats]:
        """Return what bounds stick, and the coefficient at the rows."""
        if self.name not in _CURVES:
            cls: Any = self.law
            law = cls(**fields)
            return float(law.static()), np.asarray(law.coefficient(self.speed))
        p, v = _curve_row(self.name, fields), np.abs(self.speed)
        x = v / p[2]
        y = x if p[3] == 1.0 else x * x
        return p[5], np.asarray(p[1] + (p[0] - p[1]) * np.exp(-y) + p[4] * v)

    def _row(self, fields: Mapping[str, float]) -> tuple[int, Floats, float]:
        """Return code, parameters and the state at the first row."""
        code, names, start = _ROWS[self.name]
        p = np.zeros(8)
        p[: len(names)] = [fields[name] for name in names]
        if code != lk.RATE_STATE:
            return code, p, fields[start]
        p[5], p[6] = float(self.name == "SlipLaw"), float(fields["regularised"])
        return code, p, float(np.log(p[2] / self._first))

    def _first_speed(self) -> float:
        """Return the speed at which a test begins, in steady slip."""
        imposed = isinstance(self.rig, ImposedSlip)
        speeds = np.abs(self.speed if imposed else self.dx[1:] / self.dt[1:])
        moving = speeds[speeds > 0.0]
        return float(moving[0]) if moving.size else 1.0

    # ---- a spring

    def _pulled(self, fields: Mapping[str, float], rig: Mapping[str, float]) -> Predicted:
        k, m, force = rig["stiffness"], rig["mass"], rig["force_start"]
        out = np.empty(self.curve.rows)
        y = np.array([force / k, 0.0, 0.0])
        if self.name in _CURVES:
            code, p = lk.STRIBECK, _curve_row(self.name, fields)
            if m == 0.0:
                pair = np.array([p[5], p[1]])
                return Predicted(out, None, saw(pair, k, force, self.dx, self.normal, out))
        else:
            code, p, y[2] = self._row(fields)
            if code == lk.RATE_STATE:
                y[1] = np.log(p[2]) - y[2]
            elif force:
                y[2] = force / (self.normal[0] * p[0])
        r = np.array([k, m, 0.0, rig["impedance"]])
        if not np.isfinite(y).all():
            out[:] = np.nan
            return Predicted(out)
        events, _ = pull(code, p, r, y, self.dt, self.dx, self.normal, out)
        return Predicted(out, None, int(events))


def _curve_row(name: str, f: Mapping[str, float]) -> Floats:
    """Return top and foot of the curve, its scale, power, viscous part, and the bound of stick."""
    if name == "Coulomb":
        row = [f["mu"], f["mu"], 1.0, 1.0, 0.0, f["mu"]]
    elif name == "StaticKinetic":
        row = [f["mu_kinetic"], f["mu_kinetic"], 1.0, 1.0, 0.0, f["mu_static"]]
    else:
        power, viscous = f.get("power", 1.0), f.get("viscous", 0.0)
        row = [f["mu_static"], f["mu_kinetic"], f["v_scale"], power, viscous, f["mu_static"]]
    return np.array([*row, 0.0, 0.0])
