"""A release of Numba that nobody has tried compiles by its own ways, to the same numbers."""

import json
import os
import subprocess
import sys
import textwrap

import numba
import pytest

_KERNELS = '''
from typing import NamedTuple

import numpy as np

from stiction.numerics.jit import kernel


class Chain(NamedTuple):
    """What a sweep reads."""

    x: np.ndarray
    k: float


@kernel
def stretch(chain, i):
    """Return a difference, or refuse."""
    if chain.k < 0.0:
        raise ValueError("a negative spring")
    return chain.x[i + 1] - chain.x[i]


@kernel
def energy(chain):
    """Return the energy of all springs."""
    total = 0.0
    for i in range(chain.x.size - 1):
        total += 0.5 * chain.k * stretch(chain, i) ** 2
    return total
'''

_RUN = """
import json, sys
import numba

numba.__version__ = sys.argv[1]

import numpy as np
from kernels import Chain, energy

x = np.linspace(0.0, 1.0, 9) ** 3
try:
    energy(Chain(x, -1.0))
    said = None
except ValueError as error:
    said = str(error)
print(json.dumps([energy(Chain(x, 20.0)), energy.py_func(Chain(x, 20.0)), said]))
"""


@pytest.mark.parametrize("version", [numba.__version__, "0.99.0"])
def test_an_unknown_release_gets_the_same_numbers(version, tmp_path):
    (tmp_path / "kernels.py").write_text(textwrap.dedent(_KERNELS))
    (tmp_path / "run.py").write_text(_RUN)
    variables = {
        **os.environ,
        "STICTION_CACHE_DIR": str(tmp_path / "saved"),
        "STICTION_KERNELS": "compiled",
    }
    for _ in range(2):  # compiled, and loaded
        run = subprocess.run(
            [sys.executable, str(tmp_path / "run.py"), version],
            env=variables,
            capture_output=True,
            text=True,
            check=True,
        )
        compiled, plain, said = json.loads(run.stdout)
        assert compiled == plain > 0.0
        assert said == "a negative spring"
