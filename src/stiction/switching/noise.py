"""The flow with additive noise: noise chooses an exit behind a two-fold, sooner if it is strong.

dx = f(x; sgn h) dt + level scale dW by the Euler-Maruyama scheme, which keeps the drift
discontinuous: a sliding state chatters across the surface within a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.methods import EventDriven, runner
from stiction.numerics.checks import Record, number, numbers, whole
from stiction.results.run import Request
from stiction.switching.model import SwitchingSystem

__all__ = ["NoiseStudy", "noise_study"]

Floats = npt.NDArray[np.float64]

_MOST_STEPS = 2_000_000_000


@dataclass(frozen=True, eq=False, repr=False)
class NoiseStudy(Record):
    """When and to which side noisy paths leave the surface after determinism is lost.

    Parameters
    ----------
    levels : (l,) of the noise, in units of the scale per square root of the time unit
    lost : when the flow without noise loses determinism
    dwell : (l, paths) time from there until the surface is left; NaN for one that stays
    side : (l, paths) 1 or -1; 0 for one that stays
    final : (l, paths, n) states at the end
    """

    levels: Floats
    lost: float
    dwell: Floats
    side: Floats
    final: Floats

    @property
    def mean_dwell(self) -> Floats:
        """(l,) mean time of dwelling of the paths that leave, NaN if none does [time unit].

        Paths that stay until the end are left out: run long enough that few do.
        """
        gone = [row[np.isfinite(row)] for row in self.dwell]
        return np.array([row.mean() if row.size else np.nan for row in gone])

    @property
    def hazard(self) -> Floats:
        """(l,) rate of leaving that `Sample` needs for the same mean [1 / time unit]."""
        return np.asarray(1.0 / self.mean_dwell)

    @property
    def to_plus(self) -> Floats:
        """(l,) share of the paths that leave to h > 0."""
        gone = self.side != 0.0
        return np.asarray((self.side > 0.0).sum(axis=1) / np.maximum(gone.sum(axis=1), 1))

    @property
    def exponent(self) -> float:
        """Exponent with which the mean time of dwelling falls with the level."""
        return float(np.polyfit(np.log(self.levels), np.log(self.mean_dwell), 1)[0])

    def __str__(self) -> str:
        """Return one line for each level."""
        lines = [f"determinism is lost at {self.lost:.6g} without noise"]
        lines += [
            f"level {level:.1e}  mean dwell {mean:.4g}  to h > 0 {share:.2f}"
            for level, mean, share in zip(self.levels, self.mean_dwell, self.to_plus, strict=True)
        ]
        return "\n".join([*lines, f"dwell ~ level^{self.exponent:.2f}"])


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
    """Return exit times and sides of noisy paths behind the first loss of determinism.

    Parameters
    ----------
    levels : of the noise, in units of the scale per square root of the time unit
    t_end : end of all paths [time unit]
    step : of the scheme [time unit]
    away : |h| over its size at the scale at which a path has left the surface
    seed : of the random numbers

    Raises
    ------
    ModelError : if the flow without noise stays deterministic until t_end.

    Verified by: tests/unit/switching/test_noise.py::test_stronger_noise_leaves_sooner
    """
    from stiction.switching.smooth_kernels import Noise, noisy_paths

    level, steps = _checked(levels, t_end, paths, step, seed)
    c, lost = system.compiled, _first_loss(system, float(t_end))
    x0, scale = system.start_state(), np.array(c.scale)
    reach = float((np.abs(system.gradient(x0))[0] * scale).sum())
    shape = (level.size, paths)
    left, side, final = np.empty(shape), np.empty(shape), np.empty((*shape, c.n))
    addresses = np.array([c.field, c.surface], dtype=np.int64)
    work, after = np.zeros((2, c.n + c.m + c.k)), int(lost / step) + 1
    for i, strength in enumerate(level):
        noise = Noise(float(strength), float(step), steps, after, float(away * reach))
        rng = np.random.default_rng([seed, i])
        results = (left[i], side[i], final[i])
        noisy_paths(addresses, c.params, scale, x0, noise, rng, *results, work)
    return NoiseStudy(np.array(level), lost, left - lost, side, final)


def _checked(
    levels: Sequence[float], t_end: float, paths: int, step: float, seed: int
) -> tuple[Floats, int]:
    """Return the levels and how many steps there are; refuse what cannot be followed."""
    level = numbers(
        "noise_study.levels",
        levels,
        per="level",
        rule="positive",
        why="it is the strength of the noise.",
        try_="for example [1e-4, 1e-3].",
    )
    whole("noise_study.paths", paths, least=1, why="paths are counted.", try_="give 200.")
    whole("noise_study.seed", seed, least=0, why="it makes draws repeatable.", try_="give 0.")
    number("noise_study.t_end", t_end, rule="positive", why="paths start at 0.", try_="give 3.0.")
    number("noise_study.step", step, rule="positive", why="time goes on.", try_="give 1e-4.")
    steps = int(np.ceil(float(t_end) / step))
    if steps * paths * level.size > _MOST_STEPS:
        raise ModelError(
            explain(
                "noise_study",
                f"{steps} steps for {paths} paths and {level.size} levels",
                f"at most {_MOST_STEPS:.0e} steps in all",
                "they are all taken.",
                "take a longer step or fewer paths.",
            )
        )
    return level, steps


def _first_loss(system: SwitchingSystem, t_end: float) -> float:
    """Return when the flow without noise loses determinism."""
    c, ends = system.compiled, np.array([0.0, t_end])
    run = runner(system, EventDriven(rtol=1e-10))(Request(0.0, t_end, ends))
    if c.m != 1 or not run.determinism.losses:
        raise ModelError(
            explain(
                "noise_study",
                f"{c.m} surfaces, {len(run.determinism.losses)} losses of determinism",
                "a flow of one surface that loses determinism before t_end",
                "noise is compared with the choice among its futures.",
                "start it so that it slides into a two-fold.",
            )
        )
    return float(run.determinism.losses[0].time)
