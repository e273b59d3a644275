"""Newton's method for the impulses of all closed contacts, if Gauss-Seidel sweeps do not converge.

A sweep replaces the impulse P_c of each contact by s_c(w_c), the solution of its local law. Here
w_c is the slip velocity at this contact without its own impulse, plus the terms that the law adds
(`known_velocity`, such as those of restitution). Fixed points of the sweep solve all contacts:

    r_c = G_c (P_c - s_c(w_c)) = 0,    w_c = q_c + sum over d other than c of W_cd P_d.

W_cd is the change of the slip velocity of contact c by a unit impulse of contact d (the Delassus
operator), G_c = W_cc its diagonal block, and q_c the value of w_c without any impulse. The residual
r is a velocity. The forces of a state solve the same problem with rates in place of velocities.

In the arguments below `closed` (n,) holds the numbers of the n contacts with an impulse, `x` (3 n,)
their P, `free` (3 n,) their w_c, `r` (3 n,) their r_c, `w` (3 n, 3 n) is W, and the vector `q`
(3 n,) holds all q_c; the matrix `q` of `assemble` and `solve_by_newton` holds the quaternions of
the frames. `law` is a constant of `local_coulomb_kernels`. Called by `gauss_seidel_kernels` and
`law_kernels` after their sweeps.

The derivative of s is a difference quotient: the law is piecewise smooth, so that one equation
serves all laws. The method converges where sweeps converge slowly (a light rod between heavy ones)
or diverge. If W does not have full rank, impulses are not unique; a shift of G in the derivative
alone makes the steps nearly those of least norm.

Source: Alart, Curnier 1991 (semismooth Newton method); docs/decisions/38-friction-problem.md.
"""

from __future__ import annotations

import math

import numpy as np

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.friction_problem.gauss_seidel import solve_small
from stiction.numerics.jit import kernel
from stiction.rods.contact.kernels import (
    ROLL,
    Contacts,
    push,
    put,
    slip_per,
    slip_velocity,
)
from stiction.rods.contact.local_coulomb_kernels import (
    FORCES,
    STEP_END,
    known_velocity,
    local_law,
)

# number of contacts up to which the method is used: a step takes some (3 n)^3 / 3 multiplications,
# and the steps of a problem without a solution then take as long as its sweeps
MOST_CONTACTS = 32
# shift of G in the derivative: half the digits, as in `friction_problem.newton`
SHIFT = 1e-8
# step of the difference quotient, relative to the velocity
DIFFERENCE = 1e-7
# largest numbers of steps, and of halvings of a step
STEPS, HALVINGS = 20, 8
# residuals of a solution, and of rounding, relative to the velocities without impulses
SOLVED, ROUNDING = 1e-10, 1e-15


@kernel
def residual(
    contacts: Contacts, closed: Integers, law: int, w: Matrix, q: Vector, x: Vector, free: Vector,
    r: Vector,
) -> float:  # fmt: skip
    """Write all w_c to `free` and the residual to r; return the 2-norm of the residual [m/s].

    For the laws FORCES and STEP_END the pending mode of each contact becomes that of its local law.
    """
    total = 0.0
    for i in range(closed.shape[0]):
        k = contacts[closed[i]]
        for a in range(3 * i, 3 * i + 3):
            free[a] = q[a]
            for j in range(x.shape[0]):
                if j < 3 * i or j >= 3 * i + 3:
                    free[a] += w[a, j] * x[j]
        lx, ly, lz, mode = local_law(k, law, free[3 * i], free[3 * i + 1], free[3 * i + 2])
        if law in (FORCES, STEP_END):
            k.pending_mode = mode
        r[3 * i], r[3 * i + 1], r[3 * i + 2] = slip_per(
            k, x[3 * i] - lx, x[3 * i + 1] - ly, x[3 * i + 2] - lz
        )
        for a in range(3 * i, 3 * i + 3):
            total += r[a] * r[a]
    return math.sqrt(total)


@kernel
def linearise(
    contacts: Contacts, closed: Integers, law: int, w: Matrix, x: Vector, free: Vector, out: Matrix
) -> None:
    """Write (3 n, 3 n) the derivative of the residual by the impulses, with the shift of G."""
    n = closed.shape[0]
    for i in range(n):
        k, c = contacts[closed[i]], 3 * i
        fx, fy, fz = free[c], free[c + 1], free[c + 2]
        ox, oy, oz = slip_per(k, x[c], x[c + 1], x[c + 2])
        # the step of the difference quotient [m/s]
        d = DIFFERENCE * max(abs(fx), abs(fy), abs(fz), abs(ox), abs(oy), abs(oz), 1e-300)
        lx, ly, lz, _ = local_law(k, law, fx, fy, fz)
        for a in range(3):
            for j in range(3 * n):
                out[c + a, j] = 0.0
        for b in range(3):
            px, py, pz, _ = local_law(
                k, law, fx + d if b == 0 else fx, fy + d if b == 1 else fy,
                fz + d if b == 2 else fz,
            )  # fmt: skip
            # column b of G S', with the derivative S' of the local law
            sx, sy, sz = slip_per(k, (px - lx) / d, (py - ly) / d, (pz - lz) / d)
            for j in range(3 * n):
                # derivative of component b of w_c; on the diagonal block that of the shift
                by = w[c + b, j] if j < c or j >= c + 3 else SHIFT * k.delassus[b, j - c]
                out[c, j] -= sx * by
                out[c + 1, j] -= sy * by
                out[c + 2, j] -= sz * by
        for a in range(3):
            for b in range(3):
                out[c + a, c + b] += k.delassus[a, b]


@kernel
def assemble(
    q: Matrix, contacts: Contacts, closed: Integers, mobility: Matrix, v: Matrix, p: Matrix,
    w: Matrix,
) -> None:  # fmt: skip
    """Write W: each column holds the slip velocities due to one unit impulse on bodies at rest.

    q : quaternions of the frames
    v, p : zeros, of the shape of velocities; they are zeros on return
    """
    for j in range(3 * closed.shape[0]):
        k, b = contacts[closed[j // 3]], j % 3
        push(
            q, k, 1.0 if b == 0 else 0.0, 1.0 if b == 1 else 0.0, 1.0 if b == 2 else 0.0, mobility,
            v, p,
        )  # fmt: skip
        for i in range(closed.shape[0]):
            c = 3 * i
            w[c, j], w[c + 1, j], w[c + 2, j] = slip_velocity(q, contacts[closed[i]], v, p)
        for a in range(3):
            for i in range(v.shape[1]):
                v[a, i], p[a, i] = 0.0, 0.0


@kernel(allocates=True)
def newton_steps(
    contacts: Contacts, closed: Integers, law: int, w: Matrix, q: Vector, x: Vector, scale: float
) -> float:
    """Replace x by the iterate with the least residual; return this residual [m/s].

    scale : largest component of q [m/s]
    """
    n = x.shape[0]
    free, r, step, trial, best = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), x.copy()
    system = np.zeros((n, n))
    error = residual(contacts, closed, law, w, q, x, free, r)
    least, stalled = error, 0
    for _ in range(STEPS):
        # a residual some 100 times above rounding that no longer decreases is rounding too
        most = 1 if least <= 100.0 * ROUNDING * scale else 3
        if error <= ROUNDING * scale or stalled >= most:
            break
        linearise(contacts, closed, law, w, x, free, system)
        for a in range(n):
            step[a] = r[a]
        if not solve_small(system, step):
            break
        # line search: halve the step until the residual decreases
        length, after = 1.0, error
        for _ in range(HALVINGS):
            for a in range(n):
                trial[a] = x[a] - length * step[a]
            after = residual(contacts, closed, law, w, q, trial, free, r)
            # Armijo's condition with the usual constant 1e-4
            if after < (1.0 - 1e-4 * length) * error:
                break
            length *= 0.5
        # the last trial is accepted even if the residual grows: it may leave a cycle
        stalled = 0 if after < error else stalled + 1
        error = after
        x[:] = trial
        if not math.isfinite(error):
            break
        if error < least:
            least = error
            best[:] = x
    x[:] = best
    return least


@kernel(allocates=True, separate=True)
def solve_by_newton(
    q: Matrix,
    contacts: Contacts,
    mobility: Matrix,
    v: Matrix,
    p: Matrix,
    law: int,
    impacting: int,
    plastic: bool,
) -> bool:
    """Solve for the impulses of all closed contacts and apply them; return whether it converged.

    If not, impulses and velocities are unchanged. For the law FORCES v and p are rates, and forces
    take the place of impulses.

    law : a constant of `local_coulomb_kernels`
    impacting : number of the contact of an impact, or -1
    plastic : whether it has no restitution

    Verified by: tests/unit/rods/contact/test_newton.py::test_certificate_of_what_sweeps_leave
    """
    count = 0
    for c in range(contacts.shape[0]):
        if contacts[c].mode >= ROLL or c == impacting:
            count += 1
    if count < 2 or count > MOST_CONTACTS:
        return False
    # numbers of the contacts with an impulse, and the problem r(P) = 0 in these
    closed, i = np.zeros(count, np.int64), 0
    for c in range(contacts.shape[0]):
        if contacts[c].mode >= ROLL or c == impacting:
            closed[i] = c
            i += 1
    n = 3 * count
    # known: velocities with the present impulses `start`; below these are removed, known = q_c
    w, known, start = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    assemble(q, contacts, closed, mobility, np.zeros_like(v), np.zeros_like(p), w)
    for i in range(count):
        k, c = contacts[closed[i]], 3 * i
        ux, uy, uz = slip_velocity(q, k, v, p)
        bx, by, bz = known_velocity(k, law, closed[i] == impacting and not plastic)
        known[c], known[c + 1], known[c + 2] = ux + bx, uy + by, uz + bz
        impulse = k.force if law == FORCES else k.impulse
        start[c], start[c + 1], start[c + 2] = impulse[0], impulse[1], impulse[2]
    scale = 0.0
    for a in range(n):
        for j in range(n):
            known[a] -= w[a, j] * start[j]
        scale = max(scale, abs(known[a]))
    x = start.copy()
    error = newton_steps(contacts, closed, law, w, known, x, scale)
    # the impulses of diverged sweeps may be a bad start: try again from zero
    if not error <= SOLVED * scale:
        x[:] = 0.0
        error = newton_steps(contacts, closed, law, w, known, x, scale)
    good = error <= SOLVED * scale
    if not good:
        x[:] = start
    # pending modes are those of these impulses
    residual(contacts, closed, law, w, known, x, np.zeros(n), np.zeros(n))
    for i in range(count if good else 0):
        k, c = contacts[closed[i]], 3 * i
        impulse = k.force if law == FORCES else k.impulse
        dx, dy, dz = x[c] - impulse[0], x[c + 1] - impulse[1], x[c + 2] - impulse[2]
        push(q, k, dx, dy, dz, mobility, v, p)
        put(impulse, x[c], x[c + 1], x[c + 2])
    return good
