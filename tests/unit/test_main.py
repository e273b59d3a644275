"""`python -m stiction`, also where nothing was installed."""

import subprocess
import sys
from pathlib import Path

import stiction as st

SOURCES = Path(st.__file__).parent.parent


def test_the_module_is_the_command():
    words = [sys.executable, "-m", "stiction", "--version"]
    said = subprocess.run(words, cwd=SOURCES, capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["stiction", st.__version__]


def test_a_run_knows_its_version_without_an_installation():
    # metadata of installed packages is searched for in sys.path, here without the project's own
    code = (
        "import importlib.metadata as m\n"
        "found = m.version\n"
        "def version(name):\n"
        "    if name == 'stiction':\n"
        "        raise m.PackageNotFoundError(name)\n"
        "    return found(name)\n"
        "m.version = version\n"
        "from stiction.core.provenance import provenance\n"
        "print(provenance(1.0)['stiction'])\n"
    )
    words = [sys.executable, "-c", code]
    said = subprocess.run(words, cwd=SOURCES, capture_output=True, text=True, check=True)
    assert said.stdout.split() == [st.__version__]
