"""The page in Chromium: no errors, no request elsewhere, sliders, runs, messages, keyboard, phone.

axe-core judges for people with a reader or a keyboard; it comes with axe-playwright-python.
"""

import dataclasses
import importlib.resources
import importlib.util
import re
import signal
import statistics
import time

import pytest
from explorer import FIND, Tab, lacks, serving

from stiction.io.scenario import read_scenario, write_scenario

pytestmark = pytest.mark.skipif(bool(lacks()), reason=lacks() or "there is all that is needed")

HOSTILE = """<script>alert(1)</script><img src=x onerror=alert(1)>"'&`${1}"""
JUDGED = """axe.run(document, {resultTypes: ['violations']}).then(found => found.violations
  .filter(v => ['serious', 'critical'].includes(v.impact))
  .map(v => v.id + ': ' + v.nodes.length + ' x ' + v.nodes[0].html.slice(0, 160)))"""


@pytest.fixture(scope="module")
def browser():
    from browser import chromium
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        flags = ["--no-sandbox", "--disable-gpu"]
        found = play.chromium.launch(executable_path=chromium(), args=flags)
        yield found
        found.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    scenario = dataclasses.replace(read_scenario("slip-wave"), title=HOSTILE, note=HOSTILE)
    (folder / "hostile.toml").write_text(write_scenario(scenario), encoding="utf-8")
    read_scenario("slip-wave").solve().save(folder / "wave")
    with serving(folder) as (address, process):
        yield address, process, folder


@pytest.fixture
def open_tab(browser, served):
    tabs = []

    def open_one(**looks):
        tabs.append(Tab(browser, served[0], **looks))
        return tabs[-1]

    yield open_one
    for tab in tabs:
        tab.close()


@pytest.fixture
def tab(open_tab):
    return open_tab()


def test_it_loads_without_errors_and_asks_nobody_else(tab):
    assert tab.problems == []
    other = [url for url in tab.requests if not url.startswith((tab.address, "blob:", "data:"))]
    assert other == []
    own = tab.address.split("/")[2]
    assert all(own in url for url in tab.requests if url.startswith("blob:"))
    assert "✓ determinism the solution was unique" in tab.text(".verdicts")
    # the player plays in a frame that reaches nothing
    frame = tab.page.locator(".stage iframe")
    assert frame.get_attribute("sandbox") == "allow-scripts"
    player = frame.element_handle().content_frame()
    player.wait_for_function("at > 0.001")


def test_a_slider_changes_the_picture(tab, record_property):
    before = tab.text(".tables")
    times = [tab.move("law.mu", 0.10 + 0.01 * k) for k in range(20)]
    assert tab.text(".tables") != before
    record_property("median_ms", statistics.median(times))
    record_property("largest_ms", max(times))
    # reason: a picture within 300 ms is promised of a machine that does nothing else
    assert statistics.median(times) < 900.0
    events = read_scenario("slip-wave", [f"system.law.mu={0.10 + 0.01 * 19}"]).solve().event_log
    assert f"{events.time[0]:.9g}" in tab.text(".tables")
    assert tab.problems == []


def test_a_run_completes(tab):
    count = tab.results()
    tab.page.get_by_label("scenario", exact=True).select_option("stick-set")
    tab.until(
        lambda: "stick-set" in (tab.page.locator("main").get_attribute("data-scenario") or "")
    )
    tab.after(count)
    count = tab.results()
    tab.page.get_by_role("button", name="Run").click()
    tab.after(count)
    assert "run solved" in tab.text(".verdicts")
    tab.page.get_by_label("figure").select_option(index=1)
    tab.page.wait_for_selector(".picture img", timeout=60_000)
    wide = tab.page.locator(".picture img").evaluate("image => image.naturalWidth")
    assert wide > 100
    assert tab.problems == []


def test_bad_values_show_the_message(tab):
    box = tab.page.get_by_label(re.compile(r"^law\.mu(?!, slider)"))
    box.fill("much")
    tab.until(lambda: "needs a finite number" in tab.text(".fault"))
    assert box.get_attribute("aria-invalid") == "true"
    assert "Try:" in tab.text(".fault")
    box.fill("-1")
    tab.until(lambda: "system.law.mu" in tab.text(".fault") or "mu" in tab.text(".fault"))
    tab.page.get_by_role("button", name="Run").click()
    tab.until(lambda: "Coulomb" in tab.text(".fault"))
    count = tab.results()
    box.fill("0.3")
    tab.after(count)
    assert tab.text(".fault") == ""
    assert box.get_attribute("aria-invalid") is None
    # what is too large is refused before it begins
    tab.page.get_by_label(re.compile(r"^t_end(?!, slider)")).fill("1e12")
    tab.until(lambda: "too large for a page" in tab.text("form"))
    tab.page.get_by_role("button", name="Run").click()
    tab.until(lambda: "days" in tab.text(".fault"))
    assert tab.problems == []


def test_keyboard_only(tab):
    page = tab.page
    focused = (
        "() => { let node = document.activeElement; while (node.shadowRoot?.activeElement) "
        "{ node = node.shadowRoot.activeElement; } return node.getAttribute('aria-label') "
        "|| node.labels?.[0]?.textContent || node.textContent || node.tagName; }"
    )
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(focused))
        if "law.mu, slider" in seen:
            break
    assert seen[0] == "scenario"
    assert "law.mu, slider" in seen
    count, shown = tab.results(), tab.text(".tables")
    page.keyboard.press("ArrowRight")
    tab.after(count)
    box = page.get_by_label(re.compile(r"^law\.mu(?!, slider)"))
    assert float(box.input_value()) > 0.25
    assert tab.text(".tables") != shown
    count = tab.results()
    # on to the box, and Enter runs
    page.keyboard.press("Tab")
    assert page.evaluate(focused).startswith("law.mu")
    page.keyboard.press("Control+A")
    page.keyboard.type("0.2")
    page.keyboard.press("Enter")
    tab.after(count)
    for _ in range(20):
        if page.evaluate(focused) == "Run":
            break
        page.keyboard.press("Tab")
    assert page.evaluate(focused) == "Run"
    count = tab.results()
    page.keyboard.press("Space")
    tab.after(count)
    assert tab.problems == []


def test_phone_width(open_tab):
    phone = open_tab(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    wide = phone.page.evaluate("document.documentElement.scrollWidth")
    assert wide == 360
    for words in ("form", ".stage", ".verdicts", "button.run"):
        box = phone.page.locator(words).bounding_box()
        assert box["x"] >= 0.0
        assert box["x"] + box["width"] <= 360.0
    phone.move("law.mu", 0.2)
    assert phone.problems == []


def test_files_are_saved_and_loaded(tab, served):
    folder = served[2]
    tab.move("law.mu", 0.4)
    tab.page.get_by_label("file", exact=True).fill("saved.toml")
    tab.page.get_by_role("button", name="Save as TOML").click()
    tab.until(lambda: "saved as saved.toml" in tab.text("main"))
    assert read_scenario(folder / "saved.toml").system.law.mu == 0.4
    tab.page.get_by_role("button", name="Save as TOML").click()
    tab.until(lambda: "which exists" in tab.text(".fault"))
    tab.page.get_by_label("file", exact=True).fill("../out.toml")
    tab.page.get_by_role("button", name="Save as TOML").click()
    tab.until(lambda: "inside the working folder" in tab.text(".fault"))
    assert not (folder.parent / "out.toml").exists()
    tab.page.get_by_label("load", exact=True).select_option("wave")
    count = tab.results()
    tab.page.get_by_role("button", name="Open").click()
    tab.after(count)
    assert float(tab.page.get_by_label(re.compile(r"^law\.mu(?!, slider)")).input_value()) == 0.25
    assert tab.problems == []


def test_hostile_words_stay_words(tab):
    tab.page.on("dialog", lambda dialog: tab.problems.append(dialog.message) or dialog.dismiss())
    tab.page.get_by_label("load", exact=True).select_option("hostile.toml")
    tab.page.get_by_role("button", name="Open").click()
    tab.until(lambda: HOSTILE in tab.text(".about"))
    count = tab.results()
    tab.page.get_by_role("button", name="Run").click()
    tab.after(count)
    tab.page.wait_for_timeout(300)
    images = tab.page.evaluate("() => {" + FIND + "return find('img[src=x]') !== null; }")
    assert not images
    assert tab.problems == []


def test_a_killed_worker_is_reported(tab, served):
    psutil = pytest.importorskip("psutil")
    process = psutil.Process(served[1].pid)
    count = tab.results()
    tab.page.get_by_label("scenario", exact=True).select_option("belt")
    tab.after(count)
    count = tab.results()
    tab.page.get_by_label(re.compile(r"^t_end(?!, slider)")).fill("100000")
    tab.until(lambda: "press Run" in tab.text("form"))
    tab.page.get_by_role("button", name="Run").click()
    tab.until(lambda: "%" in tab.text(".right"))
    for child in process.children():
        child.send_signal(signal.SIGKILL)
    tab.until(lambda: "ended by signal 9" in tab.text(".fault"))
    tab.page.get_by_label(re.compile(r"^t_end(?!, slider)")).fill("8")
    tab.page.get_by_role("button", name="Run").click()
    tab.after(count)
    # and a run is stopped
    tab.page.get_by_label(re.compile(r"^t_end(?!, slider)")).fill("100000")
    tab.page.get_by_role("button", name="Run").click()
    tab.until(lambda: "%" in tab.text(".right"))
    tab.page.get_by_role("button", name="Stop").click()
    tab.until(lambda: "Stopped" in tab.text(".fault"))
    assert tab.problems == []


def test_it_is_ready_soon(browser, tmp_path, record_property):
    begin = time.monotonic()
    with serving(tmp_path) as (address, _):
        served_s = time.monotonic() - begin
        tab = Tab(browser, address)
        ready_s = time.monotonic() - begin
        tab.close()
    record_property("served_s", served_s)
    record_property("ready_s", ready_s)
    # reason: 8 s are promised with warm kernels of a machine that does nothing else
    assert ready_s < 30.0


@pytest.mark.parametrize("dark", [False, True])
def test_people_with_readers_and_keyboards(open_tab, dark):
    if importlib.util.find_spec("axe_playwright_python") is None:
        pytest.skip("no axe-core: pip install axe-playwright-python")
    script = importlib.resources.files("axe_playwright_python") / "axe.min.js"
    tab = open_tab(color_scheme="dark" if dark else "light")
    for details in tab.page.locator("details").all():
        details.evaluate("node => { node.open = true; }")
    tab.page.evaluate(script.read_text("utf-8") + "; true")
    assert tab.page.evaluate(JUDGED) == []
