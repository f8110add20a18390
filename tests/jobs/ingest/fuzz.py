"""Coverage-guided fuzz of the ingest: inputs that reach new code are added to the corpus and changed further.

    python -m tests.jobs.ingest.fuzz [minutes] [seed]

Coverage is the set of branches: steps from one line to another within a function of jobs/ingest, found by `sys.settrace` (atheris, which does
this in C, has no wheel for every Python that the project runs on). The corpus starts with the recorded dumps. An input fails if `check_input`
raises, or takes too long in a run with `slow_s`; each place in the code is reported once, with the smallest input found for it.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from jobs import ingest
from jobs.ingest.reading import read_dump
from tests.jobs.ingest import test_kafka_acls, test_kafka_streams_groups
from tests.jobs.ingest import test_topology_capture as capture
from tests.jobs.ingest.test_admin_client import KAFKA_PYTHON
from tests.jobs.ingest.test_kcat_and_cruise_control import LOAD, OTHER, kcat, kcat_partition, state
from tests.jobs.ingest.test_metadata_log import resealed
from tests.jobs.ingest.test_partition_lines import ODDITIES, assert_same_tables
from tests.jobs.ingest.test_reading import DUMPS, check_accounts

Branch = tuple[CodeType, int, int]
_LARGEST = 6_000  # bytes of an input
_SHRINKS = 300
_WORD = re.compile(rb"[A-Za-z_.-]+|[0-9]+|[^A-Za-z0-9]")
_NUMBERS = (b"0", b"1", b"-1", b"2147483647", b"2147483648", b"9223372036854775807", b"9223372036854775808", b"1.5", b"1e999", b"NaN")
_FOLDER = str(Path(ingest.__file__).parent)


@dataclass
class Fuzz:
    """A run of the fuzz: its corpus, the branches that it reached, and its failures."""

    check: Callable[[bytes], None]
    folder: str
    rng: random.Random
    slow_s: float = float("inf")  # an input that takes longer fails
    inputs: int = 0
    corpus: list[bytes] = field(default_factory=list)
    branches: set[Branch] = field(default_factory=set)
    failures: dict[str, bytes] = field(default_factory=dict)  # the smallest input by exception and place

    def seed(self, inputs: Sequence[bytes]) -> None:
        """Start from these inputs; those that reach no new branch are not added."""
        for data in sorted(inputs, key=len):
            self._try(data)
        self.corpus = self.corpus or [*inputs]

    def run(self, cases: int = sys.maxsize, *, seconds: float = float("inf")) -> None:
        """Try this number of changed inputs, or stop after this time."""
        words = sorted({word for data in self.corpus for word in _WORD.findall(data)})
        deadline, last_input = time.monotonic() + seconds, self.inputs + cases
        while self.inputs < last_input and time.monotonic() < deadline:
            newest = self.corpus[-len(self.corpus) // 4 - 1 :]
            parent = self.rng.choice(newest if self.rng.random() < 0.5 else self.corpus)
            data = changed(self.rng, parent, self.corpus, words)[:_LARGEST]
            self._try(data if self.rng.random() < 0.2 else with_checksums(data))

    def _try(self, data: bytes) -> None:
        branches, failure = self._trace(data)
        if failure is not None and (failure not in self.failures or len(data) < len(self.failures[failure])):
            self.failures[failure] = self._shrunk(data, failure)
        if branches - self.branches:
            self.corpus.append(data)
            self.branches |= branches

    def _trace(self, data: bytes) -> tuple[set[Branch], str | None]:
        """Return the branches that an input reaches, and its failure; None: it passes."""
        self.inputs += 1
        started = time.monotonic()
        with traced(self.folder) as branches:
            failure = self._failure_of(data)
        return branches, "slow" if failure is None and time.monotonic() - started > self.slow_s else failure

    def _failure_of(self, data: bytes) -> str | None:
        try:
            self.check(data)
        except Exception as error:
            frame = error.__traceback__
            frames = []
            while frame is not None:
                frames.append(f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}")
                frame = frame.tb_next
            return f"{type(error).__name__} in {' '.join(frames[-3:])}"
        return None

    def _shrunk(self, data: bytes, failure: str) -> bytes:
        """Return the smallest input found that fails in the same place."""
        size, attempts = len(data) // 2, 0
        while size and attempts < _SHRINKS:
            for start in range(0, len(data), size):
                attempts += 1
                shorter = data[:start] + data[start + size :]
                if self._failure_of(shorter) == failure:
                    data = shorter
                    break
            else:
                size //= 2
        return data


@contextmanager
def traced(folder: str) -> Iterator[set[Branch]]:
    """Collect the branches that are reached in the code of a folder."""
    branches: set[Branch] = set()
    is_inside: dict[CodeType, bool] = {}

    def enter(frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        if code not in is_inside:
            is_inside[code] = code.co_filename.startswith(folder)
        if not is_inside[code]:
            return None
        last = 0

        def step(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
            nonlocal last
            if event == "line":
                branches.add((code, last, frame.f_lineno))
                last = frame.f_lineno
            return step

        return step

    previous_trace = sys.gettrace()
    sys.settrace(enter)
    try:
        yield branches
    finally:
        sys.settrace(previous_trace)


def changed(rng: random.Random, data: bytes, corpus: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """Return the input with one change or several."""
    for _ in range(1 << rng.randrange(4)):
        data = rng.choice(_CHANGES)(rng, data, corpus, words)
    return data


def _cut(rng: random.Random, data: bytes, corpus: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    start = rng.randrange(len(data) + 1)
    return data[:start] + data[start + rng.choice([1, 1, 2, 4, 16, 200]) :]


def _flip(rng: random.Random, data: bytes, corpus: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    position = rng.randrange(len(data) + 1)
    byte = rng.choice([0, 255, rng.randrange(256), (data[position : position + 1] or b"\n")[0] ^ 1 << rng.randrange(8)])
    return data[:position] + bytes([byte]) + data[position + 1 :]


def _insert(rng: random.Random, data: bytes, corpus: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    position = rng.randrange(len(data) + 1)
    odd = rng.choice(ODDITIES).encode("utf-8", "surrogatepass")
    return data[:position] + (rng.choice(words) if words and rng.random() < 0.6 else odd) + data[position:]


def _word(rng: random.Random, data: bytes, corpus: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """Replace a word by another."""
    matches = [*_WORD.finditer(data)]
    if not matches or not words:
        return data
    match = rng.choice(matches)
    return data[: match.start()] + rng.choice(words) + data[match.end() :]


def _number(rng: random.Random, data: bytes, corpus: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    matches = [*re.finditer(rb"[0-9]+", data)]
    if not matches:
        return data
    match = rng.choice(matches)
    return data[: match.start()] + rng.choice(_NUMBERS) + data[match.end() :]


def _lines(rng: random.Random, data: bytes, corpus: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """Repeat a line, leave it out, or insert one of another input."""
    lines = data.splitlines(keepends=True) or [b""]
    other_lines = rng.choice(corpus).splitlines(keepends=True) or [b"\n"]
    position = rng.randrange(len(lines))
    lines[position : position + rng.choice([0, 0, 1])] = rng.choice([[rng.choice(lines)], [rng.choice(other_lines)], other_lines[:3], []])
    return b"".join(lines)


def _splice(rng: random.Random, data: bytes, corpus: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    other_input = rng.choice(corpus)
    start = rng.randrange(len(other_input) + 1)
    position = rng.randrange(len(data) + 1)
    return data[:position] + other_input[start : start + rng.choice([4, 30, 300, 3_000])] + data[position + rng.choice([0, 4, 300]) :]


_CHANGES = (_cut, _flip, _insert, _insert, _word, _word, _number, _lines, _splice)


def with_checksums(data: bytes) -> bytes:
    """Return the input with matching checksums and counts, so that a parser does not stop at them."""
    if data.startswith(b'{"capture"'):
        whole = data[: data.rfind(b"\n", 0, -1) + 1]
        return whole + b'{"end":%d}\n' % whole.count(b"\n")
    return resealed(data) if data[16:17] == b"\2" else data


def check_input(data: bytes) -> None:
    """Fail unless every entry is parsed or rejected, and the tables can be stored and are the same by entries and by columns."""
    check_accounts(data)
    if read_dump(data).format in ("kafka-topics", "kafka-log-dirs", "kafka-get-offsets"):
        assert_same_tables({"a": data})


def seed_inputs() -> list[bytes]:
    """Return the recorded dumps, each shortened at a line's end, and a short dump of every other format."""
    key = {"key": "azE=", "records": 2, "size_bytes": 20}
    keys = {"keys_of": "orders", "partition": 3, "from_offset": 0, "to_offset": 4, "keys": [key]}
    share = {**capture.GROUP, "group": "s", "protocol": "share"}
    texts = [
        capture.text({"broker": 1, "rack": None, "fenced": True}, capture.QUOTAS, capture.ACL, capture.TOPIC, capture.GROUP, share, keys),
        kcat(kcat_partition(0, 1, [2, 1], [1]), kcat_partition(1, -1, [2], [], error="Broker: Leader not available")),
        json.dumps({"brokers": [{"id": 1, "fenced": True}], "topics": [KAFKA_PYTHON]}), state(other=[OTHER]), json.dumps({"brokers": [LOAD]}), "broker_id,rack\n1,a\n2,b\n",
        test_kafka_acls.LISTED, test_kafka_acls.EARLY, test_kafka_streams_groups.VERBOSE_STATES, test_kafka_streams_groups.VERBOSE_MEMBERS,
    ]  # fmt: skip
    inputs = {text.encode() for text in texts}
    for path in DUMPS:
        data = path.read_bytes()
        whole = len(data) < _LARGEST or b"\0" in data
        inputs.add(data if whole else data[: data.rfind(b"\n", 0, _LARGEST // 2) + 1])
    return sorted(inputs)


def main(minutes: float, seed: int) -> int:
    """Fuzz, print the result, and return the number of failures."""
    fuzz = Fuzz(check_input, _FOLDER, random.Random(seed), slow_s=5)
    fuzz.seed(seed_inputs())
    print(f"seed {seed}: {fuzz.inputs} recorded dumps, corpus {len(fuzz.corpus)}, {len(fuzz.branches):,} branches", flush=True)
    for minute in range(1, int(minutes) + 1):
        fuzz.run(seconds=60)
        counts = f"corpus {len(fuzz.corpus)}, {len(fuzz.branches):,} branches, {len(fuzz.failures)} failures"
        print(f"minute {minute}: {fuzz.inputs:,} inputs, {counts}", flush=True)
    for failure, data in sorted(fuzz.failures.items()):
        print(f"{failure}\n    {data!r}")
    return len(fuzz.failures)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 5, int(sys.argv[2]) if len(sys.argv) > 2 else 0) > 0)
