"""Prepare a release: `python tools/release.py 0.2.0 [2026-12-24]`.

Writes the version into `_version.py`, `CITATION.cff` and the recipe for conda, and gives what is
unreleased in CHANGELOG.md its heading. What is left to do is printed: to look at it, commit, tag.
"""

from __future__ import annotations

import datetime
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_VERSION = re.compile(r"\d+\.\d+\.\d+")
# files that repeat the version, and the line that does
REPEATED = {
    "src/stiction/_version.py": (r'^__version__ = ".*"$', '__version__ = "{version}"'),
    "CITATION.cff": (r"^version: .*$", "version: {version}"),
    "conda/recipe/recipe.yaml": (r'^  version: ".*"$', '  version: "{version}"'),
}


def released(changelog: str, version: str, day: str) -> str:
    """Return a changelog in which all that was unreleased belongs to a version."""
    if re.search(rf"^## \[{re.escape(version)}\]", changelog, flags=re.MULTILINE):
        raise SystemExit(f"CHANGELOG.md: got {version}, which is there; needs a new version.")
    before, mark, after = changelog.partition("## [Unreleased]\n")
    if not mark or not after.partition("\n## [")[0].strip():
        raise SystemExit("CHANGELOG.md: got nothing unreleased; needs lines under [Unreleased].")
    return f"{before}{mark}\n## [{version}] - {day}\n{after}"


def renumbered(path: str, text: str, version: str) -> str:
    """Return the text of a file of `REPEATED` with another version."""
    pattern, line = REPEATED[path]
    said, count = re.subn(pattern, line.format(version=version), text, flags=re.MULTILINE)
    if count != 1:
        raise SystemExit(f"{path}: got {count} lines of a version; needs one.")
    return said


def main(words: list[str]) -> int:
    """Write the files and say what is left to do."""
    if not words or not _VERSION.fullmatch(words[0]):
        raise SystemExit(__doc__)
    version = words[0]
    day = words[1] if len(words) > 1 else datetime.date.today().isoformat()
    datetime.date.fromisoformat(day)
    changelog = ROOT / "CHANGELOG.md"
    texts = {changelog: released(changelog.read_text("utf-8"), version, day)}
    for path in REPEATED:
        texts[ROOT / path] = renumbered(path, (ROOT / path).read_text("utf-8"), version)
    for place, text in texts.items():
        place.write_text(text, encoding="utf-8")
    print(f"look at it: git diff\nthen: git commit -am 'Version {version}' && git tag v{version}")
    print("an archive gives the DOI: python tools/fill_doi.py DOI")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
