"""One Spark session for all the tests that need one, and one Hypothesis profile."""

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
    spark = session(**{"spark.master": "local[2]"})
    yield spark
    spark.stop()


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """Each query is compared with all that is cached: what the tests before left would cost more than the queries."""
    yield
    if (spark := SparkSession.getActiveSession()) is not None:
        spark.catalog.clearCache()
