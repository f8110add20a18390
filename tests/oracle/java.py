"""Our Java programs on Kafka's jars: compiled once per version into the cache, run with cases as JSON lines."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jobs.spark import jars
from kafka_model.release import Release, parse_release

SOURCES = Path(__file__).with_name("java")


class DoesNotCompile(RuntimeError):
    """A program uses a name that this version of Kafka does not have."""


def coordinate(kafka: str) -> str:
    """Return the Maven coordinate of the broker, which depends on all other jars of a release."""
    scala = "2.13" if parse_release(kafka) >= Release(2, 4, 0) else "2.12"
    return f"org.apache.kafka:kafka_{scala}:{kafka}"


def ask(program: str, kafka: str, cases: Sequence[dict[str, Any]], *, classpath: str | None = None) -> list[dict[str, Any]]:
    """Run the program on the cases: {"answer": value} each, or {"error": simple class name, "message": text} for an exception.

    `classpath` replaces Kafka's jars, for programs on other libraries.
    """
    libraries = classpath or _classpath(kafka)
    classes, main = compiled(program, kafka, libraries)
    command = [jars.java(), "-Xss16m", "-XX:+UseSerialGC", "-cp", f"{classes}:{libraries}", main]
    with tempfile.TemporaryFile("w+") as questions:
        questions.writelines(json.dumps(case) + "\n" for case in cases)
        questions.seek(0)
        done = subprocess.run(command, stdin=questions, capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode or len(answers) != len(cases):
        raise RuntimeError(f"{program} on Kafka {kafka} returned {len(answers)} answers for {len(cases)} cases:\n{done.stderr[-4000:]}")
    return answers


@cache
def _classpath(kafka: str) -> str:
    return ":".join(str(jar) for jar in jars.fetch(coordinate(kafka), transitive=True))


@cache
def compiled(program: str, kafka: str, classpath: str | None = None) -> tuple[Path, str]:
    """Compile the program if needed, and return the folder of its classes and the name of its main class.

    `classpath` replaces Kafka's jars. Raise DoesNotCompile if the program uses a name that this version does not have.
    """
    classpath = classpath or _classpath(kafka)
    text = (SOURCES / f"{program}.java").read_text()
    sources = [SOURCES / f"{name}.java" for name in ("Lines", *re.findall(r"^// with (\w+)\.java$", text, re.MULTILINE), program)]
    texts = [source.read_text() for source in sources]
    package = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
    texts = [_as_of(text, kafka) for text in texts]
    key = hashlib.sha256("\0".join([kafka, *texts]).encode()).hexdigest()[:16]
    classes = jars.CACHE / "oracle" / f"{program}-{kafka.replace(' ', '-')}-{key}"
    if not classes.exists():
        classes.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=classes.parent) as fresh:
            javac = Path(jars.java()).resolve().with_name("javac")
            adapted = [Path(fresh, source.name) for source in sources]
            for path, adapted_text in zip(adapted, texts, strict=True):
                path.write_text(adapted_text)
            command = [str(javac), "-nowarn", "-proc:none", "-d", f"{fresh}/classes", "-cp", classpath, *map(str, adapted)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise DoesNotCompile(f"javac refused {program}.java on Kafka {kafka}:\n{done.stderr}")
            if not classes.exists():
                Path(fresh, "classes").rename(classes)
    return classes, f"{package[1]}.{program}" if package else program


def _as_of(text: str, kafka: str) -> str:
    """Apply the lines `// before 4.2.0: new name -> old name` of a source to an older version."""
    for version, name, older in re.findall(r"^// before (\d+\.\d+\.\d+): (.+) ->(?: (.*))?$", text, re.MULTILINE):
        if kafka[0].isdigit() and parse_release(kafka) < parse_release(version):
            text = text.replace(name, older)
    return text
