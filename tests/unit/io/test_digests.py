"""Digests: every damage is warn, nothing damaged is opened, and what was edited can be read."""

import dataclasses
import hashlib
import json
import os
import random
import shutil

import numpy as np
import pytest

from stiction.core import files as core_files
from stiction.core.summary import screen
from stiction.errors import StoreError
from stiction.io.digests import digest_of
from stiction.io.store import load, save
from stiction.io.verify import DAMAGED, UNVERIFIED, VALID, examine

FILES = ["events.csv", "run.nc", "scenario.toml"]


@pytest.fixture
def folder(run, tmp_path):
    return save(run, tmp_path / "run")


def summary_of(folder):
    return json.loads((folder / "summary.json").read_text())


def rewrite(folder, change):
    summary = summary_of(folder)
    change(summary)
    (folder / "summary.json").write_text(json.dumps(summary))


def test_digests_are_those_of_the_files(folder):
    summary = summary_of(folder)
    assert list(summary["files"]) == FILES
    for name, digest in summary["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert examine(folder).code == VALID


def test_the_canonical_form_is_written_out():
    # the text on which other programs must agree, made by hand
    summary = {"b": [1, 0.1, 1e-30, None, True], "digest": "x", "a": {"é": "µ", "A": -0.0}}
    text = '{"a":{"A":-0.0,"\\u00e9":"\\u00b5"},"b":[1,0.1,1e-30,null,true]}'
    assert digest_of(summary) == hashlib.sha256(text.encode()).hexdigest()


def test_another_layout_is_the_same_run(folder, run):
    rewrite(folder, lambda summary: None)
    assert load(folder).unverified == ""


def test_every_damage_is_reported(folder):
    rng, valid = random.Random(5), folder.with_name("valid")
    shutil.copytree(folder, valid)
    for name in ["summary.json", *FILES]:
        data = (valid / name).read_bytes()
        for _ in range(12):
            at, bit = rng.randrange(len(data)), 1 << rng.randrange(8)
            harmed = bytearray(data)
            harmed[at] ^= bit
            (folder / name).write_bytes(harmed)
            verdict = examine(folder)
            if verdict.code == VALID:
                # another way to write the same JSON: 1e-3 and 1E-3
                assert name == "summary.json"
                assert json.loads(harmed) == json.loads(data)
                continue
            assert verdict.code == DAMAGED
            assert name in verdict.wrong
            with pytest.raises(StoreError, match=name):
                load(folder)
        (folder / name).write_bytes(data)
    assert examine(folder).code == VALID


def test_wrong_numbers_in_valid_hdf5_are_reported(folder):
    import h5py

    with h5py.File(folder / "run.nc", "a") as file:
        file["x"][...] = 1.5 * file["x"][...]
    with pytest.raises(StoreError, match=r"run\.nc was changed after it was saved"):
        load(folder)
    run = load(folder, unverified=True)
    assert run.unverified == "run.nc was changed after it was saved"
    assert "UNVERIFIED   run.nc was changed" in screen(run)
    assert "UNVERIFIED" in repr(run)


@pytest.mark.parametrize("key", ["files", "digest"])
def test_one_lost_key_is_no_old_run(folder, key):
    rewrite(folder, lambda summary: summary.pop(key))
    with pytest.raises(StoreError, match=r"summary\.json was changed"):
        load(folder)


def test_a_summary_that_lists_no_files_is_damaged(folder):
    rewrite(folder, lambda summary: summary.pop("files"))
    rewrite(folder, lambda summary: summary.update(digest=digest_of(summary)))
    for name in FILES:
        (folder / name).unlink()
    assert str(examine(folder)).endswith("summary.json: was changed after it was saved")


def test_old_runs_load_and_say_so(folder, run, without_digests):
    without_digests(folder)
    assert examine(folder).code == UNVERIFIED
    old = load(folder)
    assert old.unverified.startswith("the run has no digests")
    assert np.array_equal(old.variables["x"].values, run.variables["x"].values)
    # what is saved of it has digests, and still says what it came from
    again = load(save(old, folder.with_name("again")))
    assert again.unverified == old.unverified
    assert examine(folder.with_name("again")).code == VALID


def test_a_failed_save_of_numbers_that_are_none_has_a_digest(make_run, tmp_path):
    folder = save(make_run(final={"x": np.array([1.0, np.nan, np.inf])}), tmp_path / "run")
    assert examine(folder).code == VALID


def test_files_that_were_put_there_are_reported(folder):
    (folder / "snapshots.vtkhdf").write_bytes(b"of another run")
    with pytest.raises(StoreError, match="was not saved with this run"):
        load(folder)


@pytest.mark.parametrize("name", ["summary.json", *FILES])
def test_what_is_no_file_is_not_waited_for(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(StoreError, match=name):
        load(folder)
    if name != "scenario.toml":
        with pytest.raises(StoreError, match=name):
            load(folder, unverified=True)


@pytest.mark.parametrize(
    "text", [b"[" * 200_000, b"\xff\xfe", b"{", b"[]", b"3", b"1" * 5000, b'{"a": ' * 100_000]
)
def test_no_text_leaves_the_reader_astonished(folder, text):
    (folder / "summary.json").write_bytes(text)
    for unverified in (False, True):
        with pytest.raises(StoreError, match=r"summary\.json"):
            load(folder, unverified=unverified)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("text", [b"\xff" * 600, b"[" * 20_000])
def test_changed_files_are_read_or_refused(folder, name, text):
    (folder / name).write_bytes(text)
    with pytest.raises(StoreError, match=name):
        load(folder)
    if name == "scenario.toml":
        assert load(folder, unverified=True).system is None
    else:
        with pytest.raises(StoreError, match=name):
            load(folder, unverified=True)


def test_a_file_that_keeps_hdf5_busy_is_given_up(tmp_path, monkeypatch):
    path = tmp_path / "run.nc"
    path.write_bytes(b"x")
    monkeypatch.setattr(core_files, "_CHILD", "while True: pass")
    monkeypatch.setattr(core_files, "_LEAST_S", 0.2)
    with pytest.raises(ValueError, match="took more than"):
        core_files.check_readable(path)
    monkeypatch.setattr(core_files, "_CHILD", "import os; os.abort()")
    monkeypatch.setattr(core_files, "_LEAST_S", 20.0)
    with pytest.raises(ValueError, match="crashed"):
        core_files.check_readable(path)


def test_a_run_replaced_while_it_is_read_is_one_run(run, make_run, tmp_path, monkeypatch):
    import stiction.io.store as store

    folder, reads = save(run, tmp_path / "run"), []
    read = store.read_netcdf

    def replaced(path):
        reads.append(path)
        if len(reads) == 1:
            save(make_run(n=2), folder, overwrite=True)
        return read(path)

    monkeypatch.setattr(store, "read_netcdf", replaced)
    loaded = load(folder)
    assert len(reads) == 2
    assert loaded.final["x"].size == loaded.variables["x"].values.shape[1] == 2


def test_a_live_run_is_not_in_doubt(run):
    assert run.unverified == ""
    assert "UNVERIFIED" not in screen(run) + repr(run)
    doubted = dataclasses.replace(run, unverified="it was edited")
    assert screen(doubted).splitlines()[1] == "UNVERIFIED   it was edited"


def test_a_line_is_about_one_run(folder):
    odd = folder.rename(folder.with_name("one\nvalid        two"))
    assert str(examine(odd)).count("\n") == 0
    (odd / "run.nc").unlink()
    assert str(examine(odd)).startswith("DAMAGED")
    assert str(examine(odd)).count("\n") == 0


def test_what_to_do_can_be_pasted_into_a_shell(folder):
    odd = folder.rename(folder.with_name("a b"))
    (odd / "run.nc").write_bytes(b"")
    with pytest.raises(StoreError, match=r"stiction run '.*/a b/scenario\.toml' --out"):
        load(odd)
