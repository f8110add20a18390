"""One algorithm of the oracle: its random cases, Kafka's answers, the model's answers, and the golden file."""

from __future__ import annotations

import gzip
import importlib
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kafka_model.release import LATEST, RELEASES, Release, parse_release
from tests.oracle import java

FOLDER = Path(__file__).with_name("algorithms")
GOLDEN = Path(__file__).parents[1] / "golden"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
BATCH = 5_000  # cases per run of a JVM

Case = dict[str, Any]
Result = dict[str, Any]  # {"answer": value} or {"error": name}


@dataclass(frozen=True, slots=True)
class Algorithm:
    """The declarations of a file of algorithms/. The docstring of the package explains the fields."""

    name: str
    programs: dict[str, str]
    recorded: int
    case: Callable[[random.Random], Case]
    answer: Callable[[Case, str], Any]
    errors: dict[str, str]
    same: Callable[[Any, Any, Case], bool]
    ask: Callable[[str, str, list[Case]], list[Result]]
    since: Release  # the first and the last release that the model reproduces
    until: Release


@dataclass(frozen=True, slots=True)
class Recorded:
    """A case and its result in the named Kafka versions."""

    case: Case
    kafka: tuple[str, ...]
    result: Result


def load(name: str) -> Algorithm:
    """Import algorithms/<name>.py."""
    module = importlib.import_module(f"tests.oracle.algorithms.{name}")
    same = getattr(module, "same", lambda model, kafka, case: model == kafka)
    ask = getattr(module, "ask", java.ask)
    return Algorithm(
        name,
        module.PROGRAMS,
        module.RECORDED,
        module.case,
        module.answer,
        getattr(module, "ERRORS", {}),
        same,
        ask,
        since=parse_release(getattr(module, "SINCE", str(RELEASES[0]))),
        until=parse_release(getattr(module, "UNTIL", str(LATEST))),
    )


def at_version(algorithm: Algorithm, kafka: str) -> Algorithm:
    """Restrict the algorithm to one version, with the program of the nearest version that compiles there.

    Raise DoesNotCompile if there is none.
    """
    if algorithm.ask is not java.ask:
        raise java.DoesNotCompile("it is not a class of Kafka")
    if not algorithm.since <= parse_release(kafka) <= algorithm.until:
        raise java.DoesNotCompile(f"the model reproduces {algorithm.since} to {algorithm.until}")
    by_nearness = sorted(algorithm.programs, key=lambda version: abs(_ordinal(version) - _ordinal(kafka)))
    error = ""
    for program in dict.fromkeys(algorithm.programs[version] for version in by_nearness):
        try:
            java.compiled(program, kafka)
        except java.DoesNotCompile as refused:
            error = error or next((line for line in str(refused).splitlines() if ": error: " in line), str(refused))
            continue
        return replace(algorithm, programs={kafka: program})
    raise java.DoesNotCompile(error.rpartition("/")[2])


def _ordinal(kafka: str) -> int:
    release = parse_release(kafka)
    return 100 * release.major + release.minor


def record_cases(algorithm: Algorithm, *, seed: str, cases: int) -> Iterator[Recorded]:
    """Yield new cases with Kafka's results. Versions with the same result share a line."""
    for start in range(0, cases, BATCH):
        batch = [
            _plain(algorithm.case(random.Random(f"{seed}/{algorithm.name}/{number}"))) for number in range(start, min(start + BATCH, cases))
        ]
        results_by_version = {kafka: algorithm.ask(program, kafka, batch) for kafka, program in algorithm.programs.items()}
        for number, case in enumerate(batch):
            by_result: dict[str, list[str]] = {}
            for kafka, results in results_by_version.items():
                result = {key: value for key, value in results[number].items() if key != "message"}
                if "error" in result:
                    result["error"] = algorithm.errors.get(result["error"], result["error"].removesuffix("Exception"))
                by_result.setdefault(json.dumps(result, sort_keys=True), []).append(kafka)
            for result_text, versions in by_result.items():
                yield Recorded(case, tuple(versions), json.loads(result_text))


def mismatch(algorithm: Algorithm, recorded: Recorded) -> tuple[str, Result] | None:
    """Find the first version with another result than the model's, and return it with the model's result; None if all agree."""
    for kafka in recorded.kafka:
        result: Result
        try:
            result = {"answer": _plain(algorithm.answer(recorded.case, kafka))}
        except ValueError as refused:
            result = {"error": type(refused).__name__}
        if "answer" in result and "answer" in recorded.result:
            agreed = algorithm.same(result["answer"], recorded.result["answer"], recorded.case)
        else:
            agreed = result == recorded.result
        if not agreed:
            return kafka, result
    return None


def record(algorithm: Algorithm, *, seed: str) -> Path:
    """Write the golden file again. Its first line contains the command; the same seed gives the same bytes."""
    path = GOLDEN / f"{algorithm.name}.jsonl.gz"
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=9, mtime=0) as out:
        for line in _lines(algorithm, seed):
            out.write(json.dumps(line, separators=(",", ":"), ensure_ascii=True).encode() + b"\n")
    return path


def golden(name: str) -> Iterator[Recorded]:
    """Read the recorded cases of an algorithm."""
    with gzip.open(GOLDEN / f"{name}.jsonl.gz", "rt") as lines:
        next(lines)
        for line in lines:
            recorded = json.loads(line)
            yield Recorded(recorded["case"], tuple(recorded["kafka"]), recorded["result"])


def _lines(algorithm: Algorithm, seed: str) -> Iterator[dict[str, Any]]:
    yield {"recorded_by": f"python -m tests.oracle record {algorithm.name} --seed {seed}", "programs": algorithm.programs}
    for recorded in record_cases(algorithm, seed=seed, cases=algorithm.recorded):
        yield {"case": recorded.case, "kafka": recorded.kafka, "result": recorded.result}


def _plain(value: Any) -> Any:
    """Convert a value as JSON does: tuples become lists, keys of maps become strings."""
    return json.loads(json.dumps(value))
