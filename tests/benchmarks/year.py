"""Measure the queries of the README and the examples of the views: with one night, with 365, and with these after `topology-audit maintain`.

    python -m tests.benchmarks.year [--nights 365]

The night of the bundled snapshot runs once. All other nights are copies of its files, committed at once. A time is the best of three runs in
DuckDB in this process; each run opens the lake again.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import typer
from deltalake import DeltaTable, write_deltalake
from deltalake.transaction import AddAction
from rich.console import Console
from rich.table import Table as RichTable

from jobs.lake.lake import Lake, open_lake
from jobs.schema import SNAPSHOT, TABLES, VERDICT
from jobs.views import VIEWS, query_duckdb

FIRST = date(2026, 1, 1)
COMMAND = str(Path(sys.executable).with_name("topology-audit"))


def queries() -> list[str]:
    """Return the queries of the README and the examples of the views."""
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    return re.findall(r'query (?:--engine spark )?"(SELECT [^"]+)"', readme) + [view.example for view in VIEWS.values()]


def multiply(folder: Path, nights: int) -> None:
    """Copy the only night of a lake to each of the following days. The snapshot is in the path of a file, not in its content."""
    days = [f"{FIRST + timedelta(number)}" for number in range(nights)]
    for table in TABLES:
        delta = DeltaTable(folder / table.name)
        if table in (SNAPSHOT, VERDICT):  # not partitioned by night
            rows = delta.to_pyarrow_table().to_pylist()
            for previous, day in pairwise(days):  # one commit per night, as in a real lake
                copies = [row | {"snapshot_id": day, "previous_snapshot_id": previous} for row in rows]
                write_deltalake(delta, pa.Table.from_pylist(copies, table.stored.schema), mode="append")
            continue
        actions = []
        for file in _add_actions(folder / table.name, delta):
            path = unquote(file["path"])
            for day in days[1:]:
                copy = path.replace(days[0], day, 1)
                (folder / table.name / copy).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / table.name / path, folder / table.name / copy)
                partition = file["partitionValues"] | {"snapshot_id": day}
                actions.append(AddAction(copy, file["size"], partition, file["modificationTime"], True, file["stats"]))
        delta.create_write_transaction(actions, "append", delta.schema(), list(table.stored.partition_by))


def _add_actions(folder: Path, delta: DeltaTable) -> list[dict[str, Any]]:
    """Return the `add` action in the Delta log of each current file, which contains the file's statistics."""
    files = {file.removeprefix(f"{folder}/") for file in delta.file_uris()}
    actions = (json.loads(line) for log in sorted((folder / "_delta_log").glob("*.json")) for line in log.read_text().splitlines())
    return [action["add"] for action in actions if "add" in action and unquote(action["add"]["path"]) in files]


def best_seconds(lake: Lake, query: str) -> float:
    """Return the seconds of the fastest of three runs of a query."""
    best = float("inf")
    for _ in range(3):
        started = time.monotonic()
        query_duckdb(lake, query, 1000)
        best = min(best, time.monotonic() - started)
    return best


def main(nights: int = 365) -> None:
    def no_spark() -> None:
        raise AssertionError("a query in DuckDB starts no Spark session")

    with tempfile.TemporaryDirectory() as folder:
        one_night, all_nights = (Path(folder) / name for name in ("one", "all"))
        subprocess.run([COMMAND, "nightly", "--lake", str(one_night), "--snapshot", str(FIRST)], check=True, stdout=subprocess.DEVNULL)
        shutil.copytree(one_night, all_nights)
        started = time.monotonic()
        multiply(all_nights, nights)
        print(f"{nights} nights copied in {time.monotonic() - started:.0f} s", flush=True)
        lakes = {"1 night": one_night, f"{nights} nights": all_nights}
        times = {name: [best_seconds(open_lake(str(path), no_spark), query) for query in queries()] for name, path in lakes.items()}
        started = time.monotonic()
        subprocess.run(
            [COMMAND, "maintain", "--lake", str(all_nights), "--keep-nights", str(nights)], check=True, stdout=subprocess.DEVNULL
        )
        print(f"maintain took {time.monotonic() - started:.1f} s", flush=True)
        times["maintained"] = [best_seconds(open_lake(str(all_nights), no_spark), query) for query in queries()]
    table = RichTable("query", *(f"{name}, s" for name in times), "ratio")
    for query, *row in zip(queries(), *times.values(), strict=True):
        table.add_row(query[:80], *(f"{seconds:.2f}" for seconds in row), f"{row[-1] / row[0]:.1f}")
    Console(width=160).print(table)
    totals = [sum(column) for column in times.values()]
    print(f"all queries: {', '.join(f'{total:.1f}' for total in totals)} s; after maintenance {totals[-1] / totals[0]:.2f} times one night")


if __name__ == "__main__":
    typer.run(main)
