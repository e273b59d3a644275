"""What the arrays of the wheel hold, entry by entry: names for kernels and for Python."""

from __future__ import annotations

# states: place and velocity along the slit, speed of the disk; their rates stand alike
R, V, OMEGA = range(3)
# where a row goes on with the time
TIME = 3

# parameters; PHYSICAL and BETWEEN are 0 or 1. PSI0 and SHARE are functions of kappa, kept so
# that no call finds them again; K to A belong to the stretched string, A is 0 without one
(
    D,
    M,
    C1,
    C2,
    BETA,
    R0,
    OMEGA0,
    MU,
    SIN,
    COS,
    KAPPA,
    K2,
    PHYSICAL,
    BETWEEN,
    PSI0,
    SHARE,
    K,
    DELTA,
    RHO,
    SIGMA,
    A,
) = range(21)
N_PARAMETERS = 21

# switching function and kinks: lateral and rolling velocity, and of a string the two borders
# of its regimes
H, G, BORDERS = range(3)
N_SURFACES = 4

# what the wheel feels: friction force and moment
FORCE, MOMENT = range(2)

# near the line h = g = 0: rates of h and of g without contact, by force and by moment
L0, LF, LM, G0, GF, GM = range(6)
# rays out of the line: angle, growth of the distance, sign of the slope of the turning, side
ANGLE, GROWTH, TURNING, SIDE = range(4)
