"""The readers' queries of the README on a lake of one night, of 365 nights, and of these after `topology-audit maintain`.

    python -m tests.benchmarks.year [--nights 365]

The bundled snapshot's night is run once; the others are its rows under other names, a commit for each table and night. Each query is
asked by DuckDB in this process, opening the lake each time: the best of three.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import typer
from deltalake import DeltaTable, write_deltalake
from rich.console import Console
from rich.table import Table as RichTable

from jobs.cli import REPOSITORY
from jobs.lake import Lake
from jobs.tables import TABLES
from jobs.views import ask_duckdb

FIRST = date(2026, 1, 1)
COMMAND = str(Path(sys.executable).with_name("topology-audit"))


def queries() -> list[str]:
    """Those of the README."""
    return re.findall(r"(?:\| `|query \")(SELECT [^`\"]+)", (REPOSITORY / "README.md").read_text())


def multiply(folder: Path, nights: int) -> None:
    """The rows of the one night, again for each day after it."""
    for table in TABLES:
        delta = DeltaTable(folder / table.name)
        rows = delta.to_pyarrow_table()
        place = rows.schema.get_field_index("snapshot_id")
        for number in range(1, nights):
            named = pa.repeat(pa.scalar(f"{FIRST + timedelta(number)}"), len(rows))
            write_deltalake(delta, rows.set_column(place, "snapshot_id", named), mode="append")


def seconds(lake: Lake, query: str) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.monotonic()
        ask_duckdb(lake, query, 1000)
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
