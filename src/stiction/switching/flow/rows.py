"""What stands where in the arrays of a trajectory.

Kernels see six arrays: `system` (whole numbers), `p` (parameters of the system), `table` (the
method's constants), `a` (all that moves, and scratch: rows by name), `saved` and `event` (what is
kept). Few arrays with named rows compile several times faster than many small ones.
"""

from __future__ import annotations

from stiction.numerics.bernstein import DEPTH, NODES
from stiction.switching.flow.tableau import STAGES

# ---- entries of `system`

# addresses of its functions; numbers of states, surfaces and kinks, whether there is a line (0 or
# 1), number of energies, whether surfaces are planes (see `records`)
FIELD, SURFACE, GRADIENT, POWER, N, M, K, LINE, Q, PLANE = range(10)
# steps, rejected steps, events kept, saves kept, events in a row at ever shorter distance, events
# in a row at the same time; then events of each kind
STEPS, REJECTED, N_EVENTS, N_SAVES, SHRINKS, SAME_TIME, BY_KIND = range(10, 17)
KIND_COUNT = 8
# while the state stays where two surfaces meet: which of two sliding vectors it follows, by the
# sign of its determinant, and whether it was told that other ways are open
BRANCH, TOLD_OPEN = range(BY_KIND + KIND_COUNT, BY_KIND + KIND_COUNT + 2)
# a rare event that waits to be handled: its surface, and another one; passes of the loop that are
# left then; 1 for a call that goes on where the last one paused
WHICH, OTHER, LEFT, GOES_ON = range(TOLD_OPEN + 1, TOLD_OPEN + 5)
# address of another step than the explicit one, 0 for none
STEPPER = GOES_ON + 1
# for each event function, how many times it is known to be zero at the start of the step
ORDER = STEPPER + 1

# ---- rows of `a`, which are as wide as the widest of them

# y = (x, t, W): state, time, energies; y at the end of a step; scratch like y
Y, TRIAL, SPARE = range(3)
# signs of the surfaces, 0 on one that the state slides on; signs or multipliers as they are told;
# signs that are tried
SIDES, TOLD, TRIED = range(3, 6)
# tolerances and directions, times and lengths: see below
PACE, CLOCK = range(6, 8)
SCALE, KINKS = range(8, 10)
# event functions at the start of a step, and their slopes there, where a fold was just left, or
# -1 for a surface that the last step came down to; sizes that are rounding, that
# count as a touch, and that the run may be off by; gradients of all h_i one after the other
VALUE, SLOPE, NOISE, TOUCH, DOUBT, GRAD = range(10, 16)
# scratch
PLUS, MINUS, SIGNS, EXTRA, EXTRA2, DIFF, DIFF2, LATER = range(16, 24)
# rates of two surfaces in the four corners where they meet: see `corners.ways`
MEETING = 24
# rates of the stages, coefficients of the dense output, event functions along it, scratch of the
# search for roots; then the Bernstein coefficients of each event function
STAGE = MEETING + 1
DENSE = STAGE + STAGES
DENSE_ROWS = 7
SAMPLE = DENSE + DENSE_ROWS
ROOT = SAMPLE + NODES
COEFFICIENT = ROOT + DEPTH + 3

# entries of row PACE: direction and scale of the sliding time; 1, or -1 for backward in time;
# how much tighter the tolerance is near a two-fold or a line; what rounding does there to a
# rate over the size of its state, to the state and to L; the size of the time while the state
# slides; then what is given: relative and absolute tolerance, distance that counts as on a line,
# longest step, and the time at which the call ends
SENSE, NORM, DIRECTION, SHARE, FLOOR, ROUNDING, LIE_NOISE, PERIOD = range(8)
RTOL, ATOL, ON_LINE, LONGEST, T_END = range(8, 13)
# entries of row CLOCK: length of the next step, time of the last event, the time between the last
# two, longest step towards a line, last distance to it and the time of the last event at a
# surface; errors of steps added up, in tolerances; the smallest margin so far; then of an event
# that waits: fraction of the step, its length, the sign before; then what the loop knows when it
# pauses; then the margin of the event at hand, whether a step goes on smoothly from the last one,
# the surface (from 1) and the time of a lowest point that has been judged, the time at which that
# step began, how far around it counts, and how deep the multiplier passed its limit without a slip
# that could be seen; then, where the run began next to a two-fold, the share of the heights by
# which they may be off, and the largest height since
NEXT_STEP, LAST_EVENT, LAST_GAP, RHO, DISTANCE, LAST_LANDING, DRIFT, LEAST = range(8)
AT_SHARE, AT_LENGTH, CAME, FRESH, REFUSED, GAP, ERROR, BROKEN, BROKEN_AT, FORCED = range(8, 18)
MARGIN, SMOOTH, JUDGED, JUDGED_AT, JUDGED_FROM, WITHIN, BLUNT, VAGUE, TALLEST = range(18, 27)
# what a placement resets, what a checkpoint keeps
CLOCKS, KEPT, CLOCK_WIDTH, PACES = 7, 8, 27, 13

# ---- rows of `table`: the tableau, then what `numerics.bernstein` makes of samples

BERNSTEIN = 23
NODE, TAIL, LAST = BERNSTEIN + NODES, BERNSTEIN + NODES + 1, BERNSTEIN + NODES + 2

# ---- columns of `event`: time, surface, its sign before and after, kind, then the state, then the
# multipliers before and after, then the margin

AT, WHERE, BEFORE, AFTER, KIND, STATE = range(6)
