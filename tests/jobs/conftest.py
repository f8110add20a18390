"""The command, and a lake of two published nights that is built once for all tests.

`two_nights` is read only, and `changed_nights` is a copy for one test.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from filelock import FileLock
from pyspark.sql import SparkSession

from jobs.lake.lake import Lake, open_lake
from jobs.night import NightlyRun
from tests.jobs.command import Command
from tests.jobs.two_nights import SECOND, write_two_nights


@pytest.fixture(scope="session")
def nights_folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a lake with two nights. The processes of pytest-xdist share it: the first one builds it."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = base / "two-nights"
    with FileLock(base / "two-nights.lock"):
        if not folder.exists():
            building = base / "two-nights-unfinished"
            write_two_nights(open_lake(str(building), lambda: spark))
            building.rename(folder)
    return folder


@pytest.fixture(scope="session")
def two_nights(spark: SparkSession, nights_folder: Path) -> Lake:
    """The shared lake: tests that change it use `changed_nights`."""
    return open_lake(str(nights_folder), lambda: spark)


@pytest.fixture
def changed_nights(spark: SparkSession, nights_folder: Path, tmp_path: Path) -> Lake:
    """A copy of the shared lake for a test that changes it."""
    return open_lake(str(shutil.copytree(nights_folder, tmp_path / "lake")), lambda: spark)


@pytest.fixture
def changed_night(changed_nights: Lake) -> NightlyRun:
    """The second night of the copy."""
    return NightlyRun(changed_nights, SECOND)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return the command in an empty folder and on a wide terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return Command(monkeypatch, capsys)
