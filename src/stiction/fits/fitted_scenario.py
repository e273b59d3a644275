"""The scenario of a fit: a slider with the fitted friction law, driven as in the test.

It can be solved by `stiction run`. A law without rate and state acts on a block of a `Chain` behind
a spring of stiffness k, with the load k x_end(t); a rate-and-state law acts on a `SpringSlider`.
For imposed slip k and the mass m are invented: k = F_max / (0.02 path), and m such that the block
vibrates 40 times during the test. `Fit.scenario` calls `scenario_of_fit`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.fits.curves.curve import Curve
from stiction.fits.parameters import law_name
from stiction.fits.rigs import Simulated, SpringDrive
from stiction.io.scenario import Scenario
from stiction.laws.rate_and_state import RateAndState

if TYPE_CHECKING:
    from stiction.fits.outcome import Fit

__all__ = ["scenario_of_fit"]

Floats = npt.NDArray[np.float64]

# for imposed slip the scenario needs a spring and a mass: the deflection of the spring divided by
# the path [1], and the number of vibrations of the block during the test. Chosen: a stiffer spring
# and a lighter block imitate imposed slip better, and cost more steps
_DEFLECTION, _VIBRATIONS = 0.02, 40.0
# steps of a vibration of the block if its law has states and a stick mode. Chosen
_STEPS = 100.0
# number of breakpoints of the piecewise linear load, doubled until it is as exact as the deflection
_BREAKPOINTS = 400


def scenario_of_fit(fit: Fit) -> Scenario:
    """Return the scenario of a fit, with the first of its curves as the motion of the drive.

    For imposed slip the spring is stiff, so that the block follows the end of the spring closely.
    """
    curve = fit.curves[0]
    if isinstance(fit.rig, Simulated):
        assert isinstance(fit.rig.scenario, Scenario)
        scenario = fit.rig.scenario
        title = f"{scenario.title}, fitted to {curve.title or 'measured data'}".removeprefix(", ")
        return dataclasses.replace(scenario, title=title)
    # time from the first row, and place of the drive
    time = curve.clock - curve.clock[0]
    place = np.cumsum(curve.steps())
    duration, path = float(time[-1]), max(float(np.ptp(place)), 1e-300)
    normal = float(np.mean(np.asarray(curve.normal_force)))
    force = float(np.max(np.abs(fit.forces[0])))
    stiffness, error = force / (_DEFLECTION * path), _DEFLECTION * path
    mass = stiffness * (duration / (2.0 * np.pi * _VIBRATIONS)) ** 2
    if isinstance(fit.rig, SpringDrive):
        stiffness = float(fit.rig.stiffness)  # type: ignore[arg-type]
        error = _DEFLECTION * force / stiffness
        given = float(fit.rig.mass)  # type: ignore[arg-type]
        mass = given if given > 0.0 else stiffness * (duration / (2.0 * np.pi * 1e3)) ** 2
    title = f"{law_name(fit.law)} as fitted to {curve.title or 'measured data'}"
    common: dict[str, Any] = {"title": title, "t_end": duration}
    if isinstance(fit.law, RateAndState):
        return _slider(fit, normal, stiffness, path / duration, common)
    from stiction.chains.loads import PiecewiseLinear
    from stiction.chains.methods import EventDriven, ThetaStepper
    from stiction.chains.model import Chain

    law, pull = _with_start(fit, normal)
    breakpoints = _breakpoints(time, place, error)
    load = PiecewiseLinear(
        time=tuple(time[breakpoints].tolist()),
        value=tuple((pull + stiffness * place[breakpoints]).tolist()),
    )
    note = _NOTE + _invented(fit, mass, stiffness) + _assumed(curve)
    chain = Chain(mass=[mass], stiffness=stiffness, load=load, law=law, normal_force=normal)
    method: Any = EventDriven()
    if chain.law.sticks and chain.law.states:
        # series in time do not carry the states of a law
        method = ThetaStepper(step=duration / (_VIBRATIONS * _STEPS))
    return Scenario(chain, method, note=note, **common)


_NOTE = (
    "The load is the stiffness times the motion of the spring's end: the force in the spring is "
    "the load minus the stiffness times the displacement of the block."
)


def _breakpoints(time: Floats, place: Floats, error: float) -> npt.NDArray[np.int64]:
    """Return evenly spaced rows between which `place` is linear in time up to `error` [m].

    Verified by: tests/unit/fits/test_outcome.py::test_the_load_follows_many_cycles
    """
    count = min(_BREAKPOINTS, time.size)
    while True:
        rows = np.linspace(0, time.size - 1, count).astype(np.int64)
        missed = np.abs(np.interp(time, time[rows], place[rows]) - place).max()
        if missed <= error or count == time.size:
            return rows
        count = min(2 * count, time.size)


def _with_start(fit: Fit, normal: float) -> tuple[Any, float]:
    """Return the law, and the spring force at the first row [N].

    A law with bristles starts with the deflection of that force, as in the fit.
    """
    law: Any = fit.law
    if not isinstance(fit.rig, SpringDrive):
        return law, 0.0
    force = float(fit.rig.force_start)  # type: ignore[arg-type]
    if force != 0.0 and hasattr(law, "deflection_start"):
        law = dataclasses.replace(law, deflection_start=force / (normal * law.sigma0))
    return law, force


def _assumed(curve: Curve) -> str:
    """Return the note on columns that are missing or averaged."""
    note = "" if curve.time is not None else " Invented: one second between rows."
    if np.ptp(np.asarray(curve.normal_force)) > 0.0:
        note += " The normal force is the mean of the measured one."
    return note


def _invented(fit: Fit, mass: float, stiffness: float) -> str:
    """Return the note on values of the scenario that were not measured."""
    if not isinstance(fit.rig, SpringDrive):
        return (
            f" Invented: the mass {mass:.4g} kg and the stiffness {stiffness:.4g} N/m. The test "
            "imposed the slip; with these values the block follows it to about "
            f"{100 * _DEFLECTION:g} % of its path."
        )
    if float(fit.rig.mass) > 0.0:  # type: ignore[arg-type]
        return ""
    return f" Invented: the mass {mass:.4g} kg, which is negligible."


def _slider(
    fit: Fit, normal: float, stiffness: float, speed: float, common: dict[str, Any]
) -> Scenario:
    """Return a slider on a spring whose end moves at constant speed, with an area of 1 m^2."""
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
    note = "Forces refer to an area of 1 m^2; the spring's end moves at the mean speed."
    if not isinstance(fit.rig, SpringDrive):
        note += f" Invented: the spring of {stiffness:.4g} Pa/m. The test imposed the slip."
    return Scenario(slider, Cycles(), note=note + _assumed(fit.curves[0]), **common)
