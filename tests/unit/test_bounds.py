"""Counts beyond reason are refused at the door, before anything of that size is made."""

import dataclasses
import inspect
import re
import time
import tracemalloc

import numpy as np
import pytest

import stiction as st
from stiction.catalogue import CATALOGUE, attribute
from stiction.numerics.checks import MOST_BYTES
from stiction.rods.contact.curve.nodes import curve_nodes
from stiction.switching.wheel.return_map import AlwaysSlip

HUGE, BEYOND = 10**9, 10**12

FLOW = st.switching.NormalForm(-1.5, -1.5)
STRINGS = st.rods.RollingStrings()
SECTION = st.rods.CircularSection(0.01, 1e6, 0.5, 1000.0)
AXIS = st.rods.Straight((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
LOADED = st.rods.CosseratRod(SECTION, AXIS, loads=[st.rods.LineForce((0.0, 0.0, -1e-3))])
WHEEL = st.WheelOnTurntable()
TYRE = st.switching.DynamicTyreWheel
TABLE = {f.name: getattr(WHEEL, f.name) for f in dataclasses.fields(TYRE) if hasattr(WHEEL, f.name)}
TABLE = {**TABLE, "kappa": 200.0, "k2": 1.0}


TIMES = np.linspace(0.0, 1.0, 20)
CURVE = st.fits.Curve(force=3.0 + TIMES, time=TIMES, velocity=1.0 + 0.0 * TIMES, normal_force=10.0)


def _normal_form(*numbers):
    return FLOW


# what is needed besides the count, where there are no defaults
GIVEN = {
    "Simulated": {"scenario": "slip-wave", "force": "x[2]"},
    "fit_scenario": {
        "curves": CURVE,
        "rig": st.fits.Simulated("slip-wave", force="x[2]"),
        "free": ["law.mu"],
    },
    "Chain": {"mass": 1.0, "stiffness": 20.0},
    "RegularizedTheta": {"step": 1e-3, "theta": 0.5, "smoothing": 1e-3},
    "ThetaStepper": {"step": 1e-3},
    "RollingMidpoint": {"step": 1e-3},
    "RandomCoulomb": {"mu_mean": 0.3, "mu_spread": 0.1},
    "Sine": {"amplitude": 0.1},
    "CosseratRod": {"section": SECTION, "centreline": AXIS},
    "SineVelocity": {"velocity": (0.0, 0.0, 1.0)},
    "SineSpin": {"rate": 1.0},
    "RollingContact": {"s1": 0.5, "s2": 0.5},
    "block": {"mapping": lambda s, t: (s, t)},
    "cap": {"radius": 4.0, "height": 1.0, "half_width": 2.0},
    "disc": {"radius": 1.0, "along": (4, 2), "across": 2},
    "half_disc": {"radius": 1.0, "along": (4, 2), "across": 2},
    "rectangle": {"width": 1.0, "height": 1.0},
    "DynamicTyreWheel": TABLE,
    "two_fold": {"system": FLOW, "guess": (0.0, 0.0, 0.0)},
    "all_two_folds": {"system": FLOW, "lower": -np.ones(3), "upper": np.ones(3)},
    "continue_two_fold": {
        "make_system": _normal_form,
        "guess": np.zeros(3),
        "start": -1.5,
        "span": (-2.0, -1.0),
    },
    "continue_boundary": {
        "make_system": _normal_form,
        "boundary": "visible",
        "guess": np.zeros(3),
        "start": (-1.5, -1.5),
        "spans": ((-2.0, -1.0), (-2.0, -1.0)),
    },
    "futures": {"system": FLOW, "x_star": np.zeros(3), "horizon": 1.0},
    "ensemble": {"system": FLOW, "starts": np.full((1, 3), 0.1), "t_end": 0.1},
    "noise_study": {"system": FLOW, "levels": [1e-3], "t_end": 1.0},
    "smoothing_study": {"system": FLOW, "widths": [1e-2], "t_end": 1.0},
    "line_orbits": {"wheel": WHEEL, "r": 0.17, "rule": AlwaysSlip(), "returns": 2},
    "escaping_points": {"wheel": WHEEL, "r_low": 0.152, "r_high": 0.186, "count": 2},
    "growth": {"system": STRINGS, "t_end": 1.0},
    "sensitivity": {"wheel": None, "start": (0.2, 0.0, 1.0), "times": [0.0, 0.1]},
    "lyapunov_exponent": {"wheel": None, "start": (0.2, 0.0, 1.0)},
    "equilibrium": {"rod": LOADED},
    "follow_path": {"rod": LOADED},
    "wrapped_path": {
        "rod": LOADED,
        "partners": [st.rods.CylinderPartner([0, 0, -1], [0, 1, 0], 0.5)],
        "times": [0.0, 1.0],
    },
    "laid_rope": {"section": st.rods.CircularSection(0.01, 1e6)},
    "overhand_knot": {"section": st.rods.CircularSection(0.01, 1e6)},
    "plectoneme": {"section": st.rods.CircularSection(0.01, 1e6)},
    "hitch": {
        "section": st.rods.CircularSection(0.01, 1e6),
        "post": st.rods.CylinderPartner([0, 0, -1], [0, 0, 1], 0.1),
        "load": 1.0,
    },
    "LatinHypercube": {"members": 4},
    "Sobol": {"members": 4},
    "Saltelli": {"members": 4},
    "Range": {"low": 0.0, "high": 1.0},
    "Sweep": {"scenario": "slip-wave", "fields": {"law.mu": [0.1]}},
    "find_cycle": {"system": FLOW, "guess": np.zeros(3)},
    "continue_cycle": {"cycle": None, "parameter": "p.mu", "span": (0.0, 1.0)},
    "continue_equilibrium": {"point": None, "parameter": "p.mu", "span": (0.0, 1.0)},
    "sobol_indices": {"study": None, "result": "stop_time"},
    "fit": {"curves": CURVE, "law": st.Coulomb},
    "compare_fits": {"fits": ()},
}

# what was found: nobody makes it
FOUND = {"Fit", "Cycle"}
# places in a list: what has no such member says so
PLACES = {"body", "component", "components", "contact", "displacement", "first", "reference"}
PLACES |= {"second", "surface"}
# steps take time and no memory
STEPS = {"max_steps"}
# asked for in the same words by what they call
PASSED_ON = {("line_return", "workers"), ("compare", "reference"), ("spectrum", "window")}


def counts():
    """Return (name, field, whether it is a pair) of every whole number in the catalogue."""
    found = set()
    for kind in CATALOGUE.values():
        for name, module in kind.names.items():
            thing = attribute(module, name)
            if inspect.isclass(thing):
                if (
                    name in FOUND
                    or not dataclasses.is_dataclass(thing)
                    or inspect.isabstract(thing)
                ):
                    continue
                fields = {f.name: str(f.type) for f in dataclasses.fields(thing) if f.init}
            else:
                marked = inspect.signature(thing).parameters.values()
                fields = {p.name: str(p.annotation) for p in marked}
            for field, kind_of_field in fields.items():
                if re.search(r"\bint\b", kind_of_field):
                    found.add((name, module, field, "tuple[int, int]" in kind_of_field))
    return sorted(found)


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """Load the functions of the flow, which is no work of the door."""
    return FLOW.compiled


def refused(name, module, field, value):
    """Return the message of the refusal, the time [s] and the memory [bytes] that it took."""
    thing = attribute(module, name)
    given = dict(GIVEN.get(name, {}))
    given[field] = value
    if name.startswith("Sine") and field != "mode_number":
        given["mode_number"] = 1
    tracemalloc.start()
    begin = time.process_time()
    try:
        with pytest.raises(st.ModelError, match=r"(?s): got .*; needs .*\nWhy: .*\nTry: ") as error:
            thing(**given)
        return str(error.value), time.process_time() - begin, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def values(field, pair):
    """Return what is beyond reason for a field."""
    huge = [HUGE, BEYOND] if field not in STEPS else [BEYOND]
    huge = huge if field != "seed" else [2**63]
    return [v for h in huge for v in ((h, 3), (3, h))] if pair else huge


@pytest.mark.parametrize(
    ("name", "module", "field", "pair"),
    [c for c in counts() if c[2] not in PLACES and (c[0], c[2]) not in PASSED_ON],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_every_count_is_bounded(name, module, field, pair):
    for value in values(field, pair):
        message, spent, memory = refused(name, module, field, value)
        assert field in message or name in message
        assert spent < 1.0
        assert memory < 50 << 20


def test_places_in_lists_are_bounded():
    places = [c for c in counts() if c[2] in PLACES and (c[0], c[2]) not in PASSED_ON]
    assert places
    for name, module, field, _ in places:
        if name in ("Fixed",) or CATALOGUE["Question"].names.get(name) == module:
            continue
        message, _, memory = refused(name, module, field, BEYOND)
        assert field in message
        assert memory < 50 << 20


@pytest.mark.parametrize("saves", [HUGE, BEYOND, 2**62])
def test_saved_states_are_bounded(saves):
    tracemalloc.start()
    with pytest.raises(st.ModelError, match=r"solve\.save: got .* GiB"):
        st.solve(st.Chain(mass=1.0, stiffness=20.0), t_span=(0.0, 1.0), save=saves)
    assert tracemalloc.get_traced_memory()[1] < 50 << 20
    tracemalloc.stop()


def test_a_net_is_bounded_as_a_whole():
    with pytest.raises(st.ModelError, match="RodNet: got"):
        st.rods.RodNet(rows=1000, columns=1000)


def test_half_a_disc_is_bounded_as_a_whole():
    with pytest.raises(st.ModelError, match="half_disc: got"):
        st.solids.half_disc(1.0, (2, 2), 10**7)


def test_the_limit_is_reported():
    with pytest.raises(st.ModelError, match=f"{MOST_BYTES >> 30} GiB is the limit"):
        st.rods.CosseratRod(SECTION, AXIS, elements=10**8)


def test_nodes_of_long_rods_are_those_of_short_ones(monkeypatch):
    rng = np.random.default_rng(3)
    points = rng.normal(size=(60, 3))
    dense = [curve_nodes(points, rule) for rule in ("spline", "fitted")]
    monkeypatch.setattr("stiction.rods.contact.curve.nodes._MOST_DENSE", 50)
    for nodes, rule in zip(dense, ("spline", "fitted"), strict=True):
        assert curve_nodes(points, rule) == pytest.approx(nodes, rel=1e-13, abs=1e-13)
