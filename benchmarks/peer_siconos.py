"""Siconos time stepping (Moreau-Jean), for its own interpreter: NumPy and siconos only.

Two formulations. `contact` is that of the examples of Siconos: masses that can also move
up, pressed on the rail by gravity, with Coulomb friction at each contact. `relay` uses
that the normal force is known: friction is a relay between velocity and force. It takes
two tricks, and is several times faster: the unknown of the scheme is an impulse, so the
bounds are those of the force times the step; and the relay acts only while the position
of its relation is negative, so the relation is shifted far below zero.
"""

import subprocess
import sys

import numpy as np
import siconos.kernel as kernel
import siconos.numerics as numerics
from protocol import bounds, serve, tridiagonal

# metres by which positions are shifted so that the relay counts as closed
_SHIFT = 1e3


def relay(problem, settings):
    """Return the smooth system, its links to friction, and the solver of a step."""
    n, bound = len(problem["mass"]), settings["step"] * bounds(problem)
    if np.ptp(bound) > 0.0:
        raise ValueError("one relay law serves all masses: their bounds must be equal")
    system = kernel.LagrangianLinearTIDS(
        np.zeros(n), np.zeros(n), np.diag(problem["mass"]), tridiagonal(problem), np.zeros((n, n))
    )
    system.setFExtPtr(np.zeros(n))
    relation = kernel.LagrangianLinearTIR(np.eye(n), np.full(n, -_SHIFT))
    law = kernel.RelayNSL(n, -bound[0], bound[0])
    solver = kernel.Relay(getattr(numerics, f"SICONOS_RELAY_{settings['solver']}"))
    return system, [(relation, law)], solver


def contact(problem, settings):
    """Return the same with one friction contact per mass; coordinates (x, y)."""
    n = len(problem["mass"])
    stiffness = np.zeros((2 * n, 2 * n))
    stiffness[:n, :n] = tridiagonal(problem)
    system = kernel.LagrangianLinearTIDS(
        np.zeros(2 * n),
        np.zeros(2 * n),
        np.diag(problem["mass"] * 2),
        stiffness,
        np.zeros((2 * n, 2 * n)),
    )
    weight = -problem["gravity"] * np.array(problem["mass"])
    system.setFExtPtr(np.concatenate([np.zeros(n), weight]))
    links = []
    for i in range(n):
        axes = np.zeros((2, 2 * n))
        axes[0, n + i] = axes[1, i] = 1.0
        relation = kernel.LagrangianLinearTIR(axes)
        links.append((relation, kernel.NewtonImpactFrictionNSL(0.0, 0.0, problem["mu"], 2)))
    name = f"SICONOS_FRICTION_2D_{settings['solver']}"
    return system, links, kernel.FrictionContact(2, getattr(numerics, name))


def build(problem, settings):
    """Return one simulation and its system; all else must stay alive while it runs."""
    formulation = contact if settings["formulation"] == "contact" else relay
    system, links, solver = formulation(problem, settings)
    model = kernel.NonSmoothDynamicalSystem(0.0, problem["t_end"])
    model.insertDynamicalSystem(system)
    contacts = []
    for relation, law in links:
        contacts.append(kernel.Interaction(law, relation))
        model.link(contacts[-1], system)
    scheme = kernel.MoreauJeanOSI(settings["theta"])
    clock = kernel.TimeDiscretisation(0.0, settings["step"])
    simulation = kernel.TimeStepping(model, clock, scheme, solver)
    # the system is linear: no Newton loop around the step
    simulation.setNewtonOptions(kernel.SICONOS_TS_LINEAR)
    return simulation, system, (model, links, contacts, scheme, clock, solver)


def prepare(problem, settings):
    """Return a call that steps through the problem."""
    step, theta, n = settings["step"], settings["theta"], len(problem["mass"])
    n_step = round(problem["t_end"] / step)
    rows = {round(t / step): row for row, t in enumerate(problem["samples"])}
    f0, rate = problem["f0"], problem["rate"]

    def call():
        simulation, system, saved = build(problem, settings)
        x, v = np.zeros((len(rows), n)), np.zeros((len(rows), n))
        # bound methods, looked up once; fExt is a view of what the system reads
        compute, advance, pull = simulation.computeOneStep, simulation.nextStep, system.fExt()
        pull[n - 1] = f0
        for k in range(1, n_step + 1):
            if rate != 0.0:
                pull[n - 1] = f0 + rate * (k - 1.0 + theta) * step
            compute()
            if k in rows:
                x[rows[k]], v[rows[k]] = system.q()[:n], system.velocity()[:n]
            advance()
        del saved
        return {"x": x, "v": v, "counts": {"steps": n_step}}

    return call


def version():
    """Return the version of the Debian package; the module does not say its own."""
    try:
        run = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", "python3-siconos"],
            capture_output=True,
            text=True,
        )
    except OSError:
        return "unknown"
    return run.stdout.split("+")[0] or "unknown"


if __name__ == "__main__":
    serve(prepare, {"siconos": version(), "python": sys.version.split()[0]})
