"""The folder in which a fit is saved: parameters, law, scenario, residuals, report and figures.

`fit.json` has the parameters and the digests of the other files, `law.toml` the fitted law,
`scenario.toml` a scenario with this law, `residuals.csv` measured and fitted forces. `Fit.save`
writes it; `fit_in` and `loading` read `fit.json`.
"""

from __future__ import annotations

import base64
import csv
import html
import io
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stiction._version import __version__
from stiction.core.audit import Audit
from stiction.errors import StoreError
from stiction.fits.parameters import law_name
from stiction.io.contents import DATA, FIT
from stiction.io.digests import sealed
from stiction.io.staging import staged
from stiction.numerics.shown import table_html

if TYPE_CHECKING:
    from stiction.fits.outcome import Fit
    from stiction.plot.figure import PaperFigure

__all__ = ["fit_in", "save_fit"]


def save_fit(fit: Fit, folder: Path, *, overwrite: bool, figures: bool) -> Path:
    """Write a fit into a folder; the folder appears only when it is complete."""
    with staged(folder, overwrite=overwrite) as place:
        text = _scenario_text(fit)
        (place / "scenario.toml").write_text(text, encoding="utf-8")
        (place / "law.toml").write_text(_law_text(text), encoding="utf-8")
        _write_residuals(fit, place / "residuals.csv")
        (place / "report.html").write_text(report(fit), encoding="utf-8")
        summary = sealed(_summary(fit), place, DATA[FIT])
        (place / FIT).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
        if figures:
            fit.plot.write(place / "figures")
    return folder


def _scenario_text(fit: Fit) -> str:
    """Return the TOML text of the scenario of a fit."""
    from stiction.io.scenario.writer import write_scenario

    return write_scenario(fit.scenario())


def _law_text(scenario: str) -> str:
    """Return the TOML text of the law from that of the scenario."""
    import tomllib

    import tomli_w

    system = tomllib.loads(scenario)["system"]
    return tomli_w.dumps({"law": system.get("law", system.get("model", system))})


def _number(value: float) -> float | str | None:
    """Return a number for JSON: NaN as None, infinity as text."""
    if math.isfinite(value):
        return value
    return None if math.isnan(value) else ("inf" if value > 0.0 else "-inf")


def _summary(fit: Fit) -> dict[str, object]:
    """Return the content of fit.json without the digests."""
    parameters = {
        e.name: {
            "value": _number(e.value),
            "error": _number(e.error),
            "low": _number(e.low),
            "high": _number(e.high),
            "unit": e.unit,
            "message": e.message,
        }
        for e in fit.estimates
    }
    checks = [
        {
            "check": c.check,
            "ok": c.ok,
            "value": _finite(c.value),
            "limit": _finite(c.limit),
            "kind": c.kind.value,
        }
        for c in fit.audit
    ]
    return {
        "kind": "fit",
        "status": "untrusted" if fit.audit.untrusted else "fitted",
        "law": law_name(fit.law),
        "rig": type(fit.rig).__name__,
        "curves": [curve.title for curve in fit.curves],
        "cleaned": [line for curve in fit.curves for line in curve.cleaned],
        "rows": fit.rows,
        "intervals": {"type": type(fit.intervals).__name__, "level": fit.intervals.level},
        "parameters": parameters,
        "correlation": [[_number(float(v)) for v in row] for row in fit.correlation],
        "noise": fit.noise,
        "rss": fit.rss,
        "aic": fit.aic,
        "bic": fit.bic,
        "warnings": list(fit.warnings),
        "audit": checks,
        "screen": repr(fit),
        "version": __version__,
    }


def _finite(value: float | None) -> float | str | None:
    """Return `_number` of a value that may be None."""
    return None if value is None else _number(float(value))


def _write_residuals(fit: Fit, path: Path) -> None:
    """Write a CSV file with one line for each row of each curve; `counted` is 1 for used rows."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["curve", "time [s]", "measured [N]", "fitted [N]", "residual [N]", "counted"])
        for k, curve in enumerate(fit.curves):
            data, force, used = fit.problem.data[k], fit.forces[k], fit.used[k]
            for row in zip(curve.clock, data, force, data - force, used, strict=True):
                out.writerow([k + 1, *(repr(float(v)) for v in row[:4]), int(row[4])])


# ---- the report


def report(fit: Fit) -> str:
    """Return one page of HTML that needs no other file.

    Verified by: tests/unit/fits/test_outcome.py::test_the_report_holds_what_was_found
    """
    rows = [
        (
            e.name,
            f"{e.value:.6g}",
            f"{e.error:.3g}",
            f"{e.low:.6g}",
            f"{e.high:.6g}",
            e.unit,
            e.message,
        )
        for e in fit.estimates
    ]
    head = ("parameter", "value", "standard error", "low", "high", "unit", "undetermined")
    level = f"{100 * fit.intervals.level:g} % intervals by {type(fit.intervals).__name__}"
    parts = [table_html(head, rows, title=level)]
    warnings = [*fit.warnings, *(line for curve in fit.curves for line in curve.cleaned)]
    if warnings:
        parts.append("<ul>" + "".join(f"<li>{html.escape(t)}</li>" for t in warnings) + "</ul>")
    numbers = (
        ("rows that were used", str(fit.rows)),
        ("noise", f"{fit.noise:.4g} {'times the given noise' if fit.known_noise else 'N'}"),
        ("AIC", f"{fit.aic:.6g}"),
        ("BIC", f"{fit.bic:.6g}"),
    )
    parts.append(table_html(("", ""), numbers))
    parts += [
        f"<h2>{name}</h2>{_image(getattr(fit.plot, name)(), name)}" for name in fit.plot.NAMES
    ]
    parts.append("<h2>audit</h2>" + _audit(fit.audit))
    parts.append(f"<h2>the law</h2><pre>{html.escape(repr(fit.law))}</pre>")
    title = html.escape(f"{law_name(fit.law)} fitted to {', '.join(c.title for c in fit.curves)}")
    style = "body{font:15px/1.4 sans-serif;max-width:60em;margin:2em auto;color:#262626}"
    style += "td,th{padding:.15em .8em;text-align:left}img{max-width:100%}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{style}</style></head><body><h1>{title}</h1>{''.join(parts)}</body></html>\n"
    )


def _audit(audit: Audit) -> str:
    """Return the audit as an HTML table."""
    made: Any = audit._repr_html_()
    return str(made)


def _image(figure: PaperFigure, name: str) -> str:
    """Return a figure as an HTML image that contains its data."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<img alt="{name}" src="data:image/png;base64,{data}">'


# ---- saved fits


def fit_in(folder: str | Path) -> dict[str, Any] | None:
    """Return the content of fit.json in a folder; None if there is no such file.

    Raises
    ------
    StoreError : if the file cannot be read.
    """
    path = Path(folder) / FIT
    if not path.is_file():
        return None
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(summary, dict) or summary.get("kind") != "fit":
            raise ValueError("a file that is not a fit")
        return summary
    except (ValueError, OSError) as error:
        why, try_ = "the file is damaged, or was written by another program.", "fit again."
        raise StoreError(str(path), str(error), "a saved fit", why, try_) from error
