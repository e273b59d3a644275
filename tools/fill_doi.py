"""Write the DOI of a release into CITATION.cff: `python tools/fill_doi.py 10.5281/zenodo.123`.

An archive gives the DOI when the release is made, so it cannot stand in the release itself; this
puts it where people look for it, and replaces one that is there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CITATION = Path(__file__).resolve().parents[1] / "CITATION.cff"
_DOI = re.compile(r"10\.\d{4,9}/[-._;()/:A-Za-z0-9]+")


def filled(text: str, doi: str) -> str:
    """Return the text of a CITATION.cff with a DOI in place of the one, or none, that it has."""
    if not _DOI.fullmatch(doi):
        raise SystemExit(f"got {doi!r}; needs a DOI such as 10.5281/zenodo.1234567")
    rest = re.sub(r"^doi: .*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^(version: .*\n)", rf"\1doi: {doi}\n", rest, flags=re.MULTILINE)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    CITATION.write_text(filled(CITATION.read_text("utf-8"), sys.argv[1]), encoding="utf-8")
