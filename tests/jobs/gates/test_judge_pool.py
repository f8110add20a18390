"""The processes that evaluate gates give the same verdicts, and end with the process that started them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from signal import SIGINT, SIGKILL
from subprocess import PIPE

import psutil
import pytest

from expectations.limits import limits
from jobs.errors import AuditError
from jobs.gates import judge_pool as pool_module
from jobs.gates.gate import check
from jobs.gates.judge_pool import judge_pool
from jobs.schema import TOPIC
from tests.jobs.gates.test_gate import drop, night, written

_PATIENCE_S = 180  # the processes end once they have imported GX, which takes 3 s on a quiet machine


def test_pool_and_this_process_give_the_same_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = written(str(tmp_path), {"broken": night(drop("topic")), "sound": night()})
    here = check(lake, "s", [TOPIC], previous={}, limits=limits(), docs=None)
    assert set(here["success"].to_pylist()) == {True, False}
    with judge_pool() as pool:
        assert check(lake, "s", [TOPIC], previous={}, limits=limits(), docs=None, pool=pool) == here
        with pytest.raises(AuditError, match="snapshot other has no cluster"):
            check(lake, "other", [TOPIC], previous={}, limits=limits(), docs=None, pool=pool)
    monkeypatch.setenv(pool_module.SWITCH, "off")
    with judge_pool() as pool:
        assert pool is None
        assert check(lake, "s", [TOPIC], previous={}, limits=limits(), docs=None, pool=pool) == here


@pytest.mark.parametrize(("signal", "error"), [(SIGKILL, ""), (SIGINT, "KeyboardInterrupt")])
def test_judges_end_with_the_process_that_started_them(signal: int, error: str) -> None:
    script = "import os, time; from jobs.gates.judge_pool import judge_pool\n"
    script += "with judge_pool() as pool: print(pool.submit(os.getpid).result(), flush=True); time.sleep(60)"
    parent = psutil.Popen([sys.executable, "-c", script], stdout=PIPE, stderr=PIPE, text=True, start_new_session=True)
    processes = [psutil.Process(int(parent.stdout.readline())), *parent.children(recursive=True)]
    os.killpg(parent.pid, signal) if signal == SIGINT else parent.kill()
    _, stderr = parent.communicate(timeout=_PATIENCE_S)
    assert psutil.wait_procs(processes, timeout=_PATIENCE_S)[1] == []
    assert stderr.count("Traceback") == len(error.split())
    assert error in stderr


def test_judges_that_start_ignore_an_interrupt() -> None:
    script = "import time; from jobs.gates.judge_pool import judge_pool\nwith judge_pool(): print(flush=True); time.sleep(60)"
    parent = psutil.Popen([sys.executable, "-c", script], stdout=PIPE, stderr=PIPE, text=True, start_new_session=True)
    parent.stdout.readline()
    while max(child.memory_info().rss for child in parent.children()) < 80 << 20:  # until one of them imports GX
        time.sleep(0.01)
    os.killpg(parent.pid, SIGINT)
    assert parent.communicate(timeout=_PATIENCE_S)[1].count("Traceback") == 1
