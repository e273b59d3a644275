"""The observed order of Characteristics, from both sides."""

import numpy as np
from audit_lines import solved

from stiction.exact.strings import symmetric_contact
from stiction.rods import RollingStrings, Sine
from stiction.rods.methods import Characteristics

# a tolerance that never cuts a step: the order belongs to equal steps, of which the long ones
# leave more of the ledger open than it may be
LOOSE = 1e9


def test_order_four():
    system = RollingStrings(
        speed=(1.0, 1.2),
        length=(6.0, 5.0),
        ends="periodic",
        F=0.8,
        G1=0.5,
        G2=0.4,
        u0=Sine(1, 0.2),
        v0=Sine(2, 0.1),
        nodes=5,
    )
    paths = []
    for step in (0.04, 0.01, 0.00125):
        method = Characteristics(step=step, tolerance=LOOSE, check=False)
        paths.append(solved(system, method, (0.0, 12.0), save=13).data.s1.values)
    coarse, fine = (np.abs(path - paths[2]).max() for path in paths[:2])
    assert 3.6 < 0.5 * np.log2(coarse / fine) < 4.6


def test_order_four_across_the_kick_of_the_start():
    system = RollingStrings(s1=2.0, s2=2.0, u0=Sine(2, 1.0), nodes=5)
    error = []
    for step in (0.08, 0.04, 0.02):
        method = Characteristics(step=step, tolerance=LOOSE, check=False)
        run = solved(system, method, (0.0, 12.0), save=13)
        error.append(np.abs(run.data.s1.values - symmetric_contact(run.time, 2.0, 1.0)).max())
    order = np.log2(np.array(error[:-1]) / error[1:])
    assert (order > 3.5).all()
    assert (order < 4.7).all()
