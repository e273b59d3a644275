"""Type checkers: they know every public name, accept what pages show, and refuse wrong kinds."""

import json
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

SCRIPT = textwrap.dedent(
    """
    import stiction as st

    chain = st.Chain(mass=[1.0, 2.0], stiffness=20.0, load=st.Ramp(rate=1.0), law=st.Coulomb(0.25))
    run = st.solve(chain, st.EventDriven(rtol=1e-10), t_span=(0.0, 8.0))
    reveal_type(run)
    reveal_type(chain)
    reveal_type(st.solids.Fixed)
    reveal_type(st.switching.futures)
    wrong_field = st.Chain(mass=[1.0], stifness=20)
    no_such_name = st.Nonsense
    no_such_in_room = st.rods.Nonsense
    wrong_value = st.Coulomb(mu="rough")
    """
)


# each function is right but for its last line; the line reports what mypy must say of it
KERNELS = """
import numpy as np
from stiction.numerics.arrays import Integers, Matrix, Stack, Vector
from stiction.numerics.jit import kernel


@kernel
def right(x: Vector, a: Matrix, b: Stack, order: Integers) -> float:
    x[0] = a[order[0], 1]
    a[1] = b[0, 1]
    x[1:] = a[1, 1:]
    part: Vector = a[0]
    whole: Matrix = b[1]
    return x[0] * a[0, 1] + b[0, 1, 2] + part.size + whole[0, 0]


def called() -> float:
    b = np.zeros((2, 3, 4))
    return right(b[0, 0], b[0], b, np.zeros(2, dtype=np.int64))


@kernel
def a_vector_is_no_number(x: Vector) -> float:
    return x  # return-value


@kernel
def a_slice_is_no_number(x: Vector) -> float:
    return x[1:]  # return-value


@kernel
def a_row_is_no_number(a: Matrix) -> float:
    return a[1]  # return-value


@kernel
def a_matrix_is_no_vector(a: Matrix) -> float:
    return a_slice_is_no_number(a)  # arg-type


def integers_are_no_floats(order: Integers) -> float:
    return a_slice_is_no_number(order)  # arg-type


def numpy_reports_kinds_of_numbers_apart() -> float:
    marks = np.zeros(2, dtype=np.int64)
    return a_slice_is_no_number(marks)  # arg-type


def an_entry_of_numpy_is_anything() -> float:
    return np.zeros(2)[0]  # no-any-return
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What mypy says of both files, asked once: each time it reads the whole package."""
    folder = tmp_path_factory.mktemp("user")
    files = {"script.py": SCRIPT, "kernels.py": KERNELS}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary"]
    cache = f"--cache-dir={folder / 'cache'}"
    done = subprocess.run(
        [*command, "--ignore-missing-imports", cache, *files],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    if "No module named mypy" in done.stderr:
        pytest.skip("mypy is not installed; it comes with the extra 'lint'")
    found = {name: [] for name in files}
    for line in done.stdout.splitlines():
        name, number, text = line.split(":", 2)
        if name in files:
            found[name].append((int(number), text.strip()))
    return found


@pytest.fixture(scope="module")
def answer(answers):
    """What it says of each line of the user's script."""
    lines = {}
    for number, text in answers["script.py"]:
        lines.setdefault(SCRIPT.splitlines()[number - 1], []).append(text)
    return lines


def said(answer, start):
    return " ".join(
        text for line, texts in answer.items() if line.startswith(start) for text in texts
    )


def test_what_is_revealed(answer):
    assert '"stiction.core.run.Run"' in said(answer, "reveal_type(run)")
    assert '"stiction.chains.model.Chain"' in said(answer, "reveal_type(chain)")
    assert "stiction.solids.conditions.Fixed" in said(answer, "reveal_type(st.solids.Fixed)")
    assert "stiction.switching.funnel.Funnel" in said(answer, "reveal_type(st.switching.futures)")


def test_what_is_refused(answer):
    assert "stifness" in said(answer, "wrong_field")
    assert 'has no attribute "Nonsense"' in said(answer, "no_such_name")
    assert 'has no attribute "Nonsense"' in said(answer, "no_such_in_room")
    assert "incompatible type" in said(answer, "wrong_value")


def test_what_is_right_is_not_refused(answer):
    for line in ("chain =", "run ="):
        assert said(answer, line) == ""


def test_mypy_refuses_what_is_no_number(answers):
    lines = enumerate(KERNELS.splitlines(), start=1)
    wanted = {number: line.split("# ")[1] for number, line in lines if "# " in line}
    errors = [(n, text) for n, text in answers["kernels.py"] if text.startswith("error: ")]
    found = {number: text.rsplit("[", 1)[1].rstrip("]") for number, text in errors}
    assert found == wanted, answers["kernels.py"]


# ---- pages and gallery

# libraries of other machines, that a page names
UNKNOWN = ("dask_jobqueue",)


@pytest.fixture(scope="module")
def shown(root, tmp_path_factory):
    """A folder with the code of README, of each page of instructions, and of the gallery."""
    folder = tmp_path_factory.mktemp("shown")
    pages = [root / "README.md", *root.glob("docs/howto/*.md"), *root.glob("docs/learn/*.md")]
    for page in pages:
        blocks = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
        name = re.sub(r"\W", "_", page.stem)
        (folder / f"page_{name}.py").write_text("\n".join(blocks), encoding="utf-8")
    for script in root.glob("examples/*/plot_*.py"):
        shutil.copy(script, folder)
    return folder


def test_mypy_accepts_what_pages_show(shown):
    # functions of a page need no annotations; all else is strict
    options = ["--strict", "--allow-untyped-defs", "--allow-untyped-calls", "--config-file="]
    command = [sys.executable, "-m", "mypy", *options, "--ignore-missing-imports"]
    done = subprocess.run(
        [*command, f"--cache-dir={shown / 'cache'}", "."],
        capture_output=True,
        text=True,
        cwd=shown,
        check=False,
    )
    if "No module named mypy" in done.stderr:
        pytest.skip("mypy is not installed; it comes with the extra 'lint'")
    assert done.returncode == 0, done.stdout


def test_pyright_accepts_what_pages_show(shown):
    pytest.importorskip("pyright", reason="it comes with the extra 'lint'")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(
        [*command, "."], capture_output=True, text=True, cwd=shown, check=False, timeout=300
    )
    wrong = [
        f"{fault['file']}:{fault['range']['start']['line'] + 1}: {fault['message']}"
        for fault in json.loads(done.stdout)["generalDiagnostics"]
        if fault["severity"] == "error" and not any(name in fault["message"] for name in UNKNOWN)
    ]
    assert not wrong, "\n".join(wrong)
