"""Which event of a contact has a root in a step, and where, on contacts that are given."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from stiction.rods.leapfrog import event_localisation_kernels as kernels
from stiction.rods.leapfrog.event_localisation_kernels import (
    CLOSED_GAP,
    FRICTION_EXCESS,
    GAP,
    NORMAL_FORCE,
    SLIP_SPEED,
)

pytestmark = pytest.mark.usefixtures("plain_kernels")
OPEN, ROLL, SLIP, PENETRATION = kernels.OPEN, kernels.ROLL, kernels.SLIP, kernels.PENETRATION
# any other code
OTHER = PENETRATION + 100


def contact(**change):
    given = {
        "mode": OPEN, "pending_mode": OPEN, "gap": 0.0, "reach": 2.0, "allowed_depth": 0.0,
        "stick_excess": 0.25, "normal_force": 3.0, "slip_speed": 0.5,
    }  # fmt: skip
    return SimpleNamespace(**given | change)


def sets(now, before, low=None):
    """Return what kernels take of contacts now, at the start of the step, and at a bracket."""
    now, before, low = (np.array(k, dtype=object) for k in (now, before, low or before))
    return SimpleNamespace(contacts=now), SimpleNamespace(contacts=before, low=low)


@pytest.mark.parametrize(
    ("before", "after", "root"),
    [(-1.0, 3.0, 0.25), (-3.0, 1.0, 0.75), (-1.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.5, 1.0, 0.0),
     (-1.0, -1.0, 1.0), (-1.0, -2.0, 1.0)],
)  # fmt: skip
def test_the_root_of_a_secant(before, after, root):
    assert kernels.secant_root(before, after) == root


@pytest.mark.parametrize(
    ("kind", "value"),
    [(GAP, -0.125), (NORMAL_FORCE, -3.0), (FRICTION_EXCESS, 0.25), (SLIP_SPEED, -0.5)],
)
def test_event_functions_are_negative_before(kind, value):
    assert kernels.event_value(kind, contact(gap=0.125)) == value


@pytest.mark.parametrize(
    ("mode", "was", "depth", "kind"),
    [
        # the deepest that is no penetration is a part of the reach, and what the search found
        (OPEN, OPEN, 1.01, GAP), (OPEN, OPEN, 0.99, -1), (ROLL, OPEN, 1.01, -1),
        (OPEN, ROLL, 1.01, -1),
    ],
)  # fmt: skip
def test_a_contact_that_closes(mode, was, depth, kind):
    limit = kernels.CLOSING_TOLERANCE * 2.0 + 1e-3
    now = [contact(mode=mode, gap=-depth * limit, allowed_depth=1e-3)]
    given = sets(now, [contact(mode=was)])
    assert kernels.event_function_of(0, PENETRATION, *given) == kind


CASES = list(itertools.product((OPEN, ROLL, SLIP), repeat=3))


@pytest.mark.parametrize(("was", "mode", "pending"), CASES)
def test_a_contact_that_opens_slips_or_sticks(was, mode, pending):
    given = sets([contact(mode=mode, pending_mode=pending)], [contact(mode=was)])
    if OPEN in (was, mode):
        wanted = -1
    elif pending == OPEN:
        wanted = NORMAL_FORCE
    elif was == ROLL:
        wanted = -1 if pending == ROLL else FRICTION_EXCESS
    else:
        # it rolls at the end of the step although it would go on to slip
        wanted = -1 if pending == SLIP and mode == SLIP else SLIP_SPEED
    assert kernels.event_function_of(0, OTHER, *given) == wanted


def test_a_contact_that_has_just_opened_starts_a_little_before_zero():
    closed = 2.0 * CLOSED_GAP
    for begin, depth, wanted in (
        (0.0, 1.0, -0.5),
        (0.5 * closed, 1.0, -0.5),
        (2.0 * closed, 1.0, -2.0 * closed),
        (0.0, 0.0, 0.0),
    ):
        before = [contact(gap=begin, allowed_depth=depth)]
        now = [contact(gap=-0.5)]
        assert kernels.event_value_at_start(GAP, 0, *sets(now, before)) == wanted
    # one that ends nearly where it began
    now = [contact(gap=-0.5 * closed)]
    before = [contact(gap=0.0, allowed_depth=1.0)]
    assert kernels.event_value_at_start(GAP, 0, *sets(now, before)) == -closed
    before = [contact(normal_force=7.0, allowed_depth=1.0)]
    assert kernels.event_value_at_start(NORMAL_FORCE, 0, *sets(now, before)) == -7.0


def test_the_first_of_several_roots():
    def pair(force, until):
        low = contact(mode=ROLL, normal_force=force)
        return contact(mode=ROLL, pending_mode=OPEN, normal_force=until), low

    now, low = zip(pair(3.0, -1.0), pair(1.0, -3.0), pair(1.0, -3.0), strict=True)
    # at three quarters, at one quarter, and again
    assert kernels.first_root(OTHER, *sets(list(now), list(low))) == (0.25, 1)
    still = [contact(mode=ROLL, pending_mode=ROLL)]
    assert kernels.first_root(OTHER, *sets(still, still)) == (1.0, -1)
    # a root at the end of the step is one
    now, low = pair(3.0, 0.0)
    assert kernels.first_root(OTHER, *sets([now], [low])) == (1.0, 0)


def falling(at, power):
    """Return a function of time that falls from 1 to 0 at a fraction `at` of a step of 2."""
    return lambda t: 1.0 - (t / (at * 2.0)) ** power


def located(monkeypatch, code, name, value):
    """Return what `locate_event` finds where a quantity falls, and the quantity it leaves."""
    h, pending = 2.0, ROLL if code == PENETRATION else OPEN
    mode = OPEN if code == PENETRATION else ROLL

    def at_time(t):
        return contact(mode=mode, pending_mode=pending, **{name: value(t)})

    now, saved = sets([at_time(h)], [at_time(0.0)])

    def restore_step_start(*_):
        now.contacts[0] = saved.contacts[0]

    def take_step(*arguments):
        trial = arguments[-2]
        now.contacts[0] = at_time(trial)
        limit = -kernels.CLOSING_TOLERANCE * 2.0 if code == PENETRATION else 0.0
        return code if value(trial) < limit else kernels.INSIDE

    monkeypatch.setattr(kernels, "restore_step_start", restore_step_start)
    monkeypatch.setattr(kernels, "take_step", take_step)
    found = kernels.locate_event(None, None, None, now, None, saved, h, h, code)
    return *found, getattr(now.contacts[0], name)


@pytest.mark.parametrize("at", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("power", [0.8, 1.0, 1.5, 3.0])
def test_a_contact_closes_where_its_gap_is_zero(at, power, monkeypatch):
    gap = falling(at, power)
    code, end, when, left = located(monkeypatch, PENETRATION, "gap", gap)
    assert code == PENETRATION
    assert left == gap(end)
    # trials are a billionth of the step apart or more
    assert (end, when) == pytest.approx((at * 2.0, at * 2.0), abs=4e-8)


@pytest.mark.parametrize("at", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("power", [0.8, 1.0, 1.5, 3.0])
def test_a_contact_opens_soon_after_its_force_is_zero(at, power, monkeypatch):
    force = falling(at, power)
    code, end, when, left = located(monkeypatch, kernels.MODE_CHANGE, "normal_force", force)
    assert code == kernels.MODE_CHANGE
    assert left == force(end) < 0.0
    overshoot = 2.0 * kernels.OVERSHOOT * 2.0
    assert 0.0 < end - at * 2.0 <= overshoot
    assert abs(when - at * 2.0) <= overshoot


def test_a_contact_without_force_stays_closed_until_it_is_pulled(monkeypatch):
    def force(t):
        return max(1.0 - t, 0.0) if t < 1.5 else 1.5 - t

    code, end, _, left = located(monkeypatch, kernels.MODE_CHANGE, "normal_force", force)
    assert code == kernels.MODE_CHANGE
    assert 1.5 < end <= 1.5 + 2.0 * kernels.OVERSHOOT * 2.0
    assert left == force(end)
