"""The hub between pages and the worker process: it queues jobs, stops them, restarts the worker.

A page is a browser tab of `stiction explore`. `session` and `server` pass its jobs to `Hub.ask` and
`Hub.stop`. Jobs of all pages are solved one after the other; messages are lines of JSON (see
`worker`).
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["WORKER", "Hub", "Job"]

# time from the request to stop to the kill, needed for code that reports no progress
_PATIENCE_S = 1.5
# consecutive failures of the worker without a result, after which it is not restarted
_MOST_ENDS = 3

# -P: modules in the working folder, such as a numpy.py, are not imported
WORKER = [sys.executable, "-P", "-m", "stiction.explore.worker"]

Post = Callable[[Callable[[], None]], None]
Receive = Callable[[Mapping[str, Any]], None]


@dataclass(eq=False)
class Job:
    """A request of a page to the worker.

    Parameters
    ----------
    owner : identifier of the page
    asked : the request as the worker reads it, without its number
    message : function that receives progress, then the result or an error
    number : assigned by the hub when the job is sent
    stopped : whether the page has stopped it
    """

    owner: str
    asked: Mapping[str, Any]
    message: Receive
    number: int = 0
    stopped: bool = False


class Hub:
    """Sends the jobs of all pages to one worker process.

    All methods run in one thread. A second thread reads the answers of the worker and hands them
    over by `post`.

    Parameters
    ----------
    post : schedules a function to be called in the thread of the hub
    command : command line of the worker; None takes `WORKER`

    Verified by: tests/unit/explore/test_session.py::test_a_killed_worker_is_reported_and_survived
    """

    def __init__(self, post: Post, command: list[str] | None = None) -> None:
        self._post = post
        self._command = command or WORKER
        self._waiting: deque[Job] = deque()
        self._now: Job | None = None
        self._number = 0
        self._ends = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._timer: threading.Timer | None = None

    @property
    def pid(self) -> int | None:
        """Process identifier of the worker; None if it does not run."""
        return None if self._process is None else self._process.pid

    @property
    def busy(self) -> bool:
        """Whether a job is being solved."""
        return self._now is not None

    def start(self) -> None:
        """Start the worker, unless it runs; a job also starts it."""
        if self._process is not None:
            return
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C in the terminal is for the server, which ends the worker
            start_new_session=True,
        )
        self._process = process
        threading.Thread(target=self._read, args=(process,), daemon=True).start()

    def ask(self, job: Job) -> None:
        """Queue a job."""
        self._waiting.append(job)
        self._next()

    def stop(self, owner: str) -> None:
        """Stop the runs that a page requested, and drop its waiting requests."""
        for late in [job for job in self._waiting if job.owner == owner]:
            self._waiting.remove(late)
            late.message({"error": "Stopped.", "stopped": True})
        job = self._now
        if job is None or job.owner != owner or job.stopped:
            return
        job.stopped = True
        self._send({"do": "stop", "id": job.number})
        self._timer = threading.Timer(
            _PATIENCE_S, lambda: self._post(lambda: self._kill(job.number))
        )
        self._timer.daemon = True
        self._timer.start()

    def close(self) -> None:
        """Kill the worker and drop all jobs."""
        self._closed = True
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            _close(self._process)

    def _next(self) -> None:
        """Send the next waiting job to the worker process, unless it has one."""
        if self._now is not None or not self._waiting or self._closed:
            return
        self.start()
        self._number += 1
        self._now = self._waiting.popleft()
        self._now.number = self._number
        self._send({**self._now.asked, "owner": self._now.owner, "id": self._number})

    def _send(self, message: Mapping[str, Any]) -> None:
        """Write a message as one line of JSON to the standard input of the worker process."""
        assert self._process is not None
        assert self._process.stdin is not None
        # a process that no longer reads has ended; the reading thread reports it
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def _kill(self, number: int) -> None:
        if self._now is not None and self._now.number == number and self._process is not None:
            self._process.kill()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        """Forward the messages of a process until it ends; runs in a thread of its own."""
        assert process.stdout is not None
        with contextlib.suppress(ValueError, OSError):
            for line in process.stdout:
                message = json.loads(line)
                self._post(lambda message=message: self._received(message))  # type: ignore[misc]
        code = process.wait()
        _close(process)
        if not self._closed:
            self._post(lambda: self._ended(process, code))

    def _received(self, message: Mapping[str, Any]) -> None:
        """Forward a message of the worker to its job; a result or an error ends the job."""
        job = self._now
        if job is None or message["id"] != job.number:
            return
        if "progress" not in message:
            self._now = None
            self._ends = 0
            if self._timer is not None:
                self._timer.cancel()
        job.message(message)
        self._next()

    def _ended(self, process: subprocess.Popen[bytes], code: int) -> None:
        """Report to the waiting page that the process has ended, and start another."""
        if process is not self._process:
            return
        self._process = None
        job, self._now = self._now, None
        self._ends += 1
        if job is not None and job.stopped:
            self._ends = 0
        again = self._ends < _MOST_ENDS and not self._closed
        if job is not None and job.stopped:
            job.message({"error": "Stopped.", "stopped": True})
        elif job is not None:
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            then = "another solver process is started" if again else _LAST.format(self._ends)
            job.message({"error": _ENDED.format(how, then)})
        if again:
            self.start()
        self._next()


def _close(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        # unwritten data are lost: the process that would read them has ended
        with contextlib.suppress(OSError, ValueError):
            pipe.close()  # type: ignore[union-attr]


_LAST = "{} processes have ended in a row, so only the next Run starts another one"
_ENDED = (
    "The solver process ended {}; {}.\n"
    "Why: a user or the system killed it (for example for lack of memory), or the program has "
    "an error, which the terminal shows.\n"
    "Try: press Run again; if it ends again, make the run smaller, or use `stiction run`."
)
