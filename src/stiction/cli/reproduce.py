"""`stiction reproduce`: figures and tables of a paper beside the computed ones, with differences.

Solves the scenarios of the requested figures, writes a folder for each figure, and, for all figures
of a paper, a report with verdicts. The papers and their figures are defined in `stiction.papers`.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import typer

from stiction.cli.output import put, put_json
from stiction.cli.progress import Bar
from stiction.core.provenance import provenance
from stiction.core.run import Run
from stiction.errors import ModelError
from stiction.io.staging import Claim, claimed
from stiction.papers.items import Item, progress_to
from stiction.papers.making import PAPERS, has_two_sizes, items_of, key_of, solved, write_item
from stiction.papers.tables import plain, screen
from stiction.papers.verdicts import Made, read_verdicts, report, uncovered
from stiction.plot.files import written

__all__ = ["Wanted", "reproduce"]


_ALL = "all"


@dataclass(frozen=True)
class Wanted:
    """The arguments of `stiction reproduce`.

    Parameters
    ----------
    paper : key of a paper, or "all"
    figure : a figure or table; None for all of the paper
    out : folder of the results; None for out/reproduce-PAPER
    overwrite, figures, quiet, json : as on the command line; `figures` is False for `--no-figures`
    full, quick : whether the sizes of the paper, or the small ones, are computed
    changes : settings "path=value" of the scenarios of one figure
    """

    paper: str
    figure: str | None = None
    out: str | None = None
    overwrite: bool = False
    figures: bool = True
    full: bool = False
    quick: bool = False
    json: bool = False
    quiet: bool = False
    changes: Sequence[str] = ()


@dataclass(frozen=True)
class _Job:
    """Figures of one paper, and the folders that are claimed for them.

    Parameters
    ----------
    items : all figures and tables of the paper, by key
    root : folder of the results
    claims : claimed folders of the figures that are computed, by key
    """

    wanted: Wanted
    items: dict[str, Item]
    root: Path
    claims: dict[str, Claim]


def reproduce(wanted: Wanted) -> int:
    """Solve the scenarios of figures, write folders and reports; return the exit code.

    It is 1 if a scenario is not solved, or rows differ from the paper that the verdict does not
    list. The folders of all figures are claimed before the first solve.

    Verified by: tests/scenarios/test_reproduce.py::test_slip_wave_table
    """
    if wanted.full and wanted.quick:
        why = "a figure is computed at one size."
        got, needs = "--quick and --full", "one of them"
        raise ModelError("reproduce", got, needs, why, "leave out --full.")
    if wanted.changes and wanted.figure is None:
        why = "figures of a paper have different scenarios."
        got, needs = f"{wanted.paper!r} without a figure", "one figure or table"
        raise ModelError(
            "--set", got, needs, why, "for example stiction reproduce chains 5 --set ..."
        )
    if wanted.paper == _ALL and wanted.figure is not None:
        why = "a figure belongs to one paper."
        needs = "a paper, one of " + ", ".join(PAPERS)
        try_ = "leave the figure out for all figures of all papers."
        raise ModelError("PAPER", repr(_ALL), needs, why, try_)
    with ExitStack() as stack:
        if wanted.paper != _ALL:
            code, result = _paper(_job(wanted, stack))
        else:
            code, result = 0, {"papers": []}
            for job in [_job(_one_of_all(wanted, paper), stack) for paper in PAPERS]:
                one, entry = _paper(job)
                code = max(code, one)
                result["papers"].append(entry)
    if wanted.json:
        put_json(result)
    return code


def _one_of_all(wanted: Wanted, paper: str) -> Wanted:
    """Return the arguments for one of all papers, at full size if it has one."""
    out = None if wanted.out is None else str(Path(wanted.out, paper))
    full = wanted.full and has_two_sizes(paper)
    return dataclasses.replace(wanted, paper=paper, out=out, full=full)


def _job(wanted: Wanted, stack: ExitStack) -> _Job:
    """Return the figures of one paper, whose folders are claimed until the stack is closed."""
    items = items_of(wanted.paper, full=wanted.full)
    keys = list(items) if wanted.figure is None else [key_of(wanted.figure, items)]
    if wanted.changes and not items[keys[0]].scenarios:
        why = "this figure is drawn from closed-form solutions, without a scenario."
        got, needs = repr(keys[0]), "a figure that runs scenarios"
        some = [key for key, item in items.items() if item.scenarios]
        raise ModelError("--set", got, needs, why, f"take one of {', '.join(some)}.")
    root, over = Path(wanted.out or Path("out", f"reproduce-{wanted.paper}")), wanted.overwrite
    claims = {k: stack.enter_context(claimed(root / k, overwrite=over)) for k in keys}
    return _Job(wanted, items, root, claims)


def _paper(job: _Job) -> tuple[int, dict[str, Any]]:
    """Compute figures of one paper, and for all of them its report; return code and result."""
    wanted, root, code = job.wanted, job.root, 0
    verdicts = read_verdicts(wanted.paper)
    # each scenario is solved once, although several figures may show it
    runs: dict[str, Run] = {}
    result: dict[str, Any] = {"paper": wanted.paper, "items": []}
    made, begin = [], time.perf_counter()
    say = partial(_say, silent=wanted.quiet or wanted.json)
    with progress_to(partial(Bar, shown=not wanted.quiet)):
        for key, claim in job.claims.items():
            item = job.items[key]
            for name in item.scenarios:
                if name not in runs:
                    runs[name] = solved(name, wanted.changes)
                if not (run := runs[name]).status.ok:
                    typer.echo(f"{name}: {run.reason}\nTry: {run.advice}", err=True)
                    return 1, result
            rows = write_item(
                key, item, runs, claim, figures=wanted.figures, changes=wanted.changes
            )
            verdict = verdicts.item[key]
            pictures = sorted((root / key).glob(f"{key}*.png"))
            made.append(Made(key, item, rows, pictures))
            words = {"verdict": verdict.verdict, "because": verdict.because}
            differ = uncovered(verdict, rows)
            if wanted.changes:
                changed = f"the scenario was changed by --set {' '.join(wanted.changes)}"
                words, differ = {"verdict": "none", "because": changed}, []
            result["items"].append(
                {
                    "key": key,
                    "folder": str(root / key),
                    **words,
                    "not_covered": differ,
                    **plain(item, rows),
                }
            )
            judgement = f"verdict: {words['verdict']}: {words['because']}"
            if differ:
                code = 1
                judgement += f"\nnot covered by this verdict: {', '.join(differ)} differ"
            say(f"{screen(key, item, rows)}\n{judgement}\nwritten to {root / key}\n")
    if wanted.figure is None:
        versions = {k: v for k, v in provenance(time.perf_counter() - begin).items() if k in _FACTS}
        text = report(wanted.paper, verdicts, made, versions, full=wanted.full)
        result["report"] = str(root / "report.html")
        with written(root / "report.html") as path:
            path.write_text(text, encoding="utf-8")
        say(f"report: {root / 'report.html'}")
    return code, result


# entries of the provenance that the report shows
_FACTS = (
    "stiction",
    "python",
    "numpy",
    "numba",
    "scipy",
    "untried",
    "platform",
    "date",
    "kernels",
    "wall_s",
)


def _say(text: str, *, silent: bool) -> None:
    """Print a text, unless `silent`."""
    if not silent:
        put(text)
