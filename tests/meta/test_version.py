"""The version is written once; what must repeat it agrees."""

import re

from stiction._version import __version__


def test_citation_names_this_version(root):
    text = (root / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (\S+)$", text, flags=re.MULTILINE) == [__version__]
