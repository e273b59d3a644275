"""The one verb: what it passes on, what it refuses, what it carries when a solve ends early."""

import dataclasses
import subprocess
import sys
import time

import numpy as np
import pytest

import stiction as st
from stiction.chains.outcome import ChainHistory, RawEvents, build_run
from stiction.core.driver import started
from stiction.core.ledger import Ledger
from stiction.errors import ModelError, SolveError, Status

NONE = np.empty(0)
NOBODY = np.empty(0, np.int64)


@dataclasses.dataclass(frozen=True)
class Resting:
    """A method that knows one thing: nothing moves; it may stop early."""

    until: float = np.inf

    def solve(self, system, request):
        request.progress(0.5, "half of nothing")
        time = request.save[request.save <= self.until]
        zeros = np.zeros((time.size, system.n_mass))
        early = self.until < request.t_end
        history = ChainHistory(
            time=time,
            x=zeros,
            v=zeros,
            mode=zeros.astype(np.int8),
            friction=zeros,
            events=RawEvents(NONE, NOBODY, NOBODY, NOBODY, NONE, NONE, NONE, NONE),
            stop_time=None if early else 0.0,
            energy=Ledger(time, zeros[:, 0], zeros[:, 0], zeros[:, 0], zeros),
            stats={"steps": 1},
            status=Status.WORK_LIMIT if early else Status.SOLVED,
            reason="it was asked to stop" if early else "",
        )
        return build_run(system, self, history)


class Silent:
    """A method that returns nothing."""

    def solve(self, system, request):
        pass


@pytest.fixture
def chain():
    return st.Chain(mass=[1.0, 2.0], stiffness=3.0)


def refusal(chain, *args, **options):
    with pytest.raises(ModelError) as caught:
        st.solve(chain, Resting(), *args, **options)
    message = str(caught.value)
    assert all(word in message for word in (": got ", "; needs ", "\nWhy: ", "\nTry: "))
    return message


def test_a_run_knows_where_it_comes_from(chain):
    begun = time.perf_counter()
    run = st.solve(chain, Resting(), (1.0, 3.0))
    assert run.status is Status.SOLVED
    assert run.system is chain
    assert run.method == Resting()
    assert (run.time[0], run.time[-1], run.t_end) == (1.0, 3.0, 3.0)
    assert run.provenance["stiction"] == st.__version__
    assert 0.0 <= run.provenance["wall_s"] <= time.perf_counter() - begun


def test_partial_run_is_carried(chain):
    with pytest.raises(SolveError, match="it was asked to stop") as caught:
        st.solve(chain, Resting(until=1.0), (0.0, 4.0), save=5)
    run = caught.value.run
    assert run.status is Status.WORK_LIMIT
    assert run.time.tolist() == [0.0, 1.0]
    assert run.asked.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert run.status.advice in str(caught.value)


def test_a_status_instead_of_an_error(chain):
    run = st.solve(chain, Resting(until=1.0), (0.0, 4.0), throw=False)
    assert run.status is Status.WORK_LIMIT
    assert not run.status.ok


def test_the_system_chooses_a_method_when_none_is_given(chain, monkeypatch):
    monkeypatch.setattr(st.Chain, "default_method", "Quasistatic")
    asked = []
    place = "stiction.chains.quasistatic.run.solve_chain"
    monkeypatch.setattr(
        place, lambda *parts: asked.append(parts) or Resting().solve(chain, parts[2])
    )
    st.solve(chain)
    assert asked[0][:2] == (chain, st.chains.Quasistatic())


def test_a_method_for_another_system_is_refused(chain):
    with pytest.raises(
        st.ModelError,
        match=r"Chain is solved by chains\.EventDriven, chains\.Quasistatic, chains\.Radau",
    ):
        st.solve(chain, st.Continuation(), t_span=(0.0, 1.0))
    with pytest.raises(st.ModelError, match=r"RollingLeapfrog: got a WheelOnTurntable"):
        st.solve(st.WheelOnTurntable(), st.RollingLeapfrog(fraction=0.5))


def test_a_method_of_ones_own_inherits_a_place(chain):
    @dataclasses.dataclass(frozen=True, eq=False)
    class Gentle(st.chains.Quasistatic):
        """A method under another name."""

    assert st.solve(chain, Gentle(), (0.0, 1.0), save=2).method_name == "Gentle"


def test_a_method_returns_a_run(chain):
    with pytest.raises(ModelError, match=r"Silent\.solve: got None; needs a Run"):
        st.solve(chain, Silent(), (0.0, 1.0))


def test_times_that_are_saved(chain):
    def saved(save):
        return st.solve(chain, Resting(), (0.0, 2.0), save=save).time.tolist()

    assert len(saved(None)) == 1001
    assert saved(3) == [0.0, 1.0, 2.0]
    assert saved([0.5, 1.5]) == [0.0, 0.5, 1.5, 2.0]
    assert saved(np.array([0.0, 2.0])) == [0.0, 2.0]
    below, above = np.nextafter(2.0, [0.0, 3.0])
    assert saved([1.0, below]) == saved([1.0, above]) == [0.0, 1.0, 2.0]
    # a time near the start is another time
    assert saved([0.0, 1e-16, 1.0]) == [0.0, 1e-16, 1.0, 2.0]
    with pytest.raises(ModelError, match=r"got 0\.5 after 1\.0; needs increasing"):
        saved([1.0, 0.5])


def test_a_large_system_saves_fewer_states_by_default():
    large = st.Chain(mass=1.0, n=200_000, stiffness=1.0)
    run = st.solve(large, Resting(), (0.0, 1.0))
    assert 2 <= run.time.size < 100


@pytest.mark.parametrize(
    "span", [(0.0, 0.0), (1.0, 0.0), (0.0, np.inf), (np.nan, 1.0), (0.0,), (0.0, 1.0, 2.0), 3.0]
)
def test_spans_that_are_none(chain, span):
    assert "solve.t_span" in refusal(chain, span)


def test_a_span_of_rounding_far_from_zero_is_none(chain):
    assert "at least 1e-9" in refusal(chain, (1e9, 1e9 + 0.5))
    run = st.solve(chain, Resting(), (1e9, 1e9 + 2.0), save=2)
    assert run.time.tolist() == [1e9, 1e9 + 2.0]


@pytest.mark.parametrize(
    "save",
    [0, 1, -3, 2.5, True, "all", [], [0.0, 0.0], [1.0, 0.5], [0.0, 9.0], [-1.0], [[0.0, 1.0]],
     [np.nan], 10**10],
)  # fmt: skip
def test_saves_that_are_none(chain, save):
    assert "solve.save" in refusal(chain, (0.0, 1.0), save=save)


def test_more_states_than_memory_are_refused():
    large = st.Chain(mass=1.0, n=200_000, stiffness=1.0)
    assert "GiB" in refusal(large, (0.0, 1.0), save=100_000)


def test_a_run_may_start_elsewhere(chain):
    run = st.solve(chain, Resting(), x0=[0.5, 0.25])
    assert run.system.x0.tolist() == [0.5, 0.25]
    assert chain.x0 == 0.0
    belt = started(st.BeltOscillator(), x0=(0.25, 0.5), mode="slide")
    assert (belt.x0.tolist(), belt.mode) == ([0.25, 0.5], "slide")
    same = st.BeltOscillator()
    assert started(same) is same


def test_a_start_the_system_does_not_know(chain):
    assert "solve.mode: got '+'; needs a system with a field 'mode'" in refusal(chain, mode="+")
    assert "Chain.x0" in refusal(chain, x0=[1.0, 2.0, 3.0])


def test_the_default_times_have_the_unit_of_the_system():
    short = st.EventDriven(max_steps=1, max_step=1e-3)
    with pytest.raises(SolveError, match=r"got as far as t = \S+; needs to reach 8\.\n"):
        st.solve(st.BeltOscillator(), short, (0.0, 8.0))


def test_progress_and_checkpoint_reach_the_method(chain):
    seen = []

    class Saved:
        def due(self):
            return False

    @dataclasses.dataclass(frozen=True)
    class Asking(Resting):
        def solve(self, system, request):
            seen.append(request.checkpoint)
            return super().solve(system, request)

    checkpoint = Saved()
    st.solve(chain, Asking(), progress=lambda *report: seen.append(report), checkpoint=checkpoint)
    assert seen == [checkpoint, (0.5, "half of nothing")]


def test_the_verb_is_a_function_whatever_was_imported_first():
    code = (
        "import sys, stiction.solve, stiction as st\n"
        "assert callable(st.solve) and st.solve.__module__ == 'stiction.solve'\n"
        "assert 'numpy' not in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_untrusted_runs_raise():
    """A check of convergence that fails, or a value beyond 100 times its limit, ends in an error.

    The run is complete, and in the error; `throw=False` returns it.
    """
    pulled = st.Chain(mass=[1.0] * 3, stiffness=20.0, load=st.Constant(10.0), law=st.Coulomb(0.05))
    newton = st.chains.RegularizedTheta(1e-2, 1.0, 1e-3, line_search=False)
    pushes = st.UserFriction(lambda v: 0.3 - 0.05 * v, lambda v: -0.05)
    fast = st.Chain(mass=[1.0, 1.0], stiffness=1.0, law=pushes, v0=[1.0, 6.1])
    for system, method, until, said in (
        (pulled, newton, 4.0, "steps_converged failed (1); this check tests convergence"),
        (fast, st.EventDriven(), 0.5, "friction_dissipates 0.0"),
    ):
        run = st.solve(system, method, (0.0, until), throw=False)
        assert run.status is Status.UNTRUSTED
        assert run.t_end == until
        assert said in run.reason
        assert str(run).startswith("UNTRUSTED, audit FAILED: Chain")
        with pytest.raises(SolveError, match="untrusted run") as caught:
            st.solve(system, method, (0.0, until))
        assert run.reason in str(caught.value)
        assert run.advice in str(caught.value)
        assert caught.value.run.status is Status.UNTRUSTED


def test_a_run_that_stopped_can_be_untrusted():
    """The wheel stops at its two-fold; where its energies are wrong that is not to be trusted."""

    class HeavyWheel(st.WheelOnTurntable):
        def energies(self, x):
            kinetic, stored = super().energies(x)
            return 1.001 * kinetic, stored

    start = {"x0": [0.22, -0.0624, -1.08], "mode": "slide"}
    assert st.solve(st.WheelOnTurntable(**start), t_span=(0.0, 20.0)).status is Status.STOPPED
    run = st.solve(HeavyWheel(**start), t_span=(0.0, 20.0), throw=False)
    assert run.status is Status.UNTRUSTED
    assert run.reason.startswith("two_fold at t = ")
    assert "; ledger_closes " in run.reason


def test_only_two_statuses_are_no_failure():
    assert [status for status in Status if status.ok] == [Status.SOLVED, Status.STOPPED]
    complete = [status for status in Status if status.complete]
    assert complete == [Status.SOLVED, Status.STOPPED, Status.UNTRUSTED]
    assert all(status.advice for status in Status)


def test_a_policy_that_stops_raises_nothing():
    run = st.solve(st.switching.NormalForm(-1.5, -2.0), t_span=(0.0, 10.0))
    assert run.status is Status.STOPPED
    assert run.t_end < 10.0
    assert run.asked[-1] == 10.0
