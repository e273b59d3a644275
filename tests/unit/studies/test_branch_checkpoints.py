"""A branch of orbits that is killed and resumed is equal to the undisturbed one, bit by bit."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.io.checkpoint_file import FileCheckpoint
from stiction.studies.cycles import branch
from stiction.studies.cycles.checkpoints import pack_branch, restore_branch


class Killed(Exception):
    pass


class Killing(FileCheckpoint):
    """Saves at every pause, and ends the process after some of them."""

    def __init__(self, path, after, **given):
        super().__init__(path, "branch", resume=True, every=0.0, **given)
        self.after = after

    def save(self, state):
        super().save(state)
        self.after -= 1
        if self.after == 0:
            raise Killed


def same(one, other):
    """Return whether two values are equal to the last bit."""
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, st.studies.Cycle):
        names = ("state", "period", "order", "events", "multipliers", "trivial", "residual")
        names += ("start", "iterations", "nodes", "fractions")
        return all(same(getattr(one, name), getattr(other, name)) for name in names)
    if hasattr(one, "time_by"):
        return same(tuple(vars(one).values()), tuple(vars(other).values()))
    return np.array_equal(one, other, equal_nan=isinstance(one, float))


def test_a_resumed_branch_is_the_same(tmp_path):
    cycle = st.find_cycle(st.BeltOscillator(belt_speed=2.0), [0.0, 2.0])
    given = cycle, "belt_speed", (1.96, 2.04)
    whole, again, kills = st.continue_cycle(*given, step=0.02), None, 0
    while again is None:
        try:
            again = st.continue_cycle(*given, step=0.02, checkpoint=Killing(tmp_path / "c", 2))
        except Killed:
            kills += 1
    assert kills >= 3
    assert same(again.cycles, whole.cycles)
    assert again.ends == whole.ends
    with pytest.raises(st.StoreError, match="another branch"):
        st.continue_cycle(*given, step=1.0, checkpoint=Killing(tmp_path / "c", 2))


def test_a_first_orbit_with_other_nodes():
    """A branch may move the nodes of its first orbit, or the masses in it that always stick."""
    cycle = st.find_cycle(st.BeltOscillator(belt_speed=2.0), [0.0, 2.0])
    asked = ["belt_speed", 1.96, 2.04, 0.02, 9]
    made, again = (
        [branch._HalfBranch(cycle, "belt_speed", (1.96, 2.04), 0.02, 9, x) for x in (-1.0, 1.0)]
        for _ in range(2)
    )
    for half in made:
        half.cycles[0] = dataclasses.replace(cycle, nodes=cycle.nodes + 1e-3)
    restore_branch(again, asked, pack_branch(made, asked))
    for half, other in zip(made, again, strict=True):
        assert same(tuple(other.cycles), tuple(half.cycles))


def test_a_resumed_bifurcation_has_the_same_equations(tmp_path):
    cycle = st.find_cycle(st.BeltOscillator(belt_speed=2.1), [0.0, 2.1])
    given = cycle, "belt_speed", (2.1, 2.25)
    whole = st.continue_cycle(*given, step=0.1, checkpoint=Killing(tmp_path / "c", 99))
    # the last state that was saved holds the bifurcation
    again = st.continue_cycle(*given, step=0.1, checkpoint=Killing(tmp_path / "c", 99))
    assert same(again.cycles, whole.cycles)
    (one,), (other,) = again.bifurcations, whole.bifurcations
    for name in ("kind", "value", "cycle", "before", "after", "parameter"):
        assert same(getattr(one, name), getattr(other, name))
    (orbit, u), (whole_orbit, whole_u) = one.equations, other.equations
    assert same(u, whole_u)
    assert same(orbit.residual(u), whole_orbit.residual(whole_u))
    assert same(orbit.scale, whole_orbit.scale)


@pytest.mark.parametrize(("names", "spans"), [(3, None), (("a", "b"), 3), ("ab", ((0, 1), (0, 1)))])
def test_two_parameters_need_two_names_and_two_spans(names, spans):
    with pytest.raises(st.ModelError, match="two names and two spans"):
        branch.two_of(None, names, spans)
