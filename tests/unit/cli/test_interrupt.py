"""Ctrl-C is remembered when something drops it."""

import ctypes
import signal

import pytest

from stiction.cli import run as cli_run
from stiction.io.interrupts import Interrupts, catching_interrupts, end_at_once, exit_code


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


@pytest.fixture
def ending(monkeypatch):
    """A process that signals end at once; the exit codes with which it would have ended."""
    monkeypatch.setattr("stiction.io.interrupts._heard", [])
    codes = []
    monkeypatch.setattr("os._exit", codes.append)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_at_once()
    yield codes
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_are_heard_by_commands_and_end_what_is_none(ending, number, code, capfd):
    signal.raise_signal(number)
    assert ending == [code]
    assert capfd.readouterr().err == "Interrupted.\n"
    assert exit_code() == 130
    with pytest.raises(KeyboardInterrupt), catching_interrupts():
        signal.raise_signal(number)
    with pytest.raises(KeyboardInterrupt), catching_interrupts(), Interrupts():
        press_and_drop(number)
    assert exit_code() == code
    assert ending == [code]
    signal.raise_signal(number)
    assert ending == [code, code]


def test_only_what_ends_at_once_is_heard():
    before = signal.getsignal(signal.SIGTERM)
    with catching_interrupts():
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) is before


def test_ignored_signals_stay_ignored():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        end_at_once()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        with catching_interrupts(), Interrupts():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("drawing", [True, False])
def test_figures_may_be_lost_and_numbers_may_not(monkeypatch, tmp_path, capsys, drawing):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("stiction.plot.write_figures", interrupted)
    if not drawing:
        monkeypatch.setattr("stiction.io.store.write_netcdf", interrupted)
    folder = tmp_path / "out"
    assert cli_run.run_job(cli_run.Job("slip-wave", out=str(folder))) == 130
    shown = f"{folder} is complete except for its figures" if drawing else "nothing was written"
    assert shown in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["out"] * drawing
