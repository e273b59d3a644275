"""The page on a socket of this machine: Panel carries messages, `session` answers them.

Panel is an extra, and this the only module that imports it.
"""

from __future__ import annotations

import importlib.resources
import logging
import signal
import threading
from collections.abc import Callable, Mapping
from functools import partial
from types import FrameType
from typing import Any, ClassVar

import panel as pn
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.server.util import bind_sockets
from panel.custom import JSComponent
from panel.io.application import build_applications
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.ioloop import IOLoop
from tornado.web import OutputTransform, RequestHandler

from stiction.errors import StictionError, explain
from stiction.explore.gate import HOST, Gate, new_token, policy
from stiction.explore.hub import Hub, Job
from stiction.explore.places import WorkingFolder
from stiction.explore.session import FIRST, Session
from stiction.scenario.built_in import built_in
from stiction.scenario.source import parse

__all__ = ["Server"]

_TITLE = "stiction explore"
# a phone shows pages as wide as it is only if they say so; browsers ask for icons unasked
_HEAD = """{% block preamble %}
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
{% endblock %}"""
_MOST_MESSAGE = 20 << 20


def _own(name: str) -> str:
    return importlib.resources.files("stiction.explore").joinpath(name).read_text(encoding="utf-8")


class ExplorePage(JSComponent):  # type: ignore[misc]
    """All of the page: one component, whose script asks and is answered by messages."""

    _esm = _own("page.js")
    _stylesheets: ClassVar[list[str]] = [_own("page.css")]


class _Headers(OutputTransform):  # type: ignore[misc]
    """Puts our headers on every answer."""

    def __init__(self, told: Mapping[str, str], request: HTTPServerRequest) -> None:
        self._told = told

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Return the answer with them."""
        for name, value in self._told.items():
            headers[name] = value
        return status_code, headers, chunk


class _Refused(RequestHandler):  # type: ignore[misc]
    """Answers what the gate refuses."""

    def initialize(self, why: str) -> None:
        self._why = why

    async def prepare(self) -> None:
        self.set_status(403)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"Refused: {self._why}.\n")


class _Guarded(BokehTornado):  # type: ignore[misc]
    """Bokeh's application behind the gate."""

    gate: Gate

    def find_handler(self, request: HTTPServerRequest, **more: Any) -> Any:
        """Return who answers a request: nobody but `_Refused` what the gate refuses."""
        headers = request.headers
        why = self.gate.refusal(
            request.path or "",
            headers.get_list("Host"),
            headers.get_list("Origin"),
            headers.get("Sec-Fetch-Site", ""),
        )
        if why:
            return self.get_handler_delegate(request, _Refused, {"why": why})
        return super().find_handler(request, **more)


class Server:
    """The page and the process that solves.

    Parameters
    ----------
    folder : what the page may read and write
    port : to listen on; 0 for any that is free

    Raises
    ------
    StictionError : if the port cannot be had.

    Verified by: tests/unit/explore/test_server.py::test_strangers_are_refused
    """

    def __init__(self, folder: WorkingFolder, port: int = 0) -> None:
        self.loop = IOLoop.current()
        self.hub = Hub(self.loop.add_callback)
        self._folder = folder
        # Bokeh logs every connection
        logging.getLogger("bokeh").setLevel(logging.ERROR)
        logging.getLogger("tornado.access").setLevel(logging.ERROR)
        try:
            sockets, self.port = bind_sockets(HOST, port)
        except (OSError, OverflowError) as error:
            self.hub.close()
            got = f"{port} ({getattr(error, 'strerror', None) or error})"
            why = "the page listens on a port of this machine."
            raise StictionError(
                explain("--port", got, "a port that is free", why, "leave --port out.")
            ) from error
        # code is loaded while the browser starts
        table = parse(built_in()[FIRST].read_text(encoding="utf-8"), FIRST)
        self.hub.ask(Job("", {"do": "run", "table": table}, lambda told: None))
        self.gate = Gate(new_token(), self.port)
        application = _Guarded(
            build_applications({"/": self._page}, title=_TITLE, location=False),
            prefix=self.gate.prefix,
            extra_websocket_origins=self.gate.origins,
            websocket_max_message_size_bytes=_MOST_MESSAGE,
            unused_session_lifetime_milliseconds=5000,
            check_unused_sessions_milliseconds=2000,
            default_handler_class=_Refused,
            default_handler_args={"why": "nothing is there"},
        )
        application.gate = self.gate
        application.add_transform(partial(_Headers, policy(self.port)))
        http = HTTPServer(application, max_body_size=_MOST_MESSAGE)
        http.add_sockets(sockets)
        self._server = BaseServer(self.loop, application, http)

    @property
    def address(self) -> str:
        """Where the page is, token included."""
        return self.gate.address

    def run(self, ready: Callable[[], None]) -> None:
        """Serve until Ctrl-C or SIGTERM; call `ready` as soon as requests are answered."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, self._end)
        self._server.start()
        self.loop.add_callback(ready)
        try:
            self.loop.start()
        finally:
            self._server.stop()
            self.hub.close()

    def _end(self, number: int, frame: FrameType | None) -> None:
        self.loop.add_callback_from_signal(self.loop.stop)

    def _page(self) -> Any:
        """Return a page with a session of its own."""
        page = ExplorePage(sizing_mode="stretch_width", margin=0)
        document = pn.state.curdoc
        document.template = _HEAD

        def tell(message: dict[str, Any]) -> None:
            # messages come from the worker too, outside of any request
            document.add_next_tick_callback(lambda: page._send_msg(message))

        session = Session(self._folder, self.hub, tell)
        page.on_msg(lambda event: session.hear(event.data))
        pn.state.on_session_destroyed(lambda context: session.close())
        return page
