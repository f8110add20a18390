"""Cruise Control's analyzer, compiled from a checkout with its dependencies from Maven Central (no package registry has it)."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jobs.spark import jars
from tests.oracle import java

VERSION = "cruise-control dadba67"  # of 2026-08-17
NO_COUNT = -1  # default of ProvisionRecommendation
ONLY_THROWS = (
    "RackAwareGoal", "RackAwareDistributionGoal", "MinTopicLeadersPerBrokerGoal", "ReplicaCapacityGoal",
    "DiskCapacityGoal", "NetworkInboundCapacityGoal", "NetworkOutboundCapacityGoal", "CpuCapacityGoal",
)  # fmt: skip
# The dependencies in its build.gradle, without those that only its server needs at run time.
_NEEDS = (
    "org.apache.kafka:kafka_2.13:4.0.0", "org.apache.commons:commons-math3:3.6.1", "org.eclipse.jetty:jetty-servlet:9.4.56.v20240826",
    "io.vertx:vertx-web-openapi:4.5.8", "io.vertx:vertx-web:4.5.8", "io.vertx:vertx-core:4.5.8", "io.dropwizard.metrics:metrics-jmx:4.2.9",
    "com.google.code.gson:gson:2.9.0", "com.nimbusds:nimbus-jose-jwt:10.0.2", "com.google.code.findbugs:jsr305:3.0.2",
    "com.google.guava:guava:32.1.3-jre", "org.json:json:20231013", "org.apache.httpcomponents:httpclient:4.5.13",
    "io.swagger.core.v3:swagger-annotations:2.0.2", "commons-codec:commons-codec:1.15", "commons-io:commons-io:2.14.0",
    "javax.servlet:javax.servlet-api:3.1.0", "io.github.classgraph:classgraph:4.8.141", "io.swagger.parser.v3:swagger-parser-v3:2.1.16",
)  # fmt: skip


def ask(program: str, version: str, cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run the program on the analyzer, with results as from `java.ask`."""
    return java.ask(program, version, cases, classpath=_classpath())


def checkout() -> Path | None:
    """Read the path of the checkout from CRUISE_CONTROL_SOURCE; None if it is not set."""
    path = os.environ.get("CRUISE_CONTROL_SOURCE")
    return Path(path) if path else None


@cache
def _classpath() -> str:
    needed = {jar.name: str(jar) for coordinate in _NEEDS for jar in jars.fetch(coordinate, transitive=True)}
    libraries = ":".join(needed.values())
    return f"{_compiled(libraries)}:{libraries}"


def _compiled(libraries: str) -> Path:
    """Compile the analyzer if needed, and return the folder of its classes."""
    source = checkout()
    if source is None:
        raise java.DoesNotCompile("CRUISE_CONTROL_SOURCE is not set: set it to the path of a checkout of linkedin/cruise-control")
    files = sorted(source.glob("cruise-control*/src/main/java/**/*.java"))
    if not files:
        raise java.DoesNotCompile(f"{source} is not a checkout of linkedin/cruise-control: set CRUISE_CONTROL_SOURCE to one")
    key = hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:16]
    classes = jars.CACHE / "oracle" / f"cruise-control-{key}"
    if not classes.exists():
        classes.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=classes.parent) as fresh:
            listed = Path(fresh, "sources")
            listed.write_text("\n".join(map(str, files)))
            javac = Path(jars.java()).resolve().with_name("javac")
            command = [str(javac), "-nowarn", "-proc:none", "-d", f"{fresh}/classes", "-cp", libraries, f"@{listed}"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise java.DoesNotCompile(f"javac refused Cruise Control:\n{done.stderr[-4000:]}")
            if not classes.exists():
                Path(fresh, "classes").rename(classes)
    return classes
