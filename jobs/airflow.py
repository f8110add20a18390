"""The environment variables of Airflow on one machine: the DAGs, the lake, and Spark in local mode.

`topology-audit airflow` runs `airflow standalone` with them. A deployment sets the same variables to its own values, as
docker/compose.yaml does with a Spark master in `spark_default`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from jobs.spark.scale import Scale


def environment(
    *, lake: Path | str, source: Path | str, home: Path, spark_properties: Mapping[Scale, Path], master: str = "local[2]", port: int = 8080
) -> dict[str, str]:
    """Return the variables to add to this process's environment. `port` serves the UI; the next two ports serve logs."""
    pyspark = find_spec("pyspark")
    assert pyspark is not None
    assert pyspark.origin is not None
    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(Path(__file__).resolve().parents[1] / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PARALLELISM": "2",  # each task starts its own Spark
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}/",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(port + 1),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(port + 2),
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": master, "extra": {"deploy-mode": "client"}}),
        "AIRFLOW_VAR_TOPOLOGY_LAKE": str(lake),
        "AIRFLOW_VAR_TOPOLOGY_SOURCE": str(source),
        "AIRFLOW_VAR_TOPOLOGY_REPORTS": str(home / "reports"),
        "AIRFLOW_VAR_TOPOLOGY_SPARK_PROPERTIES": str(spark_properties[Scale.SMALL]),
        "AIRFLOW_VAR_TOPOLOGY_SPARK_PROPERTIES_LARGE": str(spark_properties[Scale.LARGE]),
        # The provider looks for `spark-submit` on the PATH, which may not contain this Python's folder.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "SPARK_HOME": str(Path(pyspark.origin).parent),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
