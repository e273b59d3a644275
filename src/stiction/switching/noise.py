"""Flows with additive noise: which exit noise selects where the solution is not unique.

The stochastic equation dx = f(x; sgn h) dt + level scale dW is solved by the Euler-Maruyama scheme
with the discontinuous drift f, so that a sliding state chatters across the surface in its steps.
Where the surface repels with the normal speed L, noise and drift balance in a layer of the width
level^2 / L. There the side of the exit is decided within a time of about level^2 / L^2. After a
two-fold L = c t, and this time is (level / c)^(2/3). Steps are short enough to resolve it.
The kernels are in `smooth_kernels`.

Here s = sgn h, W are independent Wiener processes, `scale` has the size of each state, L is the
rate of h away from the surface, and c its rate of change.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.core.run import Request
from stiction.errors import ModelError
from stiction.numerics.checks import MOST_SEED, Record, number, numbers, whole
from stiction.switching.flow.state import Addresses
from stiction.switching.methods import EventDriven
from stiction.switching.model import SwitchingSystem

__all__ = ["NoiseStudy", "UnresolvedWarning", "noise_study"]

Floats = npt.NDArray[np.float64]

# largest number of steps of a study, over all paths and levels
_MOST_STEPS = 2_000_000_000
# length of a step as a fraction of the time that it must resolve
_STEP_FRACTION = 0.02
# steps that a path may take in addition to those of full length
_MORE_STEPS = 1_000_000


class UnresolvedWarning(UserWarning):
    """The noise is so weak that steps cannot resolve its effect on the exits."""


@dataclass(frozen=True, eq=False, repr=False)
class NoiseStudy(Record):
    """Exit times and sides of noisy paths after a loss of determinism.

    Parameters
    ----------
    levels : (l,) levels of the noise, in units of the scale per square root of the time unit
    lost : time at which the flow without noise loses determinism [time unit]
    dwell : (l, paths) time from `lost` until the last visit to the surface where it repels; NaN
        for a path that has not left [time unit]
    travel : (l, paths) time from `lost` until |h| reaches `away` [time unit]
    side : (l, paths) side of the exit, 1 or -1; 0 for no exit
    final : (l, paths, n) states at the end
    layer : (l,) estimated time after `lost` in which the noise decides the side [time unit], see
        `_layer`
    resolved : (l,) whether the steps resolve that time
    """

    levels: Floats
    lost: float
    dwell: Floats
    travel: Floats
    side: Floats
    final: Floats
    layer: Floats
    resolved: npt.NDArray[np.bool_]

    @property
    def mean_dwell(self) -> Floats:
        """(l,) mean time at the surface of the paths that leave, NaN if none does [time unit].

        Paths without an exit are left out: take an end time at which they are few.
        """
        gone = [row[np.isfinite(row)] for row in self.dwell]
        return np.array([row.mean() if row.size else np.nan for row in gone])

    @property
    def hazard(self) -> Floats:
        """(l,) rate of leaving that `Sample` needs for the same mean [1 / time unit]."""
        return np.asarray(1.0 / self.mean_dwell)

    @property
    def to_plus(self) -> Floats:
        """(l,) fraction to h > 0 of the paths that leave, NaN if none does."""
        gone = (self.side != 0.0).sum(axis=1)
        share = (self.side > 0.0).sum(axis=1) / np.maximum(gone, 1)
        return np.where(gone > 0, share, np.nan)

    @property
    def exponent(self) -> float:
        """Exponent of the mean time at the surface as a power of the level.

        It is fitted to the levels at which a path leaves; NaN for fewer than two different ones.
        """
        known = np.isfinite(self.mean_dwell)
        if np.unique(self.levels[known]).size < 2:
            return np.nan
        levels, means = np.log(self.levels[known]), np.log(self.mean_dwell[known])
        return float(np.polyfit(levels, means, 1)[0])

    def __str__(self) -> str:
        """Return one line for each level."""
        lines = [f"determinism is lost at {self.lost:.6g} without noise"]
        lines += [
            f"level {level:.1e}  mean time at the surface {mean:.4g}  to h > 0 {share:.2f}"
            + ("" if good else "  not resolved")
            for level, mean, share, good in zip(
                self.levels, self.mean_dwell, self.to_plus, self.resolved, strict=True
            )
        ]
        if np.isfinite(self.exponent):
            lines.append(f"time at the surface ~ level^{self.exponent:.2f}")
        return "\n".join(lines)


def noise_study(
    system: SwitchingSystem,
    levels: Sequence[float],
    t_end: float,
    *,
    paths: int = 200,
    step: float = 1e-4,
    away: float = 0.05,
    seed: int = 0,
) -> NoiseStudy:
    """Return exit times and sides of noisy paths after the first loss of determinism.

    Parameters
    ----------
    levels : levels of the noise, in units of the scale per square root of the time unit
    t_end : end of all paths [time unit]
    paths : number of paths for each level
    step : longest step of the scheme [time unit]; at the surface steps are shorter, to resolve the
        layer in which the noise decides
    away : a path has left the surface when |h| exceeds this fraction of the change of h that a
        change of each state by its scale causes
    seed : seed of the random numbers

    Raises
    ------
    ModelError : if the flow without noise stays deterministic until t_end.

    Warns
    -----
    UnresolvedWarning : for a level so low that the necessary steps are below the rounding of time.

    Notes
    -----
    For x' = b sgn x with noise of level s the mean time at the surface is s^2 / (2 b^2), and half
    of the paths leave to either side.

    Verified by: tests/unit/switching/test_noise_independent.py::test_the_time_at_a_surface
    """
    from stiction.switching.smooth_kernels import Noise, noisy_paths

    level, steps = _checked(levels, t_end, paths, step, away, seed)
    c, (lost, x_lost) = system.compiled, _first_loss(system, float(t_end))
    x0, scale, noisy = system.start_state(), np.array(c.scale), np.array(c.scale)
    # a clock has no noise
    noisy[len(system.start_names) :] = 0.0
    size = (system.gradient(x_lost)[0] * noisy).astype(np.float64)
    reach = float(np.abs(system.gradient(x0)[0] * scale).sum())
    slope = np.full(c.n, np.nan)
    if c.plane is not None:
        slope = np.array(c.plane[0], dtype=np.float64)
    exits, final = np.empty((level.size, 3, paths)), np.empty((level.size, paths, c.n))
    addresses = Addresses.of(c)
    work, layers = np.zeros((7, max(c.n, c.m + c.k))), np.empty(level.size)
    resolved = np.ones(level.size, dtype=bool)
    for i, strength in enumerate(level):
        spread = float(strength * np.sqrt((size**2).sum()))
        layers[i] = _layer(system, x_lost, spread)
        least = 1e-13 * max(lost, layers[i])
        noise = Noise(
            float(strength),
            spread,
            *(float(step), _STEP_FRACTION, least, float(t_end), lost, float(layers[i])),
            float(away * reach),
            100 * steps + _MORE_STEPS,
        )
        rng = np.random.default_rng([seed, i])
        arrays = (exits[i], final[i], work)
        missed, late = noisy_paths(
            addresses, c.params, scale, noisy, slope, x0, noise, rng, *arrays
        )
        resolved[i] = missed == np.inf and not late
    for strength in level[~resolved]:
        warnings.warn(
            f"noise_study: level {strength:.3g} is not resolved: this noise decides the side in a "
            f"time below the rounding of t = {lost:.6g}; times at the surface are too long.",
            UnresolvedWarning,
            stacklevel=2,
        )
    dwell, travel, side = exits[:, 0] - lost, exits[:, 1] - lost, exits[:, 2].copy()
    return NoiseStudy(np.array(level), lost, dwell, travel, side, final, layers, resolved)


def _layer(system: SwitchingSystem, x: Floats, spread: float) -> float:
    """Return the time t after the loss in which noise decides: spread^2 = (L + c t)^2 t.

    L is the speed at which the field leaves the surface at `x`, c its rate of change along the mean
    of both fields. The equation is solved by bisection on a logarithmic scale.
    """

    def speeds(at: Floats) -> Floats:
        normal = system.gradient(at)[0]
        return np.array([normal @ system.field(at, s) for s in (1.0, -1.0)])

    mean = 0.5 * (system.field(x, 1.0) + system.field(x, -1.0))
    size = float(np.max(np.abs(mean) / np.asarray(system.compiled.scale)))
    duration = 1e-4 / size if size > 0.0 else 1.0
    now = float(np.max(np.abs(speeds(x))))
    grows = float(np.max(np.abs(speeds(x + duration * mean) - speeds(x)))) / duration
    if now == 0.0 and grows == 0.0:
        return np.inf
    low, high = 1e-40, 1e40
    for _ in range(200):
        middle = float(np.sqrt(low * high))
        if (now + grows * middle) ** 2 * middle < spread**2:
            low = middle
        else:
            high = middle
    return low


def _checked(
    levels: Sequence[float], t_end: float, paths: int, step: float, away: float, seed: int
) -> tuple[Floats, int]:
    """Return the levels and the number of steps; refuse those that cannot be computed."""
    level = numbers(
        "noise_study.levels",
        levels,
        per="level",
        rule="positive",
        why="the level multiplies the noise term.",
        try_="for example [1e-4, 1e-3].",
    )
    each, why = 100.0 * level.size, "exits are counted over this many paths."
    whole("noise_study.paths", paths, least=1, each=each, why=why, try_="give 200.")
    why = "the same seed repeats the draws."
    whole("noise_study.seed", seed, least=0, most=MOST_SEED, why=why, try_="give 0.")
    number("noise_study.t_end", t_end, rule="positive", why="paths start at 0.", try_="give 3.0.")
    why = "the Euler-Maruyama scheme takes steps of this length."
    number("noise_study.step", step, rule="positive", why=why, try_="give 1e-4.")
    why = "a path leaves the surface at this |h|."
    number("noise_study.away", away, rule="positive", why=why, try_="give 0.05.")
    steps = int(np.ceil(float(t_end) / step))
    if steps * paths * level.size > _MOST_STEPS:
        raise ModelError(
            "noise_study",
            f"{steps} steps for {paths} paths and {level.size} levels",
            f"at most {_MOST_STEPS:.0e} steps in all",
            "the time of the study is that of all steps.",
            "take a longer step, an earlier end, or fewer paths or levels.",
        )
    return level, steps


def _first_loss(system: SwitchingSystem, t_end: float) -> tuple[float, Floats]:
    """Return time and state of the loss of determinism without noise."""
    c, ends = system.compiled, np.array([0.0, t_end])
    run = EventDriven(rtol=1e-10).solve(system, Request(0.0, t_end, ends))
    if c.m != 1 or not run.determinism.losses:
        raise ModelError(
            "noise_study",
            f"{c.m} surfaces, {len(run.determinism.losses)} losses of determinism",
            "a flow of one surface that loses determinism before t_end",
            "the study counts which future after the loss the noise selects.",
            "start the flow so that it slides into a two-fold.",
        )
    first = run.determinism.losses[0]
    return float(first.time), np.array(first.where["state"], dtype=np.float64)
