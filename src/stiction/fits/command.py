"""What `stiction fit` does."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from stiction.errors import ModelError, explain, nearest

__all__ = ["Asked", "fit_command", "fit_file"]


@dataclasses.dataclass(frozen=True)
class Asked:
    """What `stiction fit` was asked for.

    Parameters
    ----------
    data : files, each a curve
    laws : names of laws
    stiffness, mass : of a rig with a spring: a number, or "free"; no stiffness for imposed slip
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


def fit_file(asked: Asked, put: Callable[[str], None]) -> int:
    """Fit laws to files, print what was found and write folders; return the exit code.

    0 fitted, whatever the audit says: it is printed.

    Verified by: tests/scenarios/test_fit.py::test_a_fit_from_the_command_line
    """
    from stiction.fits.comparison import compare_fits
    from stiction.fits.curves.reading import read_curve
    from stiction.fits.fitting import fit
    from stiction.fits.folder import fit_in
    from stiction.fits.intervals import Bootstrap, Profile
    from stiction.fits.parameters import OF_LAWS

    units, columns = _pairs(asked.units, "--unit"), _pairs(asked.columns, "--column")
    curves = [
        read_curve(path, units=units, columns=columns, normal_force=asked.normal_force)
        for path in asked.data
    ]
    how = Bootstrap(resamples=asked.bootstrap) if asked.bootstrap else Profile()
    rig, found = _rig(asked), []
    told: list[dict[str, Any]] = []
    base = Path("out", Path(asked.data[0]).stem) if asked.out is None else Path(asked.out)
    for name in asked.laws:
        law, known = _law(name, asked)
        free = [f for f in asked.free or OF_LAWS[name] if f not in known]
        one = fit(curves, law, rig, free=free, known=known, intervals=how, seed=asked.seed)
        found.append(one)
        folder = base if len(asked.laws) == 1 else base / name
        one.save(folder, overwrite=asked.overwrite, figures=asked.figures)
        told.append({"folder": str(folder), **(fit_in(folder) or {})})
        if not (asked.quiet or asked.json):
            put(f"{one!r}\nfolder            {folder}\n")
    compared = compare_fits(found) if len(found) > 1 else None
    if asked.json:
        # through pandas, which writes null for what is not finite
        rows = (
            [] if compared is None else json.loads(compared.reset_index().to_json(orient="records"))
        )
        put(json.dumps({"fits": told, "comparison": rows}, indent=2, ensure_ascii=False))
    elif compared is not None and not asked.quiet:
        put(compared.to_string(float_format=lambda v: f"{v:.6g}"))
    return 0


def _law(name: str, asked: Asked) -> tuple[Any, dict[str, float]]:
    """Return a law's class, and the numbers that are known of it."""
    from stiction.catalogue import attribute, homes
    from stiction.fits.parameters import OF_LAWS

    if name not in OF_LAWS:
        needs, why = "one of " + ", ".join(OF_LAWS), "these can be fitted from a file."
        raise ModelError(explain("--law", repr(name), needs, why, nearest(name, OF_LAWS)))
    cls: Any = attribute(homes(name)[0][1], name)
    fixed = _pairs(asked.fixed, "--fix")
    return cls, {field: _float(text, "--fix") for field, text in fixed.items()}


def _rig(asked: Asked) -> Any:
    from stiction.fits.rigs import Free, ImposedSlip, SpringDrive

    def value(text: str, option: str) -> Any:
        return Free() if text == "free" else _float(text, option)

    offset, drift = value(asked.offset, "--offset"), value(asked.drift, "--drift")
    if asked.stiffness is None:
        if asked.mass is not None:
            needs, why = "--rig-stiffness as well", "a mass moves behind a spring."
            raise ModelError(explain("--rig-mass", asked.mass, needs, why, "give both."))
        return ImposedSlip(offset=offset, drift=drift)
    return SpringDrive(
        stiffness=value(asked.stiffness, "--rig-stiffness"),
        mass=0.0 if asked.mass is None else value(asked.mass, "--rig-mass"),
        offset=offset,
        drift=drift,
    )


def _float(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        why = "it is a number in SI units."
        raise ModelError(explain(option, repr(text), "a number, or free", why, "0.1")) from error


def _pairs(given: Sequence[str], option: str) -> dict[str, str]:
    found = {}
    for text in given:
        name, mark, value = text.partition("=")
        if not (mark and name.strip() and value.strip()):
            needs, why = "NAME=VALUE", "it says what is meant by what."
            raise ModelError(explain(option, repr(text), needs, why, f"{option} force=mN"))
        found[name.strip()] = value.strip()
    return found


# ---- the command line


def fit_command(
    data: Annotated[
        list[str], typer.Argument(metavar="DATA.csv...", help="Curves, CSV or NetCDF.")
    ],
    law: Annotated[list[str], typer.Option(metavar="NAME", help="Such as LuGre; several compare.")],
    normal_force: Annotated[
        float | None, typer.Option(metavar="N", help="Normal force, if no column holds it.")
    ] = None,
    rig_stiffness: Annotated[
        str | None, typer.Option(metavar="N/m|free", help="Of a spring between drive and slider.")
    ] = None,
    rig_mass: Annotated[
        str | None, typer.Option(metavar="kg|free", help="Of the slider behind a spring.")
    ] = None,
    offset: Annotated[str, typer.Option(metavar="N|free", help="Of the force.")] = "free",
    drift: Annotated[str, typer.Option(metavar="N/s|free", help="Of the force.")] = "free",
    free: Annotated[
        list[str] | None, typer.Option(metavar="FIELD", help="What is fitted. Default: all.")
    ] = None,
    fix: Annotated[
        list[str] | None, typer.Option(metavar="FIELD=VALUE", help="What is known of the law.")
    ] = None,
    unit: Annotated[
        list[str] | None, typer.Option(metavar="force=mN", help="Where the header says none.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(metavar="force=NAME", help="Where names are not clear.")
    ] = None,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="Resamples. Default: profile likelihood.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Of the places where searches begin.")] = 1,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="Default: out/DATA.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a saved fit.")] = False,
    no_figures: Annotated[bool, typer.Option("--no-figures", help="Draw nothing.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no summary.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """A law's parameters from measured curves, with intervals, and what data cannot tell."""
    asked = Asked(
        data, law, rig_stiffness, rig_mass, normal_force, offset, drift, free or (), fix or (),
        unit or (), column or (), bootstrap, seed, out, overwrite, not no_figures, quiet, as_json,
    )  # fmt: skip
    raise typer.Exit(fit_file(asked, typer.echo))
