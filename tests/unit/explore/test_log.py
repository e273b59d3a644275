"""Lines of the log of a page."""

import logging

import pytest

from stiction.explore.server import _Line


def record(message, error=None):
    info = (type(error), error, error.__traceback__) if error is not None else None
    return logging.LogRecord("tornado", logging.ERROR, "f.py", 1, message, (), info)


def test_a_message_is_one_line():
    assert _Line().format(record("a\nb")) == r"stiction explore: 'a\nb'"
    assert len(_Line().format(record("x" * 500))) == len("stiction explore: ") + 200


def test_an_error_is_reported_with_its_place():
    def fails():
        raise ValueError("a stranger's words")

    with pytest.raises(ValueError, match="stranger") as caught:
        fails()
    line = fails.__code__.co_firstlineno + 1
    wanted = f"stiction explore: 'no' (ValueError at test_log.py:{line})"
    assert _Line().format(record("no", caught.value)) == wanted
    # one that was never raised has no place
    assert _Line().format(record("no", ValueError())) == "stiction explore: 'no' (ValueError)"
