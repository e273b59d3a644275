"""Renders rods as tubes by PyVista, in a separate process.

It is started as ``python -I render.py FOLDER`` and imports nothing of this package. FOLDER contains
``scene.npz``, written by `paint`; the program adds one picture per frame. Its arrays, for n nodes,
r rods, c contacts and f frames:

- window (2,): width and height [pixels]
- centre, out, up (3,): centre of the view [m], unit vectors to the eye and upwards
- half (2,): half of the height, half of the width [m]; depth: extent of the scene [m]
- position (f, n, 3) [m]; rod (n,): rod of each node; radius (r,) [m]; colour (r,)
- surfaces: number of rigid partners; surface-j (f, a, b, 3) [m]: grid of partner j; surface_colour
- point, arrow (f, c, 3): foot and vector of a contact force [m]; shown, slips (f, c): whether the
  contact exists and slips; arrow_colour (2,): of rolling and of slip; thick: radius of a shaft [m]

A missing or broken graphics library ends the process that loads it, and Python cannot catch this.
Therefore pictures are not rendered in the process of the user.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["main"]

_SIDES = 28  # number of sides of a tube
_HEAD = 0.34  # largest length of the head of an arrow, over that of the arrow


def main(folder: Path) -> None:
    """Render every frame of `scene.npz` in `folder`."""
    import pyvista as pv

    with np.load(folder / "scene.npz") as file:
        scene = {name: file[name] for name in file.files}
    pv.global_theme.allow_empty_mesh = True
    width, height = (int(n) for n in scene["window"])
    plotter = pv.Plotter(off_screen=True, window_size=[width, height], lighting="light kit")
    plotter.set_background("white")
    plotter.enable_anti_aliasing("ssaa")
    _aim(plotter, scene)
    for k in range(scene["position"].shape[0]):
        _paint(pv, plotter, scene, k)
        image = plotter.screenshot(return_img=True)
        np.save(folder / f"frame-{k:04d}.npy", np.ascontiguousarray(image[..., :3]))
    plotter.close()


def _aim(plotter: Any, scene: Mapping[str, npt.NDArray[Any]]) -> None:
    """Set a parallel projection along -out that shows the rectangle of the view."""
    centre, out, up = scene["centre"], scene["out"], scene["up"]
    # chosen: far outside the scene; the distance does not change a parallel projection
    far = 10.0 * float(scene["half"].max()) + float(scene["depth"])
    camera = plotter.camera
    camera.position = tuple(centre + far * out)
    camera.focal_point = tuple(centre)
    camera.up = tuple(up)
    camera.parallel_projection = True
    camera.parallel_scale = float(scene["half"][0])
    camera.clipping_range = (0.01 * far, 3.0 * far)


def _paint(pv: Any, plotter: Any, scene: Mapping[str, npt.NDArray[Any]], k: int) -> None:
    """Replace the tubes and arrows by those of frame `k`."""
    places, rod_of_node = scene["position"][k], scene["rod"]
    for i, radius in enumerate(scene["radius"]):
        nodes = np.ascontiguousarray(places[rod_of_node == i])
        line = pv.MultipleLines(points=nodes)
        tube = line.tube(radius=float(radius), n_sides=_SIDES, capping=True)
        look = {"smooth_shading": True, "specular": 0.25, "specular_power": 12.0}
        plotter.add_mesh(tube, color=str(scene["colour"][i]), name=f"rod-{i}", **look)
    # rigid partners
    for j in range(int(scene["surfaces"])):
        grid = pv.StructuredGrid(*np.moveaxis(scene[f"surface-{j}"][k][:, :, None], -1, 0))
        look = {"smooth_shading": True, "specular": 0.1}
        plotter.add_mesh(grid, color=str(scene["surface_colour"]), name=f"partner-{j}", **look)
    thick = float(scene["thick"])
    shown = scene["shown"][k]
    for j in range(scene["point"].shape[1]):
        name = f"arrow-{j}"
        arrow = scene["arrow"][k, j]
        length = float(np.linalg.norm(arrow))
        if not shown[j] or length <= 0.0:
            plotter.remove_actor(name, render=False)
            plotter.remove_actor(f"{name}-foot", render=False)
            continue
        # the sizes of head and foot in radii of the shaft are chosen
        head = min(_HEAD, 4.0 * thick / length)
        mesh = pv.Arrow(
            start=scene["point"][k, j],
            direction=arrow,
            scale=length,
            shaft_radius=thick / length,
            tip_radius=2.2 * thick / length,
            tip_length=head,
        )
        colour = str(scene["arrow_colour"][int(scene["slips"][k, j])])
        plotter.add_mesh(mesh, color=colour, name=name, ambient=0.35)
        foot = pv.Sphere(radius=1.8 * thick, center=scene["point"][k, j])
        plotter.add_mesh(foot, color=colour, name=f"{name}-foot", ambient=0.35)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
