"""Access control of the server of `stiction explore`.

A request is accepted if its address contains a secret token, if it is addressed to this machine,
and if it does not come from a page of another server. `parts` checks each request by `Gate`.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["HOST", "Gate", "new_token", "policy"]

HOST = "127.0.0.1"
_NAMES = (HOST, "localhost")
_TOKEN = re.compile(r"/([\w-]+)(?:/|$)")


def new_token() -> str:
    """Return a random token of 43 characters, the first part of every address."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Gate:
    """The checks of every request, websockets included.

    Parameters
    ----------
    token : secret, which must be the first part of the path
    port : port of this server; a request for another port is refused
    """

    token: str
    port: int

    @property
    def prefix(self) -> str:
        """First part of every path: a slash and the token."""
        return f"/{self.token}"

    @property
    def address(self) -> str:
        """URL of the page."""
        return f"http://{HOST}:{self.port}{self.prefix}/"

    @property
    def origins(self) -> list[str]:
        """Hosts whose pages may open a websocket: those of this server alone."""
        return [f"{name}:{self.port}" for name in _NAMES]

    def refusal(
        self, path: str, hosts: Sequence[str], origins: Sequence[str], site: str = ""
    ) -> str:
        """Return why a request is refused; "" if it is accepted.

        Parameters
        ----------
        path : of the address, as received
        hosts, origins : values of the HTTP headers Host and Origin; one host is required, an
            origin may be absent
        site : value of the header Sec-Fetch-Site, which newer browsers send

        Verified by: tests/unit/explore/test_gate.py::test_strangers_are_refused
        """
        # DNS rebinding: a foreign name may resolve to this machine, but it is another host
        if len(hosts) != 1 or hosts[0].lower() not in self.origins:
            return "this server answers requests to 127.0.0.1 and localhost only"
        ours = [f"http://{name}" for name in self.origins]
        if any(origin.lower() not in ours for origin in origins):
            return "this server refuses requests from other pages"
        if site not in ("", "none", "same-origin"):
            return "this server refuses requests from other pages"
        match = _TOKEN.match(path)
        # bytes: texts that are not ASCII cannot be compared in constant time
        if match is None or not hmac.compare_digest(match[1].encode(), self.token.encode()):
            return "the address lacks the token that `stiction explore` printed"
        return ""


def policy(port: int) -> dict[str, str]:
    """Return the HTTP headers of every response.

    They forbid scripts and data from other servers, and other pages to embed this one.
    """
    own = " ".join(f"ws://{name}:{port}" for name in _NAMES)
    rules = {
        "default-src": "'none'",
        # Bokeh starts pages by inline scripts, and components are modules of their own (blob:)
        "script-src": "'self' 'unsafe-inline' 'unsafe-eval' blob:",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data:",
        "font-src": "'self' data:",
        "connect-src": f"'self' {own} blob:",
        "frame-src": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {what}" for name, what in rules.items()),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
