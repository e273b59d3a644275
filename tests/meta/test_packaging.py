"""Recipe, images and scripts of a release say what pyproject says.

Checked here: names, versions, dependencies, the commands and files that they use, the syntax of
what is a script. Not checked: that Docker, Binder or conda accept and build them; none of the
three runs where the tests do.
"""

import datetime
import re
import runpy
import shutil
import subprocess
import tomllib

import pytest
import yaml

from stiction._version import __version__

# names of conda-forge that differ from those of PyPI
ON_CONDA = {"matplotlib": "matplotlib-base"}


@pytest.fixture
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text("utf-8"))


@pytest.fixture
def recipe(root):
    return yaml.safe_load((root / "conda/recipe/recipe.yaml").read_text("utf-8"))


@pytest.fixture
def tool(root):
    return lambda name: runpy.run_path(str(root / "tools" / name), run_name="a_module")


def parts(requirement):
    return re.fullmatch(r"([\w.-]+)\s*(\S*)", requirement).groups()


# ---- the recipe


def test_the_recipe_needs_what_the_package_needs(project, recipe):
    wanted = dict(map(parts, project["project"]["dependencies"]))
    wanted = {ON_CONDA.get(name, name): bound for name, bound in wanted.items()}
    found = dict(map(parts, recipe["requirements"]["run"]))
    assert found.pop("python") == project["project"]["requires-python"]
    assert found == wanted


def test_the_recipe_builds_as_the_package_is_built(root, project, recipe):
    host = dict(map(parts, recipe["requirements"]["host"]))
    (backend,) = project["build-system"]["requires"]
    assert host["hatchling"] == parts(backend)[1]
    assert host["python"] == project["project"]["requires-python"]
    assert recipe["context"]["version"] == __version__
    assert recipe["package"]["name"] == project["project"]["name"]
    assert recipe["about"]["summary"] == project["project"]["description"]
    assert recipe["about"]["license"] == project["project"]["license"]
    (script,) = recipe["build"]["python"]["entry_points"]
    name, _, place = script.partition(" = ")
    assert project["project"]["scripts"] == {name: place}
    folder = (root / "conda/recipe" / recipe["source"]["path"]).resolve()
    assert folder == root
    assert (folder / recipe["about"]["license_file"]).is_file()


# ---- images


def test_the_images_use_files_that_are_there(root, project):
    texts = {name: (root / name).read_text("utf-8") for name in ("Dockerfile", "binder/postBuild")}
    ignored = (root / ".dockerignore").read_text("utf-8").splitlines()
    extras = project["project"]["optional-dependencies"]
    for name, text in texts.items():
        tools = set(re.findall(r"tools/[\w.]+", text))
        assert {"tools/wheel.py", "tools/constraints.txt"} <= tools, name
        assert all((root / tool).is_file() for tool in tools), name
        # kernels are compiled while the image is built, and a preset is tried
        assert "python tools/wheel.py" in text
        assert re.search(r"stiction run slip-wave .*--out /tmp/first", text)
        assert set(re.findall(r'"\.\[(\w+)\]"', text)) <= set(extras)
    # what a wheel is built from is not excluded from the image
    built_from = runpy.run_path(str(root / "tools/wheel.py"), run_name="a_module")["_BUILT_FROM"]
    assert not set(built_from) & set(ignored)
    assert project["project"]["license"] in texts["Dockerfile"]


def test_the_images_take_a_python_that_the_package_takes(root, project):
    least = tuple(map(int, re.findall(r"\d+", project["project"]["requires-python"])))
    pythons = re.findall(r"^FROM python:([\d.]+)", (root / "Dockerfile").read_text(), re.MULTILINE)
    pythons += re.findall(r"python-([\d.]+)", (root / "binder/runtime.txt").read_text())
    assert len(pythons) == 3
    assert len(set(pythons)) == 1
    assert tuple(map(int, pythons[0].split("."))) >= least


def test_the_script_of_binder_is_one(root):
    script = root / "binder/postBuild"
    assert script.stat().st_mode & 0o111
    if bash := shutil.which("bash"):
        subprocess.run([bash, "-n", str(script)], check=True)


def test_binder_brings_what_its_script_calls(root):
    brought = (root / "binder/requirements.txt").read_text("utf-8")
    assert "sphinx_gallery_py2jupyter" in (root / "binder/postBuild").read_text("utf-8")
    assert "sphinx-gallery" in brought


# ---- addresses


def test_no_address_is_invented(root, project, recipe, tool):
    home = tool("fill_home.py")
    urls = project["project"]["urls"]
    base = urls["Homepage"]
    assert all(url.startswith(base) for url in urls.values())
    assert recipe["about"]["homepage"] == base
    assert base in (root / "Dockerfile").read_text("utf-8")
    text = (root / "pyproject.toml").read_text("utf-8")
    other = tomllib.loads(home["filled"](text, "https://forge.net/us/stiction"))["project"]["urls"]
    if base == home["PLACEHOLDER"]:
        assert other["Issues"] == "https://forge.net/us/stiction/issues"
    with pytest.raises(SystemExit, match="needs an address"):
        home["filled"](text, "forge")


# ---- versions


@pytest.fixture
def clone(root, tmp_path, monkeypatch):
    """A tree with one commit, and a function that runs git in it."""
    monkeypatch.delenv("STICTION_VERSION", raising=False)
    for name in ("src/stiction/_version.py", "tools/version.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, tmp_path / name)

    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True)

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "one")
    return tmp_path, git


@pytest.fixture
def version(tool):
    return tool("version.py")["version"]


def test_versions_come_from_tags(clone, version, monkeypatch):
    tree, git = clone
    # a clone without tags
    assert version(tree) == __version__
    git("tag", f"v{__version__}")
    assert version(tree) == __version__
    (tree / "more").write_text("more")
    git("add", "-A")
    git("commit", "-qm", "two")
    *head, last = __version__.split(".")
    following = ".".join([*head, str(int(last) + 1)])
    assert re.fullmatch(rf"{re.escape(following)}\.dev1\+g[0-9a-f]+", version(tree))
    (tree / "more").write_text("other")
    assert version(tree).endswith(".dirty")
    monkeypatch.setenv("STICTION_VERSION", "9.9.9")
    assert version(tree) == "9.9.9"


def test_a_tag_that_the_package_does_not_say_is_refused(clone, version):
    tree, git = clone
    git("tag", "v9.9.9")
    with pytest.raises(SystemExit, match=r"needs '9\.9\.9'"):
        version(tree)


def test_without_git_the_package_says_it(root, tmp_path, version, monkeypatch):
    monkeypatch.delenv("STICTION_VERSION", raising=False)
    shutil.copytree(root / "src/stiction", tmp_path / "src/stiction", ignore=lambda *_: ["chains"])
    assert version(tmp_path) == __version__
    monkeypatch.setenv("PATH", "")
    assert version(tmp_path) == __version__


def test_an_archive_in_another_tree_does_not_take_its_tags(clone, version):
    tree, git = clone
    git("tag", "v8.0.0")
    inner = tree / "vendored"
    shutil.copytree(tree / "src", inner / "src")
    assert version(inner) == __version__


# ---- a release


def test_the_changelog_is_by_version(root, tool):
    release = tool("release.py")
    text = (root / "CHANGELOG.md").read_text("utf-8")
    headings = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", text, flags=re.MULTILINE)
    assert headings[0] == ("Unreleased", "")
    days = [datetime.date.fromisoformat(day) for _, day in headings[1:]]
    assert days == sorted(days, reverse=True)
    after = release["released"](text, "99.0.0", "2099-12-24")
    assert "## [Unreleased]\n\n## [99.0.0] - 2099-12-24\n" in after
    assert len(after.splitlines()) == len(text.splitlines()) + 2
    with pytest.raises(SystemExit, match="which is there"):
        release["released"](after, "99.0.0", "2099-12-25")
    with pytest.raises(SystemExit, match="nothing unreleased"):
        release["released"](after, "99.0.1", "2099-12-25")


def test_a_release_renumbers_every_file(root, tool):
    release = tool("release.py")
    for path in release["REPEATED"]:
        text = (root / path).read_text("utf-8")
        assert __version__ in text, path
        assert "99.0.0" in release["renumbered"](path, text, "99.0.0")
    with pytest.raises(SystemExit, match="needs one"):
        release["renumbered"]("CITATION.cff", "nothing", "99.0.0")


def test_nothing_binary_is_in_git(root):
    if shutil.which("git") is None or not (root / ".git").exists():
        pytest.skip("this copy of the sources is no clone of git")
    listed = ["git", "-C", str(root), "ls-files", "-z"]
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
    files = [root / name for name in names if name and (root / name).is_file()]
    assert len(files) > 1000
    binary = [str(f.relative_to(root)) for f in files if b"\0" in f.read_bytes()[:8000]]
    assert not binary, f"not text: {', '.join(binary)}"
