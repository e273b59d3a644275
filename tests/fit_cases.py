"""Synthetic tests whose law is known: curves with noise, offset and drift, and their rigs."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from stiction import StaticKinetic
from stiction.fits import Curve, Free, ImposedSlip, SpringDrive
from stiction.fits.predicting.models import Predictor
from stiction.laws import (
    AgeingLaw,
    BoucWen,
    Coulomb,
    Dahl,
    ExponentialWeakening,
    LuGre,
    SlipLaw,
    Stribeck,
)

NORMAL = 10.0
OFFSET, DRIFT = 0.2, 0.01


@dataclass(frozen=True)
class Case:
    """A law, the rig it is measured on, and how its end moves.

    Parameters
    ----------
    law : the true one
    time, displacement : of what drives [s], [m]
    rig : with the true numbers, as it is fitted where they are Free
    true_rig : with numbers
    """

    law: Any
    time: np.ndarray
    displacement: np.ndarray
    rig: Any
    true_rig: Any

    @property
    def truth(self) -> dict[str, float]:
        """Every fitted value by its name."""
        rig = {
            f"rig.{f.name}": getattr(self.true_rig, f.name)
            for f in dataclasses.fields(self.rig)
            if isinstance(getattr(self.rig, f.name), Free)
        }
        return {**fields(self.law), **rig}

    def force(self) -> np.ndarray:
        """Return what a perfect instrument would measure [N]."""
        curve = self.curve(np.arange(self.time.size, dtype=float))
        predict = Predictor(curve, self.true_rig, type(self.law))
        reported = predict(fields(self.law), fields(self.true_rig)).force
        return reported + self.true_rig.offset + self.true_rig.drift * (self.time - self.time[0])

    def curve(self, force: np.ndarray) -> Curve:
        """Return a curve with this force."""
        return Curve(
            force=force, time=self.time, displacement=self.displacement, normal_force=NORMAL
        )

    def drawn(self, seed: int, noise: float = 0.01) -> Curve:
        """Return a measured curve, its noise a fraction of the largest friction."""
        force = self.force()
        size = noise * np.abs(force - force.mean()).max()
        return self.curve(force + np.random.default_rng(seed).normal(0.0, size, force.size))


def fields(thing: object) -> dict[str, Any]:
    return {f.name: getattr(thing, f.name) for f in dataclasses.fields(thing)}


def swept(rows: int, amplitude: float, lasts: float = 10.0) -> tuple[np.ndarray, np.ndarray]:
    """Return times and an oscillation that grows."""
    time = np.linspace(0.0, lasts, rows)
    return time, amplitude * np.sin(2.0 * np.pi * 3.0 * time / lasts) * (0.3 + time / lasts)


def stepped(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a velocity-step test: 1 and 1000 um/s in turn, then back; 0.16 mm at each."""
    speeds = 1e-6 * np.array([1.0, 1000.0, 1.0, 1000.0, 1.0, -1000.0, -1.0])
    each = rows // speeds.size
    v = np.repeat(speeds, each)
    dt = 1.6e-4 / each / np.abs(v)
    return np.r_[0.0, np.cumsum(dt)], np.r_[0.0, np.cumsum(v * dt)]


FREE = ImposedSlip(offset=Free(), drift=Free())
TRUE = ImposedSlip(offset=OFFSET, drift=DRIFT)


def imposed(law: Any, time: np.ndarray, x: np.ndarray, drift: float = DRIFT) -> Case:
    return Case(law, time, x, FREE, dataclasses.replace(TRUE, drift=drift))


def cases(rows: int = 300) -> dict[str, Case]:
    """Return a case of every law, all of whose parameters its data fix."""
    wide, fine, steps = swept(rows, 4e-3), swept(rows, 1e-4), stepped(3 * rows)
    made = {
        "Coulomb": imposed(Coulomb(0.3), *wide),
        "ExponentialWeakening": imposed(ExponentialWeakening(0.4, 0.25, 2e-3), *wide),
        "Stribeck": imposed(Stribeck(0.4, 0.25, 2e-3, 2, 15.0), *wide),
        "Dahl": imposed(Dahl(2e4, 0.3), *fine),
        "LuGre": imposed(LuGre(2e4, 600.0, 600.0, 0.4, 0.3, 5e-5), *swept(3 * rows, 1e-4)),
        "BoucWen": imposed(BoucWen(2e4, 1.0, 4e4, 2e4), *fine),
        "AgeingLaw": imposed(AgeingLaw(0.02, 0.03, 2e-5), *steps, drift=1e-4),
        "SlipLaw": imposed(SlipLaw(0.02, 0.03, 2e-5), *steps, drift=1e-4),
    }
    time = np.linspace(0.0, 4.0, rows)
    ends = Free(start=1e3), Free()
    made["pulled Coulomb"] = Case(
        Coulomb(0.3), time, 0.02 * np.sin(3.0 * time),
        SpringDrive(*ends[:1], offset=Free(), drift=Free()),
        SpringDrive(1e3, offset=OFFSET, drift=DRIFT),
    )  # fmt: skip
    made["pulled StaticKinetic"] = Case(
        StaticKinetic(0.4, 0.25), time, 0.02 * np.sin(3.0 * time),
        SpringDrive(Free(start=1e3), Free(start=1.0), offset=Free(), drift=Free()),
        SpringDrive(1e3, 1.0, offset=OFFSET, drift=DRIFT),
    )  # fmt: skip
    return made


def unknown_cases(rows: int = 300) -> dict[str, tuple[Case, tuple[str, ...]]]:
    """Return cases whose data cannot fix some parameters, and which."""
    time = np.linspace(0.0, 10.0, rows)
    one_way = np.linspace(0.0, 1e-2, rows)
    fast = swept(rows, 4e-3)
    slow = 1e-8 * np.sin(time)
    at_once = np.linspace(0.0, 1e-3, rows)
    return {
        # an offset, and friction one way
        "one way": (imposed(Coulomb(0.3), time, one_way), ("mu", "rig.offset")),
        # speeds far above Stribeck's
        "always fast": (
            imposed(Stribeck(0.4, 0.25, 1e-6, 2, 15.0), *fast),
            ("mu_static", "v_scale"),
        ),
        # bristles that never slip in full
        "never slips": (imposed(Dahl(2e4, 0.3), time, slow), ("mu",)),
        # one speed alone
        "one speed": (imposed(AgeingLaw(0.02, 0.03, 2e-5), time, at_once), ("a", "b", "length")),
    }
