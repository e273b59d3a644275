"""Figures of faults, drawn from live runs."""

import numpy as np

import stiction as st
from stiction.faults import Cycles, Fault, SpringSlider
from stiction.laws import AgeingLaw


def test_every_figure_is_drawn():
    law = AgeingLaw(a=0.01, b=0.025, length=1e-5)
    slider = SpringSlider(law, impedance=3e6, speed_start=9e-7, state_start=10.0)
    run = st.solve(slider, Cycles(rtol=1e-7), (0.0, 800.0), save=3)
    assert run.plot.default == ("cycles", "loop")
    loop = run.plot.loop().axes[0]
    x, y = loop.lines[0].get_data()
    assert np.array_equal(x, run.variables["trace_speed"].values)
    assert np.array_equal(y, run.variables["trace_friction"].values)
    low = run.plot.cycles().axes[1]
    assert low.get_xlabel().startswith("time")


def test_a_rupture_is_a_band():
    fault = Fault(
        AgeingLaw(a=0.01, b=0.02, length=1e-4),
        cells=24,
        length=3.0,
        normal_stress=1e7,
        shear_modulus=1e9,
        plate_speed=1e-6,
        surface="none",
        speed_start=1.5e-6,
    )
    run = st.solve(fault, Cycles(rtol=1e-6), (0.0, 6000.0), save=9)
    onsets = sum(kind == "onset" for kind in run.event_log.kind)
    ax = run.plot.slip().axes[0]
    assert 0 < onsets == len(ax.collections)
    assert len(ax.lines) == 9
    assert run.plot.default == ("cycles", "slip")
