"""`stiction show` and `stiction plot` on a saved run."""

import pytest


@pytest.fixture
def saved(stiction, here):
    answer = stiction("run", "slip-wave", "--no-figures")
    assert answer.code == 0
    return answer.out.rpartition("written to")[0]


def test_show_prints_the_same_screen(stiction, saved):
    assert stiction("show", "out/slip-wave").out == saved


def test_plot_writes_what_is_asked(stiction, saved, here):
    figures = here / "out" / "slip-wave" / "figures"
    answer = stiction("plot", "out/slip-wave", "--what", "phase", "--format", "svg")
    assert answer.code == 0
    assert answer.out == "out/slip-wave/figures/phase.svg\n"
    assert [path.name for path in figures.iterdir()] == ["phase.svg"]
    assert stiction("plot", "out/slip-wave").code == 0
    assert len(list(figures.glob("*.png"))) >= 3


def test_animations_are_written_when_asked(stiction, saved, here):
    answer = stiction("plot", "out/slip-wave", "--animate", "html")
    assert answer.code == 0
    figures = here / "out" / "slip-wave" / "figures"
    assert [path.name for path in figures.iterdir()] == ["animation.html"]
    assert "<html" in (figures / "animation.html").read_text()


def test_plots_need_no_scenario(stiction, saved, here):
    (here / "out" / "slip-wave" / "scenario.toml").unlink()
    answer = stiction("plot", "out/slip-wave", "--what", "energy", "--unverified")
    assert answer.code == 0
    assert answer.err == "UNVERIFIED: scenario.toml is missing\n"


def test_typos_of_folders(stiction, refused, here):
    assert stiction("run", "slip-wave", "--no-figures", "-q").code == 0
    for command in ("show", "plot"):
        assert "did you mean 'out/slip-wave'?" in refused(command, "out/slip-wav")
        # the name alone, as `stiction run` was given it
        assert "did you mean 'out/slip-wave'?" in refused(command, "slip-wave")
        assert "known: out" in refused(command, "zzzz")
