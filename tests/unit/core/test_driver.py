"""The driver: pauses, progress, checkpoints."""

import numpy as np
import pytest

from stiction.core.driver import Pause, run_to_end


class Saved:
    """A checkpoint that is due at every second pause."""

    def __init__(self):
        self.asked, self.states = 0, []

    def due(self):
        self.asked += 1
        return self.asked % 2 == 0

    def save(self, state):
        self.states.append({name: value.copy() for name, value in state.items()})

    def load(self):
        return None


def counting(upto, ends_badly=False):
    place = np.zeros(1)
    for k in range(upto):
        place[0] = k + 1
        yield Pause((k + 1) / upto, f"{k + 1} steps", lambda: {"place": place})
    # behind the end there is nothing to go on from
    yield Pause(1.0, "over")
    if ends_badly:
        raise KeyboardInterrupt
    return int(place[0])


def test_pauses_report_and_keep():
    shown, saved = [], Saved()
    assert run_to_end(counting(4), lambda done, note: shown.append((done, note)), saved) == 4
    steps = [(0.25, "1 steps"), (0.5, "2 steps"), (0.75, "3 steps"), (1.0, "4 steps")]
    assert shown == [*steps, (1.0, "over")]
    assert [state["place"][0] for state in saved.states] == [2.0, 4.0]
    # a pause that cannot be gone on from is not asked about
    assert saved.asked == 4


def test_a_method_may_omit_both():
    assert run_to_end(counting(3)) == 3


def test_interrupts_pass_through():
    with pytest.raises(KeyboardInterrupt):
        run_to_end(counting(2, ends_badly=True))


def test_an_error_of_progress_ends_the_run():
    class Slow(Exception):
        pass

    def give_up(done, note):
        raise Slow

    way = counting(3)
    with pytest.raises(Slow):
        run_to_end(way, give_up)
    way.close()
    assert next(way, None) is None
