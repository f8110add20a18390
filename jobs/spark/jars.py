"""The Java that Spark runs on, and jars from Maven Central, which are fetched once."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

import platformdirs
from filelock import FileLock

from jobs.errors import AuditError

_PYSPARK = importlib.util.find_spec("pyspark")  # not imported: that takes 0.5 s, and most commands start no Spark
assert _PYSPARK is not None
SPARK_JARS = Path(str(_PYSPARK.origin)).with_name("jars")
CACHE = Path(os.environ.get("TOPOLOGY_AUDIT_CACHE") or platformdirs.user_cache_dir("kafka-topology-audit"))


@functools.cache
def java() -> str:
    """Return the java that Spark uses: JAVA_HOME's, or the first on the PATH. Raise an AuditError if it is not 17 or 21."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if found is None:
        where = f"in JAVA_HOME ({home})" if home else "on the PATH"
        raise AuditError(f"no java {where}: install Java 17 or 21, or set JAVA_HOME to one")
    output = subprocess.run([found, "-version"], capture_output=True, text=True).stderr
    version = re.search(r'version "(\d+)', output)
    if version is None or int(version[1]) not in (17, 21):
        raise AuditError(
            f"{found} is Java {version[1] if version else 'of an unknown version'}: Spark 4.1 runs on 17 or 21; set JAVA_HOME to one"
        )
    return found


def fetch(coordinate: str, *, transitive: bool = False) -> list[Path]:
    """Return the jar of a Maven coordinate (group:artifact:version), with `transitive` also its dependencies. Spark's Ivy fetches them."""
    group, artifact, version = coordinate.split(":")
    folder = CACHE / "jars" / f"{artifact}-{version}{'-all' if transitive else ''}"
    complete = folder / "complete"
    CACHE.mkdir(parents=True, exist_ok=True)
    with FileLock(CACHE / "jars.lock"):
        if not complete.exists():
            ivy = next(SPARK_JARS.glob("ivy-*.jar"))
            command = [java(), "-jar", str(ivy), "-confs", "default", "-cache", str(CACHE / "ivy"), "-dependency", group, artifact, version]
            command += ["-retrieve", f"{folder}/[artifact]-[revision].[ext]", *([] if transitive else ["-notransitive"])]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                reason = re.search(r"^\s*::\s+(.*(?:not found|UNRESOLVED).*?)\s*::", done.stdout, re.M)
                raise AuditError(
                    f"could not fetch {coordinate} from Maven Central ({reason[1] if reason else 'no answer'}): is the network reachable?"
                )
            complete.touch()
    return sorted(folder.glob("*.jar"))
