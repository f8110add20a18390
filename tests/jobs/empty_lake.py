"""An empty lake with every table, copied from one that each test process creates once: a copy takes 0.01 s, creation 0.3 s."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from jobs.lake.lake import Lake, open_lake
from jobs.schema import TABLES


def empty_lake(folder: Path) -> Lake:
    """Return a new lake in a folder. It has no Spark session."""
    shutil.copytree(_created_once().name, folder, dirs_exist_ok=True)
    return open_lake(str(folder), pytest.fail)


@cache
def _created_once() -> TemporaryDirectory[str]:
    created = TemporaryDirectory()
    lake = open_lake(created.name, pytest.fail)
    for table in TABLES:
        lake.create(table)
    return created
