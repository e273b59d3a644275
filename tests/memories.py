"""A checkpoint in memory, for runs that are interrupted and go on."""

import numpy as np


class Interrupted(KeyboardInterrupt):
    """The process ends here."""


class Memory:
    """A checkpoint in memory.

    Parameters
    ----------
    state : what a run goes on from
    every, turn : due each time it was asked so often; or at that turn alone
    once : due until there is a state, not after
    last : ends the run when it has been saved so often

    `pages` are all states that were saved, `state` is the last.
    """

    def __init__(self, state=None, *, every=1, turn=None, once=False, last=None):
        self.state, self.every, self.turn, self.once, self.last = state, every, turn, once, last
        self.asked, self.pages = 0, []

    def due(self):
        self.asked += 1
        if self.once:
            return self.state is None
        return self.asked % self.every == 0 if self.turn is None else self.asked == self.turn

    def save(self, state):
        self.state = {name: np.array(values) for name, values in state.items()}
        self.pages.append(self.state)
        if len(self.pages) == self.last:
            raise Interrupted

    def load(self):
        return self.state
