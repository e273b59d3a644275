"""Quiet theta steps for a graphics card: the sources of the processor, in the simulator and as PTX.

Both run in processes of their own: the simulator is chosen before numba is imported, and PTX is
written without a card, whose kind is told beforehand.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap

import pytest

has_cuda = importlib.util.find_spec("numba_cuda") is not None
needs_cuda = pytest.mark.skipif(
    not has_cuda, reason="numba-cuda is not installed; it comes with the extra `gpu`"
)

# each thread makes quiet steps of the chains that are its own
KERNEL = """
import math
import types
import numpy as np
import stiction as st
from numba import cuda
from stiction.chains.theta import quiet_kernels, state
from stiction.chains.theta.exact_kernels import prepare
from stiction.numerics.compiling.cards import for_card


def sine(x):
    return math.sin(x)


def no_call(address, t):
    return 0.0


specials = {"sin": cuda.jit(device=True)(sine), "call": cuda.jit(device=True)(no_call)}
quiet = for_card(cuda, quiet_kernels.quiet_steps, {}, specials)


def launch(p, pieces, sines, f, m, progress, steps, made):
    b = cuda.grid(1)
    if b < made.size:
        made[b] = quiet(p, pieces[b], sines[b], f[b], m[b], progress[b], steps)
"""
SIMULATED = """
from stiction.chains.blocks import steps as blocks
from stiction.core.run import Request

chain = st.Chain(mass=[1.0, 1.0], stiffness=20.0, load=st.Ramp(1.0), law=st.Coulomb(0.05))
span = (0.0, 2.0)
request, method = Request(*span, np.array(span)), st.ThetaStepper(step=0.01)
lots = []
real = blocks._Lot.solve
blocks._Lot.solve = lambda lot: lots.append(lot) or real(lot)
blocks.blocks_of(chain, method, request, [("law", "mu")], [])([np.linspace(0.01, 0.5, 5)])
lot, p = lots[0].lot, lots[0].problem
lots[0]._begin()
fresh = lots[0].lot
fresh.motion.slip_rate[:, :2] = 0.1
fresh.modes.now[:, :2] = 1
for b in range(5):
    prepare(p, fresh.f[b], fresh.m[b])
given = [fresh.pieces, fresh.sines, fresh.f, fresh.m, fresh.progress]
one, two = ([a.copy() for a in given] for _ in range(2))
made, wanted = np.zeros(5, np.int64), np.zeros(5, np.int64)
cuda.jit(launch)[1, 8](p, *one, 20, made)
for b in range(5):
    wanted[b] = quiet_kernels.quiet_steps.py_func(p, *(a[b] for a in two), 20)
assert made.tolist() == wanted.tolist() and made.max() > 3, (made, wanted)
assert all(a.tobytes() == b.tobytes() for a, b in zip(one, two))
print("same bits", made.tolist())
"""
WRITTEN = """
from numba.core import types as kinds
from numba.np.numpy_support import from_dtype
from numba.cuda import cuda_paths, dispatcher
from numba.cuda.cudadrv import nvrtc

# NVRTC, 90 MB, only says where it lies and which cards it knows; NVVM does the work
cuda_paths._get_nvrtc_path = lambda: None
nvrtc.get_supported_ccs = lambda: ((8, 0),)
dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=(8, 0))
known = {"int": kinds.int64, "float": kinds.float64, "bool": kinds.boolean}
fields = [known[kind.__forward_arg__] for kind in state.Problem.__annotations__.values()]
three = kinds.float64[:, :, ::1]
piece, sine, entry = (from_dtype(one.fields_type) for one in
                      (state.LoadPiece, state.Sine, state.Progress))
arrays = [piece[:, ::1], sine[:, ::1], three, kinds.int8[:, :, ::1], entry[::1]]
given = [kinds.NamedTuple(fields, state.Problem), *arrays, kinds.int64, kinds.int64[::1]]
ptx, _ = cuda.compile_ptx(launch, kinds.void(*given), cc=(8, 0))
assert ".target sm_80" in ptx and ptx.count(".visible .entry") == 1
# nothing is left for the processor to link
assert ".extern .func" not in ptx.replace("vprintf", "")
print("written", len(ptx))
"""


def told(script, **variables):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KERNEL + script)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if "DynamicLibNotFoundError" in done.stderr:
        pytest.skip(
            "the compiler of CUDA (NVVM) is not installed: the extra `test` has it on Linux"
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_cuda
def test_the_bits_of_the_processor():
    assert "same bits" in told(SIMULATED, NUMBA_ENABLE_CUDASIM="1")


@needs_cuda
def test_ptx_is_written_without_a_card():
    assert "written" in told(WRITTEN)
