"""Runs pytest as often as it is asked, each time in a process that begins with all libraries read.

The first line of its input names the libraries; every further line is one run. For each it reports
the number of the process, and then what pytest returned.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import sys
import warnings
from typing import Any


def _read_libraries(names: list[str]) -> None:
    with warnings.catch_warnings(action="ignore"):
        for name in names:
            # one that is not installed, or refuses, is for the tests to report of
            with contextlib.suppress(BaseException):
                importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _say(**row: int) -> None:
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def _run(order: dict[str, Any]) -> None:
    """Be the process of one run."""
    code = 70
    try:
        os.setsid()
        os.environ.update(order["environment"])
        for stream, (name, flags) in enumerate(
            [(os.devnull, os.O_RDONLY), (order["output"], os.O_WRONLY | os.O_APPEND)]
        ):
            os.dup2(os.open(name, flags), stream)
        os.dup2(1, 2)
        sys.argv = ["pytest", *order["words"]]
        sys.path.insert(0, os.getcwd())
        import pytest

        code = int(pytest.main(order["words"]))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def main() -> None:
    """Read orders until there are no more."""
    _read_libraries(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _run(json.loads(line))
        _say(pid=child)
        _, status = os.waitpid(child, 0)
        _say(code=os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
