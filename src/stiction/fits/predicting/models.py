"""Prediction of the force at the rows of a measured curve, for imposed slip or a pulled slider.

`Predictor` checks once whether curve, rig and law fit together. It is then called by
`stiction.fits.problem` for many sets of parameters, and calls the compiled kernels. Laws without a
state have closed forms for imposed slip: mu(|v|) N sign(v), and in stick any force up to mu_s N.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.fits.curves.curve import Curve
from stiction.fits.parameters import Law, law_name
from stiction.fits.predicting import law_kernels as lk
from stiction.fits.predicting.slip_kernels import follow_slip
from stiction.fits.predicting.spring_kernels import (
    SPEED,
    STATE,
    follow_spring,
    massless_stick_slip,
)
from stiction.fits.rigs import ImposedSlip, Rig, SpringDrive
from stiction.numerics.jit import quiet

__all__ = ["Predicted", "Predictor", "without_clock"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# rate-independent laws, which need no times
_NO_CLOCK = ("Coulomb", "StaticKinetic", "Dahl", "BoucWen")
# laws without a state, which the kernels have as STRIBECK
_STATELESS = ("Coulomb", "StaticKinetic", "ExponentialWeakening", "Stribeck")
_RATES = (lk.RATE_STATE, ("a", "b", "length", "mu0", "speed0"), "")
_DEFLECTION = "deflection_start"
# {law with a state: (code in the kernels, its parameters in order, field of the initial state)}
_STATE_LAWS: Mapping[str, tuple[int, tuple[str, ...], str]] = {
    "Dahl": (lk.DAHL, ("sigma0", "mu", "power"), _DEFLECTION),
    "LuGre": (
        lk.LUGRE,
        ("sigma0", "sigma1", "sigma2", "mu_static", "mu_kinetic", "v_scale", "power"),
        _DEFLECTION,
    ),
    "BoucWen": (lk.BOUC_WEN, ("sigma0", "a", "beta", "gamma", "power"), _DEFLECTION),
    "AgeingLaw": _RATES,
    "SlipLaw": _RATES,
    "AgeingCoulomb": (lk.AGEING_COULOMB, ("mu_fresh", "growth", "time", "length"), "age_start"),
}
# largest reversal of the end of the spring over its path, with rate and state, that counts as noise
# of the measurement
_LEAST_BACK = 0.1
_ON_SPRINGS = (*_STATELESS, "Dahl", "LuGre", "BoucWen", "AgeingLaw", "SlipLaw")


def without_clock(name: str) -> bool:
    """Return whether the law of this name is rate-independent and needs no times."""
    return name in _NO_CLOCK


@dataclass(frozen=True)
class Predicted:
    """The predicted force at the n rows of one curve, without offset and drift.

    Parameters
    ----------
    force : (n,) predicted force [N]
    bound : (n,) bound of the friction force in rows that stick [N], infinite in other rows; None if
        no row sticks
    events : number of onsets of slip and of stops
    """

    force: Floats
    bound: Floats | None = None
    events: int = 0


class Predictor:
    """Prediction of one curve for many sets of parameters of one law.

    Parameters
    ----------
    curve, rig : the measured curve and the test rig
    law : the class of the law

    Attributes
    ----------
    dt, dx : (n,) time [s] and displacement [m] since the previous row
    normal, speed : (n,) normal force [N], imposed slip speed [m/s]
    since : (n,) time since the first row [s]
    sticks, used : (n,) which rows stick, and which have a defined slip speed
    """

    def __init__(self, curve: Curve, rig: Rig, law: type[Law]) -> None:
        self.curve, self.rig, self.law, self.name = curve, rig, law, law_name(law)
        self.dx = curve.steps()
        self.normal = np.asarray(curve.normal_force, dtype=np.float64)
        self.clock = curve.clock
        self.dt = np.r_[1.0, np.diff(self.clock)]
        self.since = self.clock - self.clock[0]
        self._check()
        if isinstance(rig, ImposedSlip):
            self.speed = self._speeds(curve)
            self.sticks = np.abs(self.speed) <= rig.rest
        self._first = self._first_speed()
        # rows whose slip speed is defined
        self.used = np.ones(curve.rows, dtype=bool)
        if isinstance(rig, ImposedSlip):
            self.used = np.isfinite(self.speed)
            if self.name in ("AgeingLaw", "SlipLaw"):
                self.used &= self.speed != 0.0
            self.speed = np.where(np.isfinite(self.speed), self.speed, 0.0)

    def _speeds(self, curve: Curve) -> Floats:
        """Return (n,) slip speeds [m/s]; ones for laws that do not depend on them."""
        if self.name in ("Dahl", "BoucWen"):
            # rate-independent: speeds are not used
            return np.ones(curve.rows)
        return curve.speeds()

    def _check(self) -> None:
        """Raise ModelError if times are missing, or the law and the rig do not fit together."""
        curve, rig, name = self.curve, self.rig, self.name
        if curve.time is None and not without_clock(name):
            # measured speeds are enough for a law without a state; it may be a law of the user
            has_speeds = isinstance(rig, ImposedSlip) and curve.velocity is not None
            if not has_speeds or name in _STATE_LAWS:
                why = f"{name} depends on the slip speed, which follows from times."
                if name in _STATE_LAWS:
                    why = f"the state of {name} is integrated over time."
                raise ModelError("Curve.time", "none", "times [s]", why, "measure the times.")
        follows = isinstance(rig, SpringDrive) or name in _STATE_LAWS
        if curve.time is None and curve.displacement is None and follows:
            needs = "times [s], or displacements [m]"
            why = "a displacement is the integral of the velocity over the time."
            raise ModelError(
                "Curve.time", "none", needs, why, "measure the times or the displacements."
            )
        if isinstance(rig, SpringDrive):
            if name not in _ON_SPRINGS:
                needs, why = (
                    "one of " + ", ".join(_ON_SPRINGS),
                    "only these laws are integrated for a slider behind a spring.",
                )
                try_ = "fit this law to data of imposed slip, by ImposedSlip()."
                raise ModelError("fit.law", name, needs, why, try_)
            massless = not hasattr(rig.mass, "start") and rig.mass == 0.0
            if massless and name in ("Stribeck", "ExponentialWeakening", "LuGre"):
                why = f"without mass, a slider with {name} behind a spring jumps at infinite speed."
                needs = "a mass [kg], or Free()"
                raise ModelError(
                    "SpringDrive.mass",
                    "0",
                    needs,
                    why,
                    "give the mass of the slider, or Free() to fit it.",
                )
            if not massless and name in ("AgeingLaw", "SlipLaw"):
                why = (
                    "rate-and-state laws are integrated without inertia, in equilibrium of forces."
                )
                try_ = "leave the mass out; `impedance` models radiation damping."
                raise ModelError("SpringDrive.mass", "a mass", "0", why, try_)
            if name in ("AgeingLaw", "SlipLaw"):
                self._check_steady_slip()
            if curve.time is None and not massless:
                why = "the acceleration of a mass depends on time."
                raise ModelError("Curve.time", "none", "times [s]", why, "measure the times.")

    def _check_steady_slip(self) -> None:
        """Raise ModelError for tests that steady slip in one direction cannot begin or follow.

        The end of the spring may go back by less than a tenth of its path.
        """
        start = self.rig.force_start if isinstance(self.rig, SpringDrive) else 0.0
        if start != 0.0:
            why = "with a rate-and-state law the run starts in steady slip, which fixes the force."
            where, try_ = "SpringDrive.force_start", "leave this value out."
            raise ModelError(where, repr(start), "0 for a rate-and-state law", why, try_)
        place = np.cumsum(self.dx) * (-1.0 if self.dx.sum() < 0.0 else 1.0)
        back = float(np.max(np.maximum.accumulate(place) - place))
        if back > _LEAST_BACK * float(np.ptp(place)):
            why = (
                "behind a spring, a rate-and-state law is integrated for slip in one direction "
                "only."
            )
            needs = "a displacement that rises, or one that falls"
            try_ = "fit each direction as a curve of its own, or use ImposedSlip()."
            raise ModelError("Curve.displacement", f"a reversal of {back:.3g} m", needs, why, try_)

    def __call__(self, fields: Mapping[str, float], rig: Mapping[str, float]) -> Predicted:
        """Return the predicted force for these values of the fields of law and rig."""
        with quiet():
            if isinstance(self.rig, SpringDrive):
                return self._on_spring(fields, rig)
            return self._on_imposed_slip(fields)

    # ---- imposed slip

    def _on_imposed_slip(self, fields: Mapping[str, float]) -> Predicted:
        """Return the friction force; its bound where the slider sticks, for laws that bound it."""
        if self.name not in _STATE_LAWS:
            static, mu = self._bound_and_coefficient(fields)
            bound = np.where(self.sticks, static * self.normal, np.inf)
            force = np.where(self.sticks, 0.0, mu * np.sign(self.speed) * self.normal)
            return Predicted(force, bound)
        code, p, z = self._kernel_law(fields)
        out = np.empty(self.curve.rows)
        follow_slip(code, p, z, self.dt, self.dx, self.speed, out)
        if code != lk.AGEING_COULOMB:
            return Predicted(out * self.normal)
        bound = np.where(self.sticks, np.abs(out) * self.normal, np.inf)
        return Predicted(np.where(self.sticks, 0.0, out * self.normal), bound)

    def _bound_and_coefficient(self, fields: Mapping[str, float]) -> tuple[float, Floats]:
        """Return the static coefficient, and (n,) the kinetic coefficient at the rows."""
        if self.name not in _STATELESS:
            cls: Any = self.law
            law = cls(**fields)
            return float(law.static()), np.asarray(law.coefficient(self.speed))
        mu_start, mu_kinetic, v_scale, power, viscous, static, *_ = _stribeck_numbers(
            self.name, fields
        )
        v = np.abs(self.speed)
        x = v / v_scale
        # these laws admit the powers 1 and 2 only
        y = x if power == 1.0 else x * x
        weakened = mu_kinetic + (mu_start - mu_kinetic) * np.exp(-y)
        return static, np.asarray(weakened + viscous * v)

    def _kernel_law(self, fields: Mapping[str, float]) -> tuple[int, Floats, float]:
        """Return code, parameters (N_PARAMETERS,) and initial state of the law for the kernels."""
        code, names, start = _STATE_LAWS[self.name]
        p = np.zeros(lk.N_PARAMETERS)
        p[: len(names)] = [fields[name] for name in names]
        if code != lk.RATE_STATE:
            return code, p, fields[start]
        # after the five parameters: which law, and whether it is regularised
        p[5], p[6] = float(self.name == "SlipLaw"), float(fields["regularised"])
        # steady slip at the first speed V: theta = L / V
        return code, p, float(np.log(fields["length"] / self._first))

    def _first_speed(self) -> float:
        """Return the first nonzero slip speed, 1 m/s if there is none.

        The initial state of rate and state is that of steady slip at this speed.
        """
        imposed = isinstance(self.rig, ImposedSlip)
        speeds = np.abs(self.speed if imposed else self.dx[1:] / self.dt[1:])
        moving = speeds[speeds > 0.0]
        return float(moving[0]) if moving.size else 1.0

    # ---- slider behind a spring

    def _on_spring(self, fields: Mapping[str, float], rig: Mapping[str, float]) -> Predicted:
        """Return the force of the spring, from rest, or for rate and state from steady slip."""
        k, m, force = rig["stiffness"], rig["mass"], rig["force_start"]
        out = np.empty(self.curve.rows)
        # extension, slip velocity and state of the law at the first row
        y = np.array([force / k, 0.0, 0.0])
        if self.name in _STATELESS:
            code, p = lk.STRIBECK, _stribeck_numbers(self.name, fields)
            if m == 0.0:
                # massless: these laws are Coulomb and StaticKinetic, see `_check`
                _, mu_kinetic, _, _, _, static, *_ = p
                pair = np.array([static, mu_kinetic])
                return Predicted(
                    out, None, massless_stick_slip(pair, k, force, self.dx, self.normal, out)
                )
        else:
            code, p, y[STATE] = self._kernel_law(fields)
            if code == lk.RATE_STATE:
                # ln V = ln L - ln theta in steady slip
                y[SPEED] = np.log(fields["length"]) - y[STATE]
            elif force:
                # a given initial force fixes the deflection, N sigma0 z = force, in place of
                # `deflection_start`
                y[STATE] = force / (self.normal[0] * fields["sigma0"])
        # the kernel sets the normal force of each row, and its rate
        r = np.array([k, m, 0.0, rig["impedance"], 0.0])
        if not np.isfinite(y).all():
            out[:] = np.nan
            return Predicted(out)
        # with the state ln V the slip is positive: a test in the other direction is mirrored
        side = -1.0 if code == lk.RATE_STATE and self.dx.sum() < 0.0 else 1.0
        events, _ = follow_spring(code, p, r, y, self.dt, side * self.dx, self.normal, out)
        return Predicted(side * out, None, int(events))


def _stribeck_numbers(name: str, f: Mapping[str, float]) -> Floats:
    """Return the parameters of STRIBECK, see `law_kernels`.

    The first is the coefficient as the slip speed tends to zero, the sixth the one that ends stick.
    Both are mu_static if friction weakens with the speed; StaticKinetic drops to mu_kinetic at the
    onset of slip, so that its first is mu_kinetic.
    """
    if name == "Coulomb":
        numbers = [f["mu"], f["mu"], 1.0, 1.0, 0.0, f["mu"]]
    elif name == "StaticKinetic":
        numbers = [f["mu_kinetic"], f["mu_kinetic"], 1.0, 1.0, 0.0, f["mu_static"]]
    else:
        power, viscous = f.get("power", 1.0), f.get("viscous", 0.0)
        numbers = [f["mu_static"], f["mu_kinetic"], f["v_scale"], power, viscous, f["mu_static"]]
    return np.array([*numbers, *[0.0] * (lk.N_PARAMETERS - len(numbers))])
