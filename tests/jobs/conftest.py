"""The command, and copies of the shared lake of two published nights for tests that change it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.lake.lake import Lake, open_lake
from jobs.night import NightlyRun
from tests.jobs.command import Command
from tests.jobs.two_nights import SECOND


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
