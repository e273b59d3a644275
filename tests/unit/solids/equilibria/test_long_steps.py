"""A step that lasts long reports before each of its factorisations, and ends at Ctrl-C."""

import os
import signal

import pytest

import stiction as st
from stiction.solids.equilibria.checkpoint import RecordingWorkspace


@pytest.fixture
def story(monkeypatch):
    """Reports and factorisations, in the order in which they come."""
    result, quick = [], RecordingWorkspace.factorise

    def factorise(self, matrix):
        made = quick(self, matrix)
        result.append("factorised")
        return made

    monkeypatch.setattr(RecordingWorkspace, "factorise", factorise)
    return result


@pytest.mark.parametrize(
    "method", [st.solids.Quasistatic(steps=1), st.solids.Continuation(steps=1, max_steps=2)]
)
def test_a_long_step_reports(story, method):
    parts = []

    def progress(done, note):
        parts.append(done)
        story.append(note)

    st.solve(st.StripPeeling(u_end=0.2), method, throw=False, progress=progress)
    factorised = [i for i, note in enumerate(story) if note == "factorised"]
    assert len(factorised) > 3
    # none follows another one without a word
    assert all("step 1" in story[i - 1] or "factorisations" in story[i - 1] for i in factorised)
    assert parts == sorted(parts)


@pytest.fixture
def usual_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("usual_handler")
def test_a_long_step_ends_at_ctrl_c(story):
    def progress(done, note):
        if story.count("factorised") == 2:
            story.append("interrupted")
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        st.solve(st.StripPeeling(), st.solids.Quasistatic(steps=1), progress=progress)
    assert story == ["factorised", "factorised", "interrupted"]
