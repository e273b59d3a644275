"""Curves that were made up, in place of the runs that statements of a paper are judged by."""

import numpy as np

from stiction.papers.adhesive_friction.cases import Curves


def curves(u, numbers=None, **columns):
    """Return curves over displacements; numbers stand for constants."""
    u = np.asarray(u, dtype=float)
    full = {name: np.broadcast_to(np.asarray(c, float), u.shape) for name, c in columns.items()}
    return Curves({"displacement": u, **full}, dict(numbers or {}))


class MadeStudy(dict):
    """Curves by name of case, as `Study` gives them."""

    def has(self, name):
        return name in self

    def names(self, start):
        return [name for name in self if name.startswith(start)]

    def pair(self, one, other):
        return self[one], self[other]


def one(rows, beginning):
    """Return the only row whose name begins so."""
    (row,) = [row for row in rows if row.what.startswith(beginning)]
    return row
