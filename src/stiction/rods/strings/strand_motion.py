"""Strands that touch through a smooth bump: an independent check of the point contact.

The point values of the rolling condition are replaced by averages with a Gaussian of unit mass,
V_i = int B(x - s_i) u_t dx, and the force acts through the same Gaussian, so that energy is
conserved. The strands are carried in their normal modes, as many as a chain of `cells` springs
has: between contact forces they vibrate exactly. What is left is an error of first order in the
width of the bump, which `extrapolated` removes.

Source: Gay-Balmaz, Putkaradze 2012, (11)-(13) in one dimension; formulas sheet, section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.numerics.checks import Record, number, numbers, whole

__all__ = ["StrandMotion", "StrandPair", "strand_motion", "to_zero_width"]

Floats = npt.NDArray[np.float64]

# cells per width of the bump: its spectrum has fallen to exp(-(pi ratio)^2 / 2) at the last mode
RATIO = 2.0
LEAST_RATIO = 1.5
# the bump is taken to end this many widths from its middle
TAIL = 6.0
_MOST_CELLS = 200_000
_MOST_STEPS = 20_000_000
_MOST_BYTES = 1 << 30
# finer grid on which data are projected on the modes
_FINER = 8


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
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
    fastest : largest |s'| / c met
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
    unresolved: float
    given: float


def strand_motion(
    pair: StrandPair,
    time: Floats,
    width: float,
    *,
    cells: int | None = None,
    step: float = 0.2,
    lumped: bool = False,
    progress: Callable[[float, str], None] | None = None,
) -> StrandMotion:
    """Return the motion of two strands joined by a bump.

    Parameters
    ----------
    time : (t,) rising times, the first of them the start
    width : standard deviation of the bump
    cells : of each strand; two per width of the bump when None
    step : longest time step, in crossing times of the bump by the faster wave
    lumped : vibrate like equal masses on springs, which slows short waves down; else like
        the continuous string
    progress : called with the fraction done and a short note

    Raises
    ------
    ModelError : if the bump does not fit on the strands or the cells do not resolve it.

    Notes
    -----
    The scheme is a Runge-Kutta scheme of order 4 on top of the exact free vibration. lam solves
    the differentiated rolling condition at each stage; at the end of a step the velocities are
    put back on the condition itself by the least impulse.

    Verified by: tests/convergence/test_strands.py::test_order_in_the_step
    """
    if cells is not None:
        why, try_ = "they resolve the bump.", "leave it out."
        whole("BumpStrands.cells", cells, least=4, why=why, try_=try_)
    number("BumpStrands.step", step, rule="positive", why="time goes on.", try_="give 0.2.")
    number("BumpStrands.width", width, rule="positive", why="a bump is wide.", try_="give 0.02.")
    longest = float(step) * float(width) / max(pair.speed)
    if (time[-1] - time[0]) / longest > _MOST_STEPS:
        why = "the time step follows the width of the bump."
        _refuse("bump_width", width, f"at most {_MOST_STEPS:.0e} steps", why, "a wider bump.")
    state = _State(pair, float(width), cells, lumped)
    if time.size * state.a.size * 16 > _MOST_BYTES:
        got, needs = f"{time.size} saved times", f"at most {_MOST_BYTES // (16 * state.a.size)}"
        why = f"all {state.a.size} amplitudes and rates are kept at each."
        _refuse("save", got, needs, why, "save fewer, or take a wider bump.")
    rows, kept = [state.seen()], [float(time[0])]
    for when, gap in zip(time[1:], np.diff(time), strict=True):
        if state.ended:
            break
        count = max(int(np.ceil(gap / longest - 1e-9)), 1)
        kept.append(float(when - gap) + state.go(count, float(gap) / count))
        rows.append(state.seen())
        if progress is not None:
            progress(float((kept[-1] - time[0]) / (time[-1] - time[0])), "strands")
    if not state.ended:
        # sums of steps are off by rounding
        kept = [float(t) for t in time]
    s, mean, force, a, p, heat, rolling, projected, kinetic, stored, shared = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    return StrandMotion(
        time=np.array(kept),
        s=s,
        rates=mean * np.array(pair.mobility),
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
        ended=state.ended,
        t_end=kept[-1],
        steps=state.steps,
        cells=state.cells,
        fastest=float(state.record[2]),
        unresolved=state.unresolved,
        given=float(kinetic[0].sum() + stored[0].sum() + projected[0]),
    )


class _State:
    """Modes of both strands and the contact, in the arrays the kernels work on."""

    def __init__(self, pair: StrandPair, width: float, cells: int | None, lumped: bool) -> None:
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
        rows = np.stack([waves, self.omega**2, norm, bump], axis=1)
        self.strands = np.ascontiguousarray(rows.reshape(8, size))
        self.a, self.p, self.unresolved = _start(pair, size, self.cells)
        self.s = np.array(pair.start, dtype=np.float64)
        turn = 2.0 * np.pi if pair.periodic else np.pi
        angles = [turn / length for length in pair.length]
        signs = [1.0, -pair.ratio, pair.drag, float(pair.periodic), pair.resistance]
        self.shared = np.array([*angles, *pair.mobility, *signs])
        reach = [-np.inf, np.inf] if pair.periodic else [TAIL * width, -TAIL * width]
        ends = [[reach[0], length + reach[1]] for length in pair.length]
        self.bounds = np.array([*pair.speed, *ends[0], *ends[1]])
        self.drag = pair.drag
        self.work, self.spare = np.zeros((4, size)), np.zeros((8, size))
        self.record, self.out = np.zeros(4), np.empty(7)
        self.ended = self.steps = 0
        self.flow, self.flow_step = np.zeros((8, size)), 0.0
        self._settle()

    def _settle(self) -> None:
        """Make the velocities roll at the start; see whether the contact is slow enough."""
        from stiction.rods.strings.strand_kernels import FASTER_THAN_WAVES, settle

        given = (self.a, self.p, self.s, self.strands, self.shared, self.work, self.out)
        self.record[1] = settle(*given)
        settle(*given)
        rates = np.abs(self.shared[2:4] * self.out[:2]) / self.bounds[:2]
        self.record[2] = rates.max()
        if self.record[2] >= 1.0:
            self.ended = FASTER_THAN_WAVES

    def go(self, count: int, h: float) -> float:
        """Take `count` steps of length h, or fewer if the model ends; return the time gone."""
        from stiction.rods.strings.strand_kernels import march

        if self.flow_step != h:
            self.flow, self.flow_step = _free_flow(self.omega, self.drag, 0.5 * h), h
        self.ended, taken = march(
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
        from stiction.rods.strings.strand_kernels import contact

        contact(self.a, self.p, self.s, self.strands, self.shared, self.work, self.out)
        stiff, norm = self.strands[[1, 5]], self.strands[[2, 6]]
        kinetic = 0.5 * (self.p**2 / norm).sum(axis=1)
        both = self.p[0] * self.p[1] + stiff[0] * self.a[0] * self.a[1]
        stored = 0.5 * (stiff * self.a**2 / norm).sum(axis=1)
        return (
            self.s.copy(),
            self.out[:2].copy(),
            float(self.out[2]),
            self.a.copy(),
            self.p.copy(),
            float(self.record[0]),
            float(self.record[3]),
            float(self.record[1]),
            kinetic,
            stored,
            0.5 * float((both / norm[0]).sum()),
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
    """Return rows of the 2 x 2 matrices of x'' + drag x' + omega^2 x = 0 over t, u first."""
    turn = np.sqrt((omega**2 - 0.25 * drag**2).astype(np.complex128)) * t
    fade = np.exp(-0.5 * drag * t)
    cos = np.cos(turn).real * fade
    # sin(q t) / q
    sin = np.sinc(turn / np.pi).real * t * fade
    half = 0.5 * drag * sin
    flow = np.stack([cos + half, sin, -(omega**2) * sin, cos - half], axis=1)
    return np.ascontiguousarray(flow.reshape(8, -1))


def _check_bump(pair: StrandPair, width: float, cells: int) -> None:
    """Refuse a bump that does not fit on a strand, or that the cells do not resolve."""
    if cells > _MOST_CELLS:
        _refuse(
            "width", width, f"at most {_MOST_CELLS} cells", "memory is bounded.", "a wider one."
        )
    for length, place in zip(pair.length, pair.start, strict=True):
        spacing = length / cells
        if width < LEAST_RATIO * spacing * (1.0 - 1e-9):
            needs = f"at least {int(np.ceil(LEAST_RATIO * length / width))} cells"
            why = f"the bump is {width / spacing:.3g} cells wide and must be resolved by them."
            _refuse("cells", cells, needs, why, "leave it out: two cells for each width.")
        far = 0.5 * length if pair.periodic else min(place, length - place)
        if far < TAIL * width:
            why = "the bump reaches six widths to both sides and must end on the strand."
            _refuse("bump_width", width, f"at most {far / TAIL:.4g}", why, "a narrower bump.")


def _refuse(name: str, got: object, needs: str, why: str, try_: str) -> None:
    raise ModelError(explain(f"BumpStrands.{name}", got, needs, why, try_))


def to_zero_width(widths: Sequence[float], values: Floats) -> tuple[Floats, Floats]:
    """Return the values at width 0 of the polynomial through `values`, and their uncertainty.

    Parameters
    ----------
    widths : (w,) all different
    values : (w, ...) one row per width

    Returns
    -------
    The limit, and how far it lies from the limit without the widest bump.

    Verified by: tests/unit/rods/strings/test_strands.py::test_extrapolation_of_a_polynomial
    """
    wide = numbers(
        "widths",
        widths,
        per="run",
        rule="positive",
        why="the width goes to zero along them.",
        try_="give [0.04, 0.02, 0.01].",
    )
    if wide.size < 2 or np.unique(wide).size < wide.size:
        why = "the limit is that of a polynomial in the width."
        _refuse("widths", list(wide), "two or more that differ", why, "give [0.04, 0.02, 0.01].")
    order = np.argsort(wide)[::-1]
    wide, rows = wide[order], np.asarray(values)[order]

    def limit(x: Floats, y: Floats) -> Floats:
        weights = [np.prod([b / (b - a) for b in x if b != a]) for a in x]
        return np.asarray(np.tensordot(np.array(weights), y, axes=1))

    found = limit(wide, rows)
    return found, np.abs(found - limit(wide[1:], rows[1:]))
