"""Saved runs and studies on the command line: `stiction show` and `stiction verify`.

`show` prints the summary of a folder. `verify` compares its files with the digests (checksums) that
were saved with them.
"""

from __future__ import annotations

import json as json_text
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stiction.cli.output import put, put_json
from stiction.core.summary import screen
from stiction.errors import StoreError, nearest
from stiction.io.contents import SUMMARY
from stiction.io.staging import whereabouts
from stiction.io.store import load
from stiction.io.verify import DAMAGED, UNVERIFIED, VALID, Verdict, examined
from stiction.studies.study import verified as verified_study

__all__ = ["existing_folder", "saved_summary", "show_run", "verify_all"]

_OUT = "out"


def existing_folder(folder: str) -> str:
    """Return `folder` if it exists, else raise an error with the closest names.

    Verified by: tests/scenarios/test_show_and_plot.py::test_typos_of_folders
    """
    if os.path.lexists(whereabouts(Path(folder))):
        return folder
    near = [path for place in (Path(folder).parent, Path(_OUT)) for path in _folders(place)]
    # a folder of the same name elsewhere is suggested first
    same = [name for name in near if Path(name).name == Path(folder).name]
    try_ = f"did you mean {same[0]!r}?" if same else nearest(folder, near) if near else ""
    why = "`stiction run` writes such folders, by default to out/NAME."
    try_ = try_ or "run `stiction run NAME` first."
    needs = "the folder of a saved run or study"
    raise StoreError(folder, "no such folder", needs, why, try_)


def _folders(place: Path) -> list[str]:
    """Return the paths of the folders in a folder, none if it cannot be read."""
    try:
        return [str(path) for path in sorted(place.iterdir()) if path.is_dir()]
    except OSError:
        return []


def saved_summary(folder: Path, **more: object) -> dict[str, Any]:
    """Return the folder of a saved run, the entries `more`, and the content of `summary.json`."""
    text = (whereabouts(folder) / SUMMARY).read_text(encoding="utf-8")
    return {"folder": str(folder), **more, **json_text.loads(text)}


def show_run(folder: str, *, unverified: bool, json: bool, quiet: bool) -> None:
    """Print the summary of a saved run: as text, as JSON, or only its first line."""
    run = load(folder, unverified=unverified)
    if json:
        doubt = {"unverified": run.unverified} if run.unverified else {}
        put_json({**saved_summary(Path(folder)), **doubt})
    else:
        put(screen(run).partition("\n")[0] if quiet else screen(run))


def verify_all(folders: Sequence[str], *, json: bool, quiet: bool) -> int:
    """Verify saved runs and studies against their digests; return the exit code.

    The code is 2 if a result is damaged or missing, else 3 if a result has no digests, else 0.

    Verified by: tests/scenarios/test_verify.py::test_exit_codes
    """
    report: list[dict[str, object]] = []

    def add(kind: str, folder: object, code: int, line: str, **more: object) -> None:
        report.append({"folder": str(folder), "kind": kind, "exit_code": code, **more})
        if not json and (code or not quiet):
            put(line)

    for folder in folders:
        for kind, path, verdict in examined(folder):
            if verdict is None:
                add(kind, path, *verified_study(path))
            elif isinstance(verdict, Verdict):
                add(kind, path, verdict.code, str(verdict), wrong=verdict.wrong)
            else:
                add(kind, path, DAMAGED, str(verdict), wrong={str(path): "no saved run"})
    if json:
        put_json(report)
    codes = {entry["exit_code"] for entry in report}
    return next((code for code in (DAMAGED, UNVERIFIED) if code in codes), VALID)
