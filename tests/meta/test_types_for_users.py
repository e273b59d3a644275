"""Type checkers know every public name, from the catalogue's own stubs."""

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


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("user")
    script = folder / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--config-file=", "--ignore-missing-imports"]
    cache = folder / "cache"
    done = subprocess.run(
        [*command, f"--cache-dir={cache}", str(script)], capture_output=True, text=True, cwd=folder
    )
    if "No module named mypy" in done.stderr:
        pytest.skip("mypy is not installed; it comes with the extra 'lint'")
    lines = {}
    for line in done.stdout.splitlines():
        place, _, text = line.partition(": ")
        if place.startswith("script.py:"):
            lines.setdefault(SCRIPT.splitlines()[int(place.split(":")[1]) - 1], []).append(text)
    return lines


def said(answer, start):
    return " ".join(
        text for line, texts in answer.items() if line.startswith(start) for text in texts
    )


def test_what_is_revealed(answer):
    assert '"stiction.results.run.Run"' in said(answer, "reveal_type(run)")
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


def test_stubs_are_what_the_catalogue_says(root):
    done = subprocess.run(
        [sys.executable, root / "tools" / "stubs.py", "--check"], text=True, capture_output=True
    )
    assert done.returncode == 0, done.stdout
