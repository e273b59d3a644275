"""The command line as tests call it: what is printed, and what is said of errors, apart."""

import inspect

from typer.testing import CliRunner

# Click joined both before 8.2 where nobody asked otherwise
_JOINS = "mix_stderr" in inspect.signature(CliRunner.__init__).parameters


def runner() -> CliRunner:
    """Return what calls a command within this process."""
    return CliRunner(mix_stderr=False) if _JOINS else CliRunner()
