"""solve-nivp: implicit steps with Coulomb friction as a projection.

The state is (v, x), friction the package's own Coulomb projection of the velocities,
Jacobians are given, as in the package's friction example. Its nonlinear solvers work on
the residual as it comes, so the equations are handed over without dimensions, in units of
the first mass and spring: that spares it up to a factor of ten. It has no dense output,
so a run goes from one sample time to the next.
"""

import importlib.metadata
import warnings

import numpy as np
import solve_nivp
from protocol import bounds, serve, tridiagonal


class Scaled:
    """The problem in units of mass 1, spring 1 and its largest load."""

    def __init__(self, problem):
        mass, k = np.array(problem["mass"]), problem["stiffness"][0]
        self.n, self.time = mass.size, np.sqrt(mass[0] / k)
        force = max(abs(problem["f0"]), abs(problem["f0"] + problem["rate"] * problem["t_end"]))
        self.length = force / k
        n, one, zero = self.n, np.eye(self.n), np.zeros((self.n, self.n))
        self.mass = np.block([[np.diag(mass / mass[0]), zero], [zero, one]])
        self.jacobian = np.block([[zero, -tridiagonal(problem) / k], [one, zero]])
        self.friction = np.concatenate([bounds(problem) / force, np.zeros(n)])
        self.f0, self.rate = problem["f0"] / force, problem["rate"] * self.time / force

    def right_side(self, t, y):
        out = self.jacobian @ y
        out[self.n - 1] += self.f0 + self.rate * t
        return out

    def options(self, settings):
        """Return the arguments of solve_ivp_ns that stay the same."""
        n = self.n
        slices = [slice(0, n), slice(n, 2 * n)]
        flat = np.zeros((2 * n, 2 * n))
        options = {
            "fun": self.right_side,
            "method": settings["method"],
            "projection": "coulomb",
            "solver": settings["solver"],
            "projection_opts": {
                "con_force_func": lambda y, t=None, force=None: self.friction,
                "rhok": np.ones(2 * n),
                "component_slices": slices,
                "constraint_indices": list(range(n)),
                "jac_func": lambda y, t=None, force=None: flat,
            },
            "solver_opts": {
                "tol": 1e-10,
                "max_iter": 200,
                "rhs_jac": lambda t, y, *_: self.jacobian,
            },
            "adaptive": settings["adaptive"],
            "component_slices": slices,
            "A": self.mass,
        }
        if settings["adaptive"]:
            options |= {"rtol": settings["rtol"], "atol": settings["rtol"] * 1e-3}
        return options


def prepare(problem, settings):
    """Return a call that solves the problem with fixed or adaptive steps."""
    scaled = Scaled(problem)
    n, options = scaled.n, scaled.options(settings)

    def call():
        y, t, step = np.zeros(2 * n), 0.0, settings["step"] / scaled.time
        states, steps, iterations, failed = [], 0, 0, 0
        onset = np.full(n, np.nan)
        for sample in problem["samples"]:
            until = sample / scaled.time
            if not settings["adaptive"]:
                # a little longer, so that no rest of a step is left over
                step = (until - t) / round((until - t) / step) * (1.0 + 1e-12)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                times, rows, sizes, _, info = solve_nivp.solve_ivp_ns(
                    t_span=(t, until), y0=y, h0=step, **options
                )
            if times[-1] < until * (1.0 - 1e-9) or not np.isfinite(rows).all():
                raise RuntimeError(f"gave up at t = {times[-1] * scaled.time:.3g} s")
            moved = rows[:, :n] != 0.0
            first = times[np.argmax(moved, axis=0)]
            new = np.isnan(onset) & moved.any(axis=0)
            onset[new] = first[new] * scaled.time
            y, t = rows[-1], until
            if settings["adaptive"] and sizes.size > 2:
                # the last step was cut at the sample time: go on with the one before
                step = sizes[-2]
            states.append(y)
            steps += len(times) - 1
            iterations += sum(entry[2] for entry in info)
            failed += sum(not entry[1] for entry in info)
        state = np.array(states) * scaled.length
        counts = {"steps": steps, "iterations": iterations, "unconverged": failed}
        v = state[:, :n] / scaled.time
        return {"x": state[:, n:], "v": v, "onset": onset, "counts": counts}

    return call


if __name__ == "__main__":
    serve(prepare, {"solve-nivp": importlib.metadata.version("solve-nivp")})
