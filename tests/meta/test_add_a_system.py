"""The page that says how to add a system, done word by word."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

PAGE = "docs/howto/add-a-system.md"


@pytest.fixture(scope="module")
def tree(root, tmp_path_factory):
    """A copy of the package with what the page adds: one folder, and one line."""
    folder = tmp_path_factory.mktemp("tree")
    caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(root / "src" / "stiction", folder / "src" / "stiction", ignore=caches)
    text = (root / PAGE).read_text(encoding="utf-8")
    places = re.findall(r"`(src/stiction/sledge/[\w/.-]+)`.*?```(?:py|toml)\n(.*?)```", text, re.S)
    for place, body in places:
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, encoding="utf-8")
    assert len(places) == 7
    (line,) = re.findall(r"```text\n(.*?)```", text, re.S)
    table = folder / "src" / "stiction" / "catalogue.py"
    before = table.read_text(encoding="utf-8")
    head = '        "a system",\n        {\n'
    assert before.count(head) == 1
    assert line.count("\n") == 1
    table.write_text(before.replace(head, head + line), encoding="utf-8")
    return folder


@pytest.fixture
def python(tree, tmp_path):
    """Run Python with that copy in an empty folder, and return what it printed."""

    def run(code, *arguments, code_wanted=0):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tree / "src")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == code_wanted, done.stderr
        return done.stdout

    return run


COMMAND = "from stiction.cli.main import main; main()"


def test_the_command_line_works_with_it(python, tmp_path):
    listed = python(COMMAND, "list")
    assert re.search(r"^sledge\b.*\n  sledge-pulled +A sledge pulled evenly", listed, re.M), listed
    screen = python(COMMAND, "run", "sledge-pulled", "--set", "system.speed=2.0")
    assert screen.startswith("SOLVED, audit held: Sledge by Sliding, 1 block, t = 0 ... 10 s")
    assert "steady_pull = 4.142 N" in screen
    folder = tmp_path / "out" / "sledge-pulled"
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["system"] == "Sledge"
    assert summary["energy"]["imbalance_rel"] < 1e-9
    assert [line["check"] for line in summary["audit"]] == ["ledger_closes", "keeps_sliding"]
    # mu0 + drop z with z = 1/(1 + v healing / length), times the weight of 2 kg
    pull = (0.2 + 0.1 / (1.0 + 2.0 * 2.0 / 0.5)) * 2.0 * 9.81
    assert abs(summary["quantities"]["steady_pull"]["value"] - pull) < 1e-12
    assert (folder / "figures" / "pull.png").stat().st_size > 1000
    shown = python(COMMAND, "show", str(folder))
    assert shown.splitlines()[0] == screen.splitlines()[0]
    drawn = python(COMMAND, "plot", str(folder), "--what", "pull", "--format", "svg")
    assert drawn.strip().endswith("pull.svg")


def test_python_works_with_it(python):
    printed = python(
        "import stiction as st\n"
        "run = st.solve(st.sledge.Sledge(speed=3.0), t_span=(0.0, 30.0), save=7)\n"
        "print(run.data.v.attrs['units'], float(run.data.v[-1]), run.audit.ok)\n"
        "print(run.plot.NAMES, st.read_scenario('sledge-pulled').system)\n"
        "loaded = st.load(run.save('saved'))\n"
        "assert loaded.system == run.system and str(loaded) == str(run)\n"
    )
    first, second = printed.splitlines()
    unit, v, held = first.split()
    assert (unit, held) == ("m/s", "True")
    # the ground damps nothing, so the sledge swings about the speed of the spring's end
    assert 0.0 < float(v) < 6.0
    assert second == "('pull',) Sledge(mass=2.0)"


def test_it_goes_on_from_a_checkpoint(python):
    printed = python(
        "import numpy as np\n"
        "import stiction as st\n"
        "class Memory:\n"
        "    state = None\n"
        "    def due(self): return self.state is None\n"
        "    def save(self, state): self.state = state\n"
        "    def load(self): return self.state\n"
        "saved = Memory()\n"
        "given = dict(t_span=(0.0, 10.0), save=11)\n"
        "whole = st.solve(st.sledge.Sledge(speed=3.0), checkpoint=saved, **given)\n"
        "print(saved.state['rows'].shape)\n"
        "again = st.solve(st.sledge.Sledge(speed=3.0), checkpoint=saved, **given)\n"
        "pairs = again.variables.items()\n"
        "same = [(whole.variables[name].values == v.values).all() for name, v in pairs]\n"
        "print(all(same))\n"
        "saved.state['rows'] = saved.state['rows'] * np.nan\n"
        "try:\n"
        "    st.solve(st.sledge.Sledge(speed=3.0), checkpoint=saved, **given)\n"
        "except st.StoreError as error:\n"
        "    print(str(error).splitlines()[0])\n"
    )
    shape, same, refused = printed.splitlines()
    assert (shape, same) == ("(2, 6)", "True")
    assert refused.startswith("checkpoint, array 'rows': got NaN")


def test_bad_input_is_refused_at_the_door(python, tmp_path):
    python(COMMAND, "run", "sledge-pulled", "--set", "system.mass=-1", code_wanted=2)
    python(COMMAND, "run", "sledge-pulled", "--set", "system.mas=1", code_wanted=2)
    python(COMMAND, "run", "sledge-pulled", "--set", "system.law={drop=-1}", code_wanted=2)
    python(COMMAND, "run", "sledge-pulled", "--set", "system.law={type='Coulomb'}", code_wanted=2)
    assert not (tmp_path / "out").exists()


def test_its_law_is_pure_and_its_audit_can_fail(python):
    printed = python(
        "import stiction as st\n"
        "slow = st.sledge.Sledge(speed=0.05, stiffness=5.0)\n"
        "run = st.solve(slow, t_span=(0.0, 30.0), throw=False)\n"
        "print(run.status.value, [c.check for c in run.audit.failed], len(run.event_log))\n"
    )
    assert printed.strip() == "no_continuation ['keeps_sliding'] 1"
