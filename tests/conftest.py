"""The Spark session and the Hypothesis profile that all tests share."""

from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from jobs.spark.session import session

# Hypothesis fails an example after 200 ms, which a busy machine exceeds.
settings.register_profile("no_deadline", deadline=None)
settings.load_profile("no_deadline")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark session for all tests of a run."""
    spark = session(**{"spark.master": "local[2]"})
    yield spark
    spark.stop()


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    """Clear Spark's cache after each test, because Spark compares every query with all cached plans."""
    yield
    if (spark := SparkSession.getActiveSession()) is not None:
        spark.catalog.clearCache()
