"""No file of the tree names a place on somebody's own machine."""

import re
import subprocess

# put together here so that this file passes its own check
PLACES = "|".join(("work", "root", "home"))
ABSOLUTE = re.compile(rf"(?<![\w.~)\]}}-])/(?:{PLACES})(?![\w-])")

# left out when there is no git to say what is ignored
WRITTEN_BY_BUILDS = {"__pycache__", "_build", "auto_examples", "generated"}


def absolute_paths(path: str, text: str) -> list[str]:
    return [
        f"{path}:{number} {line.strip()}"
        for number, line in enumerate(text.splitlines(), start=1)
        if ABSOLUTE.search(line)
    ]


def tree_files(root) -> list[str]:
    """Return every tracked or new file that is not ignored; all sources when there is no git."""
    if not (root / ".git").exists():
        folders = ("src", "tests", "docs", "examples", "benchmarks")
        found = [path for folder in folders for path in (root / folder).rglob("*")]
        found += root.glob("*.*")
        files = [path.relative_to(root) for path in found if path.is_file()]
        return [path.as_posix() for path in files if not WRITTEN_BY_BUILDS & set(path.parts)]
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listing.stdout.split("\0") if name and (root / name).is_file()]


def test_no_absolute_paths(root):
    files = tree_files(root)
    assert "pyproject.toml" in files
    offenders = []
    for name in files:
        content = (root / name).read_bytes()
        if b"\0" not in content:
            offenders += absolute_paths(name, content.decode("utf-8", errors="replace"))
    assert not offenders, "absolute paths:\n" + "\n".join(offenders)


def test_the_check_sees_an_absolute_path():
    assert len(absolute_paths("sample", "open('" + "/" + "home/me/x.csv')")) == 1
    assert len(absolute_paths("sample", "cd " + "/" + "work")) == 1
    assert len(absolute_paths("sample", "file://" + "/" + "root/x")) == 1
    assert absolute_paths("sample", "src/work, force/root.py, https://example.org/home") == []
    assert absolute_paths("sample", "a path such as /workshop or /rootless") == []
