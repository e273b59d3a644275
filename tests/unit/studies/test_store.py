"""The folder of a study: damage, two processes, disks that are full; zarr as others read it."""

import contextlib
import errno
import json
import os
import signal

import numpy as np
import pytest

import stiction as st
from stiction.io.digests import DIGEST, read_sealed, sealed
from stiction.studies import Study
from stiction.studies import store as stores
from stiction.studies import sweep as sweeps
from stiction.studies.figures import write_study_figures
from stiction.studies.store import Store
from stiction.studies.study import verified


@pytest.fixture
def place(sweep, tmp_path):
    sweep(8).run(tmp_path / "study", workers=1, chunk=3)
    return tmp_path / "study"


def flip(path):
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def test_damage_is_found(sweep, place):
    whole = Study(place).data
    for path in ("members.zarr/final.x/1.0", "done/000002.json"):
        flip(place / path)
        study = Study(place)
        assert len(study.damaged) == 1
        assert not study.complete
        assert "DAMAGED" in str(study)
        assert verified(place)[0] == 2
        # whatever is damaged is solved again
        again = sweep(8).run(place, workers=1)
        assert again.data.identical(whole)
        assert verified(place)[0] == 0
    (place / "members.zarr" / "events" / "0").unlink()
    assert sweep(8).run(place, workers=1).data.identical(whole)
    for path in ("study.json", "batches/0.npz"):
        flip(place / path)
        with pytest.raises(st.StoreError, match=r"changed after it was written|cannot be read"):
            sweep(8).run(place)
        assert verified(place)[0] == 2
        flip(place / path)


def test_the_second_process_ends_at_once(sweep, place):
    with (
        Study(place)._store.locked(),
        pytest.raises(st.StoreError, match=f"in use by process {os.getpid()}"),
    ):
        sweep(8).run(place)
    with Study(place)._store.locked((1, 2)):
        with pytest.raises(st.StoreError, match="a shard"):
            sweep(8).run(place)
        with pytest.raises(st.StoreError, match="in use by process"):
            sweep(8).run(place, shard=(1, 2))
        sweep(8).run(place, shard=(2, 2))
    with Study(place)._store.locked(), pytest.raises(st.StoreError, match="solves the whole study"):
        sweep(8).run(place, shard=(1, 2))


def test_shards_that_begin_together(sweep, tmp_path, monkeypatch):
    """The first manifest counts for all of them, whatever each has chosen as its chunk."""
    add, whole = Store.add, sweep(8).run(tmp_path / "whole", workers=1)

    def late(store, manifest, columns):
        # the other shard has its own measured times
        monkeypatch.setattr(Store, "add", add)
        (store.folder / ".study.json.1a2b3c4d.part").touch()
        sweep(8).run(store.folder, workers=1, shard=(1, 2), chunk=2)
        return store.add(manifest, columns)

    monkeypatch.setattr(Store, "add", late)
    study = sweep(8).run(tmp_path / "parts", workers=1, shard=(2, 2), chunk=3)
    assert study.complete
    assert study.data.identical(whole.data)
    # a shard that has chosen its chunk before the other began
    is_study, other = sweeps.is_study, tmp_path / "other"

    def not_yet(folder):
        monkeypatch.setattr(sweeps, "is_study", is_study)
        sweep(8).run(folder, workers=1, shard=(1, 2), chunk=2)
        return False

    monkeypatch.setattr(sweeps, "is_study", not_yet)
    study = sweep(8).run(other, workers=1, shard=(2, 2), chunk=3)
    assert study.complete
    assert study.manifest.chunk == 2
    assert study.data.identical(whole.data)


def test_a_study_that_was_killed_before_its_members_were_added(sweep, tmp_path, monkeypatch):
    place = tmp_path / "study"
    with monkeypatch.context() as patch:
        patch.setattr(Store, "add", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            sweep(8).run(place, workers=1)
    study = Study(place)
    assert not study.complete
    assert "0 done" in str(study)
    assert study.data.sizes["law.mu"] == 0
    with pytest.raises(st.ModelError, match="without members"):
        write_study_figures(study, place / "figures")
    assert sweep(8).run(place, workers=1).complete


def test_a_full_disk_is_reported(sweep, tmp_path, monkeypatch):
    put, room = stores._put, [20]

    def small(path, raw, **options):
        room[0] -= 1
        if room[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        put(path, raw, **options)

    monkeypatch.setattr(stores, "_put", small)
    with pytest.raises(st.StoreError, match="No space left"):
        sweep(8).run(tmp_path / "study", workers=1, chunk=2)
    monkeypatch.setattr(stores, "_put", put)
    # with room again the same call goes on
    again = sweep(8).run(tmp_path / "study", workers=1)
    assert again.complete
    assert again.data.identical(sweep(8).run(tmp_path / "whole", workers=1).data)
    assert not list((tmp_path / "study").rglob(".*.part"))


def test_a_folder_that_cannot_be_made_is_reported(sweep, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(st.StoreError, match="a folder that can be written"):
        sweep(2).run(tmp_path / "file" / "study")


def test_half_written_parts_are_removed(sweep, place):
    half = place / "members.zarr" / "events" / ".1.abcd.part"
    half.write_bytes(b"half")
    sweep(8).run(place, workers=1)
    assert not half.exists()


def test_what_a_killed_worker_leaves_is_removed_at_the_end(place):
    """Nobody else comes to a study that is complete."""
    left = place / "members.zarr" / "status" / ".7.0123abcd.part"
    with stores.Store(place).locked():
        left.write_bytes(b"half of a piece")
    assert not left.exists()
    assert Study(place).complete


def test_manifests_with_earlier_names_are_read(place):
    path = place / "study.json"
    content = read_sealed(path)
    former = {("told" if k == "description" else k): v for k, v in content.items() if k != DIGEST}
    former["told"] = {("keep" if k == "results" else k): v for k, v in former["told"].items()}
    path.write_text(json.dumps(sealed(former)))
    assert Store(place).read().description == content["description"]


def test_the_store_is_zarr(place):
    """Read it by the specification of format 3 alone."""
    group = json.loads((place / "members.zarr" / "zarr.json").read_text())
    assert (group["zarr_format"], group["node_type"]) == (3, "group")
    metadata = json.loads((place / "members.zarr" / "final.x" / "zarr.json").read_text())
    assert metadata == group["consolidated_metadata"]["metadata"]["final.x"]
    assert metadata["dimension_names"] == ["member", "mass"]
    assert metadata["chunk_grid"]["configuration"]["chunk_shape"] == [3, 3]
    assert (metadata["data_type"], metadata["attributes"]["units"]) == ("float64", "m")
    pieces = [(place / "members.zarr" / "final.x" / f"{k}.0").read_bytes() for k in range(3)]
    values = np.frombuffer(b"".join(pieces), "<f8").reshape(metadata["shape"])
    assert np.array_equal(values[:8], Study(place).table["final.x"])
    assert np.isnan(values[8]).all()


def test_xarray_reads_the_store(place):
    pytest.importorskip("zarr")
    import xarray as xr

    data = xr.open_zarr(place / "members.zarr", consolidated=True)
    found = data["final.x"].values[data["status"].values >= 0]
    assert np.array_equal(found, Study(place).table["final.x"])
    assert data["final.x"].attrs["units"] == "m"


@pytest.fixture
def impatient():
    """Raise TimeoutError where an opened pipe keeps the test waiting."""

    def late(number, frame):
        raise TimeoutError("it waits for a writer")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
@pytest.mark.parametrize(
    ("name", "chunks"),
    [
        ("members.zarr/final.x/1.0", 1),
        ("done/000002.json", 1),
        ("members.zarr/zarr.json", 0),
        ("batches/0.npz", None),
        ("study.json", None),
    ],
)
@pytest.mark.usefixtures("impatient")
def test_pipes_in_place_of_files_are_damage(sweep, place, name, chunks):
    whole = Study(place).data
    (place / name).unlink()
    os.mkfifo(place / name)
    if chunks is None:
        with pytest.raises(st.StoreError, match=r"no study|no such file"):
            Study(place).data  # noqa: B018
        return
    study = Study(place)
    assert len(study.damaged) == chunks
    assert study.data.sizes["law.mu"] == 8
    assert str(study)
    assert verified(place)[0] == 2 * (chunks > 0)
    # what is damaged is solved again, and the pipe gives way to a file
    assert sweep(8).run(place, workers=1).data.identical(whole)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
@pytest.mark.usefixtures("impatient")
def test_a_pipe_in_place_of_the_lock_keeps_nobody_waiting(sweep, place):
    os.mkfifo(place.with_name(f".{place.name}.lock"))
    with contextlib.suppress(st.StoreError):
        sweep(8).run(place, workers=1)
    os.mkfifo(place / ".half.part")
    assert Study(place).complete
