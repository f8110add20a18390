"""The wheel contains the product without its tests, and its commands run after installation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.dags.standalone import DAGS, first_of_three_free_ports, running_airflow

ROOT = Path(__file__).parents[1]
PACKAGES = ("dags", "expectations", "jobs", "kafka_model")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the files in git, because a build writes into its folder."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in tracked_files():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((ROOT / name).read_bytes())
    build = [sys.executable, "-c", "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])", str(target)]
    process = subprocess.run(build, cwd=source, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    (wheel,) = target.glob("*.whl")
    return wheel


def tracked_files() -> list[str]:
    """Return the names of the files in git that exist in the work tree."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in names.split("\0") if name and (ROOT / name).is_file()]


def test_the_wheel_contains_exactly_the_files_of_its_packages(wheel: Path) -> None:
    contents = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert contents == {name for name in tracked_files() if name.startswith(tuple(f"{package}/" for package in PACKAGES))}


def test_the_wheel_contains_the_bundled_snapshot(wheel: Path) -> None:
    files = {name for name in ZipFile(wheel).namelist() if name.startswith("jobs/bundled/")}
    assert {f"jobs/bundled/{cluster}/kafka-topics.txt" for cluster in ("orders-eu", "payments-us")} <= files


def test_the_wheel_declares_the_command_and_the_plugin(wheel: Path) -> None:
    (entry_points,) = [name for name in ZipFile(wheel).namelist() if name.endswith(".dist-info/entry_points.txt")]
    text = ZipFile(wheel).read(entry_points).decode()
    assert "[console_scripts]\ntopology-audit = jobs.cli:main" in text
    assert "[airflow.plugins]\ntopology-report = dags.report_tab:ReportTab" in text


@pytest.mark.wheel
def test_every_command_runs_from_the_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    """The wheel is installed into a new virtual environment, and no variable points to the environment of the tests."""
    excluded = {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "SPARK_HOME", "PYSPARK_PYTHON"}
    bin_folder, work = tmp_path / "environment" / "bin", tmp_path / "work"
    environment = {name: value for name, value in os.environ.items() if name not in excluded and not name.startswith("AIRFLOW")}
    environment["PATH"] = os.pathsep.join(
        folder for folder in os.environ["PATH"].split(os.pathsep) if folder != str(Path(sys.executable).parent)
    )
    work.mkdir()

    def run(*command: str) -> str:
        process = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)
        assert process.returncode == 0, f"{command}\n{process.stdout[-3000:]}\n{process.stderr[-3000:]}"
        return process.stdout

    run(sys.executable, "-m", "venv", str(tmp_path / "environment"))
    run(str(bin_folder / "pip"), "install", "--quiet", "-r", str(ROOT / "requirements.lock"))
    run(str(bin_folder / "pip"), "install", "--quiet", "--no-deps", str(wheel))
    audit = str(bin_folder / "topology-audit")
    packages = tmp_path / "environment" / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    assert run(str(bin_folder / "python"), "-c", "import jobs; print(jobs.__path__[0])").strip() == str(packages / "jobs")

    assert "If broker 12 dies, 9 partitions lose data" in run(audit, "nightly")
    assert "payments-us" in run(audit, "query", "SELECT cluster_id, any_broker_writes FROM verdict WHERE latest")
    run(audit, "what-if", "--cluster", "orders-eu", "--broker", "1")
    run(audit, "plan", "--cluster", "payments-us", "--no-rules")

    home, port = work / "airflow", first_of_three_free_ports()
    command = [audit, "airflow", "--home", str(home), "--port", str(port)]
    with running_airflow(command, environment, work, home=home, lake=work / "lake", port=port) as airflow:
        dags = airflow.call("GET", "dags")["dags"]
        assert {dag["dag_id"] for dag in dags} == DAGS
        assert {dag["fileloc"] for dag in dags} == {str(packages / "dags" / f"{dag_id}.py") for dag_id in DAGS}
        assert airflow.call("GET", "importErrors")["total_entries"] == 0
        # A task submits the installed command, and the tab serves its report.
        run_id = airflow.trigger("what_if", cluster="payments-us", brokers=["12"])
        assert airflow.wait_for_end("what_if", run_id) == "success"
        assert "payments-us" in airflow.page("what_if", run_id).text
