"""One Spark session for all the tests that need one."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from jobs.session import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    spark = session(**{"spark.master": "local[2]"})
    yield spark
    spark.stop()
