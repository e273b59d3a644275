"""No run uses code that is no longer there: an edit anywhere below a kernel is seen."""

import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import stiction
from stiction.numerics.compiling.digest import reached_by
from stiction.numerics.jit import KERNELS


def answer(tree: Path, saved: Path) -> str:
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tree}{os.pathsep}{tree.parent}",
        "STICTION_CACHE_DIR": str(saved),
        "STICTION_KERNELS": "compiled",
    }
    code = "from caller import value; print(value())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def copy(tmp_path):
    """A copy of the package, and a kernel that calls one of its kernels through another."""
    source = Path(stiction.__file__).parent
    tree = tmp_path / "src"
    shutil.copytree(
        source, tree / "stiction", ignore=shutil.ignore_patterns("__pycache__", "scenarios")
    )
    (tmp_path / "middle.py").write_text(
        "from stiction.numerics.jit import kernel\n"
        "from stiction.numerics.event_localisation import horner\n\n"
        "@kernel\n"
        "def twice(c, x):\n"
        "    return 2.0 * horner(c, c.size, x)\n"
    )
    (tmp_path / "caller.py").write_text(
        "import numpy as np\n"
        "from middle import twice\n"
        "from stiction.numerics.jit import kernel\n\n"
        "@kernel\n"
        "def outer(c, x):\n"
        "    return twice(c, x) + 1.0\n\n"
        "def value():\n"
        "    return outer(np.array([1.0, 2.0, 3.0]), 0.5)\n"
    )
    return tree


@pytest.mark.parametrize("options", ["", "(separate=True)"])
def test_an_edit_two_files_below_is_seen_at_the_next_run(copy, tmp_path, options):
    saved = tmp_path / "saved"
    middle = tmp_path / "middle.py"
    middle.write_text(middle.read_text().replace("@kernel", f"@kernel{options}"))
    # twice 1 + 2 / 2 + 3 / 4, and one
    assert answer(copy, saved) == answer(copy, saved) == "6.5"
    source = copy / "stiction/numerics/event_localisation.py"
    text = source.read_text()
    head, body = text.split("def horner", 1)
    assert "return value" in body
    source.write_text(head + "def horner" + body.replace("return value", "return -value", 1))
    assert answer(copy, saved) == "-4.5"


def test_an_edit_in_one_system_recompiles_no_other():
    """A kernel reaches its own system, laws and numerics, and its digest holds nothing besides."""
    for module in pkgutil.walk_packages(stiction.__path__, "stiction."):
        importlib.import_module(module.name)
    ours = [one for one in KERNELS if one.py_func.__module__.startswith("stiction.")]
    assert len(ours) > 300
    for one in ours:
        own = one.py_func.__module__.split(".")[1]
        modules = [plain.__module__ for plain in reached_by(one)]
        parts = {name.split(".")[1] for name in modules if name.startswith("stiction.")}
        assert parts <= {own, "laws", "numerics"}, one
