"""The ensemble compiled for a graphics card, run by the simulator of one."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap

import pytest

needs_cuda = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None,
    reason="numba-cuda is not installed; it comes with the extra `gpu`",
)

# the simulator is chosen by the environment before numba is imported: another process
SCRIPT = """
import warnings
import numpy as np
from stiction.switching.ensembles.gpu import ensemble_on_gpu
from stiction.switching.ensembles.study import ensemble
from stiction.switching.wheel.model import WheelOnTurntable

# where compiled code divides by zero as C does, the simulator warns
warnings.filterwarnings("ignore", category=RuntimeWarning)
wheel = WheelOnTurntable()
# one that slips onto the line, one that slides on it, one that sits in the escaping region
x = [[0.17, 0.0, -1.001], [0.2, 0.0008, -0.998], [0.16, -0.005, -1.005944]]
card = ensemble_on_gpu(wheel, x, 0.6)
processor = ensemble(wheel, x, 0.6, workers=1)
assert card.end.tolist() == processor.end.tolist(), (card.end, processor.end)
assert np.allclose(card.state, processor.state, rtol=0.0, atol=1e-12)
assert np.allclose(card.time, processor.time, rtol=1e-11, atol=0.0)
assert (card.steps == processor.steps).all()
assert (card.counts == processor.counts).all()
print(card.end.tolist(), card.steps.tolist())
"""


@needs_cuda
def test_same_as_on_the_processor():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "codim2_line" in done.stdout


def test_without_a_card_it_says_so():
    from stiction.errors import ModelError
    from stiction.switching.ensembles.gpu import ensemble_on_gpu
    from stiction.switching.wheel.model import WheelOnTurntable

    try:
        from numba import cuda

        present = cuda.is_available()
    except ImportError:
        present = False
    if present:
        pytest.skip("there is a graphics card here")
    with pytest.raises(ModelError, match="extra `gpu`"):
        ensemble_on_gpu(WheelOnTurntable(), [[0.2, 0.1, -0.95]], 1.0)
