"""Airflow's own home for the tests, wired to this project as `topology-audit airflow` wires it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.airflow import environment


@pytest.fixture(scope="package")
def wired(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """This process sees Airflow's settings; Airflow is imported only under it, since it reads some of them once."""
    home = tmp_path_factory.mktemp("airflow")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(lake="/lake", source="/dumps", home=home, spark_properties=Path("/spark.properties")).items():
            patch.setenv(name, value)
        patch.setenv("AIRFLOW_VAR_TOPOLOGY_REPORTS", "/reports")
        yield
