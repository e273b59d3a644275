"""Memory that is freed and asked for again; in processes of their own, as it cannot be undone."""

import os
import subprocess
import sys

import pytest

FAULTS = """
import resource
from ctypes import CDLL, c_size_t, c_void_p, memset
from stiction.numerics.direct import heap
{first}
library = CDLL(None)
library.malloc.restype, library.malloc.argtypes = c_void_p, (c_size_t,)
library.free.argtypes = (c_void_p,)
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    block = library.malloc(100 * 2**20)
    memset(c_void_p(block), 1, 20 * 2**20)
    library.free(block)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
print(faults())
"""
KEEP = "print(heap.keep_freed())"


def said(first, **variables):
    """Return what such a process prints."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    run = [sys.executable, "-c", FAULTS.format(first=first)]
    done = subprocess.run(run, capture_output=True, text=True, check=True, env=kept | variables)
    return done.stdout.split()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc alone is asked")
def test_memory_is_kept():
    kept, faults = said(KEEP)
    if kept == "False":
        pytest.skip("the C library is not glibc")
    assert int(faults) < 100
    # in somebody else's process nothing is changed, in ours it is
    assert int(said("heap.keep_where_ours()")[0]) > 1000
    assert int(said("heap.say_ours(); heap.keep_where_ours()")[0]) < 100


def test_what_a_user_set_stays():
    assert said(KEEP, MALLOC_TRIM_THRESHOLD_="131072")[0] == "False"
