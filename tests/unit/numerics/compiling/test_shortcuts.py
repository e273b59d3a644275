"""Shorter ways through Numba's front end: the same answers, and Numba's own ways afterwards."""

import numpy as np
import pytest
from numba.core import compiler, ir
from numba.core.postproc import PostProcessor
from numba.core.types.functions import BaseFunction

from stiction.numerics.compiling.front.shortcuts import shortcuts


def sample(a, pair):
    total = 0.0
    for i in range(a.size):
        if a[i] > 0.0:
            total += np.exp(a[i]) * pair[0]
        else:
            total, a[i] = -total, max(pair[1], a[i])
    return total, (a, pair)


def statements():
    code = compiler.run_frontend(sample)
    return [line for block in code.blocks.values() for line in block.body]


def test_the_same_variables_are_found():
    lines = statements()
    theirs = [line.list_vars() for line in lines]
    with shortcuts():
        assert [line.list_vars() for line in lines] == theirs
    assert sum(map(len, theirs)) > 50


def test_variables_end_where_they_did():
    """Statements that end a variable's life stand where Numba puts them."""
    texts = []
    for short in (False, True):
        code = compiler.run_frontend(sample)
        with shortcuts() if short else pytest.MonkeyPatch.context():
            PostProcessor(code).run(emit_dels=False)
            PostProcessor(code).run(emit_dels=True)
        texts.append([str(line) for block in code.blocks.values() for line in block.body])
    assert texts[0] == texts[1]
    assert any(text.startswith("del ") for text in texts[0])


def test_numbas_own_ways_come_back():
    def ways():
        return ir.Inst._rec_list_vars, BaseFunction.get_call_type, PostProcessor.run

    def fails_inside():
        with shortcuts(), shortcuts():
            assert not set(before) & set(ways())
            raise ZeroDivisionError

    before = ways()
    with pytest.raises(ZeroDivisionError):
        fails_inside()
    assert ways() == before
