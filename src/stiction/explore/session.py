"""The requests that one page may make, and the messages that it receives, independent of a server.

Requests of a page are untrusted: a name must be known, a number is checked, a path must lie in the
working folder. A request is {"do": kind, ...}, with the kinds in `Session.hear`; a message to the
page is {"kind": kind, ...}, with the kinds in `heard` of page.js.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from stiction.errors import ScenarioError, StictionError, nearest
from stiction.explore.estimate import Estimate, Known, estimate, known_of
from stiction.explore.fields import Field, fields_of, value_of, with_values
from stiction.explore.hub import Hub, Job
from stiction.explore.places import WorkingFolder
from stiction.io.scenario.built_in import built_in, entries
from stiction.io.scenario.source import Table, parse

__all__ = ["FIRST", "Session"]

FIRST = "slip-wave"
_MOST_KNOWN = 8

Send = Callable[[dict[str, Any]], None]


class Session:
    """The state of a page: its scenario, changed numbers, estimate and runs.

    Parameters
    ----------
    folder : the only folder that it may read and write
    hub : sends jobs to the worker process
    send : function that sends a message to the page

    Verified by: tests/unit/explore/test_session.py::test_from_a_slider_to_a_picture
    """

    def __init__(self, folder: WorkingFolder, hub: Hub, send: Send) -> None:
        self._folder, self._hub, self._send = folder, hub, send
        self.owner = uuid.uuid4().hex
        self._table: Table = {}
        self._name = ""
        self._fields: dict[str, Field] = {}
        self._values: dict[str, float | int] = {}
        self._measured: list[Known] = []
        self._running = False
        self._again = False
        self._serial = 0

    def hear(self, message: object) -> None:
        """Answer a request of the page; an error is returned to the page as a message."""
        known: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "hello": self._hello,
            "choose": self._choose,
            "set": self._set,
            "run": lambda message: self._run(live=False),
            "stop": lambda message: self._hub.stop(self.owner),
            "save": self._save,
            "open": self._open,
            "figure": self._figure,
            "folder": lambda message: self._listing(),
        }
        asked: Mapping[str, Any] = message if isinstance(message, Mapping) else {}
        what = asked.get("do")
        if not all(map(_encodable, asked.values())):
            text = "The page sent text that UTF-8 cannot encode."
            self._send({"kind": "error", "text": text})
            return
        if not isinstance(what, str) or what not in known:
            text = f"The page asked for {what!r:.40}, which is unknown."
            self._send({"kind": "error", "text": text})
            return
        try:
            known[what](asked)
        except StictionError as error:
            field = str(asked.get("path", ""))[:200] if what == "set" else ""
            self._send({"kind": "error", "text": str(error), "field": field, "about": what})

    def close(self) -> None:
        """Stop the runs of this page."""
        self._send = lambda message: None
        self._hub.stop(self.owner)

    # ---- scenarios

    def _hello(self, message: Mapping[str, Any]) -> None:
        """Send the built-in scenarios and the files of the folder, and open the first scenario."""
        every = [dataclasses.asdict(entry) for entry in entries()]
        self._send({"kind": "catalogue", "scenarios": every, "folder": self._folder.root.name})
        self._listing()
        self._choose({"name": FIRST})

    def _listing(self) -> None:
        places = [dataclasses.asdict(place) for place in self._folder.listed()]
        self._send({"kind": "folder", "places": places})

    def _choose(self, message: Mapping[str, Any]) -> None:
        """Load a built-in scenario, and run it if that is quick."""
        name, known = message.get("name"), built_in()
        if not isinstance(name, str) or name not in known:
            why = "a page loads built-in scenarios by name."
            needs = "the name of a built-in scenario"
            raise ScenarioError(
                "scenario", f"{name!r:.60}", needs, why, nearest(str(name)[:60], known)
            )
        self._take(name, known[name].read_text(encoding="utf-8"))
        if self._estimate().at_once:
            self._run(live=True)

    def _take(self, name: str, text: str) -> None:
        """Load a scenario from TOML text and send its fields to the page."""
        table = parse(text, name)
        if not isinstance(table.get("system"), dict):
            needs, why = "a scenario with [system] and [solve]", "a run needs a system to solve."
            try_ = "choose another file."
            raise ScenarioError(name, "a file without [system]", needs, why, try_)
        # a run in progress is of the previous scenario
        self._serial += 1
        self._running = self._again = False
        self._hub.stop(self.owner)
        self._table, self._name, self._values = table, name, {}
        self._fields = {field.path: field for field in fields_of(table, text)}
        self._measured = []
        self._send(
            {
                "kind": "scenario",
                "name": name,
                **{key: str(table.get(key, "")) for key in ("title", "paper", "figure", "note")},
                "system": str(table["system"].get("type", "")),
                "fields": [dataclasses.asdict(field) for field in self._fields.values()],
            }
        )
        self._send_estimate()

    # ---- numbers

    def _set(self, message: Mapping[str, Any]) -> None:
        """Set a number of the scenario; run it at once if the page asks for this and it is fast."""
        path = message.get("path")
        if not isinstance(path, str) or path not in self._fields:
            needs, why = "the path of a number of this scenario", "only numbers can be set here."
            raise ScenarioError("field", f"{path!r:.60}", needs, why, "reload the scenario.")
        self._values[path] = value_of(self._fields[path], message.get("value"))
        self._send_estimate()
        if message.get("live") is True and self._estimate().live:
            self._run(live=True)

    def _changed(self) -> Table:
        return with_values(self._table, self._values)

    def _estimate(self) -> Estimate:
        return estimate(self._changed(), [*self._measured, *known_of(self._name)])

    def _send_estimate(self) -> None:
        """Send the estimate of the solve time of the present scenario."""
        estimate = self._estimate()
        self._send(
            {
                "kind": "estimate",
                "text": str(estimate),
                "live": estimate.live,
                "too_large": estimate.too_large,
            }
        )

    # ---- runs

    def _run(self, *, live: bool) -> None:
        """Send the changed scenario to the worker; `live` is True if a slider starts the run."""
        if not self._table:
            needs, why = "a scenario", "a run solves the system of a scenario."
            raise ScenarioError("run", "no scenario", needs, why, "choose one from the list.")
        self._estimate().check()
        if self._running:
            # the last move of a slider is solved after the present run
            self._again = True
            return
        table = self._changed()
        self._running, self._again = True, False
        self._serial += 1
        serial = self._serial
        self._send({"kind": "begins", "live": live})

        def message(answer: Mapping[str, Any]) -> None:
            self._answered(answer, table, serial)

        self._hub.ask(Job(self.owner, {"do": "run", "table": table}, message))

    def _answered(self, answer: Mapping[str, Any], table: Table, serial: int) -> None:
        """Forward progress, result or error of a run; ignore those of earlier scenarios."""
        if serial != self._serial:
            return
        if "progress" in answer:
            self._send({"kind": "progress", "part": answer["progress"], "note": answer["note"]})
            return
        self._running = False
        again, self._again = self._again, False
        if "done" in answer:
            seconds, fixed = float(answer["done"]["seconds"]), float(answer["done"]["fixed"])
            self._measured.insert(0, Known(table, seconds, measured=True, fixed=fixed))
            del self._measured[_MOST_KNOWN:]
            self._send({**answer["done"], "kind": "result", "of": answer["done"]["kind"]})
            self._send_estimate()
        else:
            stopped = bool(answer.get("stopped"))
            self._send(
                {"kind": "error", "text": answer["error"], "about": "run", "stopped": stopped}
            )
        if again and not answer.get("stopped"):
            try:
                self._run(live=True)
            except StictionError as error:
                self._send({"kind": "error", "text": str(error), "about": "run"})

    # ---- files

    def _save(self, message: Mapping[str, Any]) -> None:
        """Let the worker write the changed scenario as TOML, and save it."""
        name, overwrite = message.get("name"), message.get("overwrite") is True

        def written(answer: Mapping[str, Any]) -> None:
            if "progress" in answer:
                return
            try:
                if "error" in answer:
                    raise ScenarioError(answer["error"])
                path = self._folder.write(name, answer["done"]["text"], overwrite=overwrite)
            except StictionError as error:
                self._send({"kind": "error", "text": str(error), "about": "save"})
                return
            shown = path.relative_to(self._folder.root).as_posix()
            self._send({"kind": "saved", "name": shown})
            self._listing()

        self._hub.ask(Job(self.owner, {"do": "write", "table": self._changed()}, written))

    def _open(self, message: Mapping[str, Any]) -> None:
        """Load a scenario, a saved run or a study from the working folder."""
        name = message.get("name")
        path = self._folder.resolve(name)
        if path.is_file():
            self._take(path.name, self._folder.text_of(name))
            return
        kind = self._folder.kind_of(path)
        if not kind or path == self._folder.root:
            needs, why = "a saved run, a study, or a TOML file", "a page can load only these files."
            raise ScenarioError("open", f"{name!r:.80}", needs, why, "choose one from the list.")

        def loaded(answer: Mapping[str, Any]) -> None:
            if "progress" in answer:
                return
            if "error" in answer:
                self._send({"kind": "error", "text": answer["error"], "about": "open"})
                return
            done = dict(answer["done"])
            text = done.pop("scenario", "")
            if text and not text.startswith("# This scenario cannot"):
                self._take(str(name), text)
            self._send({**done, "kind": "result", "of": kind, "name": str(name)})

        self._send({"kind": "begins", "live": False})
        asked = {"do": f"{kind}-folder", "path": str(path)}
        self._hub.ask(Job(self.owner, asked, loaded))

    def _figure(self, message: Mapping[str, Any]) -> None:
        """Ask the worker for a figure of the last result, and send it as SVG."""
        name = str(message.get("name", ""))[:60]

        def drawn(answer: Mapping[str, Any]) -> None:
            if "error" in answer:
                self._send({"kind": "error", "text": answer["error"], "about": "figure"})
            elif "done" in answer:
                self._send({"kind": "figure", "name": name, "svg": answer["done"]["figure"]})

        self._hub.ask(Job(self.owner, {"do": "figure", "name": name}, drawn))


def _encodable(value: object) -> bool:
    """Return whether a value is not text, or text that UTF-8 can encode (no lone surrogates)."""
    try:
        return not isinstance(value, str) or value.encode() is not None
    except UnicodeEncodeError:
        return False
