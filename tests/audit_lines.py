"""What the tests of every system's audit share: reading one line of it, and damaging a run."""

import importlib

import pytest
from memories import Memory

import stiction
from stiction import Status


def solved(*what, **options):
    """Return a run that is complete, whatever its audit says of it."""
    run = stiction.solve(*what, throw=False, **options)
    assert run.status.complete, run.reason
    return run


def public(subpackage, name):
    """Return a public name from `stiction.subpackage`, or from the top where it stands there."""
    place = importlib.import_module(f"stiction.{subpackage}")
    return getattr(place if hasattr(place, name) else stiction, name)


def line(run, name):
    """Return the one line `name` of the audit."""
    (found,) = [check for check in run.audit if check.check == name]
    return found


def failing(run):
    """Return the names of all checks that failed."""
    return {check.check for check in run.audit.failed}


def check_status(run):
    """Assert that a run is untrusted where its audit says so, and says why."""
    if run.status.complete:
        assert (run.status is Status.UNTRUSTED) == (run.audit.untrusted != "")
        assert run.audit.untrusted in run.reason


def check_fails(run, name, *, value=None, limit=None, when=None, beside=(), least=False):
    """Assert that `name` failed beyond its limit, alone but for those `beside`; return its line.

    Parameters
    ----------
    value, limit : what they must be, where the test knows
    when : the time it must name, or a pair of times between which it lies
    least : whether the limit is the smallest value allowed, not the largest
    """
    found = line(run, name)
    assert found.ok is False
    check_status(run)
    assert found.value < found.limit if least else found.value > found.limit
    assert failing(run) == {name, *beside}
    assert not run.audit.ok
    assert value is None or found.value == value
    assert limit is None or found.limit == limit
    if isinstance(when, tuple):
        assert when[0] <= found.time <= when[1]
    else:
        assert when is None or found.time == when
    return found


def check_holds(run, name, *, value=None, beside=(), least=False):
    """Assert that `name` held within its limit, and all others but those `beside`."""
    found = line(run, name)
    assert found.ok is True
    check_status(run)
    assert found.value >= found.limit if least else found.value <= found.limit
    assert failing(run) == set(beside)
    assert value is None or found.value == value
    return found


def damage(monkeypatch, module, name, change):
    """Let `change` spoil what the next method hands over, before anything reads it.

    Parameters
    ----------
    module, name : where the class of what is handed over stands
    change : from the object to new values of some of its fields, by name
    """
    history = getattr(importlib.import_module(module), name)
    make, due = history.__init__, [change]

    def init(self, *values, **fields):
        make(self, *values, **fields)
        # once: what is made from a damaged object has the damage already
        for spoil in due[:]:
            due.clear()
            for field, new in spoil(self).items():
                object.__setattr__(self, field, new)

    monkeypatch.setattr(history, "__init__", init)


def tampered(solve, change):
    """Return the run of `solve(checkpoint)` in whose middle `change` spoils what was saved."""
    checkpoint = Memory(once=True, last=1)
    with pytest.raises(KeyboardInterrupt):
        solve(checkpoint)
    change(checkpoint.state)
    return solve(checkpoint)
