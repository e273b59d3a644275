"""Strings in rolling contact, solved along characteristics: no mesh, only the moving contact.

Waves pass the contact by an exact scattering law, and come back from the ends, or around the
circle, after a delay that depends on where the contact was. What remains is one equation for
its velocity with a delay, V(t) = <v_t>, s1' = G1 F V, s2' = G2 V.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, Status, explain
from stiction.numerics.checks import Record, number, whole
from stiction.results.audit import Check
from stiction.rods.strings.model import RollingStrings

if TYPE_CHECKING:
    from stiction.results.run import Request, Run
    from stiction.rods.strings.outcome import StringHistory

__all__ = ["Characteristics"]

Floats = npt.NDArray[np.float64]

# kinetic energy and the split into sum and difference come from this many Gauss points
_PANELS, _GAUSS = 48, 4
# two paths that differ by less than this over the length agree
_AGREE = 1e-6


@dataclass(frozen=True, eq=False)
class Characteristics(Record):
    """Exact scattering at the contact, Runge-Kutta steps of order 4 for its path.

    On smooth data whose contact starts without a kick the error falls as step^4. Scattering has
    no memory: a corner of the data, or of the contact force at the start, never gets smoother.
    Each passage makes four of it, each about half as strong. Steps land on the strong ones, so
    that order 4 holds until the allowance `corners` is spent; the weak ones left over add an
    error that falls as step^2.

    Parameters
    ----------
    step : longest step [1]; shorter ones near the ends
    tolerance : largest third difference of s'/c in a step [1]; where the path bends more,
        steps are cut, to step/256 at most
    corners : about how many corners steps land on
    check : solve again with twice the step, and say in the audit how far the paths differ
    end_margin : the run ends where a contact point is nearer to a fixed end, over the length
    max_steps : bound on the work; a run that meets it ends with WORK_LIMIT

    Source: formulas sheet of the rods paper, section 5.
    Verified by: tests/convergence/test_strings.py::test_order_four,
    tests/exact/test_strings.py::test_offset_contact_points
    """

    step: float = 2.5e-4
    tolerance: float = 1e-3
    corners: int = 4000
    check: bool = True
    end_margin: float = 1e-5
    max_steps: int = 2_000_000

    def __post_init__(self) -> None:
        for name, why in (
            ("step", "time goes forward."),
            ("tolerance", "steps are cut where the path bends more."),
            ("end_margin", "steps shrink with the distance to the end, without a limit."),
        ):
            number(
                f"Characteristics.{name}",
                getattr(self, name),
                rule="positive",
                why=why,
                try_="leave the default.",
            )
        for name, least in (("corners", 0), ("max_steps", 1)):
            whole(
                f"Characteristics.{name}",
                getattr(self, name),
                least=least,
                why="the work of a run is bounded.",
                try_="leave the default.",
            )
        given: object = self.check
        if not isinstance(given, bool):
            why, try_ = "the second solve is made or not.", "leave it out."
            raise ModelError(
                explain("Characteristics.check", repr(given), "true or false", why, try_)
            )

    def check_step(self, system: RollingStrings) -> None:
        """Refuse a step that is too long or too short for these strings."""
        turn = 2.0 * max(
            length / c for length, c in zip(system.lengths, system.speeds, strict=True)
        )
        if turn / self.step > self.max_steps:
            raise ModelError(
                explain(
                    "Characteristics.step",
                    self.step,
                    f"at least {turn / self.max_steps:.3g}",
                    "shorter steps use up max_steps before a wave has gone there and back.",
                    "take a longer step, or a larger max_steps.",
                )
            )


def solve_strings(system: RollingStrings, method: Characteristics, request: Request) -> Run:
    """Return the run of `system`.

    Raises
    ------
    ModelError : if the strings have drag, or the step is too short for the work allowed.
    """
    from stiction.rods.strings.outcome import build_run

    if system.drag > 0.0:
        raise ModelError(
            explain(
                "Characteristics",
                f"drag = {system.drag}",
                "drag = 0",
                "drag scatters waves everywhere along the string, not at the contact alone.",
                "take BumpStrands, which carries drag, or rolling_resistance instead.",
            )
        )
    method.check_step(system)
    path = _Path(system, method, request)
    path.follow()
    history = path.history()
    if method.check:
        twin = _Path(system, replace(method, step=2.0 * method.step), _quiet(request))
        twin.follow()
        history = replace(history, checks=(*history.checks, _agreement(path, twin)))
    return build_run(system, method, history)


def _quiet(request: Request) -> Request:
    """Return the same request without a report of progress."""
    return replace(request, progress=lambda fraction, note: None)


class _Path:
    """The march of one contact: arrays of the kernels, and what became of it."""

    def __init__(self, system: RollingStrings, method: Characteristics, request: Request) -> None:
        self.system, self.method, self.request = system, method, request
        self.par = self._parameters()
        self.now = np.zeros(19)
        self.now[1], self.now[2] = system.s1, system.s2
        self.now[16], self.now[17] = 1.0, method.step
        self.node = np.zeros((4, 10))
        self.targets = np.ascontiguousarray(request.save - request.t_start)
        self.rows = np.zeros((self.targets.size, 10))
        self.done, self.flag = 0, 0
        self._fill()

    def _parameters(self) -> Floats:
        system, method = self.system, self.method
        a, b = system.mobilities
        (c1, c2), r = system.speeds, system.rolling_resistance
        alike = float(abs(a) / c1 == abs(b) / c2 and r == 0.0)
        circle = float(system.ends == "periodic")
        tail = [method.step, method.end_margin, 1.0, 1e-9, float(method.corners), alike]
        tail += [method.tolerance, float(max(abs(a) / c1, abs(b) / c2))]
        head = [*system.speeds, *system.lengths, system.F, float(a), float(b), r, circle]
        return np.array([*head, *tail])

    def _fill(self) -> None:
        """Store the waves that the initial data send, and their corners."""
        from stiction.rods.strings.characteristics_kernels import extend
        from stiction.rods.strings.initial_waves import initial_pieces

        sides = [side for i in (0, 1) for side in initial_pieces(self.system, i, self.method.step)]
        before = max(sum(x.shape[1] for x, _ in side) for side in sides)
        span = float(self.targets[-1]) / self.method.step
        room = before + 64 + int(min(1.2 * span + 2.0 * self.targets.size, 400_000.0))
        self.knot, self.coef = np.zeros((4, room + 1)), np.zeros((4, room, 4))
        self.area, self.square = np.zeros((4, room + 1)), np.zeros((4, room + 1))
        self.count = np.zeros(4, dtype=np.int64)
        self.where, self.ends = np.zeros((3, 4), np.int64), np.zeros((2, 4), np.int64)
        self.queue = np.zeros((4, 4 * self.method.corners + 64), dtype=np.int64)
        size = 0.0
        for f, side in enumerate(sides):
            for x, y in side:
                size = max(size, float(np.abs(y).max()))
                if self.count[f] > 0:
                    self._corner(f)
                for k in range(x.shape[1]):
                    extend(
                        f,
                        x[:, k].copy(),
                        y[:, k].copy(),
                        self.knot,
                        self.coef,
                        self.area,
                        self.square,
                        self.count,
                    )
            # the start itself: the contact force may begin with a kick
            self._corner(f)
        self.par[11] = max(size, 1e-300)
        self.where[2] = self.count - 1

    def _corner(self, f: int) -> None:
        tail = self.ends[1, f]
        if tail < self.queue.shape[1]:
            self.queue[f, tail] = self.count[f]
            self.ends[1, f] = tail + 1

    def follow(self) -> None:
        """March until the end, the breakdown, or the bound on the work."""
        from stiction.rods.strings import characteristics_kernels as kernels

        waves = (self.par, self.knot, self.coef, self.where)
        self.flag = kernels.look(0.0, self.now[1], self.now[2], 0.0, *waves, self.node[3])
        self.now[3], self.now[4] = self.node[3, 3], self.node[3, 4]
        size = self.targets.size
        while self.flag == kernels.REACHED and self.done < size:
            upto = min(size, self.done + max(1, size // 50))
            self.flag, self.done = kernels.march(
                self.targets[:upto],
                self.rows,
                self.done,
                self.method.max_steps,
                self.par,
                self.now,
                self.knot,
                self.coef,
                self.area,
                self.square,
                self.count,
                self.where,
                self.queue,
                self.ends,
                self.node,
            )
            if self.flag == kernels.FULL:
                self._grow()
                self.flag = kernels.REACHED
            elif self.flag == kernels.REACHED and not np.isfinite(self.now[:10]).all():
                self.flag = -1
            self.request.progress(float(self.now[0] / self.targets[-1]), "strings")

    def _grow(self) -> None:
        more = self.coef.shape[1]
        self.knot = np.pad(self.knot, ((0, 0), (0, more)))
        self.area = np.pad(self.area, ((0, 0), (0, more)))
        self.square = np.pad(self.square, ((0, 0), (0, more)))
        self.coef = np.pad(self.coef, ((0, 0), (0, more), (0, 0)))

    @property
    def kept(self) -> Floats:
        """Rows at the times that were reached, the moment of an early end included."""
        rows = self.rows[: self.done]
        if self.done < self.targets.size and (not self.done or self.now[0] > rows[-1, 0]):
            rows = np.vstack([rows, self.now[:10]])
        return rows

    # ---- results

    def history(self) -> StringHistory:
        """Return everything that is kept of the run."""
        from stiction.rods.strings.field_kernels import fields, powers
        from stiction.rods.strings.outcome import StringHistory, grid

        rows, system = self.kept, self.system
        times, contacts = rows[:, 0].copy(), np.ascontiguousarray(rows[:, 1:3])
        found = []
        for i, shape in enumerate((system.u0, system.v0)):
            place, rate = np.zeros((2, times.size, system.nodes))
            length, at = system.lengths[i], contacts[0, i : i + 1]
            start = 0.0 if shape is None else float(shape.value(at, length, system.ends)[0])
            own = contacts[:, i].copy()
            x, stored = grid(system, i), (self.knot, self.coef, self.area, self.count)
            fields(i, x, times, own, start, self.par, *stored, place, rate)
            found.append((place, rate))
        gauss, weights = np.polynomial.legendre.leggauss(_GAUSS)
        power = np.zeros((times.size, 5))
        powers(
            times,
            contacts,
            0.5 * (gauss + 1.0),
            0.5 * weights,
            _PANELS,
            system.identical,
            self.par,
            self.knot,
            self.coef,
            self.square,
            self.count,
            power,
        )
        status, reason, event = self._end()
        return StringHistory(
            time=times + self.request.t_start,
            contact=contacts,
            velocity=rows[:, 3].copy(),
            force=rows[:, 4].copy(),
            harmonics=np.stack([self._harmonic(i, rows) for i in (0, 1)], axis=1),
            fields=(found[0][0], found[1][0], found[0][1], found[1][1]),
            energy=power[:, :2],
            kinetic=0.5 * power[:, :2].sum(axis=1) + 0.25 * power[:, 2:4].sum(axis=1),
            shared=0.25 * power[:, 4] if system.identical else None,
            friction_heat=rows[:, 5].copy(),
            viscous_heat=np.zeros(times.size),
            event=event,
            checks=self._checks(),
            stats={
                "steps": int(self.now[14]),
                "corners_met": int(self.now[15]),
                "steps_of_history": int(self.count.max()),
            },
            status=status,
            reason=reason,
        )

    def _harmonic(self, i: int, rows: Floats) -> Floats:
        """Return (2/l) times the integral of the field with sin(2 pi x / l), by Duhamel."""
        from stiction.rods.strings.initial_waves import mode_start

        c, length = self.system.speeds[i], self.system.lengths[i]
        omega = 2.0 * np.pi * c / length
        y0, rate = mode_start(self.system, i)
        cos, sin = np.cos(omega * rows[:, 0]), np.sin(omega * rows[:, 0])
        forced = (2.0 / length) * (sin * rows[:, 6 + 2 * i] - cos * rows[:, 7 + 2 * i])
        return np.asarray(y0 * cos + (rate * sin + forced) / omega)

    def _end(self) -> tuple[Status, str, str]:
        """Return how the run ended, why in one line, and the kind of its last event."""
        from stiction.rods.strings.characteristics_kernels import ENDED, LIMIT, OUTRUN

        t = self.now[0] + self.request.t_start
        if self.flag == OUTRUN:
            fast = self._fastest()
            how = (
                "reaches the speed of the waves"
                if fast > 1.0 - 1e-3
                else (f"would jump: its law folds back at {fast:.4f} of the wave speed")
            )
            reason = f"the contact {how} at t = {t:.9g}; past it the model has no solution"
            return Status.NO_CONTINUATION, reason, "breakdown"
        if self.flag == ENDED:
            reason = f"the contact comes to an end of a string at t = {t:.9g}"
            return Status.NO_CONTINUATION, reason, "end"
        if self.flag == LIMIT:
            reason = f"{self.method.max_steps} steps are used up at t = {t:.9g}"
            return Status.WORK_LIMIT, reason, ""
        if self.flag == -1:
            return Status.NOT_FINITE, f"a wave is not finite at t = {t:.9g}", ""
        return Status.SOLVED, "", ""

    def _fastest(self) -> float:
        """Return |s'|/c at the last moment, the larger of both strings."""
        (a, b), (c1, c2) = self.system.mobilities, self.system.speeds
        return float(max(abs(a) / c1, abs(b) / c2) * abs(self.now[3]))

    def _checks(self) -> Sequence[Check]:
        from stiction.rods.strings.characteristics_kernels import ENDED, OUTRUN

        start, now = self.request.t_start, self.now
        subsonic, inside = self.flag != OUTRUN, self.flag != ENDED
        fast = max(float(now[10]), self._fastest())
        when = float(now[11] if subsonic else now[0]) + start
        note = "largest |s'|/c; fails where the contact outruns the waves or its law folds back"
        checks = [Check("contact_subsonic", subsonic, fast, 1.0, when, note)]
        value, when = float(now[12]), float(now[13]) + start
        note = "both strings alone move slower than V_m there: one subsonic root, for sure"
        (a, b), (c1, c2) = self.system.mobilities, self.system.speeds
        linear = abs(abs(a) / c1 - abs(b) / c2) <= 1e-12 * max(abs(a) / c1, abs(b) / c2)
        if linear:
            note = "the law of the contact is linear here: its root is unique whatever the speeds"
        checks.append(Check("cubic_unique", linear or value < 1.0, value, 1.0, when, note))
        if self.system.ends == "fixed":
            room = np.minimum(self.kept[:, 1:3], np.array(self.system.lengths) - self.kept[:, 1:3])
            room = (room / np.array(self.system.lengths)).min(axis=1)
            k = int(np.argmin(room))
            t, note = float(self.kept[k, 0]) + start, "least distance to an end over the length"
            limit = self.method.end_margin
            checks.append(Check("contact_inside", inside, float(room[k]), limit, t, note))
        return checks


def _agreement(path: _Path, twin: _Path) -> Check:
    """Return how far a solve with twice the step differs: what the numbers can be trusted for."""
    one, two = path.kept, twin.kept
    both = min(path.done, twin.done)
    apart = np.abs(one[:both, 1:3] - two[:both, 1:3]) / np.array(path.system.lengths)
    value = float(apart.max(initial=0.0))
    when = float(one[int(np.argmax(apart.max(axis=1, initial=0.0))), 0]) if both else 0.0
    end = float(abs(one[-1, 0] - two[-1, 0]) / max(one[-1, 0], two[-1, 0], 1e-300))
    note = "largest change of the contact path over the length when the step is doubled"
    if end > value:
        value, when = end, float(min(one[-1, 0], two[-1, 0]))
        note = "relative change of the time of breakdown when the step is doubled"
    if value > _AGREE:
        note += "; the motion is sensitive there: take a smaller step, or trust earlier times"
    t = when + path.request.t_start
    return Check("converged", value <= _AGREE, value, _AGREE, t, note)
