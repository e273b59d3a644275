"""The commands and their options; everything heavy is imported when a command runs."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from stiction.cli.output import open_streams, put, silence
from stiction.errors import StictionError, explain
from stiction.fits.command import fit_command, show_other, verify_others
from stiction.numerics.direct.heap import say_ours
from stiction.results.interrupts import exit_code, hear_terminate

__all__ = ["app", "main"]

BAD_INPUT = 2

C = TypeVar("C", bound=Callable[..., None])

Unverified = Annotated[
    bool, typer.Option("--unverified", help="Read files that were changed since they were saved.")
]

app = typer.Typer(
    name="stiction",
    help="Frictional contact where stick is exact and every result says how far to trust it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line; the entry point of the `stiction` command."""
    open_streams()
    hear_terminate()
    say_ours()
    if not sys.warnoptions:
        # a warning of a library says nothing to a user; what matters is in the audit
        warnings.simplefilter("ignore")
    app(prog_name="stiction")


def guarded(command: C) -> C:
    """Return `command` with errors turned into messages and exit codes.

    0 solved; 1 the solve failed; 2 bad input; 3 solved, but not to be trusted (with --strict);
    130 interrupted; 143 the same by SIGTERM.
    """

    @functools.wraps(command)
    def inner(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
            sys.stdout.flush()
        except StictionError as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(BAD_INPUT) from error
        except MemoryError as error:
            typer.echo(_TOO_LARGE, err=True)
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt as error:
            typer.echo("Interrupted.", err=True)
            raise typer.Exit(exit_code()) from error
        except BrokenPipeError:
            silence()
        except OSError as error:
            # for example a full disk behind `> file`; what we write ourselves has its own message
            got = error.strerror or str(error)
            typer.echo(explain("stiction", got, *_NO_HELP), err=True)
            raise typer.Exit(BAD_INPUT) from error

    return inner  # type: ignore[return-value]


_TOO_LARGE = explain(
    "memory",
    "a problem larger than this machine's memory",
    "arrays that fit",
    "a run keeps its system and every saved state in memory.",
    "fewer masses, or fewer saved states with --set solve.save=100.",
)


_NO_HELP = (
    "a system that reads and writes",
    "the operating system refused it.",
    "check disks, permissions and redirections; > /dev/null prints nowhere.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from stiction._version import __version__

        typer.echo(f"stiction {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Frictional contact where stick is exact and every result says how far to trust it."""


@app.command("list")
@guarded
def list_() -> None:
    """The built-in scenarios and studies, one line each, with their paper and figure."""
    from stiction.scenario.built_in import entries
    from stiction.studies.listing import ready_entries

    every = [*entries(), *ready_entries()]
    rows = [(e.name, ", ".join(p for p in (e.paper, e.figure) if p), e.title) for e in every]
    widths = [max(len(row[i]) for row in rows) + 2 for i in (0, 1)]
    for name, source, title in rows:
        put(f"{name:<{widths[0]}}{source:<{widths[1]}}{title}")


@app.command()
@guarded
def run(
    scenario: Annotated[
        str, typer.Argument(metavar="NAME-or-FILE.toml", help="A built-in scenario or a file.")
    ],
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="path=value", help="Change a key, such as system.law.mu=0.3."
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder of the result. Default: out/NAME.")
    ] = None,
    no_figures: Annotated[bool, typer.Option("--no-figures", help="Draw nothing.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a saved run in that folder.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint of a killed run.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no summary.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 if an audit line or determinism failed.")
    ] = False,
    checkpoint_every: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.0, help="Wall time between checkpoints.")
    ] = 10.0,
) -> None:
    """Solve a scenario, print its one-screen summary and write its folder."""
    from stiction.cli.run import Job, run_job

    flags = {"overwrite": overwrite, "resume": resume, "quiet": quiet, "strict": strict}
    job = Job(scenario, changes or (), out, figures=not no_figures, every=checkpoint_every, **flags)
    raise typer.Exit(run_job(job))


@app.command()
@guarded
def show(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A saved run.")],
    unverified: Unverified = False,
) -> None:
    """The one-screen summary of a saved run, study or fit."""
    from stiction.results.store import load
    from stiction.results.summary import screen

    other = show_other(folder)
    put(screen(load(folder, unverified=unverified)) if other is None else other)


@app.command()
@guarded
def sweep(
    study: Annotated[str, typer.Argument(metavar="NAME-or-FILE.toml", help="A study.")],
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes. Default: cores, as memory allows.")
    ] = None,
    engine: Annotated[str, typer.Option(metavar="local|dask", help="Who solves.")] = "local",
    address: Annotated[
        str | None, typer.Option(metavar="URL", help="Of a Dask scheduler. Default: one here.")
    ] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="i/n", help="One of n parts, for arrays of jobs.")
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="Default: out/NAME.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no summary.")] = False,
) -> None:
    """Many runs of a scenario; whatever is killed, the same command goes on."""
    from stiction.cli.progress import Bar
    from stiction.studies.command import Asked, sweep_file

    asked = Asked(study, out, workers, engine, shard, address, quiet)
    with Bar(study, shown=not quiet) as bar:
        code = sweep_file(asked, put, bar)
    raise typer.Exit(code)


app.command("fit")(guarded(fit_command))


@app.command()
@guarded
def verify(
    folders: Annotated[list[str], typer.Argument(metavar="DIR...", help="Saved runs.")],
) -> None:
    """Whether saved runs are what was written: exit 0 sound, 2 damaged, 3 without digests."""
    from stiction.results.trust.verify import verified

    code, runs = verify_others(folders, put)
    raise typer.Exit(max(code, verified(runs, put)) if runs or not folders else code)


@app.command()
@guarded
def plot(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A saved run.")],
    what: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A figure, such as phase; several times for more."),
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", metavar="png|pdf|svg", help="Format of the figures.")
    ] = "png",
    animate: Annotated[
        list[str] | None,
        typer.Option(metavar="gif|mp4|html", help="Write an animation, and figures only if named."),
    ] = None,
    unverified: Unverified = False,
) -> None:
    """Draw a saved run or study again: files in DIR/figures."""
    from stiction.cli.plot import draw
    from stiction.studies.store import is_study

    if is_study(folder):
        from stiction.studies.command import plot_study

        for path in plot_study(folder, what or (), format_):
            put(str(path))
        return
    for path in draw(folder, what or (), format_, animate or (), unverified=unverified):
        put(str(path))


@app.command()
@guarded
def reproduce(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help="A paper: chains, rods, switching ...")
    ],
    figure: Annotated[
        str | None,
        typer.Argument(metavar="[FIGURE]", help="A figure or table: 5, table-2. Default: all."),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder. Default: out/reproduce-PAPER.")
    ] = None,
    no_figures: Annotated[bool, typer.Option("--no-figures", help="Draw nothing.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what was reproduced before.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="The paper's sizes where the default is smaller: slow.")
    ] = False,
) -> None:
    """A paper's figures and tables beside ours, with the differences."""
    from stiction.cli import reproduce as papers

    code = papers.reproduce(
        paper, figure, out, overwrite=overwrite, figures=not no_figures, full=full
    )
    raise typer.Exit(code)


@app.command("compile")
@guarded
def compile_(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SYSTEM]...", help="chains, switching ... Default: all."),
    ] = None,
) -> None:
    """Compile the kernels of a system once, on all cores, so that no run has to."""
    from stiction.cli.compile import compile_systems

    raise typer.Exit(1 if compile_systems(names or ()) else 0)
