"""The command `stiction export`: writes a chain as a co-simulation unit of FMI 3."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stiction.io.scenario.completion import scenarios, settings

__all__ = ["export_command"]


def export_command(
    format_: Annotated[str, typer.Argument(metavar="fmu", help="What to write: a unit of FMI 3.")],
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="NAME-or-FILE.toml", help="A scenario of a chain.", autocompletion=scenarios
        ),
    ],
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="path=value",
            help="Change a key, such as system.law.mu=0.3.",
            autocompletion=settings,
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE.fmu", help="File. Default: out/NAME.fmu.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document, for programs.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Export a chain as a file that other simulators run (FMI 3, co-simulation)."""
    import json as writer

    from stiction.errors import ModelError
    from stiction.fmi.export import export_fmu
    from stiction.fmi.parameters import parameters_of
    from stiction.io.scenario import read_scenario

    if format_ != "fmu":
        why, try_ = "fmu is the only format.", "stiction export fmu slip-wave."
        raise ModelError("export", repr(format_), "fmu", why, try_)
    made = read_scenario(scenario, changes or ())
    path = export_fmu(made, out or Path("out") / f"{Path(scenario).stem}.fmu")
    names = list(parameters_of(made))
    if json:
        masses = made.system.n_mass
        report = {"file": str(path), "fmi": "3.0", "masses": masses, "parameters": names}
        typer.echo(writer.dumps(report, indent=2))
    elif not quiet:
        typer.echo(f"{path}: FMI 3.0 co-simulation, {made.system.n_mass} masses")
        typer.echo(f"parameters  {', '.join(names)}")
        typer.echo("input       force [N], added to the load")
        typer.echo(
            "outputs     x [m], v [m/s], friction [N], mode, load [N], heat [J], "
            "event.count, event.time [s], event.mass, event.kind"
        )
