"""What may be replaced: a result that cannot be read counts as good, and is not waited for."""

import json
import os

import pytest

from stiction.io.contents import SUMMARY, holds_valid
from stiction.io.verify import examine


@pytest.mark.parametrize(("status", "good"), [("solved", True), ("not_finite", False)])
def test_a_status_says_it(tmp_path, status, good):
    (tmp_path / SUMMARY).write_text(json.dumps({"status": status}))
    assert holds_valid(tmp_path) is good


@pytest.mark.parametrize(
    "text", [b"[" * 200_000, b"\xff\xfe", b"{", b"[]", b"3", b"1" * 5000, b'{"status": "gone"}']
)
def test_what_cannot_be_read_counts_as_good(tmp_path, text):
    (tmp_path / SUMMARY).write_bytes(text)
    assert holds_valid(tmp_path)


def test_pipes_and_endless_files_are_not_read(tmp_path):
    assert not holds_valid(tmp_path)
    os.mkfifo(tmp_path / SUMMARY)
    assert holds_valid(tmp_path)
    (tmp_path / SUMMARY).unlink()
    with (tmp_path / SUMMARY).open("wb") as file:
        file.truncate(1 << 42)
    assert holds_valid(tmp_path)
    assert "too large" in examine(tmp_path).wrong[SUMMARY]
