"""A night of a made-up fleet: what each step takes, beside the least that storage allows.

    python -m tests.benchmarks.fleet [--clusters 2] [--brokers 40] [--topics 700] [--partitions 100] [--groups 200] [--keys 700] [--scale 1 --scale 2]
                                     [--lake FOLDER] [--no-floor]

A step's floor is the time, in the same session, to read its inputs and to write its outputs unchanged: each table is read once into
nothing and copied once into another lake, and the floor is the sum over the step's tables. `--scale N` is a fleet of N times the clusters,
in a process of its own. A lake keeps what `topology-audit generate --lake FOLDER --snapshot 2026-01-01` made, for a fleet that takes long to
make. Memory is the largest sum seen of this process, the JVM and its Python workers, a look each half second.
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
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

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
from jobs.lake.lake import Lake
from jobs.night import GATES, JOBS, NIGHT, Night
from jobs.schema import TABLES, Table
from jobs.spark.session import session, set_for

SNAPSHOT = "2026-01-01"
Row = dict[str, float | int | str | None]


class Memory(threading.Thread):
    """The most that this process and its descendants held since they were last asked, in MiB: Python here, the JVM, and its workers."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._most = (0.0, 0.0, 0.0)
        self._lock = threading.Lock()

    def run(self) -> None:
        while True:
            held = self._now()
            with self._lock:
                self._most = max(self._most, held, key=sum)
            time.sleep(0.5)

    def _now(self) -> tuple[float, float, float]:
        here, jvm, workers = float(psutil.Process().memory_info().rss), 0.0, 0.0
        for process in psutil.Process().children(recursive=True):
            try:
                if process.name() == "java":
                    jvm += process.memory_info().rss
                else:
                    workers += process.memory_full_info().pss  # they share what they were forked with
            except psutil.Error:
                continue
        return here / 2**20, jvm / 2**20, workers / 2**20

    def most(self) -> tuple[float, float, float]:
        with self._lock:
            most, self._most = self._most, (0.0, 0.0, 0.0)
        return most


@contextmanager
def timed(into: list[float]) -> Iterator[None]:
    started = time.monotonic()
    yield
    into.append(time.monotonic() - started)


def night(
    fleet: Fleet, folder: Path, made: Path | None, only: list[str] | None, floors: bool, say: Callable[[str], None]
) -> dict[str, list[Row]]:
    """A row for each step and gate of the night, and for each table what a query of one cluster opens."""
    memory = Memory()
    memory.start()
    spark = session(long=True, **json.loads(os.environ.get("SPARK_SETTINGS", "{}")))  # as `nightly` does for so many dumps
    lake, copies, allowed = Lake(str(made or folder / "lake"), lambda: spark), Lake(str(folder / "floor"), lambda: spark), limits(None)
    subject = Night(lake, SNAPSHOT)
    seconds: list[float] = []
    set_for(spark, small=False)
    if made is None:
        with timed(seconds):
            subject.begin([*tables(spark, fleet, SNAPSHOT).values()], {})
        say(f"generated in {seconds[0]:.1f} s")
    memory.most()
    rows: list[Row] = []
    for kind, name in NIGHT:
        if name == "ingest" and kind == "step":
            continue
        if only and name not in only:
            continue
        taken: list[float] = []
        with timed(taken):
            if kind == "step":
                subject.step(name, allowed)
            elif kind == "check":
                subject.check(name, allowed, None)
            else:
                subject.publish(allowed)
        here, jvm, workers = memory.most()
        rows.append({"kind": kind, "name": name, "seconds": taken[0], "python": here, "jvm": jvm, "workers": workers})
        say(f"{kind} {name}: {taken[0]:.1f} s, {here + jvm + workers:,.0f} MiB")
    least = Floor(lake, copies)
    for row in rows:
        reads = JOBS[row["name"]].READS if row["kind"] == "step" else GATES.get(str(row["name"]), ())
        writes = JOBS[row["name"]].WRITES if row["kind"] == "step" else ()
        row["in"], row["out"] = sum(map(least.count, reads)), sum(map(least.count, writes))
        row["floor"] = sum(map(least.read, reads)) + sum(map(least.write, writes)) if floors else 0.0
    return {"steps": rows, "opened": opened(lake)}


def opened(lake: Lake) -> list[Row]:
    """Of each table in several row groups, the part that a query reads which names the night and the cluster in the middle: by what the
    files, and their row groups, tell of their least and greatest cluster.
    """
    rows: list[Row] = []
    for table in TABLES:
        files = [parquet.read_metadata(path) for path in DeltaTable(lake.path(table)).file_uris()]
        groups = [(number, *_clusters(file.row_group(place))) for number, file in enumerate(files) for place in range(file.num_row_groups)]
        if len(groups) < 2:
            continue
        clusters = sorted({greatest for _, _, _, greatest in groups})
        wanted = clusters[len(clusters) // 2]
        read = [(number, size) for number, size, least, greatest in groups if least <= wanted <= greatest]
        rows.append({"name": table.name, "files": len(files), "opened": len({number for number, _ in read}),
                     "share": sum(size for _, size in read) / sum(size for _, size, _, _ in groups)})  # fmt: skip
    return rows


def _clusters(group: parquet.RowGroupMetaData) -> tuple[int, str, str]:
    """Its bytes, and its least and greatest cluster; a table without clusters has one."""
    told = (group.column(place) for place in range(group.num_columns))
    of = next((column.statistics for column in told if column.path_in_schema == "cluster_id"), None)
    return group.total_byte_size, *((of.min, of.max) if of else ("", ""))


class Floor:
    """The seconds to read a table, and to copy it; each measured once."""

    def __init__(self, lake: Lake, copies: Lake) -> None:
        self._lake, self._copies = lake, copies
        self._read: dict[str, float] = {}
        self._written: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def _frame(self, table: Table) -> DataFrame:
        return self._lake.spark().read.format("delta").load(self._lake.path(table)).where(f"snapshot_id = '{SNAPSHOT}'")

    def count(self, table: Table) -> int:
        if table.name not in self._counts:
            self._counts[table.name] = self._frame(table).count()
        return self._counts[table.name]

    def read(self, table: Table) -> float:
        if table.name not in self._read:
            taken: list[float] = []
            with timed(taken):
                self._frame(table).write.format("noop").mode("overwrite").save()
            self._read[table.name] = taken[0]
        return self._read[table.name]

    def write(self, table: Table) -> float:
        if table.name not in self._written:
            taken: list[float] = []
            self._copies.create(table)
            with timed(taken):
                self._frame(table).write.format("delta").mode("append").save(self._copies.path(table))
            self._written[table.name] = taken[0]
        return self._written[table.name]


def show(fleet: Fleet, rows: list[Row], found: list[Row]) -> None:
    shown = RichTable(
        "", "rows in", "rows out", "s", "rows/s", "floor s", "x floor", "Python MiB", "JVM MiB", "workers MiB", title=f"{fleet}"
    )
    for column in shown.columns[1:]:
        column.justify = "right"

    def line(name: str, row: Row) -> None:
        moved = row["in"] + row["out"]
        shown.add_row(name, f"{row['in']:,}", f"{row['out']:,}", f"{row['seconds']:.1f}", f"{moved / row['seconds']:,.0f}", f"{row['floor']:.1f}",
                      f"{row['seconds'] / row['floor']:.1f}" if row["floor"] else "", *(f"{row[part]:,.0f}" for part in ("python", "jvm", "workers")))  # fmt: skip

    for row in rows:
        line(f"{row['kind']} {row['name']}", row)
    steps, checks = [row for row in rows if row["kind"] == "step"], [row for row in rows if row["kind"] == "check"]

    def total(of: list[Row], floor: list[Row]) -> Row:
        summed = {name: sum(row[name] for row in of) for name in ("in", "out", "seconds")}
        return {
            **summed,
            "floor": sum(row["floor"] for row in floor),
            **{part: max(row[part] for row in of) for part in ("python", "jvm", "workers")},
        }

    line("steps", total(steps, steps))
    if checks:
        line("checks", total(checks, checks))
    line("night", total(rows, steps))
    Console(width=180).print(shown)
    most = max(rows, key=lambda row: row["python"] + row["jvm"] + row["workers"])
    print(f"most memory at once: {most['python'] + most['jvm'] + most['workers']:,.0f} MiB, in {most['kind']} {most['name']}")
    told = ", ".join(f"{row['name']} {row['opened']} of {row['files']} files ({row['share']:.0%} of the bytes)" for row in found)
    print(f"a query of the night and one cluster opens, and reads in row groups, {told}")


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
    only: Annotated[list[str] | None, typer.Option(help="These steps alone.")] = None,
    lake: Annotated[Path | None, typer.Option(help="Where the fleet lies already.")] = None,
    floor: bool = True,
    into: Annotated[Path | None, typer.Option(help="One fleet, in this process; its rows as JSON.")] = None,
) -> None:
    if into is not None:
        fleet = Fleet(clusters, brokers, racks, topics, groups, partitions, keys, seed)
        with tempfile.TemporaryDirectory() as folder:
            found = night(fleet, Path(folder), lake, only, floor, lambda text: print(text, flush=True))
        into.write_text(json.dumps(found))
        return
    totals = {}
    for times in scale or [1]:
        fleet = Fleet(clusters * times, brokers, racks, topics, groups, partitions, keys, seed)
        sizes = {
            "clusters": fleet.clusters,
            "brokers": brokers,
            "racks": racks,
            "topics": topics,
            "partitions": partitions,
            "groups": groups,
            "keys": keys,
            "seed": seed,
        }
        with tempfile.TemporaryDirectory() as folder:
            rows_file = Path(folder) / "rows.json"
            asked = [word for name, value in sizes.items() for word in (f"--{name}", str(value))] + [
                word for name in only or () for word in ("--only", name)
            ]
            asked += (["--lake", str(lake)] if lake else []) + ([] if floor else ["--no-floor"])
            subprocess.run([sys.executable, "-m", "tests.benchmarks.fleet", *asked, "--into", str(rows_file)], check=True)
            found = json.loads(rows_file.read_text())
        show(fleet, found["steps"], found["opened"])
        totals[times] = sum(row["seconds"] for row in found["steps"])
    for small, large in zip([*totals], [*totals][1:]):
        print(f"{large / small:.1f} times the clusters take {totals[large] / totals[small]:.2f} times as long")


if __name__ == "__main__":
    typer.run(main)
