"""Ctrl-C is kept in mind when something drops it."""

import ctypes
import signal

import pytest

from stiction.cli import run as cli_run
from stiction.results.interrupts import Interrupts, exit_code, hear_terminate


@pytest.fixture(autouse=True)
def usual_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def press_and_drop(number=signal.SIGINT):
    # an exception cannot pass through a C callback: it is reported and dropped there
    ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(number))()


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


def test_sigterm_interrupts_as_ctrl_c_does(monkeypatch):
    monkeypatch.setattr("stiction.results.interrupts._heard", [])
    assert exit_code() == 130
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        hear_terminate()
        heard = signal.getsignal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt), Interrupts():
            press_and_drop(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is heard
        assert exit_code() == 143
    finally:
        signal.signal(signal.SIGTERM, before)


def test_ignored_signals_stay_ignored():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        hear_terminate()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        with Interrupts():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("drawing", [True, False])
def test_figures_may_be_lost_and_numbers_may_not(monkeypatch, tmp_path, capsys, drawing):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("stiction.plot.write_figures", interrupted)
    if not drawing:
        monkeypatch.setattr("stiction.results.store.write_netcdf", interrupted)
    folder = tmp_path / "out"
    assert cli_run.run_job(cli_run.Job("slip-wave", out=str(folder))) == 130
    told = f"{folder} is complete but for its figures" if drawing else "nothing was written"
    assert told in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["out"] * drawing
