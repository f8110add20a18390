"""Start-up optimizations: each can be switched off."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.spark import startup
from jobs.spark.scale import Scale
from jobs.spark.session import properties
from jobs.spark.startup import Optimization

JVM_OPTIONS = {
    Optimization.FIRST_COMPILER: (Scale.SMALL, "-XX:TieredStopAtLevel=1"),
    Optimization.LATE_SECOND_COMPILER: (Scale.LARGE, "-XX:Tier4InvocationThreshold=25000"),
}


def switch_off(monkeypatch: pytest.MonkeyPatch, optimization: Optimization) -> None:
    monkeypatch.setenv("TOPOLOGY_AUDIT_WITHOUT", f"another,{optimization}")


@pytest.mark.parametrize("optimization", JVM_OPTIONS)
def test_an_optimization_that_is_off_sets_no_jvm_option(monkeypatch: pytest.MonkeyPatch, optimization: Optimization) -> None:
    scale, option = JVM_OPTIONS[optimization]
    assert option in properties(scale)["spark.driver.extraJavaOptions"].split()
    switch_off(monkeypatch, optimization)
    assert option not in properties(scale)["spark.driver.extraJavaOptions"].split()


def test_workers_start_from_pyspark_s_own_daemon_if_that_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert properties()["spark.python.daemon.module"] == "jobs.spark.python_daemon"
    switch_off(monkeypatch, Optimization.WORKER_PATH)
    assert "spark.python.daemon.module" not in properties()


def test_the_first_session_makes_the_class_archive_and_later_ones_use_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(startup, "CACHE", tmp_path)
    monkeypatch.setattr(startup.atexit, "register", lambda *_: None)
    (made,) = startup.make_class_archive()
    assert made.startswith(f"-XX:ArchiveClassesAtExit={tmp_path}/classes-")
    assert not any("SharedArchiveFile" in option for option in startup.jvm_options(Scale.SMALL))
    archive = Path(made.partition("=")[2]).with_suffix(".jsa")
    archive.touch()
    assert startup.make_class_archive() == []
    assert f"-XX:SharedArchiveFile={archive}" in startup.jvm_options(Scale.SMALL)
    switch_off(monkeypatch, Optimization.CLASS_ARCHIVE)
    assert not any("SharedArchiveFile" in option for option in startup.jvm_options(Scale.SMALL))
    archive.unlink()
    assert startup.make_class_archive() == []
