"""A chain as a file that other simulators run: FMI 3, co-simulation."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stiction.errors import ModelError

if TYPE_CHECKING:
    from stiction.io.scenario import Scenario

__all__ = ["MOST_MASSES", "export_fmu"]

# each has four outputs of its own, and a simulator shows a list of all of them
MOST_MASSES = 1000
_SCRIPT = '''"""{title}."""

from pythonfmu3 import Fmi3Slave

from stiction.fmi.unit import ChainUnit


class {name}(ChainUnit, Fmi3Slave):
    pass
'''


def export_fmu(scenario: Scenario | str | Path, path: str | Path) -> Path:
    """Write the chain of a scenario as a unit of FMI 3 for co-simulation, and return its path.

    Parameters of the unit are the numbers of the chain, its load and its law; one input, `force`,
    is added to the load. Outputs are displacements, velocities, friction forces, modes, load,
    heat, and events: how many, and time, mass and kind of the last one. Events are located within
    a step as in a run; there is no event mode, and no step ends early.

    Parameters
    ----------
    scenario : a scenario of a `Chain` under `EventDriven`, its built-in name, or its file
    path : file to write, ending in .fmu

    Raises
    ------
    ModelError : for another system, method or law, or without the extra `fmi`.

    Notes
    -----
    The unit holds the scenario and calls this package: it runs where Python finds stiction, and
    declares this by `needsExecutionTool`.

    Source: Functional Mock-up Interface 3.0.1, sections 2 and 4.
    Verified by: tests/unit/fmi/test_unit.py::test_fmpy_agrees_with_a_run

    Examples
    --------
    >>> import stiction as st
    >>> try:
    ...     st.fmi.export_fmu("stick-set", "chain.txt")
    ... except st.ModelError as error:
    ...     print(str(error).partition(";")[0])
    export_fmu.path: got 'chain.txt'
    """
    from stiction.io.scenario import Scenario, read_scenario, write_scenario

    made = scenario if isinstance(scenario, Scenario) else read_scenario(scenario)
    path = Path(path)
    if path.suffix != ".fmu":
        why, try_ = "simulators know units by it.", f"{path.stem or 'chain'}.fmu."
        raise ModelError("export_fmu.path", repr(str(path)), "*.fmu", why, try_)
    _check(made)
    builder = _builder()
    name = re.sub(r"\W", "_", path.stem)
    name = name if name[:1].isalpha() else f"unit_{name}"
    text = write_scenario(made)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    with tempfile.TemporaryDirectory() as folder:
        from stiction.fmi.unit import SCENARIO

        # two units in one process must not use the same module
        script = Path(folder) / f"{name.lower()}_{digest}.py"
        title = (made.title or "A chain under friction").replace("\\", "/").replace('"', "'")
        script.write_text(_SCRIPT.format(name=name, title=title.rstrip(".")), encoding="utf-8")
        (Path(folder) / SCENARIO).write_text(text, encoding="utf-8")
        built = builder.build_FMU(
            script,
            dest=Path(folder) / "out",
            project_files=[Path(folder) / SCENARIO],
            canHandleVariableCommunicationStepSize=True,
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.write_bytes(Path(built).read_bytes())
        beside.replace(path)
    return path


def _builder() -> Any:
    try:
        from pythonfmu3 import FmuBuilder
    except ImportError:
        needs, why = "the package pythonfmu3", "it writes what simulators load."
        try_ = 'pip install "stiction[fmi]".'
        raise ModelError("export_fmu", "no pythonfmu3", needs, why, try_) from None
    if not FmuBuilder.has_binary():
        needs, why = "Linux or Windows on x86-64", "pythonfmu3 has no library for other machines."
        raise ModelError("export_fmu", "this machine", needs, why, "export it there.")
    return FmuBuilder


def _check(scenario: Scenario) -> None:
    from stiction.chains.methods import EventDriven
    from stiction.chains.model import Chain
    from stiction.chains.stepping import ChainStepper

    system, method = scenario.system, scenario.method
    if type(system) is not Chain:
        got, needs = type(system).__name__, "a Chain"
        why, try_ = "other systems have no steps that end where a simulator looks.", "save its run."
        raise ModelError("export_fmu.system", got, needs, why, try_)
    if type(method) is not EventDriven:
        got, why = type(method).__name__, "a unit goes from event to event."
        raise ModelError("export_fmu.method", got, "EventDriven", why, "change [method].")
    if system.n_mass > MOST_MASSES:
        got, needs = f"{system.n_mass} masses", f"at most {MOST_MASSES}"
        why, try_ = "each mass is four variables by name.", "export a shorter chain."
        raise ModelError("export_fmu.system", got, needs, why, try_)
    start, end = scenario.t_span
    # the method refuses bad input here, not where the unit runs
    ChainStepper(system, method, start, end - start)
