"""Measure the time and memory of each step of a night on a generated fleet.

    python -m tests.benchmarks.fleet [--clusters 2] [--brokers 40] [--topics 700] [--partitions 100] [--groups 200] [--keys 700] [--scale 1 --scale 2]
                                     [--lake FOLDER] [--no-floor]

The floor of a step is the time that storage alone takes in the same session: each input is read once into Spark's noop sink, and each output is
copied once into another lake. `--scale N` multiplies the number of clusters by N; each scale runs in its own process. `--lake FOLDER` uses a
fleet that `topology-audit generate --lake FOLDER --snapshot 2026-01-01` wrote, because generating a large fleet takes long. Memory is the
largest sum of this process, the JVM and its Python workers, sampled twice a second. Processor time is that of the same processes: other work
on the machine makes a step last longer, but hardly changes it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import psutil
import pyarrow.parquet as parquet
import typer
from deltalake import DeltaTable
from pyspark.sql import DataFrame
from rich.console import Console
from rich.table import Table as RichTable

from expectations.limits import limits
from jobs.generate import Fleet
from jobs.generate.tables import tables
from jobs.lake.lake import Lake, open_lake
from jobs.night import GATES, JOBS, NIGHT, NightlyRun
from jobs.schema import TABLES, Table
from jobs.spark.scale import Scale
from jobs.spark.session import configure_for_scale, session

SNAPSHOT = "2026-01-01"
PROCESSES = ("python", "jvm", "workers")
Row = dict[str, Any]


class Memory(threading.Thread):
    """The peak memory in MiB since the last call of `take_peak`: of this Python process, of the JVM, and of the Python workers."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._peak = (0.0, 0.0, 0.0)
        self._lock = threading.Lock()

    def run(self) -> None:
        while True:
            current = self._current()
            with self._lock:
                self._peak = max(self._peak, current, key=sum)
            time.sleep(0.5)

    def _current(self) -> tuple[float, float, float]:
        python, jvm, workers = float(psutil.Process().memory_info().rss), 0.0, 0.0
        for process in psutil.Process().children(recursive=True):
            try:
                if process.name() == "java":
                    jvm += process.memory_info().rss
                else:
                    workers += process.memory_full_info().pss  # forked workers share pages
            except psutil.Error:
                continue
        return python / 2**20, jvm / 2**20, workers / 2**20

    def take_peak(self) -> tuple[float, float, float]:
        """Return the peak and reset it."""
        with self._lock:
            peak, self._peak = self._peak, (0.0, 0.0, 0.0)
        return peak


def processor_seconds() -> float:
    """Return the processor time that this process and all that it started have used, including those that ended."""
    seconds = 0.0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        try:
            seconds += sum(process.cpu_times()[:4])  # user and system time, of the process and of its children that ended
        except psutil.Error:
            continue
    return seconds


def seconds_of(run: Callable[[], object]) -> float:
    """Return the seconds that a run takes."""
    started = time.monotonic()
    run()
    return time.monotonic() - started


def measure_night(fleet: Fleet, folder: Path, fleet_lake: Path | None, only: list[str] | None, measure_floor: bool) -> dict[str, list[Row]]:
    """Run a night. Return a row for each step and gate, and for each table the files that a query of one cluster opens."""
    memory = Memory()
    memory.start()
    spark = session(Scale.LARGE, **json.loads(os.environ.get("SPARK_SETTINGS", "{}")))  # as `nightly` does for so many dumps
    lake = open_lake(str(fleet_lake or folder / "lake"), lambda: spark)
    night, thresholds = NightlyRun(lake, SNAPSHOT), limits(None)
    configure_for_scale(spark, Scale.LARGE)
    if fleet_lake is None:
        seconds = seconds_of(lambda: night.begin([*tables(spark, fleet, SNAPSHOT).values()], {}, Scale.LARGE))
        print(f"generated in {seconds:.1f} s", flush=True)
    memory.take_peak()
    runs: dict[str, Callable[[str], object]] = {
        "step": lambda name: night.step(name, thresholds),
        "check": lambda name: night.check(name, thresholds, None),
        "publish": lambda _: night.publish(thresholds),
    }
    rows: list[Row] = []
    for kind, name in NIGHT:
        if (kind, name) == ("step", "ingest") or (only and name not in only):
            continue
        processor_before = processor_seconds()
        seconds = seconds_of(lambda kind=kind, name=name: runs[kind](name))
        processor = processor_seconds() - processor_before
        memory_used = dict(zip(PROCESSES, memory.take_peak(), strict=True))
        rows.append({"kind": kind, "name": name, "seconds": seconds, "processor": processor, **memory_used})
        print(f"{kind} {name}: {seconds:.1f} s, {processor:.1f} s of processor time, {_memory(rows[-1]):,.0f} MiB", flush=True)
    storage = StorageTimes(lake, open_lake(str(folder / "floor"), lambda: spark))
    for row in rows:
        reads = JOBS[row["name"]].READS if row["kind"] == "step" else GATES.get(str(row["name"]), ())
        writes = JOBS[row["name"]].WRITES if row["kind"] == "step" else ()
        row["in"], row["out"] = sum(map(storage.count, reads)), sum(map(storage.count, writes))
        row["floor"] = sum(map(storage.read_seconds, reads)) + sum(map(storage.write_seconds, writes)) if measure_floor else 0.0
    return {"steps": rows, "queries": files_of_one_cluster(lake)}


def files_of_one_cluster(lake: Lake) -> list[Row]:
    """For each table with several row groups: the files and the share of the bytes that a query of the night and one cluster reads.

    The query skips files and row groups by the smallest and largest `cluster_id` in their statistics. The cluster is the one in the middle.
    """
    rows: list[Row] = []
    for table in TABLES:
        files = [parquet.read_metadata(path) for path in DeltaTable(lake.path(table)).file_uris()]
        groups = [_row_group(number, file.row_group(index)) for number, file in enumerate(files) for index in range(file.num_row_groups)]
        if len(groups) < 2:
            continue
        clusters = sorted({group.last_cluster for group in groups})
        cluster = clusters[len(clusters) // 2]
        read = [group for group in groups if group.first_cluster <= cluster <= group.last_cluster]
        share = sum(group.size_bytes for group in read) / sum(group.size_bytes for group in groups)
        rows.append({"name": table.name, "files": len(files), "opened": len({group.file_number for group in read}), "share": share})
    return rows


class RowGroup(NamedTuple):
    """A row group of a Parquet file, with the smallest and the largest cluster in its statistics."""

    file_number: int
    size_bytes: int
    first_cluster: str
    last_cluster: str


def _row_group(file_number: int, metadata: parquet.RowGroupMetaData) -> RowGroup:
    """Read the statistics of a row group; in a table without `cluster_id`, both clusters are empty."""
    columns = (metadata.column(index) for index in range(metadata.num_columns))
    statistics = next((column.statistics for column in columns if column.path_in_schema == "cluster_id"), None)
    clusters = (statistics.min, statistics.max) if statistics else ("", "")
    return RowGroup(file_number, metadata.total_byte_size, *clusters)


class StorageTimes:
    """The seconds that reading and copying a table take; each is measured once."""

    def __init__(self, lake: Lake, copies: Lake) -> None:
        self._lake, self._copies = lake, copies
        self._read_seconds: dict[str, float] = {}
        self._write_seconds: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def _rows(self, table: Table) -> DataFrame:
        return self._lake.spark().read.format("delta").load(self._lake.path(table)).where(f"snapshot_id = '{SNAPSHOT}'")

    def count(self, table: Table) -> int:
        if table.name not in self._counts:
            self._counts[table.name] = self._rows(table).count()
        return self._counts[table.name]

    def read_seconds(self, table: Table) -> float:
        if table.name not in self._read_seconds:
            self._read_seconds[table.name] = seconds_of(lambda: self._rows(table).write.format("noop").mode("overwrite").save())
        return self._read_seconds[table.name]

    def write_seconds(self, table: Table) -> float:
        if table.name not in self._write_seconds:
            self._copies.create(table)
            copy = self._rows(table).write.format("delta").mode("append")
            self._write_seconds[table.name] = seconds_of(lambda: copy.save(self._copies.path(table)))
        return self._write_seconds[table.name]


def print_results(fleet: Fleet, rows: list[Row], queries: list[Row]) -> None:
    """Print the steps with their totals, the peak memory, and the files that a query of one cluster opens."""
    headings = ("", "rows in", "rows out", "s", "processor s", "rows/s", "floor s", "x floor", "Python MiB", "JVM MiB", "workers MiB")
    table = RichTable(*headings, title=f"{fleet}")
    for column in table.columns[1:]:
        column.justify = "right"
    steps, checks = ([row for row in rows if row["kind"] == kind] for kind in ("step", "check"))
    lines = [(f"{row['kind']} {row['name']}", row) for row in rows]
    totals = (("steps", steps, steps), ("checks", checks, checks), ("night", rows, steps))
    lines += [(name, _total(group, with_floor)) for name, group, with_floor in totals if group]
    for name, row in lines:
        table.add_row(name, *_cells(row))
    Console(width=180).print(table)
    peak = max(rows, key=_memory)
    print(f"peak memory: {_memory(peak):,.0f} MiB, in {peak['kind']} {peak['name']}")
    files = ", ".join(f"{row['name']} {row['opened']} of {row['files']} files ({row['share']:.0%} of the bytes)" for row in queries)
    print(f"a query of the night and one cluster opens {files}")


def _total(rows: list[Row], with_floor: list[Row]) -> Row:
    """Sum the rows, the seconds, and the floors of `with_floor`; take the maximum of the memory."""
    sums = {name: sum(row[name] for row in rows) for name in ("in", "out", "seconds", "processor")}
    return {
        **sums,
        "floor": sum(row["floor"] for row in with_floor),
        **{process: max(row[process] for row in rows) for process in PROCESSES},
    }


def _cells(row: Row) -> Iterator[str]:
    yield from (f"{row['in']:,}", f"{row['out']:,}", f"{row['seconds']:.1f}", f"{row['processor']:.1f}")
    yield f"{(row['in'] + row['out']) / row['seconds']:,.0f}"
    yield from (f"{row['floor']:.1f}", f"{row['seconds'] / row['floor']:.1f}" if row["floor"] else "")
    yield from (f"{row[process]:,.0f}" for process in PROCESSES)


def _memory(row: Row) -> float:
    return sum(row[process] for process in PROCESSES)


def main(
    clusters: int = 2,
    brokers: int = 40,
    racks: int = 3,
    topics: int = 700,
    partitions: int = 100,
    groups: int = 200,
    keys: int = 700,
    seed: int = 0,
    scale: Annotated[list[int] | None, typer.Option()] = None,
    only: Annotated[list[str] | None, typer.Option(help="Run these steps only.")] = None,
    lake: Annotated[Path | None, typer.Option(help="A lake that contains the fleet.")] = None,
    floor: bool = True,
    json_file: Annotated[Path | None, typer.Option(help="Measure one fleet in this process and write the results here.")] = None,
) -> None:
    if json_file is not None:
        fleet = Fleet(clusters, brokers, racks, topics, groups, partitions, keys, seed)
        with tempfile.TemporaryDirectory() as folder:
            json_file.write_text(json.dumps(measure_night(fleet, Path(folder), lake, only, floor)))
        return
    options = [word for name in only or () for word in ("--only", name)]
    options += (["--lake", str(lake)] if lake else []) + ([] if floor else ["--no-floor"])
    seconds = {}
    for factor in scale or [1]:
        fleet = Fleet(clusters * factor, brokers, racks, topics, groups, partitions, keys, seed)
        sizes = [word for name, size in asdict(fleet).items() for word in (f"--{name}", str(size))]
        with tempfile.TemporaryDirectory() as folder:
            results_file = Path(folder) / "results.json"
            command = [sys.executable, "-m", "tests.benchmarks.fleet", *sizes, *options, "--json-file", str(results_file)]
            subprocess.run(command, check=True)
            results = json.loads(results_file.read_text())
        print_results(fleet, results["steps"], results["queries"])
        seconds[factor] = sum(row["seconds"] for row in results["steps"])
    for small, large in pairwise(seconds):
        print(f"{large / small:.1f} times the clusters take {seconds[large] / seconds[small]:.2f} times as long")


if __name__ == "__main__":
    typer.run(main)
