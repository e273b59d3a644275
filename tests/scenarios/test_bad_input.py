"""Every kind of bad input: exit code 2, a message that helps, and nothing left behind."""

import os

import pytest

HEAD = '[system]\ntype = "Chain"\nstiffness = 20.0\n'
SPAN = "[solve]\nt_end = 1.0\n"

WRONG_FILES = {
    "no mass": HEAD + SPAN,
    "zero mass": HEAD + "mass = [1.0, 0.0]\n" + SPAN,
    "negative mass": HEAD + "mass = -1.0\n" + SPAN,
    "NaN": HEAD + "mass = [1.0, nan]\n" + SPAN,
    "a string": HEAD + 'mass = "1.0"\n' + SPAN,
    "a bool": HEAD + "mass = true\n" + SPAN,
    "lists in a list": HEAD + "mass = [[1.0], [2.0]]\n" + SPAN,
    "ragged lists": HEAD + "mass = [[1.0], [2.0, 3.0]]\n" + SPAN,
    "a date": HEAD + "mass = 2020-02-02\n" + SPAN,
    "no masses": HEAD + "mass = []\n" + SPAN,
    "n = 0": HEAD + "mass = 1.0\nn = 0\n" + SPAN,
    "n and mass": HEAD + "mass = [1.0, 2.0]\nn = 3\n" + SPAN,
    "no system": SPAN,
    "no span": HEAD + "mass = 1.0\n",
    "no end": HEAD + "mass = 1.0\n[solve]\nt_start = 0.0\n",
    "no type": "[system]\nmass = 1.0\n" + SPAN,
    "unknown table": HEAD + "mass = 1.0\n[solver]\n" + SPAN,
    "syntax": HEAD + "mass = [1.0\n" + SPAN,
    "twice": HEAD + "mass = 1.0\nmass = 2.0\n" + SPAN,
    "a user's function": HEAD + 'mass = 1.0\nload = {type = "UserLoad"}\n' + SPAN,
}


@pytest.mark.parametrize("text", WRONG_FILES.values(), ids=WRONG_FILES)
def test_wrong_files(refused, here, text):
    (here / "wrong.toml").write_text(text)
    assert refused("run", "wrong.toml")


@pytest.mark.parametrize(
    "setting",
    [
        "system.x0=[1.0, 2.0]",
        "system.stiffness=[1.0, 2.0]",
        "system.stiffness=[1.0, 0.0, 1.0]",
        "system.damping=-1",
        "system.gravity=nan",
        "system.x0=[0.0, inf, 0.0]",
        "system.supports=middle",
        "system={type='Chain', mass=1.0, stiffness=1.0, supports='none'}",
        "system.load.rate=inf",
        "system.load={type='PiecewiseLinear', time=[0.0, 0.0], value=[1.0, 2.0]}",
        "system.load={type='SumOf', parts=[]}",
        "system.load={type='Impulse'}",
        "system.law.mu=-0.1",
        "system.law.mu=[0.1, 0.2]",
        "system.law={type='ExponentialWeakening', mu_static=0.2, mu_kinetic=0.1, v_scale=0.0}",
        "system.law={type='RandomCoulomb', mu_mean=0.1, mu_spread=0.2, seed=-1}",
        "system.normal_force=-1.0",
        "system.spacing=0.0",
        "system.mas=1",
        "method.rtol=1.0",
        "method={type='ThetaStepper', step=1e-3, theta=0.4}",
        "method={type='ThetaStepper', step=1e-3, theta=1.1}",
        "method={type='ThetaStepper', step=0.0, theta=0.5}",
        "method={type='ThetaStepper', step=1e-300}",
        "method={type='RegularizedTheta', step=1e-3, theta=-0.1, smoothing=1e-3}",
        "method={type='RegularizedTheta', step=1e-3, theta=0.5, smoothing=0.0}",
        "method={type='EventDrive'}",
        "method.step=1e-3",
        "solve.t_end=0",
        "solve.t_end=-1",
        "solve.t_end=inf",
        "solve.t_start=8.0",
        "solve.save=1",
        "solve.save=[1.0, 0.5]",
        "solve.save=[100.0]",
        "solve.save=10000000000",
        "system={type='Chain', mass=1.0, n=20000, stiffness=1.0}",
        "system={type='Chain', mass=1.0, n=1000000000, stiffness=1.0}",
        "system={type='Chain', mass=1.0, n=1000000000000000, stiffness=1.0}",
        "nothing",
    ],
)
def test_wrong_settings(refused, setting):
    assert refused("run", "slip-wave", "--set", setting)


def test_wrong_names(refused, here):
    assert "did you mean 'slip-wave'?" in refused("run", "slip-wav")
    assert refused("run", "nothing.toml")
    assert refused("run", here)
    assert refused("run", "")
    (here / "folder.toml").mkdir()
    assert refused("run", "folder.toml")
    (here / "bytes.toml").write_bytes(b"\xff\x00\xfe")
    assert refused("run", "bytes.toml")


def test_output_folders_that_cannot_be(refused, here):
    (here / "there").mkdir()
    (here / "file").write_text("")
    (here / "mine").mkdir()
    (here / "mine" / "thesis.tex").write_text("years of work")
    assert "--overwrite" in refused("run", "slip-wave", "--out", "there")
    assert refused("run", "slip-wave", "--out", "file")
    assert refused("run", "slip-wave", "--out", "file", "--overwrite")
    assert refused("run", "slip-wave", "--out", "file/below")
    assert refused("run", "slip-wave", "--out", "mine", "--overwrite")
    assert refused("run", "slip-wave", "--out", ".", "--overwrite")
    assert refused("run", "slip-wave", "--out", "..", "--overwrite")
    assert refused("run", "slip-wave", "--out", "")
    assert refused("run", "slip-wave", "--out", "x" * 300)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nothing is closed to root")
def test_a_closed_folder(refused, here):
    (here / "closed").mkdir(mode=0o500)
    assert refused("run", "slip-wave", "--out", "closed/run")


@pytest.mark.parametrize("place", ["/proc/stiction/run", "/dev/null/run"])
def test_places_where_nobody_can_write(refused, place):
    if not os.path.exists(os.path.dirname(os.path.dirname(place))):
        pytest.skip("no such place here")
    assert refused("run", "slip-wave", "--out", place)


def test_saved_runs_that_are_damaged(refused, stiction, here):
    assert refused("show", "nothing")
    assert refused("show", ".")
    assert refused("plot", "nothing")
    assert stiction("run", "slip-wave", "--no-figures", "--quiet").code == 0
    assert refused("plot", "out/slip-wave", "--what", "phas")
    assert refused("plot", "out/slip-wave", "--format", "bmp")
    assert refused("plot", "out/slip-wave", "--animate", "bmp")
    nc = here / "out" / "slip-wave" / "run.nc"
    whole = nc.read_bytes()
    for damaged in (whole[:1000], whole[: len(whole) // 2], b"", b"nonsense" * 100):
        nc.write_bytes(damaged)
        assert "run.nc" in refused("show", "out/slip-wave")
        assert refused("plot", "out/slip-wave")
    nc.write_bytes(whole)
    (here / "out" / "slip-wave" / "summary.json").write_text('{"status": "solved"}')
    assert refused("show", "out/slip-wave")


def test_checkpoints_of_another_problem(refused, stiction, here):
    from stiction.io.checkpoint_file import FileCheckpoint

    (here / "out").mkdir()
    FileCheckpoint(here / "out" / ".slip-wave.checkpoint", "another problem").save({})
    assert "another problem" in refused("run", "slip-wave", "--resume")
    (here / "out" / ".slip-wave.checkpoint").write_bytes(b"")
    assert refused("run", "slip-wave", "--resume")
    # without --resume it is in nobody's way, and gone when the run is complete
    assert stiction("run", "slip-wave", "--no-figures").code == 0
    assert [path.name for path in (here / "out").iterdir()] == ["slip-wave"]
