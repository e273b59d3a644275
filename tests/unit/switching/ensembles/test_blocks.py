"""The loop over blocks of starts: which starts, how many threads, what kernels are reported."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

from stiction.errors import ModelError
from stiction.switching.ensembles import blocks


def system(*, parallel=True, callbacks=()):
    compiled = SimpleNamespace(n=2, m=1, parallel=parallel, keep=list(callbacks))
    return SimpleNamespace(compiled=compiled)


def task(starts=600, **change):
    given = {
        "system": system(), "x": np.zeros((starts, 2)), "sides": np.ones((starts, 1)),
        "dwell": np.full((starts, 2), np.inf), "t_end": 5.0,
        "method": SimpleNamespace(
            steps_allowed=lambda: 300, max_step=None, rtol=1e-8, atol=1e-10
        ),
        "stop": np.zeros(7, dtype=np.int64),
    }  # fmt: skip
    return blocks.Task(**given | change)


@pytest.mark.parametrize(
    ("parallel", "mode", "given", "threads"),
    [
        (True, "compiled", None, 3),
        (True, "compiled", 5, 5),
        # neither plain kernels nor functions that hold the interpreter gain by threads
        (True, "plain", None, 1),
        (True, "plain", 5, 1),
        (False, "compiled", None, 1),
        (False, "compiled", 5, 1),
    ],
)
def test_threads(monkeypatch, parallel, mode, given, threads):
    monkeypatch.setattr(blocks, "mode", lambda: mode)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2}, raising=False)
    assert blocks._workers(system(parallel=parallel), given) == threads


@pytest.mark.parametrize(("count", "threads"), [(6, 6), (None, 1)])
def test_threads_where_cores_are_unknown(monkeypatch, count, threads):
    monkeypatch.setattr(blocks, "mode", lambda: "compiled")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: count)
    assert blocks._workers(system(), None) == threads


@pytest.mark.parametrize("workers", [0, 4097, 1.5])
def test_numbers_of_threads_that_make_no_sense(workers):
    with pytest.raises(ModelError, match=r"ensemble\.workers"):
        blocks._workers(system(), workers)


def test_grids():
    none = blocks._grid(task())
    assert none.axes.tolist() == [0, 0]
    assert none.cells.shape == (0, 0)
    grid = (np.array([1, 0]), np.array([-1.0, 2.0]), np.array([0.5, 0.25]), (3, 4))
    made = blocks._grid(task(grid=grid))
    assert made.axes.tolist() == [1, 0]
    assert made[1].tolist() == [[-1.0, 2.0], [0.5, 0.25]]
    assert made.cells.shape == (3, 4)
    assert not made.cells.any()


@pytest.fixture
def flows(monkeypatch):
    """Flows that say what they were made of, and a kernel that notes its calls."""
    seen = SimpleNamespace(flows=[], calls=[])

    class Flow:
        def __init__(self, compiled, tolerance, save, rows, *, energies):
            seen.flows.append((compiled, tolerance, save, rows, energies))
            self.arrays = ("work", "functions")

    def follow(work, functions, x, sides, dwell, stop, limits, grid, views):
        limit = limits[0]
        reported = (limit.t_end, limit.direction, limit.steps, limit.off)
        seen.calls.append((len(x), len(sides), len(dwell), reported, len(views.state)))
        views.state[:] = len(seen.calls)
        if grid.cells.size:
            grid.cells[...] += len(x)
        return 0.5 * len(x)

    monkeypatch.setattr("stiction.switching.flow.records.Flow", Flow)
    monkeypatch.setattr("stiction.switching.ensembles.kernels.follow", follow)
    return seen


def test_looks_stand_in_the_middle_of_their_intervals(flows):
    method = SimpleNamespace(max_step=0.25, rtol=1e-6, atol=1e-9)
    grid = (np.array([0, 1]), np.zeros(2), np.ones(2), (2, 2))
    blocks._flow(task(grid=grid, t_end=5.0, interval=2.0, method=method))
    blocks._flow(task(method=method))
    (compiled, tolerance, save, rows, energies), (_, _, none, _, _) = flows.flows
    assert save.tolist() == [1.0, 3.0, 5.0]
    assert none.size == 0
    assert (rows, energies, compiled.n) == (3, False, 2)
    assert {1e-6, 1e-9, 0.25} <= set(np.ravel(tolerance).tolist())


@pytest.mark.parametrize(("backward", "way"), [(False, 1.0), (True, -1.0)])
@pytest.mark.parametrize("threads", [1, 3])
def test_starts_are_followed_in_blocks_of_a_fixed_size(monkeypatch, flows, backward, way, threads):
    monkeypatch.setattr(blocks, "_workers", lambda system, workers: threads)
    monkeypatch.setattr(blocks, "_integrate_hops", lambda task, out: flows.calls.append("hop"))
    done = []
    made, density, outside = blocks.run_task(
        task(600, backward=backward, off=0.125), progress=done.append
    )
    hops = [call for call in flows.calls if call == "hop"]
    calls = [call for call in flows.calls if call != "hop"]
    assert sorted(call[0] for call in calls) == [88, 256, 256]
    for x, sides, dwell, reported, views in calls:
        assert x == sides == dwell == views
        assert reported == (way * 5.0, way, 300, 0.125)
    assert done == pytest.approx([256 / 600, 512 / 600, 1.0])
    assert outside == 300.0
    assert density.shape == (0, 0)
    assert (made.state > 0.0).all()
    # only what runs forward, without an end of its own, is taken further
    assert len(hops) == (not backward)
    assert len(flows.flows) == threads


def test_steps_of_a_start_are_bounded(monkeypatch, flows):
    monkeypatch.setattr(blocks, "_workers", lambda system, workers: 1)
    method = SimpleNamespace(steps_allowed=lambda: 10**9, max_step=None, rtol=1e-8, atol=1e-10)
    grid = (np.array([0, 1]), np.zeros(2), np.ones(2), (2, 3))
    _, density, outside = blocks.run_task(task(300, method=method, grid=grid))
    assert {call[3][2] for call in flows.calls} == {blocks.MOST_STEPS}
    assert density.tolist() == [[300.0] * 3] * 2
    assert outside == 150.0


@pytest.mark.parametrize(
    ("change", "hops"), [({}, 1), ({"grid": 1}, 0), ({"backward": True}, 0), ({"stop": 4}, 0),
                         ({"stop": 5}, 1)],
)  # fmt: skip
def test_what_is_taken_further(monkeypatch, flows, change, hops):
    seen = []
    monkeypatch.setattr(blocks, "_workers", lambda system, workers: 1)
    monkeypatch.setattr(blocks, "_integrate_hops", lambda task, out: seen.append(1))
    if "grid" in change:
        change = {"grid": (np.array([0, 1]), np.zeros(2), np.ones(2), (2, 3))}
    if "stop" in change:
        stop = np.zeros(7, dtype=np.int64)
        stop[change["stop"]] = 1
        change = {"stop": stop}
    blocks.run_task(task(10, **change))
    assert len(seen) == hops


def test_functions_of_users_are_asked_after_every_block(monkeypatch, flows):
    asked = []
    monkeypatch.setattr(blocks, "_workers", lambda system, workers: 1)
    monkeypatch.setattr(blocks, "_integrate_hops", lambda task, out: None)
    callbacks = (SimpleNamespace(check=lambda: asked.append(1)), object())
    blocks.run_task(task(600, system=system(callbacks=callbacks)))
    assert len(asked) == 3
