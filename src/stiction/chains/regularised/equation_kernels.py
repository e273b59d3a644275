"""Equations of motion of a chain under a law without stick, their Jacobian and energies.

    x_i' = v_i,   m_i v_i' = T_{i+1} - T_i + b_i f(t) + plate - N_i phi(v_i - V, z_i)
    z_i' = rate(v_i - V, z_i)

with the tension T_i of link i, the speed V of the belt, the friction coefficient phi of the law and
its contact state z_i. The state y holds x [m], w = v - V [m/s] and z of each mass, in this order;
kernels take it from row `row` of the matrix `y`. `m` holds the parameters (`Model`). `answer` is a
work array for one `Response` (`laws.friction`), or for the switching functions of one contact. The
signs of these functions, `sides` (n, n_switch), select a smooth branch of the law. `equations`
calls these kernels from Python, `collocation_kernels` and `step_kernels` from the Radau method.
"""

from __future__ import annotations

from stiction.chains.regularised.state import WIDTH, Model
from stiction.laws.friction import Response
from stiction.numerics.arrays import Matrix, Stack, Vector
from stiction.numerics.callback import at, call, call_at, entry_at, row_at
from stiction.numerics.elementary import sin
from stiction.numerics.jit import kernel

__all__ = [
    "ANSWERS",
    "answer_of",
    "energies",
    "friction",
    "jacobian",
    "load_at",
    "powers",
    "rates",
    "read_sides",
    "switches_of",
]

ANSWERS = len(Response._fields)
# entries of a `Response`
_COEFFICIENT, _BY_SPEED, _BY_STATE, _RATE, _RATE_BY_SPEED, _RATE_BY_STATE = range(6)
_STORED, _STORING, _PLASTIC = range(6, 9)


@kernel
def answer_of(m: Model, sides: Matrix, y: Matrix, row: int, i: int, answer: Vector) -> None:
    """Evaluate the law at contact i: fill `answer` with a `Response`."""
    x = entry_at(y, row, WIDTH * i + 1)
    call_at(m.numbers[0].answer, x, row_at(sides, i), row_at(m.law, i), at(answer))


@kernel
def switches_of(m: Model, sides: Matrix, y: Matrix, row: int, i: int, answer: Vector) -> None:
    """Fill the first entries of `answer` with the switching functions of contact i."""
    x = entry_at(y, row, WIDTH * i + 1)
    call_at(m.numbers[0].switches, x, row_at(sides, i), row_at(m.law, i), at(answer))


@kernel
def read_sides(m: Model, y: Matrix, row: int, sides: Matrix, answer: Vector) -> None:
    """Fill sides with the signs at a state, 1 where a function is zero."""
    n, count = sides.shape
    for i in range(n):
        switches_of(m, sides, y, row, i, answer)
        for k in range(count):
            sides[i, k] = -1.0 if answer[k] < 0.0 else 1.0


@kernel
def load_at(m: Model, t: float) -> float:
    """Return the load [N] at time t [s]."""
    segment, beyond = 0, m.segments.shape[0]
    # segment of the load at time t, by bisection
    while beyond - segment > 1:
        middle = (segment + beyond) // 2
        if m.segments[middle, 0] <= t:
            segment = middle
        else:
            beyond = middle
    f = m.segments[segment, 1] + m.segments[segment, 2] * (t - m.segments[segment, 0])
    for j in range(m.sines.shape[0]):
        f += m.sines[j, 0] * sin(m.sines[j, 1] * t + m.sines[j, 2])
    if m.numbers[0].load != 0:
        f += call(m.numbers[0].load, t)
    return f


@kernel
def _across(y: Matrix, row: int, j: int, entry: int, belt: float) -> float:
    """Return the difference of an entry of y across link j, right minus left; walls are zero.

    `entry` is 0 for x and 1 for w. `belt` is added to the entries of masses: V for w, 0 for x.
    """
    right = y[row, WIDTH * j + entry] + belt if j < y.shape[1] // WIDTH else 0.0
    return right - (y[row, WIDTH * (j - 1) + entry] + belt if j > 0 else 0.0)


@kernel
def _tension(m: Model, y: Matrix, row: int, j: int) -> float:
    """Return the force of spring and damper of link j [N]."""
    elongation_rate = _across(y, row, j, 1, m.numbers[0].belt)
    return (
        m.masses[j].stiffness * _across(y, row, j, 0, 0.0) + m.masses[j].damping * elongation_rate
    )


@kernel
def rates(
    m: Model, sides: Matrix, t: float, y: Matrix, row: int, slopes: Matrix, answer: Vector
) -> None:
    """Fill row `row` of `slopes` with dy/dt at time t [s] and the state in row `row` of y.

    In columns WIDTH i to WIDTH i + 2 are dx/dt [m/s], dw/dt [m/s^2] and dz/dt of mass i.
    """
    run, load, left = m.numbers[0], load_at(m, t), _tension(m, y, row, 0)
    # mass by mass; the force of the link on the left is that of the last mass on its right
    for i in range(sides.shape[0]):
        a, mass = WIDTH * i, m.masses[i]
        answer_of(m, sides, y, row, i, answer)
        right = _tension(m, y, row, i + 1)
        drive = (
            right - left + mass.plate * (run.plate_speed * t - y[row, a]) + load * mass.load_vector
        )
        slopes[row, a] = y[row, a + 1] + run.belt
        slopes[row, a + 1] = (drive - mass.normal * answer[_COEFFICIENT]) / mass.mass
        slopes[row, a + 2] = answer[_RATE]
        left = right


@kernel
def jacobian(m: Model, sides: Matrix, y: Matrix, row: int, jac: Stack, answer: Vector) -> None:
    """Fill jac (n, WIDTH, 3 WIDTH): derivatives by the states of the left, own and right mass.

    jac[i, a, b] is the derivative of dy/dt of entry a of mass i (x, w or z) by entry b % WIDTH of
    the mass i - 1, i or i + 1 for b // WIDTH = 0, 1, 2.
    """
    n = sides.shape[0]
    # block row: with respect to the left neighbour, the mass itself, the right neighbour
    for i in range(n):
        answer_of(m, sides, y, row, i, answer)
        mass, right = m.masses[i], m.masses[i + 1]
        k, c, load = mass.stiffness, mass.damping, mass.normal / mass.mass
        for j in range(3 * WIDTH):
            jac[i, 0, j] = jac[i, 1, j] = jac[i, 2, j] = 0.0
        # x' = w + V
        jac[i, 0, WIDTH + 1] = 1.0
        jac[i, 1, WIDTH] = -(k + right.stiffness + mass.plate) / mass.mass
        jac[i, 1, WIDTH + 1] = -(c + right.damping) / mass.mass - load * answer[_BY_SPEED]
        jac[i, 1, WIDTH + 2] = -load * answer[_BY_STATE]
        if i > 0:
            jac[i, 1, 0], jac[i, 1, 1] = k / mass.mass, c / mass.mass
        if i < n - 1:
            jac[i, 1, 2 * WIDTH] = right.stiffness / mass.mass
            jac[i, 1, 2 * WIDTH + 1] = right.damping / mass.mass
        # z' depends on the slip rate and the state of the same contact
        jac[i, 2, WIDTH + 1] = answer[_RATE_BY_SPEED]
        jac[i, 2, WIDTH + 2] = answer[_RATE_BY_STATE]


@kernel
def friction(m: Model, sides: Matrix, y: Matrix, row: int, i: int, answer: Vector) -> float:
    """Return the friction coefficient [1] of mass i."""
    answer_of(m, sides, y, row, i, answer)
    return answer[_COEFFICIENT]


@kernel
def powers(
    m: Model,
    sides: Matrix,
    t: float,
    y: Matrix,
    row: int,
    power: Matrix,
    plastic: Matrix,
    answer: Vector,
) -> float:
    """Write the powers of a state; return the power stored in the states of the law [W].

    The same row of `power` (n + 2 columns) receives the friction power of each mass, the external
    power and that of dampers [W]; the row of `plastic` receives the irreversible slip rates [m/s].
    """
    n, load, storing, run = sides.shape[0], load_at(m, t), 0.0, m.numbers[0]
    power[row, n] = power[row, n + 1] = 0.0
    for i in range(n):
        a, mass = WIDTH * i, m.masses[i]
        answer_of(m, sides, y, row, i, answer)
        # the law stores a part of the friction power in its states
        force, stored = mass.normal * answer[_COEFFICIENT], mass.normal * answer[_STORING]
        pull = mass.plate * (run.plate_speed * t - y[row, a])
        power[row, n] += load * (y[row, a + 1] + run.belt) * mass.load_vector
        power[row, n] += pull * run.plate_speed - force * run.belt
        storing += stored
        power[row, i], plastic[row, i] = force * y[row, a + 1] - stored, answer[_PLASTIC]
    # damping power of all links, walls included
    for j in range(n + 1):
        power[row, n + 1] += m.masses[j].damping * _across(y, row, j, 1, run.belt) ** 2
    return storing


@kernel
def energies(
    m: Model, sides: Matrix, t: float, y: Matrix, row: int, answer: Vector
) -> tuple[float, float, float]:
    """Return kinetic and stored energy, and the part stored in the states of the law [J]."""
    n, run = sides.shape[0], m.numbers[0]
    kinetic = elastic = stored_by_law = 0.0
    for i in range(n):
        a, mass = WIDTH * i, m.masses[i]
        answer_of(m, sides, y, row, i, answer)
        kinetic += 0.5 * mass.mass * (y[row, a + 1] + run.belt) ** 2
        elastic += 0.5 * mass.plate * (run.plate_speed * t - y[row, a]) ** 2
        stored_by_law += mass.normal * answer[_STORED]
    # elastic energy of all links, walls included
    for j in range(n + 1):
        elastic += 0.5 * m.masses[j].stiffness * _across(y, row, j, 0, 0.0) ** 2
    return kinetic, elastic + stored_by_law, stored_by_law
