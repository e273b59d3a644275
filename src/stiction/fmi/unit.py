"""A co-simulation unit of FMI 3: a chain that advances by the communication steps of a simulator.

The module inside the FMU derives its class from `ChainUnit` and from `Fmi3Slave` of PythonFMU3.
PythonFMU3 is imported only when a unit runs. `stiction.chains.stepping` advances the chain.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stiction.chains.stepping import KINDS, ChainStepper
from stiction.errors import ModelError, StictionError
from stiction.fmi.parameters import parameters_of, unit_of_parameter, with_parameters
from stiction.io.scenario import Scenario, read_scenario

__all__ = ["SCENARIO", "ChainUnit"]

# scenario file inside the unit
SCENARIO = "scenario.toml"
# largest relative gap between the end of a step and the begin of the next one, for rounding [1]
_ROUNDING = 1e-12
_UNITS: Mapping[str, Mapping[str, int]] = {
    "s": {"s": 1},
    "m": {"m": 1},
    "m/s": {"m": 1, "s": -1},
    "N": {"kg": 1, "m": 1, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
}


class ChainUnit:
    """A chain with the interface of an FMI unit: parameters, one input `force`, and outputs.

    Parameters
    ----------
    instance_name : name of the instance in the simulator
    resources : folder with the scenario file
    more : further arguments of `Fmi3Slave`

    Verified by: tests/unit/fmi/test_unit.py::test_fmpy_agrees_with_a_run
    """

    vars: Any
    log: Callable[..., None]
    register_variable: Callable[..., None]

    def __init__(self, instance_name: str, resources: str, **more: Any) -> None:
        super().__init__(instance_name=instance_name, resources=resources, **more)  # type: ignore[call-arg]
        self._scenario: Scenario = read_scenario(Path(resources) / SCENARIO)
        self._given = parameters_of(self._scenario)
        self._stepper: ChainStepper | None = None
        self._force, self._begin, self._runs = 0.0, self._scenario.t_start, False
        self._describe()

    # ---- calls of the simulator

    def setup_experiment(self, start_time: float) -> None:
        """Set the start time [s]."""
        self._begin, self._stepper = float(start_time), None

    def exit_initialization_mode(self) -> None:
        """Build the chain; afterwards its parameters cannot be changed."""
        self._chain()
        self._runs = True

    def do_step(self, current_time: float, step_size: float) -> Any:
        """Advance from `current_time` [s] by `step_size` [s]; log a failure and return an error."""
        from pythonfmu3.enums import Fmi3Status
        from pythonfmu3.fmi3slave import Fmi3StepResult

        try:
            chain = self._chain()
            chain.push(self._force)
            chain.go_to(_continued(chain.time, current_time, step_size))
        except StictionError as error:
            self.log(str(error), Fmi3Status.error)
            return Fmi3StepResult(status=Fmi3Status.error)
        return Fmi3StepResult()

    # ---- parameters, input and outputs

    def _chain(self) -> ChainStepper:
        if self._stepper is None:
            scenario = with_parameters(self._scenario, self._given)
            span = scenario.t_end - scenario.t_start
            self._stepper = ChainStepper(scenario.system, scenario.method, self._begin, span)
        return self._stepper

    def _set(self, name: str, value: float) -> None:
        if self._runs:
            why = "a parameter of the chain is fixed while the chain moves."
            try_ = "set the parameter before the simulation begins."
            raise ModelError(name, f"{value!r} during the simulation", "no change", why, try_)
        self._given[name] = float(value)
        self._stepper = None

    def _describe(self) -> None:
        from pythonfmu3 import DefaultExperiment, Unit
        from pythonfmu3.enums import Fmi3Causality, Fmi3Variability
        from pythonfmu3.variables import Float64

        scenario = self._scenario
        start, end = scenario.t_span
        self.default_experiment = DefaultExperiment(start, end, (end - start) / 1000.0)
        self.description = scenario.title or "a chain of masses under friction"
        self.register_units([Unit(name, **powers) for name, powers in _UNITS.items()])  # type: ignore[attr-defined]
        self._add(
            Float64(
                "time",
                unit="s",
                description="simulated time",
                causality=Fmi3Causality.independent,
                variability=Fmi3Variability.continuous,
                getter=lambda: self._chain().time,
            )
        )
        fixed = {"causality": Fmi3Causality.parameter, "variability": Fmi3Variability.fixed}
        for name in self._given:
            get, put = functools.partial(self._given.get, name), functools.partial(self._set, name)
            said = f"{name} of the scenario [{unit_of_parameter(scenario, name) or 1}]"
            self._add(Float64(name, getter=get, setter=put, description=said, **fixed))
        self._add(
            Float64(
                "force",
                unit="N",
                description="added to the load; constant between two communication points",
                causality=Fmi3Causality.input,
                variability=Fmi3Variability.continuous,
                getter=lambda: self._force,
                setter=self._push,
            )
        )
        self._add_outputs()

    def _add_outputs(self) -> None:
        from pythonfmu3.enums import Fmi3Causality, Fmi3Variability
        from pythonfmu3.variables import Float64, Int64

        smooth = {"causality": Fmi3Causality.output, "variability": Fmi3Variability.continuous}
        jumps = {"causality": Fmi3Causality.output, "variability": Fmi3Variability.discrete}
        for name, unit, said in (
            ("x", "m", "displacement of mass"),
            ("v", "m/s", "velocity of mass"),
            ("friction", "N", "friction force on mass"),
        ):
            for i in range(self._scenario.system.n_mass):
                text, get = f"{said} {i + 1}", _entry(self._chain, name, i)
                self._add(
                    Float64(f"{name}[{i + 1}]", unit=unit, description=text, getter=get, **smooth)
                )
        for i in range(self._scenario.system.n_mass):
            text = f"-1 slip-, 0 stick, 1 slip+ of mass {i + 1}"
            get = _entry(self._chain, "mode", i)
            self._add(Int64(f"mode[{i + 1}]", description=text, getter=get, **jumps))
        for name, unit, said in (
            ("load", "N", "load f(t) plus the input force"),
            ("heat", "J", "heat of friction since the start"),
        ):
            get = _attribute(self._chain, name)
            self._add(Float64(name, unit=unit, description=said, getter=get, **smooth))
        codes = ", ".join(f"{code} {kind}" for code, kind in enumerate(KINDS))
        for name, said in (
            ("count", "number of events so far: transitions of a mass between stick and slip"),
            ("mass", "mass of the last event, from 1; 0 before the first event"),
            ("kind", f"kind of the last event: {codes}"),
        ):
            get = _attribute(lambda: self._chain().events, name)
            self._add(Int64(f"event.{name}", description=said, getter=get, **jumps))
        get = _attribute(lambda: self._chain().events, "time")
        text = "time of the last event, located as in a run; the start before the first event"
        self._add(Float64("event.time", unit="s", description=text, getter=get, **jumps))

    def _add(self, variable: Any) -> None:
        self.register_variable(variable, nested=False)

    def _push(self, force: float) -> None:
        self._force = float(force)


def _continued(stands: float, time: float, step: float) -> float:
    """Return the end of a step; raise ModelError if it does not begin at the present time."""
    close = _ROUNDING * max(abs(stands), abs(time), abs(step))
    if not (np.isfinite(step) and step > 0.0 and abs(time - stands) <= max(close, 1e-300)):
        got = f"a step of {step!r} that begins at {time!r}"
        needs = f"a step > 0 that begins at {stands!r} [s]"
        why = "each step must begin at the end of the previous one; steps cannot be repeated."
        try_ = "begin at the start of the scenario, and ask for consecutive steps."
        raise ModelError("doStep", got, needs, why, try_)
    return time + step


def _entry(owner: Callable[[], Any], name: str, i: int) -> Callable[[], Any]:
    return lambda: getattr(owner(), name)[i]


def _attribute(owner: Callable[[], Any], name: str) -> Callable[[], Any]:
    return lambda: getattr(owner(), name)
