"""Pictures of the machine for the movie of a flow: a wheel from above, or blocks on a belt.

A picture is a `View` of the player: layers of lines, dots and arrows in the plane, one position
for each frame or one for all. `player.movie_of` calls `wheel` and `belt`; each returns None for
another system. In arrays of positions the axes are frame, point, coordinate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.plot.player import movie as m

if TYPE_CHECKING:
    from stiction.switching.figures.player import FlowFrames

__all__ = ["belt", "wheel"]

Floats = npt.NDArray[np.float64]

# states and parameters by which a wheel on a turntable is recognised
_WHEEL = ("r", "v", "omega")
_NEEDED = ("d", "gamma", "omega0", "m", "beta")
# number of points of a circle, and of spokes of the turntable
_ROUND = 61
_SPOKES = 8
_BLOCKS = np.array([m.ORANGE, m.STUCK, m.BLUE])


def wheel(frames: FlowFrames) -> m.View | None:
    """Return the wheel on its turntable from above; None for other systems.

    The disk turns with omega, the turntable below it with omega0. The slider is at r e + d n, with
    e along the slit and n across it; the wheel rolls along cos(gamma) e - sin(gamma) n. An arrow
    shows the friction force on the wheel.

    Source: Szalai, Jeffrey 2014, Fig. 4 and (1)-(7).
    Verified by: tests/unit/switching/figures/test_player.py::test_wheel_rolls_where_it_slides
    """
    data, system = frames.data, frames.data.run.system
    if data.names != _WHEEL or not all(hasattr(system, name) for name in _NEEDED):
        return None
    d, gamma, omega0, mass, beta = (float(getattr(system, name)) for name in _NEEDED)
    knots, r, omega = frames.knots, frames.known("r"), frames.known("omega")
    # scaled time runs with dt = m (beta^2 + r^2) dtau
    pace = np.ones(r.size) if data.run.time_unit != "1" else mass * (beta**2 + r**2)
    turned, clock = (_integral(knots, rate) for rate in (omega * pace, pace))
    theta, seconds = (np.interp(frames.time, knots, value) for value in (turned, clock))
    along = np.column_stack([np.cos(theta), np.sin(theta)])
    across = np.column_stack([-np.sin(theta), np.cos(theta)])
    position = frames.state("r")[:, None] * along + d * across
    rolls = np.cos(gamma) * along - np.sin(gamma) * across
    side = np.sin(gamma) * along + np.cos(gamma) * across
    reach = float(np.abs(r).max())
    size = 1.15 * float(np.hypot(d, reach)) or 1.0
    half = 0.09 * size
    ends = np.stack([position - half * rolls, position + half * rolls], axis=1)
    slit = np.stack([d * across + s * 1.05 * reach * along for s in (-1.0, 1.0)], axis=1)
    mode = frames.mode()
    ink = np.full((1, 1), m.INK)
    layers: list[m.Layer] = [
        m.Lines(_circle(size), (0,), np.full((1, 1), m.SURFACE), filled=True),
        _spokes(omega0 * seconds, size),
        m.Lines(slit, (0,), np.full((1, 1), m.GREY), width=5.0),
        m.Lines(ends, (0,), ink, width=6.0),
        m.Dots(position[:, None], _BLOCKS[mode + 1][:, None], 5.0),
        m.Dots(np.zeros((1, 1, 2)), ink, 3.0),
        *_force(frames, position, side, size),
    ]
    corner = np.full(2, 1.05 * size)
    title = "from above: the turntable, the slit of the disk, the wheel and the friction on it"
    return m.View(title, layers, -corner, corner, height=0.72)


def _force(frames: FlowFrames, position: Floats, side: Floats, size: float) -> list[m.Layer]:
    """Return an arrow of the friction force at (f, 2) positions along (f, 2) unit vectors."""
    if "friction_force" not in frames.data.run.variables:
        return []
    force = frames.variable("friction_force")
    most = float(np.abs(force).max(initial=0.0))
    if most == 0.0:
        return []
    vectors = (0.3 * size / most * force)[:, None] * side
    return [m.Arrows(position[:, None], vectors[:, None], np.full((1, 1), m.RED))]


def _integral(knots: Floats, rate: Floats) -> Floats:
    """Return the integral of a rate from the first knot to each knot, by the trapezoidal rule."""
    steps = 0.5 * np.diff(knots) * (rate[1:] + rate[:-1])
    return np.concatenate([[0.0], np.cumsum(steps)])


def _circle(radius: float) -> Floats:
    """Return (1, points, 2) points of a circle around the origin."""
    turn = np.linspace(0.0, 2.0 * np.pi, _ROUND)
    return np.column_stack([radius * np.cos(turn), radius * np.sin(turn)])[None]


def _spokes(angle: Floats, size: float) -> m.Lines:
    """Return short marks on the edge of the turntable, which show how it turns."""
    turn = angle[:, None] + 2.0 * np.pi / _SPOKES * np.arange(_SPOKES)
    direction = np.stack([np.cos(turn), np.sin(turn)], axis=2)
    ends = np.stack([0.9 * size * direction, size * direction], axis=2).reshape(angle.size, -1, 2)
    starts = tuple(range(0, 2 * _SPOKES, 2))
    return m.Lines(ends, starts, np.full((1, _SPOKES), m.GREY), width=2.0)


def belt(frames: FlowFrames) -> m.View | None:
    """Return blocks on a belt, joined by springs to a wall and to each other; None without a belt.

    Verified by: tests/unit/switching/figures/test_player.py::test_blocks_ride_on_the_belt
    """
    data, system = frames.data, frames.data.run.system
    names = [n for n in data.names if n.rstrip("0123456789") == "x"]
    speeds = [n for n in data.names if n.rstrip("0123456789") == "v"]
    if not names or len(names) != len(speeds) or not hasattr(system, "belt_speed"):
        return None
    speed = float(system.belt_speed)
    x = np.column_stack([frames.state(name) for name in names])
    size = float(np.ptp(x)) or 1.0
    gap = 2.2 * size
    unstressed = gap * np.arange(1.0, len(names) + 1.0)
    position, half = unstressed + x, 0.28 * size
    wall = float((unstressed[0] + x[:, 0]).min()) - 1.2 * size
    # mode 0 is Filippov sliding, where the block sticks to the belt; else the sign of its slip
    surfaces = min(data.n_surface, len(names))
    modes = np.stack([frames.mode(min(i, surfaces - 1)) for i in range(len(names))], axis=1)
    numbers, linked = np.arange(len(names)) + 1, np.arange(len(names) + 1) < len(names)
    moved = speed * (frames.time - frames.time[0])
    walls = np.array([wall, np.inf])
    shown = {"numbers": numbers, "walls": walls, "linked": linked}
    layers = m.row_of_blocks(position, _BLOCKS[modes + 1], half, moved, **shown)
    right = float(position.max()) + 2.0 * half
    low, high = np.array([wall - half, -half]), np.array([right, 4.0 * half])
    height = float(np.clip((high - low)[1] / (high - low)[0], 0.15, 0.5))
    return m.View("blocks on the belt; hatched ones stick to it", layers, low, high, height=height)
