"""Kernels on disk: never stale, never wrong, and no fault of the disk stops a run."""

import os
import shutil
import subprocess
import sys
import textwrap
import types

import pytest

from stiction.numerics.compiling.digest import digest_of
from stiction.numerics.compiling.folders import folder_for, is_safe

MODULE = {
    "inner.py": """
        import numba
        from keeper import saved
        FACTOR = 2.0

        @saved
        def inner(x):
            \"\"\"Return something.\"\"\"
            return FACTOR * x
    """,
    "middle.py": """
        import inner as low
        from keeper import saved

        @saved
        def middle(x):
            return low.inner(x) + 1.0
    """,
    "outer.py": """
        from keeper import saved
        from middle import middle

        @saved
        def outer(x):
            return middle(x) * 10.0

        @saved
        def alone(x):
            return x - 1.0
    """,
    "keeper.py": """
        import numba
        from stiction.numerics.compiling.cache import KernelCache

        def saved(function):
            dispatcher = numba.njit(error_model="numpy")(function)
            dispatcher._cache = KernelCache(function)
            return dispatcher
    """,
}
CALL = """
import numba.core.event as ev
with ev.install_recorder("numba:compile") as seen:
    from outer import outer, alone
    print(outer(3.0), alone(3.0), len([e for _, e in seen.buffer if e.is_start]))
"""


def written(folder):
    for name, text in MODULE.items():
        (folder / name).write_text(textwrap.dedent(text))
    return folder


@pytest.fixture
def place(tmp_path):
    """A folder with the modules, of which nothing is compiled."""
    return written(tmp_path)


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory):
    """The kernels of the modules, compiled in a folder of their own."""
    folder = written(tmp_path_factory.mktemp("once"))
    assert call(folder)[:3] == (70.0, 2.0, 4)
    return folder / "saved"


@pytest.fixture
def filled(place, compiled_once):
    """A folder with the modules and their kernels: names of entries hold no folder."""
    shutil.copytree(compiled_once, place / "saved")
    return place


def call(place, **environment):
    """Return what a fresh process computes, how many kernels it compiles, and what it says."""
    done = subprocess.run(
        [sys.executable, "-c", CALL],
        cwd=place,
        env={**os.environ, "STICTION_CACHE_DIR": str(place / "saved"), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    outer, alone, compiled = done.stdout.split()
    return float(outer), float(alone), int(compiled), done.stderr


def test_kernels_are_compiled_once(place):
    assert call(place) == (70.0, 2.0, 4, "")
    assert call(place) == (70.0, 2.0, 0, "")


def test_an_edited_callee_is_seen(filled):
    source = filled / "inner.py"
    source.write_text(source.read_text().replace("FACTOR * x", "FACTOR * x * x"))
    # `alone` is in the file of a caller and does not call: it stays
    assert call(filled)[:3] == (190.0, 2.0, 3)


def test_a_constant_that_is_frozen_counts(filled):
    source = filled / "inner.py"
    source.write_text(source.read_text().replace("FACTOR = 2.0", "FACTOR = 5.0"))
    assert call(filled)[:3] == (160.0, 2.0, 3)


def with_constant(number):
    """Return the digest of a kernel that refers to a number, written as Python."""
    module = types.ModuleType("constants")
    exec(f"import numpy as np\nFACTOR = {number}\ndef f(x): return FACTOR * x", vars(module))
    return digest_of(module.f)


@pytest.mark.parametrize("number", ["np.int64(5)", "np.float32(5)", "(np.int64(5), 1)[0]"])
def test_a_constant_of_numpys_own_counts(number):
    assert with_constant(number) == with_constant(number)
    assert with_constant(number) != with_constant(number.replace("5", "4"))


def test_a_kernel_with_a_constant_of_numpys_own_is_never_stale(filled):
    source = filled / "inner.py"
    text = source.read_text().replace("import numba", "import numba\nimport numpy as np")
    for number, answer in ((4, 130.0), (5, 160.0)):
        source.write_text(text.replace("FACTOR = 2.0", f"FACTOR = np.int64({number})"))
        assert call(filled)[0] == answer


def test_the_fields_of_what_a_kernel_is_given_count(place):
    (place / "given.py").write_text(
        "from typing import NamedTuple\nclass Given(NamedTuple):\n    a: float\n    b: float\n"
    )
    (place / "outer.py").write_text(
        "from keeper import saved\nfrom given import Given\n\n@saved\ndef take(given):\n"
        "    return given.a\n\ndef outer(x):\n    return take(Given(x, 2.0 * x))\n"
        "def alone(x):\n    return x\n"
    )
    assert call(place)[:3] == (3.0, 3.0, 1)
    source = place / "given.py"
    # Python dates its own bytecode by size and time: the new text is longer
    source.write_text(source.read_text().replace("a: float\n    b:", "b: float\n    a:") + "#\n")
    assert call(place)[:3] == (6.0, 3.0, 1)


def test_words_do_not_count(filled):
    source = filled / "inner.py"
    text = source.read_text().replace("Return something.", "Return twice as much.")
    source.write_text("# a comment\n\n" + text)
    assert call(filled) == (70.0, 2.0, 0, "")


def flipped(data):
    return data[:-1] + bytes([data[-1] ^ 1])


DAMAGES = {
    "outer": lambda data: b"",
    "middle": lambda data: b"short",
    "inner": lambda data: b"\0" * 4000,
    "alone": flipped,
}


def test_damaged_entries_are_compiled_again(filled):
    """Every entry is damaged in its own way; if one were taken, fewer would be compiled."""
    for name, damage in DAMAGES.items():
        (path,) = (filled / "saved").glob(f"{name}-*.kernel")
        path.write_bytes(damage(path.read_bytes()))
    outer, alone, compiled, said = call(filled)
    assert (outer, alone, compiled) == (70.0, 2.0, 4)
    assert said.count("a damaged kernel is compiled again") == 1
    assert call(filled) == (70.0, 2.0, 0, "")


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_kernel_under_the_name_of_another_is_compiled_again(filled, step):
    """Every entry has what belongs to another one, and is whole in itself."""
    paths = sorted((filled / "saved").glob("*.kernel"))
    whole = [path.read_bytes() for path in paths]
    for k, path in enumerate(paths):
        path.write_bytes(whole[k - step])
    outer, alone, compiled, said = call(filled)
    assert (outer, alone, compiled) == (70.0, 2.0, 4)
    assert said.count("a damaged kernel is compiled again") == 1
    assert call(filled) == (70.0, 2.0, 0, "")


def test_two_processes_may_compile_at_once(place):
    command = [sys.executable, "-c", CALL]
    environment = {**os.environ, "STICTION_CACHE_DIR": str(place / "saved")}
    both = [
        subprocess.Popen(command, cwd=place, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in both:
        answer, _ = process.communicate(timeout=120)
        assert answer.split()[:2] == ["70.0", "2.0"]
    assert call(place)[:3] == (70.0, 2.0, 0)
    assert not list((place / "saved").glob(".*"))


def test_a_folder_that_cannot_be_made_costs_time_alone(place):
    (place / "saved").write_text("a file in the way")
    outer, alone, compiled, said = call(place)
    assert (outer, alone, compiled) == (70.0, 2.0, 4)
    assert said.count("compiled kernels cannot be cached") == 1


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_code_is_read_from_safe_folders(filled):
    assert is_safe(filled / "saved")
    (filled / "saved").chmod(0o777)
    assert not is_safe(filled / "saved")
    assert call(filled)[2] == 4
    (filled / "saved").chmod(0o755)
    assert is_safe(filled / "saved")
    assert not is_safe(filled / "nowhere")


def test_the_folder_is_beside_the_source_or_the_users(tmp_path, monkeypatch):
    monkeypatch.delenv("STICTION_CACHE_DIR", raising=False)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "users"))
    source = tmp_path / "package" / "module.py"
    assert folder_for(str(source)) == tmp_path / "package" / "__pycache__"
    closed = tmp_path / "closed" / "module.py"
    closed.parent.mkdir()
    (closed.parent / "__pycache__").write_text("in the way")
    assert folder_for(str(closed)) == tmp_path / "users" / "stiction"


def test_digests_follow_names_and_closures():
    def made(factor):
        def inner(x):
            return factor * x

        return inner

    assert digest_of(made(2.0)) == digest_of(made(2.0))
    assert digest_of(made(2.0)) != digest_of(made(3.0))


def test_what_is_left_over_is_removed(place):
    """Of killed processes, and of kernels as they once were; the youngest entries stay."""
    saved = place / "saved"
    saved.mkdir()
    old, young = saved / ".outer1a2b", saved / ".outer3c4d"
    for path in (old, young):
        path.write_bytes(b"half a kernel")
    os.utime(old, (0, 0))
    for k in range(40):
        path = saved / f"outer-{k:040d}.kernel"
        path.write_bytes(b"")
        os.utime(path, (k, k))
    call(place)
    assert not old.exists()
    assert young.exists()
    left = sorted(path.name for path in saved.glob("outer-*"))
    assert len(left) == 24
    assert f"outer-{39:040d}.kernel" in left
    assert f"outer-{0:040d}.kernel" not in left


def test_kernels_that_check_bounds_are_cached_separately(monkeypatch):
    from numba.core import config

    from stiction.numerics.compiling import cache

    plain = cache._versions.__wrapped__()
    monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    checked = cache._versions.__wrapped__()
    assert checked != plain
    assert "BOUNDSCHECK" in checked
    monkeypatch.setattr(config, "BOUNDSCHECK", 0)
    assert cache._versions.__wrapped__() == plain
