"""A law that was found, in a scenario that slides as it was measured."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from stiction.fits.parameters import law_name
from stiction.fits.rigs import Simulated, SpringDrive
from stiction.io.scenario import Scenario
from stiction.laws.rate_and_state import RateAndState

if TYPE_CHECKING:
    from stiction.fits.outcome import Fit

__all__ = ["scenario_of_fit"]

# of imposed slip: the spring deflects by this share of the path, and vibrates so often in a test
_DEFLECTION, _VIBRATIONS = 0.02, 40.0
# corners of the motion of the end that a scenario keeps
_MOST_CORNERS = 400


def scenario_of_fit(fit: Fit) -> Scenario:
    """Return the scenario of a fit: a block behind a spring, or a slider under rate and state.

    Where slip was imposed, the spring is a stiff one: the block follows it closely.
    """
    curve = fit.curves[0]
    if isinstance(fit.rig, Simulated):
        assert isinstance(fit.rig.scenario, Scenario)
        found = fit.rig.scenario
        title = f"{found.title}, fitted to {curve.title or 'measured data'}".removeprefix(", ")
        return dataclasses.replace(found, title=title)
    time = curve.clock - curve.clock[0]
    place = np.cumsum(curve.steps())
    lasts, path = float(time[-1]), max(float(np.ptp(place)), 1e-300)
    normal = float(np.mean(np.asarray(curve.normal_force)))
    force = float(np.max(np.abs(fit.forces[0])))
    stiffness = force / (_DEFLECTION * path)
    mass = stiffness * (lasts / (2.0 * np.pi * _VIBRATIONS)) ** 2
    if isinstance(fit.rig, SpringDrive):
        stiffness = float(fit.rig.stiffness)  # type: ignore[arg-type]
        given = float(fit.rig.mass)  # type: ignore[arg-type]
        mass = given if given > 0.0 else stiffness * (lasts / (2.0 * np.pi * 1e3)) ** 2
    title = f"{law_name(fit.law)} as fitted to {curve.title or 'measured data'}"
    words: dict[str, Any] = {"title": title, "t_end": lasts}
    if isinstance(fit.law, RateAndState):
        return _slider(fit, normal, stiffness, path / lasts, words)
    from stiction.chains.loads import PiecewiseLinear
    from stiction.chains.methods import EventDriven
    from stiction.chains.model import Chain

    corners = np.unique(np.linspace(0, time.size - 1, min(time.size, _MOST_CORNERS)).astype(int))
    load = PiecewiseLinear(
        time=tuple(time[corners].tolist()), value=tuple((stiffness * place[corners]).tolist())
    )
    note = _NOTE + _invented(fit, mass, stiffness)
    chain = Chain(mass=[mass], stiffness=stiffness, load=load, law=fit.law, normal_force=normal)
    return Scenario(chain, EventDriven(), note=note, **words)


_NOTE = (
    "The load is the stiffness times the motion of the spring's end: the force in the spring is "
    "the load less the stiffness times the displacement of the block."
)


def _invented(fit: Fit, mass: float, stiffness: float) -> str:
    """Return what of the block no measurement says."""
    if not isinstance(fit.rig, SpringDrive):
        return (
            f" Invented: the mass {mass:.4g} kg and the stiffness {stiffness:.4g} N/m. The slip "
            "was imposed; with these the block follows it to about "
            f"{100 * _DEFLECTION:g} % of its path."
        )
    if float(fit.rig.mass) > 0.0:  # type: ignore[arg-type]
        return ""
    return f" Invented: the mass {mass:.4g} kg, so small that it does not matter."


def _slider(
    fit: Fit, normal: float, stiffness: float, speed: float, words: dict[str, Any]
) -> Scenario:
    """Return a slider on a spring whose end moves evenly, counted on an area of 1 m^2."""
    from stiction.faults.methods import Cycles
    from stiction.faults.model import SpringSlider

    law: Any = fit.law
    impedance = fit.rig.impedance if isinstance(fit.rig, SpringDrive) else 0.0
    slider = SpringSlider(
        law=law,
        normal_stress=normal,
        spring=stiffness,
        plate_speed=speed,
        impedance=impedance,
        speed_start=0.5 * speed,
    )
    note = "Forces are counted on an area of 1 m^2; the spring's end moves at the mean speed."
    if not isinstance(fit.rig, SpringDrive):
        note += f" Invented: the spring of {stiffness:.4g} Pa/m. The slip was imposed."
    return Scenario(slider, Cycles(), note=note, **words)
