"""The command `stiction run`: reads a scenario, solves it, saves the run and prints its summary.

The steps of `run_job` are: check the arguments, read the scenario, claim the folder of the result,
find a checkpoint, solve, save and draw, print, and return the exit code. The folder is claimed
before the solve, so that two processes never write the same result.
If the kernels of the system are not compiled yet and the run is small, it is solved as plain Python
code, which is then faster than compiling.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import typer

from stiction.cli.output import check_stream, put, put_json
from stiction.cli.progress import Bar
from stiction.cli.saved import saved_summary
from stiction.core.method import default_method, name_of
from stiction.core.run import Run
from stiction.core.summary import doubts, screen
from stiction.errors import Status, StictionError
from stiction.io.checkpoint_file import EVERY, FileCheckpoint, checkpoint_path
from stiction.io.final_save import save_run
from stiction.io.interrupts import Interrupts, exit_code
from stiction.io.scenario import Scenario, read_scenario, write_scenario
from stiction.io.staging import Claim, claimed
from stiction.numerics.compiling.choosing import TooSlow, Trial, choose, note_ready, system_of
from stiction.numerics.jit import use
from stiction.plot.files import check_looks
from stiction.solve import solve

__all__ = ["DOUBTED", "FAILED", "SOLVED", "Job", "run_job"]

SOLVED, FAILED, DOUBTED = 0, 1, 3

_SMALL = (
    "The kernels of {method} ({system}) are not compiled yet, and the run is small: "
    "it ran as plain Python.\n"
    "Run `stiction compile {system}` once for full speed."
)


@dataclass(frozen=True)
class Job:
    """The arguments of `stiction run`.

    Parameters
    ----------
    name : name of a built-in scenario, or path of a file
    changes : settings "path=value"
    out : folder of the result; None for out/NAME
    figures, overwrite, resume, quiet, strict : as on the command line
    every : wall time between two checkpoints [s]
    format, dpi : format and dots per inch of the figures
    json : whether one JSON document is printed instead of the summary
    """

    name: str
    changes: Sequence[str] = ()
    out: str | None = None
    figures: bool = True
    overwrite: bool = False
    resume: bool = False
    quiet: bool = False
    strict: bool = False
    every: float = EVERY
    format: str = "png"
    dpi: float | None = None
    json: bool = False

    @property
    def folder(self) -> Path:
        """Folder of the result."""
        return Path("out", Path(self.name).stem) if self.out is None else Path(self.out)

    @property
    def resume_command(self) -> str:
        """The command that resumes this job."""
        settings = [word for change in self.changes for word in ("--set", change)]
        words = ["stiction", "run", self.name, *settings, "--out", str(self.folder), "--resume"]
        words += ["--overwrite"] * self.overwrite + ["--no-figures"] * (not self.figures)
        words += ["--strict"] * self.strict + ["--json"] * self.json + ["--quiet"] * self.quiet
        words += [] if self.every == EVERY else ["--checkpoint-every", f"{self.every:g}"]
        words += ["--format", self.format] * (self.format != "png")
        words += [] if self.dpi is None else ["--dpi", f"{self.dpi:g}"]
        return shlex.join(words)


def run_job(job: Job) -> int:
    """Solve a scenario, save the run, print its summary, and return the exit code.

    Verified by: tests/scenarios/test_run.py::test_exit_codes
    """
    # every argument is checked here, before anything is solved or written
    if not job.quiet or job.json:
        check_stream()
    check_looks(job.format, job.dpi)
    scenario = read_scenario(job.name, job.changes)
    with claimed(job.folder, overwrite=job.overwrite) as claim:
        return _run(job, scenario, claim)


def _run(job: Job, scenario: Scenario, claim: Claim) -> int:
    """Solve, save, draw and print a scenario whose folder is claimed; return the exit code."""
    bare = dataclasses.replace(scenario, title="", paper="", figure="", note="")
    path, key = checkpoint_path(claim.path), write_scenario(bare)
    checkpoint = FileCheckpoint(path, key, resume=job.resume, every=job.every, warn=_say)
    if not job.resume and checkpoint.path.exists():
        if checkpoint.matches():
            _say("A checkpoint of an interrupted run exists; --resume continues from it.")
        else:
            _say("A checkpoint of another run, or a damaged one, exists; this run replaces it.")
    if job.resume and not checkpoint.path.exists():
        _say("There is no checkpoint to resume from; the run starts at the beginning.")
    try:
        run = _chosen(job, scenario, checkpoint)
        # figures of a run that ended early might fail
        draw = partial(_draw, run, job) if job.figures and run.status.complete else None
        text = write_scenario(scenario)
        saved = save_run(run, claim, job.folder, checkpoint, scenario=text, draw=draw)
    except KeyboardInterrupt:
        return _interrupted(job, checkpoint)
    if not saved.drawn:
        _say(f"Interrupted while drawing: {saved.folder} is complete except for its figures.")
        return exit_code()
    what = doubts(run) if run.status.ok and job.strict else []
    code = FAILED if not run.status.ok else DOUBTED if what else SOLVED
    if job.json:
        put_json(saved_summary(saved.folder, exit_code=code))
    elif not job.quiet:
        put(f"{screen(run)}\n{saved}")
    if what:
        _say(f"--strict: {', '.join(what)}.")
    if run.status is Status.UNTRUSTED:
        advice = f"{run.advice}. {saved.complete_text}"
        _say(f"The run cannot be trusted.\nWhy: {run.reason}\nTry: {advice}")
    elif code == FAILED:
        unit = "" if run.time_unit == "1" else f" {run.time_unit}"
        _say(
            f"The solve stopped at t = {run.t_end:.9g}{unit}, before {scenario.t_end:.9g}{unit}.\n"
            f"Why: {run.reason}\nTry: {run.advice}. {saved.partial_text}"
        )
    return code


def _chosen(job: Job, scenario: Scenario, checkpoint: FileCheckpoint) -> Run:
    """Solve with compiled kernels or as plain Python, as `choose` selects.

    If compiled kernels are missing, the run first starts as plain Python. If that is too slow, the
    kernels are compiled and the run starts again.
    """
    method = scenario.method or default_method(scenario.system)
    place = name_of(method)
    known = getattr(scenario.system, "plain_seconds", None)
    seconds = known(method, scenario.t_end - scenario.t_span[0]) if known is not None else None
    mode, open_ = choose(place, checkpoint.kernels(), seconds)
    use(mode)
    if not open_:
        run = _solved(job, scenario, checkpoint, Trial(active=False))
    else:
        try:
            run = _solved(job, scenario, checkpoint, Trial(active=True))
            _say_unless_quiet(
                job, _SMALL.format(method=type(method).__name__, system=system_of(place))
            )
        except (TooSlow, ArithmeticError, ValueError) as error:
            # a user's law may catch TooSlow and return NaN, which causes other errors later
            if isinstance(error, StictionError):
                raise
            reason = "Compiling takes less time than plain Python"
            if not isinstance(error, TooSlow):
                reason = f"Plain Python ended with an error ({type(error).__name__}: {error})"
            _say_unless_quiet(job, f"{reason}: the run starts again, compiled.")
            checkpoint.remove()
            use("compiled")
            run = _solved(job, scenario, checkpoint, Trial(active=False))
    if run.status.complete and run.provenance["kernels"] == "compiled":
        note_ready(place)
    return run


def _solved(job: Job, scenario: Scenario, checkpoint: FileCheckpoint, trial: Trial) -> Run:
    """Solve once, with a progress bar; raise KeyboardInterrupt if the run was interrupted.

    Parameters
    ----------
    trial : raises TooSlow if plain Python takes longer than compiling would
    """
    quiet_numbers = np.errstate(all="ignore")
    bar = Bar(job.name, shown=not job.quiet)
    with Interrupts() as interrupts, bar, quiet_numbers, trial:

        def report(fraction: float, note: str) -> None:
            interrupts.check()
            trial.report(fraction)
            bar(fraction, note)

        run = solve(
            scenario.system,
            scenario.method,
            scenario.t_span,
            save=scenario.save,
            throw=False,
            progress=report,
            checkpoint=checkpoint,
        )
    if run.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return run


def _draw(run: Run, job: Job, folder: Path) -> None:
    """Write the default figures of a run to a folder."""
    from stiction.plot import write_figures

    write_figures(run, folder, None, job.format, job.dpi)


def _interrupted(job: Job, checkpoint: FileCheckpoint) -> int:
    """Print how an interrupted run is continued; return the exit code."""
    # without --resume a file that this run has not written belongs to an earlier one
    if checkpoint.path.exists() and (job.resume or checkpoint.saved):
        _say(f"Interrupted; the last checkpoint is saved. Continue with: {job.resume_command}")
    else:
        _say("Interrupted before the first checkpoint; nothing was written.")
    return exit_code()


def _say_unless_quiet(job: Job, text: str) -> None:
    if not job.quiet:
        _say(text)


def _say(text: str) -> None:
    typer.echo(text, err=True)
