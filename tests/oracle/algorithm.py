"""An algorithm under the oracle: its cases, what Kafka says, what the model says, and the golden file between them."""

from __future__ import annotations

import gzip
import importlib
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kafka_model.release import release
from tests.oracle import java

FOLDER = Path(__file__).with_name("algorithms")
GOLDEN = Path(__file__).parents[1] / "golden"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
BATCH = 5_000  # cases a JVM is asked at once

Case = dict[str, Any]
Said = dict[str, Any]  # {"answer": value} or {"error": name}


@dataclass(frozen=True, slots=True)
class Algorithm:
    """What a file of algorithms/ declares; its fields are explained in the package's docstring."""

    name: str
    programs: dict[str, str]
    recorded: int
    case: Callable[[random.Random], Case]
    answer: Callable[[Case, str], Any]
    errors: dict[str, str]
    same: Callable[[Any, Any, Case], bool]
    ask: Callable[[str, str, list[Case]], list[Said]]
    kafkas: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A case and what the named Kafka versions say to it."""

    case: Case
    kafka: tuple[str, ...]
    said: Said


def load(name: str) -> Algorithm:
    """The algorithm of algorithms/<name>.py."""
    module = importlib.import_module(f"tests.oracle.algorithms.{name}")
    same = getattr(module, "same", lambda model, kafka, case: model == kafka)
    ask = getattr(module, "ask", java.ask)
    kafkas = getattr(module, "KAFKAS", ("2.0", "9.9"))
    return Algorithm(name, module.PROGRAMS, module.RECORDED, module.case, module.answer, getattr(module, "ERRORS", {}), same, ask, kafkas)


def at_version(algorithm: Algorithm, kafka: str) -> Algorithm:
    """The algorithm asked of that version alone, by the program of the nearest version that compiles there; DoesNotCompile if none does."""
    if algorithm.ask is not java.ask:
        raise java.DoesNotCompile("it is not Kafka's own")
    first, last = map(release, algorithm.kafkas)
    if not first <= release(kafka) < (*last, 99):
        raise java.DoesNotCompile(f"the model is of {' to '.join(algorithm.kafkas).replace(' to 9.9', ' and later')}")
    by_nearness = sorted(algorithm.programs, key=lambda version: abs(_place(version) - _place(kafka)))
    told = ""
    for program in dict.fromkeys(algorithm.programs[version] for version in by_nearness):
        try:
            algorithm.ask(program, kafka, [])
        except java.DoesNotCompile as refused:
            told = told or next((line for line in str(refused).splitlines() if ": error: " in line), str(refused))
            continue
        return replace(algorithm, programs={kafka: program})
    raise java.DoesNotCompile(told.rpartition("/")[2])


def _place(kafka: str) -> int:
    major, minor, *_ = release(kafka)
    return 100 * major + minor


def asked(algorithm: Algorithm, *, seed: str, cases: int) -> Iterator[Recorded]:
    """Fresh cases with Kafka's answers: each case is asked of every version, and versions that agree share a line."""
    for start in range(0, cases, BATCH):
        batch = [
            _plain(algorithm.case(random.Random(f"{seed}/{algorithm.name}/{number}"))) for number in range(start, min(start + BATCH, cases))
        ]
        said = {kafka: algorithm.ask(program, kafka, batch) for kafka, program in algorithm.programs.items()}
        for number, case in enumerate(batch):
            by_answer: dict[str, list[str]] = {}
            for kafka, answers in said.items():
                told = {key: value for key, value in answers[number].items() if key != "message"}
                if "error" in told:
                    told["error"] = algorithm.errors.get(told["error"], told["error"].removesuffix("Exception"))
                by_answer.setdefault(json.dumps(told, sort_keys=True), []).append(kafka)
            for told_text, versions in by_answer.items():
                yield Recorded(case, tuple(versions), json.loads(told_text))


def mismatch(algorithm: Algorithm, recorded: Recorded) -> tuple[str, Said] | None:
    """The first version whose answer the model does not give, with what the model says; None if it gives them all."""
    for kafka in recorded.kafka:
        said: Said
        try:
            said = {"answer": _plain(algorithm.answer(recorded.case, kafka))}
        except ValueError as refused:
            said = {"error": type(refused).__name__}
        if "answer" in said and "answer" in recorded.said:
            agreed = algorithm.same(said["answer"], recorded.said["answer"], recorded.case)
        else:
            agreed = said == recorded.said
        if not agreed:
            return kafka, said
    return None


def record(algorithm: Algorithm, *, seed: str) -> Path:
    """Write the golden file anew: its first line says how, the same seed gives the same bytes."""
    path = GOLDEN / f"{algorithm.name}.jsonl.gz"
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=9, mtime=0) as out:
        for line in _lines(algorithm, seed):
            out.write(json.dumps(line, separators=(",", ":"), ensure_ascii=True).encode() + b"\n")
    return path


def golden(name: str) -> Iterator[Recorded]:
    """The recorded cases of an algorithm."""
    with gzip.open(GOLDEN / f"{name}.jsonl.gz", "rt") as lines:
        next(lines)
        for line in lines:
            recorded = json.loads(line)
            yield Recorded(recorded["case"], tuple(recorded["kafka"]), recorded["said"])


def _lines(algorithm: Algorithm, seed: str) -> Iterator[dict[str, Any]]:
    yield {"recorded_by": f"python -m tests.oracle record {algorithm.name} --seed {seed}", "programs": algorithm.programs}
    for recorded in asked(algorithm, seed=seed, cases=algorithm.recorded):
        yield {"case": recorded.case, "kafka": recorded.kafka, "said": recorded.said}


def _plain(value: Any) -> Any:
    """The value as JSON would give it back: tuples are lists, the keys of maps are strings."""
    return json.loads(json.dumps(value))
