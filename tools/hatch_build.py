"""What hatchling calls: a wheel and an sdist hold the version that they are built as."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class VersionHook(BuildHookInterface):  # type: ignore[misc]
    """Puts a `_version.py` with the version of the build in the place of the one in the tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Leave the tree as it is; only what is built says another version."""
        path = Path(self.root, "src", "stiction", "_version.py")
        text = path.read_text(encoding="utf-8")
        line = f'__version__ = "{self.metadata.version}"'
        said = re.sub(r"^__version__ = .*$", line, text, flags=re.MULTILINE)
        if version == "editable" or said == text:
            return
        self.scratch = tempfile.TemporaryDirectory()
        other = Path(self.scratch.name, "_version.py")
        other.write_text(said, encoding="utf-8")
        place = "stiction" if self.target_name == "wheel" else "src/stiction"
        build_data["force_include"][str(other)] = f"{place}/_version.py"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was written for the build."""
        if hasattr(self, "scratch"):
            self.scratch.cleanup()
