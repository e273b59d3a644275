"""The command line as a user meets it, in a folder of its own."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import runner

from stiction.cli.main import app


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a command printed and returned, and which files are there now."""

    code: int
    out: str
    err: str


def files():
    """Return every file and folder below the current one, hidden ones included."""
    found = []
    for root, folders, names in os.walk("."):
        found += [os.path.join(root, name) for name in folders + names]
    return sorted(found)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def stiction(here):
    """A function that runs a command in this process; errors that are not ours go through."""

    def run(*words):
        result = runner().invoke(app, [str(word) for word in words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Answer(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def refused(stiction):
    """A function that checks a refusal: exit code 2, a house message, nothing left behind."""

    def check(*words):
        before = files()
        answer = stiction(*words)
        assert answer.code == 2, answer
        assert answer.out == ""
        assert all(word in answer.err for word in (": got ", "; needs ", "\nWhy: ", "\nTry: "))
        assert "Traceback" not in answer.err
        assert files() == before
        return answer.err

    return check


@pytest.fixture
def command():
    """The words that start the command line in a process of its own."""
    script = Path(sys.executable).with_name("stiction")
    assert script.exists(), "install the package: the command is part of it"
    return [str(script)]


@pytest.fixture
def shell(here, command):
    """A function that runs a command in a process of its own."""

    def run(*words, **options):
        words = [*command, *(str(word) for word in words)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
        return Answer(done.returncode, done.stdout, done.stderr)

    return run
