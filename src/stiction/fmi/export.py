"""Export of a chain as a functional mock-up unit (FMU) for co-simulation by FMI 3.

The FMU contains the scenario and a short Python class, and PythonFMU3 adds the binary interface.
`stiction.fmi.unit` defines the variables and the steps of the unit.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stiction.errors import ModelError

if TYPE_CHECKING:
    from stiction.io.scenario import Scenario

__all__ = ["MOST_MASSES", "export_fmu"]

# each mass has four outputs, and simulators show the list of all outputs
MOST_MASSES = 1000
_SCRIPT = '''"""{title}."""

from pythonfmu3 import Fmi3Slave

from stiction.fmi.unit import ChainUnit


class {name}(ChainUnit, Fmi3Slave):
    pass
'''


def export_fmu(scenario: Scenario | str | Path, path: str | Path) -> Path:
    """Write the chain of a scenario as a unit of FMI 3 for co-simulation, and return its path.

    The parameters of the unit are the numbers of the chain, of its load and of its law. The only
    input, `force` [N], is added to the load. The outputs are displacements, velocities, friction
    forces, modes, load, heat, the number of events, and time, mass and kind of the last event.
    Events are located within a step as in a run. The unit has no FMI event mode, and no step ends
    early.

    Parameters
    ----------
    scenario : a scenario with a `Chain` and the method `EventDriven`, its built-in name, or its
        file
    path : file to write, ending in .fmu

    Raises
    ------
    ModelError : for another system, method or law, or if the package pythonfmu3 is missing.

    Notes
    -----
    The unit holds the scenario and calls this package. It therefore runs only where Python finds
    stiction, and declares this by `needsExecutionTool`.

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
        why = "simulators recognise units by the suffix .fmu."
        try_ = f"{path.stem or 'chain'}.fmu."
        raise ModelError("export_fmu.path", repr(str(path)), "*.fmu", why, try_)
    _check(made)
    builder = _builder()
    # the name of the class is the modelIdentifier, a name in C (FMI 3.0.1)
    name = re.sub(r"\W", "_", path.stem, flags=re.ASCII)
    name = name if name[:1].isalpha() and not iskeyword(name) else f"unit_{name}"
    text = write_scenario(made)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    with tempfile.TemporaryDirectory() as folder:
        from stiction.fmi.unit import SCENARIO

        # the digest makes module names unique: one process may load several units
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
        needs, why = "the package pythonfmu3", "this package writes the FMU file."
        try_ = 'pip install "stiction[fmi]".'
        raise ModelError("export_fmu", "no pythonfmu3", needs, why, try_) from None
    if not FmuBuilder.has_binary():
        needs, why = "Linux or Windows on x86-64", "pythonfmu3 has no library for other machines."
        raise ModelError("export_fmu", "this machine", needs, why, "export on such a machine.")
    return FmuBuilder


def _check(scenario: Scenario) -> None:
    from stiction.chains.methods import EventDriven
    from stiction.chains.model import Chain
    from stiction.chains.stepping import ChainStepper

    system, method = scenario.system, scenario.method
    if type(system) is not Chain:
        got, needs = type(system).__name__, "a Chain"
        why = "only a chain can be advanced by the steps of another simulator."
        try_ = "solve it in stiction, and save the run."
        raise ModelError("export_fmu.system", got, needs, why, try_)
    if type(method) is not EventDriven:
        got, why = type(method).__name__, "a unit advances its chain by the event-driven method."
        raise ModelError("export_fmu.method", got, "EventDriven", why, "change [method].")
    if system.n_mass > MOST_MASSES:
        got, needs = f"{system.n_mass} masses", f"at most {MOST_MASSES}"
        why = "each mass adds four named variables, and simulators list them all."
        try_ = "export a shorter chain."
        raise ModelError("export_fmu.system", got, needs, why, try_)
    start, end = scenario.t_span
    # wrong input is an error here already, not only when the unit runs
    ChainStepper(system, method, start, end - start)
