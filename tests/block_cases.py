"""Blocks of chains beside single runs: what both test modules of blocks compare."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.core.ledger import COLUMNS
from stiction.core.run import Request
from stiction.core.summary import doubts
from stiction.numerics.jit import mode
from stiction.studies.results import Reading, results_of, standard_results

SPAN = (0.0, 6.0)
REQUEST = Request(*SPAN, np.array(SPAN))
# results that chains have under every method
NAMES = (
    "onset_time",
    "onset_force",
    "critical_force",
    "stop_time",
    "stick_above_kinetic",
    "final.x",
    "final.v",
    *(f"energy.{name}" for name in COLUMNS),
    *(f"events.{kind}" for kind in ("slip", "stick", "reverse", "stop")),
    "stats.events",
    "audit.ledger_closes",
    "audit.friction_dissipates",
    "audit.stick_within_bound",
    "audit.slip_against_friction",
)

needs_compiler = pytest.mark.skipif(mode() == "plain", reason="blocks are compiled code")


def check_block(blocks_of, chain, method, path, values, more=()):
    """Compare a block with single runs; return how many were passed, and how many were invalid.

    path : of the field that has the values, from the chain on
    more : names of results beside NAMES
    """
    names = names_of(chain, more)
    block = blocks_of(chain, method, REQUEST, [path], names)([values])
    return check_runs(block, single_runs(chain, method, path, values), names)


def check_sizes_and_orders(blocks_of, chain, method, path, values, more=()):
    """Compare blocks of 1, 2, 7 and all members, and all in other orders, with single runs.

    Returns (passed, invalid) of each of these blocks.
    """
    names = names_of(chain, more)
    runs = single_runs(chain, method, path, values)
    solve = blocks_of(chain, method, REQUEST, [path], names)
    every = np.arange(values.size)
    shuffled = np.random.default_rng(1).permutation(every)
    counts = {}
    for name, members in (
        *((f"the last {size}", every[-size:]) for size in (1, 2, 7)),
        ("all", every),
        ("reversed", every[::-1]),
        ("shuffled", shuffled),
    ):
        block = solve([np.ascontiguousarray(values[members])])
        counts[name] = check_runs(block, [runs[k] for k in members], names)
    return counts


def names_of(chain, more):
    """Return the names of all results that chains of this kind have."""
    return [n for n in (*NAMES, *more) if chain.law.has_jump or n != "stick_above_kinetic"]


def single_runs(chain, method, path, values):
    """Return the run of each member by itself."""
    runs = []
    for value in values.tolist():
        law = dataclasses.replace(chain.law, **{path[1]: value}) if path[0] == "law" else chain.law
        other = {} if path[0] == "law" else {path[0]: value}
        one = dataclasses.replace(chain, law=law, **other)
        runs.append(st.solve(one, method, SPAN, save=2, throw=False))
    return runs


def check_runs(block, runs, names):
    """Compare a block with the runs of its members; return how many were passed and invalid."""
    passed = invalid = 0
    for k, run in enumerate(runs):
        good = run.status.ok and not doubts(run)
        invalid += not good
        # invalid members are repeated as single runs, which is always right; the reverse never is
        assert not (block.valid[k] and not good)
        if not block.valid[k]:
            continue
        passed += 1
        reported = standard_results(run)
        assert (reported["status"], reported["losses"], reported["audit_failed"]) == (0, 0, 0)
        assert block.reached[k] == reported["reached"]
        for name, saved in results_of(run, Reading(tuple(names)), lenient=True).items():
            # a result that a run does not have is one number there
            values = block.results[name][k]
            wanted = np.broadcast_to(saved.values, values.shape)
            assert np.array_equal(values, wanted, equal_nan=True), name
        assert block.events[k] == reported["events"]
        assert block.imbalance[k] == reported["imbalance"]
    return passed, invalid


def check_divided(solve, columns):
    """Solve 64 members in blocks of 1, 2, 7 and 64, and shuffled: all give the same bits."""
    assert {len(column) for column in columns} == {64}
    whole, shuffled = solve(columns), np.random.default_rng(4).permutation(64)
    assert whole.valid.any()
    for size, order in ((1, range(64)), (2, shuffled), (7, range(64)), (64, shuffled)):
        for begin in range(0, 64, size):
            rows = np.array(order)[begin : begin + size]
            part, good = solve([column[rows] for column in columns]), whole.valid[rows]
            assert np.array_equal(part.valid, good)
            assert np.array_equal(part.reached[good], whole.reached[rows][good])
            assert np.array_equal(part.events[good], whole.events[rows][good])
            assert np.array_equal(part.imbalance[good], whole.imbalance[rows][good])
            for name, values in part.results.items():
                wanted = whole.results[name][rows][good]
                assert np.array_equal(values[good], wanted, equal_nan=True), name
