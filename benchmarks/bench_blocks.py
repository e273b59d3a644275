"""Studies whose members are solved in blocks: processor time of a member, beside one by one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from bench_studies import processor_time, swept
from record import Record, record_all

import stiction as st
from stiction.core.method import Method


def in_blocks_and_alone(
    record: Record, what: str, sweep: Callable[[int], st.Sweep], members: tuple[int, int]
) -> None:
    """Compare the processor time of members in blocks with that of members one by one.

    Parameters
    ----------
    sweep : of so many members
    members : in blocks, and one by one
    """
    method = type(sweep(2).scenario.method)
    spent, tables = [], []
    for count, blocks in zip(members, (method.blocks, Method.blocks), strict=True):
        saved, method.blocks = method.blocks, blocks
        try:
            swept(sweep(8), 1)
            begin = processor_time()
            _, study = swept(sweep(count), 1)
            spent.append((processor_time() - begin) / count)
            tables.append(study.counts())
        finally:
            method.blocks = saved
    each, alone = spent
    record.add("blocks", what=what, members=members[0], each=each, alone=alone, counts=tables[0])
    reported = f"{1e3 * each:.2f} ms of a core a member, {1e3 * alone:.2f} one by one"
    record.target(f"{what}: in blocks", "less than one by one", reported, each < alone)


def sliders_and_strings(record: Record, quick: bool) -> None:
    """Solve spring sliders under rate-and-state friction, and rolling strings, in blocks."""
    slider = st.faults.SpringSlider(
        st.laws.AgeingLaw(a=0.01, b=0.02, length=1e-5), impedance=3e6, speed_start=9e-7
    )
    cycles = st.faults.Cycles(rtol=1e-6)

    def sliders(members: int) -> st.Sweep:
        fields = {"spring": np.linspace(1e9, 4e9, members)}
        return st.Sweep(slider, fields, t_span=(0.0, 300.0), method=cycles)

    what = "spring sliders, ageing law, 300 s"
    in_blocks_and_alone(record, what, sliders, (500, 100) if quick else (20_000, 1000))
    scenario = st.read_scenario("string-figure-2")
    for save in (2, None):
        method = dataclasses.replace(scenario.method, step=5e-3)
        given = dataclasses.replace(scenario, method=method, t_end=4.0, save=save)

        def strings(members: int, given: object = given) -> st.Sweep:
            return st.Sweep(given, {"G1": np.linspace(0.2, 0.7, members)}, results="agrees_until")

        what = f"rolling strings, 800 steps, {save or 1001} saved states"
        in_blocks_and_alone(record, what, strings, (32, 16) if quick else (400, 100))


if __name__ == "__main__":
    record_all("blocks", __doc__, sliders_and_strings)
