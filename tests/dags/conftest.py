"""Airflow's environment variables for the tests that load DAGs in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.airflow import environment
from jobs.spark.scale import Scale


@pytest.fixture(scope="package")
def airflow_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Set the variables of `topology-audit airflow`. Tests import Airflow after that, because it reads some of them only once."""
    home = tmp_path_factory.mktemp("airflow")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(
            lake="/lake", source="/dumps", home=home, spark_properties={scale: Path(f"/spark-{scale}.properties") for scale in Scale}
        ).items():
            patch.setenv(name, value)
        patch.setenv("AIRFLOW_VAR_TOPOLOGY_REPORTS", "/reports")
        yield
