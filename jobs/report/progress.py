"""Progress of a night: the running tasks on a terminal, and a line for each finished task."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from rich.console import Console
from rich.markup import escape


class Progress:
    """Print each finished task with the number of finished tasks, the time since the previous line, and the time since the start.

    Tasks can overlap, so a line has the time that passed since the line before it: these times add up to the time since the start.
    """

    def __init__(self, console: Console, tasks: int) -> None:
        self._console, self._tasks, self._done = console, tasks, 0
        self._started = self._last = time.monotonic()
        self._running: list[str] = []
        self._lock = Lock()
        self._status = console.status("")

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    @contextmanager
    def task(self, name: str) -> Iterator[None]:
        """Report a task that runs in this context."""
        with self._lock:
            self._running.append(name)
            self._show_running()
        yield
        with self._lock:
            self._running.remove(name)
            self._done += 1
            now = time.monotonic()
            self._console.print(
                f"[green]✓[/] {self._done:2}/{self._tasks} {escape(f'{name:<28}')} +{now - self._last:5.1f} s {now - self._started:7.1f} s"
            )
            self._last = now
            self._show_running()

    def _show_running(self) -> None:
        self._status.update(f"{self._done} of {self._tasks} done, now: {escape(', '.join(self._running))}")
