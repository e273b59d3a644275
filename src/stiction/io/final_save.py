"""Saving of the result of `stiction run`, so that a full disk does not lose a solved run.

The run is saved in the folder that the user named. If that fails, it is saved in the first other
folder with space: beside the named one, or on another disk. The message names the folder.
"""

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

__all__ = ["SavedRun", "save_run"]


@dataclass(frozen=True)
class SavedRun:
    """The folder of a saved run.

    Parameters
    ----------
    folder : as the user named it
    instead : the folder with a valid result that this failed run did not replace
    drawn : False if Ctrl-C interrupted the figures
    """

    folder: Path
    instead: Path | None = None
    drawn: bool = True

    @property
    def partial_text(self) -> str:
        """Message for a run that ended early."""
        return f"The partial result is in {self._where}."

    @property
    def complete_text(self) -> str:
        """Message for a run that is complete and untrusted."""
        return f"The result is in {self._where}."

    @property
    def _where(self) -> str:
        other = f"; {self.instead} is unchanged" if self.instead is not None else ""
        return f"{self.folder}{other}"

    def __str__(self) -> str:
        """Return the last lines of the summary."""
        lines = [f"written to   {self.folder}"]
        if self.instead is not None:
            lines.append(f"unchanged    {self.instead}, which a failed run does not replace")
        return "\n".join(lines)


def save_run(
    run: Run,
    claim: Claim,
    called: Path,
    checkpoint: FileCheckpoint,
    *,
    scenario: str,
    draw: Callable[[Path], object] | None = None,
) -> SavedRun:
    """Save `run`, and remove its checkpoint.

    Parameters
    ----------
    run : the run
    claim : the locked folder to which this process may write
    called : name of that folder as the user gave it
    checkpoint : checkpoint of the run
    scenario : TOML text of the scenario
    draw : function that writes figures into a folder

    Raises
    ------
    StoreError : if the folder cannot be written; the message names the folder that has the run.

    Verified by: tests/unit/io/test_final_save.py::test_a_full_disk_costs_no_run
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
        raise StoreError(_save_elsewhere(run, claim, checkpoint, scenario, error)) from error
    _remove(checkpoint)
    if folder == claim.path:
        return SavedRun(called, drawn=drawn)
    return SavedRun(called.with_name(folder.name), called, drawn)


def _save_elsewhere(
    run: Run, claim: Claim, checkpoint: FileCheckpoint, scenario: str, error: BaseException
) -> str:
    """Save `run` in the first folder with enough space; return the message of the error."""
    text = str(error)
    if not isinstance(error, StoreError):
        needs, why = "memory for the file of the arrays", "a file is assembled in memory."
        text = explain(str(claim.path), "too little memory", needs, why, "")
    text = text.partition("\nTry: ")[0]
    for folder in _fallback_folders(claim.path):
        with contextlib.suppress(OSError, MemoryError):
            save(run, folder, scenario=scenario)
            _remove(checkpoint)
            return (
                f"{text}\nTry: the run is saved completely in {folder}; move that folder to the "
                "intended place."
            )
    remainder = "nothing of this run could be saved anywhere"
    if checkpoint.path.exists():
        remainder = "its last checkpoint is saved: add --resume to continue from it"
    return f"{text}\nTry: free disk space and run the scenario again; {remainder}."


def _fallback_folders(path: Path) -> Iterator[Path]:
    """Yield folders to try: beside the intended one, and on other disks."""
    name = f"{path.name}.saved-{secrets.token_hex(3)}"
    yield path.with_name(name)
    # each of these functions may raise its own error
    for find in (tempfile.gettempdir, Path.cwd, Path.home):
        with contextlib.suppress(OSError, RuntimeError):
            yield Path(find(), name)


def _remove(checkpoint: FileCheckpoint) -> None:
    # on a disk that became read-only the checkpoint remains
    with contextlib.suppress(OSError):
        checkpoint.remove()
