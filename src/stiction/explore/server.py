"""The web server of the page on this machine: Panel transfers messages, `session` answers them.

Panel is an optional dependency, imported when a `Server` is made.
"""

from __future__ import annotations

import logging
import signal
import threading
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from stiction.errors import StictionError, explain
from stiction.explore.gate import HOST, Gate, new_token, policy
from stiction.explore.hub import Hub, Job
from stiction.explore.parts import HEAD, make
from stiction.explore.places import WorkingFolder
from stiction.explore.session import FIRST, Session
from stiction.io.scenario.built_in import built_in
from stiction.io.scenario.source import parse

__all__ = ["Server"]

_TITLE = "stiction explore"
_MOST_MESSAGE = 20 << 20


class Server:
    """Web server of the page, with the hub of the worker process.

    Parameters
    ----------
    folder : the only folder that the page may read and write
    port : to listen on; 0 for any that is free

    Raises
    ------
    StictionError : if the port is in use or not permitted.

    Verified by: tests/unit/explore/test_server.py::test_strangers_are_refused
    """

    def __init__(self, folder: WorkingFolder, port: int = 0) -> None:
        from tornado.ioloop import IOLoop

        self.loop = IOLoop.current()
        self.hub = Hub(self.loop.add_callback)
        self._folder = folder
        # this first run loads its code while Panel and the browser start
        table = parse(built_in()[FIRST].read_text(encoding="utf-8"), FIRST)
        self.hub.ask(Job("", {"do": "run", "table": table}, lambda message: None))
        from bokeh.server.server import BaseServer
        from bokeh.server.util import bind_sockets
        from panel.io.application import build_applications
        from tornado.httpserver import HTTPServer

        parts = make()
        _log_in_lines()
        try:
            sockets, self.port = bind_sockets(HOST, port)
        except (OSError, OverflowError) as error:
            self.hub.close()
            got = f"{port} ({getattr(error, 'strerror', None) or error})"
            why = "the page listens on a port of this machine."
            raise StictionError(
                explain("--port", got, "a port that is free", why, "leave --port out.")
            ) from error
        self.gate = Gate(new_token(), self.port)
        application = parts.guarded(
            build_applications({"/": self._page}, title=_TITLE, location=False),
            prefix=self.gate.prefix,
            extra_websocket_origins=self.gate.origins,
            websocket_max_message_size_bytes=_MOST_MESSAGE,
            unused_session_lifetime_milliseconds=5000,
            check_unused_sessions_milliseconds=2000,
            default_handler_class=parts.refused,
            default_handler_args={"why": "nothing is there"},
        )
        application.gate = self.gate
        application.add_transform(partial(parts.headers, policy(self.port)))
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
        import panel as pn

        page = make().page(sizing_mode="stretch_width", margin=0)
        document = pn.state.curdoc
        document.template = HEAD

        def send(message: dict[str, Any]) -> None:
            # messages come from the worker too, outside of any request
            document.add_next_tick_callback(lambda: page._send_msg(message))

        session = Session(self._folder, self.hub, send)
        page.on_msg(lambda event: session.hear(event.data))
        pn.state.on_session_destroyed(lambda context: session.close())
        return page


class _Line(logging.Formatter):
    """Formats an error as one line, because untrusted messages can cause any number of them."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line: the message, and the class and place of its error."""
        error = record.exc_info[1] if record.exc_info else None
        line = f"stiction explore: {record.getMessage()!r:.200}"
        if error is None:
            return line
        last = traceback.extract_tb(error.__traceback__)[-1:]
        where = "".join(f" at {Path(frame.filename).name}:{frame.lineno}" for frame in last)
        return f"{line} ({type(error).__name__}{where})"


def _log_in_lines() -> None:
    """Reduce the logs of Bokeh and Tornado to errors, one line each."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Line())
    # by default Bokeh and Tornado log every connection, and errors with their tracebacks
    for name in ("bokeh", "tornado"):
        log = logging.getLogger(name)
        log.setLevel(logging.ERROR)
        log.handlers[:], log.propagate = [handler], False
