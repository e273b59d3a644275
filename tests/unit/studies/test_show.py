"""The one-screen summary of a study, and its one line."""

import stiction as st
from stiction.studies import Study


def test_the_summary_is_complete(sweep, tmp_path):
    study = sweep(9, title="Friction, varied").run(tmp_path / "study", workers=1)
    text = str(study)
    for words in ("Friction, varied", "9, all done", "law.mu", "9 solved", "onset_force", " N"):
        assert words in text, words
    assert all(len(line) <= 100 for line in text.splitlines())
    assert repr(study) == "<Study of law.mu: 9 of 9 members>"


def test_an_unfinished_study_says_so(sweep, tmp_path):
    sweep(9).run(tmp_path / "study", shard=(1, 2), chunk=3, workers=1)
    text = str(Study(tmp_path / "study"))
    assert "9, 6 done" in text
    assert "3 not done" in text


def test_warnings_are_reported(tmp_path):
    sweep = st.Sweep("wheel-into-two-fold", {"method.rtol": [1e-10, 1e-9]})
    text = str(sweep.run(tmp_path / "study", workers=1))
    assert "2 lost determinism" in text
    assert "two_fold" in text
