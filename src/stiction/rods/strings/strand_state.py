"""Two strands joined by a bump, in the arrays that the kernels work on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import kept_array, put_back
from stiction.errors import ModelError
from stiction.numerics.checks import Record
from stiction.rods.strings import strand_kernels as sk
from stiction.rods.strings.model import MOST_CELLS

__all__ = ["StrandMotion", "StrandPair", "StrandState", "refuse"]

Floats = npt.NDArray[np.float64]

# cells per width of the bump: its spectrum has fallen to exp(-(pi ratio)^2 / 2) at the last mode
RATIO = 2.0
LEAST_RATIO = 1.5
# the bump is taken to end this many widths from its middle
TAIL = 6.0


@dataclass(frozen=True, eq=False, repr=False)
class StrandPair(Record):
    """What the equations of two strands need; u comes first.

    Parameters
    ----------
    speed, length, mobility : (2,) c, l and G of u and v
    ratio : F of the rolling condition V_1 = F V_2
    start : (2,) places of the contact
    periodic : strands on circles; else with fixed ends
    drag : of the air, u_tt + drag u_t = ... [1 / time]
    resistance : r of rolling, a force -r V_2 on v
    shapes, rates : u and v, u_t and v_t at the start, as functions of arrays of places
    """

    speed: tuple[float, float]
    length: tuple[float, float]
    mobility: tuple[float, float]
    ratio: float
    start: tuple[float, float]
    periodic: bool
    drag: float
    resistance: float
    shapes: tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]
    rates: tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]


@dataclass(frozen=True, eq=False, repr=False)
class StrandMotion(Record):
    """The motion of two strands at the saved times, up to where it ended.

    Parameters
    ----------
    time : (t,)
    s, rates : (t, 2) places of the contact and their rates
    mean : (t, 2) V_1 and V_2, the velocities of u and v averaged over the bump
    contact_force : (t,) lam
    amplitude, velocity : (t, 2, k) coefficients of the modes of u and v, and their rates
    drag_heat, rolling_heat : (t,) heat of the drag and of rolling
    projected : (t,) energy taken to keep the rolling condition
    kinetic, stored : (t, 2) energies of u and v
    shared : (t,) half the integral of u_t v_t + c^2 u_x v_x, of strands alike
    given : energy of the data, before they were made to roll
    ended : why it ended, a code of the kernels
    t_end : when it ended
    steps, cells : counts of work
    fastest, fastest_at : largest |s'| / c of all steps, and when
    room, room_at : least room to where the bump comes to an end, of all steps, and when
    unresolved : share of the energy of the data in modes that are not carried
    """

    time: Floats
    s: Floats
    rates: Floats
    mean: Floats
    contact_force: Floats
    amplitude: Floats
    velocity: Floats
    drag_heat: Floats
    rolling_heat: Floats
    projected: Floats
    kinetic: Floats
    stored: Floats
    shared: Floats
    ended: int
    t_end: float
    steps: int
    cells: int
    fastest: float
    fastest_at: float
    room: float
    room_at: float
    unresolved: float
    given: float


# finer grid on which data are projected on the modes
_FINER = 8


def refuse(name: str, got: object, needs: str, why: str, try_: str) -> None:
    """Raise the error of a bump that cannot be."""
    raise ModelError(f"BumpStrands.{name}", got, needs, why, try_)


class StrandState:
    """Modes of both strands and the contact, in the arrays the kernels work on."""

    def __init__(self, pair: StrandPair, width: float, cells: int | None, lumped: bool) -> None:
        self.pair = pair
        self.cells = cells if cells is not None else int(np.ceil(RATIO * max(pair.length) / width))
        _check_bump(pair, width, self.cells)
        waves = np.stack(
            [_wave_numbers(length, self.cells, pair.periodic) for length in pair.length]
        )
        size = waves.shape[1]
        speed, length = np.array(pair.speed)[:, None], np.array(pair.length)[:, None]
        spacing = length / self.cells
        chain = 2.0 / spacing * np.sin(0.5 * waves * spacing)
        self.omega = speed * (chain if lumped else waves)
        norm = np.where(waves > 0.0, 2.0, 1.0) / length
        bump = np.exp(-0.5 * (waves * width) ** 2)
        # rows KAPPA, STIFF, NORM, BUMP of the kernels
        rows = np.stack([waves, self.omega**2, norm, bump], axis=1)
        self.strands = np.ascontiguousarray(rows)
        self.a, self.p, self.unresolved = _start(pair, size, self.cells)
        self.s = np.array(pair.start, dtype=np.float64)
        turn = 2.0 * np.pi if pair.periodic else np.pi
        angles = [turn / length for length in pair.length]
        shared = self.shared = np.zeros(sk.SHARED_ENTRIES)
        shared[sk.ANGLE : sk.ANGLE + 2] = angles
        shared[sk.MOBILITY : sk.MOBILITY + 2] = pair.mobility
        shared[sk.SIGN : sk.SIGN + 2] = 1.0, -pair.ratio
        shared[sk.DRAG], shared[sk.PERIODIC] = pair.drag, float(pair.periodic)
        shared[sk.ROLLING] = pair.resistance
        reach = [-np.inf, np.inf] if pair.periodic else [TAIL * width, -TAIL * width]
        # columns SPEED, LOW, HIGH of the kernels
        self.bounds = np.array(
            [[c, reach[0], end + reach[1]] for c, end in zip(pair.speed, pair.length, strict=True)]
        )
        self.drag = pair.drag
        self.work, self.spare = np.zeros((sk.WORK_ROWS, size)), np.zeros((8, size))
        self.record, self.out = np.zeros(sk.SEEN_ENTRIES), np.empty(sk.OUT_ENTRIES)
        self.ended = self.steps = 0
        self.flow, self.flow_step = np.zeros((2, sk.FLOW_ROWS, size)), 0.0
        self._settle()

    def _settle(self) -> None:
        """Make the velocities roll at the start; see whether the contact is slow enough."""
        given = (self.a, self.p, self.s, self.strands, self.shared, self.work, self.out)
        self.record[sk.SETTLED] = sk.settle(*given)
        sk.settle(*given)
        mobility, mean = self.shared[sk.MOBILITY : sk.MOBILITY + 2], self.out[sk.V : sk.V + 2]
        self.record[sk.FASTEST] = (np.abs(mobility * mean) / self.bounds[:, sk.SPEED]).max()
        low, high = self.bounds[:, sk.LOW], self.bounds[:, sk.HIGH]
        # on circles there is no bound, and no infinity in checkpoints
        self.record[sk.ROOM] = min(*(self.s - low), *(high - self.s), np.finfo(float).max)
        if self.record[sk.FASTEST] >= 1.0:
            self.ended = sk.FASTER_THAN_WAVES

    def go(self, count: int, h: float) -> float:
        """Take `count` steps of length h, or fewer if the model ends; return the time gone."""
        if self.flow_step != h:
            self.flow, self.flow_step = _free_flow(self.omega, self.drag, 0.5 * h), h
        self.ended, taken = sk.march(
            count,
            h,
            self.a,
            self.p,
            self.s,
            self.strands,
            self.shared,
            self.flow,
            self.bounds,
            self.work,
            self.spare,
            self.record,
        )
        self.steps += taken
        return taken * h

    def seen(self) -> tuple[Floats | float, ...]:
        """Return what is kept of the present state, in the order of StrandMotion."""
        sk.contact(self.a, self.p, self.s, self.strands, self.shared, self.work, self.out)
        stiff, norm = self.strands[:, sk.STIFF], self.strands[:, sk.NORM]
        kinetic = 0.5 * (self.p**2 / norm).sum(axis=1)
        both = self.p[0] * self.p[1] + stiff[0] * self.a[0] * self.a[1]
        stored = 0.5 * (stiff * self.a**2 / norm).sum(axis=1)
        return (
            self.s.copy(),
            self.out[sk.V : sk.V + 2].copy(),
            float(self.out[sk.LAM]),
            self.a.copy(),
            self.p.copy(),
            float(self.record[sk.DRAG_HEAT]),
            float(self.record[sk.ROLLING_HEAT]),
            float(self.record[sk.SETTLED]),
            kinetic,
            stored,
            0.5 * float((both / norm[0]).sum()),
        )

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that kernels change in place, by name."""
        names = ("a", "p", "s", "strands", "shared", "work", "spare", "record", "out")
        return {name: getattr(self, name) for name in names}

    def pack(
        self, kept: Sequence[float], rows: Sequence[tuple[Floats | float, ...]]
    ) -> dict[str, npt.NDArray[Any]]:
        """Return what a run needs to go on, `rows` as `seen` returns them at the times `kept`."""
        columns = {f"row_{j}": np.array(c) for j, c in enumerate(zip(*rows, strict=True))}
        return {
            **self._arrays(),
            **columns,
            "kept": np.array(kept),
            "steps": np.array([self.steps]),
        }

    def resume(
        self, found: Mapping[str, npt.NDArray[Any]]
    ) -> tuple[list[tuple[Floats | float, ...]], list[float]]:
        """Take up the state of a checkpoint; return the rows and times it had seen."""
        seen = [np.asarray(part) for part in self.seen()]
        put_back(self._arrays(), found)
        self.steps = int(kept_array(found, "steps", (1,), "i")[0])
        kept = kept_array(found, "kept", (None,))
        columns = [
            kept_array(found, f"row_{j}", (kept.size, *part.shape)) for j, part in enumerate(seen)
        ]
        return list(zip(*columns, strict=True)), kept.tolist()

    def motion(
        self, kept: Sequence[float], rows: Sequence[tuple[Floats | float, ...]]
    ) -> StrandMotion:
        """Return what was kept, `rows` as `seen` returns them at the times `kept`."""
        s, mean, force, a, p, heat, rolling, projected, kinetic, stored, shared = (
            np.array(column) for column in zip(*rows, strict=True)
        )
        return StrandMotion(
            time=np.array(kept),
            s=s,
            rates=mean * np.array(self.pair.mobility),
            mean=mean,
            contact_force=force,
            amplitude=a,
            velocity=p,
            drag_heat=heat,
            rolling_heat=rolling,
            projected=projected,
            kinetic=kinetic,
            stored=stored,
            shared=shared,
            ended=self.ended,
            t_end=kept[-1],
            steps=self.steps,
            cells=self.cells,
            fastest=float(self.record[sk.FASTEST]),
            fastest_at=kept[0] + float(self.record[sk.FASTEST_AT]),
            room=float(self.record[sk.ROOM]),
            room_at=kept[0] + float(self.record[sk.ROOM_AT]),
            unresolved=self.unresolved,
            given=float(kinetic[0].sum() + stored[0].sum() + projected[0]),
        )


def _wave_numbers(length: float, cells: int, periodic: bool) -> Floats:
    """Return the wave number of each mode, in the order of the kernels."""
    if not periodic:
        return np.asarray(np.arange(1, cells) * np.pi / length)
    pairs = np.repeat(np.arange(1, (cells - 1) // 2 + 1), 2)
    return np.concatenate([[0.0], pairs * 2.0 * np.pi / length])


def _start(pair: StrandPair, size: int, cells: int) -> tuple[Floats, Floats, float]:
    """Return amplitudes and rates of the modes, and the share of the energy that is left out."""
    a, p, lost, total = np.zeros((2, size)), np.zeros((2, size)), 0.0, 0.0
    fine = _FINER * cells
    for i, length in enumerate(pair.length):
        waves = _wave_numbers(length, fine, pair.periodic)
        by = (pair.speed[i] * waves, np.ones(waves.size))
        for target, given, scale in zip((a, p), (pair.shapes[i], pair.rates[i]), by, strict=True):
            found = _coefficients(given, length, fine, pair.periodic)
            target[i] = found[:size]
            energy = (scale * found) ** 2
            lost, total = lost + float(energy[size:].sum()), total + float(energy.sum())
    return a, p, lost / total if total > 0.0 else 0.0


def _coefficients(
    given: Callable[[Floats], Floats], length: float, cells: int, periodic: bool
) -> Floats:
    """Return the coefficients of all modes of `cells` cells, by the trapezium rule."""
    if not periodic:
        values = np.asarray(given(np.linspace(0.0, length, cells + 1)), dtype=np.float64)
        odd = np.concatenate([[0.0], values[1:-1], [0.0], -values[-2:0:-1]])
        return np.asarray(-np.fft.rfft(odd).imag[1:cells] / cells)
    places = np.arange(float(cells)) * (length / cells)
    values = np.asarray(given(np.asarray(places)), dtype=np.float64)
    waves = np.fft.rfft(values)[: (cells - 1) // 2 + 1] / cells
    pairs = np.stack([2.0 * waves.real[1:], -2.0 * waves.imag[1:]], axis=1)
    return np.concatenate([[waves.real[0]], pairs.ravel()])


def _free_flow(omega: Floats, drag: float, t: float) -> Floats:
    """Return (2, 4, mode) the 2 x 2 matrices of x'' + drag x' + omega^2 x = 0 over t."""
    turn = np.sqrt((omega**2 - 0.25 * drag**2).astype(np.complex128)) * t
    fade = np.exp(-0.5 * drag * t)
    cos = np.cos(turn).real * fade
    # sin(q t) / q
    sin = np.sinc(turn / np.pi).real * t * fade
    half = 0.5 * drag * sin
    # rows A_A, A_P, P_A, P_P of the kernels
    flow = np.stack([cos + half, sin, -(omega**2) * sin, cos - half], axis=1)
    return np.ascontiguousarray(flow)


def _check_bump(pair: StrandPair, width: float, cells: int) -> None:
    """Refuse a bump that does not fit on a strand, or that the cells do not resolve."""
    if cells > MOST_CELLS:
        refuse("width", width, f"at most {MOST_CELLS} cells", "memory is bounded.", "a wider one.")
    for length, place in zip(pair.length, pair.start, strict=True):
        spacing = length / cells
        if width < LEAST_RATIO * spacing * (1.0 - 1e-9):
            needs = f"at least {int(np.ceil(LEAST_RATIO * length / width))} cells"
            why = f"the bump is {width / spacing:.3g} cells wide and must be resolved by them."
            refuse("cells", cells, needs, why, "leave it out: two cells for each width.")
        far = 0.5 * length if pair.periodic else min(place, length - place)
        if far < TAIL * width:
            why = "the bump reaches six widths to both sides and must end on the strand."
            refuse("bump_width", width, f"at most {far / TAIL:.4g}", why, "a narrower bump.")
