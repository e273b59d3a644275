"""Strings in rolling contact by the method of characteristics.

Two strings u and v obey, with the contact force lam and means <.> of both sides of the contact,

    u_tt - c^2 u_xx = -lam delta(x - s1),   v_tt - c^2 v_xx = (F lam - r <v_t>) delta(x - s2),
    <u_t> = F <v_t>,   s1' = G1 <u_t>,   s2' = G2 <v_t>,

where r is the rolling resistance (`model`). The contact scatters waves by an exact law; they return
from the ends, or around the circle, after a delay that depends on the path of the contact. The
remaining unknown is this path, the solution of a differential equation with delay: s1' = G1 F V,
s2' = G2 V with V(t) = <v_t>. `solve_strings` integrates it. The audit check `converged` and the
quantity `agrees_until` need a second integration with twice the step, called the twin. A corner is
a jump of a wave or of a derivative of it.

Source: Gay-Balmaz, Putkaradze 2012, (16)-(19); formulas sheet (docs/formulas/rods.md), section 5.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check, Kind
from stiction.core.checkpoint import StateArray, check_count, like, refused, restore
from stiction.core.driver import Pause, run_to_end
from stiction.errors import ModelError, Status
from stiction.numerics.arrays import Table
from stiction.numerics.checks import MOST_WORK
from stiction.rods.strings.model import RollingStrings
from stiction.rods.strings.state import (
    Contact,
    Cubic,
    Moment,
    Pair,
    Parameters,
    Progress,
    Step,
    String,
    Wave,
    numbers_of,
)

if TYPE_CHECKING:
    from stiction.core.run import Request, Run
    from stiction.rods.methods import Characteristics
    from stiction.rods.strings.outcome import StringHistory

__all__ = ["AGREE", "Path", "alike_mobilities", "gauss_points", "parameters_of", "strings_of"]

Floats = npt.NDArray[np.float64]
State = Mapping[str, StateArray | npt.NDArray[Any]]

# Gauss points per panel, for kinetic energy and for the energies of u + v and u - v
_GAUSS = 4
# steps of one kernel call: it delays Ctrl-C and checkpoints by a second at most
_STEPS_PER_CALL = 50_000
# two paths agree if they differ by less than this, over the length
AGREE = 1e-6


def solve_strings(system: RollingStrings, method: Characteristics, request: Request) -> Run:
    """Return the run of `system`.

    Raises
    ------
    ModelError : if the strings have drag, or the step is too short for `max_steps`.
    """
    from stiction.rods.strings.outcome import build_run

    checkpoint = (None if request.checkpoint is None else request.checkpoint.load()) or {}
    for name in checkpoint:
        if not name.startswith(("path_", "twin_")):
            raise refused(name, "an array that is not known", "the arrays of this method alone")
    path = Path(system, method, request)
    path.integrate("path", checkpoint, {})
    history = path.history()
    if not method.check:
        unknown = Check("converged", None, None, AGREE, None, "check=False")
        history = replace(history, checks=(*history.checks, unknown))
    else:
        twin = Path(system, twin_of(method), _quiet(request))
        twin.integrate("twin", checkpoint, path.pack("path"))
        history = replace(history, checks=(*history.checks, _agreement(path, twin)))
        history = replace(history, agrees_until=_agrees_until(path, twin))
        if history.event and abs(path.end - twin.end) > AGREE * path.end:
            history = _undetermined(history, path, twin)
    return build_run(system, method, history)


def _quiet(request: Request) -> Request:
    """Return the same request without progress reports."""
    return replace(request, progress=lambda fraction, note: None)


class Path:
    """The integration of one contact path: arrays of the kernels, checkpoints and results.

    The structs of `state` describe the arrays: `parameters`, `contact` and `progress` with one
    element (`now` is that of `progress`), `pair` with strings and waves, `samples` (t,) contacts at
    the saved times `targets` (t,), counted from the start, and `queue` (4, n) indices of corners.

    Raises
    ------
    ModelError : if the strings have drag, or the step is too short for `max_steps`.
    """

    def __init__(self, system: RollingStrings, method: Characteristics, request: Request) -> None:
        if system.drag > 0.0:
            raise ModelError(
                "Characteristics",
                f"drag = {system.drag}",
                "drag = 0",
                "drag scatters waves everywhere along the string, not only at the contact.",
                "take BumpStrands, which includes drag, or rolling_resistance instead.",
            )
        method.check_step(system)
        self.system, self.method, self.request = system, method, request
        from stiction.rods.strings import characteristics_kernels as kernels

        self.kernels = kernels
        self.parameters = parameters_of(system, method)
        self.contact, self.progress = Contact.table(), Progress.table()
        self.now, at = self.progress[0], self.contact[0]
        at.s1, at.s2 = system.s1, system.s2
        self.now.fresh, self.now.longest = 1, method.step
        self.step = Step(Moment.table(5), np.zeros((5, 4)))
        self.targets = np.ascontiguousarray(request.save - request.t_start)
        self.samples = Contact.table(self.targets.size)
        self._fill()

    def _fill(self) -> None:
        """Store the waves of the initial data as cubics, and queue their corners."""
        from stiction.rods.strings.initial_waves import initial_waves

        sides = [side for i in (0, 1) for side in initial_waves(self.system, i, self.method.step)]
        before = max(sum(x.shape[1] for x, _ in side) for side in sides)
        span = float(self.targets[-1]) / self.method.step
        room = before + 64 + int(min(1.2 * span + 2.0 * self.targets.size, 400_000.0))
        waves = Wave.table(4)
        self.pair = Pair(strings_of(self.system), waves, Cubic.table((4, room + 1)))
        self.queue = np.zeros((4, 4 * self.method.corners + 64), dtype=np.int64)
        size = 0.0
        for f, side in enumerate(sides):
            for x, y in side:
                size = max(size, float(np.abs(y).max()))
                if waves[f].count > 0:
                    self._corner(f)
                at, values = np.ascontiguousarray(x.T), np.ascontiguousarray(y.T)
                self.kernels.extend_many(f, at, values, self.pair)
            # the start itself is a corner: the contact force may begin with a jump
            self._corner(f)
        self.parameters[0].size = max(size, 1e-300)
        waves["last"] = waves["count"] - 1

    def _corner(self, f: int) -> None:
        """Queue a corner at the begin of the next cubic of wave f."""
        wave = self.pair.waves[f]
        if wave.tail < self.queue.shape[1]:
            self.queue[f, wave.tail] = wave.count
            wave.tail += 1

    def integrate(
        self, name: str, checkpoint: Mapping[str, npt.NDArray[Any]], others: State
    ) -> None:
        """Integrate to the end time, the breakdown of the model, or the bound on the work.

        Parameters
        ----------
        name : prefix of the arrays of this path in a checkpoint
        checkpoint : the arrays of the checkpoint to resume from
        others : further arrays of the checkpoints that are written
        """
        mine = {key: values for key, values in checkpoint.items() if key.startswith(f"{name}_")}
        if mine:
            self._resume(name, mine)
        run_to_end(self._loop(name, others), self.request.progress, self.request.checkpoint)

    def _loop(self, name: str, others: State) -> Generator[Pause, None, None]:
        """Integrate in parts of two percent of the saved times, with a pause after each."""
        size, now = self.targets.size, self.now
        while now.flag == self.kernels.REACHED and now.done < size:
            self.advance(min(size, now.done + max(1, size // 50)))
            unfinished = now.flag == self.kernels.REACHED
            pack = (lambda: {**others, **self.pack(name)}) if unfinished else None
            yield Pause(self.end / float(self.targets[-1]), "strings", pack)

    def advance(self, upto: int) -> None:
        """Call the kernel once, to integrate to at most `upto` saved times; set `now.flag`."""
        kernels, now, most = self.kernels, self.now, self.method.max_steps
        gone = max(float(now.steps), 0.25 * float(now.tries))
        now.flag = kernels.integrate(
            self.targets[:upto],
            self.samples,
            min(int(gone) + _STEPS_PER_CALL, most),
            self.parameters,
            self.contact,
            self.progress,
            self.pair,
            self.queue,
            self.step,
        )
        if now.flag == kernels.FULL:
            self._make_room(2 * self.pair.cubics.shape[1] - 1)
            now.flag = kernels.REACHED
        elif now.flag == kernels.LIMIT and now.steps < most and now.tries <= 4 * most:
            # the limit of one call, not of the run
            now.flag = kernels.REACHED
        elif now.flag == kernels.REACHED and not np.isfinite(numbers_of(self.contact)).all():
            now.flag = kernels.NOT_FINITE

    def _make_room(self, knots: int) -> None:
        """Allocate room for this number of knots of each wave."""
        cubics, before = Cubic.table((4, knots)), self.pair.cubics
        cubics[:, : before.shape[1]] = before
        self.pair = self.pair._replace(cubics=cubics)

    def interpolate_from(self, other: Path, fraction: float) -> bool:
        """Set the state to other + fraction (self - other); return False if steps differ.

        This renormalises a neighbouring orbit. Steps, corners and knots of both orbits correspond
        one to one, so each number of the state is a smooth function of the initial state, and the
        interpolant is a state to first order.
        """
        same = ["count", "last", "head", "tail"]
        alike = np.array_equal(self.pair.waves[same], other.pair.waves[same])
        if not (alike and np.array_equal(self.queue, other.queue)):
            return False
        used = self.knots
        for mine, theirs in (
            (self.pair.cubics[:, :used], other.pair.cubics[:, :used]),
            (self.contact, other.contact),
            (self.progress, other.progress),
            (self.step.moments, other.step.moments),
        ):
            for name in mine.dtype.names or ():
                if mine.dtype[name].kind == "f":
                    mine[name] = theirs[name] + fraction * (mine[name] - theirs[name])
        own, reference = self.step.incoming, other.step.incoming
        own[...] = reference + fraction * (own - reference)
        return True

    # ---- checkpoint

    @property
    def knots(self) -> int:
        """Number of knots of each wave in use."""
        return int(self.pair.waves["count"].max()) + 1

    def _state(self, name: str) -> dict[str, StateArray]:
        """Return the state for a checkpoint without the cubics; names begin with `name`."""
        state = {
            "progress": StateArray(self.progress, within=(0, MOST_WORK)),
            "contact": StateArray(self.contact),
            "moments": StateArray(self.step.moments),
            "incoming": StateArray(self.step.incoming),
            "waves": StateArray(self.pair.waves, within=(0, MOST_WORK)),
            "queue": StateArray(self.queue, within=(0, MOST_WORK)),
            "samples": StateArray(self.samples, f"{name}_saved", self.now.done),
        }
        return {f"{name}_{key}": one for key, one in state.items()}

    def pack(self, name: str) -> State:
        """Return the state for a checkpoint; names begin with `name`."""
        return {**self._state(name), f"{name}_cubics": self.pair.cubics[:, : self.knots]}

    def _resume(self, name: str, checkpoint: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore the state of a checkpoint."""
        form = replace(like(self.pair.cubics), shape=(4, "knots"))
        sizes = restore(self._state(name), checkpoint, **{f"{name}_cubics": form})
        waves, knots, saved = self.pair.waves, sizes["knots"], sizes[f"{name}_saved"]
        check_count(f"{name}_progress", int(self.now.done), saved, saved)
        check_count(f"{name}_progress", int(self.now.flag), 0, self.kernels.NOT_FINITE)
        check_count(f"{name}_waves", self.knots, knots, knots)
        for field in ("read", "first", "last"):
            check_count(f"{name}_waves", int(waves[field].max()), 0, knots - 2)
        for field in ("head", "tail"):
            check_count(f"{name}_waves", int(waves[field].max()), 0, self.queue.shape[1])
        self._make_room(max(knots, self.pair.cubics.shape[1]))
        self.pair.cubics[:, :knots] = checkpoint[f"{name}_cubics"]

    @property
    def end(self) -> float:
        """Time reached, from the start of the run."""
        return float(self.contact[0].time)

    @property
    def saved_samples(self) -> npt.NDArray[Any]:
        """Samples at the saved times reached, and at an early end."""
        samples = self.samples[: self.now.done]
        short = len(samples) < self.targets.size
        if short and (not len(samples) or self.end > samples[-1].time):
            return np.concatenate([samples, self.contact])
        return samples

    # ---- results

    def history(self) -> StringHistory:
        """Return the results of the run."""
        from stiction.rods.strings import field_kernels as fk
        from stiction.rods.strings.outcome import StringHistory, grid

        samples, system = self.saved_samples, self.system
        times, contacts = samples["time"].copy(), _contact_points(samples)
        count = int(self.pair.waves["count"].max())
        guide = np.zeros((4, count), dtype=np.int64)
        fk.guide_waves(self.pair, guide)
        fields = []
        for i, shape in enumerate((system.u0, system.v0)):
            place, rate = np.zeros((2, times.size, system.nodes))
            length, at = system.lengths[i], contacts[0, i : i + 1]
            start = 0.0 if shape is None else float(shape.value(at, length, system.ends)[0])
            own = contacts[:, i].copy()
            x = grid(system, i)
            fk.fields(i, x, times, own, start, self.pair, guide, place, rate)
            fields.append((place, rate))
        (energy, product), both = np.zeros((2, times.size, 2)), np.zeros(times.size)
        given = times, contacts, *gauss_points(), system.identical
        fk.powers(*given, self.pair, guide, energy, product, both)
        status, reason, event = self._end()
        return StringHistory(
            time=times + self.request.t_start,
            contact=contacts,
            velocity=samples["velocity"].copy(),
            force=samples["force"].copy(),
            harmonics=np.stack([self._harmonic(i, samples) for i in (0, 1)], axis=1),
            fields=(fields[0][0], fields[1][0], fields[0][1], fields[1][1]),
            energy=energy,
            kinetic=0.5 * energy.sum(axis=1) + 0.25 * product.sum(axis=1),
            shared=0.25 * both if system.identical else None,
            friction_heat=samples["heat"].copy(),
            viscous_heat=np.zeros(times.size),
            event=event,
            checks=self._checks(),
            stats={
                "steps": int(self.now.steps),
                "corners_met": int(self.now.met),
                "steps_of_history": count,
            },
            status=status,
            reason=reason,
        )

    def _harmonic(self, i: int, samples: npt.NDArray[Any]) -> Floats:
        """Return (t,) u1 or v1, 2/l times the integral with sin(2 pi x / l), by Duhamel."""
        from stiction.rods.strings.initial_waves import harmonic_start

        c, length = self.system.speeds[i], self.system.lengths[i]
        omega = 2.0 * np.pi * c / length
        y0, rate = harmonic_start(self.system, i, self.method.step)
        phase, of = omega * samples["time"], "uv"[i]
        cos, sin = np.cos(phase), np.sin(phase)
        forced = (2.0 / length) * (sin * samples[f"{of}_cosine"] - cos * samples[f"{of}_sine"])
        return np.asarray(y0 * cos + (rate * sin + forced) / omega)

    def _end(self) -> tuple[Status, str, str]:
        """Return status, reason in one line, and kind of the last event."""
        kernels, flag = self.kernels, self.now.flag
        t = self.end + self.request.t_start
        if flag == kernels.NO_SUBSONIC_ROOT:
            fast = self._fastest()
            how = (
                "reaches the speed of the waves"
                if fast > 1.0 - 1e-3
                else (f"would jump: its law folds back at {fast:.4f} of the wave speed")
            )
            reason = f"the contact {how} at t = {t:.9g}; after this time the model has no solution"
            return Status.NO_CONTINUATION, reason, "breakdown"
        if flag == kernels.ENDED:
            reason = f"the contact reaches an end of a string at t = {t:.9g}"
            return Status.NO_CONTINUATION, reason, "end"
        if flag == kernels.LIMIT:
            reason = f"{self.method.max_steps} steps are used up at t = {t:.9g}"
            return Status.WORK_LIMIT, reason, ""
        if flag == kernels.NOT_FINITE:
            return Status.NOT_FINITE, f"a wave is not finite at t = {t:.9g}", ""
        return Status.SOLVED, "", ""

    def _fastest(self) -> float:
        """Return the larger |s'|/c of both strings at the end."""
        (a, b), (c1, c2) = self.system.mobilities, self.system.speeds
        return float(max(abs(a) / c1, abs(b) / c2) * abs(self.contact[0].velocity))

    def _checks(self) -> Sequence[Check]:
        """Return the audit checks of the contact."""
        kernels, start, now = self.kernels, self.request.t_start, self.now
        flag = int(now.flag)
        subsonic, inside = flag != kernels.NO_SUBSONIC_ROOT, flag != kernels.ENDED
        fast = max(float(now.fastest), self._fastest())
        when = (float(now.fastest_at) if subsonic else self.end) + start
        note = (
            "largest contact speed over wave speed, |s'|/c; the check fails if the contact "
            "reaches the wave speed or the contact law folds back"
        )
        checks = [Check("contact_subsonic", subsonic, fast, 1.0, when, note)]
        value, when = float(now.alone), float(now.alone_at) + start
        note = (
            "contact velocity without contact force, over the smallest velocity at which a "
            "contact point reaches a wave speed; below 1 exactly one root is subsonic"
        )
        alike = bool(alike_mobilities(self.pair.strings))
        if alike:
            note = (
                "both contact points reach the wave speed at the same V, so that one root is "
                "subsonic at any speed"
            )
        checks.append(
            Check("contact_velocity_unique", alike or value < 1.0, value, 1.0, when, note)
        )
        if self.system.ends == "fixed":
            room, when = float(now.room), float(now.room_at) + start
            limit, note = (
                self.method.end_margin,
                "smallest distance of the contact to an end, over the length",
            )
            checks.append(
                Check("contact_inside", inside, room, limit, when, note, kind=Kind.AT_LEAST)
            )
        return checks


def gauss_points() -> tuple[Floats, Floats]:
    """Return Gauss points of an interval of length 1, and their weights."""
    gauss, weights = np.polynomial.legendre.leggauss(_GAUSS)
    return 0.5 * (gauss + 1.0), 0.5 * weights


def strings_of(system: RollingStrings) -> Table[String]:
    """Return both strings as a table of the kernels."""
    strings = String.table(2)
    strings["speed"], strings["length"] = system.speeds, system.lengths
    strings["rate"], strings["periodic"] = system.mobilities, system.ends == "periodic"
    return strings


def twin_of(method: Characteristics) -> Characteristics:
    """Return the method of the run of twice the step, with which a run is compared."""
    fields: dict[str, Any] = {"step": 2.0 * method.step, "check": False}
    return replace(method, **fields)


def alike_mobilities(strings: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return (...) whether |s'|/c is the same on both of the strings (..., 2), at any V."""
    ratio = np.abs(strings["rate"]) / strings["speed"]
    return np.asarray(np.abs(ratio[..., 0] - ratio[..., 1]) <= 1e-12 * ratio.max(axis=-1))


def parameters_of(system: RollingStrings, method: Characteristics) -> Table[Parameters]:
    """Return the parameters of the kernels, without the size of the waves."""
    a, b = system.mobilities
    (c1, c2), r = system.speeds, system.rolling_resistance
    parameters = Parameters.table()
    par = parameters[0]
    par.ratio, par.rolling = system.F, r
    par.step, par.margin, par.tolerance = method.step, method.end_margin, method.tolerance
    par.steepest = max(abs(a) / c1, abs(b) / c2)
    # the second: a contact that stays, with squares that underflow
    par.linear = (alike_mobilities(strings_of(system)) and r == 0.0) or par.steepest < 1e-100
    # `Path` sets the size when the waves are known
    par.size, par.least, par.corners = 1.0, 1e-9, method.corners
    return parameters


def _contact_points(samples: npt.NDArray[Any]) -> Floats:
    """Return (t, 2) contact points s1 and s2 of samples."""
    return np.ascontiguousarray(np.stack([samples["s1"], samples["s2"]], axis=1))


def _agrees_until(path: Path, twin: Path) -> float:
    """Return the last saved time up to which the solution with twice the step agrees."""
    both = min(path.now.done, twin.now.done)
    if not both:
        return path.request.t_start
    one, two = path.saved_samples[:both], twin.saved_samples[:both]
    difference = np.abs(_contact_points(one) - _contact_points(two))
    far = np.flatnonzero((difference / np.array(path.system.lengths) > AGREE).any(axis=1))
    last = int(far[0]) - 1 if far.size else both - 1
    return float(one["time"][max(last, 0)]) + path.request.t_start


def _undetermined(history: StringHistory, path: Path, twin: Path) -> StringHistory:
    """Return the history with a note that the time of its end depends on the step."""
    start = path.request.t_start
    other = (
        "does not end"
        if twin.now.flag == twin.kernels.REACHED
        else f"ends at {twin.end + start:.4g}"
    )
    doubt = f"not determined: near {path.end + start:.4g}; with twice the step the run {other}"
    return replace(
        history, reason=f"{history.reason.split(' at t =')[0]}; its time is {doubt}", doubt=doubt
    )


def _agreement(path: Path, twin: Path) -> Check:
    """Return the check `converged`: the difference from a solve with twice the step."""
    one, two = path.saved_samples, twin.saved_samples
    both = min(path.now.done, twin.now.done)
    difference = np.abs(_contact_points(one[:both]) - _contact_points(two[:both]))
    difference /= np.array(path.system.lengths)
    value = float(difference.max(initial=0.0))
    when = float(one["time"][int(np.argmax(difference.max(axis=1, initial=0.0)))]) if both else 0.0
    last, other = float(one["time"][-1]), float(two["time"][-1])
    # a limit of the work ends no motion; of the later end nothing is known after the earlier one
    earlier = path if last <= other else twin
    limited = earlier.now.flag == path.kernels.LIMIT
    end = 0.0 if limited else abs(last - other) / max(last, other, 1e-300)
    note = "largest change of the contact path over the length when the step is doubled, at the "
    note += "saved times"
    if end > value:
        value, when = end, min(last, other)
        note = "relative change of the time of breakdown when the step is doubled"
    if value > AGREE:
        note += "; the motion is sensitive there: take a smaller step, or trust earlier times"
    t = when + path.request.t_start
    return Check("converged", value <= AGREE, value, AGREE, t, note)
