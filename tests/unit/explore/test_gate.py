"""Who may ask: every header and path that a stranger could send."""

import re

import pytest

from stiction.explore.gate import Gate, new_token, policy

GATE = Gate("t" * 43, 5006)
PATH = f"/{'t' * 43}/"


def refusal(path=PATH, hosts=("127.0.0.1:5006",), origins=(), site=""):
    return GATE.refusal(path, hosts, origins, site)


def test_our_own_page_may_ask():
    assert refusal() == ""
    assert refusal(PATH + "ws", ["localhost:5006"], ["http://localhost:5006"], "same-origin") == ""
    assert refusal(PATH + "static/js/bokeh.min.js") == ""
    assert refusal(PATH.rstrip("/")) == ""
    assert refusal(site="none") == ""


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/static/js/bokeh.min.js",
        "/ws",
        f"/{'t' * 42}/",
        f"/{'t' * 44}/",
        f"//{'t' * 43}/",
        f"/x/../{'t' * 43}/",
        f"/?{'t' * 43}",
        f"/{'T' * 43}/",
        f"/{'t' * 43}%2f",
        f"/{'é' * 43}/",
    ],
)
def test_the_token_is_the_first_part_of_the_path(path):
    assert "token" in refusal(path)


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        ["evil.example"],
        ["evil.example:5006"],
        ["127.0.0.1"],
        ["127.0.0.1:5007"],
        ["127.0.0.1.evil.example:5006"],
        ["127.0.0.1:5006", "127.0.0.1:5006"],
        ["127.0.0.1:5006, evil.example"],
        ["[::1]:5006"],
        ["0.0.0.0:5006"],
    ],
)
def test_strangers_are_refused(hosts):
    assert "127.0.0.1" in refusal(hosts=hosts)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://127.0.0.1",
        "http://127.0.0.1:5007",
        "https://127.0.0.1:5006",
        "http://127.0.0.1:5006.evil.example",
        "http://evil.example@127.0.0.1:5006",
        "null",
        "",
        "file://",
        "http://[",
        "http://127.0.0.1:5006/",
        "http://\ud800",
    ],
)
def test_other_origins_are_refused(origin):
    assert "other pages" in refusal(origins=[origin])
    assert "other pages" in refusal(origins=["http://127.0.0.1:5006", origin])


@pytest.mark.parametrize("site", ["cross-site", "same-site", "x"])
def test_other_pages_are_refused_by_what_browsers_report(site):
    # a page on another port of this machine is of the same site, not of the same origin
    assert "other pages" in refusal(site=site)


def test_tokens_are_random_and_long():
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(re.fullmatch(r"[\w-]{43}", token) for token in tokens)
    assert GATE.address == f"http://127.0.0.1:5006{PATH}"


def test_the_policy_names_no_other_host():
    message = policy(5006)
    rules = dict(rule.split(" ", 1) for rule in message["Content-Security-Policy"].split("; "))
    assert rules["default-src"] == rules["form-action"] == rules["base-uri"] == "'none'"
    hosts = re.findall(r"\w+://[\w.:]+", message["Content-Security-Policy"])
    assert set(hosts) == {"ws://127.0.0.1:5006", "ws://localhost:5006"}
    assert not re.search(r"\*|https?:", message["Content-Security-Policy"])
    assert message["Referrer-Policy"] == "no-referrer"
