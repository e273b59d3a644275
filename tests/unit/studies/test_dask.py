"""Studies on a Dask cluster, where Dask is installed; a clear error where it is not."""

import importlib.util

import pytest

import stiction as st

HERE = importlib.util.find_spec("distributed") is not None


@pytest.mark.skipif(HERE, reason="Dask is installed")
def test_without_dask_there_is_a_clear_error(sweep, tmp_path):
    with pytest.raises(st.StoreError, match=r"stiction\[cluster\]"):
        sweep(2).run(tmp_path / "study", engine="dask")


@pytest.mark.skipif(not HERE, reason="Dask is not installed")
@pytest.mark.filterwarnings("ignore")
def test_same_data_as_processes(sweep, tmp_path):
    there = sweep(9).run(tmp_path / "dask", engine="dask", workers=1, chunk=3)
    here = sweep(9).run(tmp_path / "local", workers=1)
    assert there.data.identical(here.data)


@pytest.mark.skipif(not HERE, reason="Dask is not installed")
@pytest.mark.filterwarnings("ignore")
def test_nobody_at_an_address(sweep, tmp_path):
    with pytest.raises(st.StoreError, match="a Dask scheduler that answers"):
        sweep(2).run(tmp_path / "study", engine="dask", address="tcp://127.0.0.1:9")
