"""The working folder: what lies outside is neither read nor written, however it is named."""

import os

import pytest

from stiction.errors import StoreError
from stiction.explore import places
from stiction.explore.places import Place, WorkingFolder

SCENARIO = "[system]\ntype = 'Chain'\n"


@pytest.fixture
def folder(tmp_path):
    """A working folder with a run, a study and a scenario, beside a secret."""
    (tmp_path / "secret.toml").write_text("secret = 1\n", encoding="utf-8")
    root = tmp_path / "work"
    (root / "out" / "wave").mkdir(parents=True)
    (root / "out" / "wave" / "summary.json").write_text("{}", encoding="utf-8")
    (root / "out" / "wave" / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    (root / "out" / "map").mkdir()
    (root / "out" / "map" / "study.json").write_text("{}", encoding="utf-8")
    (root / "mine.toml").write_text(SCENARIO, encoding="utf-8")
    return WorkingFolder(root)


OUTSIDE = [
    "../secret.toml",
    "out/../../secret.toml",
    "out/wave/../../../secret.toml",
    "/etc/passwd",
    "/etc/hostname.toml",
    "~/secret.toml",
    "..",
    "..\\secret.toml",
    "C:\\secret.toml",
    "mine.toml\0.txt",
    "a\nb.toml",
    "",
    "x" * 400,
    "\ud800",
    None,
    3,
    ["mine.toml"],
    {"a": 1},
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_outside_the_folder_is_resolved(folder, name):
    for act in (folder.resolve, folder.text_of):
        with pytest.raises(StoreError, match=r"inside the working folder|an existing file"):
            act(name)


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_outside_is_written(folder, name, tmp_path):
    with pytest.raises(StoreError):
        folder.write(name, "x = 1\n", overwrite=True)
    assert (tmp_path / "secret.toml").read_text(encoding="utf-8") == "secret = 1\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret.toml", "work"]


def test_links_that_lead_outside_are_refused(folder, tmp_path):
    root = folder.root
    (root / "link.toml").symlink_to(tmp_path / "secret.toml")
    (root / "away").symlink_to(tmp_path)
    for name in ("link.toml", "away", "away/secret.toml"):
        with pytest.raises(StoreError, match="leads outside"):
            folder.resolve(name)
    with pytest.raises(StoreError, match="plain file"):
        folder.write("link.toml", "x = 1\n", overwrite=True)
    with pytest.raises(StoreError, match="leads outside"):
        folder.write("away/new.toml", "x = 1\n")
    assert (tmp_path / "secret.toml").read_text(encoding="utf-8") == "secret = 1\n"
    # a link within the folder is as good as what it leads to
    (root / "same.toml").symlink_to(root / "mine.toml")
    assert folder.text_of("same.toml") == SCENARIO
    assert "link.toml" not in [place.name for place in folder.listed()]


def test_a_saved_run_with_a_link_outside_is_refused(folder, tmp_path):
    assert folder.resolve("out/wave").is_dir()
    (folder.root / "out" / "wave" / "run.nc").symlink_to(tmp_path / "secret.toml")
    with pytest.raises(StoreError, match="leads outside"):
        folder.resolve("out/wave")


def test_what_is_no_scenario_is_not_read(folder):
    root = folder.root
    (root / "long.toml").write_text("#" * (1 << 21), encoding="utf-8")
    (root / "bytes.toml").write_bytes(b"\xff\xfe")
    (root / "notes.txt").write_text("x", encoding="utf-8")
    if hasattr(os, "mkfifo"):
        # reading a pipe would wait for ever
        os.mkfifo(root / "pipe.toml")
    for name in ("long.toml", "bytes.toml", "notes.txt", "pipe.toml", "out"):
        with pytest.raises(StoreError):
            folder.text_of(name)


def test_what_can_be_loaded_is_listed(folder):
    assert folder.listed() == [
        Place("run", "out/wave"),
        Place("scenario", "mine.toml"),
        Place("study", "out/map"),
    ]


def test_the_newest_of_each_kind_are_listed(folder, monkeypatch):
    monkeypatch.setattr(places, "_MOST_LISTED", 2)
    for k, name in enumerate(("c", "a", "b", "~old", "run 12:30")):
        made = folder.root / name
        made.mkdir()
        (made / "summary.json").write_text("{}", encoding="utf-8")
        os.utime(made, (2e9 + k, 2e9 + k))
    # names that the page could not open are left out
    assert [place.name for place in folder.listed()] == ["a", "b", "mine.toml", "out/map"]
    assert folder.kind_of(folder.resolve("out/wave")) == "run"
    for place in folder.listed():
        folder.resolve(place.name)


def test_neither_runs_nor_long_texts_are_written(folder):
    for name in ("out/wave/scenario.toml", "out/map/new.toml"):
        with pytest.raises(StoreError, match="a saved run or a study"):
            folder.write(name, "x = 1\n", overwrite=True)
    assert folder.text_of("out/wave/scenario.toml") == SCENARIO
    with pytest.raises(StoreError, match="at most 1 MB"):
        folder.write("long.toml", "#" * (1 << 21))


def test_nothing_is_replaced_unasked(folder):
    with pytest.raises(StoreError, match="which exists"):
        folder.write("mine.toml", "x = 1\n")
    assert folder.write("mine.toml", "x = 1\n", overwrite=True).read_text() == "x = 1\n"
    assert folder.write("out/new.toml", "x = 2\n").read_text() == "x = 2\n"
    assert not [path for path in folder.root.rglob("*") if path.name.endswith(".part")]


@pytest.mark.parametrize(
    "name", ["<script>.toml", "a'b.toml", 'a"b.toml', "mine.txt", ".toml", ".hidden.toml", "out"]
)
def test_odd_names_are_not_written(folder, name):
    with pytest.raises(StoreError, match="letters, digits"):
        folder.write(name, "x = 1\n")


def test_a_folder_must_be_there(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    for name in ("nowhere", "file", "a\0b"):
        with pytest.raises(StoreError, match="--folder"):
            WorkingFolder(tmp_path / name)
