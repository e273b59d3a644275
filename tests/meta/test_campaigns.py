"""Every campaign stands in the table of `tools/stress/all.py`, with settings that it has."""

import ast
import importlib.util
import runpy
import subprocess
import sys

import pytest

HELPERS = {"all", "forks"}


@pytest.fixture(scope="module")
def rows(root):
    path = root / "tools" / "stress" / "all.py"
    if not path.is_file():
        pytest.skip("this copy of the sources has no tools")
    return runpy.run_path(str(path), run_name="a_module")["ROWS"]


def scripts(root):
    found = {path.stem: path for path in (root / "tools" / "stress").glob("*.py")}
    found |= {path.stem: path for path in (root / "benchmarks").glob("trust_*.py")}
    return {name: path for name, path in found.items() if name not in HELPERS}


def test_every_campaign_stands_in_the_table(root, rows):
    assert rows.keys() == scripts(root).keys()


def test_settings_are_parameters_with_defaults(root, rows):
    for name, path in scripts(root).items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        (campaign,) = (node for node in tree.body if getattr(node, "name", None) == "campaign")
        known = [argument.arg for argument in campaign.args.args]
        assert len(campaign.args.defaults) == len(known), name
        row = rows[name]
        words = f"{row.quick or ''} {row.tiny or ''}".split()
        assert {word.partition("=")[0] for word in words} <= set(known), name


def test_campaigns_can_be_imported(root, rows):
    names = [
        name for name, row in rows.items() if not row.needs or importlib.util.find_spec(row.needs)
    ]
    code = "import runpy, sys; of = runpy.run_path(sys.argv[1])['campaign_of']; "
    code += "print(*[of(name).__module__ for name in sys.argv[2:]])"
    words = [sys.executable, "-B", "-c", code, str(root / "tools" / "stress" / "all.py"), *names]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout.split() == names, done.stderr[-500:]
