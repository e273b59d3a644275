"""Kernels as the plain Python that they are written in, where NumPy has a body of its own too.

What is compiled is seen in this way by tests that run without a compiler.
"""

import contextlib

from stiction.numerics import jit


@contextlib.contextmanager
def by_bodies():
    """Run every kernel that is known by now as what is compiled of it, without compiling."""
    with jit.running("plain"):
        for one in jit.KERNELS:
            one._run = one.py_func
        try:
            yield
        finally:
            for one in jit.KERNELS:
                one.set_mode("plain")


def in_both_bodies(action):
    """Return what an action gives with NumPy's bodies, and with those that are compiled."""
    with jit.running("plain"):
        plain = action()
    with by_bodies():
        return plain, action()
