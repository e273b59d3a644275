"""What an animation shows, frame by frame; painters and the player only draw it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.chains.figures.data import ChainData
from stiction.errors import ModelError
from stiction.numerics.checks import number
from stiction.plot import style
from stiction.plot.player.sampling import hermite

__all__ = ["Film", "film_of", "window_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_BLOCKS = 60
MOST_FRAMES = 900
BLOCK = 0.42  # width of a block over the distance of neighbours
_NEAREST = 0.15  # least gap between neighbours that the scale leaves, over their distance
_FURTHEST = 3.0  # largest drawn displacement, over the distance of neighbours
_NICE = (1.0, 2.0, 5.0)
_MODES = {"slip-": -1, "stick": 0, "slip+": 1}


@dataclass(frozen=True, eq=False)
class Film:
    """The frames of an animation.

    Parameters
    ----------
    title : what is shown, in a few words
    time : (f,) time of each frame [s]
    place : (f, s) centres of the blocks, displacements scaled [m]
    mode : (f, s) -1 slip-, 0 stick, 1 slip+
    load : (f,) [N]
    ground : (f,) how far the surface has moved in the picture [m]
    number : (s,) numbers of the masses shown
    share : (s,) share of the load each takes
    linked : (s + 1,) whether a spring joins a block to the one (or the wall) on its left;
        the last entry is the right wall
    wall : places of the left and the right wall [m]
    distance : distance of neighbouring blocks at rest [m]
    scale : factor of the displacements
    n_mass : number of masses of the chain
    fps : frames per second of the animation
    """

    title: str
    time: Floats
    place: Floats
    mode: npt.NDArray[np.int8]
    load: Floats
    ground: Floats
    number: Ints
    share: Floats
    linked: npt.NDArray[np.bool_]
    wall: tuple[float, float]
    distance: float
    scale: float
    n_mass: int
    fps: float

    @property
    def extent(self) -> tuple[float, float]:
        """Left and right end of everything that is drawn [m]."""
        half = 0.5 * BLOCK * self.distance
        left = float(np.nanmin(self.place)) - half
        right = float(np.nanmax(self.place)) + half
        if self.linked[0]:
            left = min(left, self.wall[0])
        if self.linked[-1]:
            right = max(right, self.wall[1])
        return left, right

    def clock(self, k: int) -> str:
        """Return the time of frame `k` in words, with digits that tell frames apart."""
        return f"t = {self.time[k]:.{self.digits}f} s"

    @property
    def digits(self) -> int:
        """Decimal places of the clock."""
        step = (self.time[-1] - self.time[0]) / max(1, self.time.size - 1)
        return int(np.clip(np.ceil(-np.log10(step)) if step > 0.0 else 2, 0, 9))

    @property
    def notes(self) -> str:
        """What the picture does not show as it is: scaled displacements, masses left out."""
        words = [f"displacements × {self.scale:g}"]
        if self.number.size < self.n_mass:
            words.append(f"{self.number.size} of {self.n_mass} masses")
        return ", ".join(words)


def film_of(
    data: ChainData,
    *,
    seconds: float,
    fps: float,
    scale: float | None = None,
    window: tuple[float, float] | None = None,
    time: Floats | None = None,
) -> Film:
    """Return the film of a chain.

    Parameters
    ----------
    seconds : how long the animation plays
    fps : frames per second
    scale : factor of the displacements; default a round number that keeps blocks apart
    window : begin and end of the times shown [s]; default all
    time : (f,) of the frames, in the place of the three before [s]

    Verified by: tests/unit/chains/figures/test_animation.py::test_film_shows_the_saved_states
    """
    why, try_ = "it sets the number of frames.", "for example seconds=8.0, fps=20."
    for name, value, unit in (("seconds", seconds, "s"), ("fps", fps, "1/s")):
        number(f"animate.{name}", value, rule="positive", unit=unit, why=why, try_=try_)
    if time is None:
        begin, end = window_of(window, data)
        time = np.linspace(begin, end, int(np.clip(round(seconds * fps), 2, MOST_FRAMES)))
    count = time.size
    chosen = style.few(data.n_mass, MOST_BLOCKS)
    x = hermite(time, data.time, data.x[:, chosen], data.v[:, chosen])
    x = np.nan_to_num(x, posinf=0.0, neginf=0.0)
    stiffness = data.constant("link_stiffness")
    rest = data.constant("place")
    places = np.arange(1.0, data.n_mass + 1.0) if rest is None else rest
    spacing = float(places[0])
    linked = _linked(stiffness, chosen)
    # without a wall the picture follows the chain, or a drifting one would leave it
    drift = np.zeros(count) if linked[0] or linked[-1] else x.mean(axis=1)
    x = x - drift[:, None]
    distance = spacing * (chosen[1] - chosen[0] if chosen.size > 1 else 1)
    if scale is None:
        scale = nice_scale(x, distance, linked)
    else:
        why, try_ = "displacements are drawn times this factor.", "leave it out to have it chosen."
        scale = number("animate.scale", scale, rule="positive", why=why, try_=try_)
    share = data.constant("load_share")
    return Film(
        title=f"{data.run.system_name}, {data.run.method_name}",
        time=time,
        place=places[chosen] + scale * x,
        mode=_modes(data, chosen, time),
        load=np.interp(time, data.time, data.load),
        ground=scale * (data.belt_speed * (time - time[0]) - (drift - drift[0])),
        number=chosen + 1,
        share=np.zeros(chosen.size) if share is None else share[chosen],
        linked=linked,
        wall=(0.0, spacing * (data.n_mass + 1)),
        distance=distance,
        scale=scale,
        n_mass=data.n_mass,
        fps=fps,
    )


def nice_scale(x: Floats, distance: float, linked: npt.NDArray[np.bool_]) -> float:
    """Return 1, or 1, 2 or 5 times a power of ten, that shows the motion and no overlap.

    Verified by: tests/unit/chains/figures/test_animation.py::test_scale_keeps_blocks_apart
    """
    none = np.zeros((len(x), 1))
    padded = np.hstack([*([none] if linked[0] else []), x, *([none] if linked[-1] else [])])
    nearer = float(np.max(-np.diff(padded, axis=1), initial=0.0))
    furthest = float(np.abs(x).max())
    if furthest == 0.0:
        return 1.0
    largest = max(_FURTHEST * distance, 0.5 * distance * x.shape[1]) / furthest
    if nearer > 0.0:
        largest = min(largest, (1.0 - BLOCK - _NEAREST) * distance / nearer)
    if 1.0 <= largest <= 4.0:
        return 1.0  # true displacements, as long as they can be seen
    power = 10.0 ** np.floor(np.log10(largest))
    return float(max(factor * power for factor in _NICE if factor * power <= largest * 1.0001))


def _linked(stiffness: Floats | None, chosen: Ints) -> npt.NDArray[np.bool_]:
    """Return whether each shown block hangs on its left neighbour, and the right wall."""
    linked = np.ones(chosen.size + 1, dtype=bool)
    if stiffness is not None:
        linked[0], linked[-1] = stiffness[0] > 0.0, stiffness[-1] > 0.0
    return linked


def _modes(data: ChainData, chosen: Ints, time: Floats) -> npt.NDArray[np.int8]:
    """Return (f, s) modes: those saved last, or entered by an event since.

    Verified by: tests/unit/chains/figures/test_player.py::test_modes_change_at_the_events
    """
    at = np.maximum(np.searchsorted(data.time, time, side="right") - 1, 0)
    mode = data.mode[np.ix_(at, chosen)].copy()
    log = data.run.event_log
    for column, i in enumerate(chosen):
        every = np.flatnonzero(log.contact == i + 1).tolist()
        mine = [k for k in every if log.after[k] in _MODES]
        if mine:
            last = np.searchsorted(log.time[mine], time, side="right") - 1
            since = (last >= 0) & (log.time[mine][last] > data.time[at])
            entered = np.array([_MODES[log.after[k]] for k in mine])
            mode[since, column] = entered[last[since]]
    return np.asarray(mode)


def window_of(window: tuple[float, float] | None, data: ChainData) -> tuple[float, float]:
    """Return begin and end of the times that are shown [s], checked."""
    begin, end = float(data.time[0]), float(data.time[-1])
    if window is None:
        # a run that blew up is shown until then
        sound = np.flatnonzero(np.isfinite(data.x).all(axis=1))
        return begin, float(data.time[sound[-1]]) if sound.size else begin
    inside = np.shape(window) == (2,) and begin <= window[0] < window[1] <= end
    if not inside:
        raise ModelError(
            "animate.window",
            repr(window),
            f"a begin and a later end between {begin:.6g} and {end:.6g} [s]",
            "frames are made from the saved states.",
            "leave it out to show the whole run.",
        )
    return float(window[0]), float(window[1])
