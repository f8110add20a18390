"""Nights on a Spark standalone cluster of two workers: one with an executor killed half-way, and one with its driver killed.

    python -m tests.docker.kills [--clusters 3] [--topics 500] [--partitions 40]

The first night and a rerun of the second have the same rows as an undisturbed night. The killed driver publishes nothing.
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
from tests.docker.standalone import ROOT, Cluster, differing_rows, rows, standalone, wiring

NIGHT = "2026-01-31"


def start(cluster: Cluster, folder: Path, source: Path, lake: Path) -> subprocess.Popen[str]:
    """Start a night with spark-submit, whose output is a pipe."""
    settings = ["--master", cluster.master, "--properties-file", str(folder / "spark.properties"), "--conf", "spark.executor.cores=1"]
    command = ["spark-submit", *settings, str(ROOT / "jobs" / "cli.py"), "nightly", str(source), "--lake", str(lake), "--snapshot", NIGHT]
    wired = os.environ | wiring(folder, cluster.master) | {"PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, env=wired, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def wait_for_line(night: subprocess.Popen[str], text: str) -> None:
    """Read the output of a night up to the first line that contains a text."""
    assert night.stdout is not None
    for line in night.stdout:
        if text in line:
            return
    raise AssertionError(f"the night ended before it printed {text!r}")


def finish(night: subprocess.Popen[str], title: str, started: float) -> None:
    """Wait until a night has succeeded, and print its duration."""
    output, _ = night.communicate()
    assert night.returncode == 0, output[-3000:]
    print(f"{title}: {time.monotonic() - started:.0f} s", flush=True)


def executors(cluster: Cluster) -> list[psutil.Process]:
    """Return the running executors of all workers."""
    children = [child for pid in cluster.workers for child in psutil.Process(pid).children(recursive=True)]
    alive = [child for child in children if child.status() != psutil.STATUS_ZOMBIE]
    return [child for child in alive if "CoarseGrainedExecutorBackend" in " ".join(child.cmdline())]


def compare(lake: Path, undisturbed: Path) -> None:
    """Fail unless both lakes have the same rows."""
    for table in TABLES:
        assert differing_rows(str(lake), str(undisturbed), table, NIGHT) == ([], []), table.name
    print(f"  the same rows in all {len(TABLES)} tables", flush=True)


def main(clusters: int = 3, brokers: int = 9, topics: int = 500, partitions: int = 40, seed: int = 0) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        source = folder / "dumps"
        dumps.write(source, Fleet(clusters, brokers, 3, topics, 10, partitions, 20, seed))
        with standalone(folder, workers=2, cores=1) as cluster:
            started = time.monotonic()
            finish(start(cluster, folder, source, folder / "undisturbed"), "undisturbed", started)

            started = time.monotonic()
            night = start(cluster, folder, source, folder / "executor")
            wait_for_line(night, "check computed")  # failover has begun
            time.sleep(5)
            victim = executors(cluster)[0]
            victim.send_signal(signal.SIGKILL)
            finish(night, f"executor {victim.pid} killed in failover", started)
            compare(folder / "executor", folder / "undisturbed")

            started = time.monotonic()
            night = start(cluster, folder, source, folder / "driver")
            wait_for_line(night, "check computed")
            time.sleep(5)
            os.killpg(night.pid, signal.SIGKILL)
            night.wait()
            assert len(rows(str(folder / "driver"), SNAPSHOT, NIGHT)) == 0
            print("driver killed in failover: nothing is published", flush=True)
            finish(start(cluster, folder, source, folder / "driver"), "the same night, run again", started)
            compare(folder / "driver", folder / "undisturbed")


if __name__ == "__main__":
    typer.run(main)
