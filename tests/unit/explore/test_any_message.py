"""Whatever a page sends, a session answers in words and touches nothing outside."""

import json
import sys

import pytest
from explorer import Talk
from hypothesis import given
from hypothesis import strategies as some

WORDS = some.sampled_from(
    ["hello", "choose", "set", "run", "stop", "save", "open", "figure", "folder", "exec", ""]
)
NAMES = some.sampled_from(
    [
        "slip-wave",
        "stick-set",
        "mine.toml",
        "../out.toml",
        "/etc/passwd",
        "a\0",
        "x" * 500,
        "wave",
        "\ud800.toml",
    ]
)
PATHS = some.sampled_from(["system.law.mu", "solve.t_end", "system.mass[1]", "system", "__class__"])
VALUES = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats()
    | some.text(some.characters(), max_size=20),
    lambda inner: (
        some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
MESSAGES = VALUES | some.fixed_dictionaries(
    {"do": WORDS | VALUES},
    optional={
        "name": NAMES | VALUES,
        "path": PATHS | VALUES,
        "value": VALUES,
        "live": VALUES,
        "overwrite": VALUES,
    },
)


@pytest.fixture(scope="module")
def inner(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outer") / "work"
    folder.mkdir()
    return folder


@given(messages=some.lists(MESSAGES, min_size=1, max_size=6))
def test_a_session_survives_any_message(inner, messages):
    deaf = [sys.executable, "-S", "-c", "import sys\nfor line in sys.stdin: pass"]
    with Talk(inner, deaf) as talk:
        for message in messages:
            talk.session.hear(message)
        assert all(isinstance(message["kind"], str) for message in talk.received)
        assert all("root:" not in str(message) for message in talk.received)
        # half of a surrogate pair could not be sent
        assert all(json.dumps(message, ensure_ascii=False).encode() for message in talk.received)
    assert [path.name for path in inner.parent.iterdir()] == ["work"]
    assert list(inner.iterdir()) == []
