"""Subclasses of Panel, Bokeh and Tornado classes for the server of `stiction explore`.

`make` defines them at its first call, because Panel is an optional dependency: without it this
module can be imported, but `make` raises ImportError.
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
    """The classes from which `explore.server` is assembled.

    Parameters
    ----------
    page : Panel component of the whole page; its script and the server exchange messages
    guarded : Bokeh's Tornado application; its attribute `gate` checks each request first
    headers : Tornado output transform that adds given HTTP headers to every response
    refused : Tornado handler that responds with status 403 and a reason
    """

    page: Any
    guarded: Any
    headers: Any
    refused: Any


@functools.cache
def make() -> Parts:
    """Define the classes at the first call and return them."""
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
