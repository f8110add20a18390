"""The readers' queries of the README on a lake of one night, of 365 nights, and of these after `topology-audit maintain`.

    python -m tests.benchmarks.year [--nights 365]

The bundled snapshot's night is run once; the others are its files under other names, committed at once. Each query is
asked by DuckDB in this process, opening the lake each time: the best of three.
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

from jobs.lake.lake import Lake
from jobs.schema import SNAPSHOT, TABLES
from jobs.views import query_duckdb

FIRST = date(2026, 1, 1)
COMMAND = str(Path(sys.executable).with_name("topology-audit"))


def queries() -> list[str]:
    """Those of the README."""
    return re.findall(r"(?:\| `|query \")(SELECT [^`\"]+)", (Path(__file__).parents[2] / "README.md").read_text())


def multiply(folder: Path, nights: int) -> None:
    """The one night again for each day after it: its files, which do not hold their night, in the folders of the others."""
    days = [f"{FIRST + timedelta(number)}" for number in range(nights)]
    for table in TABLES:
        delta = DeltaTable(folder / table.name)
        if table is SNAPSHOT:
            rows = delta.to_pyarrow_table().to_pylist()
            for before, day in pairwise(days):  # a commit each, as by the nights themselves
                later = [row | {"snapshot_id": day, "previous_snapshot_id": before} for row in rows]
                write_deltalake(delta, pa.Table.from_pylist(later, SNAPSHOT.schema), mode="append")
            continue
        added = []
        for file in _added(folder / table.name, delta):
            path = unquote(file["path"])
            for day in days[1:]:
                to = path.replace(days[0], day, 1)
                (folder / table.name / to).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / table.name / path, folder / table.name / to)
                added.append(
                    AddAction(
                        to, file["size"], file["partitionValues"] | {"snapshot_id": day}, file["modificationTime"], True, file["stats"]
                    )
                )
        delta.create_write_transaction(added, "append", delta.schema(), list(table.partition_by))


def _added(folder: Path, delta: DeltaTable) -> list[dict[str, Any]]:
    """What the log tells of the table's files, with their statistics as they are there."""
    now = {file.removeprefix(f"{folder}/") for file in delta.file_uris()}
    told = (json.loads(line) for log in sorted((folder / "_delta_log").glob("*.json")) for line in log.read_text().splitlines())
    return [action["add"] for action in told if "add" in action and unquote(action["add"]["path"]) in now]


def seconds(lake: Lake, query: str) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.monotonic()
        query_duckdb(lake, query, 1000)
        best = min(best, time.monotonic() - started)
    return best


def main(nights: int = 365) -> None:
    def none() -> None:
        raise AssertionError("no Spark is needed")

    with tempfile.TemporaryDirectory() as place:
        one, many = (Path(place) / name for name in ("one", "many"))
        subprocess.run([COMMAND, "nightly", "--lake", str(one), "--snapshot", str(FIRST)], check=True, stdout=subprocess.DEVNULL)
        shutil.copytree(one, many)
        started = time.monotonic()
        multiply(many, nights)
        print(f"{nights} nights made of one in {time.monotonic() - started:.0f} s", flush=True)
        lakes = {"1 night": one, f"{nights} nights": many}
        taken = {name: [seconds(Lake(str(folder), none), query) for query in queries()] for name, folder in lakes.items()}
        started = time.monotonic()
        subprocess.run([COMMAND, "maintain", "--lake", str(many), "--keep-nights", str(nights)], check=True, stdout=subprocess.DEVNULL)
        print(f"maintain took {time.monotonic() - started:.1f} s", flush=True)
        taken["maintained"] = [seconds(Lake(str(many), none), query) for query in queries()]
    shown = RichTable("query", *(f"{name}, s" for name in taken), "times")
    for number, query in enumerate(queries()):
        times = [of[number] for of in taken.values()]
        shown.add_row(query[:80], *(f"{each:.2f}" for each in times), f"{times[-1] / times[0]:.1f}")
    Console(width=160).print(shown)
    totals = [sum(of) for of in taken.values()]
    print(f"all of them: {', '.join(f'{each:.1f}' for each in totals)} s; maintained, {totals[-1] / totals[0]:.2f} times one night")


if __name__ == "__main__":
    typer.run(main)
