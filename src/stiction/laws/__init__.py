"""What resists: friction and adhesion laws, pure in slip, gap and history."""

from __future__ import annotations

from stiction._lazy import room_names

__getattr__, __dir__ = room_names(__name__)
