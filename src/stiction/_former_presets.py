"""The functions of the former `stiction.chains.presets`: scenarios by `read_scenario` now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Preset"]

_SCENARIOS = {
    "baseline": "baseline",
    "baseline_weakening": "baseline-weakening",
    "belt": "belt",
    "burridge_knopoff": "burridge-knopoff",
    "detachment_wave": "detachment-wave",
    "energy_balance": "energy-balance",
    "quasistatic_branches": "quasistatic-branches",
    "quasistatic_ramp": "quasistatic-ramp",
    "quasistatic_reversal": "quasistatic-reversal",
    "ramp_wave": "ramp-wave-50",
    "random_friction": "random-friction",
    "reachability": "reachability",
    "slip_wave": "slip-wave",
    "stick_set": "stick-set",
    "theta_scheme": "theta-half",
    "unequal_masses": "unequal-124",
}
# arguments that were no fields of the system, and the keys of the file they set
_KEYS = {
    "force": "system.load.value",
    "rate": "system.load.rate",
    "mu": "system.law.mu",
    "seed": "system.law.seed",
    "speed": "system.belt_speed",
    "theta": "method.theta",
    "step": "method.step",
    "smoothing": "method.smoothing",
}
_FIRST = {"theta_scheme": "theta", "unequal_masses": "mass", "random_friction": "n"}


class Preset(NamedTuple):
    """What `stiction.solve` takes, in its order."""

    system: Any
    method: Any
    t_span: tuple[float, float]


def _function(name: str) -> Callable[..., Preset]:
    def preset(*first: Any, **given: Any) -> Preset:
        from stiction.scenario import read_scenario

        if first:
            given[_FIRST.get(name, "n")] = first[0]
        if name in ("detachment_wave", "ramp_wave") and (n := given.get("n")) is not None:
            given |= {"mass": 1.0 / n, "stiffness": 100.0 * n, "spacing": 1.0 / n}
        changes = [f"{_KEYS[key]}={given.pop(key)}" for key in list(given) if key in _KEYS]
        given = {k: list(v) if isinstance(v, tuple) else v for k, v in given.items()}
        scenario = read_scenario(_SCENARIOS[name], changes, **given)
        return Preset(scenario.system, scenario.method, scenario.t_span)

    preset.__name__ = name
    return preset


def __getattr__(name: str) -> Any:
    if name in _SCENARIOS:
        return _function(name)
    raise AttributeError(f"module 'stiction.chains.presets' has no attribute {name!r}")
