"""The server as it runs: headers and addresses that strangers send, over a socket."""

import asyncio
import base64
import contextlib
import http.client
import os
import re
import signal
import socket
import time
from urllib.parse import urlsplit

import pytest
from explorer import alive, serving

pytest.importorskip("panel", reason='no Panel: pip install "stiction[explore]"')


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("work")) as (found, _):
        yield found


def asked(address, path=None, method="GET", host=None, **headers):
    """Return the status, headers and text of an answer."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=20)
    connection.putrequest(method, parts.path if path is None else path, skip_host=True)
    if host != "":
        connection.putheader("Host", host or parts.netloc)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode("utf-8", "replace")
    connection.close()
    return answer.status, dict(answer.getheaders()), text


def upgraded(address, **headers):
    """Return the status of a websocket that is asked for."""
    key = base64.b64encode(b"k" * 16).decode()
    message = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec_WebSocket_Key": key,
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Protocol": "bokeh, token",
    }
    return asked(address, urlsplit(address).path + "ws", **message, **headers)[0]


def test_the_page_is_served_with_a_policy(address):
    status, headers, text = asked(address)
    assert status == 200
    assert "<title>stiction explore</title>" in text
    assert "https://" not in text
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; ")
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in headers


def test_strangers_are_refused(address):
    port = urlsplit(address).port
    for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1:{port + 1}"):
        status, _, text = asked(address, host=host)
        assert (status, "Refused" in text) == (403, True), host
    assert asked(address, host="")[0] in (400, 403)
    for origin in ("http://evil.example", f"https://127.0.0.1:{port}", "null"):
        assert asked(address, Origin=origin)[0] == 403, origin
    assert asked(address, Sec_Fetch_Site="cross-site")[0] == 403
    assert asked(address, host=f"localhost:{port}")[0] == 200


def test_nothing_is_answered_without_the_token(address):
    own = urlsplit(address).path
    wrong = f"/{'x' * 43}/"
    paths = ["/", "/ws", "/favicon.ico", "/static/js/bokeh.min.js", wrong, own.upper(), "/metadata"]
    for path in [*paths, f"{wrong}ws", f"{wrong}static/js/bokeh.min.js", "/autoload.js"]:
        status, headers, text = asked(address, path)
        assert status == 403, path
        assert own.strip("/") not in text + str(headers)
    assert asked(address, f"{own}static/js/bokeh.min.js")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "static/../../../../../../etc/passwd",
        "static/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "static/extensions/panel/../../../../../../../../etc/passwd",
        "components/stiction.explore.server/ExplorePage/_esm/../../../../etc/passwd",
        "components/panel.custom/JSComponent/../../../../../../../../etc/passwd",
        "../etc/passwd",
        "static//etc/passwd",
    ],
)
def test_no_file_of_the_machine_is_served(address, path):
    status, _, text = asked(address, urlsplit(address).path + path)
    assert status in (400, 403, 404)
    assert "root:" not in text


def test_websockets_of_strangers_are_refused(address):
    port = urlsplit(address).port
    for origin in ("http://evil.example", f"http://127.0.0.1:{port + 1}", "null"):
        assert upgraded(address, Origin=origin) == 403, origin
    assert upgraded(address, Origin=f"http://127.0.0.1:{port}", Sec_Fetch_Site="cross-site") == 403
    # ours is let in
    assert upgraded(address, Origin=f"http://127.0.0.1:{port}") == 101


async def sent(address, frames):
    """Send frames over a websocket of the page, and wait until they were read or refused."""
    from tornado.httpclient import HTTPRequest
    from tornado.websocket import websocket_connect

    token = re.search(r'"token":"([^"]+)"', asked(address)[2])[1]
    origin = {"Origin": f"http://127.0.0.1:{urlsplit(address).port}"}
    request = HTTPRequest(f"ws{address.removeprefix('http')}ws", headers=origin)
    socket = await websocket_connect(request, subprotocols=["bokeh", token])
    for frame in frames:
        await socket.write_message(frame)
    with contextlib.suppress(asyncio.TimeoutError):
        while await asyncio.wait_for(socket.read_message(), 0.5) is not None:
            pass
    socket.close()


@pytest.mark.slow
def test_odd_messages_and_headers_leave_no_traceback(tmp_path):
    head = '{"msgid": "1", "msgtype": "%s"}'
    messages = [
        [head % "\\ud800", "{}", "{}"],
        [head % "PATCH-DOC", "{}", "[" * 50_000],
        [head % "PATCH-DOC", "{}", '{"events": [{"kind": "TitleChanged", "title": "\\ud800"}]}'],
        ["1", "2", "3"],
    ]
    with (
        (tmp_path / "errors").open("w+") as errors,
        serving(tmp_path, errors=errors) as (address, _),
    ):
        for origin in ("http://[", "http://[::1", "\xff"):
            assert asked(address, Origin=origin)[0] == 403
        for frames in messages:
            asyncio.run(sent(address, frames))
        assert asked(address)[0] == 200
        errors.seek(0)
        text = errors.read()
    assert "Traceback" not in text
    assert "RecursionError at" in text
    assert all(line.startswith("stiction explore: ") for line in text.splitlines())


def test_it_listens_on_this_machine_alone(address):
    port = urlsplit(address).port
    others = {
        info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    } - {"127.0.0.1"}
    for other in others:
        with socket.socket() as plug:
            plug.settimeout(2)
            # another address of the loopback net is no 127.0.0.1 either
            assert plug.connect_ex((other, port)) != 0, other


def test_ctrl_c_ends_it_with_its_worker(tmp_path):
    psutil = pytest.importorskip("psutil")
    with serving(tmp_path) as (_, process):
        end = time.monotonic() + 10.0
        while not (children := psutil.Process(process.pid).children()):
            assert time.monotonic() < end
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 0
        assert not any(alive(child.pid) for child in children)


def test_a_taken_port_is_reported(tmp_path, address):
    import subprocess
    import sys

    port = str(urlsplit(address).port)
    command = [sys.executable, "-m", "stiction", "explore", "--no-browser", "--port", port]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=60, env=dict(os.environ)
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"--port: got {port} (")
    assert "Try: leave --port out" in done.stderr
