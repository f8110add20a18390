"""Readers see all rows of a published night while it is run again, and after a rerun that is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from expectations.limits import limits
from jobs.cli import BUNDLED
from jobs.lake.folder_lake import FolderLake
from jobs.lake.lake import Lake, open_lake
from jobs.lake.maintenance import maintain_tables
from jobs.lake.selection import Attempt
from jobs.night import NightlyRun
from jobs.schema import FAILOVER, PARAMETER, SNAPSHOT, TABLES, Table
from jobs.spark.scale import Scale
from jobs.views import DuckdbViews
from tests.jobs.two_nights import FIRST, SECOND, SNAPSHOTS, run

COMMAND = Path(sys.executable).with_name("topology-audit")
Contents = dict[str, tuple[Any, ...]]  # number and hash of a table's published rows, by table


def contents(lake: Lake, *tables: Table) -> Contents:
    """Return what a reader sees in one connection: of these tables, by default of all."""
    views = DuckdbViews(lake)
    hashes = {}
    for table in tables or TABLES:
        varying = "attempt_id, published_at" if table is SNAPSHOT else "attempt_id"
        query = f"SELECT count(*), bit_xor(hash(row)) FROM (SELECT * EXCLUDE ({varying}) FROM {table.name}) AS row"
        hashes[table.name] = views.execute(query).fetchall()[0]
    return hashes


class Rerun(NamedTuple):
    """The second of two nights, run again on the dumps of the first: what readers saw before, during and after the rerun."""

    lake: Lake
    before: Contents
    after_each_write: list[str]  # tables whose published rows changed although the rerun was not published
    during: list[Contents]
    after: Contents


@pytest.fixture(scope="module")
def rerun(spark: SparkSession, nights_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Rerun:
    folder = tmp_path_factory.mktemp("rerun") / "lake"
    subprocess.run(["cp", "-r", str(nights_folder), str(folder)], check=True)
    lake = open_lake(str(folder), lambda: spark)
    before, changed, during, ended = contents(lake), [], [], Event()
    replace = FolderLake.replace

    def poll() -> None:
        while not ended.wait(0.2):
            during.append(contents(lake))

    def replace_and_read(lake: FolderLake, table: Table, rows: Any, **where: Any) -> None:
        """Write, and read as after a kill at this point."""
        replace(lake, table, rows, **where)
        if table is not SNAPSHOT and contents(lake, table)[table.name] != before[table.name]:
            changed.append(table.name)

    with ThreadPoolExecutor(1) as pool, pytest.MonkeyPatch.context() as patched:
        patched.setattr(FolderLake, "replace", replace_and_read)
        polling = pool.submit(poll)
        try:
            run(NightlyRun(lake, SECOND), SNAPSHOTS / "night-before")
        finally:
            ended.set()
        polling.result()
    return Rerun(lake, before, changed, during, contents(lake))


def test_no_write_of_a_rerun_changes_what_readers_see_before_it_is_published(rerun: Rerun) -> None:
    assert rerun.after_each_write == []


def test_readers_change_from_all_old_rows_to_all_new_rows_at_once(rerun: Rerun) -> None:
    changed = {name for name, seen in rerun.before.items() if rerun.after[name] != seen}
    assert {"broker", "partition", "change", "scenario", "failover", "partition_health", "validation"} <= changed
    assert len(rerun.during) > 1
    switched = [seen != rerun.before for seen in rerun.during]
    assert [seen for seen, new in zip(rerun.during, switched, strict=True) if new and seen != rerun.after] == []
    assert switched == sorted(switched)


def test_maintenance_deletes_the_superseded_attempt(rerun: Rerun) -> None:
    assert rerun.lake.attempts(PARAMETER) == {Attempt(FIRST, "1"), Attempt(SECOND, "1"), Attempt(SECOND, "2")}
    assert maintain_tables(rerun.lake, keep_nights=400, vacuum_hours=24).superseded == {Attempt(SECOND, "1")}
    remaining = {attempt for table in TABLES for attempt in rerun.lake.attempts(table)}
    assert remaining == {Attempt(FIRST, "1"), Attempt(SECOND, "2")}
    assert contents(rerun.lake) == rerun.after


def kill_rerun(lake: Lake, folder: Path, table: Table) -> None:
    """Start the command that runs the second night again, and kill it when it has written a table."""
    log = Path(lake.path(table), "_delta_log")
    commits = len(list(log.glob("*.json")))
    arguments = ["nightly", str(BUNDLED), "--lake", lake.uri, "--snapshot", SECOND, "--report", str(folder)]
    with (folder.parent / "output").open("w") as output:
        night = subprocess.Popen([COMMAND, *arguments], stdout=output, stderr=output, start_new_session=True)
        while len(list(log.glob("*.json"))) == commits:
            assert night.poll() is None, (folder.parent / "output").read_text()
            time.sleep(0.001)
        os.killpg(night.pid, signal.SIGKILL)  # its JVM and its other processes too
        assert night.wait() == -signal.SIGKILL


@dataclass(frozen=True, slots=True)
class RerunAfterKill:
    """The second night, whose rerun was killed and then run again as a large night: what readers saw before, between and after them."""

    night: NightlyRun
    rows_before: dict[str, list[str]]
    before: Contents
    after_kill: Contents
    after: Contents


@pytest.fixture(scope="module")
def rerun_after_kill(spark: SparkSession, nights_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> RerunAfterKill:
    folder = tmp_path_factory.mktemp("killed")
    subprocess.run(["cp", "-r", str(nights_folder), str(folder / "lake")], check=True)
    lake = open_lake(str(folder / "lake"), lambda: spark)
    rows_before, before = computed_rows(NightlyRun(lake, SECOND)), contents(lake)
    kill_rerun(lake, folder / "report", FAILOVER)
    after_kill, again = contents(lake), NightlyRun(lake, SECOND)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("jobs.spark.scale.MAX_SMALL_BYTES", 0)
        assert run(again, BUNDLED, docs=f"{lake.uri}/docs").absent == []
    return RerunAfterKill(again, rows_before, before, after_kill, contents(lake))


def computed_rows(night: NightlyRun) -> dict[str, list[str]]:
    """Return the rows of the night in each table, as text, except those that name the attempt and the scale."""
    return {
        table.name: sorted(json.dumps(row, default=str, sort_keys=True) for row in night.rows(table))
        for table in TABLES
        if table not in (SNAPSHOT, PARAMETER)
    }


def test_a_killed_rerun_leaves_the_published_night_and_the_next_one_is_published(rerun_after_kill: RerunAfterKill) -> None:
    assert rerun_after_kill.after_kill == rerun_after_kill.before
    changed = {name for name, seen in rerun_after_kill.before.items() if rerun_after_kill.after[name] != seen}
    assert changed == {PARAMETER.name}  # it contains the scale
    lake = rerun_after_kill.night.lake
    newest = max(attempt.number for attempt in lake.attempts(PARAMETER) if attempt.snapshot_id == SECOND)
    assert {attempt.number for attempt in lake.attempts(SNAPSHOT) if attempt.snapshot_id == SECOND} == {newest}


def test_a_rerun_as_a_large_night_changes_no_row(rerun_after_kill: RerunAfterKill) -> None:
    again = rerun_after_kill.night
    assert again.scale is Scale.LARGE
    assert again.attempt == Attempt(SECOND, "3")
    now = computed_rows(again)
    assert [name for name, rows in rerun_after_kill.rows_before.items() if rows != now[name]] == []


def test_a_step_that_runs_again_stays_in_its_attempt(changed_night: NightlyRun) -> None:
    before = contents(changed_night.lake)
    again = NightlyRun(changed_night.lake, SECOND)
    again.step("replica_assignment", limits())
    again.check("computed", limits(), None)
    assert again.publish(limits()).absent == []
    attempts = {attempt for table in TABLES for attempt in changed_night.lake.attempts(table)}
    assert attempts == {Attempt(FIRST, "1"), Attempt(SECOND, "1")}
    assert contents(changed_night.lake) == before
