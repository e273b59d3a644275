"""Strings in rolling contact, solved along characteristics: no mesh, only the moving contact.

Waves pass the contact by an exact scattering law, and come back from the ends, or around the
circle, after a delay that depends on where the contact was. What remains is one equation for
its velocity with a delay, V(t) = <v_t>, s1' = G1 F V, s2' = G2 V.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check, Kind
from stiction.core.checkpoint import check_count, kept_array, put_back, refused
from stiction.core.driver import Pause, run_to_end
from stiction.errors import ModelError, Status
from stiction.rods.strings.model import RollingStrings

if TYPE_CHECKING:
    from stiction.core.run import Request, Run
    from stiction.rods.methods import Characteristics
    from stiction.rods.strings.outcome import StringHistory

__all__ = ["AGREE", "Path", "gauss_points", "parameters_of"]

Floats = npt.NDArray[np.float64]

# kinetic energy and the split into sum and difference come from this many Gauss points a panel
_GAUSS = 4
# of the kernel in one call, so that Ctrl-C and checkpoints wait a second at most
_STEPS_PER_CALL = 50_000
# two paths that differ by less than this over the length agree
AGREE = 1e-6
# points of a wave that a checkpoint may hold: 2 GB
_MOST_ROOM = 10_000_000


def solve_strings(system: RollingStrings, method: Characteristics, request: Request) -> Run:
    """Return the run of `system`.

    Raises
    ------
    ModelError : if the strings have drag, or the step is too short for the work allowed.
    """
    from stiction.rods.strings.outcome import build_run

    if system.drag > 0.0:
        raise ModelError(
            "Characteristics",
            f"drag = {system.drag}",
            "drag = 0",
            "drag scatters waves everywhere along the string, not at the contact alone.",
            "take BumpStrands, which carries drag, or rolling_resistance instead.",
        )
    method.check_step(system)
    kept = None if request.checkpoint is None else request.checkpoint.load()
    path = Path(system, method, request)
    path.follow("path", kept or {})
    history = path.history()
    if not method.check:
        unknown = Check("converged", None, None, AGREE, None, "check=False")
        history = replace(history, checks=(*history.checks, unknown))
    else:
        twin = Path(system, replace(method, step=2.0 * method.step), _quiet(request))
        twin.follow("twin", kept or {}, path.pack("path"))
        history = replace(history, checks=(*history.checks, _agreement(path, twin)))
        history = replace(history, agrees_until=_agrees_until(path, twin))
        if history.event and abs(path.end - twin.end) > AGREE * path.end:
            history = _undetermined(history, path, twin)
    return build_run(system, method, history)


def _quiet(request: Request) -> Request:
    """Return the same request without a report of progress."""
    return replace(request, progress=lambda fraction, note: None)


class Path:
    """The march of one contact: arrays of the kernels, and what became of it."""

    def __init__(self, system: RollingStrings, method: Characteristics, request: Request) -> None:
        self.system, self.method, self.request = system, method, request
        from stiction.rods.strings import characteristics_kernels as kernels

        self.kernels = kernels
        self.par = parameters_of(system, method)
        self.now = np.zeros(kernels.NOW_ENTRIES)
        self.now[kernels.PLACE : kernels.PLACE + 2] = system.s1, system.s2
        self.now[kernels.FRESH], self.now[kernels.LONGEST] = 1.0, method.step
        self.node = np.zeros((kernels.NODE_ROWS, kernels.NODE_COLUMNS))
        self.targets = np.ascontiguousarray(request.save - request.t_start)
        self.rows = np.zeros((self.targets.size, kernels.SAVED))
        self.done, self.flag = 0, 0
        self._fill()

    def _fill(self) -> None:
        """Store the waves that the initial data send, and their corners."""
        from stiction.rods.strings.initial_waves import initial_pieces

        kernels = self.kernels
        sides = [side for i in (0, 1) for side in initial_pieces(self.system, i, self.method.step)]
        before = max(sum(x.shape[1] for x, _ in side) for side in sides)
        span = float(self.targets[-1]) / self.method.step
        room = before + 64 + int(min(1.2 * span + 2.0 * self.targets.size, 400_000.0))
        self.wave = np.zeros((4, room + 1, kernels.WAVE_COLUMNS))
        self.marks = np.zeros((kernels.MARK_ROWS, 4), dtype=np.int64)
        self.queue = np.zeros((4, 4 * self.method.corners + 64), dtype=np.int64)
        size = 0.0
        for f, side in enumerate(sides):
            for x, y in side:
                size = max(size, float(np.abs(y).max()))
                if self.marks[kernels.COUNT, f] > 0:
                    self._corner(f)
                rows = (np.ascontiguousarray(a.T) for a in (x, y))
                kernels.extend_many(f, *rows, self.wave, self.marks)
            # the start itself: the contact force may begin with a kick
            self._corner(f)
        self.par[kernels.SIZE] = max(size, 1e-300)
        self.marks[kernels.LAST] = self.marks[kernels.COUNT] - 1

    def _corner(self, f: int) -> None:
        tail = self.marks[self.kernels.TAIL, f]
        if tail < self.queue.shape[1]:
            self.queue[f, tail] = self.marks[self.kernels.COUNT, f]
            self.marks[self.kernels.TAIL, f] = tail + 1

    def follow(
        self,
        name: str,
        kept: Mapping[str, npt.NDArray[Any]],
        beside: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> None:
        """March until the end, the breakdown, or the bound on the work.

        Parameters
        ----------
        name : of this march in a checkpoint
        kept : the checkpoint from which it goes on, if it got so far
        beside : what else a checkpoint keeps
        """
        if f"{name}_now" in kept:
            self._unpack(name, kept)
        steps = self._loop(name, beside or {})
        run_to_end(steps, self.request.progress, self.request.checkpoint)

    def _loop(
        self, name: str, beside: Mapping[str, npt.NDArray[Any]]
    ) -> Generator[Pause, None, None]:
        size = self.targets.size
        while self.flag == self.kernels.REACHED and self.done < size:
            self.advance(min(size, self.done + max(1, size // 50)))
            part = float(self.now[self.kernels.TIME] / self.targets[-1])
            going = self.flag == self.kernels.REACHED
            yield Pause(part, "strings", (lambda: {**beside, **self.pack(name)}) if going else None)

    def advance(self, upto: int) -> None:
        """March towards that many saved times, for one call; `flag` says how it went."""
        kernels, now, most = self.kernels, self.now, self.method.max_steps
        gone = max(float(now[kernels.STEPS]), 0.25 * float(now[kernels.TRIES]))
        self.flag, self.done = kernels.march(
            self.targets[:upto],
            self.rows,
            self.done,
            min(int(gone) + _STEPS_PER_CALL, most),
            self.par,
            now,
            self.wave,
            self.marks,
            self.queue,
            self.node,
        )
        if self.flag == kernels.FULL:
            # twice the room
            self.wave = np.pad(self.wave, ((0, 0), (0, self.wave.shape[1] - 1), (0, 0)))
            self.flag = kernels.REACHED
        elif self.flag == kernels.LIMIT and self._may_go_on():
            self.flag = kernels.REACHED
        elif self.flag == kernels.REACHED and not np.isfinite(now[: kernels.SAVED]).all():
            self.flag = -1

    def nearer(self, other: Path, part: float) -> bool:
        """Move to `part` of the way from `other`, two marches of equal steps; return if they are.

        Steps, corners and knots correspond one to one, so that every number of the state is a
        smooth function of the start: what is between two states is a state, to first order.
        """
        alike = np.array_equal(self.marks[[0, 3, 4, 5]], other.marks[[0, 3, 4, 5]])
        if not (alike and np.array_equal(self.queue, other.queue)):
            return False
        used = int(self.marks[self.kernels.COUNT].max()) + 1
        for mine, theirs in (
            (self.wave[:, :used], other.wave[:, :used]),
            (self.now, other.now),
            (self.node, other.node),
        ):
            mine[...] = theirs + part * (mine - theirs)
        return True

    def _may_go_on(self) -> bool:
        """Whether a march that came to the end of a call has steps left."""
        kernels, most = self.kernels, self.method.max_steps
        return bool(self.now[kernels.STEPS] < most and self.now[kernels.TRIES] <= 4.0 * most)

    # ---- checkpoint

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that kernels change in place, but for the waves, by name."""
        return {"now": self.now, "node": self.node, "marks": self.marks, "queue": self.queue}

    def pack(self, name: str) -> dict[str, npt.NDArray[Any]]:
        """Return what this march needs to go on, under names that begin with `name`."""
        used = min(int(self.marks[self.kernels.COUNT].max()) + 3, self.wave.shape[1])
        numbers = np.array([self.done, self.flag, self.wave.shape[1], used])
        found = {**self._arrays(), "wave": self.wave[:, :used], "rows": self.rows[: self.done]}
        return {f"{name}_{key}": value for key, value in (found | {"numbers": numbers}).items()}

    def _unpack(self, name: str, kept: Mapping[str, npt.NDArray[Any]]) -> None:
        found = {key.removeprefix(f"{name}_"): kept[key] for key in kept if key.startswith(name)}
        self.done, self.flag, room, used = (int(n) for n in kept_array(found, "numbers", (4,), "i"))
        check_count(f"{name}_numbers", self.done, 0, self.targets.size)
        check_count(f"{name}_numbers", room, 3, _MOST_ROOM)
        check_count(f"{name}_numbers", used, 0, room)
        marks = kept_array(found, "marks", self.marks.shape, "i")
        most = max(room, self.queue.shape[1])
        if marks.min() < 0 or marks.max() > most:
            raise refused(f"{name}_marks", f"{marks.min()} ... {marks.max()}", f"0 ... {most}")
        self.wave = np.zeros((4, room, self.kernels.WAVE_COLUMNS))
        seen = {"wave": self.wave[:, :used], "rows": self.rows[: self.done]}
        put_back(self._arrays() | seen, found)

    @property
    def end(self) -> float:
        """The time reached, from the start."""
        return float(self.now[self.kernels.TIME])

    @property
    def kept(self) -> Floats:
        """Rows at the times that were reached, the moment of an early end included."""
        rows, kernels = self.rows[: self.done], self.kernels
        now = self.now[kernels.TIME]
        if self.done < self.targets.size and (not self.done or now > rows[-1, kernels.TIME]):
            rows = np.vstack([rows, self.now[: kernels.SAVED]])
        return rows

    # ---- results

    def history(self) -> StringHistory:
        """Return everything that is kept of the run."""
        from stiction.rods.strings import field_kernels as fk
        from stiction.rods.strings.outcome import StringHistory, grid

        rows, system, kernels = self.kept, self.system, self.kernels
        times = rows[:, kernels.TIME].copy()
        contacts = np.ascontiguousarray(rows[:, kernels.PLACE : kernels.PLACE + 2])
        count = self.marks[kernels.COUNT].copy()
        guide, scale = np.zeros((4, int(count.max())), dtype=np.int64), np.zeros((4, 2))
        fk.guide_waves(self.wave, count, guide, scale)
        waves = (self.par, self.wave, count, guide, scale)
        found = []
        for i, shape in enumerate((system.u0, system.v0)):
            place, rate = np.zeros((2, times.size, system.nodes))
            length, at = system.lengths[i], contacts[0, i : i + 1]
            start = 0.0 if shape is None else float(shape.value(at, length, system.ends)[0])
            own = contacts[:, i].copy()
            x = grid(system, i)
            fk.fields(i, x, times, own, start, *waves, place, rate)
            found.append((place, rate))
        gauss, weights = gauss_points()
        power = np.zeros((times.size, fk.POWER_COLUMNS))
        fk.powers(
            times,
            contacts,
            gauss,
            weights,
            system.identical,
            *waves,
            power,
        )
        energy, own = power[:, fk.ENERGY : fk.OWN], power[:, fk.OWN : fk.BOTH]
        status, reason, event = self._end()
        return StringHistory(
            time=times + self.request.t_start,
            contact=contacts,
            velocity=rows[:, kernels.VELOCITY].copy(),
            force=rows[:, kernels.FORCE].copy(),
            harmonics=np.stack([self._harmonic(i, rows) for i in (0, 1)], axis=1),
            fields=(found[0][0], found[1][0], found[0][1], found[1][1]),
            energy=energy,
            kinetic=0.5 * energy.sum(axis=1) + 0.25 * own.sum(axis=1),
            shared=0.25 * power[:, fk.BOTH] if system.identical else None,
            friction_heat=rows[:, kernels.HEAT].copy(),
            viscous_heat=np.zeros(times.size),
            event=event,
            checks=self._checks(),
            stats={
                "steps": int(self.now[kernels.STEPS]),
                "corners_met": int(self.now[kernels.MET]),
                "steps_of_history": int(count.max()),
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
        phase, forcing = omega * rows[:, self.kernels.TIME], self.kernels.FORCING + 2 * i
        cos, sin = np.cos(phase), np.sin(phase)
        forced = (2.0 / length) * (sin * rows[:, forcing] - cos * rows[:, forcing + 1])
        return np.asarray(y0 * cos + (rate * sin + forced) / omega)

    def _end(self) -> tuple[Status, str, str]:
        """Return how the run ended, why in one line, and the kind of its last event."""
        kernels = self.kernels
        t = self.now[kernels.TIME] + self.request.t_start
        if self.flag == kernels.OUTRUN:
            fast = self._fastest()
            how = (
                "reaches the speed of the waves"
                if fast > 1.0 - 1e-3
                else (f"would jump: its law folds back at {fast:.4f} of the wave speed")
            )
            reason = f"the contact {how} at t = {t:.9g}; past it the model has no solution"
            return Status.NO_CONTINUATION, reason, "breakdown"
        if self.flag == kernels.ENDED:
            reason = f"the contact comes to an end of a string at t = {t:.9g}"
            return Status.NO_CONTINUATION, reason, "end"
        if self.flag == kernels.LIMIT:
            reason = f"{self.method.max_steps} steps are used up at t = {t:.9g}"
            return Status.WORK_LIMIT, reason, ""
        if self.flag == -1:
            return Status.NOT_FINITE, f"a wave is not finite at t = {t:.9g}", ""
        return Status.SOLVED, "", ""

    def _fastest(self) -> float:
        """Return |s'|/c at the last moment, the larger of both strings."""
        (a, b), (c1, c2) = self.system.mobilities, self.system.speeds
        return float(max(abs(a) / c1, abs(b) / c2) * abs(self.now[self.kernels.VELOCITY]))

    def _checks(self) -> Sequence[Check]:
        kernels, start, now = self.kernels, self.request.t_start, self.now
        subsonic, inside = self.flag != kernels.OUTRUN, self.flag != kernels.ENDED
        fast = max(float(now[kernels.FASTEST]), self._fastest())
        when = float(now[kernels.FASTEST_AT if subsonic else kernels.TIME]) + start
        note = "largest |s'|/c; fails where the contact outruns the waves or its law folds back"
        checks = [Check("contact_subsonic", subsonic, fast, 1.0, when, note)]
        value, when = float(now[kernels.ALONE]), float(now[kernels.ALONE_AT]) + start
        note = "both strings alone move slower than V_m there: one subsonic root, for sure"
        (a, b), (c1, c2) = self.system.mobilities, self.system.speeds
        linear = abs(abs(a) / c1 - abs(b) / c2) <= 1e-12 * max(abs(a) / c1, abs(b) / c2)
        if linear:
            note = "the law of the contact is linear here: its root is unique whatever the speeds"
        checks.append(Check("cubic_unique", linear or value < 1.0, value, 1.0, when, note))
        if self.system.ends == "fixed":
            room, when = float(now[kernels.ROOM]), float(now[kernels.ROOM_AT]) + start
            limit, note = self.method.end_margin, "least distance to an end over the length"
            checks.append(
                Check("contact_inside", inside, room, limit, when, note, kind=Kind.AT_LEAST)
            )
        return checks


def gauss_points() -> tuple[Floats, Floats]:
    """Return places within a panel of length 1, and their weights."""
    gauss, weights = np.polynomial.legendre.leggauss(_GAUSS)
    return 0.5 * (gauss + 1.0), 0.5 * weights


def parameters_of(system: RollingStrings, method: Characteristics) -> Floats:
    """Return the numbers that kernels read, but for the size of the waves."""
    from stiction.rods.strings import characteristics_kernels as kernels

    a, b = system.mobilities
    (c1, c2), r = system.speeds, system.rolling_resistance
    par = np.zeros(kernels.PAR_ENTRIES)
    par[kernels.SPEED : kernels.SPEED + 2] = system.speeds
    par[kernels.LENGTH : kernels.LENGTH + 2] = system.lengths
    par[kernels.RATE : kernels.RATE + 2] = float(a), float(b)
    par[kernels.RATIO], par[kernels.ROLLING] = system.F, r
    par[kernels.PERIODIC] = float(system.ends == "periodic")
    par[kernels.STEP], par[kernels.MARGIN] = method.step, method.end_margin
    # the size of the waves follows when they are known
    par[kernels.SIZE], par[kernels.LEAST] = 1.0, 1e-9
    par[kernels.CORNERS] = float(method.corners)
    par[kernels.ALIKE] = float(abs(a) / c1 == abs(b) / c2 and r == 0.0)
    par[kernels.TOLERANCE] = method.tolerance
    par[kernels.STEEPEST] = float(max(abs(a) / c1, abs(b) / c2))
    return par


def _agrees_until(path: Path, twin: Path) -> float:
    """Return the last saved time up to which a solve with twice the step has the same path."""
    place, both = path.kernels.PLACE, min(path.done, twin.done)
    if not both:
        return path.request.t_start
    one, two = path.kept[:both], twin.kept[:both]
    apart = np.abs(one[:, place : place + 2] - two[:, place : place + 2])
    far = np.flatnonzero((apart / np.array(path.system.lengths) > AGREE).any(axis=1))
    last = int(far[0]) - 1 if far.size else both - 1
    return float(one[max(last, 0), path.kernels.TIME]) + path.request.t_start


def _undetermined(history: StringHistory, path: Path, twin: Path) -> StringHistory:
    """Return a history whose end is told as what it is: a time that the step decides."""
    start = path.request.t_start
    other = (
        "does not end" if twin.flag == twin.kernels.REACHED else f"ends at {twin.end + start:.4g}"
    )
    doubt = f"not determined: here near {path.end + start:.4g}; with twice the step it {other}"
    return replace(
        history, reason=f"{history.reason.split(' at t =')[0]}; when is {doubt}", doubt=doubt
    )


def _agreement(path: Path, twin: Path) -> Check:
    """Return how far a solve with twice the step differs: what the numbers can be trusted for."""
    time, place = path.kernels.TIME, path.kernels.PLACE
    one, two = path.kept, twin.kept
    both = min(path.done, twin.done)
    apart = np.abs(one[:both, place : place + 2] - two[:both, place : place + 2])
    apart /= np.array(path.system.lengths)
    value = float(apart.max(initial=0.0))
    when = float(one[int(np.argmax(apart.max(axis=1, initial=0.0))), time]) if both else 0.0
    last, other = float(one[-1, time]), float(two[-1, time])
    end = abs(last - other) / max(last, other, 1e-300)
    note = "largest change of the contact path over the length when the step is doubled, at the "
    note += "saved times"
    if end > value:
        value, when = end, min(last, other)
        note = "relative change of the time of breakdown when the step is doubled"
    if value > AGREE:
        note += "; the motion is sensitive there: take a smaller step, or trust earlier times"
    t = when + path.request.t_start
    return Check("converged", value <= AGREE, value, AGREE, t, note)
