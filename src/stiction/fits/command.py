"""The command `stiction fit`: reads measured curves, fits laws, prints and saves the results.

The fit itself is `stiction.fits.fit`, or `fit_scenario` if the fields of a scenario are fitted.
`fit_command` has the options of the command line and is registered in `cli`; `fit_file` does the
work.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stiction.errors import ModelError, nearest

if TYPE_CHECKING:
    from stiction.fits.outcome import Fit

__all__ = ["Asked", "fit_command", "fit_file"]


@dataclasses.dataclass(frozen=True)
class Asked:
    """Arguments of `stiction fit`.

    Parameters
    ----------
    data : files, one curve each
    laws : names of laws
    scenario : file of a scenario whose fields are fitted, in place of a law
    force_of, along : saved quantities of the run of the scenario that are compared with the
        measured force, and with the measured displacement or time
    stiffness, mass : stiffness [N/m] and mass [kg] of a rig that drives the slider through a
        spring, each as a number or "free"; None if the rig imposes the slip

    The other fields have the meaning and default of the option of that name; see `fit_command`.
    """

    data: Sequence[str]
    laws: Sequence[str]
    stiffness: str | None = None
    mass: str | None = None
    normal_force: float | None = None
    offset: str = "free"
    drift: str = "free"
    free: Sequence[str] = ()
    fixed: Sequence[str] = ()
    units: Sequence[str] = ()
    columns: Sequence[str] = ()
    bootstrap: int = 0
    seed: int = 1
    out: str | None = None
    overwrite: bool = False
    figures: bool = True
    quiet: bool = False
    json: bool = False
    scenario: str | None = None
    force_of: str | None = None
    along: str = "time"
    decimal: str | None = None


def fit_file(asked: Asked, put: Callable[[str], None]) -> int:
    """Fit laws to files, print the summaries and write folders; return the exit code.

    The code is 1 if the audit makes a fit untrusted, else 0. All fits are written.

    Verified by: tests/scenarios/test_fit.py::test_a_fit_from_the_command_line
    """
    from stiction.fits.comparison import compare_fits
    from stiction.fits.curves.reading import read_curve
    from stiction.fits.folder import fit_in

    _check_what(asked)
    units, columns = _pairs(asked.units, "--unit"), _pairs(asked.columns, "--column")
    read = functools.partial(
        read_curve,
        units=units,
        columns=columns,
        normal_force=asked.normal_force,
        decimal=asked.decimal,
    )
    curves = [read(path) for path in asked.data]
    fits = []
    summaries: list[dict[str, Any]] = []
    base = Path("out", Path(asked.data[0]).stem) if asked.out is None else Path(asked.out)
    for name, one in _fits(asked, curves):
        fits.append(one)
        folder = base if len(asked.laws) < 2 else base / name
        one.save(folder, overwrite=asked.overwrite, figures=asked.figures)
        summaries.append({"folder": str(folder), **(fit_in(folder) or {})})
        if not (asked.quiet or asked.json):
            put(f"{one!r}\nfolder            {folder}\n")
    compared = compare_fits(fits) if len(fits) > 1 else None
    if asked.json:
        # pandas writes null for NaN and infinity
        rows = (
            [] if compared is None else json.loads(compared.reset_index().to_json(orient="records"))
        )
        put(json.dumps({"fits": summaries, "comparison": rows}, indent=2, ensure_ascii=False))
    elif compared is not None and not asked.quiet:
        put(compared.to_string(float_format=lambda v: f"{v:.6g}"))
    return 1 if any(one.audit.untrusted for one in fits) else 0


# example of each option of names and values
_EXAMPLES = {"--unit": "force=mN", "--column": "force='channel 3'", "--fix": "mu=0.3"}


def _check_what(asked: Asked) -> None:
    """Raise an error unless either laws or a scenario are given, with options that fit."""
    if bool(asked.laws) == (asked.scenario is not None):
        got = "both --law and --scenario" if asked.laws else "neither --law nor --scenario"
        why = "a fit determines either the parameters of a law or the fields of a scenario."
        needs, try_ = "one of them", "--law Dahl, or --scenario FILE.toml --free law.mu."
        raise ModelError("stiction fit", got, needs, why, try_)
    if asked.scenario is None:
        _check_laws(asked)
        return
    if asked.force_of is None:
        why = "a run saves many quantities, and one of them is compared with the data."
        try_ = "--force-of F_x, or for the displacement of a mass --force-of 'x[0]'."
        raise ModelError("--force-of", "nothing", "the name of a saved quantity", why, try_)
    if asked.stiffness is not None or asked.mass is not None or asked.fixed:
        got = "--rig-stiffness, --rig-mass or --fix"
        why, try_ = (
            "the scenario defines the rig and all fixed values.",
            "set these values in the scenario file.",
        )
        raise ModelError("--scenario", got, "none of these options", why, try_)


def _check_laws(asked: Asked) -> None:
    """Raise an error on a law given twice, and on options that contradict each other."""
    fixed = _pairs(asked.fixed, "--fix")
    for name in asked.laws:
        if asked.laws.count(name) > 1:
            why = "each law has one folder of results."
            raise ModelError(
                "--law", f"{name} twice", "different laws", why, "give this name once."
            )
    for field in asked.free:
        if field in fixed:
            why = "a field is fitted, or has a given value."
            got, needs = f"{field!r} in --free and in --fix", "the field in one of the two"
            raise ModelError("--fix", got, needs, why, f"leave out --free {field}.")
    if asked.force_of is not None or asked.along != "time":
        got, why = (
            "--force-of or --along",
            "these options name saved quantities of a scenario's run.",
        )
        try_ = (
            "leave these options out: the slip of a law is imposed, or driven by --rig-stiffness."
        )
        raise ModelError("--law", got, "neither of these options", why, try_)


def _fits(asked: Asked, curves: Sequence[Any]) -> Iterator[tuple[str, Fit]]:
    """Yield the requested fits with the names of their laws."""
    from stiction.fits.fitting import fitted
    from stiction.fits.intervals import Bootstrap, Profile
    from stiction.fits.parameters import OF_LAWS
    from stiction.fits.problem import Problem

    method = Bootstrap(resamples=asked.bootstrap) if asked.bootstrap else Profile()
    if asked.scenario is not None:
        from stiction.fits.rigs import Simulated
        from stiction.fits.simulated import fit_scenario

        run = Simulated(
            asked.scenario,
            force=asked.force_of or "",
            along=asked.along,
            offset=_value(asked.offset, "--offset"),
            drift=_value(asked.drift, "--drift"),
        )
        yield "", fit_scenario(curves, run, list(asked.free), intervals=method, seed=asked.seed)
        return
    rig, problems = _rig(asked), []
    # all laws are checked before the first fit
    for name in asked.laws:
        law, known = _law(name, asked)
        free = [f for f in asked.free or OF_LAWS[name] if f not in known]
        problems.append((name, Problem(law, rig, list(curves), free, known)))
    for name, problem in problems:
        yield name, fitted(problem, method, asked.seed)


def _law(name: str, asked: Asked) -> tuple[Any, dict[str, float]]:
    """Return the class of the law `name`, and {field: value} of its fixed fields."""
    from stiction.catalogue import attribute, homes
    from stiction.fits.parameters import OF_LAWS

    if name not in OF_LAWS:
        needs, why = "one of " + ", ".join(OF_LAWS), "only these laws can be fitted to data."
        raise ModelError("--law", repr(name), needs, why, nearest(name, OF_LAWS))
    cls: Any = attribute(homes(name)[0][1], name)
    fixed = _pairs(asked.fixed, "--fix")
    return cls, {
        field: _float(text, f"--fix {field}=", "a number") for field, text in fixed.items()
    }


def _rig(asked: Asked) -> Any:
    """Return the rig: a spring drives the slider if its stiffness is given; else imposed slip."""
    from stiction.fits.rigs import ImposedSlip, SpringDrive

    offset, drift = _value(asked.offset, "--offset"), _value(asked.drift, "--drift")
    if asked.stiffness is None:
        if asked.mass is not None:
            needs, why = "--rig-stiffness as well", "a spring drives the mass of the slider."
            raise ModelError("--rig-mass", asked.mass, needs, why, "give both options.")
        return ImposedSlip(offset=offset, drift=drift)
    return SpringDrive(
        stiffness=_value(asked.stiffness, "--rig-stiffness"),
        mass=0.0 if asked.mass is None else _value(asked.mass, "--rig-mass"),
        offset=offset,
        drift=drift,
    )


def _value(text: str, option: str) -> Any:
    """Return `Free()` for "free", else the number."""
    from stiction.fits.rigs import Free

    return Free() if text == "free" else _float(text, f"{option} ", "a number, or free")


def _float(text: str, option: str, needs: str) -> float:
    """Return the number of an option, or raise an error that names the option."""
    try:
        return float(text)
    except ValueError as error:
        why = "the option takes a value in SI units."
        where = option.rstrip(" =")
        raise ModelError(where, repr(text), needs, why, f"{option}0.1.") from error


def _pairs(given: Sequence[str], option: str) -> dict[str, str]:
    """Return {name: value} of the texts "NAME=VALUE" of an option."""
    pairs = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (equals and name.strip() and value.strip()):
            needs, why = "NAME=VALUE", "this option assigns a value to a name."
            raise ModelError(option, repr(text), needs, why, f"{option} {_EXAMPLES[option]}.")
        if name.strip() in pairs:
            got, why = f"{name.strip()!r} twice", "a name has one value."
            raise ModelError(option, got, "different names", why, "give this name once.")
        pairs[name.strip()] = value.strip()
    return pairs


# ---- the command line


def fit_command(
    data: Annotated[
        list[str], typer.Argument(metavar="DATA.csv...", help="Curves, CSV or NetCDF.")
    ],
    law: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Law, as LuGre; repeat to compare.")
    ] = None,
    scenario: Annotated[
        str | None, typer.Option(metavar="FILE", help="Scenario; --free names the fields to fit.")
    ] = None,
    force_of: Annotated[
        str | None, typer.Option(metavar="NAME", help="Saved quantity compared with the force.")
    ] = None,
    along: Annotated[
        str, typer.Option(metavar="NAME", help="Saved quantity along the curve.")
    ] = "time",
    normal_force: Annotated[
        float | None, typer.Option(metavar="N", help="Normal force, if no column holds it.")
    ] = None,
    rig_stiffness: Annotated[
        str | None, typer.Option(metavar="N/m|free", help="Stiffness between drive and slider.")
    ] = None,
    rig_mass: Annotated[
        str | None, typer.Option(metavar="kg|free", help="Mass of the slider behind a spring.")
    ] = None,
    offset: Annotated[str, typer.Option(metavar="N|free", help="Offset of the force.")] = "free",
    drift: Annotated[str, typer.Option(metavar="N/s|free", help="Drift of the force.")] = "free",
    free: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="Fields to be fitted. Default: all of a law."),
    ] = None,
    fix: Annotated[
        list[str] | None, typer.Option(metavar="FIELD=VALUE", help="Fixed field of the law.")
    ] = None,
    unit: Annotated[
        list[str] | None, typer.Option(metavar="force=mN", help="Unit of a column without one.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(metavar="force=NAME", help="Column of a quantity.")
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(metavar=",|.", help="Decimal mark, if it is ambiguous.")
    ] = None,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="Resamples. Default: profile likelihood.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the starting points.")] = 1,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="Default: out/DATA.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a saved fit.")] = False,
    no_figures: Annotated[bool, typer.Option("--no-figures", help="Draw nothing.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no summary.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Fit the parameters of friction laws to measured curves, with confidence intervals."""
    asked = Asked(
        data, law or (), rig_stiffness, rig_mass, normal_force, offset, drift, free or (),
        fix or (), unit or (), column or (), bootstrap, seed, out, overwrite, not no_figures,
        quiet, as_json, scenario, force_of, along, decimal,
    )  # fmt: skip
    raise typer.Exit(fit_file(asked, typer.echo))
