"""The commands of the oracle, explained in the docstring of the package."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from collections.abc import Iterator

from tests.oracle.algorithm import NAMES, Algorithm, at_version, load, mismatch, record, record_cases
from tests.oracle.java import DoesNotCompile

SHOWN = 3  # mismatches printed in full for each algorithm


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description="Compare kafka_model with Kafka's own classes.")
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="record the golden files again")
    running = commands.add_parser("run", help="compare Kafka and the model on new random cases")
    running.add_argument("--cases", type=int, default=1_000, help="total number of cases, divided evenly by algorithm (default 1000)")
    recording.add_argument("--seed", default="golden")
    running.add_argument("--seed", default=secrets.token_hex(4), help="random if not given")
    running.add_argument("--kafka", metavar="VERSION", action="append", help="run this version, recorded or not; may be repeated")
    for command in (recording, running):
        command.add_argument("algorithms", nargs="*", metavar="ALGORITHM", help=f"default: all of {', '.join(NAMES)}")
    arguments = parser.parse_args()
    unknown = set(arguments.algorithms) - set(NAMES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(NAMES)}")
    names = arguments.algorithms or NAMES
    if arguments.command == "record":
        for name in names:
            path = record(load(name), seed=arguments.seed)
            print(f"{path.name:40} {path.stat().st_size:>9,} bytes")
        return 0
    algorithms = [algorithm for name in names for algorithm in _versions(load(name), arguments.kafka or [])]
    return _run(algorithms, cases=arguments.cases, seed=arguments.seed)


def _versions(algorithm: Algorithm, versions: list[str]) -> Iterator[Algorithm]:
    """Yield the algorithm with its recorded versions, or once for each version given."""
    if not versions:
        yield algorithm
    for kafka in versions:
        try:
            yield at_version(algorithm, kafka)
        except DoesNotCompile as refused:
            print(f"{algorithm.name:32} {kafka:22} skipped: {refused}", flush=True)


def _run(algorithms: list[Algorithm], *, cases: int, seed: str) -> int:
    print(f"{'algorithm':32} {'Kafka':22} {'cases':>8} {'mismatches':>10} {'seconds':>8}    seed {seed}")
    total = wrong = 0
    for position, algorithm in enumerate(algorithms):
        name = algorithm.name
        began = time.monotonic()
        share = (cases + position) // len(algorithms)
        broken = 0
        try:
            cases_asked = list(record_cases(algorithm, seed=seed, cases=share))
        except DoesNotCompile as refused:
            print(f"{name:32} {' '.join(algorithm.programs):22} skipped: {refused}", flush=True)
            continue
        for recorded in cases_asked:
            differs = mismatch(algorithm, recorded)
            if differs:
                broken += 1
                if broken <= SHOWN:
                    kafka, result = differs
                    print(f"  {name}: {json.dumps(recorded.case)}")
                    print(f"    Kafka {kafka}: {json.dumps(recorded.result)}\n    model: {json.dumps(result)}")
        print(f"{name:32} {' '.join(algorithm.programs):22} {share:>8,} {broken:>10,} {time.monotonic() - began:>8.1f}", flush=True)
        total, wrong = total + share, wrong + broken
    print(f"{'total':32} {'':22} {total:>8,} {wrong:>10,}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
