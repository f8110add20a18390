"""The two commands of the oracle; see the package's docstring."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from collections.abc import Iterator

from tests.oracle.algorithm import NAMES, Algorithm, asked, at_version, load, mismatch, record
from tests.oracle.java import DoesNotCompile

SHOWN = 3  # mismatches told in full for each algorithm


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description="Kafka's own classes beside kafka_model.")
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="re-record the golden files")
    running = commands.add_parser("run", help="ask fresh random cases of Kafka and of the model")
    running.add_argument("--cases", type=int, default=1_000, help="in all, shared evenly by the algorithms (default 1000)")
    recording.add_argument("--seed", default="golden")
    running.add_argument("--seed", default=secrets.token_hex(4), help="chosen at random if not given")
    running.add_argument("--kafka", metavar="VERSION", action="append", help="ask this version, recorded or not (as often as you like)")
    for command in (recording, running):
        command.add_argument("algorithms", nargs="*", metavar="ALGORITHM", help=f"all, or of: {', '.join(NAMES)}")
    given = parser.parse_args()
    unknown = set(given.algorithms) - set(NAMES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(NAMES)}")
    names = given.algorithms or NAMES
    if given.command == "record":
        for name in names:
            path = record(load(name), seed=given.seed)
            print(f"{path.name:40} {path.stat().st_size:>9,} bytes")
        return 0
    algorithms = [algorithm for name in names for algorithm in _versions(load(name), given.kafka or [])]
    return _run(algorithms, cases=given.cases, seed=given.seed)


def _versions(algorithm: Algorithm, versions: list[str]) -> Iterator[Algorithm]:
    """The algorithm as it is recorded, or asked of each of these versions."""
    if not versions:
        yield algorithm
    for kafka in versions:
        try:
            yield at_version(algorithm, kafka)
        except DoesNotCompile as refused:
            print(f"{algorithm.name:32} {kafka:22} not asked: {refused}", flush=True)


def _run(algorithms: list[Algorithm], *, cases: int, seed: str) -> int:
    print(f"{'algorithm':32} {'Kafka':22} {'cases':>8} {'mismatches':>10} {'seconds':>8}    seed {seed}")
    total = wrong = 0
    for position, algorithm in enumerate(algorithms):
        name = algorithm.name
        began = time.monotonic()
        share = (cases + position) // len(algorithms)
        broken = 0
        try:
            cases_asked = list(asked(algorithm, seed=seed, cases=share))
        except DoesNotCompile as refused:
            print(f"{name:32} {' '.join(algorithm.programs):22} not asked: {refused}", flush=True)
            continue
        for recorded in cases_asked:
            differs = mismatch(algorithm, recorded)
            if differs:
                broken += 1
                if broken <= SHOWN:
                    kafka, said = differs
                    print(f"  {name}: {json.dumps(recorded.case)}")
                    print(f"    Kafka {kafka}: {json.dumps(recorded.said)}\n    model: {json.dumps(said)}")
        print(f"{name:32} {' '.join(algorithm.programs):22} {share:>8,} {broken:>10,} {time.monotonic() - began:>8.1f}", flush=True)
        total, wrong = total + share, wrong + broken
    print(f"{'in all':32} {'':22} {total:>8,} {wrong:>10,}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
