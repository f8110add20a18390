"""Processes that evaluate gates, forked from one that has imported Great Expectations."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import forkserver, get_context, parent_process, resource_tracker
from threading import Thread

SWITCH = "TOPOLOGY_AUDIT_JUDGE_POOL"  # "off": gates are evaluated in the process of the night, which takes longer
_PRELOADED = ["jobs.gates.gate", "jobs.gates.expectation", "jobs.gates.page_views"]
_GATES_AT_ONCE = 2


@contextmanager
def judge_pool() -> Iterator[Executor | None]:
    """Yield an executor of gates, or None if it is switched off.

    Its processes import Great Expectations, which takes 3 s, while Spark starts in this process.
    """
    if os.environ.get(SWITCH) == "off":
        yield None
        return
    forkserver.set_forkserver_preload(_PRELOADED)
    resource_tracker.ensure_running()  # before the signal is blocked: starting it unblocks the signal
    # Processes inherit the blocked signal: this process alone handles an interrupt.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    with ProcessPoolExecutor(_GATES_AT_ONCE, get_context("forkserver"), initializer=_exit_with_parent) as pool:
        yield pool


def _exit_with_parent() -> None:
    """End this process when its parent ends: otherwise it would wait forever for work from a parent that was killed."""
    parent = parent_process()

    def wait_for_parent() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait_for_parent, daemon=True).start()
