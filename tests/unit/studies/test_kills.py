"""Whatever is killed, the study goes on to the same data."""

import os
import signal
import subprocess
import sys
import time

import stiction as st
from stiction.studies import Study

PARENT = os.getpid()


def kills_its_worker(run):
    if abs(run.system.law.mu - 0.2) < 1e-9 and os.getpid() != PARENT:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"mu": run.system.law.mu}


def kills_one_worker_once(run):
    mark = os.environ["STICTION_TEST_MARK"]
    if run.system.law.mu > 0.2 and os.getpid() != PARENT:
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            os.kill(os.getpid(), signal.SIGKILL)
        except FileExistsError:
            pass
    return {"mu": run.system.law.mu}


def test_a_worker_that_dies(sweep, tmp_path):
    study = sweep(9, results=kills_its_worker).run(tmp_path / "study", workers=2, chunk=3)
    assert study.complete
    assert study.counts()["failed"] == 1
    assert study.failures["reason"][0].startswith("died: ")
    table = study.table
    alive = table["status"] == 0
    assert alive.sum() == 8
    assert (table["mu"][alive] == table["law.mu"][alive]).all()


def test_a_worker_that_is_killed_costs_nothing(sweep, tmp_path, monkeypatch):
    monkeypatch.setenv("STICTION_TEST_MARK", str(tmp_path / "mark"))
    study = sweep(9, results=kills_one_worker_once).run(tmp_path / "study", workers=2, chunk=3)
    assert (tmp_path / "mark").exists()
    assert study.counts()["failed"] == 0
    assert (study.table["mu"] == study.table["law.mu"]).all()


SCRIPT = """
import sys
import stiction as st
chain = st.Chain(mass=[1.0, 1.0, 1.0], stiffness=20.0, load=st.Ramp(rate=1.0), law=st.Coulomb(0.25))
fields = {"law.mu": st.studies.Range(0.1, 0.3, 160)}
sweep = st.Sweep(chain, fields, results=("max(onset_force)", "final.x"), t_span=(0.0, 8.0))
sweep.run(sys.argv[1], workers=2, chunk=4, progress=lambda p: print(p, flush=True))
"""


def test_a_killed_study_goes_on(chain, tmp_path):
    place = tmp_path / "study"
    words = [sys.executable, "-c", SCRIPT, str(place)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    half = Study(place)
    assert 0 < half.solved < half.members
    # its workers end by themselves, and their locks with them
    fields = {"law.mu": st.studies.Range(0.1, 0.3, 160)}
    sweep = st.Sweep(chain, fields, results=("max(onset_force)", "final.x"), t_span=(0.0, 8.0))
    begin = time.monotonic()
    again = sweep.run(place, workers=2)
    whole = sweep.run(tmp_path / "whole", workers=2)
    assert again.complete
    assert again.data.identical(whole.data)
    assert time.monotonic() - begin < 60.0
