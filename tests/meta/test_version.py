"""The version is written once; what must repeat it agrees."""

import json
import re
import runpy

import pytest

from stiction._version import __version__


def test_citation_names_this_version(root):
    text = (root / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (\S+)$", text, flags=re.MULTILINE) == [__version__]


def test_a_doi_is_filled_in_and_replaced(root):
    path = root / "tools" / "fill_doi.py"
    code = runpy.run_path(str(path), run_name="a_module")
    text = (root / "CITATION.cff").read_text(encoding="utf-8")
    once = code["filled"](text, "10.5281/zenodo.1")
    twice = code["filled"](once, "10.5281/zenodo.22")
    assert twice.count("doi:") == 1
    assert "\ndoi: 10.5281/zenodo.22\n" in twice
    assert code["filled"](twice, "10.5281/zenodo.1") == once
    with pytest.raises(SystemExit, match="needs a DOI"):
        code["filled"](text, "zenodo")


def test_the_archive_says_what_the_citation_says(root):
    archive = json.loads((root / ".zenodo.json").read_text(encoding="utf-8"))
    text = (root / "CITATION.cff").read_text(encoding="utf-8")
    assert f'title: "{archive["title"]}"' in text
    assert f"license: {archive['license']}" in text
