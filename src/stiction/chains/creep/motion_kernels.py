"""The equations of a chain whose contacts never stick, their derivatives and their energies.

    x' = v,   m v' = T - T + b f(t) + plate - N phi(v - V, z),   z' = rate(v - V, z)

Kernels read the state in one row of a matrix. `answer` is room for one `Response`.
"""

from __future__ import annotations

from stiction.chains.creep.state import WIDTH, Model
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
_COEFFICIENT, _BY_SPEED, _BY_STATE, _RATE, _RATE_BY_SPEED, _RATE_BY_STATE = range(6)
_STORED, _STORING, _PLASTIC = range(6, 9)


@kernel
def answer_of(m: Model, sides: Matrix, y: Matrix, row: int, i: int, answer: Vector) -> None:
    """Fill in what contact i answers, a `Response`."""
    x = entry_at(y, row, WIDTH * i + 1)
    call_at(m.answer, x, row_at(sides, i), row_at(m.law, i), at(answer))


@kernel
def switches_of(m: Model, sides: Matrix, y: Matrix, row: int, i: int, switch: Vector) -> None:
    """Fill in the functions of contact i whose signs select a smooth piece of the law."""
    x = entry_at(y, row, WIDTH * i + 1)
    call_at(m.switches, x, row_at(sides, i), row_at(m.law, i), at(switch))


@kernel
def read_sides(m: Model, y: Matrix, row: int, sides: Matrix, switch: Vector) -> None:
    """Fill sides with the signs at a state, 1 where a function is zero."""
    n, count = sides.shape
    for i in range(n):
        switches_of(m, sides, y, row, i, switch)
        for k in range(count):
            sides[i, k] = -1.0 if switch[k] < 0.0 else 1.0


@kernel
def load_at(m: Model, t: float) -> float:
    """Return the load [N] at time t [s]."""
    piece, beyond = 0, m.piece_time.size
    while beyond - piece > 1:
        middle = (piece + beyond) // 2
        if m.piece_time[middle] <= t:
            piece = middle
        else:
            beyond = middle
    f = m.piece_offset[piece] + m.piece_rate[piece] * (t - m.piece_time[piece])
    for j in range(m.sine_amplitude.size):
        f += m.sine_amplitude[j] * sin(m.sine_frequency[j] * t + m.sine_phase[j])
    if m.load_address != 0:
        f += call(m.load_address, t)
    return f


@kernel
def _across(y: Matrix, row: int, j: int, entry: int, belt: float) -> float:
    """Return what the mass on the right of link j has more than that on its left; walls rest."""
    right = y[row, WIDTH * j + entry] + belt if j < y.shape[1] // WIDTH else 0.0
    return right - (y[row, WIDTH * (j - 1) + entry] + belt if j > 0 else 0.0)


@kernel
def _tension(m: Model, y: Matrix, row: int, j: int) -> float:
    stretching = _across(y, row, j, 1, m.belt)
    return m.stiffness[j] * _across(y, row, j, 0, 0.0) + m.damping[j] * stretching


@kernel
def rates(
    m: Model, sides: Matrix, t: float, y: Matrix, row: int, slopes: Matrix, answer: Vector
) -> None:
    """Fill the same row of `slopes` with dy/dt."""
    load, left = load_at(m, t), _tension(m, y, row, 0)
    for i in range(m.mass.size):
        a = WIDTH * i
        answer_of(m, sides, y, row, i, answer)
        right = _tension(m, y, row, i + 1)
        drive = right - left + m.plate[i] * (m.plate_speed * t - y[row, a]) + load * m.shares[i]
        slopes[row, a] = y[row, a + 1] + m.belt
        slopes[row, a + 1] = (drive - m.normal[i] * answer[_COEFFICIENT]) / m.mass[i]
        slopes[row, a + 2] = answer[_RATE]
        left = right


@kernel
def jacobian(m: Model, sides: Matrix, y: Matrix, row: int, jac: Stack, answer: Vector) -> None:
    """Fill jac (n, WIDTH, 3 WIDTH), derivatives by the mass on the left, its own, on the right."""
    n, k, c = m.mass.size, m.stiffness, m.damping
    for i in range(n):
        answer_of(m, sides, y, row, i, answer)
        mass, load = m.mass[i], m.normal[i] / m.mass[i]
        for j in range(3 * WIDTH):
            jac[i, 0, j] = jac[i, 1, j] = jac[i, 2, j] = 0.0
        jac[i, 0, WIDTH + 1] = 1.0
        jac[i, 1, WIDTH] = -(k[i] + k[i + 1] + m.plate[i]) / mass
        jac[i, 1, WIDTH + 1] = -(c[i] + c[i + 1]) / mass - load * answer[_BY_SPEED]
        jac[i, 1, WIDTH + 2] = -load * answer[_BY_STATE]
        if i > 0:
            jac[i, 1, 0], jac[i, 1, 1] = k[i] / mass, c[i] / mass
        if i < n - 1:
            jac[i, 1, 2 * WIDTH], jac[i, 1, 2 * WIDTH + 1] = k[i + 1] / mass, c[i + 1] / mass
        jac[i, 2, WIDTH + 1] = answer[_RATE_BY_SPEED]
        jac[i, 2, WIDTH + 2] = answer[_RATE_BY_STATE]


@kernel
def friction(m: Model, sides: Matrix, y: Matrix, row: int, out: Vector, answer: Vector) -> None:
    """Fill out (n,) with the coefficients [1] of what resists the masses."""
    for i in range(m.mass.size):
        answer_of(m, sides, y, row, i, answer)
        out[i] = answer[_COEFFICIENT]


@kernel
def powers(
    m: Model,
    sides: Matrix,
    t: float,
    y: Matrix,
    row: int,
    heat: Matrix,
    plastic: Matrix,
    answer: Vector,
) -> tuple[float, float, float]:
    """Return the power of drives and of dampers, and that stored by the law's states [W].

    The same row of `heat` is filled with the power that friction takes [W], that of `plastic`
    with the slip velocity that does not come back [m/s].
    """
    n, load = m.mass.size, load_at(m, t)
    work = viscous = storing = 0.0
    for i in range(n):
        a = WIDTH * i
        answer_of(m, sides, y, row, i, answer)
        force, stored = m.normal[i] * answer[_COEFFICIENT], m.normal[i] * answer[_STORING]
        pull = m.plate[i] * (m.plate_speed * t - y[row, a])
        work += load * (y[row, a + 1] + m.belt) * m.shares[i]
        work += pull * m.plate_speed - force * m.belt
        storing += stored
        heat[row, i], plastic[row, i] = force * y[row, a + 1] - stored, answer[_PLASTIC]
    for j in range(n + 1):
        viscous += m.damping[j] * _across(y, row, j, 1, m.belt) ** 2
    return work, viscous, storing


@kernel
def energies(
    m: Model, sides: Matrix, t: float, y: Matrix, row: int, answer: Vector
) -> tuple[float, float, float]:
    """Return kinetic and stored energy, and the part of it that the law's states hold [J]."""
    n = m.mass.size
    kinetic = elastic = held = 0.0
    for i in range(n):
        a = WIDTH * i
        answer_of(m, sides, y, row, i, answer)
        kinetic += 0.5 * m.mass[i] * (y[row, a + 1] + m.belt) ** 2
        elastic += 0.5 * m.plate[i] * (m.plate_speed * t - y[row, a]) ** 2
        held += m.normal[i] * answer[_STORED]
    for j in range(n + 1):
        elastic += 0.5 * m.stiffness[j] * _across(y, row, j, 0, 0.0) ** 2
    return kinetic, elastic + held, held
