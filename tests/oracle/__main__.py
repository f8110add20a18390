"""The commands of the oracle, explained in the docstring of the package."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kafka_model.release import RELEASES, Release, UnknownVersion, parse_release
from tests.oracle.algorithm import NAMES, Algorithm, at_version, load, mismatch, record, record_cases
from tests.oracle.java import DoesNotCompile

SHOWN = 3  # mismatches printed in full for each algorithm


class Compared(NamedTuple):
    """The number of cases of an algorithm at some versions, and how many answers differ; `skipped`: why it did not run."""

    algorithm: str
    kafka: str
    cases: int = 0
    mismatches: int = 0
    seconds: float = 0.0
    skipped: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description="Compare kafka_model with Kafka's own classes.")
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="record the golden files again")
    running = commands.add_parser("run", help="compare Kafka and the model on new random cases")
    releasing = commands.add_parser("releases", help="the same for every patch release")
    recording.add_argument("--seed", default="golden")
    running.add_argument("--cases", type=int, default=1_000, help="total number of cases, divided evenly by algorithm (default 1000)")
    running.add_argument(
        "--kafka", metavar="VERSION", type=_release, action="append", help="run this version, recorded or not; may be repeated"
    )
    releasing.add_argument("--cases", type=int, default=100, help="cases of each algorithm at each release (default 100)")
    releasing.add_argument("--since", metavar="VERSION", type=_release, default=Release(3, 5, 0), help="the first release (default 3.5.0)")
    releasing.add_argument("--until", metavar="VERSION", type=_release, default=RELEASES[-1], help="the last release (default: the newest)")
    for command in (running, releasing):
        command.add_argument("--seed", default=secrets.token_hex(4), help="random if not given")
    for command in (recording, running, releasing):
        command.add_argument("algorithms", nargs="*", metavar="ALGORITHM", help=f"default: all of {', '.join(NAMES)}")
    options = parser.parse_args(arguments)
    if unknown := set(options.algorithms) - set(NAMES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(NAMES)}")
    algorithms = [load(name) for name in options.algorithms or NAMES]
    if options.command == "record":
        return _record(algorithms, seed=options.seed)
    if options.command == "releases":
        releases = [release for release in RELEASES if options.since <= release <= options.until]
        return _run_releases(algorithms, releases, cases=options.cases, seed=options.seed)
    return _run(algorithms, options.kafka or [], cases=options.cases, seed=options.seed)


def _release(text: str) -> Release:
    try:
        return parse_release(text)
    except UnknownVersion as unknown:
        raise argparse.ArgumentTypeError(str(unknown)) from unknown


def _record(algorithms: Sequence[Algorithm], *, seed: str) -> int:
    for algorithm in algorithms:
        path = record(algorithm, seed=seed)
        print(f"{path.name:40} {path.stat().st_size:>9,} bytes")
    return 0


def _run(algorithms: Sequence[Algorithm], releases: Sequence[Release], *, cases: int, seed: str) -> int:
    """Compare each algorithm at its recorded versions, or at each of these releases."""
    print(f"{'algorithm':32} {'Kafka':22} {'cases':>8} {'mismatches':>10} {'seconds':>8}    seed {seed}")
    runs = [(algorithm, release) for algorithm in algorithms for release in (releases or [None])]
    rows = []
    for position, (algorithm, release) in enumerate(runs):
        row = compare(algorithm, release, cases=(cases + position) // len(runs), seed=seed)
        rows.append(row)
        result = f"skipped: {row.skipped}" if row.skipped else f"{row.cases:>8,} {row.mismatches:>10,} {row.seconds:>8.1f}"
        print(f"{row.algorithm:32} {row.kafka:22} {result}", flush=True)
    print(f"{'total':32} {'':22} {sum(row.cases for row in rows):>8,} {sum(row.mismatches for row in rows):>10,}")
    return 1 if any(row.mismatches for row in rows) else 0


def _run_releases(algorithms: Sequence[Algorithm], releases: Sequence[Release], *, cases: int, seed: str) -> int:
    """Compare each algorithm at each release, and print a line for each release and the reasons why algorithms did not run."""
    print(f"{'Kafka':8} {'algorithms':>10} {'cases':>9} {'mismatches':>10} {'seconds':>8}    seed {seed}")
    rows: list[Compared] = []
    for release in releases:
        found = [compare(algorithm, release, cases=cases, seed=seed) for algorithm in algorithms]
        ran = [row for row in found if not row.skipped]
        counts = f"{sum(row.cases for row in ran):>9,} {sum(row.mismatches for row in ran):>10,} {sum(row.seconds for row in ran):>8.1f}"
        print(f"{release!s:8} {len(ran):>10} {counts}", flush=True)
        rows += found
    print(f"{'total':19} {sum(row.cases for row in rows):>9,} {sum(row.mismatches for row in rows):>10,}")
    _print_releases("mismatches", rows, lambda row: f"{row.mismatches} of {row.cases}" if row.mismatches else "")
    _print_releases("skipped", rows, lambda row: row.skipped)
    return 1 if any(row.mismatches for row in rows) else 0


def _print_releases(title: str, rows: Sequence[Compared], text: Callable[[Compared], str]) -> None:
    """Print for each algorithm and text the releases that have it."""
    releases: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if text(row):
            releases.setdefault((row.algorithm, text(row)), []).append(row.kafka)
    for (algorithm, reason), versions in releases.items():
        print(f"{title}: {algorithm}: {reason}: {' '.join(versions)}")


def compare(algorithm: Algorithm, release: Release | None, *, cases: int, seed: str) -> Compared:
    """Compare the model and Kafka on new cases at this release, or at the recorded versions, and print the first mismatches."""
    began = time.monotonic()
    kafka = str(release) if release else " ".join(algorithm.programs)
    try:
        algorithm = at_version(algorithm, kafka) if release else algorithm
        recorded = list(record_cases(algorithm, seed=seed, cases=cases))
    except DoesNotCompile as refused:
        return Compared(algorithm.name, kafka, skipped=str(refused).splitlines()[0])
    mismatches = [(case, differs) for case in recorded if (differs := mismatch(algorithm, case))]
    for case, (version, result) in mismatches[:SHOWN]:
        print(f"  {algorithm.name}: {json.dumps(case.case)}")
        print(f"    Kafka {version}: {json.dumps(case.result)}\n    model: {json.dumps(result)}")
    return Compared(algorithm.name, kafka, cases, len(mismatches), time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
