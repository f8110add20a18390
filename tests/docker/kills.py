"""A night on a Spark standalone cluster of two workers, of which an executor is killed half-way; and one whose driver is.

    python -m tests.docker.kills [--clusters 3] [--topics 100] [--partitions 40]

The tables are those of a night that nobody disturbed, row for row; after the driver's death nothing is published, and a rerun has the same.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psutil
import typer

from jobs.generate import Fleet, dumps
from jobs.schema import SNAPSHOT, TABLES
from tests.docker.standalone import ROOT, Cluster, rows, standalone, wiring

NIGHT = "2026-01-31"


def start(cluster: Cluster, folder: Path, source: Path, lake: Path) -> subprocess.Popen[str]:
    settings = ["--master", cluster.master, "--properties-file", str(folder / "spark.properties"), "--conf", "spark.executor.cores=1"]
    command = ["spark-submit", *settings, str(ROOT / "jobs" / "cli.py"), "nightly", str(source), "--lake", str(lake), "--snapshot", NIGHT]
    wired = os.environ | wiring(folder, cluster.master) | {"PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, env=wired, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def until(night: subprocess.Popen[str], told: str) -> None:
    """Read what the night says, up to this."""
    assert night.stdout is not None
    for line in night.stdout:
        if told in line:
            return
    raise AssertionError(f"the night ended before it said {told!r}")


def finish(night: subprocess.Popen[str], what: str, started: float) -> None:
    said, _ = night.communicate()
    assert night.returncode == 0, said[-3000:]
    print(f"{what}: {time.monotonic() - started:.0f} s", flush=True)


def executors(cluster: Cluster) -> list[psutil.Process]:
    children = [child for pid in cluster.workers for child in psutil.Process(pid).children(recursive=True)]
    alive = [child for child in children if child.status() != psutil.STATUS_ZOMBIE]
    return [child for child in alive if "CoarseGrainedExecutorBackend" in " ".join(child.cmdline())]


def compare(lake: Path, undisturbed: Path) -> None:
    for table in TABLES:
        here, there = rows(lake, table), rows(undisturbed, table)
        assert len(here) == len(there), table.name
        assert here.except_(there).fetchall() == [], table.name
    print(f"  the same rows in all {len(TABLES)} tables", flush=True)


def main(clusters: int = 3, brokers: int = 9, topics: int = 100, partitions: int = 40, seed: int = 0) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        source = folder / "dumps"
        dumps.write(source, Fleet(clusters, brokers, 3, topics, 10, partitions, 20, seed))
        with standalone(folder, workers=2, cores=1) as cluster:
            started = time.monotonic()
            finish(start(cluster, folder, source, folder / "whole"), "undisturbed", started)

            started = time.monotonic()
            night = start(cluster, folder, source, folder / "executor")
            until(night, "check computed")  # failover has begun
            time.sleep(5)
            victim = executors(cluster)[0]
            victim.send_signal(signal.SIGKILL)
            finish(night, f"executor {victim.pid} killed in failover", started)
            compare(folder / "executor", folder / "whole")

            started = time.monotonic()
            night = start(cluster, folder, source, folder / "driver")
            until(night, "check computed")
            time.sleep(5)
            os.killpg(night.pid, signal.SIGKILL)
            night.wait()
            assert len(rows(folder / "driver", SNAPSHOT)) == 0
            print("driver killed in failover: nothing is published", flush=True)
            finish(start(cluster, folder, source, folder / "driver"), "and run again", started)
            compare(folder / "driver", folder / "whole")


if __name__ == "__main__":
    typer.run(main)
