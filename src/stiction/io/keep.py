"""Save a solved run where it belongs, or else where there is room, and say where."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stiction.core.run import Run
from stiction.errors import StoreError, explain
from stiction.io.checkpoint_file import FileCheckpoint
from stiction.io.staging import Claim
from stiction.io.store import DrawingInterrupted, FiguresError, save

__all__ = ["Kept", "keep"]


@dataclass(frozen=True)
class Kept:
    """Where a run was put.

    Parameters
    ----------
    folder : as the user called it
    instead : the folder whose good result this failed run did not replace
    drawn : False if Ctrl-C cost the figures
    """

    folder: Path
    instead: Path | None = None
    drawn: bool = True

    @property
    def partial(self) -> str:
        """What to say of a run that ended early."""
        return f"The partial result is in {self._where}."

    @property
    def whole(self) -> str:
        """What to say of a run that is complete and untrusted."""
        return f"The result is in {self._where}."

    @property
    def _where(self) -> str:
        rest = f"; {self.instead} keeps what it held" if self.instead is not None else ""
        return f"{self.folder}{rest}"

    def __str__(self) -> str:
        """Return the last lines of the summary."""
        lines = [f"written to   {self.folder}"]
        if self.instead is not None:
            lines.append(f"kept         {self.instead}, which a failed run does not replace")
        return "\n".join(lines)


def keep(
    run: Run,
    claim: Claim,
    called: Path,
    checkpoint: FileCheckpoint,
    *,
    scenario: str,
    draw: Callable[[Path], object] | None = None,
) -> Kept:
    """Save `run`, and remove its checkpoint.

    Parameters
    ----------
    run : what to write
    claim : the folder that this process may write to
    called : the same as the user gave it
    checkpoint : what the run left while it was solved
    scenario : TOML text of what was run
    draw : writes figures into the folder it is given

    Raises
    ------
    StoreError : if nothing can be written there. Where else the run was put is said.

    Verified by: tests/unit/io/test_keep.py::test_a_full_disk_costs_no_run
    """
    drawn = True
    try:
        folder = save(run, claim, scenario=scenario, draw=draw)
    except DrawingInterrupted as interrupt:
        drawn, folder = False, interrupt.args[0]
    except FiguresError:
        _remove(checkpoint)
        raise
    except (StoreError, MemoryError) as error:
        raise StoreError(_elsewhere(run, claim, checkpoint, scenario, error)) from error
    _remove(checkpoint)
    if folder == claim.path:
        return Kept(called, drawn=drawn)
    return Kept(called.with_name(folder.name), called, drawn)


def _elsewhere(
    run: Run, claim: Claim, checkpoint: FileCheckpoint, scenario: str, error: BaseException
) -> str:
    """Save `run` wherever there is room, and return the message."""
    text = str(error)
    if not isinstance(error, StoreError):
        needs, why = "room for the file of the arrays", "a file is built in memory."
        text = explain(str(claim.path), "too little memory", needs, why, "")
    text = text.partition("\nTry: ")[0]
    for folder in _refuges(claim.path):
        with contextlib.suppress(OSError, MemoryError):
            save(run, folder, scenario=scenario)
            _remove(checkpoint)
            return f"{text}\nTry: the run is complete, in {folder}; move it where it belongs."
    left = "nothing of this run could be kept anywhere"
    if checkpoint.path.exists():
        left = "its last checkpoint is kept: add --resume to go on from there"
    return f"{text}\nTry: make room and run it again; {left}."


def _refuges(path: Path) -> Iterator[Path]:
    """Yield folders to try: beside the one that was meant, and on other disks."""
    name = f"{path.name}.kept-{secrets.token_hex(3)}"
    yield path.with_name(name)
    # each fails in its own way where there is none
    for find in (tempfile.gettempdir, Path.cwd, Path.home):
        with contextlib.suppress(OSError, RuntimeError):
            yield Path(find(), name)


def _remove(checkpoint: FileCheckpoint) -> None:
    # on a disk that became read-only it stays
    with contextlib.suppress(OSError):
        checkpoint.remove()
