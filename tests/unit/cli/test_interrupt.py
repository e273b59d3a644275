"""Ctrl-C is kept in mind when something drops it."""

import ctypes
import signal
from types import SimpleNamespace

import pytest

from stiction.cli import run as cli_run
from stiction.cli.interrupt import Interrupts


@pytest.fixture(autouse=True)
def usual_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def press_and_drop():
    # an exception cannot pass through a C callback: it is reported and dropped there
    ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()


def test_ctrl_c_interrupts_at_once():
    with pytest.raises(KeyboardInterrupt) as caught, Interrupts():
        signal.raise_signal(signal.SIGINT)
    # it is not raised a second time, from itself
    assert caught.value.__cause__ is None


def test_another_error_becomes_the_interrupt():
    def solve():
        with Interrupts():
            press_and_drop()
            raise RuntimeError("no compiled object yet")

    with pytest.raises(KeyboardInterrupt) as caught:
        solve()
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_a_dropped_one_is_raised_at_the_next_check(capsys):
    def solve():
        with Interrupts() as interrupts:
            interrupts.check()
            press_and_drop()
            interrupts.check()

    with pytest.raises(KeyboardInterrupt):
        solve()
    assert capsys.readouterr().err == ""


def test_other_errors_go_through():
    with pytest.raises(RuntimeError, match="other"), Interrupts():
        raise RuntimeError("other")


@pytest.mark.parametrize("drawing", [True, False])
def test_figures_may_be_lost_and_numbers_may_not(monkeypatch, tmp_path, drawing):
    def interrupted(*_):
        raise KeyboardInterrupt

    def save(run, folder, *, draw, **_):
        return draw(folder) if drawing else interrupted()

    monkeypatch.setattr("stiction.plot.write_figures", interrupted)
    monkeypatch.setattr(cli_run, "save", save)
    monkeypatch.setattr(cli_run, "write_scenario", str)
    solved = SimpleNamespace(status=SimpleNamespace(ok=True))
    job = cli_run.Job("slip-wave", out=str(tmp_path / "out"))
    if drawing:
        assert cli_run._written(job, None, solved) is False
    else:
        with pytest.raises(KeyboardInterrupt):
            cli_run._written(job, None, solved)
