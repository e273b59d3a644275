"""Scenarios with mistakes and odd numbers are built, or refused in four parts: nothing else."""

import importlib
import re
import warnings
from pathlib import Path

import pytest

import stiction as st

TOOLS = Path(__file__).resolve().parents[2] / "tools" / "stress"
REFUSAL = re.compile(r"(?s).+: got .+; needs .+\nWhy: .+\nTry: .+")


@pytest.fixture(scope="module")
def fuzz():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.dont_write_bytecode", True)
        patch.syspath_prepend(str(TOOLS))
        yield importlib.import_module("fuzz")


@pytest.mark.parametrize("family", ["chains", "switching", "strings", "rods", "solids"])
def test_odd_scenarios_are_built_or_refused(fuzz, family):
    mutants = fuzz.Mutants([family])
    built, refused = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(25):
            _, _, text, settings = mutants.made(seed)
            try:
                st.read_scenario(text, settings)
                built += 1
            except st.StictionError as error:
                refused.append(str(error))
    assert built > 2
    assert len(refused) > 2
    assert [said for said in refused if not REFUSAL.fullmatch(said)] == []


def test_a_few_odd_chains_are_solved_or_refused(fuzz):
    mutants = fuzz.Mutants(["chains"])
    for seed in range(5000, 5008):
        _, name, text, settings = mutants.made(seed)
        found = fuzz.trial(text, settings)
        assert found["kind"] == "refused" or found["kind"].startswith("status"), (seed, name, found)
        assert found["warned"] == []
        assert found["cpu"] < 10.0
