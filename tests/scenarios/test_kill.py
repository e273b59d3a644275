"""Killed at any moment: nothing or a complete result, and a long run that goes on."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import stiction as st

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kills by POSIX signals")

# 2000 masses for a few thousand steps: about two seconds, in many calls of the kernels
LONG = (
    "detachment-wave",
    "--set",
    "system.n=2000",
    "--set",
    "system.mass=5e-4",
    "--set",
    "system.stiffness=2e5",
    "--set",
    "system.spacing=5e-4",
    "--set",
    "method={type='ThetaStepper', step=1e-5, theta=0.6}",
    "--set",
    "solve.save=21",
    "--no-figures",
)

# for every line it reads it begins another process that saves, and reports its number; the next
# line comes when that one has been killed
SAVE_FOREVER = """
import os
import sys
import stiction as st
run = st.load(sys.argv[1])
run.save(sys.argv[2] + "-before", overwrite=True)
for line in sys.stdin:
    saving = os.fork()
    if saving == 0:
        while True:
            run.save(sys.argv[2], overwrite=True)
    print(saving, flush=True)
    os.waitpid(saving, 0)
    print("ended", flush=True)
"""


def start(words, **options):
    # Ctrl-C must be heard although this suite may run in the background, where it is ignored
    return subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        **options,
    )


# presses Ctrl-C when a module is searched for, inside code made by `exec` as named tuples are; the
# one that looks may answer with an error of its own, as NumPy does
PRESS_AT = """
import runpy
import sys

class Presser:
    @staticmethod
    def find_spec(name, path, target=None):
        if name == module and not (module in pressed):
            pressed.append(name)
            try:
                exec("import os, signal; os.kill(os.getpid(), signal.SIGINT); x = 1")
            except KeyboardInterrupt as error:
                if how == "as it is":
                    raise
                raise ImportError("no such module") from error

pressed, (module, how) = [], sys.argv[1:3]
sys.meta_path.insert(0, Presser)
sys.argv[:] = ["stiction", *sys.argv[3:]]
runpy.run_module("stiction", run_name="__main__", alter_sys=True)
"""


def assert_complete_or_absent(folder, whole):
    if not folder.exists():
        return False
    run = st.load(folder)
    assert run.status.ok
    assert np.array_equal(run.variables["x"].values, whole.variables["x"].values)
    assert np.array_equal(run.event_log.time, whole.event_log.time)
    return True


def test_killed_while_saving(stiction, here):
    """The window in which files are written is short, so this process does nothing else."""
    assert stiction("run", "slip-wave", "--no-figures", "--quiet").code == 0
    whole = st.load("out/slip-wave")
    delays = random.Random(20250101)
    target = here / "killed" / "run"
    found = []
    with start([sys.executable, "-c", SAVE_FOREVER, "out/slip-wave", target]) as process:
        for k in range(60):
            # on a busy machine a save takes longer: until one was there in time
            if k >= 12 and any(found):
                break
            process.stdin.write("save\n")
            process.stdin.flush()
            saving = int(process.stdout.readline())
            time.sleep(delays.uniform(0.0, 0.25 * (1.0 + k / 12.0)))
            os.kill(saving, signal.SIGKILL)
            assert process.stdout.readline() == "ended\n"
            found.append(assert_complete_or_absent(target, whole))
        process.stdin.close()
    assert any(found)
    # the next run of the name removes what the killed ones left
    whole.save(target, overwrite=True)
    assert sorted(path.name for path in target.parent.iterdir()) == ["run", "run-before"]


def test_killed_at_random_times(command, stiction, here):
    assert stiction("run", "slip-wave", "--no-figures", "--quiet", "--out", "whole").code == 0
    whole = st.load("whole")
    delays = random.Random(20250102)
    words = [*command, "run", "slip-wave", "--no-figures", "--quiet"]
    begin = time.monotonic()
    assert subprocess.run(words, check=False).returncode == 0
    once = time.monotonic() - begin
    for _ in range(8):
        with start([*words, "--overwrite"]) as process:
            time.sleep(delays.uniform(0.0, 1.2 * once))
            process.kill()
        assert_complete_or_absent(here / "out" / "slip-wave", whole)
    assert stiction(*words[1:], "--overwrite").code == 0
    assert sorted(path.name for path in (here / "out").iterdir()) == ["slip-wave"]


def wait_for(path, process):
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def test_a_killed_run_goes_on_bit_by_bit(command, stiction, here):
    assert stiction("run", *LONG, "--quiet", "--out", "whole").code == 0
    whole = st.load("whole")
    words = [*command, "run", *LONG, "--quiet", "--out", "long", "--checkpoint-every", "0.05"]
    saved = here / ".long.checkpoint"
    delays = random.Random(20250103)
    for turn in range(3):
        with start([*words, "--resume"] if turn else words) as process:
            wait_for(saved, process)
            time.sleep(delays.uniform(0.0, 0.1))
            process.kill()
        assert saved.exists()
        assert not (here / "long").exists()
    done = subprocess.run([*words, "--resume"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "no checkpoint" not in done.stdout + done.stderr
    assert sorted(path.name for path in here.iterdir()) == ["long", "whole"]
    resumed = st.load("long")
    for name, variable in whole.variables.items():
        assert variable.values.tobytes() == resumed.variables[name].values.tobytes(), name
    for name, column in whole.energy.columns().items():
        assert column.tobytes() == resumed.energy.columns()[name].tobytes(), name
    assert (here / "whole" / "events.csv").read_bytes() == (
        here / "long" / "events.csv"
    ).read_bytes()
    assert {k: v.value for k, v in whole.quantities.items()} == {
        k: v.value for k, v in resumed.quantities.items()
    }


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_runs_say_how_to_go_on(command, here, how, code):
    words = [*command, "run", *LONG, "--quiet", "--out", "a b", "--checkpoint-every", "0.05"]
    with start(words) as process:
        wait_for(here / ".a b.checkpoint", process)
        process.send_signal(how)
        out, err = process.communicate()
    assert process.returncode == code
    assert out == ""
    assert "--out 'a b' --resume" in err
    assert "Traceback" not in err
    assert [path.name for path in here.iterdir()] == [".a b.checkpoint"]
    done = subprocess.run([*words, "--resume"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in here.iterdir()] == ["a b"]


@pytest.mark.parametrize(
    ("module", "words", "how"),
    [
        ("stiction.cli.main", "--version", "as it is"),
        ("typer", "list", "as another error"),
        ("stiction.fits.command", "fit", "as it is"),
        ("stiction.fits.comparison", "fit curve.csv --law Coulomb", "as another error"),
        ("numpy", "fit curve.csv --law Coulomb", "as it is"),
        ("numpy", "fit curve.csv --law Coulomb", "as another error"),
        ("scipy", "fit curve.csv --law Coulomb --no-figures", "as it is"),
        ("stiction.io.scenario.built_in", "list", "as it is"),
        ("numpy", "verify curve.csv", "as another error"),
        ("stiction.doctor", "doctor", "as another error"),
        ("numpy", "run slip-wave", "as it is"),
        ("stiction.cli.compile", "compile chains", "as it is"),
        ("stiction.studies.command", "sweep belt-phase-diagram", "as it is"),
    ],
)
def test_ctrl_c_in_imports_leaves_no_traceback(here, module, words, how):
    rows = [f"{k}.5,{3 - 6 * (k > 9)}.{k}" for k in [*range(15), *range(15, 0, -1)]]
    (here / "curve.csv").write_text("\n".join(["displacement [mm],force [N]", *rows]))
    with start([sys.executable, "-c", PRESS_AT, module, how, *words.split()]) as process:
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, "", "Interrupted.\n")
    assert [path.name for path in here.iterdir()] == ["curve.csv"]


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="workers block signals")
def test_ctrl_c_reaches_workers_that_compile_without_a_traceback(command, here, monkeypatch):
    """A terminal sends it to all; workers that start up would print a traceback each."""
    monkeypatch.setenv("STICTION_CACHE_DIR", str(here / "saved"))
    with start([*command, "compile", "chains"], start_new_session=True) as process:
        # said before the workers start
        assert "compiling" in process.stderr.readline()
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err


def test_interrupted_early(command, here):
    # without friction it never rests, so it is not over before it is interrupted
    endless = ("--set", "solve.t_end=20", "--set", "system.law.mu=0")
    words = [*command, "run", *LONG, *endless, "--checkpoint-every", "1000"]
    with start(words) as process:
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert not (here / "out" / "detachment-wave").exists()
