"""Laws and systems of other packages: found by entry points, and harmless when broken."""

import contextlib
import dataclasses
import importlib
import os
import shutil
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest

import stiction as st
from stiction import catalogue
from stiction.errors import ExtensionWarning
from stiction.io.checkpoint_file import FileCheckpoint
from stiction.io.scenario import write_scenario
from stiction.studies.sweep import code_digest

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "examples" / "plugin"
SLOW, FAST, HALF, G = 0.1, 0.02, 0.5, 9.81


def installed(site, name, version, groups, modules=()):
    """Lay a distribution into a folder as pip does: modules, and metadata beside them."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [f"[{g}]\n" + "".join(f"{n} = {v}\n" for n, v in e.items()) for g, e in groups.items()]
    (info / "entry_points.txt").write_text("\n".join(lines))
    for module, text in dict(modules).items():
        path = site / f"{module}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


@pytest.fixture(scope="module")
def puck(tmp_path_factory):
    """A folder that holds the example package as its pyproject.toml installs it."""
    site = tmp_path_factory.mktemp("site")
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text("utf-8"))["project"]
    installed(site, project["name"], project["version"], project["entry-points"])
    caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PLUGIN / "stiction_puck", site / "stiction_puck", ignore=caches)
    return site


@contextlib.contextmanager
def on_path(*sites):
    """Take folders into the path of this process, and read extensions anew before and after."""
    before = list(sys.path)
    sys.path[:0] = [str(site) for site in sites]
    importlib.invalidate_caches()
    catalogue.outside.cache_clear()
    try:
        yield
    finally:
        sys.path[:] = before
        theirs = tuple(str(site) for site in sites)
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", "")).startswith(theirs):
                del sys.modules[name]
        for package in (st, st.laws):
            for name in ("Puck", "Fading"):
                vars(package).pop(name, None)
        catalogue.outside.cache_clear()


@pytest.fixture
def command(tmp_path):
    """Run a command in a process of its own with folders on its path; return what it did."""

    def run(site, *words):
        path = os.pathsep.join([str(ROOT / "src"), str(site)])
        return subprocess.run(
            [sys.executable, "-m", "stiction", *map(str, words)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def stop_time(speed):
    """Return when a puck stops under the law of the example, in closed form [s]."""
    u = speed / HALF
    return HALF / (G * FAST) * (u + (1.0 - SLOW / FAST) * np.log1p(FAST * u / SLOW))


def test_a_file_runs_on_the_command_line(puck, command, tmp_path):
    done = command(puck, "run", PLUGIN / "puck.toml")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("SOLVED, audit held: Puck by Sliding, 1 puck, t = 0 ... 10 s")
    assert f"stop_time = {stop_time(2.0):.9g} s" in done.stdout
    # no kernels of ours belong to it
    assert "kernels" not in done.stderr
    folder = tmp_path / "out" / "puck"
    assert (folder / "figures" / "slide.png").stat().st_size > 1000
    (tmp_path / "puck.toml").write_text((folder / "scenario.toml").read_text())
    again = command(puck, "run", tmp_path / "puck.toml", "--overwrite", "--no-figures")
    assert again.returncode == 0, again.stderr
    shown = command(puck, "show", "out/puck")
    assert shown.stdout.splitlines()[:3] == done.stdout.splitlines()[:3]
    wrong = command(puck, "run", PLUGIN / "puck.toml", "--set", "system.law.slow=-1")
    assert wrong.returncode == 2
    assert "Fading.slow: got -1" in wrong.stderr


def test_a_law_of_theirs_drives_a_system_of_ours(puck, command):
    setting = 'system.law={type="Fading"}'
    done = command(puck, "run", "belt", "--set", setting, "--set", "solve.t_end=3", "--no-figures")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("SOLVED, audit held: Chain by EventDriven")
    near = command(puck, "run", "belt", "--set", 'system.law={type="Fadin"}')
    assert near.returncode == 2
    assert "did you mean 'Fading'?" in near.stderr
    assert "one of AgeingCoulomb, BoucWen, Coulomb, " in near.stderr


def test_they_have_names_in_python(puck, tmp_path):
    with on_path(puck):
        thrown = st.Puck(speed=2.0, law=st.Coulomb(0.05))
        run = st.solve(thrown, t_span=(0.0, 10.0), save=11)
        assert run.audit.ok
        assert run.quantities["stop_time"].value == pytest.approx(2.0 / (0.05 * G), rel=1e-10)
        assert run.final["x"][0] == pytest.approx(4.0 / (2.0 * 0.05 * G), rel=1e-10)
        law = st.laws.Fading(slow=SLOW, fast=FAST, half_speed=HALF)
        faded = st.solve(st.Puck(speed=2.0, law=law), t_span=(0.0, 10.0))
        assert faded.quantities["stop_time"].value == pytest.approx(stop_time(2.0), rel=1e-9)
        loaded = st.load(faded.save(tmp_path / "saved"))
        assert loaded.system == faded.system
        assert loaded.plot.NAMES == ("slide",)
        v = np.array([0.0, 0.1, 2.0])
        slope = (law.coefficient(v + 1e-6) - law.coefficient(v)) / 1e-6
        assert law.slope(v) == pytest.approx(slope, rel=1e-5)
    with pytest.raises(AttributeError, match="no attribute 'Puck'"):
        st.Puck  # noqa: B018


def test_a_class_of_a_script_is_not_taken_for_theirs(puck):
    with on_path(puck):
        assert catalogue.package_of("Puck") == "stiction_puck"
        assert catalogue.package_of("Puck", st.Puck()) == "stiction_puck"

        class Puck:
            pass

        assert catalogue.package_of("Puck", Puck()) == ""


def test_a_run_and_a_study_say_whose_code_they_used(puck, tmp_path):
    site = tmp_path / "site"
    shutil.copytree(puck, site)
    table = (PLUGIN / "puck.toml").read_text("utf-8")
    ours = write_scenario(st.read_scenario("slip-wave"))
    plain = code_digest(ours)
    with on_path(site):
        run = st.read_scenario(table).solve()
        assert run.provenance["extensions"] == "stiction-puck 0.1"
        before = code_digest(table)
        assert before != plain
        # what the scenario does not name does not count
        assert code_digest(ours) == plain
        st.Sweep(table, {"speed": [1.0, 2.0]}, results="stop_time").run(
            tmp_path / "study", workers=1
        )
        with (site / "stiction_puck" / "law.py").open("a") as file:
            file.write("# changed\n")
        assert code_digest(table) != before
        with pytest.raises(st.StoreError, match="a study of other code of stiction"):
            st.Sweep(table, {"speed": [1.0, 2.0, 3.0]}, results="stop_time").run(tmp_path / "study")
        checkpoint = FileCheckpoint(tmp_path / "c", table)
        found = catalogue.outside("System")
        found["Puck"] = dataclasses.replace(found["Puck"], distribution="stiction-puck 0.2")
        assert FileCheckpoint(tmp_path / "c", table)._key != checkpoint._key


def test_doctor_lists_them(puck, command):
    listed = command(puck, "doctor").stdout
    assert "  Fading            a friction law of stiction-puck 0.1\n" in listed
    assert "  Puck              a system of stiction-puck 0.1\n" in listed


def test_nothing_is_read_before_it_is_needed(puck):
    code = (
        "import sys, stiction as st\n"
        "from stiction.cli.main import app\n"
        "scenario = st.read_scenario('slip-wave', ['solve.t_end=1.0'])\n"
        "st.solve(scenario.system, scenario.method, scenario.t_span).save('out')\n"
        "st.load('out'), st.laws.Dahl, dir(st), st.solids.Fixed\n"
        "assert 'stiction._extensions' not in sys.modules\n"
        "from stiction_puck.law import Fading\n"
        "belt = st.Chain(mass=[1.0], stiffness=1.0, law=Fading())\n"
        "run = st.solve(belt, t_span=(0.0, 1.0))\n"
        "assert run.provenance['extensions'] == 'stiction-puck 0.1'\n"
        "st.Puck\n"
        "assert 'stiction_puck.model' in sys.modules\n"
    )
    path = os.pathsep.join([str(ROOT / "src"), str(puck)])
    env = {**os.environ, "PYTHONPATH": path, "STICTION_KERNELS": "plain"}
    where = puck.parent
    done = subprocess.run([sys.executable, "-c", code], cwd=where, env=env, capture_output=True)
    assert done.returncode == 0, done.stderr


def warned(kind, names=()):
    """Return what a kind has outside, and the warnings while it is read and names are asked for."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = dict(catalogue.outside(kind))
        there = [name for name in names if catalogue.module_outside(kind, name)]
    assert all(one.category is ExtensionWarning for one in said)
    return found, there, [str(one.message) for one in said]


def test_names_that_are_taken_are_refused(puck, tmp_path):
    law = {"stiction.laws": {"Coulomb": "greedy:Coulomb", "Fading": "greedy:Fading"}}
    installed(tmp_path, "greedy-laws", "2.0", law)
    with on_path(puck, tmp_path):
        found, _, said = warned("Friction")
        assert {n: e.distribution for n, e in found.items()} == {"Fading": "stiction-puck 0.1"}
        taken = [line.partition(";")[0] for line in said]
        assert taken == [
            "stiction.laws of greedy-laws 2.0: got Coulomb, a name of stiction",
            "stiction.laws of greedy-laws 2.0: got Fading, a name of stiction-puck 0.1",
        ]
        assert "uninstall it." in said[0]
        assert type(st.read_scenario("slip-wave").system.law) is st.Coulomb


BROKEN = {
    "raises while it is imported": ("Bad = bad:Bad", "raise RuntimeError('boom')", "boom"),
    "has no such class": ("Bad = bad:Bad", "", "AttributeError"),
    "is no law": ("Bad = bad:Bad", "class Bad: ...", "does not inherit stiction.laws.friction"),
    "has another name": ("Bad = bad:Other", "", "got Bad = bad:Other"),
    "names no class": ("Bad = bad", "", "got Bad = bad"),
    "leads nowhere": ("Bad = not there:Bad", "", "metadata that cannot be read"),
    "is no pair": ("Bad", "", "metadata that cannot be read"),
}


@pytest.mark.parametrize(("line", "text", "words"), BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_named_and_left_out(puck, tmp_path, line, text, words):
    installed(tmp_path, "bad-laws", "1.0", {}, {"bad": text})
    info = tmp_path / "bad_laws-1.0.dist-info"
    (info / "entry_points.txt").write_text(f"[stiction.laws]\n{line}\n")
    with on_path(tmp_path, puck):
        _, there, said = warned("Friction", ["Bad", "Fading"])
        assert there == ["Fading"]
        assert len(said) == 1
        assert words in said[0]
        assert "bad-laws 1.0" in said[0] or "bad_laws-1.0" in said[0]
        # it is reported once, and no longer listed
        found, there, said = warned("Friction", ["Bad"])
        assert (set(found), there, said) == ({"Fading"}, [], [])


def test_a_system_without_its_method_is_left_out(tmp_path):
    model = (
        "import dataclasses\nfrom stiction.core.fields import Declared\n"
        "@dataclasses.dataclass(frozen=True, eq=False, repr=False)\n"
        "class Lonely(Declared):\n    default_method = 'Nothing'\n"
    )
    group = {"stiction.systems": {"Lonely": "lonely.model:Lonely"}}
    installed(tmp_path, "lonely", "1.0", group, {"lonely/model": model})
    with on_path(tmp_path):
        _, there, said = warned("System", ["Lonely"])
        assert (there, len(said)) == ([], 1)
        assert "No module named 'lonely.methods'" in said[0]
        assert "a system beside its `methods`" in said[0]


def test_the_command_line_names_what_is_broken_and_goes_on(puck, command):
    site = puck.parent / "broken"
    shutil.copytree(puck, site)
    installed(site, "bad-laws", "1.0", {"stiction.laws": {"Bad": "bad:Bad"}}, {"bad": "1 / 0"})
    done = command(site, "run", PLUGIN / "puck.toml", "--no-figures")
    assert (done.returncode, done.stderr) == (0, "")
    asked = command(site, "run", PLUGIN / "puck.toml", "--set", 'system.law={type="Bad"}')
    assert asked.returncode == 2
    first = "stiction.laws of bad-laws 1.0: got ZeroDivisionError: division by zero; needs a class"
    assert asked.stderr.startswith(first)
    assert "system.law.type: got 'Bad'; needs one of " in asked.stderr
    examined = command(site, "doctor")
    assert examined.returncode == 2
    assert "! stiction.laws" in examined.stdout
    assert "  Puck              a system of stiction-puck 0.1\n" in examined.stdout
