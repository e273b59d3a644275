"""The subcommands of `stiction`, their options, and the exit codes after errors.

Each function below is one subcommand; Typer makes its options and help from the annotations and the
docstring. The work is done by the module that the function imports when it runs, so that the help
is shown quickly. `stiction.__main__` calls `main`.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from stiction.cli.completion import folders, one_of, papers, studies, systems
from stiction.cli.output import open_streams, put, put_json, silence, width
from stiction.errors import ExtensionWarning, StictionError, explain
from stiction.explore.command import explore_command
from stiction.fits.command import fit_command
from stiction.fmi.command import export_command
from stiction.io.interrupts import catching_interrupts, end_at_once, exit_code, interrupts_caught
from stiction.io.scenario.completion import scenarios, settings

__all__ = ["app", "main"]

BAD_INPUT = 2

C = TypeVar("C", bound=Callable[..., None])

Unverified = Annotated[
    bool, typer.Option("--unverified", help="Read files that were changed since they were saved.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="png|pdf|svg",
        help="Format of the figures.",
        autocompletion=one_of("png", "pdf", "svg"),
    ),
]
Dpi = Annotated[
    float | None, typer.Option(metavar="DPI", help="Dots per inch of PNG figures. Default: 150.")
]

app = typer.Typer(
    name="stiction",
    help="Frictional contact where stick is exact and every result says how far to trust it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line."""
    open_streams()
    end_at_once()
    if not sys.warnoptions:
        # warnings of libraries do not help a user; the audit reports invalid numbers
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", ExtensionWarning)
        warnings.formatwarning = lambda message, *_, **__: f"{message}\n"
    app(prog_name="stiction")


def guarded(command: C) -> C:
    """Return `command` with errors turned into messages and exit codes.

    The exit codes are 0: solved; 1: the solve failed; 2: wrong input; 3: solved, but a check of the
    audit or determinism failed (with --strict); 130: interrupted by Ctrl-C; 143: by SIGTERM.
    """

    @functools.wraps(command)
    def inner(*args: Any, **options: Any) -> None:
        before = interrupts_caught()
        try:
            with catching_interrupts():
                command(*args, **options)
                sys.stdout.flush()
        except (typer.Exit, typer.Abort):
            raise
        except BrokenPipeError:
            silence()
        except (Exception, KeyboardInterrupt) as error:
            # Ctrl-C during an import may cause other errors
            if isinstance(error, KeyboardInterrupt) or interrupts_caught() > before:
                typer.echo("Interrupted.", err=True)
                raise typer.Exit(exit_code()) from error
            message = _message(error)
            if not message:
                raise
            typer.echo(message, err=True)
            raise typer.Exit(BAD_INPUT) from error

    return inner  # type: ignore[return-value]


def _message(error: BaseException) -> str:
    """Return the message of an expected error; "" for an error that shows a bug."""
    if isinstance(error, StictionError):
        return str(error)
    if isinstance(error, MemoryError):
        return _TOO_LARGE
    if isinstance(error, OSError):
        # for example a full disk behind `> file`; errors of result files are StoreErrors
        return explain("stiction", error.strerror or str(error), *_SYSTEM_ERROR)
    return ""


_TOO_LARGE = explain(
    "memory",
    "a problem larger than this machine's memory",
    "arrays that fit into memory",
    "a run keeps its system and every saved state in memory.",
    "solve a smaller system, or save fewer states with --set solve.save=100.",
)


_SYSTEM_ERROR = (
    "files and streams that can be read and written",
    "the operating system refused to read or write.",
    "check free disk space, permissions and redirections of the output.",
)


def _version(wanted: bool) -> None:
    """Print the version and exit, if `--version` was given."""
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
def list_(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SYSTEM]...",
            help="A group, such as chains or studies. Default: all.",
            autocompletion=systems,
        ),
    ] = None,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print names only.")] = False,
) -> None:
    """The built-in scenarios and studies by system, with the processor time of a run."""
    import dataclasses

    from stiction.io.scenario.built_in import entries
    from stiction.io.scenario.listing import chosen, table
    from stiction.studies.listing import ready_entries

    every = chosen([*entries(), *ready_entries()], names or ())
    if json:
        put_json([dataclasses.asdict(entry) for entry in every])
    else:
        put("\n".join(entry.name for entry in every) if quiet else table(every, width()))


@app.command()
@guarded
def run(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="NAME-or-FILE.toml",
            help="A built-in scenario or a file.",
            autocompletion=scenarios,
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
        str | None, typer.Option(metavar="DIR", help="Folder of the result. Default: out/NAME.")
    ] = None,
    no_figures: Annotated[bool, typer.Option("--no-figures", help="Draw nothing.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a saved run in that folder.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the checkpoint of a killed run.")
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit with 3 if an audit line failed or determinism is lost."
        ),
    ] = False,
    checkpoint_every: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.0, help="Wall time between checkpoints.")
    ] = 10.0,
    format_: Format = "png",
    dpi: Dpi = None,
) -> None:
    """Solve a scenario, print its one-screen summary and write its folder."""
    from stiction.cli.run import Job, run_job

    job = Job(
        scenario,
        changes or (),
        out,
        figures=not no_figures,
        overwrite=overwrite,
        resume=resume,
        quiet=quiet,
        strict=strict,
        every=checkpoint_every,
        format=format_,
        dpi=dpi,
        json=json,
    )
    raise typer.Exit(run_job(job))


@app.command()
@guarded
def show(
    folder: Annotated[
        str,
        typer.Argument(metavar="DIR", help="A saved run or study.", autocompletion=folders),
    ],
    unverified: Unverified = False,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print one line.")] = False,
) -> None:
    """The one-screen summary of a saved run, study or fit."""
    from stiction.cli.saved import existing_folder, show_run
    from stiction.fits.folder import fit_in
    from stiction.studies.command import show_study
    from stiction.studies.store import is_study

    if is_study(existing_folder(folder)):
        show_study(folder, put_json if json else put, json=json, quiet=quiet)
    elif (fit := fit_in(folder)) is not None:
        message = str(fit["screen"])
        put_json(fit) if json else put(message.partition("\n")[0] if quiet else message)
    else:
        show_run(folder, unverified=unverified, json=json, quiet=quiet)


@app.command()
@guarded
def sweep(
    study: Annotated[
        str,
        typer.Argument(metavar="NAME-or-FILE.toml", help="A study.", autocompletion=studies),
    ],
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of processes. Default: as cores and memory allow."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="local|dask",
            help="Solve on this machine, or on a Dask cluster.",
            autocompletion=one_of("local", "dask"),
        ),
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Address of a Dask scheduler. Default: a new one on this machine."
        ),
    ] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="i/n", help="Solve part i of n, for job arrays.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder of the study. Default: out/NAME.")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Many runs of a scenario; the same command resumes a killed study."""
    from stiction.cli.progress import Bar
    from stiction.studies.command import Asked, sweep_file

    asked = Asked(study, out, workers, engine, shard, address, quiet, json)
    with Bar(study, shown=not quiet) as bar:
        code = sweep_file(asked, put_json if json else put, bar)
    raise typer.Exit(code)


app.command("fit")(guarded(fit_command))
app.command("export")(guarded(export_command))
app.command("explore")(guarded(explore_command))


@app.command()
@guarded
def verify(
    saved: Annotated[
        list[str],
        typer.Argument(metavar="DIR...", help="Saved runs or studies.", autocompletion=folders),
    ],
    json: Json = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only results that are not valid.")
    ] = False,
) -> None:
    """Check saved runs against their digests: exit 0 valid, 2 damaged, 3 without digests."""
    from stiction.cli.saved import verify_all

    raise typer.Exit(verify_all(saved, json=json, quiet=quiet))


@app.command()
@guarded
def plot(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="A saved run.", autocompletion=folders)
    ],
    what: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A figure, such as phase; repeat for more figures."),
    ] = None,
    format_: Format = "png",
    dpi: Dpi = None,
    animate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="gif|mp4|html",
            help="Write an animation, and figures only if named.",
            autocompletion=one_of("gif", "mp4", "html"),
        ),
    ] = None,
    unverified: Unverified = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw a saved run or study again: files in DIR/figures."""
    from stiction.cli.plot import check_films, draw
    from stiction.cli.saved import existing_folder
    from stiction.studies.command import plot_study
    from stiction.studies.store import is_study

    looks = (what or (), format_, dpi)
    if is_study(existing_folder(folder)):
        check_films(animate or ())
        paths = plot_study(folder, *looks, animate or ())
    else:
        paths = draw(folder, *looks, animate or (), unverified=unverified)
    if json:
        put_json({"files": [str(path) for path in paths]})
    elif not quiet:
        put("\n".join(str(path) for path in paths))


@app.command()
@guarded
def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER", help="A paper, such as chains, or all.", autocompletion=papers
        ),
    ],
    figure: Annotated[
        str | None,
        typer.Argument(
            metavar="[FIGURE]", help="A figure or table, such as 5 or table-2. Default: all."
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder. Default: out/reproduce-PAPER.")
    ] = None,
    no_figures: Annotated[bool, typer.Option("--no-figures", help="Draw nothing.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what was reproduced before.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Use the sizes of the paper, which is slow.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use the small sizes, the default if a paper has two.")
    ] = False,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="path=value", help="Change a key of the scenarios of FIGURE."
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare a paper's figures, tables and statements with computed ones, in a report."""
    from stiction.cli.reproduce import Wanted, reproduce

    wanted = Wanted(
        paper,
        figure,
        out,
        overwrite=overwrite,
        figures=not no_figures,
        full=full,
        quick=quick,
        json=json,
        quiet=quiet,
        changes=changes or (),
    )
    raise typer.Exit(reproduce(wanted))


@app.command("compile")
@guarded
def compile_(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SYSTEM]...",
            help="A system, such as chains. Default: all.",
            autocompletion=systems,
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compile the kernels of a system once, on all cores, so that runs start at once."""
    from stiction.cli.compile import compile_systems

    raise typer.Exit(1 if compile_systems(names or (), json=json, quiet=quiet) else 0)


@app.command()
@guarded
def doctor(
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print faults only.")] = False,
) -> None:
    """Check the installation, and name the packages that are missing; exit 2 on faults."""
    import dataclasses

    from stiction.doctor import FAULT, examine, screen

    findings = examine()
    faults = [finding for finding in findings if finding.state == FAULT]
    if json:
        put_json({"faults": len(faults), "findings": [dataclasses.asdict(f) for f in findings]})
    elif faults or not quiet:
        put(screen(faults if quiet else findings, min(width(), 100)))
    raise typer.Exit(BAD_INPUT if faults else 0)
