"""Classes that build on Panel, Bokeh and Tornado, made when they are called for.

Panel is an extra: this module can be imported without it, and `make` cannot be called.
"""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from stiction.explore.gate import Gate

__all__ = ["HEAD", "Parts", "make"]

# viewport for phones; an empty icon, which browsers would otherwise request
HEAD = """{% block preamble %}
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
{% endblock %}"""


@dataclass(frozen=True)
class Parts:
    """What the server is made of.

    Parameters
    ----------
    page : all of the page: one component, whose script asks and is answered by messages
    guarded : Bokeh's application behind a gate, its attribute `gate`
    headers : puts headers, its first argument, on every answer
    refused : answers with 403 and the reason that it is given
    """

    page: Any
    guarded: Any
    headers: Any
    refused: Any


@functools.cache
def make() -> Parts:
    """Return the classes."""
    from bokeh.server.tornado import BokehTornado
    from panel.custom import JSComponent
    from tornado.web import OutputTransform, RequestHandler

    class ExplorePage(JSComponent):  # type: ignore[misc]
        _esm = _own("page.js")
        _stylesheets: ClassVar[list[str]] = [_own("page.css")]

    class Headers(OutputTransform):  # type: ignore[misc]
        def __init__(self, fields: Mapping[str, str], request: Any) -> None:
            self._fields = fields

        def transform_first_chunk(
            self, status_code: int, headers: Any, chunk: bytes, finishing: bool
        ) -> tuple[int, Any, bytes]:
            for name, value in self._fields.items():
                headers[name] = value
            return status_code, headers, chunk

    class Refused(RequestHandler):  # type: ignore[misc]
        def initialize(self, why: str) -> None:
            self._why = why

        async def prepare(self) -> None:
            self.set_status(403)
            self.set_header("Content-Type", "text/plain; charset=utf-8")
            self.finish(f"Refused: {self._why}.\n")

    class Guarded(BokehTornado):  # type: ignore[misc]
        gate: Gate

        def find_handler(self, request: Any, **more: Any) -> Any:
            headers = request.headers
            why = self.gate.refusal(
                request.path or "",
                headers.get_list("Host"),
                headers.get_list("Origin"),
                headers.get("Sec-Fetch-Site", ""),
            )
            if why:
                return self.get_handler_delegate(request, Refused, {"why": why})
            return super().find_handler(request, **more)

    return Parts(ExplorePage, Guarded, Headers, Refused)


def _own(name: str) -> str:
    return importlib.resources.files("stiction.explore").joinpath(name).read_text(encoding="utf-8")
