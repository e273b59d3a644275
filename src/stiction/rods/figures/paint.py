"""Pictures of rods as tubes, rendered by PyVista in a separate process.

`paint` writes the geometry of all scenes to a temporary file, starts the program `render`, and
reads the pictures that it wrote. `scene` calls it; it draws lines if no picture can be rendered.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.rods.figures.data import Scene
from stiction.rods.figures.partners import PARTNER_COLOUR
from stiction.rods.figures.view import ROLL_COLOUR, SLIP_COLOUR, View, rod_colours

__all__ = ["paint"]

Pixels = npt.NDArray[np.uint8]

# kinds of off-screen windows, tried in order; "" is the default of the machine
_WINDOWS = ("vtkEGLRenderWindow", "vtkOSOpenGLRenderWindow")
_SECONDS = (60.0, 2.0)  # time limits for the start, and per frame [s]


def paint(view: View, scenes: Sequence[Scene], pixels: tuple[int, int]) -> tuple[list[Pixels], str]:
    """Return a picture of tubes per scene and "", or no pictures and the reason.

    Parameters
    ----------
    view : the projection
    scenes : one per picture
    pixels : width and height of a picture

    Verified by: tests/unit/rods/figures/test_figures.py::test_tubes_are_where_the_rods_are
    """
    if importlib.util.find_spec("pyvista") is None:
        return [], "PyVista is not installed"
    own = sys.platform != "linux" or bool(os.environ.get("DISPLAY"))
    reason = ""
    with tempfile.TemporaryDirectory(prefix="stiction-scene-") as name:
        folder = Path(name)
        described = _described(view, scenes, pixels)
        np.savez(folder / "scene.npz", **described)
        for window in (("",) if own else ()) + _WINDOWS:
            reason = _render(folder, window, len(scenes))
            if not reason:
                return [np.load(folder / f"frame-{k:04d}.npy") for k in range(len(scenes))], ""
    return [], reason


def _render(folder: Path, window: str, count: int) -> str:
    """Render the scenes of a folder by one kind of window; return the error, "" for none."""
    environment = dict(os.environ)
    if window:
        environment["VTK_DEFAULT_OPENGL_WINDOW"] = window
    # isolated (-I): neither the current folder nor the environment adds code
    command = [sys.executable, "-I", str(Path(__file__).with_name("render.py")), str(folder)]
    start, each = _SECONDS
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=start + each * count,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"PyVista could not paint ({type(error).__name__})"
    last = folder / f"frame-{count - 1:04d}.npy"
    if done.returncode != 0 or not last.exists():
        # report exceptions of Python, not messages of a graphics library
        last_line = done.stderr.strip().splitlines()[-1:]
        useful = [line[:80] for line in last_line if re.match(r"\w+Error: ", line)]
        why = useful[0] if useful else f"its process ended with code {done.returncode}"
        return f"PyVista could not paint ({why})"
    # a window without a working graphics library returns empty pictures without an error
    return "" if int(np.ptp(np.load(last))) > 0 else "PyVista painted an empty picture"


def _described(view: View, scenes: Sequence[Scene], pixels: tuple[int, int]) -> dict[str, Any]:
    """Return the arrays that describe all scenes; the docstring of `render.py` lists them."""
    first = scenes[0]
    most = max(len(scene.points) for scene in scenes)
    point, arrow = np.zeros((2, len(scenes), most, 3))
    shown, slips = np.zeros((2, len(scenes), most), dtype=bool)
    for k, scene_ in enumerate(scenes):
        n = len(scene_.points)
        point[k, :n], arrow[k, :n] = scene_.points, view.arrow * scene_.forces
        shown[k, :n], slips[k, :n] = True, scene_.slips
    positions = np.stack([np.concatenate(scene_.rods) for scene_ in scenes])
    surfaces = {
        f"surface-{j}": np.stack([scene_.surfaces[j] for scene_ in scenes])
        for j in range(len(first.surfaces))
    }
    return {
        **surfaces,
        "surfaces": np.array(len(surfaces)),
        "surface_colour": np.array(PARTNER_COLOUR),
        "position": positions,
        "rod": np.concatenate([np.full(len(rod), i) for i, rod in enumerate(first.rods)]),
        "radius": first.radii,
        "colour": np.array(rod_colours(len(first.rods))),
        "point": point,
        "arrow": arrow,
        "shown": shown,
        "slips": slips,
        "arrow_colour": np.array([ROLL_COLOUR, SLIP_COLOUR]),
        "thick": 0.009 * view.half[1],
        "centre": view.centre,
        "out": view.out,
        "up": view.up,
        "half": np.array(view.half),
        "depth": float(np.linalg.norm(np.ptp(positions.reshape(-1, 3), axis=0))),
        "window": np.array(pixels),
    }
