"""The object by which a run draws its figures and saves itself: `Run.plot` and `Run.save`.

`stiction.solve` gives it to the run, so that `stiction.core` need not import plotting and storage.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stiction.core.run import Run
    from stiction.plot.figures import Figures

__all__ = ["OUTPUT", "FolderOutput"]


class FolderOutput:
    """Draws the figures of a run, and writes it to a folder."""

    def figures(self, run: Run) -> Figures:
        """Return the figures of a run; see `stiction.plot.figures_of`."""
        from stiction.plot.figures import figures_of

        return figures_of(run)

    def save(self, run: Run, path: Path, overwrite: bool) -> Path:
        """Write a run to a folder and return it; see `stiction.io.store.save`."""
        from stiction.io.store import save

        return save(run, path, overwrite=overwrite)


OUTPUT = FolderOutput()
