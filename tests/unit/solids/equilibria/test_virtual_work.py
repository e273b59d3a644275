"""Two bodies joined by virtual work, from start to end: a punch with sharp edges that slides."""

import pytest

import stiction as st
from stiction.laws import EA, LennardJones
from stiction.solids.conditions import Driven, Fixed, Program
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary
from stiction.solids.elements.kinds import Q1N2
from stiction.solids.materials import NeoHookean
from stiction.solids.mesh.model import rectangle
from stiction.solids.model import Body, Readings, Solid

MAX_TENSION, WORK = 0.05, 0.01


def punch(law, friction):
    """Return a block with sharp edges that is pressed on a longer one and slides ten elements."""
    upper = rectangle(3.0, 1.5, (9, 3), (1.0, law.gap_eq))
    lower = rectangle(10.0, 2.0, (30, 4), (0.0, -2.0))
    bodies = [Body(mesh, Q1N2(), NeoHookean(1.0, 0.3)) for mesh in (upper, lower)]
    pair = Contact(Boundary(0, "bottom"), Boundary(1, "top"), law, friction, passes="mortar")
    top = Boundary(0, "top")
    conditions = [
        Driven(top, 0, Program((0, 1, 2), (0, 0, 3.3))),
        Driven(top, 1, Program((0, 1), (0, -0.03))),
        Fixed(Boundary(1, "bottom")),
    ]
    return Solid(bodies, [pair], conditions, readings=Readings(displacement=0))


@pytest.mark.parametrize("adhesive", [True, False])
def test_a_sharp_punch_slides(adhesive):
    """Model EA with adhesion, and Coulomb's law without: no cuts, balance, ledger, no loss."""
    law = LennardJones.from_strength(MAX_TENSION, WORK, adhesive=adhesive)
    friction = EA(0.3, 1.0 if adhesive else 0.0)
    run = st.solve(punch(law, friction), st.Quasistatic(steps=16), (0.0, 2.0))
    assert run.stats["step_cuts"] <= 2
    assert not run.determinism.losses
    failed = [check.check for check in run.audit.checks if not check.ok]
    assert not failed
    # the other body feels the opposite, to the last digit
    values = {check.check: check.value for check in run.audit.checks}
    assert values["ledger_closes"] < 1e-3
    assert values["half_passes_balance"] == 0.0
    mine = [run.data[f"force_{c}"].values for c in "xy"]
    # sliding everywhere: threshold mu (T + T_max) or mu T over the whole face
    full = 0.3 * (mine[1][-1] + (3.0 * MAX_TENSION if adhesive else 0.0))
    assert abs(mine[0][-1]) == pytest.approx(full, rel=0.05)  # reason: edges lift and faces stretch
