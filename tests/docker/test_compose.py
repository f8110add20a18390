"""The files that compose.yaml and the Dockerfile name exist, versions are pinned, and Airflow has the environment of `topology-audit airflow`."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobs.airflow import environment
from jobs.spark.scale import Scale
from tests.docker.standalone import free_port, health_check

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()
# Paths that the image sets itself.
SET_BY_IMAGE = {"PATH", "SPARK_HOME", "PYSPARK_PYTHON"}
# A container has its own free ports for logs, and Spark must not listen on 127.0.0.1 alone there, because executors connect to the driver.
ONLY_ON_ONE_MACHINE = {"AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT", "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT", "SPARK_LOCAL_IP"}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())


def copied() -> list[str]:
    """Return the paths that the Dockerfile copies into the image."""
    return [source for line in re.findall(r"^COPY (.+)$", DOCKERFILE, re.M) for source in line.split()[:-1]]


def test_every_copied_path_exists_and_is_not_ignored() -> None:
    allowed = [line[1:] for line in (ROOT / "docker" / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")]
    assert copied() != []
    for source in copied():
        assert (ROOT / source).exists(), source
        assert any(fnmatch(source, pattern) for pattern in allowed), source
    assert [pattern for pattern in allowed if pattern not in copied()] == []


def test_the_image_contains_every_package_of_the_project() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    assert packages <= set(copied())


def test_the_base_image_is_pinned_to_a_patch_release() -> None:
    assert re.findall(r"^FROM (.+)$", DOCKERFILE, re.M) == ["python:3.11.14-slim-bookworm"]


def test_every_service_uses_the_same_image_and_every_volume_is_declared(compose: dict[str, Any]) -> None:
    assert {service["image"] for service in compose["services"].values()} == {"kafka-topology-audit:0.1.0"}
    for service in compose["services"].values():
        assert (ROOT / "docker" / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
        for volume in service.get("volumes", []):
            source = re.sub(r"^\$\{\w+:-(.+?)\}", r"\1", volume).split(":")[0]
            assert source in compose["volumes"] or (ROOT / "docker" / source).is_dir(), volume


def mounts(service: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    """Return, for each folder in the container, the source that is mounted there and whether it is writable."""
    mounted = {}
    for volume in service["volumes"]:
        source, target, *mode = re.sub(r"\$\{(\w+):-.+?\}", r"\1", volume).split(":")
        mounted[target] = source, mode != ["ro"]
    return mounted


def test_driver_and_executors_mount_the_lake_and_the_dumps_at_the_same_place(compose: dict[str, Any]) -> None:
    driver, executor = (mounts(compose["services"][service]) for service in ("airflow", "spark-worker"))
    assert {target: source for target, (source, _) in executor.items()} == {"/lake": "lake", "/dumps": "TOPOLOGY_SOURCE"}
    assert {target: source for target, (source, _) in driver.items()} == {
        "/lake": "lake",
        "/dumps": "TOPOLOGY_SOURCE",
        "/airflow": "airflow",
    }


def test_capture_can_write_into_the_folder_of_the_dumps(compose: dict[str, Any]) -> None:
    airflow = compose["services"]["airflow"]
    folder = airflow["environment"]["AIRFLOW_VAR_TOPOLOGY_SOURCE"]
    assert mounts(airflow)[folder] == ("TOPOLOGY_SOURCE", True)


def test_every_service_starts_after_those_it_depends_on_are_healthy(compose: dict[str, Any]) -> None:
    after = {name: service.get("depends_on", {}) for name, service in compose["services"].items()}
    healthy = {"condition": "service_healthy"}
    assert after == {"spark-master": {}, "spark-worker": {"spark-master": healthy}, "airflow": {"spark-worker": healthy}}


@pytest.mark.parametrize("name", ["spark-master", "spark-worker", "airflow"])
def test_a_health_check_fails_if_nothing_listens(compose: dict[str, Any], name: str) -> None:
    done = health_check(compose["services"][name], f"http://127.0.0.1:{free_port()}")
    assert done.returncode == 1
    assert "Connection refused" in done.stderr


def test_every_health_check_runs_python(compose: dict[str, Any]) -> None:
    """The base image has neither curl nor wget."""
    assert [service["healthcheck"]["test"][:3] for service in compose["services"].values()] == [["CMD", "python", "-c"]] * 3


def test_ports_are_published_to_this_machine_only(compose: dict[str, Any]) -> None:
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports == ["127.0.0.1:8081:8081", "127.0.0.1:8080:8080"]


def test_airflow_has_the_same_variables_as_on_one_machine(compose: dict[str, Any]) -> None:
    container = compose["services"]["airflow"]["environment"]
    one_machine = environment(
        lake="/lake",
        source="/dumps",
        home=Path("/airflow"),
        spark_properties={scale: Path(f"/opt/topology-audit/spark-{scale}.properties") for scale in Scale},
    )
    assert set(container) == set(one_machine) - SET_BY_IMAGE - ONLY_ON_ONE_MACHINE
    differ = {name for name, value in container.items() if one_machine[name] != value}
    assert differ == {"AIRFLOW__CORE__DAGS_FOLDER", "AIRFLOW__API__HOST", "AIRFLOW_CONN_SPARK_DEFAULT"}
    assert set(re.findall(r"(\w+)=/", DOCKERFILE)) >= SET_BY_IMAGE - {"PATH"}


def test_the_connection_uses_the_master_that_compose_starts(compose: dict[str, Any]) -> None:
    master = compose["services"]["spark-master"]["command"]
    address = f"spark://{master[master.index('--host') + 1]}:{master[master.index('--port') + 1]}"
    assert json.loads(compose["services"]["airflow"]["environment"]["AIRFLOW_CONN_SPARK_DEFAULT"])["host"] == address
    assert compose["services"]["spark-worker"]["command"][-1] == address
