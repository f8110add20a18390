"""The Spark session, a lake of two published nights and the Hypothesis profile that all tests share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import settings
from pyspark.sql import SparkSession

from jobs.lake.lake import Lake, open_lake
from jobs.spark.session import session
from tests.jobs.two_nights import write_two_nights

# Hypothesis fails an example after 200 ms, which a busy machine exceeds.
settings.register_profile("no_deadline", deadline=None)
settings.load_profile("no_deadline")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark session for all tests of a run."""
    spark = session(**{"spark.master": "local[2]"})
    yield spark
    spark.stop()


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
    """The shared lake: read only, so tests that change it use `changed_nights`."""
    return open_lake(str(nights_folder), lambda: spark)


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    """Clear Spark's cache after each test, because Spark compares every query with all cached plans."""
    yield
    if (spark := SparkSession.getActiveSession()) is not None:
        spark.catalog.clearCache()
