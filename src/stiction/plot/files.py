"""Files that are complete or not there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["written"]


@contextlib.contextmanager
def written(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`, which takes its place when all went well.

    Folders above `path` are made. Whatever goes wrong, no broken file is left.

    Verified by: tests/unit/chains/figures/test_animation.py::test_video_frames_go_to_ffmpeg
    """
    partial = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        os.replace(partial, path)
    finally:
        if partial.is_file():
            partial.unlink()
