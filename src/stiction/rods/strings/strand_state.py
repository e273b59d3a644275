"""State of two strings (strands) coupled over a Gaussian (bump): modes and contact points.

`StrandState` expands the initial data in normal modes, advances them by `strand_kernels`, and
returns the motion with its energies. Modes are sin(kappa x) on fixed ends and 1, cos(kappa x),
sin(kappa x), ... on a circle; the Gaussian of the standard deviation `width` multiplies their
values at the contact by exp(-(kappa width)^2 / 2). `strand_motion` calls it. All quantities are
dimensionless.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import StateArray, check_count, restore
from stiction.errors import ModelError
from stiction.numerics.checks import MOST_WORK, Record
from stiction.rods.strings import strand_kernels as sk
from stiction.rods.strings.model import MOST_CELLS

__all__ = ["StrandMotion", "StrandPair", "StrandState", "refuse"]

Floats = npt.NDArray[np.float64]

# default cells per width of the bump, whose spectrum is exp(-(pi RATIO)^2 / 2) at the last mode
RATIO = 2.0
LEAST_RATIO = 1.5
# distance from its centre, in widths, at which the bump is truncated
TAIL = 6.0
_MOST_BYTES = 1 << 30


@dataclass(frozen=True, eq=False, repr=False)
class StrandPair(Record):
    """Parameters and initial data of two strands; u comes first.

    Parameters
    ----------
    speed, length, mobility : (2,) c, l and G of u and v
    ratio : F of the rolling condition V_1 = F V_2
    start : (2,) initial contact points
    periodic : whether strands are circles; else they have fixed ends
    drag : drag coefficient, u_tt + drag u_t = ... [1 / time]
    resistance : rolling resistance r, a force -r V_2 on v
    shapes, rates : initial u and v, u_t and v_t, as functions of arrays of positions
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
    """The motion of two strands at the saved times, up to its end.

    Parameters
    ----------
    time : (t,)
    s, rates : (t, 2) contact points and their rates
    mean : (t, 2) V_1 and V_2, the velocities of u and v averaged over the bump
    contact_force : (t,) lam
    amplitude, velocity : (t, 2, k) coefficients of the modes of u and v, and their rates
    drag_heat, rolling_heat : (t,) heat of drag and of rolling resistance
    projected : (t,) energy removed by projections onto the rolling condition
    kinetic, stored : (t, 2) energies of u and v
    shared : (t,) half the integral of u_t v_t + c^2 u_x v_x, for identical strands
    given : initial energy before the projection onto the rolling condition
    ended : reason of the end, a constant of `strand_kernels`
    t_end : time of the end
    steps, cells : numbers of steps and of cells
    fastest, fastest_at : largest |s'| / c of all steps, and its time
    room, room_at : least distance of the contact to its bounds, of all steps, and its time
    unresolved : fraction of the initial energy in omitted modes
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


# refinement of the grid for the projection of initial data on the modes
_FINER = 8


def refuse(name: str, got: object, needs: str, why: str, try_: str) -> None:
    """Raise ModelError for a parameter of `BumpStrands`."""
    raise ModelError(f"BumpStrands.{name}", got, needs, why, try_)


class StrandState:
    """Modes of both strands and the contact, in the arrays of the kernels."""

    def __init__(
        self, pair: StrandPair, width: float, cells: int | None, lumped: bool, times: int
    ) -> None:
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
        strands, joint = sk.Strand.table(2), sk.Joint.table()
        turn = 2.0 * np.pi if pair.periodic else np.pi
        reach = np.inf if pair.periodic else -TAIL * width
        strands["speed"], strands["mobility"] = pair.speed, pair.mobility
        strands["angle"], strands["sign"] = turn / length[:, 0], (1.0, -pair.ratio)
        strands["low"], strands["high"] = -reach, length[:, 0] + reach
        joint["drag"], joint["resistance"] = pair.drag, pair.resistance
        joint["periodic"] = pair.periodic
        modes = sk.Mode.table((2, size))
        modes["kappa"], modes["stiffness"] = waves, self.omega**2
        modes["norm"] = np.where(waves > 0.0, 2.0, 1.0) / length
        modes["bump"] = np.exp(-0.5 * (waves * width) ** 2)
        self.m = sk.Strands(strands, joint, modes, np.zeros((2, size)))
        a, p, self.unresolved = _start(pair, size, self.cells)
        self.x = sk.State(a, p, np.array(pair.start, dtype=np.float64), np.zeros((8, size)))
        self.progress = sk.Progress.table()
        self.now = self.progress[0]
        self.flow, self.flow_step = sk.FreeVibration(*np.zeros((4, 2, size))), 0.0
        if times * size * 32 > _MOST_BYTES:
            got, needs = f"{times} saved times", f"at most {_MOST_BYTES // (32 * size)}"
            why = f"all {2 * size} amplitudes and rates are saved at each time."
            refuse("save", got, needs, why, "save fewer times, or take a wider bump.")
        self.samples = sk.Samples(sk.Sample.table(times), *np.zeros((2, times, 2, size)))
        self._project_start()

    def _project_start(self) -> None:
        """Project the initial velocities onto the rolling condition, and check the contact speed.

        A second projection removes the rounding of the first.
        """
        now, strands = self.now, self.m.strands
        now.settled = sk.project_velocities(self.x, self.m)
        sk.project_velocities(self.x, self.m)
        rates = strands["mobility"] * strands["mean"]
        now.fastest = (np.abs(rates) / strands["speed"]).max()
        low, high = self.x.s - strands["low"], strands["high"] - self.x.s
        # circles have no bounds; checkpoints contain no infinity
        now.room = min(*low, *high, np.finfo(float).max)
        if now.fastest >= 1.0:
            now.ended = sk.FASTER_THAN_WAVES

    def advance(self, count: int, h: float, start: float) -> float:
        """Take `count` steps of h, or fewer if the model ends; save a sample; return its time.

        start : time before the steps
        """
        if self.flow_step != h:
            self.flow, self.flow_step = _free_flow(self.omega, self.pair.drag, 0.5 * h), h
        before = self.now.steps
        self.now.ended = sk.integrate(
            count, h, self.x, self.m, self.flow, self.progress, self.samples
        )
        time = start + float(self.now.steps - before) * h
        self.samples.rows[self.now.saved - 1].time = time
        return time

    def save(self, time: float) -> None:
        """Save the present state as the sample at a time."""
        sk.save(self.x, self.m, self.progress, self.samples)
        self.samples.rows[self.now.saved - 1].time = time

    def state(self) -> dict[str, StateArray]:
        """Return the state for a checkpoint."""
        saved = self.now.saved
        return {
            "a": StateArray(self.x.a),
            "p": StateArray(self.x.p),
            "s": StateArray(self.x.s),
            "progress": StateArray(self.progress, within=(0, MOST_WORK)),
            **{k: StateArray(v, "saved", saved) for k, v in self.samples._asdict().items()},
        }

    def resume(self, checkpoint: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore the state of a checkpoint."""
        saved = restore(self.state(), checkpoint)["saved"]
        check_count("progress", int(self.now.saved), max(saved, 1), saved)
        check_count("progress", int(self.now.ended), sk.REACHED, sk.NOT_FINITE)

    def motion(self, time: Floats) -> StrandMotion:
        """Return the saved motion.

        time : (t,) requested times, which replace the times of the samples: these are sums of
            steps, with rounding errors
        """
        now, start = self.now, float(time[0])
        samples: npt.NDArray[Any] = self.samples.rows[: now.saved]
        amplitude, velocity = (
            self.samples.amplitude[: now.saved],
            self.samples.velocity[: now.saved],
        )
        energies = [self._energies(*state) for state in zip(amplitude, velocity, strict=True)]
        kinetic, stored, shared = (np.array(column) for column in zip(*energies, strict=True))
        mean = np.stack([samples["u_mean"], samples["v_mean"]], axis=1)
        return StrandMotion(
            time=samples["time"].copy() if now.ended else np.array(time, dtype=np.float64),
            s=np.stack([samples["s1"], samples["s2"]], axis=1),
            rates=mean * np.array(self.pair.mobility),
            mean=mean,
            contact_force=samples["force"].copy(),
            amplitude=amplitude,
            velocity=velocity,
            drag_heat=samples["drag_heat"].copy(),
            rolling_heat=samples["rolling_heat"].copy(),
            projected=samples["settled"].copy(),
            kinetic=kinetic,
            stored=stored,
            shared=shared,
            ended=int(now.ended),
            t_end=float(samples["time"][-1] if now.ended else time[-1]),
            steps=int(now.steps),
            cells=self.cells,
            fastest=float(now.fastest),
            fastest_at=start + float(now.fastest_at),
            room=float(now.room),
            room_at=start + float(now.room_at),
            unresolved=self.unresolved,
            given=float(kinetic[0].sum() + stored[0].sum() + samples["settled"][0]),
        )

    def _energies(self, a: Floats, p: Floats) -> tuple[Floats, Floats, float]:
        """Return kinetic (2,) and stored (2,) energies, and half the bilinear form of u and v."""
        stiff, norm = self.m.modes["stiffness"], self.m.modes["norm"]
        kinetic = 0.5 * (p**2 / norm).sum(axis=1)
        both = p[0] * p[1] + stiff[0] * a[0] * a[1]
        stored = 0.5 * (stiff * a**2 / norm).sum(axis=1)
        return kinetic, stored, 0.5 * float((both / norm[0]).sum())


def _wave_numbers(length: float, cells: int, periodic: bool) -> Floats:
    """Return (n,) wave numbers of the modes, in the order of the kernels."""
    if not periodic:
        return np.asarray(np.arange(1, cells) * np.pi / length)
    pairs = np.repeat(np.arange(1, (cells - 1) // 2 + 1), 2)
    return np.concatenate([[0.0], pairs * 2.0 * np.pi / length])


def _start(pair: StrandPair, size: int, cells: int) -> tuple[Floats, Floats, float]:
    """Return initial amplitudes and rates (2, n), and the energy fraction of omitted modes."""
    a, p, lost, total = np.zeros((2, size)), np.zeros((2, size)), 0.0, 0.0
    fine = _FINER * cells
    for i, length in enumerate(pair.length):
        waves = _wave_numbers(length, fine, pair.periodic)
        by = (pair.speed[i] * waves, np.ones(waves.size))
        for target, given, scale in zip((a, p), (pair.shapes[i], pair.rates[i]), by, strict=True):
            coefficients = _coefficients(given, length, fine, pair.periodic)
            target[i] = coefficients[:size]
            energy = (scale * coefficients) ** 2 * np.where(waves > 0.0, 0.5, 1.0) * length
            lost, total = lost + float(energy[size:].sum()), total + float(energy.sum())
    return a, p, lost / total if total > 0.0 else 0.0


def _coefficients(
    given: Callable[[Floats], Floats], length: float, cells: int, periodic: bool
) -> Floats:
    """Return the coefficients of a function in the modes of `cells` cells, by an FFT."""
    if not periodic:
        values = np.asarray(given(np.linspace(0.0, length, cells + 1)), dtype=np.float64)
        odd = np.concatenate([[0.0], values[1:-1], [0.0], -values[-2:0:-1]])
        return np.asarray(-np.fft.rfft(odd).imag[1:cells] / cells)
    points = np.arange(float(cells)) * (length / cells)
    values = np.asarray(given(np.asarray(points)), dtype=np.float64)
    waves = np.fft.rfft(values)[: (cells - 1) // 2 + 1] / cells
    pairs = np.stack([2.0 * waves.real[1:], -2.0 * waves.imag[1:]], axis=1)
    return np.concatenate([[waves.real[0]], pairs.ravel()])


def _free_flow(omega: Floats, drag: float, t: float) -> sk.FreeVibration:
    """Return the free vibration of x'' + drag x' + omega^2 x = 0 over a time t; omega (2, n)."""
    frequency_time = np.sqrt((omega**2 - 0.25 * drag**2).astype(np.complex128)) * t
    decay = np.exp(-0.5 * drag * t)
    cos = np.cos(frequency_time).real * decay
    # sin(q t) / q
    sin = np.sinc(frequency_time / np.pi).real * t * decay
    half = 0.5 * drag * sin
    return sk.FreeVibration(cos + half, sin, -(omega**2) * sin, cos - half)


def _check_bump(pair: StrandPair, width: float, cells: int) -> None:
    """Raise ModelError if the bump does not fit on a strand, or cells do not resolve it."""
    if cells > MOST_CELLS:
        needs = f"a width that {MOST_CELLS} cells resolve"
        why = "each mode of a strand takes memory."
        refuse("bump_width", width, needs, why, "a wider bump, or fewer cells.")
    for length, point in zip(pair.length, pair.start, strict=True):
        spacing = length / cells
        if width < LEAST_RATIO * spacing * (1.0 - 1e-9):
            needs = f"at least {int(np.ceil(LEAST_RATIO * length / width))} cells"
            why = f"the bump is {width / spacing:.3g} cells wide, too few for a resolved bump."
            refuse("cells", cells, needs, why, "leave `cells` out for two cells in each width.")
        reach_to_end = 0.5 * length if pair.periodic else min(point, length - point)
        if reach_to_end < TAIL * width:
            why = "the bump extends over six widths on both sides and must fit on the strand."
            refuse(
                "bump_width", width, f"at most {reach_to_end / TAIL:.4g}", why, "a narrower bump."
            )
