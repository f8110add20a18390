"""Optimizations of Spark's start and of its planning, which take most of the time of a small night.

Each one changes the speed only. The environment variable TOPOLOGY_AUDIT_WITHOUT switches some of them off, by name, separated by commas.
"""

from __future__ import annotations

import atexit
import hashlib
import os
from enum import StrEnum
from pathlib import Path

from jobs.spark.jars import CACHE, SPARK_JARS, java
from jobs.spark.scale import Scale


class Optimization(StrEnum):
    """A name, and what a night without the optimization costs more."""

    CLASS_ARCHIVE = "class-archive"  # start of an empty session: twice the time
    FIRST_COMPILER = "first-compiler"  # bundled night: 15 % of the processor time
    LATE_SECOND_COMPILER = "late-second-compiler"  # six steps of a fleet of 696,000 partitions: 12 % of the time
    WORKER_PATH = "worker-path"  # bundled night: 16 % of the processor time


def is_on(optimization: Optimization) -> bool:
    return optimization not in os.environ.get("TOPOLOGY_AUDIT_WITHOUT", "").split(",")


def jvm_options(scale: Scale) -> list[str]:
    """Return the options of the JVM for a night of this scale."""
    options = []
    if scale is Scale.SMALL and is_on(Optimization.FIRST_COMPILER):
        # With one compiler the JVM reserves only 48 MB for compiled code. A night fills them, and the JVM would then stop compiling.
        options += ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m"]
    if scale is Scale.LARGE and is_on(Optimization.LATE_SECOND_COMPILER):
        # Five times the default thresholds. The second compiler otherwise spends half of its time on code that plans queries.
        thresholds = {"Invocation": 25_000, "MinInvocation": 3_000, "Compile": 75_000, "BackEdge": 200_000}
        options += [f"-XX:Tier4{name}Threshold={calls}" for name, calls in thresholds.items()]
    if is_on(Optimization.CLASS_ARCHIVE) and _class_archive().exists():
        options.append(f"-XX:SharedArchiveFile={_class_archive()}")
    return options


def spark_settings() -> dict[str, str]:
    return {"spark.python.daemon.module": "jobs.spark.python_daemon"} if is_on(Optimization.WORKER_PATH) else {}


def make_class_archive() -> list[str]:
    """Return the JVM options that make a class-data archive when this process ends; none if there is an archive already.

    The first session on a machine makes it, and all later ones start with it.
    """
    if not is_on(Optimization.CLASS_ARCHIVE) or _class_archive().exists():
        return []
    part = _class_archive().with_suffix(f".{os.getpid()}")
    atexit.register(_keep_class_archive, part)
    return [f"-XX:ArchiveClassesAtExit={part}"]


def _class_archive() -> Path:
    # The JVM accepts an archive only with the same Java and the same class path.
    pair = hashlib.sha256(f"{Path(java()).resolve()} {SPARK_JARS}".encode()).hexdigest()[:12]
    return CACHE / f"classes-{pair}.jsa"


def _keep_class_archive(part: Path) -> None:
    """End the JVM, which writes the archive, and move the archive to its place."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None:
        return
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    if gateway.proc.wait() == 0 and part.exists():
        part.replace(_class_archive())
